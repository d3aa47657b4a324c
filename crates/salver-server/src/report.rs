//! The log lines about answers that were cut short, in every version of HTTP.

use std::io;

use crate::context::ServerContext;
use crate::handler::is_of_handler;

/// Logs why an answer was cut short, if the operator could do something about it.
pub(crate) fn report(common: &ServerContext, error: &io::Error) {
    if is_of_handler(error) {
        if common.log_limits.handlers_fail.permits(common.uptime()) {
            tracing::error!("{error}: it was cut short (said at most once a minute)");
        }
        return;
    }
    match error.kind() {
        io::ErrorKind::TimedOut if common.log_limits.peers_stall.permits(common.uptime()) => {
            tracing::info!(
                "a client took nothing of its answer for {:?} and was dropped \
                 (said at most once a minute)",
                common.settings.send_timeout
            );
        }
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
            if common.log_limits.files_change.permits(common.uptime()) =>
        {
            tracing::warn!(
                "a file changed while it was sent, and the answer was cut short: replace files by renaming, and \
                 upload what changes to a bucket under new names (said at most once a minute)"
            );
        }
        _ => tracing::debug!("a connection ended: {error}"),
    }
}
