//! The sandbox: what the process may open from a moment on, by Landlock (landlock(7)). There is no way back, and a
//! program that it starts has the same.
//!
//! Rules are for directories as they are found at that moment. What is replaced later - a root by a rename, a release by
//! a link that is switched, a key by another - is found by a rule for the directory that it lies in.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetError, RulesetStatus, make_bitflags,
};
use salver_config::Configuration;
use salver_config::sandbox::Sandbox as When;
use salver_config::values::Symlinks;

use crate::failure::Failure;

/// The version of Landlock whose rights are handled; of an older kernel those that it knows.
const VERSION: ABI = ABI::V5;

/// Directories that are never opened as a whole because a root lies in them: people's files and passwords are there.
const PRIVATE: [&str; 4] = ["/", "/home", "/root", "/etc"];

/// What is read whatever is served: what names of hosts are looked up by, and where random numbers come from, which a
/// program that is linked statically with glibc reads from a file.
const ALWAYS: [&str; 7] = [
    "/dev/random",
    "/dev/urandom",
    "/etc/hosts",
    "/etc/resolv.conf",
    "/etc/nsswitch.conf",
    "/etc/host.conf",
    "/etc/gai.conf",
];

/// The variables that name files of credentials for buckets, which are read again and again.
const CREDENTIALS: [&str; 4] = [
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AZURE_FEDERATED_TOKEN_FILE",
    "GOOGLE_APPLICATION_CREDENTIALS",
];

/// Where the libraries are that a program needs to start.
const LIBRARIES: [&str; 6] = [
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/etc/ld.so.cache",
];

/// What the process may open, before that is so.
#[derive(Debug, Default)]
pub(crate) struct SandboxPlan {
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
    remove: Vec<PathBuf>,
    /// Where directories are made.
    make: Vec<PathBuf>,
    /// The stores that releases are put into.
    change: Vec<PathBuf>,
    execute: Vec<PathBuf>,
    /// True if it was asked for by itself, so that it matters if nothing is enforced.
    is_asked_for: bool,
}

/// A sandbox that the process is in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sandbox {
    /// The directories that may be read.
    pub(crate) read: Vec<PathBuf>,
    /// The directories and files that may be written.
    pub(crate) write: Vec<PathBuf>,
}

impl SandboxPlan {
    /// What this configuration needs, for a program at this path; `None` if there is to be no sandbox.
    pub(crate) fn new(configuration: &Configuration, program: &Path) -> Option<Self> {
        let server = &configuration.server;
        let wanted = match *server.sandbox {
            When::On => true,
            When::Off => false,
            When::Auto => server.config.is_some() || server.user.is_some(),
        };
        if !wanted {
            return None;
        }
        let mut plan = SandboxPlan {
            is_asked_for: *server.sandbox == When::On,
            read: needed(configuration),
            ..SandboxPlan::default()
        };
        plan.read.extend(ALWAYS.map(PathBuf::from));
        for (key, path) in configuration.paths() {
            match key {
                "log.file" => plan.write.extend(directory_of(&path)),
                "process.pid-file" => {
                    plan.write.push(super::pid_file::status_path(&path));
                    plan.remove.extend(directory_of(&path));
                    plan.write.push(path);
                }
                "cache.directory" => {
                    plan.read.push(path.clone());
                    plan.remove.push(path.clone());
                    // One for each tree whose removed files are kept.
                    plan.make.push(path.clone());
                    plan.write.push(path);
                }
                "store" if *server.deploys.accept => plan.change.push(path),
                "admin.socket" => plan.remove.extend(directory_of(&path)),
                _ => {}
            }
        }
        if !server.admin.is_empty() || server.metrics.is_some() || server.admin_socket.is_some() {
            // The memory and the descriptors of this process.
            plan.read.push("/proc/self".into());
        }
        plan.write.push("/dev/null".into());
        plan.execute.extend(LIBRARIES.map(PathBuf::from));
        plan.execute.extend(directory_of(program));
        Some(plan)
    }

