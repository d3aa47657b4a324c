//! The settings of the admin listener, checked.

use std::fs::File;
use std::io::Read as _;
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

use salver_admin::Token;
use salver_config::Server;
use salver_store::DeployLimits;

use crate::failure::Failure;

/// The longest file of a token, in bytes.
const LONGEST: u64 = 4096;

/// The settings of the admin listener.
#[derive(Clone, Debug)]
pub(crate) struct AdminSettings {
    /// The addresses over TCP.
    pub(crate) addresses: Vec<SocketAddr>,
    /// The path of a Unix socket.
    pub(crate) socket: Option<PathBuf>,
    /// The token, if one is wanted.
    pub(crate) token: Option<Token>,
    /// The most that deploys over the network may bring; none if they are not taken.
    pub(crate) deploys: Option<DeployLimits>,
    /// The files of the certificate and the key of the addresses that other machines reach, if these have TLS.
    certificate: Option<(PathBuf, PathBuf)>,
}

impl AdminSettings {
    /// The addresses without TLS.
    pub(crate) fn plain_addresses(&self) -> Vec<SocketAddr> {
        let addresses = self.addresses.iter().copied();
        let plain = addresses.filter(|address| self.certificate.is_none() || is_near(address));
        plain.collect()
    }

    /// The settings of TLS; `None` without it.
    ///
    /// # Errors
    /// The certificate cannot be used.
    #[cfg(feature = "tls")]
    pub(crate) fn tls(&self) -> Result<Option<salver_server::TlsSettings>, Failure> {
        use salver_tls::{CertificateFiles, Certificates, Handshakes};

        let Some((certificate, key)) = self.certificate.clone() else {
            return Ok(None);
        };
        let certificates = Certificates::read(vec![CertificateFiles { certificate, key }]);
        let certificates = certificates.map_err(|error| Failure::Failed(error.to_string()))?;
        let handshakes = Handshakes::new(certificates)
            .map_err(|error| Failure::Failed(format!("TLS cannot be set up: {error}")))?;
        let addresses = self.addresses.iter().copied();
        Ok(Some(salver_server::TlsSettings {
            handshakes,
            addresses: addresses.filter(|address| !is_near(address)).collect(),
            redirects: Vec::new(),
            hsts: None,
        }))
    }
}

/// True if this machine alone reaches the address.
fn is_near(address: &SocketAddr) -> bool {
    address.ip().is_loopback()
}

/// The settings of the admin listener; `None` without one.
///
/// # Errors
/// Settings that cannot be meant, and an address that other machines reach without a token.
pub(crate) fn admin_settings(server: &Server) -> Result<Option<AdminSettings>, Failure> {
    let name = server.admin.name();
    let mut addresses = Vec::new();
    for text in server.admin.iter() {
        let unknown = || {
            Failure::Misused(format!(
                "{name} {}: give an address with its port, such as 127.0.0.1:9090",
                text.escape_debug()
            ))
        };
        let found = text.to_socket_addrs().map_err(|_| unknown())?;
        let before = addresses.len();
        addresses.extend(found);
        if addresses.len() == before {
            return Err(unknown());
        }
    }
    let port = server.metrics.map(|port| (Ipv4Addr::LOCALHOST, port));
    addresses.extend(port.map(SocketAddr::from));
    let socket = (*server.admin_socket).clone();
    if addresses.is_empty() && socket.is_none() {
        return match *server.deploys.accept {
            false => Ok(None),
            true => Err(Failure::Misused(format!(
                "{}: no admin listener takes them: give {name} or {}",
                server.deploys.accept.name(),
                server.admin_socket.name()
            ))),
        };
    }
    let token = token(server)?;
    let mut outward = addresses.iter().filter(|address| !is_near(address));
    if let (None, Some(address)) = (&token, outward.next()) {
        return Err(Failure::Misused(format!(
            "{name} {address}: other machines may reach it, and no token is set: give {} or the variable \
             {}, or listen on 127.0.0.1",
            server.admin_token_file.name(),
            server.admin_token.name()
        )));
    }
    Ok(Some(AdminSettings {
        deploys: deploys(server, token.is_some())?,
        certificate: certificate(server)?,
        addresses,
        socket,
        token,
    }))
}

/// What deploys may bring, if they are taken.
fn deploys(server: &Server, has_token: bool) -> Result<Option<DeployLimits>, Failure> {
    let deploys = &server.deploys;
    match (*deploys.accept, has_token) {
        (false, _) => Ok(None),
        (true, false) => Err(Failure::Misused(format!(
            "{}: whoever asks could change the site, and no token is set: give {} or the variable {}",
            deploys.accept.name(),
            server.admin_token_file.name(),
            server.admin_token.name()
        ))),
        (true, true) => Ok(Some(DeployLimits {
            file_bytes: *deploys.max_file,
            release_bytes: *deploys.max_release,
            files: usize::try_from(*deploys.max_files).unwrap_or(usize::MAX),
        })),
    }
}

