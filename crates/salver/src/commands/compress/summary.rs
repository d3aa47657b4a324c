//! What was saved, by media type: for people, and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use salver_coding::{ContentCoding, content_type};
use serde::Serialize;

use super::finding::{FileResult, Finding, Kind};
use crate::size::size;

/// The version of the JSON.
const VERSION: u32 = 1;

/// The counts of all files, or of those of one type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Counts {
    /// Files that have siblings.
    pub(super) files: u64,
    /// Their bytes.
    pub(super) bytes: u64,
    /// The bytes of the shortest sibling of each.
    pub(super) shortest: u64,
    /// What siblings there are, by coding.
    pub(super) codings: BTreeMap<&'static str, CodingCounts>,
}

/// The counts of the siblings in one coding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct CodingCounts {
    pub(super) files: u64,
    /// Their bytes.
    pub(super) bytes: u64,
    /// Those that this run made.
    pub(super) written: u64,
}

/// The summary of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Summary {
    /// All files that were looked at.
    pub(super) files: u64,
    pub(super) all: Counts,
    /// By media type, without parameters.
    pub(super) types: BTreeMap<String, Counts>,
    /// Sorted by path when it is written.
    pub(super) findings: Vec<Finding>,
    /// Siblings that this process made, and removed as their file is gone.
    pub(super) removed: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Json<'a> {
    version: u32,
    directory: String,
    files: u64,
    written: u64,
    removed: u64,
    all: &'a Counts,
    types: &'a BTreeMap<String, Counts>,
    findings: Vec<JsonFinding<'a>>,
}

#[derive(Serialize)]
struct JsonFinding<'a> {
    path: String,
    kind: Kind,
    why: &'a str,
}

impl Summary {
    pub(super) fn add(&mut self, result: FileResult) {
        self.files += 1;
        self.findings.extend(result.findings);
        let Some(shortest) = result.siblings.iter().map(|sibling| sibling.length).min() else {
            return;
        };
        let name = result.path.as_os_str().as_encoded_bytes();
        let media_type = content_type(name).split(';').next().unwrap_or_default();
        let of_type = self.types.entry(media_type.to_owned()).or_default();
        for counts in [&mut self.all, of_type] {
            counts.files += 1;
            counts.bytes += result.length;
            counts.shortest += shortest;
            for sibling in &result.siblings {
                let coding = counts.codings.entry(sibling.coding.name()).or_default();
                coding.files += 1;
                coding.bytes += sibling.length;
                coding.written += u64::from(sibling.is_new);
            }
        }
    }

    /// The number of siblings that this run made.
    pub(super) fn written(&self) -> u64 {
        let codings = self.all.codings.values();
        codings.map(|coding| coding.written).sum()
    }

    pub(super) fn count(&self, kinds: &[Kind]) -> usize {
        let found = self.findings.iter();
        found.filter(|one| kinds.contains(&one.kind)).count()
    }

    /// One line, for machines.
    pub(super) fn json(&self, directory: &std::path::Path) -> String {
        let findings = self.findings.iter().map(|finding| JsonFinding {
            path: finding.path.to_string_lossy().into_owned(),
            kind: finding.kind,
            why: &finding.why,
        });
        let json = Json {
            version: VERSION,
            directory: directory.to_string_lossy().into_owned(),
            files: self.files,
            written: self.written(),
            removed: self.removed,
            all: &self.all,
            types: &self.types,
            findings: findings.collect(),
        };
        // Numbers, text and nothing that could fail.
        serde_json::to_string(&json).unwrap_or_default()
    }

