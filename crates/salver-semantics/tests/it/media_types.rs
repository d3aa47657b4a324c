//! The common table of media types, judged by the file that it is made of: that of Debian's package media-types.
//!
//! `SALVER_REWRITE=1 cargo test -p salver-semantics` writes the table anew. What is to be otherwise than in that file is in
//! `src/media_type.rs`, which comes first.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use salver_semantics::content_type;
use salver_test::cannot_be_shown;

/// Where Debian has it.
const SOURCE: &str = "/etc/mime.types";

/// The version that the table is of, which it has to agree with wholly.
const VERSION: &str = "10.0.0";

/// The types by extension that a file of lines has: a type, then its extensions.
fn types_of(source: &str) -> BTreeMap<String, String> {
    let mut types = BTreeMap::new();
    for line in source.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_ascii_whitespace();
        // Backups, by names that end with `~`: nothing is known of what is in them.
        let Some(media_type) = words.next().filter(|&word| word != "application/x-trash") else {
            continue;
        };
        for extension in words.map(str::to_ascii_lowercase) {
            // One with a dot is never the last extension of a name.
            if !extension.contains('.') {
                let media_type = sent_as(media_type);
                // Of several types the first counts: registered ones stand before others.
                types.entry(extension).or_insert(media_type);
            }
        }
    }
    types
}

/// A type as it is sent: as `text/plain` if nobody registered the text, and a text with its charset.
fn sent_as(media_type: &str) -> String {
    match media_type.strip_prefix("text/") {
        Some(subtype) if subtype.starts_with("x-") => "text/plain; charset=utf-8".to_owned(),
        Some(_) => format!("{media_type}; charset=utf-8"),
        None => media_type.to_owned(),
    }
}

/// The version of the package on this machine.
fn version() -> Option<String> {
    let mut query = Command::new("dpkg-query");
    let said = query.args(["-W", "-f=${Version}", "media-types"]).output();
    said.ok()
        .filter(|said| said.status.success())
        .map(|said| String::from_utf8(said.stdout).unwrap())
}

#[test]
fn the_common_table_is_that_of_debian() {
    let Some(version) = version() else {
        return cannot_be_shown("the media types", "Debian's media-types is not installed");
    };
    let theirs = types_of(&fs::read_to_string(SOURCE).unwrap());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/media_types.txt");
    if std::env::var_os("SALVER_REWRITE").is_some() {
        let lines = theirs
            .iter()
            .map(|(extension, of)| format!("{extension} {of}\n"));
        fs::write(&path, lines.collect::<String>()).unwrap();
    }
    let ours = fs::read_to_string(&path).unwrap();
    let ours: BTreeMap<_, _> = ours
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(extension, of)| (extension.to_owned(), of.to_owned()))
        .collect();
    let extensions = ours.keys().chain(theirs.keys());
    let mut others: Vec<_> = extensions
        .filter(|&extension| ours.get(extension) != theirs.get(extension))
        .collect();
    others.sort();
    others.dedup();
    // Another version has what was registered since, or does not have it yet.
    let most = if version == VERSION {
        0
    } else {
        theirs.len() / 10
    };
    println!("media-types {version} has others for {others:?}");
    assert!(
        others.len() <= most,
        "{others:?}: SALVER_REWRITE=1 cargo test -p salver-semantics writes the table anew"
    );
}

/// The table is what is sent, but for the choices of our own, which are few.
#[test]
fn the_common_table_is_what_is_sent() {
    let table = include_str!("../../src/media_types.txt");
    let lines = table.lines().map(|line| line.split_once(' ').unwrap());
    let (sent, others): (Vec<_>, Vec<_>) = lines.partition(|(extension, media_type)| {
        content_type(format!("name.{extension}").as_bytes()) == *media_type
    });
    println!("{} as in the table, others: {others:?}", sent.len());
    assert!(sent.len() > 1450, "{}", sent.len());
    assert!(others.len() < 50, "{}", others.len());
}

#[test]
fn what_is_made_of_a_line() {
    let types = types_of(
        "# text/none  none\n\
         text/a\t\t\ta A2\n\
         text/x-b b\n\
         application/c\n\
         application/d a d c.d\n\
         application/x-trash ~ e",
    );
    let types: Vec<_> = types.iter().map(|(e, of)| (&**e, &**of)).collect();
    assert_eq!(
        types,
        [
            ("a", "text/a; charset=utf-8"),
            ("a2", "text/a; charset=utf-8"),
            ("b", "text/plain; charset=utf-8"),
            ("d", "application/d"),
        ]
    );
}
