//! `--tls-self-signed`: a certificate that is made at the start.

use std::net::IpAddr;

use salver_config::{Server, Site};
use salver_tls::Certificates;

use super::failed;
use crate::failure::Failure;
use crate::hosts::bare;

/// The certificate, with what a person should know of it; `None` if none is asked for.
pub(super) fn certificates(
    server: &Server,
    sites: &[Site],
) -> Result<Option<(Certificates, Vec<String>)>, Failure> {
    if !*server.tls_self_signed {
        return Ok(None);
    }
    if let Some(site) = sites.iter().find(|site| !site.tls_cert.is_empty()) {
        return Err(Failure::Misused(format!(
            "{} and {} contradict each other: give one of them",
            server.tls_self_signed.name(),
            site.tls_cert.name()
        )));
    }
    let made = Certificates::self_signed(&own_names(&server.host)).map_err(failed)?;
    let mut warnings = Vec::new();
    // Who asked for it and wants to hear little has no use for that.
    if !*server.quiet {
        warnings.push(
            "nobody vouches for the self-signed certificate: browsers warn before they show a page"
                .to_owned(),
        );
    }
    Ok(Some((made, warnings)))
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
