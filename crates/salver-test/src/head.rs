//! The head of a request, for the small servers of tests.

use std::io::BufRead;

/// The lines of a head, the request line first; `None` if the client has left.
pub fn request_head(reader: &mut impl BufRead) -> Option<Vec<String>> {
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return None;
        }
        if line == "\r\n" {
            return Some(head);
        }
        head.push(line.trim_end().to_owned());
    }
}
