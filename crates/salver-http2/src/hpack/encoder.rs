//! The encoder of field blocks (RFC 7541 section 6), without the dynamic table, so that a block can be kept and sent
//! on any connection.

use super::static_table::{STATIC, name_index};
use salver_fields::{integer, string};

/// Appends `:status`.
pub(crate) fn push_status(out: &mut Vec<u8>, status: u16) {
    let text = status.to_string();
    let known = STATIC
        .iter()
        .position(|line| *line == (":status", text.as_str()));
    match known {
        Some(place) => integer::write(out, 0x80, 7, place + 1),
        None => push_line(out, ":status", text.as_bytes()),
    }
}

/// Appends a field line. The name may have capitals, which are written small.
pub(crate) fn push_line(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    match name_index(name) {
        Some(index) => integer::write(out, 0, 4, index),
        None => {
            out.push(0);
            string::write(out, 0, 7, name.to_ascii_lowercase().as_bytes());
        }
    }
    string::write(out, 0, 7, value);
}

#[cfg(test)]
mod tests {
    use super::super::Decoder;
    use super::*;
    use proptest::prelude::*;

    fn lines(block: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut lines = Vec::new();
        let mut decoder = Decoder::new();
        let decoded = decoder.decode(block, &mut Vec::new(), |line| {
            lines.push((line.name.to_vec(), line.value.to_vec()));
        });
        decoded.unwrap();
        lines
    }

    #[test]
    fn statuses() {
        for (status, length) in [(200, 1), (206, 1), (304, 1), (404, 1), (416, 5), (308, 5)] {
            let mut out = Vec::new();
            push_status(&mut out, status);
            assert_eq!(out.len(), length, "{status}");
            assert_eq!(
                lines(&out),
                [(b":status".to_vec(), status.to_string().into_bytes())]
            );
        }
    }

    proptest! {
        #[test]
        fn lines_come_back(name in "[a-zA-Z-]{1,20}", value: Vec<u8>) {
            let mut out = Vec::new();
            push_line(&mut out, &name, &value);
            prop_assert_eq!(lines(&out), [(name.to_ascii_lowercase().into_bytes(), value)]);
        }

        #[test]
        fn known_names_are_indexed(place in 0..STATIC.len(), value: Vec<u8>) {
            let (name, _) = STATIC[place];
            let mut out = Vec::new();
            push_line(&mut out, name, &value);
            prop_assert!(out.len() <= value.len() + 6);
            prop_assert_eq!(lines(&out), [(name.as_bytes().to_vec(), value)]);
        }
    }
}
