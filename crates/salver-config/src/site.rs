//! The settings of a site, and the rows of the table that describe them.

use std::path::PathBuf;
use std::time::Duration;

use crate::conventions::{Alternatives, CleanUrls, Compat, ReleaseAddresses, TrailingSlash};
use crate::document::Table;
use crate::fault::Place;
use crate::kind::{
    ALTERNATIVES, CODINGS, ERROR_PAGE, HOST_PATTERN, HSTS, INDEX_NAME, PATH, SIZE, SPA, TEXT, TIME,
    TIME_LIMIT, URL_PATH, VARIABLE_NAME, choice, mount,
};
use crate::resolver::Resolver;
use crate::row::{ROW, Row};
use crate::setting::Setting;
use crate::values::{
    Codings, DEFAULT_CODINGS, ErrorPage, HostPattern, Mount, Spa, Symlinks, is_url,
};

const CONTENT: Row = Row {
    heading: "Content",
    ..ROW
};
const TLS: Row = Row {
    heading: "TLS and versions of HTTP",
    is_left_out: !cfg!(feature = "tls"),
    ..ROW
};
const SITE: Row = Row {
    heading: "Sites",
    is_of_one_site: true,
    ..ROW
};

/// The settings of a site: what is shown to whom.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the help of each row says what its field is")]
pub struct Site {
    /// Its `[[site]]`; `None` for the only site of a configuration that has none.
    pub place: Option<Place>,
    pub root: Setting<PathBuf>,
    pub store: Setting<Option<PathBuf>>,
    pub release_addresses: Setting<ReleaseAddresses>,
    pub index: Setting<Vec<String>>,
    pub spa: Setting<Spa>,
    pub mount: Setting<Vec<Mount>>,
    pub mount_plain: Setting<Vec<Mount>>,
    pub precompressed: Setting<Codings>,
    pub compress: Setting<bool>,
    pub compress_include_type: Setting<Vec<String>>,
    pub compress_exclude_type: Setting<Vec<String>>,
    pub dictionaries: Setting<bool>,
    pub page_dictionary: Setting<Option<String>>,
    pub negotiate: Setting<Alternatives>,
    pub dotfiles: Setting<bool>,
    pub listing: Setting<bool>,
    pub listing_template: Setting<Option<PathBuf>>,
    pub symlinks: Setting<Symlinks>,
    pub compat: Setting<Compat>,
    pub clean_urls: Setting<CleanUrls>,
    pub trailing_slash: Setting<TrailingSlash>,
    pub cors: Setting<bool>,
    pub live_reload: Setting<bool>,
    pub cache: Setting<bool>,
    pub keep_previous: Setting<Option<Duration>>,
    pub keep_previous_size: Setting<u64>,
    pub bucket_timeout: Setting<Duration>,
    pub stale_while_revalidate: Setting<Duration>,
    pub stale_if_error: Setting<Duration>,
    pub tls_cert: Setting<Vec<PathBuf>>,
    pub tls_key: Setting<Vec<PathBuf>>,
    pub hsts: Setting<Option<Duration>>,
    pub hosts: Setting<Vec<HostPattern>>,
    pub error_pages: Setting<Vec<ErrorPage>>,
    pub env_variables: Setting<Vec<String>>,
    pub env_script: Setting<Option<String>>,
    pub env_placeholders: Setting<bool>,
    pub rules: Setting<Vec<Table>>,
}

impl Site {
    /// True if anything of it is served from a bucket, by a URL in the place of a path.
    pub fn has_bucket(&self) -> bool {
        let mounts = self.mount.iter().chain(self.mount_plain.iter());
        let paths = mounts.map(|mount| &mount.path).chain([&*self.root]);
        let mut paths = paths.chain(self.store.as_ref());
        paths.any(|path| is_url(path.as_os_str()))
    }

