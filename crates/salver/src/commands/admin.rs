//! `salver status`, `purge` and `health`: clients of a server's admin listener.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use clap::Args;
use salver_admin::{Status, encoded_path};
use salver_config::Environment;
use serde_json::{Value, json};

use crate::admin::client::{AdminClient, AdminFlags};
use crate::failure::Failure;
use crate::log::say;
use crate::size::size;

/// Say what a running server is doing.
///
/// Asks its admin listener, which `salver serve --metrics PORT` has.
#[derive(Args, Clone, Debug)]
pub struct StatusFlags {
    /// Where the listener is.
    #[command(flatten)]
    pub admin: AdminFlags,

    /// Print all of it, as JSON
    #[arg(long)]
    pub json: bool,
}

/// Have a running server look at files anew, whatever is cached of them.
///
/// Asks its admin listener, which `salver serve --metrics PORT` has.
#[derive(Args, Clone, Debug)]
#[command(arg_required_else_help = true)]
pub struct PurgeFlags {
    /// Where the listener is.
    #[command(flatten)]
    pub admin: AdminFlags,

    /// The paths of files and directories, as in a URL: /index.html
    #[arg(value_name = "PATH", required_unless_present_any = ["prefix", "cache-group", "all"])]
    pub paths: Vec<String>,

    /// Everything beneath this path, too. Repeatable
    #[arg(long, value_name = "PATH")]
    pub prefix: Vec<String>,

    /// Every answer of this group, by its field Cache-Groups (RFC 9875). Repeatable
    #[arg(id = "cache-group", long = "group", value_name = "NAME")]
    pub group: Vec<String>,

    /// Everything
    #[arg(long, conflicts_with_all = ["paths", "prefix", "cache-group"])]
    pub all: bool,

    /// Of this site alone, which is called by the first of its hosts; * is that of all others
    #[arg(long, value_name = "NAME")]
    pub site: Option<String>,

    /// Print how many entries went, as JSON
    #[arg(long)]
    pub json: bool,
}

/// Say if a running server accepts requests: exit code 0 if it does, else 1.
///
/// Asks its admin listener, which `salver serve --metrics PORT` has.
#[derive(Args, Clone, Debug)]
pub struct HealthFlags {
    /// Where the listener is.
    #[command(flatten)]
    pub admin: AdminFlags,

    /// Say only if its loops run, not if it accepts requests
    #[arg(long)]
    pub live: bool,

    /// Print what it says, as JSON
    #[arg(long)]
    pub json: bool,
}

/// Prints what a server is doing.
///
/// # Errors
/// There is no answer, or none of Salver.
pub fn status(flags: &StatusFlags, environment: &Environment) -> Result<(), Failure> {
    let client = AdminClient::new(&flags.admin, environment)?;
    let text = client.succeed("GET", "/status")?;
    if flags.json {
        return print(&format!("{text}\n"));
    }
    let status = serde_json::from_str(&text).map_err(|error| {
        Failure::Failed(format!(
            "the answer is none of this version of Salver: {error}"
        ))
    })?;
    print(&for_people(&status))
}

/// Purges paths from a server's cache.
///
/// # Errors
/// There is no answer, or a path is none.
pub fn purge(flags: &PurgeFlags, environment: &Environment) -> Result<(), Failure> {
    let client = AdminClient::new(&flags.admin, environment)?;
    let path = |name: &str, path: &String| {
        format!("/cache/purge?{name}={}", encoded_path(path.as_bytes()))
    };
    let paths = flags.paths.iter().map(|one| path("path", one));
    let prefixes = flags.prefix.iter().map(|one| path("prefix", one));
    let groups = flags.group.iter().map(|one| path("group", one));
    let all = flags.all.then(|| "/cache/purge?all".to_owned());
    let mut purged = 0;
    let site = flags.site.as_ref();
    let site = site.map_or_else(String::new, |name| {
        format!("&site={}", encoded_path(name.as_bytes()))
    });
    for target in paths.chain(prefixes).chain(groups).chain(all) {
        let target = format!("{target}{site}");
        let answer = client.succeed("POST", &target)?;
        let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
        purged += answer.get("purged").and_then(Value::as_u64).unwrap_or(0);
    }
    if flags.json {
        return print(&format!("{}\n", json!({ "purged": purged })));
    }
    say(&match purged {
        1 => "1 entry was purged".to_owned(),
        many => format!("{many} entries were purged"),
    });
    Ok(())
}

/// Says if a server accepts requests.
///
/// # Errors
/// It does not.
pub fn health(flags: &HealthFlags, environment: &Environment) -> Result<(), Failure> {
    let client = AdminClient::new(&flags.admin, environment)?;
    let target = if flags.live { "/live" } else { "/ready" };
    let answer = client.ask("GET", target)?;
    let (is_fine, state) = (answer.status == 200, answer.body.trim_end());
    if flags.json {
        let health = json!({ "healthy": is_fine, "state": state });
        print(&format!("{health}\n"))?;
    }
    match is_fine {
        true if flags.json => Ok(()),
        true => print(&format!("{state}\n")),
        false => Err(Failure::Failed(format!(
            "the server is not healthy: {}",
            state.escape_debug()
        ))),
    }
}

/// What a person wants to know at a glance, a line each.
fn for_people(status: &Status) -> String {
    let mut text = format!("Salver {}\n", status.version);
    let mut line = |label: &str, value: &str| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {label:<12}{value}");
    };
    let uptime = std::time::Duration::from_secs(status.uptime_seconds);
    let uptime = humantime::format_duration(uptime);
    line("state", &format!("{}, for {uptime}", status.state.name()));
    let requests = &status.requests;
    line(
        "requests",
        &format!(
            "{} ({} 2xx, {} 3xx, {} 4xx, {} 5xx, {} unanswered), {} under way, {} sent",
            requests.total,
            requests.success,
            requests.redirection,
            requests.client_error,
            requests.server_error,
            requests.unanswered,
            requests.active,
            size(requests.sent_bytes)
        ),
    );
    let cache = &status.cache;
    let paused = if cache.paused { "paused; " } else { "" };
    line(
        "cache",
        &format!(
            "{paused}{} hits, {} misses, {} entries, {} of {}",
            cache.hits,
            cache.misses,
            cache.entries,
            size(cache.bytes),
            size(cache.most_bytes)
        ),
    );
    let connections = &status.connections;
    line(
        "connections",
        &format!(
            "{} of {}, {} of {}",
            connections.open,
            connections.most,
            size(connections.memory_bytes),
            size(connections.most_memory_bytes)
        ),
    );
    let lag = status.loops.iter().map(|one| one.lag_seconds);
    let lag = lag.fold(0.0, f64::max) * 1000.0;
    let loops = status.loops.len();
    line("loops", &format!("{loops}, {lag:.1} ms behind at most"));
    if let Some(resident) = status.process.resident_bytes {
        line("memory", &size(resident));
    }
    for certificate in &status.certificates {
        let (names, days) = (certificate.names.escape_debug(), certificate.days_left);
        line("certificate", &format!("{names}: {days} days left"));
    }
    if let Some(log) = &status.log {
        line(
            "log",
            &format!("{} lines, {} dropped", log.lines, log.dropped),
        );
    }
    text
}

fn print(text: &str) -> Result<(), Failure> {
    let written = io::stdout().write_all(text.as_bytes());
    written.map_err(|error| Failure::Failed(format!("standard output failed: {error}")))
}
