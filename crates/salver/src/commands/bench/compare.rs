//! `salver bench compare A B`: which of two servers is faster, if that can be told.
//!
//! With `--json` standard output gets one document, a [`Comparison`].

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use salver_bench::compare::comparison::{CompareError, Comparison, Requested, Setup, Subject};
use salver_bench::compare::{FEWEST_TRIALS, TRIALS, Turn, text};
use salver_bench::environment::Environment;
use salver_bench::transport::Http;
use salver_bench::workload::Mix;
use salver_config::values::{limit, time, whole};

use super::flags::TransportFlags;
use super::live_view::LiveView;
use super::{command_line, failure, json, or_document, print, stop_on_signal};
use crate::failure::Failure;
use crate::values::share;

/// Which of two servers is faster: measured in turns, judged by intervals.
///
/// A and B are asked in turns, A B B A or B A A B by lot, in trials of a few seconds. For each path
/// it says whether B is faster than A, slower, the same within the margin, or that more trials are
/// needed. It ends a path as soon as that is known. Nothing else should run meanwhile.
///
/// Exit code 1 if any request failed or the figures must not be believed; 2 if A and B do not send
/// the same.
#[derive(Args, Clone, Debug)]
#[command(args_override_self = true)]
pub struct CompareFlags {
    /// What B is compared with: a URL that begins with http:// or https://, or a command that starts a server,
    /// in quotes, with {port} where its port belongs
    #[arg(value_name = "A", value_parser = Subject::parse)]
    pub a: Subject,

    /// What is judged: another URL or command
    #[arg(value_name = "B", value_parser = Subject::parse)]
    pub b: Subject,

    /// The directory that both serve: each of its files is compared, and each answer is checked
    /// with it
    #[arg(long, value_name = "DIR", conflicts_with = "path")]
    pub root: Option<PathBuf>,

    /// What to ask for. Repeatable [default: /]
    #[arg(long, value_name = "PATH", value_parser = path)]
    pub path: Vec<String>,

    /// Accept-Encoding to send. Repeatable: each in an equal share of requests; an empty one sends
    /// none
    #[arg(long, value_name = "VALUE")]
    pub accept_encoding: Vec<String>,

    /// How long each trial measures
    #[arg(short, long, value_name = "TIME", default_value = "2s", value_parser = limit)]
    pub duration: Duration,

    /// How long a server is asked in each trial before anything is measured
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = time)]
    pub warm_up: Duration,

    /// Trials of each side and path at most; fewer if a quarter or half of them tell
    #[arg(long, value_name = "NUMBER", default_value_t = TRIALS, value_parser = trials)]
    pub trials: usize,

    /// Differences up to this do not matter
    #[arg(long, value_name = "SHARE", default_value = "3%", value_parser = margin)]
    pub margin: f64,

    /// How the servers are asked
    #[command(flatten)]
    pub transport: TransportFlags,

    /// The version that A is asked by [default: that of --http]
    #[arg(long, value_name = "VERSION", value_parser = str::parse::<Http>)]
    pub http_a: Option<Http>,

    /// The version that B is asked by [default: that of --http]
    #[arg(long, value_name = "VERSION", value_parser = str::parse::<Http>)]
    pub http_b: Option<Http>,

    /// The servers that it starts speak TLS on their port. Those asked by HTTP/3 always do
    #[arg(long)]
    pub https: bool,

    /// Connections, each with at most one request under way, or as many as --streams says
    #[arg(short, long, value_name = "NUMBER", default_value_t = 64, value_parser = whole(1usize, 1_000_000))]
    pub connections: usize,

    /// Threads that send
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = whole(1usize, 10_000))]
    pub threads: usize,

    /// How long an answer may take
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = limit)]
    pub timeout: Duration,

    /// Run the servers that it starts on this core, counted from 0, and the client on the others
    #[arg(long, value_name = "CORE", value_parser = whole(0usize, 1_000_000))]
    pub server_core: Option<usize>,

    /// What the order of trials and the intervals are drawn by
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = whole(0u64, u64::MAX))]
    pub seed: u64,

    /// Compare them even if they send different bytes or content codings
    #[arg(long)]
    pub allow_different: bool,

    /// Print one JSON document, with every trial, instead of words
    #[arg(long)]
    pub json: bool,

    /// Print Markdown instead of words
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,

    /// Do not say how it goes on
    #[arg(short, long)]
    pub quiet: bool,
}

