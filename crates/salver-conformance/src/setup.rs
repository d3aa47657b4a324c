//! The configurations under which the table is played.

use std::ffi::OsString;

use crate::fixture::Fixture;

/// One configuration of the server under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Setup {
    /// Nothing but the directory.
    Default,
    /// `--no-cache`: every request from the disk; must answer as the default does.
    NoCache,
    /// `--dotfiles`.
    Dotfiles,
    /// `--spa`: unknown routes get `/index.html`.
    Spa,
    /// `--spa=shell.html`: a shell that has siblings.
    SpaFile,
    /// `--symlinks none`.
    SymlinksNone,
    /// `--symlinks any`.
    SymlinksAny,
    /// `--mount /files=DIR --mount /nested/over=DIR --mount /one-file.txt=FILE`.
    Mount,
    /// `--precompressed gzip`: the other siblings are plain files.
    GzipOnly,
    /// `--index home.html`.
    Index,
}

impl Setup {
    /// Every one, the default first.
    pub const ALL: [Self; 10] = [
        Self::Default,
        Self::NoCache,
        Self::Dotfiles,
        Self::Spa,
        Self::SpaFile,
        Self::SymlinksNone,
        Self::SymlinksAny,
        Self::Mount,
        Self::GzipOnly,
        Self::Index,
    ];

    /// What follows `salver serve` (the port apart): the directory and the flags.
    #[must_use]
    pub fn arguments(self, fixture: &Fixture) -> Vec<OsString> {
        // Whether a coding that is made is ready yet is no matter of the tables.
        let mut arguments = vec![fixture.site().into_os_string(), "--no-compress".into()];
        let mount = |prefix: &str, target: &str| {
            let mut value = OsString::from(prefix);
            value.push("=");
            value.push(fixture.beside(target));
            value
        };
        match self {
            Self::Default => {}
            Self::NoCache => arguments.push("--no-cache".into()),
            Self::Dotfiles => arguments.push("--dotfiles".into()),
            Self::Spa => arguments.push("--spa".into()),
            Self::SpaFile => arguments.push("--spa=shell.html".into()),
            Self::SymlinksNone => arguments.extend(["--symlinks".into(), "none".into()]),
            Self::SymlinksAny => arguments.extend(["--symlinks".into(), "any".into()]),
            Self::Mount => {
                for (prefix, target) in [
                    ("/files", "mounted"),
                    ("/nested/over", "over"),
                    ("/one-file.txt", "one-file.txt"),
                ] {
                    arguments.extend(["--mount".into(), mount(prefix, target)]);
                }
            }
            Self::GzipOnly => arguments.extend(["--precompressed".into(), "gzip".into()]),
            Self::Index => arguments.extend(["--index".into(), "home.html".into()]),
        }
        arguments
    }

    /// Whether files outside the root may be sent: only where the user said so.
    pub(crate) fn may_leave_root(self) -> bool {
        self == Self::SymlinksAny
    }
}
