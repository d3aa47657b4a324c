//! A fault in somebody's rules: where, what is wrong, what to do.

use std::fmt;

use crate::limits::MOST_FAULTS;

/// The place of a rule or a fault in what was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// No place within it: made by a program, or the file as a whole.
    #[default]
    Whole,
    /// A line, counted from 1.
    Line(u32),
    /// A key, as in `redirects[3].source`.
    Key(String),
    /// A key and the line where it stands, counted from 1.
    KeyAtLine(String, u32),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Whole => f.write_str("the rules"),
            Place::Line(line) => write!(f, "line {line}"),
            Place::Key(key) => f.write_str(key),
            Place::KeyAtLine(key, line) => write!(f, "line {line}, {key}"),
        }
    }
}

/// A fault in a rule, as its author is told of it.
///
/// `Display` gives one line: place, what is wrong, what to do. What it quotes is escaped and cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The place of what is wrong.
    pub place: Place,
    /// The thing that is wrong.
    pub what: String,
    /// The thing to do about it.
    pub hint: String,
    /// True for a warning: the rule holds all the same, though the host that it was written for would do
    /// otherwise.
    pub taken: bool,
}

impl Fault {
    /// A fault without a place yet, because of which the rule is left out.
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Fault {
            place: Place::Whole,
            what: what.into(),
            hint: hint.into(),
            taken: false,
        }
    }

    /// A warning: the rule is taken.
    pub fn warning(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Fault {
            taken: true,
            ..Fault::new(what, hint)
        }
    }

    /// The same fault at a place, unless it has one.
    #[must_use]
    pub fn at(mut self, place: &Place) -> Self {
        if self.place == Place::Whole {
            self.place = place.clone();
        }
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.place, self.what, self.hint)
    }
}

impl std::error::Error for Fault {}

/// Text from a file of rules as a message quotes it: without control characters, at most 80 characters.
pub(crate) fn quoted(text: &str) -> String {
    let mut shown = String::from("\"");
    for (count, character) in text.chars().enumerate() {
        if count == 80 {
            shown.push('…');
            break;
        }
        // Besides controls, marks that turn the direction of writing would let a file rewrite the message.
        if character.is_control()
            || matches!(character, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown.push('"');
    shown
}

/// The faults of one file, as many as are worth reading.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    kept: Vec<Fault>,
    dropped: usize,
}

impl Faults {
    pub(crate) fn push(&mut self, fault: Fault) {
        if self.kept.len() < MOST_FAULTS {
            self.kept.push(fault);
        } else {
            self.dropped += 1;
        }
    }

    pub(crate) fn into_vec(mut self) -> Vec<Fault> {
        if self.dropped > 0 {
            let what = format!("{} more faults are not listed", self.dropped);
            self.kept.push(Fault::new(what, "mend those before"));
        }
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_shows_no_control_characters() {
        assert_eq!(quoted("a\r\n\u{202e}b"), "\"a\\u{d}\\u{a}\\u{202e}b\"");
        assert_eq!(quoted(&"x".repeat(100)).chars().count(), 83);
    }

    #[test]
    fn faults_are_bounded_and_say_so() {
        let mut faults = Faults::default();
        for _ in 0..MOST_FAULTS + 7 {
            faults.push(Fault::new("x", "y"));
        }
        let faults = faults.into_vec();
        assert_eq!(faults.len(), MOST_FAULTS + 1);
        assert!(faults[MOST_FAULTS].what.starts_with("7 more"));
    }
}