fn path(text: &str) -> Result<String, String> {
    match text.starts_with('/') {
        true => Ok(text.to_owned()),
        false => Err("it begins with a slash: give /index.html, say".to_owned()),
    }
}

fn trials(text: &str) -> Result<usize, String> {
    let number: Option<usize> = text.parse().ok();
    let possible = number.filter(|trials| (FEWEST_TRIALS..=100_000).contains(trials));
    possible.ok_or_else(|| format!("give a number from {FEWEST_TRIALS} to 100000"))
}

fn margin(text: &str) -> Result<f64, String> {
    match share(text)? {
        margin if margin > 0.0 && margin < 1.0 => Ok(margin),
        _ => Err("no two servers are that much alike, or unlike: give 3%, say".to_owned()),
    }
}

/// Compares, and prints what was found.
///
/// # Errors
/// Why nothing was compared; or, after the result, that not all went right.
pub fn run(flags: &CompareFlags) -> Result<(), Failure> {
    let stop = stop_on_signal()?;
    let mut view = LiveView::new(flags.quiet || flags.json);
    let mut watch = |turn: &Turn<'_>| view.line(&in_a_line(turn));
    let compared = setup(flags).run(command_line().collect(), &stop, &mut watch);
    view.clear();
    let compared = compared.map_err(|error| match error {
        CompareError::Bench(error) => failure(error),
        CompareError::Different(_) => Failure::Misused(error.to_string()),
    });
    let environment = Environment::now(command_line());
    let comparison = or_document(flags.json, &environment, compared)?;
    print(&match (flags.json, flags.markdown) {
        (true, _) => json(&comparison)?,
        (_, true) => text::in_markdown(&comparison),
        _ => text::in_words(&comparison),
    })?;
    outcome(&comparison)
}

fn setup(flags: &CompareFlags) -> Setup {
    let asked = match &flags.root {
        Some(root) => Requested::Directory(root.clone()),
        None if flags.path.is_empty() => Requested::Paths(vec!["/".to_owned()]),
        None => Requested::Paths(flags.path.clone()),
    };
    let transport = |of_side: Option<Http>| {
        let mut transport = flags.transport.transport();
        transport.http = of_side.unwrap_or(transport.http);
        if transport.http == Http::One && (flags.http_a, flags.http_b) != (None, None) {
            // The other side has them.
            transport.streams = 1;
        }
        transport
    };
    Setup {
        a: flags.a.clone(),
        b: flags.b.clone(),
        transports: [transport(flags.http_a), transport(flags.http_b)],
        https: flags.https,
        asked,
        mix: Mix {
            accept_encoding: flags.accept_encoding.clone(),
            ..Mix::default()
        },
        connections: flags.connections,
        threads: flags.threads,
        warm_up: flags.warm_up,
        duration: flags.duration,
        timeout: flags.timeout,
        server_core: flags.server_core,
        trials: flags.trials,
        margin: flags.margin,
        seed: flags.seed,
        allow_different: flags.allow_different,
    }
}

fn in_a_line(turn: &Turn<'_>) -> String {
    format!(
        "block {} of at most {}, {} paths not yet decided: {} of {}",
        turn.block + 1,
        turn.of_blocks,
        turn.open,
        turn.path,
        turn.side
    )
}

/// The exit code of a comparison, and the line that explains it.
fn outcome(comparison: &Comparison) -> Result<(), Failure> {
    let errors = comparison.errors();
    let paths = comparison.paths.iter();
    match (
        errors,
        { paths }.filter(|path| path.verdict.is_none()).count(),
    ) {
        (0, _) if comparison.interrupted => Err(Failure::Failed(
            "interrupted: what is said is of the trials until then".to_owned(),
        )),
        (0, 0) => Ok(()),
        (0, silent) => Err(Failure::Failed(format!(
            "of {silent} paths nothing can be said: see above why, and run it again"
        ))),
        (errors, _) => Err(Failure::Failed(format!("{errors} requests failed"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use salver_bench::compare::MARGIN;

    #[test]
    fn margins_and_trials_have_bounds() {
        assert_eq!(margin("3%"), Ok(MARGIN));
        assert_eq!(margin("0.005"), Ok(0.005));
        for wrong in ["0", "100%", "-1%", "3", "", "x"] {
            assert!(margin(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(trials("16"), Ok(FEWEST_TRIALS));
        for wrong in ["15", "0", "-1", "100001", ""] {
            assert!(trials(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(path("/a?b"), Ok("/a?b".to_owned()));
        assert!(path("a").is_err() && path("").is_err());
    }
}
