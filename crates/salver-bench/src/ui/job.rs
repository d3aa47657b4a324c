//! What a person asks the page for, checked; and who carries it out.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, RangeInclusive};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::model::Progress;
use crate::report::Report;
use crate::target;

/// How long a run may be asked to measure, in seconds.
pub const DURATION_SECONDS: RangeInclusive<f64> = 0.1..=3600.0;

/// How many connections may be asked for.
pub const CONNECTIONS: RangeInclusive<usize> = 1..=10_000;

/// Carries out what the page asks for.
pub trait Runner: Send + Sync + 'static {
    /// Measures. It may block; it is called once at a time, on a thread of its own.
    ///
    /// It calls `progress` at least once a second and stops as soon as that says so; what it then
    /// gives is thrown away.
    ///
    /// # Errors
    /// Why nothing was measured, in a sentence for the person who asked.
    fn run(
        &self,
        job: &Job,
        progress: &mut (dyn FnMut(&JobProgress) -> ControlFlow<()> + Send),
    ) -> Result<Report, String>;
}

/// The kinds of run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobKind {
    /// Plain against cached serving of files of six sizes.
    Cache,
    /// A load on one server.
    Load,
}

/// What is to be measured. Made from [`Wanted`], which is the check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Which kind of run.
    pub kind: JobKind,
    /// What to load, an `http://` URL. Never there for [`JobKind::Cache`].
    pub url: Option<String>,
    /// A directory. [`JobKind::Load`]: what the server serves, so that answers are compared with
    /// its files; without a URL it is served for the run. [`JobKind::Cache`]: where files are made.
    pub directory: Option<PathBuf>,
    /// How long to measure, in seconds.
    pub duration_seconds: f64,
    /// How many connections to use.
    pub connections: usize,
}

/// What a person has filled in, unchecked.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// Which kind of run.
    pub kind: JobKind,
    /// Empty for none.
    #[serde(default)]
    pub url: String,
    /// Empty for none.
    #[serde(default)]
    pub directory: String,
    /// `None` if it was no number.
    #[serde(default)]
    pub duration_seconds: Option<f64>,
    /// `None` if it was no number.
    #[serde(default)]
    pub connections: Option<f64>,
}

/// What is wrong, by the name of the field in [`Job`].
pub type FieldErrors = BTreeMap<&'static str, String>;

impl Wanted {
    /// The job, if it can be meant like this.
    ///
    /// # Errors
    /// What is wrong with each field, and what to do about it.
    pub fn check(&self) -> Result<Job, FieldErrors> {
        let mut errors = FieldErrors::new();
        let mut note = |field, error| {
            errors.insert(field, error);
        };
        let url = match (self.kind, self.url.trim()) {
            (JobKind::Cache, _) | (JobKind::Load, "") => None,
            (JobKind::Load, text) => match target::parse(text) {
                Ok(_) => Some(text.to_owned()),
                Err(error) => {
                    note("url", error.to_string());
                    None
                }
            },
        };
        let directory = match self.directory.trim() {
            "" => None,
            path if Path::new(path).is_dir() => Some(PathBuf::from(path)),
            path => {
                note(
                    "directory",
                    format!("{path} is no directory of this machine"),
                );
                None
            }
        };
        if self.kind == JobKind::Load && self.url.trim().is_empty() && directory.is_none() {
            note("url", "Give a URL, or a directory to serve".to_owned());
        }
        let duration = self.duration_seconds.unwrap_or(f64::NAN);
        if !DURATION_SECONDS.contains(&duration) {
            let (least, most) = (DURATION_SECONDS.start(), DURATION_SECONDS.end());
            note(
                "duration_seconds",
                format!("Give a number of seconds from {least} to {most}"),
            );
        }
        let connections = whole(self.connections).filter(|number| CONNECTIONS.contains(number));
        if connections.is_none() {
            let (least, most) = (CONNECTIONS.start(), CONNECTIONS.end());
            note(
                "connections",
                format!("Give a whole number from {least} to {most}"),
            );
        }
        match connections {
            Some(connections) if errors.is_empty() => Ok(Job {
                kind: self.kind,
                url,
                directory,
                duration_seconds: duration,
                connections,
            }),
            _ => Err(errors),
        }
    }
}

/// The number, if it is one that a browser can send exactly and that has no fraction.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is whole and within 0 and u32::MAX"
)]
fn whole(number: Option<f64>) -> Option<usize> {
    let number = number?;
    let fits = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
    fits.then_some(number as usize)
}

/// How far a run is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobProgress {
    /// What is being measured, for a person: `10 KiB, cached`.
    pub what: String,
    /// How much of the whole run is done: 0 to 1.
    pub done: f64,
    /// What the present measurement tells.
    pub now: Progress,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(kind: JobKind, url: &str, directory: &str) -> Wanted {
        Wanted {
            kind,
            url: url.to_owned(),
            directory: directory.to_owned(),
            duration_seconds: Some(5.0),
            connections: Some(64.0),
        }
    }

    #[test]
    fn what_is_right_is_a_job() {
        let job = wanted(JobKind::Load, " http://127.0.0.1:80/a ", "/").check();
        let expected = Job {
            kind: JobKind::Load,
            url: Some("http://127.0.0.1:80/a".to_owned()),
            directory: Some(PathBuf::from("/")),
            duration_seconds: 5.0,
            connections: 64,
        };
        assert_eq!(job, Ok(expected));
        let job = wanted(JobKind::Cache, "nonsense", "").check().unwrap();
        assert_eq!((job.url, job.directory), (None, None));
        assert!(wanted(JobKind::Load, "", "/").check().is_ok());
    }

    #[test]
    fn each_field_says_what_is_wrong_with_it() {
        fn check(change: impl FnOnce(&mut Wanted), field: &str, part: &str) {
            let mut wanted = wanted(JobKind::Load, "http://a/", "");
            change(&mut wanted);
            let errors = wanted.check().unwrap_err();
            assert_eq!(errors.keys().collect::<Vec<_>>(), [&field]);
            assert!(errors[field].contains(part), "{errors:?}");
        }
        check(|job| job.url = String::new(), "url", "directory");
        check(|job| job.url = "/a".to_owned(), "url", "no URL");
        check(|job| job.url = "a b".to_owned(), "url", "no URL");
        check(|job| job.url = "ftp://a/".to_owned(), "url", "URL of http");
        check(
            |job| job.directory = "/no/such".to_owned(),
            "directory",
            "/no/such",
        );
        check(
            |job| job.directory = "/dev/null".to_owned(),
            "directory",
            "no directory",
        );
        for wrong in [None, Some(0.0), Some(-1.0), Some(3601.0), Some(f64::NAN)] {
            check(
                |job| job.duration_seconds = wrong,
                "duration_seconds",
                "3600",
            );
        }
        for wrong in [
            None,
            Some(0.0),
            Some(1.5),
            Some(10_001.0),
            Some(f64::INFINITY),
        ] {
            check(|job| job.connections = wrong, "connections", "10000");
        }
    }

    #[test]
    fn all_that_is_wrong_is_said_at_once() {
        let mut wanted = wanted(JobKind::Load, "x", "/no/such");
        wanted.duration_seconds = None;
        wanted.connections = None;
        assert_eq!(wanted.check().unwrap_err().len(), 4);
    }
}