    /// A table by type, and a line beneath it.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        if !self.types.is_empty() {
            let width = self.types.keys().map(String::len).max().unwrap_or(0).max(5);
            let heads = ["files", "bytes", "br", "zstd", "gzip", "saved"];
            let mut line = format!("{:width$}", "type");
            for head in heads {
                let _ = write!(line, " {head:>10}");
            }
            let _ = writeln!(text, "{line}");
            let mut types: Vec<_> = self.types.iter().collect();
            types.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.bytes));
            for (name, counts) in types {
                let _ = writeln!(text, "{}", row(name, counts, width));
            }
            if self.types.len() > 1 {
                let _ = writeln!(text, "{}", row("all", &self.all, width));
            }
        }
        let (written, there) = (self.written(), self.siblings());
        let _ = writeln!(
            text,
            "{} files, {} with siblings: {written} siblings written, {} were right",
            self.files,
            self.all.files,
            there - written
        );
        text
    }

    /// The number of siblings that are right.
    pub(super) fn siblings(&self) -> u64 {
        self.all.codings.values().map(|coding| coding.files).sum()
    }
}

/// A line of the table.
fn row(name: &str, counts: &Counts, width: usize) -> String {
    let mut row = format!(
        "{name:width$} {:>10} {:>10}",
        counts.files,
        size(counts.bytes)
    );
    for coding in ContentCoding::CODED {
        let cell = match counts.codings.get(coding.name()) {
            Some(counts) => size(counts.bytes),
            None => "-".to_owned(),
        };
        let _ = write!(row, " {cell:>10}");
    }
    let saved = size(counts.bytes.saturating_sub(counts.shortest));
    let _ = write!(row, " {saved:>10}");
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::compress::finding::Sibling;
    use crate::commands::compress::original::Version;

    fn result(path: &str, length: u64, siblings: &[(ContentCoding, u64, bool)]) -> FileResult {
        let siblings = siblings.iter().map(|&(coding, length, is_new)| Sibling {
            coding,
            length,
            is_new,
        });
        FileResult {
            path: path.into(),
            length,
            version: Version::of(&std::fs::metadata(".").unwrap()),
            siblings: siblings.collect(),
            findings: Vec::new(),
        }
    }

    #[test]
    fn what_is_saved_is_counted_by_type() {
        use ContentCoding::{Brotli, Gzip};
        let mut summary = Summary::default();
        summary.add(result(
            "a.js",
            1000,
            &[(Brotli, 200, true), (Gzip, 300, false)],
        ));
        summary.add(result("b/c.js", 500, &[(Gzip, 100, true)]));
        summary.add(result("a.html", 800, &[(Brotli, 400, false)]));
        summary.add(result("a.png", 9000, &[]));
        assert_eq!(
            (summary.files, summary.written(), summary.siblings()),
            (4, 2, 4)
        );
        let js = &summary.types["text/javascript"];
        assert_eq!((js.files, js.bytes, js.shortest), (2, 1500, 300));
        assert_eq!(js.codings["gzip"].bytes, 400);
        assert_eq!(summary.all.shortest, 700);
        let text = summary.text();
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(
            lines[1],
            [
                "text/javascript",
                "2",
                "1.5",
                "KiB",
                "200",
                "B",
                "-",
                "400",
                "B",
                "1.2",
                "KiB"
            ]
        );
        assert_eq!(lines[3][..2], ["all", "3"]);
        assert_eq!(
            text.lines().last(),
            Some("4 files, 3 with siblings: 2 siblings written, 2 were right")
        );
    }

    #[test]
    fn json_has_all_of_it_in_one_line() {
        let mut summary = Summary::default();
        summary.add(result("a.js", 1000, &[(ContentCoding::Brotli, 200, true)]));
        summary.findings.push(Finding {
            path: "b\n.js.br".into(),
            kind: Kind::Stale,
            why: "it does not decode to its file".to_owned(),
        });
        let text = summary.json("dist".as_ref());
        assert_eq!(text.lines().count(), 1);
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["written"], 1);
        assert_eq!(json["all"]["bytes"], 1000);
        assert_eq!(
            json["types"]["text/javascript"]["codings"]["br"]["bytes"],
            200
        );
        assert_eq!(json["findings"][0]["kind"], "stale");
        assert_eq!(json["findings"][0]["path"], "b\n.js.br");
    }
}
