//! The confinement of a process: another user, no new rights, and a sandbox, in this order of being undone: never.

use std::path::Path;

use salver_config::Configuration;
use salver_server::{ProcessUser, forbid_new_privileges};

use super::sandbox::{Sandbox, SandboxPlan};
use crate::failure::Failure;

/// What a process is going to be confined to, found out while it may still read everything.
#[derive(Debug)]
pub(crate) struct Confinement {
    user: Option<(String, ProcessUser)>,
    sandbox: Option<SandboxPlan>,
}

impl Confinement {
    /// That of a configuration, for a program at this path. A process that another one has started for an upgrade is
    /// confined already.
    ///
    /// # Errors
    /// There is no such user or group, or the process may not become that user.
    pub(crate) fn new(
        configuration: &Configuration,
        program: &Path,
        is_inherited: bool,
    ) -> Result<Self, Failure> {
        Ok(Confinement {
            user: user(configuration)?,
            sandbox: match is_inherited {
                true => None,
                false => SandboxPlan::new(configuration, program),
            },
        })
    }

    /// The numbers of the user and the group that files which are written belong to.
    pub(crate) fn owner(&self) -> Option<(u32, u32)> {
        let (_, user) = self.user.as_ref()?;
        Some((user.user, user.group))
    }

    /// Confines the process: before it has a second thread.
    ///
    /// # Errors
    /// The system refuses; the process must end then.
    pub(crate) fn enter(self) -> Result<Option<Sandbox>, Failure> {
        if self.user.is_none() && self.sandbox.is_none() {
            return Ok(None);
        }
        let refused =
            |what: &str, error: std::io::Error| Failure::Failed(format!("{what}: {error}"));
        forbid_new_privileges()
            .map_err(|error| refused("new rights cannot be forbidden", error))?;
        let sandbox = self.sandbox.map(SandboxPlan::enforce).transpose()?;
        if let Some((name, user)) = self.user {
            let what = format!("the process cannot become the user {name:?}");
            user.assume().map_err(|error| refused(&what, error))?;
        }
        Ok(sandbox)
    }
}

/// The user that the process is to become, if it is not that user already.
fn user(configuration: &Configuration) -> Result<Option<(String, ProcessUser)>, Failure> {
    let server = &configuration.server;
    let Some(name) = &*server.user else {
        return match &*server.group {
            None => Ok(None),
            Some(_) => Err(Failure::Misused(format!(
                "{} needs {}: give both",
                server.group.name(),
                server.user.name()
            ))),
        };
    };
    let cannot_tell = |error: std::io::Error| {
        Failure::Failed(format!("the system's users cannot be read: {error}"))
    };
    let none = |setting: String, kind: &str, name: &str| {
        let name = name.escape_debug();
        Failure::Misused(format!(
            "{setting} {name}: there is no such {kind} here: make it"
        ))
    };
    let user = ProcessUser::of_user(name).map_err(cannot_tell)?;
    let mut user = user.ok_or_else(|| none(server.user.name(), "user", name))?;
    if let Some(group) = &*server.group {
        let in_group = user.in_group(group).map_err(cannot_tell)?;
        user = in_group.ok_or_else(|| none(server.group.name(), "group", group))?;
    }
    if user.is_own() {
        return Ok(None);
    }
    if !ProcessUser::is_root() {
        return Err(Failure::Misused(format!(
            "{} {}: only root can become another user: start it as root, or leave it out",
            server.user.name(),
            name.escape_debug()
        )));
    }
    Ok(Some((name.clone(), user)))
}
