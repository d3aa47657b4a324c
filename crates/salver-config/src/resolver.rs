//! Values by precedence: command line, environment, file, default.

use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use crate::document::{Node, Table, tables};
use crate::fault::{Fault, Place};
use crate::kind::{Kind, SWITCH, Shape};
use crate::layers::Layers;
use crate::machine::DerivedDefault;
use crate::os_text;
use crate::row::{Check, Entry, Form, Row, Scope, variable};
use crate::setting::{Origin, Setting};
use crate::written::{Words, Written, words};

/// A setting that was read: what was written of it, and where.
#[derive(Clone, Debug)]
pub(crate) struct Met {
    pub(crate) entry: Entry,
    /// Its values as a flag would say them; none if nobody has said any.
    pub(crate) values: Vec<OsString>,
    /// Tables that somebody else reads.
    pub(crate) tables: Vec<Table>,
    pub(crate) origin: Origin,
}

/// The reader of settings: each call takes a row and gives the value that counts, with its origin.
///
/// Faults are gathered, so that all of them can be said at once; a faulty value is the default meanwhile.
#[derive(Debug)]
pub struct Resolver<'a> {
    layers: &'a Layers<'a>,
    scope: Scope,
    /// The tables of the file that may say it, the nearest first.
    tables: Vec<&'a Table>,
    met: Vec<Met>,
    faults: Vec<Fault>,
}

/// What was said of a setting.
struct Said {
    /// Each value, and the line of a file that has it.
    values: Vec<Written>,
    origin: Origin,
}

impl<'a> Resolver<'a> {
    pub(crate) fn new(layers: &'a Layers<'a>, scope: Scope, tables: Vec<&'a Table>) -> Self {
        Resolver {
            layers,
            scope,
            tables,
            met: Vec::new(),
            faults: Vec::new(),
        }
    }

    /// The rows that were read.
    pub(crate) fn entries(self) -> Vec<Entry> {
        self.met.into_iter().map(|met| met.entry).collect()
    }

    /// What was read, and what was wrong with it.
    pub(crate) fn end(self) -> (Vec<Met>, Vec<Fault>) {
        (self.met, self.faults)
    }

    /// A switch; [`Row::negated`] says what `--no-x` means where it is on by default.
    pub fn switch(&mut self, row: Row) -> Setting<bool> {
        self.one(SWITCH, row)
    }

