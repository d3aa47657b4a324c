//! The lines of a JSON file on which its keys stand, by the paths that places have.

use std::collections::HashMap;

use super::json::path_of;

/// The nesting beyond which nothing is looked for. The parser that read the file before goes no deeper.
const DEEPEST: usize = 128;

/// The line of each key and each element, counted from 1, of a file that is JSON.
pub(crate) fn key_lines(file: &[u8]) -> HashMap<String, u32> {
    let mut scan = Scan {
        rest: file,
        line: 1,
        found: HashMap::new(),
    };
    scan.value("", 0);
    scan.found
}

struct Scan<'f> {
    rest: &'f [u8],
    line: u32,
    found: HashMap<String, u32>,
}

impl Scan<'_> {
    /// The next byte, which is taken; `None` at the end.
    fn next(&mut self) -> Option<u8> {
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        if byte == b'\n' {
            self.line = self.line.saturating_add(1);
        }
        Some(byte)
    }

    /// The next byte that is no white space, which stays.
    fn peek(&mut self) -> Option<u8> {
        while let Some(&byte) = self.rest.first() {
            if !byte.is_ascii_whitespace() {
                return Some(byte);
            }
            self.next();
        }
        None
    }

    fn value(&mut self, path: &str, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        match self.peek() {
            Some(b'{') => self.object(path, depth),
            Some(b'[') => self.list(path, depth),
            Some(b'"') => drop(self.text()),
            _ => {
                let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']');
                while self.rest.first().is_some_and(|byte| !is_end(byte)) {
                    self.next();
                }
            }
        }
    }

    fn object(&mut self, path: &str, depth: usize) {
        self.next();
        while self.peek() == Some(b'"') {
            let line = self.line;
            let key = path_of(path, &self.text());
            // Of a key that stands there twice the last one counts.
            self.found.insert(key.clone(), line);
            if self.peek() == Some(b':') {
                self.next();
            }
            self.value(&key, depth + 1);
            if self.peek() == Some(b',') {
                self.next();
            }
        }
        if self.peek() == Some(b'}') {
            self.next();
        }
    }

    fn list(&mut self, path: &str, depth: usize) {
        self.next();
        let mut position = 0_usize;
        while !matches!(self.peek(), None | Some(b']')) {
            let key = format!("{path}[{position}]");
            self.found.insert(key.clone(), self.line);
            let before = self.rest.len();
            self.value(&key, depth + 1);
            if self.peek() == Some(b',') {
                self.next();
            }
            if self.rest.len() == before {
                return;
            }
            position += 1;
        }
        self.next();
    }

    /// The text that begins here.
    fn text(&mut self) -> String {
        let begun = self.rest;
        self.next();
        while let Some(byte) = self.next() {
            match byte {
                b'"' => break,
                b'\\' => drop(self.next()),
                _ => {}
            }
        }
        let taken = begun.len().saturating_sub(self.rest.len());
        let text = begun.get(..taken).unwrap_or_default();
        serde_json::from_slice(text).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_and_elements_have_the_lines_on_which_they_stand() {
        let file = br#"{
  "a": {"b": 1,
    "c\"d": [1,
      {"e": "}],{"}, true ]
  },
  "f": null, "g":
    -1.5e3
}"#;
        let lines = key_lines(file);
        let check =
            |path: &str, line| assert_eq!(lines.get(path), Some(&line), "{path}: {lines:?}");
        check("a", 2);
        check("a.b", 2);
        check("a.c\"d", 3);
        check("a.c\"d[0]", 3);
        check("a.c\"d[1]", 4);
        check("a.c\"d[1].e", 4);
        check("a.c\"d[2]", 4);
        check("f", 6);
        check("g", 6);
        assert_eq!(lines.len(), 9);
    }

    proptest! {
        #[test]
        fn no_file_keeps_it_busy(file in "[\\[\\]{}\",:a1 \\\\\n]{0,64}") {
            key_lines(file.as_bytes());
        }
    }
}
