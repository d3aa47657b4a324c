//! The version, as `salver --version --verbose` tells it: from what, for what and with what it was built.

#[cfg(target_os = "linux")]
use salver_bench::environment::{COMMIT, TARGET};

/// The commit, which whoever builds for another system names.
#[cfg(not(target_os = "linux"))]
const COMMIT: Option<&str> = option_env!("SALVER_COMMIT");

#[cfg(not(target_os = "linux"))]
const TARGET: &str = env!("SALVER_TARGET");

/// The version and the facts of the build, each in a line.
pub(crate) fn verbose() -> String {
    let facts = [
        ("commit", COMMIT.unwrap_or("unknown")),
        ("target", TARGET),
        ("profile", env!("SALVER_PROFILE")),
        ("compiler", env!("SALVER_COMPILER")),
        ("features", env!("SALVER_FEATURES")),
        // A build without --locked may have newer ones.
        ("libraries of Cargo.lock", env!("SALVER_LIBRARIES")),
    ];
    let mut text = format!("salver {}\n", env!("CARGO_PKG_VERSION"));
    for (name, value) in facts {
        text.push_str(&format!("{name}: {value}\n"));
    }
    text
}
