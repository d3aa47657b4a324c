//! Codings that outlive the process, in a directory that is believed nothing.

use std::fs;
use std::path::{Path, PathBuf};

use salver_assets::CodingDirectory;

use super::*;

/// A site that keeps its codings in `kept`.
fn site(files: &[(&str, &[u8])], kept: &Path) -> Site {
    let directory = CodingDirectory::open(kept, 1 << 20).unwrap();
    Site::new(Config {
        kept_codings: Some(Arc::new(directory)),
        ..config(Mount::tree("/", memory(files)))
    })
}

fn kept_files(kept: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(kept).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn after_a_restart_nothing_is_made_again() {
    let content = text(1, 20_000);
    let (noise, folder) = (b"x".repeat(129), tempfile::tempdir().unwrap());
    let noise: Vec<u8> = noise
        .iter()
        .zip(0_u8..)
        .map(|(_, n)| n.wrapping_mul(167))
        .collect();
    let files: [(&str, &[u8]); 2] = [("a.js", &content), ("noise.js", &noise)];
    let before = site(&files, folder.path());
    let made = until(&before, "/a.js", "br", &content, "br");
    get(&before, "/noise.js", "br");
    idle(&before);
    let statistics = before.engine.statistics();
    assert_eq!(
        (statistics.codings_made, statistics.codings_useless),
        (1, 1)
    );
    assert_eq!(kept_files(folder.path()).len(), 2);
    drop(before);
    let after = site(&files, folder.path());
    assert_eq!(until(&after, "/a.js", "br", &content, "br"), made);
    get(&after, "/noise.js", "br");
    idle(&after);
    let statistics = after.engine.statistics();
    assert_eq!(
        (statistics.codings_made, statistics.codings_useless),
        (0, 0)
    );
    assert_eq!(statistics.codings_taken, 2);
}

#[test]
fn what_is_damaged_or_of_something_else_is_made_anew() {
    let (content, other) = (text(1, 20_000), text(2, 20_000));
    let folder = tempfile::tempdir().unwrap();
    let files: [(&str, &[u8]); 1] = [("a.js", &content)];
    let others: [(&str, &[u8]); 1] = [("a.js", &other)];
    until(
        &site(&files, folder.path()),
        "/a.js",
        "gzip",
        &content,
        "gzip",
    );
    let [file] = &*kept_files(folder.path()) else {
        panic!("one file");
    };
    let whole = fs::read(file).unwrap();
    let beside = tempfile::tempdir().unwrap();
    until(
        &site(&others, beside.path()),
        "/a.js",
        "gzip",
        &other,
        "gzip",
    );
    let [of_other] = &*kept_files(beside.path()) else {
        panic!("one file");
    };
    let damages = [
        Vec::new(),
        b"nothing of this kind".to_vec(),
        whole[..whole.len() / 2].to_vec(),
        whole.iter().map(|byte| byte ^ 1).collect(),
        // Whole and right, but of another file of the same length.
        fs::read(of_other).unwrap(),
    ];
    for damage in damages {
        fs::write(file, &damage).unwrap();
        let site = site(&files, folder.path());
        until(&site, "/a.js", "gzip", &content, "gzip");
        let statistics = site.engine.statistics();
        assert_eq!((statistics.codings_made, statistics.codings_taken), (1, 0));
        idle(&site);
        assert!(fs::read(file).unwrap() == whole);
    }
}

#[test]
fn a_directory_that_goes_takes_nothing_with_it() {
    let content = text(1, 20_000);
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    let files: [(&str, &[u8]); 1] = [("a.js", &content)];
    let site = site(&files, &kept);
    until(&site, "/a.js", "gzip", &content, "gzip");
    idle(&site);
    fs::remove_dir_all(&kept).unwrap();
    until(&site, "/a.js", "br", &content, "br");
    until(&site, "/a.js", "gzip", &content, "gzip");
}

#[test]
fn two_that_share_a_directory_have_what_the_other_made() {
    let contents: Vec<Vec<u8>> = (0..20).map(|number| text(number, 8_000)).collect();
    let names: Vec<String> = (0..20).map(|number| format!("{number}.txt")).collect();
    let files = names.iter().zip(&contents);
    let files: Vec<(&str, &[u8])> = files.map(|(name, content)| (&**name, &**content)).collect();
    let folder = tempfile::tempdir().unwrap();
    let sites = [site(&files, folder.path()), site(&files, folder.path())];
    // At once.
    std::thread::scope(|scope| {
        for site in &sites {
            scope.spawn(|| {
                for (name, content) in &files {
                    until(site, &format!("/{name}"), "gzip", content, "gzip");
                }
            });
        }
    });
    sites.iter().for_each(idle);
    assert_eq!(kept_files(folder.path()).len(), files.len());
    let third = site(&files, folder.path());
    for (name, content) in &files {
        until(&third, &format!("/{name}"), "gzip", content, "gzip");
    }
    let statistics = third.engine.statistics();
    assert_eq!((statistics.codings_made, statistics.codings_taken), (0, 20));
}
