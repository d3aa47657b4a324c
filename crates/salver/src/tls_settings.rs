//! Settings for TLS to those of the server: which ports there are and what is spoken there.

use std::net::{IpAddr, SocketAddr};

use salver_config::{Server, Site};
use salver_server::TlsSettings;
use salver_server::tls::{CertificateError, CertificateFiles, Certificates, Handshakes};

use crate::failure::Failure;
use crate::hosts::{addresses, bare};

/// Where is listened, and how.
#[derive(Debug)]
pub(crate) struct Listening {
    /// Without TLS.
    pub(crate) plain: Vec<SocketAddr>,
    /// With TLS.
    pub(crate) tls: Option<TlsSettings>,
    /// What a person should know although nothing is wrong.
    pub(crate) warnings: Vec<String>,
}

/// Reads the certificates and sorts the ports.
///
/// # Errors
/// A certificate that cannot be used, or settings that cannot be meant.
pub(crate) fn listening(server: &Server, site: &Site) -> Result<Listening, Failure> {
    check_ports(server)?;
    let places = |ports: &[u16]| -> Result<Vec<SocketAddr>, Failure> {
        let name = server.host.name();
        let all = ports
            .iter()
            .map(|&port| addresses(&name, &server.host, port));
        Ok(all.collect::<Result<Vec<_>, _>>()?.concat())
    };
    let (at_ports, plain) = (places(&server.port)?, places(&server.http_port)?);
    let Some(certificates) = certificates(server, site)? else {
        check_needs_no_tls(server, site)?;
        return Ok(Listening {
            plain: [at_ports, plain].concat(),
            tls: None,
            warnings: Vec::new(),
        });
    };
    let mut warnings = certificates.warnings();
    // Who asked for it and wants to hear little has no use for that.
    if *server.tls_self_signed && !*server.quiet {
        warnings.push(
            "nobody vouches for the self-signed certificate: browsers warn before they show a page"
                .to_owned(),
        );
    }
    let handshakes = Handshakes::new(certificates)
        .map_err(|error| Failure::Failed(format!("TLS cannot be set up: {error}")))?;
    let redirects: Vec<u16> = server.https_redirect.into_iter().collect();
    let tls = TlsSettings {
        handshakes,
        addresses: at_ports,
        redirects: places(&redirects)?,
        hsts: *site.hsts,
    };
    Ok(Listening {
        plain,
        tls: Some(tls),
        warnings,
    })
}

/// The certificates that are named, or one that is made; `None` without TLS.
fn certificates(server: &Server, site: &Site) -> Result<Option<Certificates>, Failure> {
    let (certificates, keys) = (&site.tls_cert, &site.tls_key);
    if certificates.len() != keys.len() {
        return Err(Failure::Misused(format!(
            "{} {} and {} {}: give each certificate its key, in the same order",
            certificates.len(),
            certificates.name(),
            keys.len(),
            keys.name()
        )));
    }
    let failed = |error: CertificateError| match error.is_refusal() {
        true => Failure::Failed(error.to_string()),
        false => Failure::Misused(error.to_string()),
    };
    match (certificates.is_empty(), *server.tls_self_signed) {
        (true, false) => Ok(None),
        (true, true) => Certificates::self_signed(&own_names(&server.host))
            .map(Some)
            .map_err(failed),
        (false, true) => Err(Failure::Misused(format!(
            "{} and {} contradict each other: give one of them",
            server.tls_self_signed.name(),
            certificates.name()
        ))),
        (false, false) => {
            let pairs = certificates.iter().zip(keys.iter());
            let files = pairs.map(|(certificate, key)| CertificateFiles {
                certificate: certificate.clone(),
                key: key.clone(),
            });
            Certificates::read(files.collect())
                .map(Some)
                .map_err(failed)
        }
    }
}

/// What a browser on this machine may call the server, and what others may.
fn own_names(hosts: &[String]) -> Vec<String> {
    let mut names = ["localhost", "127.0.0.1", "::1"]
        .map(str::to_owned)
        .to_vec();
    for host in hosts {
        let host = bare(host).to_ascii_lowercase();
        let is_any = host.parse().is_ok_and(|host: IpAddr| host.is_unspecified());
        if !is_any && !names.contains(&host) {
            names.push(host);
        }
    }
    names
}

fn check_needs_no_tls(server: &Server, site: &Site) -> Result<(), Failure> {
    let named = if site.hsts.is_some() {
        site.hsts.name()
    } else if server.https_redirect.is_some() {
        server.https_redirect.name()
    } else {
        return Ok(());
    };
    Err(Failure::Misused(format!(
        "{named} needs TLS: give --tls-cert and --tls-key, or --tls-self-signed"
    )))
}

/// A port cannot be had twice, whatever is spoken there.
fn check_ports(server: &Server) -> Result<(), Failure> {
    let named = |name: String, ports: &[u16]| {
        let each = ports.iter().map(|&port| (name.clone(), port));
        each.collect::<Vec<_>>()
    };
    let redirect: Vec<u16> = server.https_redirect.into_iter().collect();
    let all = [
        named(server.port.name(), &server.port),
        named(server.http_port.name(), &server.http_port),
        named(server.https_redirect.name(), &redirect),
    ]
    .concat();
    for (number, (flag, port)) in all.iter().enumerate() {
        let before = all.iter().take(number);
        // Each 0 is another free one.
        let mut taken = before.filter(|(_, other)| port == other && *port != 0);
        if let Some((other, _)) = taken.next() {
            return Err(Failure::Misused(format!(
                "{other} {port} and {flag} {port} are one port: choose another for one of them"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_of_its_own_is_for_what_it_is_called() {
        fn check(host: &str, expected: &[&str]) {
            let hosts: Vec<_> = host.split(' ').map(str::to_owned).collect();
            let names = own_names(&hosts);
            let (usual, more) = names.split_at(3);
            assert_eq!(usual, ["localhost", "127.0.0.1", "::1"]);
            assert_eq!(more, expected, "{host}");
        }
        check("127.0.0.1", &[]);
        check("localhost", &[]);
        check("LOCALHOST", &[]);
        check("[::1]", &[]);
        check("0.0.0.0", &[]);
        check("::", &[]);
        check("192.0.2.1", &["192.0.2.1"]);
        check("[2001:db8::1]", &["2001:db8::1"]);
        check("laptop.test", &["laptop.test"]);
        check(":: laptop.test A.test a.test", &["laptop.test", "a.test"]);
    }
}
