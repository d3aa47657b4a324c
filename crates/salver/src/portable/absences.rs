//! What this system's `salver` lacks: asked for, it is refused in one line rather than left out in silence.

use salver_config::{Configuration, Server, Setting, Site};

use crate::failure::Failure;

/// Commands that there are only on Linux.
const COMMANDS: [&str; 6] = ["bench", "health", "purge", "reload", "status", "upgrade"];

/// The refusal of a command that there is on Linux alone.
pub(crate) fn command(name: &str) -> Option<Failure> {
    COMMANDS.contains(&name).then(|| refusal(name))
}

/// Refuses the first setting that somebody has said and that has no effect here.
///
/// # Errors
/// Which one.
pub(crate) fn refuse(configuration: &Configuration) -> Result<(), Failure> {
    let of_sites = configuration.sites.iter().filter_map(of_site);
    match of_server(&configuration.server)
        .into_iter()
        .chain(of_sites)
        .next()
    {
        Some(name) => Err(refusal(&name)),
        None => Ok(()),
    }
}

fn refusal(what: &str) -> Failure {
    let system = match std::env::consts::OS {
        "windows" => "Windows",
        "macos" => "macOS",
        other => other,
    };
    Failure::Misused(format!("{what}: not on {system}: see docs/platforms.md"))
}

fn name<T>(setting: &Setting<T>) -> Option<String> {
    setting.is_said().then(|| setting.name())
}

fn of_server(server: &Server) -> Vec<String> {
    let all = [
        name(&server.http3),
        name(&server.sendfile_from),
        name(&server.connection_memory),
        name(&server.min_rate),
        name(&server.log_socket),
        name(&server.log_syslog),
        name(&server.admin),
        name(&server.metrics),
        name(&server.admin_socket),
        name(&server.admin_token_file),
        name(&server.admin_token),
        name(&server.deploys.accept),
        name(&server.deploys.max_file),
        name(&server.deploys.max_release),
        name(&server.deploys.max_files),
        name(&server.deploys.tls_cert),
        name(&server.deploys.tls_key),
        name(&server.proxy_protocol),
        name(&server.user),
        name(&server.group),
        name(&server.sandbox),
        name(&server.sandbox_paths),
        name(&server.pid_file),
    ];
    all.into_iter().flatten().collect()
}

fn of_site(site: &Site) -> Option<String> {
    name(&site.release_addresses)
}
