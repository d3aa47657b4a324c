//! The runner of `salver bench ui`: each kind of run is measured by the means of its command.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use salver_bench::compare::comparison::{CompareError, Requested, Setup, Subject};
use salver_bench::compare::order::Side;
use salver_bench::compare::{FEWEST_TRIALS, MARGIN, TRIALS as MOST_TRIALS, Turn};
use salver_bench::environment::{Environment, OthersWatch};
use salver_bench::load::{self, Load};
use salver_bench::model::{Progress, Schedule};
use salver_bench::report::{LOAD, Report, Row, Series};
use salver_bench::target;
use salver_bench::transport::{Http, Transport, Trust};
use salver_bench::ui::{Job, JobKind, JobProgress, Protocol, Runner};
use salver_bench::workload::{Mix, Workload};

use crate::commands::bench::cache::{self, SIZES, report::row_of};
use crate::commands::bench::own_server::{Cores, OwnServer};
use crate::commands::bench::{Watch, command_line, failure, panicked};
use crate::failure::Failure;
use crate::values::measured_size;

/// The server is asked for so long before anything is measured.
const WARM_UP: Duration = Duration::from_secs(1);

/// Trials of each size and way if there is time for them: the fewest that give intervals.
const TRIALS: u16 = 16;

/// Trials that are too short for intervals to mean anything.
const FEW_TRIALS: u16 = 2;

/// A trial that is to count in an interval takes at least so long.
const SHORTEST_TRIAL: Duration = Duration::from_millis(100);

/// A trial of a comparison takes so long, if that gives neither too few nor too many.
const COMPARED_TRIAL: Duration = Duration::from_millis(250);

/// Each trial of a comparison is preceded by so long a warm-up.
const COMPARED_WARM_UP: Duration = Duration::from_millis(200);

/// An answer that has not come by then does not come.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Whoever watches a comparison is told so often, and may end it.
const TICK: Duration = Duration::from_millis(250);

/// The runner of the page.
pub(super) struct Measuring;

impl Runner for Measuring {
    fn run(&self, job: &Job, progress: Watch<'_>) -> Result<Report, String> {
        let report = match job.kind {
            JobKind::Cache => sizes(job, progress),
            JobKind::Load => load(job, progress),
            JobKind::Compare => compare(job, progress),
        };
        report.map_err(|failure| failure.to_string())
    }
}

/// Six sizes from a plain mount and from a cached one.
fn sizes(job: &Job, progress: Watch<'_>) -> Result<Report, Failure> {
    let duration = Duration::from_secs_f64(job.duration_seconds);
    let trials = match duration / u32::from(TRIALS) >= SHORTEST_TRIAL {
        true => TRIALS,
        false => FEW_TRIALS,
    };
    let sizes: Result<Vec<u64>, String> = SIZES.split(',').map(measured_size).collect();
    let settings = cache::Settings {
        directory: job.scratch.clone().unwrap_or_else(std::env::temp_dir),
        sizes: sizes.map_err(Failure::Failed)?,
        duration: duration / u32::from(trials),
        trials: usize::from(trials),
        connections: job.connections,
    };
    cache::measure(&settings, progress)
}

/// The transport of a protocol. `is_own`: of a server that this program has started, whose
/// certificate nobody vouches for.
fn transport(job: &Job, protocol: Protocol, is_own: bool) -> Transport {
    let http = protocol.http();
    Transport {
        http,
        trust: match job.any_certificate || is_own {
            true => Trust::Any,
            false => Trust::System,
        },
        streams: match http {
            Http::One => 1,
            Http::Two | Http::Three => job.streams,
        },
    }
}

