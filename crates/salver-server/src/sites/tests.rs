use super::*;
use salver_assets::{Config, MemorySource, Mount, Source};

fn engine() -> Engine {
    let source: Arc<dyn Source> = Arc::new(MemorySource::new());
    let config = Config {
        mounts: vec![Mount::tree("/", source)],
        ..Config::default()
    };
    Engine::new(config).unwrap()
}

fn sites(hosts: &[&[&str]]) -> Sites {
    let first = engine();
    let site = |hosts: &&[&str]| Site {
        hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        engine: first.clone(),
        hsts: None,
        label: 0,
        releases: None,
    };
    Sites::new(hosts.iter().map(site).collect()).unwrap()
}

/// The number of the site for an authority, without TLS.
fn find(sites: &Sites, authority: &str) -> usize {
    let destination = || Destination {
        authority: authority.as_bytes(),
        server_name: None,
    };
    let FoundSite::Site(found) = sites.find(destination, b"/", None).unwrap() else {
        panic!("{authority} is of a release")
    };
    let mut all = sites.by_host.as_ref().unwrap().sites.iter();
    all.position(|site| std::ptr::eq(site, found)).unwrap()
}

#[test]
fn the_site_without_hosts_is_for_all_others_or_the_first() {
    let check = |sites: &Sites, authority: &str, expected| {
        assert_eq!(find(sites, authority), expected, "{authority}");
    };
    let all = sites(&[&["a.test", "*.b.test"], &[], &["x.b.test"]]);
    check(&all, "A.test:8080", 0);
    check(&all, "y.b.test", 0);
    check(&all, "x.b.test.", 2);
    check(&all, "b.test", 1);
    check(&all, "", 1);
    check(&all, &"a".repeat(100_000), 1);
    let all = sites(&[&["a.test"], &["b.test"]]);
    check(&all, "b.test", 1);
    check(&all, "c.test", 0);
    check(&all, "", 0);
}

#[test]
fn a_site_alone_is_found_without_its_host() {
    let nobody = || panic!("the host is not asked for");
    for sites in [sites(&[&["a.test"]]), Sites::from(engine())] {
        assert!(sites.find(nobody, b"/", None).is_ok() && !sites.are_several());
    }
    assert!(Sites::new(Vec::new()).is_none());
}

#[test]
fn times_are_kept_once() {
    let year = Duration::from_secs(31_536_000);
    let site = |hsts| Site {
        hosts: Vec::new(),
        engine: engine(),
        hsts,
        label: 0,
        releases: None,
    };
    let times = [None, Some(year), None, Some(year), Some(Duration::ZERO)];
    let sites = Sites::new(times.map(site).into()).unwrap();
    let hsts: Vec<_> = sites.fields().iter().map(|fields| fields.hsts).collect();
    assert_eq!(hsts, [None, Some(year), Some(Duration::ZERO)]);
    let all = &sites.by_host.as_ref().unwrap().sites;
    let fields: Vec<u16> = all.iter().map(|site| site.fields).collect();
    assert_eq!(fields, [1, 2, 1, 2, 3]);
}

#[test]
fn a_release_has_a_host_and_a_path_and_no_host_of_a_site_is_taken_for_one() {
    let (by_a, by_b) = (engine(), engine());
    let known = by_a.clone();
    let addresses = ReleaseAddresses::new(true, true, move |name| {
        (name == "next").then(|| known.clone())
    });
    let site = |hosts: &[&str], engine: &Engine, releases: Option<&ReleaseAddresses>| Site {
        hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        engine: engine.clone(),
        hsts: None,
        label: 0,
        releases: releases.cloned(),
    };
    let sites = Sites::new(vec![
        site(
            &["a.test", "*.a.test", "own--a.test"],
            &by_a,
            Some(&addresses),
        ),
        site(&["b.test"], &by_b, None),
    ]);
    let sites = sites.unwrap();
    // The site, and of a release whether it can be there and how long its path is.
    let check = |authority: &str, name: Option<&str>, path: &str, expected| {
        let destination = || Destination {
            authority: authority.as_bytes(),
            server_name: name,
        };
        let found = match sites.find(destination, path.as_bytes(), None) {
            Ok(FoundSite::Site(site)) => Ok((site.engine.is_same(&by_a), None)),
            Ok(FoundSite::Release(release)) => {
                let is_noindex = sites.fields()[usize::from(release.site.fields) - 1].is_noindex;
                assert!(is_noindex, "{authority}{path}");
                let is_a = release.site.engine.is_same(&by_a);
                Ok((is_a, Some((release.is_known, release.prefix))))
            }
            Err(Misdirected) => Err(()),
        };
        assert_eq!(found, expected, "{authority}{path}");
    };
    check("a.test", None, "/", Ok((true, None)));
    check("NEXT--a.test:80", None, "/", Ok((true, Some((true, 0)))));
    check("gone--a.test", None, "/", Ok((true, Some((false, 0)))));
    check("next--www.a.test", None, "/", Ok((true, Some((true, 0)))));
    check("own--a.test", None, "/", Ok((true, None)));
    // That of a site whose releases have none is a host that nobody has.
    check("next--b.test", None, "/", Ok((true, None)));
    check("b.test", None, "/_release/next/", Ok((false, None)));
    check(
        "a.test",
        None,
        "/_release/next/x",
        Ok((true, Some((true, 14)))),
    );
    check(
        "a.test",
        None,
        "/_release/gone/x",
        Ok((true, Some((false, 14)))),
    );
    check("a.test", None, "/_release/", Ok((true, Some((false, 10)))));
    // A release of a release is none.
    let within = Ok((true, Some((true, 0))));
    check("next--a.test", None, "/_release/next/", within);
    // By the connection: for the release itself, for its site, for another.
    check(
        "next--a.test",
        Some("next--a.test"),
        "/",
        Ok((true, Some((true, 0)))),
    );
    check(
        "next--a.test",
        Some("a.test"),
        "/",
        Ok((true, Some((true, 0)))),
    );
    check("b.test", Some("next--a.test"), "/", Err(()));
    check("next--a.test", Some("b.test"), "/", Err(()));
    // A site alone has them, too, at any host.
    let alone = Sites::new(vec![site(&[], &by_a, Some(&addresses))]).unwrap();
    assert!(alone.are_several());
    let destination = || Destination {
        authority: b"next--192.0.2.1",
        server_name: None,
    };
    let found = alone.find(destination, b"/", None);
    assert!(matches!(found, Ok(FoundSite::Release(release)) if release.is_known));
}
