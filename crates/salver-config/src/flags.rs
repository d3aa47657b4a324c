//! The command line of the table: its flags for the parser, and what was typed of them.

use std::ffi::OsString;

use clap::builder::{
    OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser, ValueParser,
};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches};

use crate::kind::Shape;
use crate::row::{Entry, Form, variable};
use crate::table::table;
use crate::typed::Typed;

/// The flags of the table, for a command that takes them all. Of flags that contradict each other the last one wins
/// if the command is `args_override_self`.
pub fn arguments() -> Vec<Arg> {
    let entries = table().iter().filter(|entry| entry.row.is_flag());
    entries.flat_map(of_entry).collect()
}

/// Those of the flags of the table that have these names, for a command that takes them alone.
pub fn arguments_of(flags: &[&str]) -> Vec<Arg> {
    let is_one = |entry: &&Entry| entry.row.is_flag() && flags.contains(&entry.row.flag);
    let entries = table().iter().filter(is_one);
    entries.flat_map(of_entry).collect()
}

/// The flags of an entry: two for a switch, which undo each other.
fn of_entry(entry: &'static Entry) -> Vec<Arg> {
    let row = &entry.row;
    if entry.shape != Shape::Switch {
        return vec![with_value(entry)];
    }
    let off = &*entry.off;
    let undo = |flag: &str| format!("Undo --{flag}");
    let (on_help, off_help) = match row.is_on() {
        true => (undo(off), row.negated.to_owned()),
        false => (row.help.to_owned(), undo(row.flag)),
    };
    let switch = |name: &'static str, other: &'static str, help: &str| {
        Arg::new(name)
            .long(name)
            .action(ArgAction::SetTrue)
            .overrides_with(other)
            .help(with_variable(help, "", name))
            .help_heading(row.heading)
    };
    let (mut on, off_flag) = (
        switch(row.flag, off, &on_help),
        switch(off, row.flag, &off_help),
    );
    if let Some(short) = row.short {
        on = on.short(short);
    }
    // The one that changes something stands first.
    match row.is_on() {
        true => vec![long(off_flag, entry, &off_help, off), on],
        false => vec![long(on, entry, &on_help, row.flag), off_flag],
    }
}

fn with_value(entry: &'static Entry) -> Arg {
    let row = &entry.row;
    let mut flag = Arg::new(row.flag)
        .value_name(&*entry.value)
        .value_parser(parser(entry))
        .help(with_variable(row.help, row.otherwise, row.flag));
    if !row.is_positional {
        flag = flag.long(row.flag).help_heading(row.heading);
    }
    if let Some(short) = row.short {
        flag = flag.short(short);
    }
    if entry.form == Form::List {
        flag = flag.action(ArgAction::Append).value_delimiter(',');
    }
    // One that follows the machine is said in the words of `otherwise`.
    let default = if row.otherwise.is_empty() {
        row.default
    } else {
        ""
    };
    if let Shape::SwitchOr(_) = entry.shape {
        let missing = flag.num_args(0..=1).require_equals(true);
        flag = missing.default_missing_value("true");
    } else if entry.form == Form::List && !default.is_empty() {
        flag = flag.default_values(default.split(','));
    } else if !default.is_empty() {
        flag = flag.default_value(default);
    }
    long(flag, entry, row.help, row.flag)
}

/// Adds what only the long help says.
fn long(flag: Arg, entry: &Entry, help: &str, name: &str) -> Arg {
    let row = &entry.row;
    match row.more {
        "" => flag,
        more => {
            let first = with_variable(help, row.otherwise, name);
            flag.long_help(format!("{first}\n\n{more}"))
        }
    }
}

fn with_variable(help: &str, otherwise: &str, flag: &str) -> String {
    let otherwise = match otherwise {
        "" => String::new(),
        text => format!(" [default: {text}]"),
    };
    format!("{help}{otherwise} [env: {}]", variable(flag))
}

fn parser(entry: &Entry) -> ValueParser {
    if let Shape::Choice(names) = entry.shape {
        let values = names.iter();
        let values = values.map(|(name, help)| PossibleValue::new(*name).help(*help));
        return PossibleValuesParser::new(values).map(OsString::from).into();
    }
    let check = entry.check.clone();
    let text = OsStringValueParser::new();
    text.try_map(move |text| check(&text).map(|()| text)).into()
}

impl Typed {
    /// What was typed, of a command that takes all [`arguments`], or [some of them](arguments_of).
    pub fn of(matches: &ArgMatches) -> Typed {
        let is_typed = |name: &str| {
            matches.try_contains_id(name).is_ok()
                && matches.value_source(name) == Some(ValueSource::CommandLine)
        };
        let mut typed = Typed::default();
        for entry in table().iter().filter(|entry| entry.row.is_flag()) {
            let (row, flag) = (&entry.row, entry.row.flag);
            if entry.shape == Shape::Switch {
                for (name, value) in [(flag, "true"), (&*entry.off, "false")] {
                    if is_typed(name) {
                        typed.insert(flag, format!("--{name}"), vec![value.into()]);
                    }
                }
            } else if is_typed(flag) {
                let values = matches.get_many::<OsString>(flag);
                let values = values.into_iter().flatten().cloned();
                typed.insert(flag, row.name(), values.collect());
            }
        }
        typed
    }
}