/// A load on a server that is there, or on one of our own.
fn load(job: &Job, progress: Watch<'_>) -> Result<Report, Failure> {
    let own = match (&job.url, &job.directory) {
        (None, Some(directory)) => {
            let cores = Cores::divided();
            let mut flags = vec![format!("--max-connections={}", job.connections + 16).into()];
            if job.protocol.scheme() == Some("https") {
                flags.push("--tls-self-signed".into());
            }
            let server = OwnServer::start(directory, &flags, cores)?;
            Some((server, cores, directory.display().to_string()))
        }
        _ => None,
    };
    let base = match (&own, &job.url) {
        (Some((server, ..)), _) => format!("{}/", server.url()),
        (None, Some(url)) => url.clone(),
        (None, None) => return Err(Failure::Misused("there is nothing to load".to_owned())),
    };
    let workload = match &job.directory {
        Some(directory) => Workload::of_directory(&base, directory),
        None => Workload::of_urls(&[&base]),
    };
    let mut workload = workload.map_err(failure)?;
    workload.transport = transport(job, job.protocol, own.is_some());
    let asked = Load {
        schedule: match job.rate {
            Some(per_second) => Schedule::Rate { per_second },
            None => Schedule::Closed,
        },
        connections: job.connections,
        warm_up: WARM_UP,
        duration: Duration::from_secs_f64(job.duration_seconds),
        timeout: TIMEOUT,
        server_pids: own.iter().map(|(server, ..)| server.pid()).collect(),
        judges_others: true,
        ..Load::new(workload)
    };
    let mut environment = Environment::now(command_line());
    let others = OthersWatch::start(&asked.server_processes());
    let cores = own.as_ref().and_then(|(_, cores, _)| *cores);
    let mut stopped = false;
    let mut watch = |now: &Progress| {
        let before = if now.warming_up {
            0.0
        } else {
            WARM_UP.as_secs_f64()
        };
        let all = WARM_UP.as_secs_f64() + job.duration_seconds;
        let flow = progress(&JobProgress {
            what: "Loading".to_owned(),
            done: ((before + now.elapsed_seconds) / all).min(1.0),
            now: *now,
        });
        stopped |= flow.is_break();
        flow
    };
    let measured = Cores::as_client(cores, || load::run(&asked, &mut watch))?.map_err(failure)?;
    if stopped && measured.requests + measured.errors.total() == 0 {
        let why = "stopped before any request ended";
        return Err(Failure::Failed(why.to_owned()));
    }
    environment.others = others.others();
    let name = match own {
        Some((server, _, name)) => {
            server.stop()?;
            name
        }
        None => measured.target.clone(),
    };
    let row = Row {
        name: name.clone(),
        series: vec![Series {
            label: LOAD.to_owned(),
            measured,
        }],
        ..Row::default()
    };
    Ok(Report::new(
        format!("Load on {name}"),
        &environment,
        vec![row],
    ))
}

/// Two servers that are there, in turns.
fn compare(job: &Job, progress: Watch<'_>) -> Result<Report, Failure> {
    let (Some(a), Some(b)) = (&job.url, &job.url_b) else {
        return Err(Failure::Misused("a comparison is of two URLs".to_owned()));
    };
    let (trials, duration) = compared_trials(Duration::from_secs_f64(job.duration_seconds));
    let setup = Setup {
        a: Subject::Url(a.clone()),
        b: Subject::Url(b.clone()),
        transports: [job.protocol, job.protocol_b].map(|of| transport(job, of, false)),
        https: false,
        asked: match &job.directory {
            Some(directory) => Requested::Directory(directory.clone()),
            None => Requested::Paths(vec![String::new()]),
        },
        mix: Mix::default(),
        connections: job.connections,
        threads: 1,
        warm_up: COMPARED_WARM_UP,
        duration,
        timeout: TIMEOUT,
        server_core: None,
        trials,
        margin: MARGIN,
        seed: 1,
        allow_different: false,
    };
    let labels = labels([(a, job.protocol), (b, job.protocol_b)]);
    let comparison = watched(progress, |stop, tell| {
        let mut watch = |turn: &Turn<'_>| tell(going(turn, &labels));
        setup.run(command_line().collect(), stop, &mut watch)
    })?;
    let comparison = comparison.map_err(|error| match error {
        CompareError::Bench(error) => failure(error),
        CompareError::Different(differences) => {
            let shown = differences.iter().take(3).map(ToString::to_string);
            Failure::Failed(format!(
                "the two do not send the same, so their speed cannot be compared: {}",
                shown.collect::<Vec<_>>().join("; ")
            ))
        }
    })?;
    let paths = comparison.paths.iter();
    let measured = paths.filter(|path| !path.trials.is_empty());
    let rows = measured.map(|path| row_of(path, labels.each_ref().map(String::as_str)));
    let title = format!("{b} ({}) against {a} ({})", job.protocol_b, job.protocol);
    Ok(Report::new(title, &comparison.environment, rows.collect()))
}

