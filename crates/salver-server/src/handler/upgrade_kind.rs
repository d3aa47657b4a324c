//! The kinds of upgrades, by the way in which clients offer them.

use http::StatusCode;

/// The way in which a client offers an upgrade.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum UpgradeKind {
    /// The field `Upgrade` of HTTP/1.1: 101 accepts it.
    Switch,
    /// Extended CONNECT: a success accepts it.
    ExtendedConnect,
}

impl UpgradeKind {
    /// The status that accepts it.
    pub(super) fn accepting(self) -> StatusCode {
        match self {
            UpgradeKind::Switch => StatusCode::SWITCHING_PROTOCOLS,
            UpgradeKind::ExtendedConnect => StatusCode::OK,
        }
    }

    /// True if this status accepts it.
    pub(super) fn is_accepted_by(self, status: StatusCode) -> bool {
        match self {
            UpgradeKind::Switch => status == StatusCode::SWITCHING_PROTOCOLS,
            // RFC 8441 section 5: any success.
            UpgradeKind::ExtendedConnect => status.is_success(),
        }
    }
}