    /// Allows the process nothing else from now on, on this thread and those that it starts. Says if nothing is
    /// enforced.
    ///
    /// # Errors
    /// The kernel has Landlock and does not do it.
    pub(crate) fn enforce(self) -> Result<Sandbox, Failure> {
        let status = self.restrict().map_err(|error| {
            Failure::Failed(format!(
                "the sandbox cannot be made: {error}; go without it (--sandbox off)"
            ))
        })?;
        if status == RulesetStatus::NotEnforced && self.is_asked_for {
            tracing::warn!(
                "--sandbox on: this kernel has no Landlock, so that nothing is enforced"
            );
        }
        Ok(Sandbox {
            read: self.read,
            write: self.write,
        })
    }

    fn restrict(&self) -> Result<RulesetStatus, RulesetError> {
        let read = make_bitflags!(AccessFs::{ReadFile | ReadDir});
        let write = make_bitflags!(AccessFs::{ReadFile | WriteFile | Truncate | MakeReg});
        let remove = BitFlags::from(AccessFs::RemoveFile);
        let make = BitFlags::from(AccessFs::MakeDir);
        let execute = make_bitflags!(AccessFs::{ReadFile | Execute});
        // What is not whole yet is renamed from one directory into another.
        let change = make_bitflags!(AccessFs::{
            ReadFile | ReadDir | WriteFile | Truncate | MakeReg | MakeDir | RemoveFile | Refer
        });
        let mut rules = Ruleset::default()
            .handle_access(AccessFs::from_all(VERSION))?
            .create()?;
        let all = [
            (&self.read, read),
            (&self.write, write),
            (&self.remove, remove),
            (&self.make, make),
            (&self.change, change),
            (&self.execute, execute),
        ];
        for (paths, access) in all {
            for path in paths {
                // What is not there needs no rule.
                let Ok(opened) = PathFd::new(path) else {
                    continue;
                };
                let access = match path.is_dir() {
                    true => access,
                    false => access & AccessFs::from_file(VERSION),
                };
                rules = rules.add_rule(PathBeneath::new(opened, access))?;
            }
        }
        Ok(rules.restrict_self()?.ruleset)
    }
}

impl Sandbox {
    /// Refuses a configuration that needs more than may be opened.
    ///
    /// # Errors
    /// Which path it is, and what to do.
    pub(crate) fn permits(&self, configuration: &Configuration) -> Result<(), Failure> {
        let may = |all: &[PathBuf], path: &Path| all.iter().any(|one| path.starts_with(one));
        for (key, path) in configuration.paths() {
            let (is_there, remedy) = match key {
                "log.file" if path.file_name().is_none_or(|name| name == "-") => continue,
                "log.file" => match directory_of(&path) {
                    Some(directory) => (may(&self.write, &directory), "restart it"),
                    None => continue,
                },
                "cache.directory" => (may(&self.write, &path), "restart it"),
                _ if is_written(key) => continue,
                _ => match path.canonicalize() {
                    Ok(path) => (
                        may(&self.read, &path),
                        "restart it, or name the directory by --sandbox-path when it starts",
                    ),
                    Err(_) => continue,
                },
            };
            if !is_there {
                return Err(Failure::Misused(format!(
                    "{path:?} is beyond what this process may open: {remedy}"
                )));
            }
        }
        Ok(())
    }
}

/// True for settings whose path is written and not read.
fn is_written(key: &str) -> bool {
    matches!(
        key,
        "log.file" | "log.socket" | "process.pid-file" | "cache.directory"
    )
}

