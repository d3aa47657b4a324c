//! When a server confines itself.

use crate::values::Choice;

/// When the process confines itself to the files that it needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sandbox {
    /// With a configuration file or another user.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

impl Choice for Sandbox {
    const NAMES: &'static [(&'static str, &'static str)] = &[
        (
            "auto",
            "With --config or --user, as a server for good has them",
        ),
        ("on", "Always"),
        ("off", "Never"),
    ];
    const VALUES: &'static [Self] = &[Sandbox::Auto, Sandbox::On, Sandbox::Off];
}
