//! A value and where it comes from.

use std::fmt;
use std::ops::Deref;

use crate::fault::Place;
use crate::row::Row;

/// The origin of a value, by falling precedence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The command line.
    CommandLine {
        /// The flag as it was typed: `--no-cache`, or `PATH`.
        flag: String,
    },
    /// The environment.
    Environment {
        /// The variable: `SALVER_CACHE`.
        variable: String,
    },
    /// A configuration file.
    File(Place),
    /// The table of settings, for this machine.
    Machine {
        /// Why it is this value, for people: `half of this machine's 512MiB`.
        reason: String,
    },
    /// The table of settings.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::CommandLine { flag } => f.write_str(flag),
            Origin::Environment { variable } => f.write_str(variable),
            Origin::File(place) => place.fmt(f),
            Origin::Machine { reason } => write!(f, "default, {reason}"),
            Origin::Default => f.write_str("default"),
        }
    }
}

/// The value of a setting, which it dereferences to, with its origin.
#[derive(Clone)]
pub struct Setting<T> {
    pub(crate) value: T,
    pub(crate) origin: Origin,
    pub(crate) row: Row,
}

impl<T> Setting<T> {
    /// Where the value comes from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// True if somebody has said it.
    pub fn is_said(&self) -> bool {
        !matches!(self.origin, Origin::Machine { .. } | Origin::Default)
    }

    /// The setting as messages name it, in the words of whoever has said it: `--port`, `SALVER_PORT`, or
    /// `port (salver.toml:3)`.
    pub fn name(&self) -> String {
        match &self.origin {
            Origin::CommandLine { flag } => flag.clone(),
            Origin::Environment { variable } => variable.clone(),
            Origin::File(place) => format!("{} ({place})", self.row.key),
            Origin::Machine { .. } | Origin::Default => self.row.name(),
        }
    }
}

impl<T> Deref for Setting<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// The value alone: two configurations are compared by what they mean.
impl<T: fmt::Debug> fmt::Debug for Setting<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}