    /// A setting that always has a value: [`Row::default`] is one.
    pub fn one<T: Default + 'static>(&mut self, kind: Kind<T>, row: Row) -> Setting<T> {
        let (values, origin) = self.values(kind, row, Form::One);
        let value = values.into_iter().next_back().unwrap_or_default();
        Setting { value, origin, row }
    }

    /// A setting that may have no value; [`Row::otherwise`] says what holds then.
    pub fn optional<T: 'static>(&mut self, kind: Kind<T>, row: Row) -> Setting<Option<T>> {
        let (values, origin) = self.values(kind, row, Form::Optional);
        let value = values.into_iter().next_back();
        Setting { value, origin, row }
    }

    /// A setting with any number of values: separated by commas or repeated on the command line, an array in a
    /// file.
    pub fn list<T: 'static>(&mut self, kind: Kind<T>, row: Row) -> Setting<Vec<T>> {
        let (value, origin) = self.values(kind, row, Form::List);
        Setting { value, origin, row }
    }

    /// Tables of the file that somebody else reads: `[[rule]]`.
    pub fn tables(&mut self, row: Row) -> Setting<Vec<Table>> {
        let (mut value, mut origin) = (Vec::new(), Origin::Default);
        if let Some(node) = self.node(&row) {
            origin = self.origin(node.line);
            match tables(node) {
                Ok(tables) => value = tables.into_iter().cloned().collect(),
                Err(line) => self.fault(line, format!("{0} is no table: write [[{0}]]", row.key)),
            }
        }
        let check: Check = Arc::new(|_: &OsStr| Ok(()));
        self.meet(row, Shape::Tables, Form::List, check, Vec::new(), &origin);
        if let Some(met) = self.met.last_mut() {
            met.tables.clone_from(&value);
        }
        Setting { value, origin, row }
    }

    /// The values that count, and where they come from.
    fn values<T: 'static>(&mut self, kind: Kind<T>, row: Row, form: Form) -> (Vec<T>, Origin) {
        let Kind { shape, read } = kind;
        let said = self
            .typed(&row)
            .or_else(|| self.said_by_environment(&row, &shape, form))
            .or_else(|| self.said_by_file(&row, &shape, form))
            .unwrap_or_else(|| self.default_of(&row, form));
        let mut values = Vec::new();
        for written in &said.values {
            match read(&shape, &written.text) {
                Ok(value) => values.push(value),
                Err(wrong) => {
                    let fault = self.wrong(&row, &shape, &said, written, &wrong);
                    self.faults.push(fault);
                }
            }
        }
        let texts = said.values.into_iter().map(|written| written.text);
        let check: Check = Arc::new(move |text: &OsStr| read(&shape, text).map(drop));
        self.meet(row, shape, form, check, texts.collect(), &said.origin);
        (values, said.origin)
    }

    /// What holds if nobody says anything.
    fn default_of(&self, row: &Row, form: Form) -> Said {
        if let Some(DerivedDefault { value, reason }) = self.layers.machine.default_of(row) {
            return Said {
                values: vec![Written::new(value)],
                origin: Origin::Machine { reason },
            };
        }
        Said {
            values: match (row.default, form) {
                ("", _) => Vec::new(),
                (all, Form::List) => split(OsStr::new(all)),
                (one, _) => vec![Written::new(one)],
            },
            origin: Origin::Default,
        }
    }

    fn meet(
        &mut self,
        row: Row,
        shape: Shape,
        form: Form,
        check: Check,
        values: Vec<OsString>,
        origin: &Origin,
    ) {
        let scope = self.scope;
        self.met.push(Met {
            entry: Entry::new(row, shape, form, scope, check),
            values,
            tables: Vec::new(),
            origin: origin.clone(),
        });
    }

    fn typed(&self, row: &Row) -> Option<Said> {
        let (flag, values) = self.layers.typed.get(row.flag)?;
        let written = values.iter().map(Written::new);
        Some(Said {
            values: written.collect(),
            origin: Origin::CommandLine {
                flag: flag.to_owned(),
            },
        })
    }

    fn said_by_environment(&mut self, row: &Row, shape: &Shape, form: Form) -> Option<Said> {
        if !row.has_variable() {
            return None;
        }
        if *shape == Shape::Switch {
            return self.switched(row);
        }
        let variable = variable(row.flag);
        let value = self.layers.environment.setting(&variable)?;
        Some(Said {
            values: match form {
                Form::List => split(value),
                Form::One | Form::Optional => vec![Written::new(value)],
            },
            origin: Origin::Environment { variable },
        })
    }

    /// A switch in the environment, which has two variables.
    fn switched(&mut self, row: &Row) -> Option<Said> {
        let mut pairs = [(variable(row.flag), true), (variable(&row.off()), false)];
        if row.is_on() {
            // The one that changes something is named first.
            pairs.reverse();
        }
        let mut found: Option<(String, bool)> = None;
        for (variable, means) in pairs {
            let Some(value) = self.layers.environment.setting(&variable) else {
                continue;
            };
            let is_on = match (SWITCH.read)(&SWITCH.shape, value) {
                Ok(is_on) => is_on == means,
                Err(wrong) => {
                    self.faults.push(of_variable(&variable, value, &wrong));
                    continue;
                }
            };
            match &found {
                Some((other, before)) if *before != is_on => {
                    self.faults.push(Fault::new(format!(
                        "{other} and {variable} contradict each other: unset one of them"
                    )));
                }
                Some(_) => {}
                None => found = Some((variable, is_on)),
            }
        }
        found.map(|(variable, is_on)| Said {
            values: vec![Written::new(if is_on { "true" } else { "false" })],
            origin: Origin::Environment { variable },
        })
    }

    /// The nearest value of a key in the file.
    fn node(&self, row: &Row) -> Option<&'a Node> {
        // What is of one site does not hold for all of them.
        let asked = match row.is_of_one_site {
            true => 1,
            false => self.tables.len(),
        };
        let mut tables = self.tables.iter().take(asked);
        tables.find_map(|table| table.find(row.key))
    }

    fn said_by_file(&mut self, row: &Row, shape: &Shape, form: Form) -> Option<Said> {
        let (node, file) = (self.node(row)?, self.layers.file?);
        if row.is_left_out {
            let text = format!("{} was left out when this program was built", row.key);
            self.fault(node.line, text);
            return None;
        }
        let Words { values, faults } = words(node, row.key, shape, form, file.directory());
        for (line, wrong) in faults {
            self.fault(line, wrong);
        }
        Some(Said {
            values: values?,
            origin: self.origin(node.line),
        })
    }

    fn origin(&self, line: usize) -> Origin {
        match self.layers.file {
            Some(file) => Origin::File(file.place(line)),
            None => Origin::Default,
        }
    }

    fn fault(&mut self, line: usize, text: String) {
        let place = self.layers.file.map(|file| file.place(line));
        self.faults.push(Fault { place, text });
    }

    /// A value that is none of its kind.
    fn wrong(&self, row: &Row, shape: &Shape, said: &Said, at: &Written, wrong: &str) -> Fault {
        let shown = at.text.to_string_lossy();
        let shown = if row.is_secret { "…" } else { &*shown };
        match &said.origin {
            Origin::Environment { variable } => {
                let value = self.layers.environment.setting(variable);
                let value = value.filter(|_| !row.is_secret);
                of_variable(variable, value.unwrap_or(OsStr::new(shown)), wrong)
            }
            Origin::File(place) => Fault {
                place: Some(Place {
                    line: at.line,
                    path: place.path.clone(),
                }),
                text: format!("{} = {}: {wrong}", row.key, written_of(shape, shown)),
            },
            Origin::CommandLine { flag } => {
                Fault::new(format!("{flag} {}: {wrong}", shown.escape_debug()))
            }
            Origin::Machine { .. } | Origin::Default => {
                Fault::new(format!("{}: {wrong}", row.name()))
            }
        }
    }
}

/// A value as messages show it.
fn written_of(shape: &Shape, shown: &str) -> String {
    match shape.is_quoted() || shown.parse::<f64>().is_err() {
        true => format!("\"{}\"", shown.escape_debug()),
        false => shown.to_owned(),
    }
}

/// A fault in what a variable says.
fn of_variable(variable: &str, value: &OsStr, wrong: &str) -> Fault {
    let shown = value.to_string_lossy();
    Fault::new(format!("{variable}={}: {wrong}", shown.escape_debug()))
}

/// The values of a list that a variable or a default has.
fn split(all: &OsStr) -> Vec<Written> {
    let parts = os_text::split(all, b',', usize::MAX);
    parts.into_iter().map(Written::new).collect()
}
