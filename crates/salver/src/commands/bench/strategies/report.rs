//! The result, as a document and in words.

use std::fmt::Write as _;

use salver_bench::compare::FEWEST_TRIALS;
use salver_bench::compare::interval::METHOD;
use salver_bench::environment::Environment;
use salver_bench::model::SCHEMA;
use serde::{Deserialize, Serialize};

use super::CONNECTIONS;
use super::border::{BORDERS, Border, Costs, Length, Way};
use super::memory_load::Streamed;
use crate::values::show;

/// What `--json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// The schema of `salver-bench` that it was written in.
    pub schema: u32,
    /// Machine, versions and flags.
    pub environment: Environment,
    /// How the ratios and their intervals were found, in words.
    pub method: String,
    /// Connections of each trial.
    pub connections: usize,
    /// Trials of each way at each length.
    pub trials: usize,
    /// True if the servers had a core that the client did not use.
    pub pinned: bool,
    /// The load on the memory bus, if there was one.
    pub memory_load: Option<Streamed>,
    /// A comparison for each setting.
    pub comparisons: Vec<Comparison>,
    /// A value for each setting, once; none if the figures must not be believed.
    pub settings: Vec<Setting>,
    /// Why the figures must not be believed, in a sentence each.
    pub invalid: Vec<String>,
}

/// The two ways between which a setting divides files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The flag of `serve`.
    pub flag: String,
    /// How shorter files leave.
    pub below: Way,
    /// How longer files leave.
    pub above: Way,
    /// What each costs, by length.
    pub lengths: Vec<Length>,
}

/// What a flag of `serve` should be here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The flag.
    pub flag: String,
    /// Its value as the flag takes it.
    pub value: String,
    /// The same in bytes.
    pub bytes: u64,
    /// What it is if nobody says anything.
    pub default_bytes: u64,
    /// Why, in one line.
    pub reason: String,
}

impl Document {
    pub(super) fn new(
        environment: Environment,
        pinned: bool,
        memory_load: Option<Streamed>,
        lengths: &[Vec<Length>],
        invalid: Option<String>,
    ) -> Document {
        let with_lengths = || BORDERS.iter().zip(lengths);
        let setting = |(border, lengths): (&Border, &Vec<Length>)| {
            let found = border.suggest(lengths);
            Setting {
                flag: border.flag.to_owned(),
                value: show(found.value),
                bytes: found.value,
                default_bytes: found.default,
                reason: found.reason,
            }
        };
        let comparison = |(border, lengths): (&Border, &Vec<Length>)| Comparison {
            flag: border.flag.to_owned(),
            below: border.below,
            above: border.above,
            lengths: lengths.clone(),
        };
        Document {
            schema: SCHEMA,
            environment,
            method: METHOD.to_owned(),
            connections: CONNECTIONS,
            trials: FEWEST_TRIALS,
            pinned,
            memory_load,
            comparisons: with_lengths().map(comparison).collect(),
            // What follows from figures that must not be believed is no advice.
            settings: match &invalid {
                None => with_lengths().map(setting).collect(),
                Some(_) => Vec::new(),
            },
            invalid: invalid.into_iter().collect(),
        }
    }

