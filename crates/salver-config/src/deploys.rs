//! The settings of deploys over the network, which the admin listener takes, and of its TLS.

use std::path::PathBuf;

use crate::headings::ADMIN;
use crate::kind::{PATH, SIZE, whole};
use crate::resolver::Resolver;
use crate::row::Row;
use crate::setting::Setting;

/// The settings of deploys over the network. Sizes are in bytes.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the help of each row says what its field is")]
pub struct Deploys {
    pub accept: Setting<bool>,
    pub max_file: Setting<u64>,
    pub max_release: Setting<u64>,
    pub max_files: Setting<u32>,
    pub tls_cert: Setting<Option<PathBuf>>,
    pub tls_key: Setting<Option<PathBuf>>,
}

impl Deploys {
    pub(crate) fn read(from: &mut Resolver<'_>) -> Self {
        Deploys {
            accept: from.switch(Row {
                key: "admin.accept-deploys",
                flag: "accept-deploys",
                default: "false",
                help: "Take releases there for the stores that are served, of who shows the token: `salver deploy DIR \
                       --to https://HOST:PORT/`",
                ..ADMIN
            }),
            max_file: from.one(SIZE, Row {
                key: "admin.deploy-max-file",
                flag: "deploy-max-file",
                default: "1GiB",
                help: "The longest file of such a release",
                ..ADMIN
            }),
            max_release: from.one(SIZE, Row {
                key: "admin.deploy-max-release",
                flag: "deploy-max-release",
                default: "16GiB",
                help: "The most bytes of all files of such a release",
                ..ADMIN
            }),
            max_files: from.one(whole(1, 1_000_000), Row {
                key: "admin.deploy-max-files",
                flag: "deploy-max-files",
                default: "100000",
                help: "The most files of such a release",
                ..ADMIN
            }),
            tls_cert: from.optional(PATH, Row {
                key: "admin.tls-certificate",
                flag: "admin-tls-cert",
                value: "FILE",
                help: "The certificate chain, PEM, for TLS at those of the addresses that other machines reach; it is read \
                       again when it changes",
                is_left_out: !cfg!(feature = "tls"),
                ..ADMIN
            }),
            tls_key: from.optional(PATH, Row {
                key: "admin.tls-key",
                flag: "admin-tls-key",
                value: "FILE",
                help: "Its private key, PEM",
                is_left_out: !cfg!(feature = "tls"),
                ..ADMIN
            }),
        }
    }
}
