//! What cannot be shown on this machine, or not now.

use std::io::Write;

/// Set where what is not shown has failed: in `.ci/run`.
const SKIP_NOTHING: &str = "SALVER_TESTS_SKIP_NOTHING";

/// Says past the test harness that `what` is not shown, and why: what nobody sees proves nothing.
///
/// # Panics
/// If `SALVER_TESTS_SKIP_NOTHING` is set.
pub fn cannot_be_shown(what: impl std::fmt::Display, why: impl std::fmt::Display) {
    let must_be_shown = std::env::var_os(SKIP_NOTHING).is_some();
    assert!(!must_be_shown, "{SKIP_NOTHING} is set: {what}: {why}");
    let _ = writeln!(std::io::stderr(), "SKIPPED, so not shown: {what}: {why}");
}

/// Says past the test harness that `what` is not judged, as others use the machine: `scripts/steps.py` tells it.
pub fn not_judged(what: impl std::fmt::Display, why: impl std::fmt::Display) {
    let _ = writeln!(
        std::io::stderr(),
        "BUSY MACHINE, so not judged: {what}: {why}"
    );
}