/// The directories that have to be readable for a configuration, now and when something in it is replaced.
fn needed(configuration: &Configuration) -> Vec<PathBuf> {
    let follows_all = |site: &salver_config::Site| *site.symlinks == Symlinks::Any;
    if configuration.sites.iter().any(follows_all) {
        // Links may lead anywhere; what is left is that nothing is written.
        return vec!["/".into()];
    }
    let mut all: Vec<PathBuf> = Vec::new();
    let home = std::env::var_os("HOME").map(PathBuf::from);
    for (key, path) in configuration.paths() {
        if !is_written(key) {
            all.extend(directories(&path, home.as_deref()));
        }
    }
    if configuration
        .sites
        .iter()
        .any(salver_config::Site::has_bucket)
    {
        let named = CREDENTIALS.into_iter().filter_map(std::env::var_os);
        all.extend(named.flat_map(|path| directories(Path::new(&path), home.as_deref())));
    }
    all.sort();
    all.dedup();
    all
}

/// The directories by which a path stays readable: that which it is or lies in, those beside what links on it lead to,
/// and the one that a directory lies in, unless that has people's own files.
fn directories(path: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let Ok(real) = path.canonicalize() else {
        return directory_of(path).into_iter().collect();
    };
    let is_private = |parent: &PathBuf| {
        PRIVATE.iter().any(|private| parent == Path::new(private)) || home == Some(&**parent)
    };
    let mut all = Vec::new();
    if !real.is_dir() {
        all.extend(real.parent().map(Path::to_owned));
    } else {
        let outer = real.parent().map(Path::to_owned);
        all.extend(outer.filter(|outer| !is_private(outer)));
        all.push(real);
    }
    let mut walked = PathBuf::new();
    for part in path.components() {
        walked.push(part);
        if !walked.is_symlink() {
            continue;
        }
        let Ok(target) = walked.canonicalize() else {
            break;
        };
        let beside = target.parent().map(Path::to_owned);
        all.extend(beside.filter(|beside| !is_private(beside)));
        walked = target;
    }
    // A file that is replaced through a link is looked for where the link lies.
    if let Some(parent) = path.parent().and_then(|parent| parent.canonicalize().ok())
        && !path.is_dir()
    {
        all.push(parent);
    }
    all
}

/// The directory that a path lies in.
fn directory_of(path: &Path) -> Option<PathBuf> {
    let parent = path.parent()?;
    parent.canonicalize().ok()
}

#[cfg(test)]
mod tests {
    use std::fs::{create_dir_all, write};
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_is_replaced_later_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        create_dir_all(top.join("releases/1")).unwrap();
        create_dir_all(top.join("live")).unwrap();
        create_dir_all(top.join("plain/root")).unwrap();
        symlink("../releases/1", top.join("live/current")).unwrap();
        write(top.join("plain/key.pem"), "key").unwrap();
        let check = |path: &str, expected: &[&str]| {
            let mut found = directories(&top.join(path), None);
            found.sort();
            found.dedup();
            let expected: Vec<_> = expected.iter().map(|path| top.join(path)).collect();
            assert_eq!(found, expected, "{path}");
        };
        check("plain/root", &["plain", "plain/root"]);
        check("live/current", &["releases", "releases/1"]);
        check("plain/key.pem", &["plain"]);
        check("plain/none", &["plain"]);
        let found = directories(&top.join("plain"), Some(&top));
        assert_eq!(found, [top.join("plain")], "not all of somebody's home");
    }

    #[test]
    fn random_numbers_can_be_had_and_what_nobody_named_cannot() {
        let plan = SandboxPlan {
            read: ALWAYS.map(PathBuf::from).to_vec(),
            ..SandboxPlan::default()
        };
        // What is enforced is so for the thread.
        let opened = std::thread::spawn(|| {
            plan.enforce().unwrap();
            ["/dev/random", "/dev/urandom", "/etc/passwd"]
                .map(|path| std::fs::File::open(path).is_ok())
        });
        assert_eq!(opened.join().unwrap(), [true, true, false]);
    }

    #[test]
    fn nobody_elses_files_are_opened_for_a_root_beside_them() {
        let found = directories(Path::new("/etc"), None);
        assert_eq!(found, [PathBuf::from("/etc")]);
    }
}