    #[allow(clippy::too_many_lines, reason = "it is a table")]
    pub(crate) fn read(from: &mut Resolver<'_>) -> Site {
        Site {
            place: None,
            root: from.one(PATH, Row {
                key: "root",
                flag: "path",
                is_positional: true,
                value: "PATH",
                default: ".",
                help: "The directory to serve",
                more: "In builds with the feature object-store also the URL of a bucket: s3://BUCKET/PREFIX, gs://, az:// or \
                       https://.",
                heading: "Content",
                ..SITE
            }),
            store: from.optional(PATH, Row {
                key: "store",
                flag: "store",
                value: "STORE",
                help: "Serve the current release of this store instead of PATH, and what fingerprinted files other \
                       releases have; `salver deploy` makes releases",
                more: "In builds with the feature object-store also the URL of a bucket: s3://BUCKET/PREFIX, gs:// or az://.",
                heading: "Content",
                ..SITE
            }),
            release_addresses: from.one(choice(), Row {
                key: "release-addresses",
                flag: "release-addresses",
                value: "WHERE",
                default: "off",
                help: "With --store, show every release that is kept and every preview at an address of its own, out of \
                       search engines: host for NAME--example.org, path for /_release/NAME/",
                ..CONTENT
            }),
            index: from.list(INDEX_NAME, Row {
                key: "index",
                flag: "index",
                value: "NAME",
                default: "index.html",
                help: "File names that stand for their directory; the first that is there wins. Repeatable, or \
                       separated by commas",
                ..CONTENT
            }),
            spa: from.one(SPA, Row {
                key: "spa",
                flag: "spa",
                value: "FILE",
                default: "false",
                help: "Answer unknown paths that do not look like a file with this file of PATH and 200, as \
                       single-page applications need [default without FILE: the first index name]",
                ..CONTENT
            }),
            mount: from.list(mount(true), Row {
                key: "mount",
                flag: "mount",
                help: "Show another directory, or one file, at a path. Repeatable, or separated by commas",
                heading: "Content",
                ..SITE
            }),
            mount_plain: from.list(mount(false), Row {
                key: "mount",
                flag: "mount-plain",
                help: "Like --mount, but nothing of it is kept in memory: its files are read for each request",
                heading: "Content",
                ..SITE
            }),
            precompressed: from.one(CODINGS, Row {
                key: "precompressed",
                flag: "precompressed",
                value: "CODINGS",
                default: DEFAULT_CODINGS,
                help: "Precompressed siblings (.br, .zst, .gz) to look for; none for none",
                ..CONTENT
            }),
            compress: from.switch(Row {
                key: "compress",
                flag: "compress",
                default: "true",
                help: "Make the codings br, zstd and gzip of files that get smaller and have no precompressed sibling: \
                       once for each content, in the background; answers do not wait for them",
                negated: "Send no coding but those of precompressed siblings",
                is_left_out: !cfg!(feature = "compress"),
                ..CONTENT
            }),
            compress_include_type: from.list(TEXT, Row {
                key: "compress-include-type",
                flag: "compress-include-type",
                value: "TYPE",
                help: "With --compress, make codings of files of this media type, too: application/x-example, image/*. \
                       Repeatable, or separated by commas",
                is_left_out: !cfg!(feature = "compress"),
                ..CONTENT
            }),
            compress_exclude_type: from.list(TEXT, Row {
                key: "compress-exclude-type",
                flag: "compress-exclude-type",
                value: "TYPE",
                help: "With --compress, make no coding of files of this media type. Of both settings the one that names \
                       more counts: text/css before text/* before */*. Repeatable, or separated by commas",
                is_left_out: !cfg!(feature = "compress"),
                ..CONTENT
            }),
            dictionaries: from.switch(Row {
                key: "dictionaries",
                flag: "dictionaries",
                default: "true",
                help: "With --compress, send who has a former version of a fingerprinted file what has changed since \
                       (RFC 9842), over HTTPS",
                negated: "Have clients keep no former versions as dictionaries, and code nothing against them",
                is_left_out: !cfg!(feature = "compress"),
                ..CONTENT
            }),
            page_dictionary: from.optional(URL_PATH, Row {
                key: "page-dictionary",
                flag: "page-dictionary",
                value: "URLPATH",
                help: "With --dictionaries, code HTML against the file at this path of the site, which browsers load once: \
                       one that has what pages have in common, and is no page itself",
                is_left_out: !cfg!(feature = "compress"),
                ..CONTENT
            }),
            negotiate: from.one(ALTERNATIVES, Row {
                key: "negotiate",
                flag: "negotiate",
                value: "TYPES",
                default: "none",
                help: "Files of other types beside their originals, for clients whose Accept names the type, the best \
                       first: avif and webp for pictures, md for HTML; none for none",
                ..CONTENT
            }),
            dotfiles: from.switch(Row {
                key: "dotfiles",
                flag: "dotfiles",
                default: "false",
                help: "Serve names that begin with a dot; .well-known always is",
                ..CONTENT
            }),
            listing: from.switch(Row {
                key: "listing.enabled",
                flag: "listing",
                default: "false",
                help: "List what a directory without an index holds: as a page, and as JSON for programs that accept \
                       that",
                ..CONTENT
            }),
            listing_template: from.optional(PATH, Row {
                key: "listing.template",
                flag: "listing-template",
                help: "The page of --listing is made by this file, a template in the language of Jinja",
                is_left_out: !cfg!(feature = "listing-template"),
                ..CONTENT
            }),
            symlinks: from.one(choice(), Row {
                key: "symlinks",
                flag: "symlinks",
                default: "beneath",
                help: "Which symbolic links are followed: none, those that stay beneath their directory, or any",
                ..CONTENT
            }),
            compat: from.one(choice(), Row {
                key: "compat",
                flag: "compat",
                default: "netlify",
                help: "Whose _headers and _redirects in the root of a directory are obeyed: those of netlify or \
                       cloudflare; none serves them as files",
                ..CONTENT
            }),
            clean_urls: from.one(choice(), Row {
                key: "clean-urls",
                flag: "clean-urls",
                default: "off",
                help: "auto: the page about.html is /about, and /about.html leads there",
                ..CONTENT
            }),
            trailing_slash: from.one(choice(), Row {
                key: "trailing-slash",
                flag: "trailing-slash",
                default: "auto",
                help: "With clean URLs, the slash at the end of a page's path: as the page is on disk, always or never",
                ..CONTENT
            }),
            cors: from.switch(Row {
                key: "cors",
                flag: "cors",
                default: "false",
                help: "Let pages of all other origins read the files (Access-Control-Allow-Origin: *)",
                ..CONTENT
            }),
            live_reload: from.switch(Row {
                key: "live-reload",
                flag: "live-reload",
                default: "false",
                help: "Have open pages load again when a file changes, for who works on a site: pages get a script, \
                       each request looks at the disk",
                heading: "Development",
                is_left_out: !cfg!(feature = "live-reload"),
                ..ROW
            }),
            cache: from.switch(Row {
                key: "cache.enabled",
                flag: "cache",
                default: "true",
                help: "Keep files in memory",
                negated: "Keep nothing in memory: every request is answered from disk",
                heading: "Cache",
                ..ROW
            }),
            keep_previous: from.optional(TIME_LIMIT, Row {
                key: "cache.keep-previous",
                flag: "keep-previous",
                help: "Keep fingerprinted files for so long once a deploy has removed them, for pages that are open: in \
                       --cache-dir, or else in memory",
                heading: "Cache",
                ..ROW
            }),
            keep_previous_size: from.one(SIZE, Row {
                key: "cache.keep-previous-size",
                flag: "keep-previous-size",
                default: "64MiB",
                help: "Bytes that --keep-previous may take for each directory that is served, those included that are \
                       still there",
                heading: "Cache",
                ..ROW
            }),
            bucket_timeout: from.one(TIME_LIMIT, Row {
                key: "cache.bucket-timeout",
                flag: "bucket-timeout",
                default: "10s",
                help: "How long a bucket may take to answer a request, attempts included; then what is held is sent, \
                       or 503",
                heading: "Cache",
                ..ROW
            }),
            stale_while_revalidate: from.one(TIME, Row {
                key: "cache.stale-while-revalidate",
                flag: "stale-while-revalidate",
                default: "10s",
                help: "How long beyond --revalidate what is held of a bucket is sent at once, while it is compared in \
                       the background (RFC 5861)",
                heading: "Cache",
                ..ROW
            }),
            stale_if_error: from.one(TIME, Row {
                key: "cache.stale-if-error",
                flag: "stale-if-error",
                default: "1d",
                help: "How long beyond --revalidate what is held of a bucket is sent while that cannot be asked \
                       (RFC 5861)",
                heading: "Cache",
                ..ROW
            }),
            tls_cert: from.list(PATH, Row {
                key: "tls.certificate",
                flag: "tls-cert",
                help: "Serve over TLS at --port with the certificates in this PEM file, the server's own first. \
                       Repeatable, or separated by commas, as --tls-key is: clients get the one for the host \
                       that they ask for, or the first",
                ..TLS
            }),
            tls_key: from.list(PATH, Row {
                key: "tls.key",
                flag: "tls-key",
                help: "The PEM file with the private key of each --tls-cert, in the same order",
                ..TLS
            }),
            hsts: from.one(HSTS, Row {
                key: "tls.hsts",
                flag: "hsts",
                value: "SECONDS",
                default: "false",
                help: "Have browsers use nothing but TLS with this host for so long (Strict-Transport-Security) \
                       [default without SECONDS: 31536000, a year]",
                ..TLS
            }),
            hosts: from.list(HOST_PATTERN, Row {
                key: "hosts",
                otherwise: "all that no other site has",
                help: "The hosts that the site answers for: names, addresses, or *.example.org for all below a \
                       name",
                ..SITE
            }),
            error_pages: from.list(ERROR_PAGE, Row {
                key: "error-pages",
                value: "STATUS=FILE",
                help: "Files of the root that are the content of answers with these statuses, from 400 to 599",
                ..SITE
            }),
            env_variables: from.list(VARIABLE_NAME, Row {
                key: "env.variables",
                value: "NAME",
                help: "Environment variables that pages may see; none else is",
                ..SITE
            }),
            env_script: from.optional(URL_PATH, Row {
                key: "env.script",
                value: "PATH",
                help: "The path of a script that tells pages those variables, as env.NAME: /env.js, say",
                ..SITE
            }),
            env_placeholders: from.switch(Row {
                key: "env.placeholders",
                default: "false",
                help: "Replace [[env.NAME]] in HTML by those variables",
                ..SITE
            }),
            rules: from.tables(Row {
                key: "rule",
                help: "Rules for paths: fields, redirects, rewrites and who may see them",
                ..SITE
            }),
        }
    }
}