/// The files of a certificate and its key, if there are any.
fn certificate(server: &Server) -> Result<Option<(PathBuf, PathBuf)>, Failure> {
    let (certificate, key) = (&server.deploys.tls_cert, &server.deploys.tls_key);
    match (&**certificate, &**key) {
        (None, None) => Ok(None),
        (Some(certificate), Some(key)) => Ok(Some((certificate.clone(), key.clone()))),
        _ => Err(Failure::Misused(format!(
            "{} and {} belong together: give both",
            certificate.name(),
            key.name()
        ))),
    }
}

fn token(server: &Server) -> Result<Option<Token>, Failure> {
    let (file, own) = (&server.admin_token_file, &server.admin_token);
    match (&**file, &**own) {
        (Some(_), Some(_)) => Err(Failure::Misused(format!(
            "{} and {} are two tokens: give one of them",
            file.name(),
            own.name()
        ))),
        (None, None) => Ok(None),
        (None, Some(text)) => {
            let token = Token::new(text.as_bytes());
            let wrong = |error| Failure::Misused(format!("{}: {error}", own.name()));
            token.map(Some).map_err(wrong)
        }
        (Some(path), None) => token_in(path, &file.name()).map(Some),
    }
}

/// The token in a file, which something of this name says.
///
/// # Errors
/// It cannot be read, or holds none.
pub(crate) fn token_in(path: &Path, name: &str) -> Result<Token, Failure> {
    let failed = |error| Failure::Failed(format!("{name} {path:?} cannot be read: {error}"));
    let mut text = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(LONGEST).read_to_end(&mut text).map_err(failed)?;
    Token::new(&text).map_err(|error| Failure::Misused(format!("{name} {path:?}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::{Cli, Command};
    use salver_config::{Environment, Machine};

    fn settings(
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Result<Option<AdminSettings>, String> {
        let all = ["salver", "serve", "."].iter().chain(arguments);
        let Command::Serve(flags) = Cli::read(all).unwrap().command else {
            panic!("another command")
        };
        let variables = variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()));
        let environment = Environment::of(variables);
        let configuration = flags.configuration(&environment, Machine::default());
        let configuration = configuration.unwrap();
        admin_settings(&configuration.server).map_err(|failure| failure.to_string())
    }

    #[test]
    fn it_is_off_unless_it_is_asked_for() {
        assert!(settings(&[], &[]).unwrap().is_none());
        let token = [("SALVER_ADMIN_TOKEN", "0123456789abcdef")];
        assert!(settings(&[], &token).unwrap().is_none());
        let found = settings(&["--metrics", "9090"], &[]).unwrap().unwrap();
        assert_eq!(found.addresses, ["127.0.0.1:9090".parse().unwrap()]);
        let found = settings(&["--admin-socket", "/run/s"], &[])
            .unwrap()
            .unwrap();
        assert!(found.addresses.is_empty() && found.socket == Some("/run/s".into()));
        let both = ["--admin", "127.0.0.1:1,[::1]:2", "--metrics", "3"];
        assert_eq!(settings(&both, &[]).unwrap().unwrap().addresses.len(), 3);
    }

    #[test]
    fn beyond_loopback_it_needs_a_token() {
        let check = |arguments: &[&str], variables: &[(&str, &str)], part: &str| {
            let said = settings(arguments, variables);
            match part {
                "" => assert!(said.is_ok(), "{said:?}"),
                part => {
                    let said = said.unwrap_err();
                    assert!(said.contains(part) && !said.contains('\n'), "{said}");
                }
            }
        };
        let token = [("SALVER_ADMIN_TOKEN", "0123456789abcdef")];
        for address in ["0.0.0.0:9090", "[::]:9090", "192.0.2.1:9090"] {
            check(&["--admin", address], &[], "no token is set");
            check(&["--admin", address], &token, "");
        }
        check(&["--admin", "localhost:9090"], &[], "");
        check(&["--admin", "9090"], &[], "give an address with its port");
        check(&["--admin", "a b:1"], &[], "give an address with its port");
        check(
            &["--metrics", "1"],
            &[("SALVER_ADMIN_TOKEN", "short")],
            "16 characters",
        );
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        std::fs::write(&file, "0123456789abcdef\n").unwrap();
        let flag = [
            "--admin",
            "0.0.0.0:1",
            "--admin-token-file",
            file.to_str().unwrap(),
        ];
        check(&flag, &[], "");
        check(&flag, &token, "two tokens");
        check(
            &["--metrics", "1", "--admin-token-file", "/nowhere"],
            &[],
            "cannot be read",
        );
    }
}
