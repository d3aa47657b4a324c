//! Why the figures of a load must not be believed, in a sentence each.

use std::time::Duration;

use crate::model::{ClientCost, ServerCost};
use crate::tally::{Tally, exact};

/// A thread of the client that is on a CPU for more of the time than this is the bottleneck.
const BUSIEST: f64 = 0.95;

/// More requests than this share sent late, and the client is the bottleneck.
const LATE_SHARE: f64 = 0.01;

/// Why the figures must not be believed.
pub(crate) fn invalid(
    duration: Duration,
    tally: &Tally,
    client: &ClientCost,
    server: Option<&ServerCost>,
    disturbed: Option<String>,
    seconds: f64,
) -> Vec<String> {
    // Who was kept from the cores is not to blame for being late.
    let is_disturbed = disturbed.is_some();
    let mut reasons: Vec<String> = disturbed.into_iter().collect();
    let all = tally.requests + tally.errors.total();
    if all == 0 {
        reasons.push("no request ended: give the run more time".to_owned());
    }
    let is_late = exact(tally.late_sends) > LATE_SHARE * exact(all);
    if is_late && !is_disturbed {
        reasons.push(format!(
            "the client was the bottleneck: {} of {all} requests left more than a millisecond \
             after they could have; ask for a lower rate, or give it --threads or a core of its own",
            tally.late_sends
        ));
    }
    let server_is_full = server.is_some_and(|server| server.cores >= BUSIEST);
    if client.busiest_thread >= BUSIEST && !is_late && !server_is_full {
        reasons.push(format!(
            "the client was the bottleneck: one of its threads used {:.0} % of a core; the server \
             may do more than this (name its process by --pid, give the client --threads, or \
             another core)",
            client.busiest_thread * 100.0
        ));
    }
    if exact(tally.backlog) > LATE_SHARE * exact(tally.due) && tally.late_sends < tally.backlog {
        let asked = exact(tally.due) / duration.as_secs_f64();
        reasons.push(format!(
            "the server is slower than the rate: asked for {asked:.0} requests per second, it \
             answered {:.0}, and {} were waiting at the end; latency would grow for as long as \
             the run lasts",
            exact(tally.requests) / seconds,
            tally.backlog
        ));
    }
    reasons
}