    /// The report for people.
    pub(super) fn in_words(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        let Environment {
            kernel,
            cpu,
            congestion_control,
            ..
        } = &self.environment;
        let known = [kernel, cpu, congestion_control];
        let known: Vec<&str> = known.into_iter().filter_map(Option::as_deref).collect();
        let cores = match self.pinned {
            true => "the servers have a core of their own",
            false => "SERVERS AND CLIENT SHARE A CORE",
        };
        writeln!(text, "{}; {cores}", known.join("; "))?;
        writeln!(
            text,
            "CPU of the server in us per request, medians of {} trials; ratio: second way by first, with its\n\
             95 % interval",
            self.trials
        )?;
        if let Some(load) = &self.memory_load {
            writeln!(
                text,
                "busy: beside {} threads that stream through {} at {:.0} MiB/s",
                load.threads,
                show(load.buffer_bytes),
                load.mib_per_second
            )?;
        }
        for comparison in &self.comparisons {
            write_comparison(text, comparison)?;
        }
        if let Some(others) = self.environment.others {
            writeln!(text, "\nOthers took {:.2} cores meanwhile.", others.taken())?;
        }
        for why in &self.invalid {
            writeln!(text, "\nINVALID: {why}")?;
        }
        if !self.settings.is_empty() {
            writeln!(text, "\nSettings of `salver serve` for this:")?;
        }
        for setting in &self.settings {
            let value = format!("{} {}", setting.flag, setting.value);
            writeln!(text, "  {value:26} {}", setting.reason)?;
        }
        Ok(())
    }
}

fn write_comparison(text: &mut String, comparison: &Comparison) -> std::fmt::Result {
    let (below, above) = (comparison.below.title(), comparison.above.title());
    let is_busy = comparison
        .lengths
        .iter()
        .any(|length| length.busy.is_some());
    let flag = &comparison.flag;
    writeln!(text, "\n{flag}: {below}, or {above} for longer files")?;
    let head = format!("{below:>12}{above:>16}{:>22}", "ratio");
    let more = match is_busy {
        true => format!("   busy:{head}"),
        false => String::new(),
    };
    writeln!(text, "{:8}{head}{more}", "")?;
    for length in &comparison.lengths {
        write!(text, "{:8}{}", show(length.size), costs(&length.quiet))?;
        if let Some(busy) = &length.busy {
            write!(text, "{:8}{}", "", costs(busy))?;
        }
        writeln!(text)?;
    }
    Ok(())
}

fn costs(costs: &Costs) -> String {
    let ratio = &costs.ratio;
    let interval = format!("{:.2} ({:.2} to {:.2})", ratio.ratio, ratio.low, ratio.high);
    format!(
        "{:>12.1}{:>16.1}{interval:>22}",
        costs.below_us, costs.above_us
    )
}

#[cfg(test)]
mod tests {
    use salver_bench::report::Interval;

    use super::*;

    fn length(size: u64, below_us: f64, above_us: f64) -> Length {
        let ratio = above_us / below_us;
        let costs = Costs {
            below_us,
            above_us,
            ratio: Interval {
                ratio,
                low: ratio * 0.9,
                high: ratio * 1.1,
            },
        };
        Length {
            size,
            quiet: costs,
            busy: Some(Costs {
                below_us: below_us * 2.0,
                ..costs
            }),
        }
    }

    fn document(invalid: Option<String>) -> Document {
        let lengths = vec![vec![length(1024, 7.0, 10.0), length(1000, 6.0, 9.0)]; 2];
        let load = Streamed {
            threads: 1,
            buffer_bytes: 64 << 20,
            mib_per_second: 9000.0,
        };
        Document::new(Environment::default(), true, Some(load), &lengths, invalid)
    }

    #[test]
    fn the_words_have_a_row_for_each_length_and_one_value_for_each_setting() {
        let text = document(None).in_words();
        let one = "1KiB             7.0            10.0";
        for row in [one, "1000             6.0             9.0"] {
            assert_eq!(text.matches(row).count(), 2, "{row}: {text}");
        }
        assert!(text.contains("busy: beside 1 threads that stream through 64MiB"));
        for setting in ["  --cache-max-file 32KiB ", "  --sendfile-from 32KiB "] {
            assert_eq!(text.matches(setting).count(), 1, "{text}");
        }
    }

    #[test]
    fn no_setting_follows_from_what_must_not_be_believed() {
        let document = document(Some("others took the cores".to_owned()));
        assert!(document.settings.is_empty());
        let text = document.in_words();
        assert!(
            text.contains("\nINVALID: others took the cores\n"),
            "{text}"
        );
        assert!(!text.contains("Settings"), "{text}");
    }
}
