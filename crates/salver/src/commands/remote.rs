//! A store that a running server has, reached through its admin listener.

mod connection;
mod send;
mod stream;
mod target;
#[cfg(feature = "tls")]
mod tls;
#[cfg(not(feature = "tls"))]
#[path = "remote/tls/absent.rs"]
mod tls;

use std::path::PathBuf;

use clap::Args;
use salver_admin::{Token, encoded_path};
use salver_store::Event;
use serde::de::DeserializeOwned;

use self::connection::{Answer, Connection};
pub(super) use self::send::Deploying;
pub(super) use self::target::store_place;
pub(super) use self::target::{StorePlace, Target};
use crate::admin::token_in;
use crate::failure::Failure;
use crate::reports::{DeployReport, ReleaseList, RollbackReport};

/// The variable with the token, as the other clients of an admin listener have it.
const TOKEN: &str = "SALVER_ADMIN_TOKEN";

/// How a server is asked.
#[derive(Args, Clone, Debug, Default)]
pub struct RemoteFlags {
    /// Of a server: the file with its token [default: what the variable SALVER_ADMIN_TOKEN says]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,

    /// Of a server: the file with the certificates that are trusted, PEM [default: what the system trusts]
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,

    /// Of a server: send the token without TLS to another machine, too
    #[arg(long)]
    pub plain_http: bool,
}

/// Deploys to a server.
///
/// # Errors
/// What is wrong; the release that was current still is.
pub(super) fn deploy(
    target: &Target,
    flags: &RemoteFlags,
    deploying: &Deploying<'_>,
    listener: &mut dyn FnMut(Event<'_>) -> bool,
) -> Result<DeployReport, Failure> {
    send::deploy(&Server::new(target, flags)?, deploying, listener)
}

/// The releases of a server's store.
///
/// # Errors
/// There is no answer, or the server says no.
pub(super) fn releases(target: &Target, flags: &RemoteFlags) -> Result<ReleaseList, Failure> {
    Server::new(target, flags)?.ask("GET", "/releases", &[])
}

/// Makes another release the current one, that before if none is named.
///
/// # Errors
/// There is no answer, or the server says no.
pub(super) fn rollback(
    target: &Target,
    flags: &RemoteFlags,
    release: Option<&str>,
    by: &str,
) -> Result<RollbackReport, Failure> {
    let named = release.map(|release| ("release", release));
    let parameters: Vec<_> = named.into_iter().chain([("by", by)]).collect();
    Server::new(target, flags)?.ask("POST", "/rollback", &parameters)
}

/// A server that is asked about its store.
#[derive(Clone, Debug)]
struct Server {
    target: Target,
    token: Token,
    trust: tls::Trust,
}

/// Why there is no answer that helps.
#[derive(Debug)]
enum Trouble {
    /// The connection was cut, or the server has begun anew: it can be tried again.
    Cut(String),
    /// The server says no, with this status.
    Refused(u16, String),
    /// It was ended by who waits.
    Stopped,
}

impl Server {
    /// The server at a target.
    ///
    /// # Errors
    /// There is no token, or it would be sent for all to see.
    fn new(target: &Target, flags: &RemoteFlags) -> Result<Self, Failure> {
        if target.is_in_the_clear() && !flags.plain_http {
            return Err(Failure::Misused(format!(
                "{target}: the token would cross the network for all to see: use https://, or allow it by --plain-http"
            )));
        }
        let trust = tls::Trust::new(flags.ca.as_deref())?;
        Ok(Server {
            target: target.clone(),
            token: token(flags)?,
            trust,
        })
    }

    fn connect(&self) -> Result<Connection, Trouble> {
        let connected = Connection::open(&self.target, &self.trust, &self.token.authorization());
        connected
            .map_err(|error| Trouble::Cut(format!("{} cannot be reached: {error}", self.target)))
    }

    /// A target of requests for the site, with these parameters.
    fn path(&self, path: &str, parameters: &[(&str, &str)]) -> String {
        let site = self.target.site.as_deref().map(|site| ("site", site));
        let mut text = path.to_owned();
        for (number, (name, value)) in site.iter().chain(parameters).enumerate() {
            text.push(if number == 0 { '?' } else { '&' });
            text.push_str(name);
            text.push('=');
            text.push_str(&encoded_path(value.as_bytes()));
        }
        text
    }

    /// Asks once, by a connection of its own.
    ///
    /// # Errors
    /// There is no answer, or the server says no.
    fn ask<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        parameters: &[(&str, &str)],
    ) -> Result<T, Failure> {
        let asked = self.connect().and_then(|mut connection| {
            ask(&mut connection, method, &self.path(path, parameters), &[])
        });
        asked.map_err(|trouble| self.failure(trouble))
    }

    /// What somebody is told of trouble.
    fn failure(&self, trouble: Trouble) -> Failure {
        let target = &self.target;
        Failure::Failed(match trouble {
            Trouble::Cut(text) => text,
            Trouble::Refused(401, _) => format!(
                "{target} wants its token, and this is another: give --token-file or the variable {TOKEN}"
            ),
            Trouble::Refused(404, text) if text.contains("a page that leads on") => {
                format!(
                    "{target} is an older server, or no admin listener: give the address of that"
                )
            }
            // These say what to do.
            Trouble::Refused(409 | 412 | 413 | 422 | 507, text) => text,
            Trouble::Refused(status, text) => format!("{target} says {status}: {text}"),
            Trouble::Stopped => "interrupted: nothing was switched".to_owned(),
        })
    }
}

/// Asks by a connection that is there.
fn ask<T: DeserializeOwned>(
    connection: &mut Connection,
    method: &str,
    path: &str,
    content: &[u8],
) -> Result<T, Trouble> {
    let answer = connection.exchange(method, path, content);
    let Answer { status, content } =
        answer.map_err(|error| Trouble::Cut(format!("the connection was cut: {error}")))?;
    match status {
        200..300 => serde_json::from_slice(&content).map_err(|error| {
            Trouble::Refused(
                status,
                format!("its answer is none of this version: {error}"),
            )
        }),
        // By what stands before the server, or because it ends.
        502..=504 => Err(Trouble::Cut(format!("{status}: {}", said(&content)))),
        _ => Err(Trouble::Refused(status, said(&content))),
    }
}

/// What an answer says, in one line.
fn said(content: &[u8]) -> String {
    let text = String::from_utf8_lossy(content);
    let line = text.lines().next().unwrap_or_default();
    let shown: String = line.chars().take(500).collect();
    shown.escape_debug().to_string()
}

fn token(flags: &RemoteFlags) -> Result<Token, Failure> {
    if let Some(path) = &flags.token_file {
        return token_in(path, "--token-file");
    }
    let Some(text) = std::env::var_os(TOKEN) else {
        return Err(Failure::Misused(format!(
            "no token is given, which the server wants: give --token-file or the variable {TOKEN}"
        )));
    };
    let token = Token::new(text.as_encoded_bytes());
    token.map_err(|error| Failure::Misused(format!("{TOKEN}: {error}")))
}
