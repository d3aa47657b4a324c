//! A line from the terminal that is not shown while it is typed.

#[cfg(unix)]
mod unix;

use std::io::{self, Read as _, Write as _};

#[cfg(unix)]
use self::unix::HiddenTyping;
#[cfg(windows)]
use salver_os::HiddenTyping;

/// The longest line, in bytes; what is typed beyond is not taken.
const LONGEST: usize = 4096;

/// A terminal that shows nothing, and on its next line when that is over.
struct Hidden(#[expect(dead_code, reason = "hides while it lives")] HiddenTyping);

impl Drop for Hidden {
    fn drop(&mut self) {
        let _ = io::stderr().write_all(b"\n");
    }
}

/// Reads a line from standard input, which is a terminal, behind a prompt on standard error.
///
/// Keys that end the process are read like others: a signal would leave the terminal without an echo.
///
/// # Errors
/// [`io::ErrorKind::Interrupted`] if one of those is pressed, or the input ends; `InvalidData` for what is no UTF-8;
/// else what the terminal says.
pub(super) fn read_hidden(prompt: &str) -> io::Result<String> {
    let hidden = Hidden(HiddenTyping::begin()?);
    io::stderr().write_all(prompt.as_bytes())?;
    let mut line = Line::default();
    let mut byte = [0];
    let mut input = io::stdin().lock();
    let text = loop {
        let ended = match input.read(&mut byte)? {
            0 => Some(Err(io::ErrorKind::Interrupted.into())),
            _ => byte.iter().find_map(|byte| line.take(*byte)),
        };
        if let Some(text) = ended {
            break text;
        }
    };
    drop(hidden);
    text
}

/// The line as far as it is typed.
#[derive(Default)]
struct Line(Vec<u8>);

impl Line {
    /// Takes a byte; gives the line, if it has ended.
    fn take(&mut self, byte: u8) -> Option<io::Result<String>> {
        match byte {
            b'\r' | b'\n' => {
                let text = String::from_utf8(std::mem::take(&mut self.0));
                return Some(text.map_err(|_| io::ErrorKind::InvalidData.into()));
            }
            // Ctrl-C, Ctrl-D, Ctrl-Z and Ctrl-\.
            0x03 | 0x04 | 0x1a | 0x1c => return Some(Err(io::ErrorKind::Interrupted.into())),
            // Backspace takes a whole character away.
            0x08 | 0x7f => while let Some(0x80..=0xbf) = self.0.pop() {},
            // Ctrl-U.
            0x15 => self.0.clear(),
            byte if self.0.len() < LONGEST => self.0.push(byte),
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_as_it_is_typed() {
        let check = |typed: &[u8], expected: Result<&str, io::ErrorKind>| {
            let mut line = Line::default();
            let ended = typed.iter().find_map(|byte| line.take(*byte));
            let ended = ended.unwrap().map_err(|error| error.kind());
            assert_eq!(
                ended.as_deref().map_err(|kind| *kind),
                expected,
                "{typed:?}"
            );
        };
        check(b"abc\r", Ok("abc"));
        check(b"\n", Ok(""));
        check(b"ab\x7fc\x08\x08\x08\x08d\n", Ok("d"));
        check("aä\u{7f}b\n".as_bytes(), Ok("ab"));
        check("a€\u{8}b\n".as_bytes(), Ok("ab"));
        check(b"abc\x15d\n", Ok("d"));
        check(b"ab\x03", Err(io::ErrorKind::Interrupted));
        check(b"ab\x04", Err(io::ErrorKind::Interrupted));
        check(b"\xff\n", Err(io::ErrorKind::InvalidData));
        let long = [vec![b'x'; 2 * LONGEST], vec![b'\n']].concat();
        check(&long, Ok(&"x".repeat(LONGEST)));
    }
}
