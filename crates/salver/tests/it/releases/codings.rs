//! Codings that are made before a release becomes current.

use std::fs;
use std::path::Path;

use salver_coding::{ContentCoding, decodes_to};

use super::Deployment;
use super::network::{Taking, deploy_to};
use super::served::{serve, until};
use crate::common::{Running, run, stop};

/// Bytes that no coding makes shorter.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    std::iter::repeat_with(next).take(length).collect()
}

fn site() -> (Deployment, String) {
    let code = (0..2000).map(|number| format!("let value{number} = {number};\n"));
    let code: String = code.collect();
    let site = Deployment::new(&[
        ("index.html", "short"),
        ("app.js", &code),
        ("copy.js", &code),
    ]);
    site.put("photo.jpg", noise(50_000));
    site.put("data.bin", noise(50_000));
    (site, code)
}

/// Deploys to the store itself.
fn deploy(site: &Deployment) -> serde_json::Value {
    let mut words = site.words().to_vec();
    words.extend(["--json", "--wait-compressed"].map(str::to_owned));
    let (code, out, said) = run(&words);
    assert_eq!(code, 0, "{said}");
    serde_json::from_str(&out).unwrap()
}

fn files_beneath(directory: &Path) -> usize {
    let entries = fs::read_dir(directory).unwrap();
    let counts = entries.map(|entry| match entry.unwrap().path() {
        path if path.is_dir() => files_beneath(&path),
        _ => 1,
    });
    counts.sum()
}

/// Each coding is sent with the first answer, of a server that makes none.
fn check_served(server: &Running, code: &str) {
    for (name, coding) in [
        ("br", ContentCoding::Brotli),
        ("zstd", ContentCoding::Zstd),
        ("gzip", ContentCoding::Gzip),
    ] {
        for path in ["/app.js", "/copy.js"] {
            let (status, head, content) = server.get(path, &format!("Accept-Encoding: {name}\r\n"));
            let (head, field) = (head.to_lowercase(), format!("content-encoding: {name}\r\n"));
            assert!(status == 200 && head.contains(&field), "{head}");
            assert!(content.len() < code.len() / 2, "{name}: {}", content.len());
            assert!(
                decodes_to(&mut &*content, coding, code.as_bytes()),
                "{name}"
            );
        }
        for path in ["/photo.jpg", "/data.bin", "/"] {
            let (status, head, _) = server.get(path, &format!("Accept-Encoding: {name}\r\n"));
            assert!(
                status == 200 && !head.to_lowercase().contains("content-encoding"),
                "{path}: {head}"
            );
        }
    }
}

#[test]
fn they_are_there_from_the_first_answer_and_made_once() {
    let (site, code) = site();
    let first = deploy(&site);
    // Two names of one content, each with three codings; they share their blobs.
    assert_eq!(first["files"], 5 + 6);
    let blobs = || files_beneath(&site.store().join("blobs"));
    assert_eq!(blobs(), 3 + 3);
    let server = serve(&site, &[]);
    check_served(&server, &code);
    assert_eq!(deploy(&site)["unchanged"], true);
    // Under another name it is the same content.
    site.put("third.js", &code);
    site.put("index.html", "other");
    let second = deploy(&site);
    assert_eq!(second["sent"]["blobs"], 1);
    assert_eq!(
        (second["files"].as_u64(), blobs()),
        (Some(6 + 9), 3 + 3 + 1)
    );
    until(&server, "/", 200, "other");
    // What a build has made itself stays.
    site.put("app.js.gz", "no gzip");
    deploy(&site);
    site.assert_sound();
    // A note that is damaged, and a coding that has gone, are made anew.
    for name in ["codings", "blobs"] {
        let coded = salver_store::BlobDigest::of(code.as_bytes()).to_string();
        let (directory, rest) = coded.split_at(2);
        let path = site.store().join(name).join(directory).join(rest);
        if name == "codings" {
            let note = fs::read_to_string(&path).unwrap();
            fs::write(&path, note.replace("br ", "br  ")).unwrap();
        }
        assert_eq!(deploy(&site)["unchanged"], true);
        assert!(path.exists());
    }
    // With the last release that has it its note goes; so does that of the first page.
    for path in ["app.js", "copy.js", "third.js", "app.js.gz"] {
        site.remove(path);
    }
    deploy(&site);
    let before = files_beneath(&site.store().join("codings"));
    let (status, _, said) = site.command(&["prune", "--keep", "1", "--for", "0s"], &[]);
    assert_eq!(status, 0, "{said}");
    assert_eq!(files_beneath(&site.store().join("codings")), before - 2);
    site.assert_sound();
    stop(server);
}

#[test]
fn a_server_makes_the_same() {
    let (site, code) = site();
    let taking = Taking::start(&site);
    let url = format!("http://{}/", taking.admin);
    let first = deploy_to(&site, &url, &["--wait-compressed"]);
    assert_eq!(
        (&first["files"], &first["sent"]["blobs"]),
        (&11.into(), &3.into())
    );
    until(&taking.server, "/", 200, "short");
    check_served(&taking.server, &code);
    assert_eq!(
        deploy_to(&site, &url, &["--wait-compressed"])["unchanged"],
        true
    );
    assert_eq!(deploy(&site)["unchanged"], true);
    site.assert_sound();
    stop(taking.server);
}
