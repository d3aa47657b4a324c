use proptest::collection::vec;
use proptest::prelude::*;
use salver_assets::source::is_clean;

use super::*;
use crate::files::escape::{escape, unescape};

fn file(path: &[u8], content: &[u8], decoded: Option<u128>) -> ManifestFile {
    ManifestFile {
        path: path.into(),
        blob: BlobDigest::of(content),
        known: KnownDigests {
            digest: salver_assets::digest::of_bytes(content),
            decoded,
        },
        length: u64::try_from(content.len()).unwrap(),
        modified_unix_seconds: -5,
        media_type: ManifestFile::media_type_of(path),
    }
}

fn sample() -> Manifest {
    let files = vec![
        file(b"sub/b.html", b"beta", None),
        file(b"a b%\n\xff.txt", b"alpha", None),
        file(b"sub/b.html.br", b"coded", Some(7)),
        file(b"sub-c", b"", None),
    ];
    Manifest::new(1_764_000_000, files)
}

#[test]
fn a_manifest_is_read_as_it_was_written() {
    let manifest = sample();
    let text = manifest.to_text();
    assert_eq!(Manifest::parse(&text), Ok(manifest.clone()));
    assert!(
        text.contains(" text/plain - a%20b%25%0A%FF.txt\n"),
        "{text}"
    );
    let coded = " application/x-br br=00000000000000000000000000000007 sub/b.html.br\n";
    let octets = coded.replace("application/x-br", "application/octet-stream");
    assert!(text.contains(coded) || text.contains(&octets), "{text}");
    assert!(manifest.is_named(&manifest.id()));
    assert!(!manifest.is_named(&Manifest::new(1_764_000_000, Vec::new()).id()));
}

#[test]
fn of_two_files_at_one_path_the_last_counts() {
    let files = vec![file(b"a", b"one", None), file(b"a", b"other", None)];
    let manifest = Manifest::new(0, files);
    assert_eq!(manifest.files().len(), 1);
    assert_eq!(manifest.find(b"a").unwrap().blob, BlobDigest::of(b"other"));
}

#[test]
fn directories_follow_from_paths() {
    let manifest = sample();
    let names = |path: &[u8], most| {
        let names = manifest.names(path, most).into_iter();
        names
            .map(|name| name.escape_ascii().to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(b"", 9), ["a b%\\n\\xff.txt", "sub-c", "sub"]);
    assert_eq!(names(b"", 2), ["a b%\\n\\xff.txt", "sub-c"]);
    assert_eq!(names(b"sub", 9), ["b.html", "b.html.br"]);
    assert!(names(b"su", 9).is_empty() && names(b"sub/", 9).is_empty());
}

#[test]
fn any_change_is_found() {
    let text = sample().to_text();
    for at in 0..text.len() {
        let mut bytes = text.clone().into_bytes();
        bytes[at] ^= 1;
        let changed = String::from_utf8(bytes).unwrap();
        assert!(Manifest::parse(&changed).is_err(), "{at}: {changed}");
        assert!(Manifest::parse(text.get(..at).unwrap()).is_err(), "{at}");
    }
    assert!(Manifest::parse(&format!("{text}\n")).is_err());
}

/// The text with its last line made right again.
fn signed(text: &str) -> String {
    let body = text.get(..text.rfind("end ").unwrap()).unwrap();
    format!("{body}end {}\n", BlobDigest::of(body.as_bytes()))
}

#[test]
fn what_is_signed_and_wrong_is_named_by_line() {
    let text = sample().to_text();
    assert_eq!(signed(&text), text);
    let check = |from: &str, to: &str, line: usize, what: &str| {
        assert!(text.contains(from), "{from}");
        let fault = Manifest::parse(&signed(&text.replacen(from, to, 1))).unwrap_err();
        assert_eq!((fault.line, fault.what), (line, what), "{to}");
    };
    check(
        "manifest 1",
        "manifest 2",
        1,
        "it is no manifest of version 1",
    );
    check("created 1", "created +1", 2, "no time of creation");
    check("created 1764000000", "created -1", 2, "no time of creation");
    check("files 4", "files 04", 3, "no number of files and bytes");
    check(
        "files 4",
        "files 99999999",
        3,
        "more files than a release may have",
    );
    check("files 4", "files 5", 8, "no SHA-256");
    check("files 4 14", "files 4 15", 8, "the lengths do not add up");
    check("a%20b", "a%2ab", 4, "no path");
    check("a%20b", "z%20b", 5, "it is not sorted");
    check("a%20b", "/a%20b", 4, "a path that no file has");
    check("a%20b", "../a%20b", 4, "a path that no file has");
    check("a%20b", "a b", 4, "more than belongs to a file");
    check(
        " - a%20b",
        " br=00000000000000000000000000000007 a%20b",
        4,
        "a coding that the name does not have",
    );
    check(
        "br=0000",
        "gz=0000",
        7,
        "a coding that the name does not have",
    );
    check("text/plain", "text", 4, "no media type");
    check(" -5 ", " -05 ", 4, "no time of modification");
}

/// Paths that a tree may have.
fn paths() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 1..20).prop_filter("clean", |path| is_clean(path) && !path.is_empty())
}

proptest! {
    #[test]
    fn every_release_is_read_as_it_was_written(
        paths in vec(paths(), 0..20),
        created in 0..=crate::files::time::LAST,
        lengths in vec(0_u64..1 << 40, 20),
        modified in any::<i64>(),
        decoded in any::<u128>(),
    ) {
        let files = paths.iter().zip(lengths).map(|(path, length)| {
            let is_coded = salver_assets::ContentCoding::of_file_name(path).is_some();
            ManifestFile {
                length,
                modified_unix_seconds: modified,
                ..file(path, path, is_coded.then_some(decoded))
            }
        });
        let manifest = Manifest::new(created, files.collect());
        let text = manifest.to_text();
        prop_assert_eq!(Manifest::parse(&text), Ok(manifest.clone()));
        prop_assert!(manifest.is_named(&manifest.id()));
        for file in manifest.files() {
            prop_assert_eq!(manifest.find(&file.path), Some(file));
        }
    }

    #[test]
    fn nothing_panics(text in "\\PC*") {
        let _ = Manifest::parse(&text);
        let _ = unescape(&text);
    }

    #[test]
    fn a_text_that_is_read_is_the_one_that_is_written(
        cuts in vec((any::<prop::sample::Index>(), "[ -~\n]{0,3}"), 1..4),
    ) {
        let mut text = sample().to_text();
        for (at, insert) in cuts {
            let at = at.index(text.len());
            text.replace_range(at..at, &insert);
        }
        let text = match text.rfind("end ") {
            Some(_) => signed(&text),
            None => text,
        };
        if let Ok(manifest) = Manifest::parse(&text) {
            prop_assert_eq!(manifest.to_text(), text);
        }
    }

    #[test]
    fn a_word_is_read_as_it_was_written(bytes in vec(any::<u8>(), 0..50)) {
        let word = escape(&bytes);
        prop_assert!(word.bytes().all(|byte| byte.is_ascii_graphic()));
        prop_assert_eq!(unescape(&word), Some(bytes));
    }
}
