//! Faults of a configuration.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A line of a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, as a person named it.
    pub path: Arc<Path>,
    /// The line, from 1.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.to_string_lossy();
        write!(f, "{}:{}", path.escape_debug(), self.line)
    }
}

/// A fault of a configuration: one line, what is wrong and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where it is; `None` if that is no file.
    pub place: Option<Place>,
    /// What is wrong. A flag or a variable at fault is named here.
    pub text: String,
}

impl Fault {
    /// A fault outside of any file.
    pub(crate) fn new(text: impl Into<String>) -> Fault {
        Fault {
            place: None,
            text: text.into(),
        }
    }

    /// A fault in a line of a file.
    pub(crate) fn at(path: &Arc<Path>, line: usize, text: impl Into<String>) -> Fault {
        let path = path.clone();
        Fault {
            place: Some(Place { path, line }),
            text: text.into(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{place}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

impl std::error::Error for Fault {}
