//! The reasons not to believe the figures of a load, in a sentence each.

use super::Load;
use crate::load::tally::Tally;
use crate::result::model::{ClientCost, ServerCost};
use crate::result::text::duration;

/// A thread of the client that is on a CPU, or wants one, for more of the time than this is the
/// bottleneck.
const BUSIEST: f64 = 0.95;

/// A thread of the client that waits for a CPU for more of the time than this is not to be believed.
const KEPT: f64 = 0.1;

/// More requests than this share sent late, and the client is the bottleneck.
const LATE_SHARE: f64 = 0.01;

/// The reasons why the figures must not be believed.
pub(crate) fn invalid(
    load: &Load,
    tally: &Tally,
    client: &ClientCost,
    server: Option<&ServerCost>,
    disturbed: Option<String>,
) -> Vec<String> {
    let waited = client.waiting_thread.unwrap_or_default();
    let is_kept = load.judges_others && waited > KEPT;
    // Who was kept from the cores is not to blame for being late.
    let is_disturbed = disturbed.is_some() || is_kept;
    let mut reasons: Vec<String> = disturbed.into_iter().collect();
    if is_kept && reasons.is_empty() {
        reasons.push(format!(
            "others took the client's core: for {:.0} % of the time it was ready to run and had none, \
             and these figures are theirs too: run it again with nothing else running, or give it a \
             core of its own",
            waited * 100.0
        ));
    }
    let all = tally.requests + tally.errors.total();
    if all == 0 {
        reasons.push("no request ended: give the run more time".to_owned());
    }
    let is_late = (tally.late_sends as f64) > LATE_SHARE * (all as f64);
    if is_late && !is_disturbed {
        reasons.push(format!(
            "the client was the bottleneck: {} of {all} requests left more than a millisecond \
             after they could have; ask for a lower rate, or give it --threads or a core of its own",
            tally.late_sends
        ));
    }
    let server_is_full = server.is_some_and(|server| server.cores >= BUSIEST);
    let is_busy = client.busiest_thread + waited >= BUSIEST;
    if is_busy && !is_late && !is_kept && !server_is_full {
        let kept = match waited >= 0.01 {
            true => format!(" and waited for one for {:.0} %", waited * 100.0),
            false => String::new(),
        };
        reasons.push(format!(
            "the client was the bottleneck: one of its threads used {:.0} % of a core{kept}; the \
             server may do more than this (name its process by --pid, give the client --threads, or \
             another core)",
            client.busiest_thread * 100.0
        ));
    }
    let is_behind = (tally.backlog as f64) > LATE_SHARE * (tally.due as f64);
    if is_behind && tally.late_sends < tally.backlog && tally.requests > 0 {
        reasons.push(too_slow(load, tally, server_is_full));
    }
    reasons
}

/// That a rate could not be kept. All connections were busy then: whether the server could have done
/// more on others is not seen from here.
fn too_slow(load: &Load, tally: &Tally, server_is_full: bool) -> String {
    let seconds = tally.span.as_secs_f64().max(load.duration.as_secs_f64());
    let asked = (tally.due as f64) / load.duration.as_secs_f64();
    let answered = (tally.requests as f64) / seconds;
    let each = duration(tally.raw.summary().mean_us);
    let streams = load.workload.transport.streams;
    let slots = match streams {
        1 => format!("{} connections", load.connections),
        _ => format!("{} connections of {streams} streams", load.connections),
    };
    let whose = match server_is_full {
        true => "the server is slower than the rate: its processes are at their end".to_owned(),
        false => format!(
            "the server is slower than the rate, or {slots} are too few for it, which took {each} for \
             each answer: more of them (-c) tell which"
        ),
    };
    format!(
        "the rate was not kept: {asked:.0} requests per second were asked for, {answered:.0} were \
         answered, and {} were waiting at the end; {whose}; latency would grow for as long as the run \
         lasts",
        tally.backlog
    )
}
