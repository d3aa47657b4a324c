//! One request by curl, over a version of HTTP.

use std::process::Command;

/// The versions that need no certificate.
pub const VERSIONS: [&str; 2] = ["--http1.1", "--http2-prior-knowledge"];

/// An answer as curl shows it.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The fields, names in lower case.
    pub fields: Vec<(String, String)>,
    /// The content.
    pub content: String,
}

impl Answer {
    /// The values of a field, joined.
    pub fn field(&self, name: &str) -> String {
        let lines = self.fields.iter().filter(|(known, _)| known == name);
        let values: Vec<&str> = lines.map(|(_, value)| &**value).collect();
        values.join(", ")
    }
}

/// Asks by curl, which leaves the path as it is.
pub fn curl(arguments: &[&str]) -> Answer {
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--max-time", "30"]);
    command.args(["--noproxy", "*", "--path-as-is", "--include"]);
    let output = command
        .args(arguments)
        .output()
        .expect("curl is needed: `make deps`");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    let text = String::from_utf8(output.stdout).unwrap();
    let (head, content) = text.split_once("\r\n\r\n").unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap();
    let field = |line: &str| {
        let (name, value) = line.split_once(':').unwrap();
        (name.to_ascii_lowercase(), value.trim().to_owned())
    };
    Answer {
        status: status.parse().unwrap(),
        fields: lines.map(field).collect(),
        content: content.to_owned(),
    }
}
