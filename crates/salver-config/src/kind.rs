//! The kinds of values: how each is written, and what it becomes.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use crate::conventions;
use crate::values::{self, Choice};

/// How a value is written. Help, the schema and what a file may say follow from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Yes or no.
    Switch,
    /// A whole number within bounds, both included.
    Whole {
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// A number of bytes, with a unit or without.
    Size,
    /// A time with its unit.
    Time,
    /// A path; in a file it is relative to the file's directory.
    Path,
    /// Text that its kind checks.
    Text,
    /// One of these names; each with what it means.
    Choice(&'static [(&'static str, &'static str)]),
    /// Some of these names with commas between them, or `none`.
    Names(&'static [&'static str]),
    /// Yes or no, or a value of this shape.
    SwitchOr(&'static Shape),
    /// `PREFIX=DIR`; in a file the tables `[[mount]]` that are kept in memory, or those that are not.
    Mount {
        /// Which.
        is_cached: bool,
    },
    /// `KEY=VALUE`; in a file the entries of a table.
    Pair,
    /// Tables that somebody else reads; only in a file.
    Tables,
}

impl Shape {
    pub(crate) fn value_name(&self, flag: &str) -> String {
        match self {
            Shape::Switch | Shape::Tables => String::new(),
            Shape::Whole { .. } => "NUMBER".to_owned(),
            Shape::Size => "SIZE".to_owned(),
            Shape::Time => "TIME".to_owned(),
            Shape::Path => "FILE".to_owned(),
            Shape::Mount { .. } => "PREFIX=DIR".to_owned(),
            Shape::Text | Shape::Choice(_) | Shape::Names(_) | Shape::Pair | Shape::SwitchOr(_) => {
                flag.to_uppercase().replace('-', "_")
            }
        }
    }

    /// True if a file has to write it in quotes.
    pub(crate) fn is_quoted(&self) -> bool {
        match self {
            Shape::Switch | Shape::Whole { .. } | Shape::Size | Shape::SwitchOr(_) => false,
            // A number says that the unit is missing, which its own check says better.
            Shape::Time => false,
            _ => true,
        }
    }
}

/// A kind of value: its shape, and how the text of a value becomes one.
#[derive(Debug)]
pub struct Kind<T: 'static> {
    /// How it is written.
    pub shape: Shape,
    /// Reads a value; an error says what would be right, without naming the setting.
    pub read: fn(&Shape, &OsStr) -> Result<T, String>,
}

/// The text of a value that is not a path.
fn utf8(text: &OsStr) -> Result<&str, String> {
    text.to_str().ok_or_else(|| "it is not UTF-8".to_owned())
}

/// Yes or no.
pub const SWITCH: Kind<bool> = Kind {
    shape: Shape::Switch,
    read: |_, text| values::switch(utf8(text)?),
};

/// A time; none at all is one.
pub const TIME: Kind<Duration> = Kind {
    shape: Shape::Time,
    read: |_, text| values::time(utf8(text)?),
};

/// A time limit, which is never zero.
pub const TIME_LIMIT: Kind<Duration> = Kind {
    shape: Shape::Time,
    read: |_, text| values::limit(utf8(text)?),
};

/// A size in bytes.
pub const SIZE: Kind<u64> = Kind {
    shape: Shape::Size,
    read: |_, text| values::size(utf8(text)?),
};

/// A path, of a file or of a directory.
pub const PATH: Kind<PathBuf> = Kind {
    shape: Shape::Path,
    read: |_, text| match text.is_empty() {
        true => Err("it is empty: give a path".to_owned()),
        false => Ok(text.into()),
    },
};

/// Any text.
pub const TEXT: Kind<String> = Kind {
    shape: Shape::Text,
    read: |_, text| utf8(text).map(str::to_owned),
};

/// Precompressed siblings to look for.
pub const CODINGS: Kind<values::Codings> = Kind {
    shape: Shape::Names(values::CODING_NAMES),
    read: |_, text| values::codings(utf8(text)?),
};

/// Files of other types beside their originals.
pub const ALTERNATIVES: Kind<conventions::Alternatives> = Kind {
    shape: Shape::Names(conventions::ALTERNATIVE_NAMES),
    read: |_, text| conventions::alternatives(utf8(text)?),
};

/// A file name that stands for its directory.
pub const INDEX_NAME: Kind<String> = Kind {
    shape: Shape::Text,
    read: |_, text| values::index_name(utf8(text)?),
};

/// The fallback of a single-page application.
pub const SPA: Kind<values::Spa> = Kind {
    shape: Shape::SwitchOr(&Shape::Text),
    read: |_, text| values::spa(utf8(text)?),
};

/// How long browsers shall use nothing but TLS; `None` for what says nothing of that.
pub const HSTS: Kind<Option<Duration>> = Kind {
    shape: Shape::SwitchOr(&Shape::Whole {
        least: 0,
        most: u32::MAX as u64,
    }),
    read: |_, text| values::hsts(utf8(text)?),
};

/// A host that a site answers for.
pub const HOST_PATTERN: Kind<values::HostPattern> = Kind {
    shape: Shape::Text,
    read: |_, text| values::host_pattern(utf8(text)?),
};

/// The name of an environment variable.
pub const VARIABLE_NAME: Kind<String> = Kind {
    shape: Shape::Text,
    read: |_, text| values::variable_name(utf8(text)?),
};

/// The path of a URL.
pub const URL_PATH: Kind<String> = Kind {
    shape: Shape::Text,
    read: |_, text| values::url_path(utf8(text)?),
};

/// The file that is the content of answers with a status.
pub const ERROR_PAGE: Kind<values::ErrorPage> = Kind {
    shape: Shape::Pair,
    read: |_, text| values::error_page(utf8(text)?),
};

/// A place in the URL space and the directory or file that appears there.
pub const fn mount(is_cached: bool) -> Kind<values::Mount> {
    Kind {
        shape: Shape::Mount { is_cached },
        read: |_, text| values::mount(text),
    }
}

/// A whole number within bounds, both included.
pub const fn whole<N: TryFrom<u64> + 'static>(least: u64, most: u64) -> Kind<N> {
    Kind {
        shape: Shape::Whole { least, most },
        read: |shape, text| {
            let (least, most) = match shape {
                Shape::Whole { least, most } => (*least, *most),
                _ => (0, u64::MAX),
            };
            let number = values::whole(least, most)(utf8(text)?)?;
            N::try_from(number).map_err(|_| format!("not a whole number from {least} to {most}"))
        },
    }
}

/// One of a few values, by name.
pub const fn choice<T: Choice>() -> Kind<T> {
    Kind {
        shape: Shape::Choice(T::NAMES),
        read: |_, text| {
            let text = utf8(text)?;
            let mut all = T::NAMES.iter().zip(T::VALUES);
            let found = all.find(|((name, _), _)| *name == text);
            found.map(|(_, value)| *value).ok_or_else(|| {
                let names: Vec<&str> = T::NAMES.iter().map(|(name, _)| *name).collect();
                match &*names {
                    [rest @ .., last] if !rest.is_empty() => {
                        format!("give {} or {last}", rest.join(", "))
                    }
                    all => format!("give {}", all.concat()),
                }
            })
        },
    }
}