/// The trials of each side that a comparison makes at most, and the duration of each.
fn compared_trials(duration: Duration) -> (usize, Duration) {
    let fitting = duration.as_millis() / COMPARED_TRIAL.as_millis();
    let trials = usize::try_from(fitting).unwrap_or(MOST_TRIALS);
    let trials = trials.clamp(FEWEST_TRIALS, MOST_TRIALS);
    (trials, duration / u32::try_from(trials).unwrap_or(u32::MAX))
}

/// The names of the two sides by what tells them apart: their hosts, else their protocols, else their URLs.
fn labels(sides: [(&String, Protocol); 2]) -> [String; 2] {
    let host = |url: &String| match target::parse(url) {
        Ok(url) => url.authority().map_or(String::new(), ToString::to_string),
        Err(_) => url.clone(),
    };
    [
        sides.map(|(url, _)| host(url)),
        sides.map(|(_, protocol)| protocol.to_string()),
        sides.map(|(url, _)| url.clone()),
    ]
    .into_iter()
    .find(|[a, b]| a != b)
    .unwrap_or_else(|| ["first", "second"].map(str::to_owned))
}

/// The progress of a comparison before this trial.
fn going(turn: &Turn<'_>, [a, b]: &[String; 2]) -> JobProgress {
    let side = match turn.side {
        Side::A => a,
        Side::B => b,
    };
    JobProgress {
        what: format!("{}, {side}", turn.path),
        done: turn.block as f64 / turn.of_blocks as f64,
        now: Progress::default(),
    }
}

/// The result of `work`, which is done on a thread of its own: it tells how it goes when it likes, and
/// ends when the flag is set. `progress` hears the last of that all the time.
fn watched<T: Send>(
    progress: Watch<'_>,
    work: impl FnOnce(&AtomicBool, &dyn Fn(JobProgress)) -> T + Send,
) -> Result<T, Failure> {
    let stop = &AtomicBool::new(false);
    let (tell, told) = channel();
    std::thread::scope(|scope| {
        let thread = scope.spawn(move || {
            work(stop, &|going| {
                // Nobody is left to tell if that fails.
                let _ = tell.send(going);
            })
        });
        let mut going = JobProgress {
            what: "whether both send the same".to_owned(),
            ..JobProgress::default()
        };
        loop {
            match told.recv_timeout(TICK) {
                Ok(next) => going = next,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if progress(&going).is_break() {
                stop.store(true, Ordering::Relaxed);
            }
        }
        thread.join().map_err(panicked)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_has_as_many_trials_as_fit() {
        fn check(seconds: f64, trials: usize, trial_ms: u64) {
            let found = compared_trials(Duration::from_secs_f64(seconds));
            assert_eq!(
                found,
                (trials, Duration::from_millis(trial_ms)),
                "{seconds}"
            );
        }
        check(0.16, 16, 10);
        check(4.0, 16, 250);
        check(10.0, 40, 250);
        check(16.0, 64, 250);
        check(64.0, 64, 1000);
    }

    #[test]
    fn sides_are_called_by_what_differs() {
        fn check(a: (&str, Protocol), b: (&str, Protocol), expected: [&str; 2]) {
            let (url_a, url_b) = (a.0.to_owned(), b.0.to_owned());
            assert_eq!(labels([(&url_a, a.1), (&url_b, b.1)]), expected);
        }
        let (h1, h2c) = (Protocol::Http1, Protocol::H2c);
        let (one, two) = ("http://a:1/x", "http://a:2/x");
        check((one, h1), (two, h2c), ["a:1", "a:2"]);
        check((one, h1), (one, h2c), ["HTTP/1.1", "HTTP/2 in the clear"]);
        let other = "http://a:1/y";
        check((one, h1), (other, h1), [one, other]);
        check((one, h1), (one, h1), ["first", "second"]);
    }
}
