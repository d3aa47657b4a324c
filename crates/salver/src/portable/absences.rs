//! What this system's `salver` lacks: asked for, it is refused in one line rather than left out in silence.

use salver_config::{Configuration, Server, Setting, Site};

use crate::failure::Failure;

/// Commands that there are only on Linux.
const COMMANDS: [&str; 7] = [
    "bench",
    "hash-password",
    "health",
    "purge",
    "reload",
    "status",
    "upgrade",
];

/// The refusal of a command that there is on Linux alone.
pub(crate) fn command(name: &str) -> Option<Failure> {
    COMMANDS.contains(&name).then(|| refusal(name))
}

/// Refuses the first setting that somebody has said and that has no effect here.
///
/// # Errors
/// Which one.
pub(crate) fn refuse(configuration: &Configuration) -> Result<(), Failure> {
    let mut said = of_server(&configuration.server);
    said.extend(configuration.sites.iter().flat_map(of_site));
    match said.first() {
        Some(name) => Err(refusal(name)),
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
        name(&server.tls_self_signed),
        name(&server.https_redirect),
        name(&server.http3),
        name(&server.sendfile_from),
        name(&server.connection_memory),
        name(&server.min_rate),
        name(&server.log),
        name(&server.log_socket),
        name(&server.log_syslog),
        name(&server.log_format),
        name(&server.log_sample),
        name(&server.cache_status),
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
        name(&server.trusted_proxies),
        name(&server.forwarded_field),
        name(&server.proxy_protocol),
        name(&server.user),
        name(&server.group),
        name(&server.sandbox),
        name(&server.sandbox_paths),
        name(&server.pid_file),
        name(&server.open),
    ];
    all.into_iter().flatten().collect()
}

fn of_site(site: &Site) -> Vec<String> {
    let all = [
        name(&site.tls_cert),
        name(&site.tls_key),
        name(&site.hsts),
        name(&site.live_reload),
    ];
    // Nobody here verifies a password. Those of `_headers` are refused request by request.
    let wants_password = site
        .rules
        .iter()
        .any(|rule| rule.get("basic-auth").is_some());
    let password = wants_password.then(|| format!("basic-auth in {}", site.rules.name()));
    all.into_iter().flatten().chain(password).collect()
}
