//! The rows of the table of settings.

use std::ffi::OsStr;
use std::sync::Arc;

use crate::kind::Shape;

/// What the names of variables begin with.
pub const PREFIX: &str = "SALVER_";

/// A row of the table, but for its kind, which decides the type of the value and is handed over beside it.
/// Write one as `Row { .., ..ROW }`.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The key in `salver.toml`, its tables before it: `limits.send-timeout`. Empty: a file cannot say it.
    pub key: &'static str,
    /// The flag without its dashes; its variable follows from it. Empty: only a file can say it.
    pub flag: &'static str,
    /// The flag's short form.
    pub short: Option<char>,
    /// True if the value stands on the command line by itself, without its flag.
    pub is_positional: bool,
    /// What stands for the value in help: `PORT`. Empty: what its kind is called.
    pub value: &'static str,
    /// The default as a flag would say it, lists with commas. Empty: none.
    pub default: &'static str,
    /// What of the machine the default follows.
    pub follows: Follows,
    /// What holds if nobody says anything, for people, where there is no default or it follows the machine: `one per core`.
    pub otherwise: &'static str,
    /// What it is, in a line without a full stop.
    pub help: &'static str,
    /// What `--no-x` means, for a switch that is on by default.
    pub negated: &'static str,
    /// What there is to say besides, in sentences; `--help` and the man page show it.
    pub more: &'static str,
    /// The heading that it stands under.
    pub heading: &'static str,
    /// True if it can be said of one site only: in its `[[site]]`, or where there is one alone.
    pub is_of_one_site: bool,
    /// True if its value is never shown.
    pub is_secret: bool,
    /// True if the command line cannot say it, and a variable can: other users see what a process was started with.
    pub is_off_command_line: bool,
    /// True if this build cannot do it: it has no flag then, and a file that says it is wrong.
    pub is_left_out: bool,
}

/// What a default follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follows {
    /// Nothing: it is the same everywhere.
    Nothing,
    /// The cores that may be used, begun ones counted.
    Cores,
    /// The CPU quota, of which it is half in percent of a core; never more than [`Row::default`].
    CpuQuota,
    /// The memory, of which it is a share; never more than [`Row::default`].
    Memory(Share),
}

/// A share of the memory. All shares together leave a quarter: for the program itself, the kernel's buffers, what runs beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// One part in two.
    Half,
    /// One part in four.
    Quarter,
}

/// A row without anything, to write others by.
pub const ROW: Row = Row {
    key: "",
    flag: "",
    short: None,
    is_positional: false,
    value: "",
    default: "",
    follows: Follows::Nothing,
    otherwise: "",
    help: "",
    negated: "",
    more: "",
    heading: "",
    is_of_one_site: false,
    is_secret: false,
    is_off_command_line: false,
    is_left_out: false,
};

impl Row {
    /// The flag as it is typed: `--port`, or `PATH`; of a setting that has none its variable or its key.
    pub fn name(&self) -> String {
        match (self.flag, self.is_positional) {
            ("", _) => self.key.to_owned(),
            (flag, _) if self.is_off_command_line => variable(flag),
            (flag, true) => flag.to_uppercase(),
            (flag, false) => format!("--{flag}"),
        }
    }

    /// True if the command line can say it.
    pub(crate) fn is_flag(&self) -> bool {
        self.has_variable() && !self.is_off_command_line
    }

    /// True if a variable can say it.
    pub(crate) fn has_variable(&self) -> bool {
        !self.flag.is_empty() && !self.is_left_out
    }

    /// True if it is on by default.
    pub(crate) fn is_on(&self) -> bool {
        self.default == "true"
    }

    /// The flag that switches it off.
    pub(crate) fn off(&self) -> String {
        format!("no-{}", self.flag)
    }

    /// The names of its variables: one, or for a switch that of `--no-x`, too.
    pub(crate) fn variables(&self, shape: &Shape) -> Vec<String> {
        match (self.flag, shape) {
            _ if !self.has_variable() => Vec::new(),
            (flag, Shape::Switch) => vec![variable(flag), variable(&self.off())],
            (flag, _) => vec![variable(flag)],
        }
    }
}

/// The variable of a flag: `SALVER_SEND_TIMEOUT` of `send-timeout`.
pub fn variable(flag: &str) -> String {
    format!("{PREFIX}{}", flag.to_uppercase().replace('-', "_"))
}

/// What a setting belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The server: once, at the top of a file.
    Server,
    /// Each site: in its `[[site]]`; at the top it holds for those that say nothing.
    Site,
}

/// How many values a setting has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One.
    One,
    /// One or none.
    Optional,
    /// Any number.
    List,
}

/// A check of a value as it was written; an error says what would be right.
pub(crate) type Check = Arc<dyn Fn(&OsStr) -> Result<(), String> + Send + Sync>;

/// A row with its kind, as the table has it.
#[derive(Clone)]
pub struct Entry {
    /// The row.
    pub row: Row,
    /// How its value is written.
    pub shape: Shape,
    /// How many there are.
    pub form: Form,
    /// What it belongs to.
    pub scope: Scope,
    /// What stands for the value in help; nothing for a switch.
    pub value: String,
    /// The flag that switches it off, for a switch: `no-cache`.
    pub off: String,
    pub(crate) check: Check,
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entry")
            .field("row", &self.row)
            .field("shape", &self.shape)
            .finish_non_exhaustive()
    }
}

impl Entry {
    pub(crate) fn new(row: Row, shape: Shape, form: Form, scope: Scope, check: Check) -> Entry {
        Entry {
            value: match row.value {
                "" => shape.value_name(row.flag),
                value => value.to_owned(),
            },
            off: row.off(),
            row,
            shape,
            form,
            scope,
            check,
        }
    }
}
