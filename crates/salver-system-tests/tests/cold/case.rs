//! What is served beside which slow disk, and as whom.

use std::fmt;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use rustix::thread::{Gid, Uid};
use salver_assets::{Config, DirectorySource, Engine, Mount, Symlinks};
use salver_server::{Server, Settings};
use salver_system_tests::{Kind, OWNER, Slow, SlowDisk};
use salver_test::cannot_be_shown;

use crate::clients::Cold;
use crate::common::{Running, Site, settings, trusting};

/// Where the hot file lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hot {
    /// On the disk of the system.
    Elsewhere,
    /// On the slow disk: in memory, but compared with that disk every second.
    SlowDisk,
}

/// As whom the server runs: the kernel tells more about a file to who owns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    /// As these tests do.
    Ours,
    Owner,
    Neither,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) hot: Hot,
    pub(crate) cold: Cold,
    pub(crate) disk: Kind,
    pub(crate) user: User,
    pub(crate) check_residency: bool,
}

pub(crate) const DATA: Slow = Slow {
    metadata: false,
    close: false,
    uncached: false,
};
pub(crate) const METADATA: Slow = Slow {
    metadata: true,
    ..DATA
};
pub(crate) const EVERYTHING: Slow = Slow {
    close: true,
    ..METADATA
};
pub(crate) const UNCACHED: Slow = Slow {
    uncached: true,
    ..DATA
};

pub(crate) const fn remote(hot: Hot, cold: Cold, slow: Slow) -> Case {
    Case {
        hot,
        cold,
        disk: Kind::Remote(slow),
        user: User::Ours,
        check_residency: true,
    }
}

pub(crate) const fn local(hot: Hot, cold: Cold, user: User) -> Case {
    Case {
        hot,
        cold,
        disk: Kind::Local,
        user,
        check_residency: true,
    }
}

pub(crate) const fn unchecked(case: Case) -> Case {
    Case {
        check_residency: false,
        ..case
    }
}

pub(crate) const UNASKED: [Case; 2] = [
    unchecked(remote(Hot::Elsewhere, Cold::Streams, DATA)),
    unchecked(local(Hot::Elsewhere, Cold::Streams, User::Ours)),
];

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hot = match self.hot {
            Hot::Elsewhere => "elsewhere",
            Hot::SlowDisk => "on the slow disk",
        };
        let cold = match self.cold {
            Cold::Streams => "streams",
            Cold::SmallFiles => "small files",
        };
        let disk = match self.disk {
            Kind::Local => "local",
            Kind::Remote(slow) => match (slow.metadata, slow.close) {
                (false, false) => "remote (data)",
                (true, false) => "remote (data and metadata)",
                (false, true) => "remote (data and close)",
                (true, true) => "remote (data, metadata and close)",
            },
        };
        let user = match self.user {
            User::Ours if rustix::process::geteuid().is_root() => "root",
            User::Ours => "ourselves",
            User::Owner => "the owner",
            User::Neither => "neither",
        };
        let check = if self.check_residency { "on" } else { "off" };
        write!(
            f,
            "hot {hot}, cold {cold}, slow disk {disk}, served by {user}, residency check {check}"
        )
    }
}

/// A server with one worker over the slow disk and a usual one, run by this user.
pub(crate) fn serve(disk: &SlowDisk, site: &Site, case: Case) -> Running {
    let open_to_all = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(site.root(), open_to_all).unwrap();
    let serve = || {
        become_user(case.user);
        let config = Config {
            // Larger files are not read to their end before their first byte is sent.
            hash_up_to: 1024 * 1024,
            ..trusting()
        };
        let mount = |prefix, root| {
            let source = DirectorySource::open(root, Symlinks::Beneath, config.revalidate).unwrap();
            Mount::tree(prefix, Arc::new(source))
        };
        let mounts = vec![mount("/", site.root()), mount("/slow", disk.root())];
        let engine = Engine::new(Config { mounts, ..config }).unwrap();
        let settings = Settings {
            check_residency: case.check_residency,
            ..settings()
        };
        Running::start(Server::bind(engine, settings).unwrap())
    };
    // Threads have the user of the one that starts them.
    std::thread::scope(|scope| scope.spawn(serve).join().unwrap())
}

/// Of this thread alone, and those that it starts.
fn become_user(user: User) {
    let number = match user {
        User::Ours => return,
        User::Owner => OWNER,
        User::Neither => OWNER + 1,
    };
    rustix::thread::set_thread_groups(&[]).unwrap();
    rustix::thread::set_thread_gid(Gid::from_raw(number)).unwrap();
    rustix::thread::set_thread_uid(Uid::from_raw(number)).unwrap();
}

/// The slow disk of a case, if one can be had here.
pub(crate) fn disk_of(case: Case) -> Option<Arc<SlowDisk>> {
    mounted(case.disk, case).map(Arc::new)
}

/// A slow disk, if one can be had here; else `what` is not shown.
pub(crate) fn mounted(kind: Kind, what: impl fmt::Display) -> Option<SlowDisk> {
    let program = Path::new(env!("CARGO_BIN_EXE_slow-disk"));
    SlowDisk::mount(program, kind)
        .inspect_err(|error| cannot_be_shown(what, format_args!("no such disk: {error}")))
        .ok()
}

/// Past the capture of the test harness: figures that nobody sees prove nothing.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
