//! The pace of a client that sends the content of a request, and the check that it is not too slow.

use std::time::{Duration, Instant};

use salver_semantics::{LeastRate, RateCredit};

use crate::settings::Settings;

/// The number of checks in the time that a client may send nothing, which is never exceeded by more than one step.
const STEPS: u32 = 8;

/// The pace of one client while its content is waited for. Time in which a handler has enough to do is not counted.
#[derive(Debug, Default)]
pub(crate) struct ReceivePace {
    credit: Option<RateCredit>,
    /// The time from which on time is counted, while the client is waited for.
    since: Option<Instant>,
    /// The bytes received since.
    received: u64,
}

/// The lowest rate at which clients have to send content.
fn least_rate(settings: &Settings) -> LeastRate {
    LeastRate {
        patience: settings.idle_timeout,
        bytes_per_second: settings.min_rate,
    }
}

/// The time between two checks.
pub(crate) fn receive_step(settings: &Settings) -> Duration {
    settings.idle_timeout / STEPS
}

impl ReceivePace {
    /// Counts bytes that the client has sent.
    pub(super) fn receive(&mut self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.received = self.received.saturating_add(bytes);
    }

    /// The time since which the client is waited for, as far as that is counted.
    pub(super) fn since(&self) -> Option<Instant> {
        self.since
    }

    /// True if the client has sent too little for too long. Time goes on while it `waits` for the client at each
    /// call: call it whenever that changes, and each [`receive_step`].
    pub(super) fn is_late(&mut self, waits: bool, now: Instant, settings: &Settings) -> bool {
        let Some(since) = self.since else {
            if waits {
                self.since = Some(now);
                self.received = 0;
            }
            return false;
        };
        let time = now.saturating_duration_since(since);
        if waits && time < receive_step(settings) {
            return false;
        }
        self.since = waits.then_some(now);
        let received = std::mem::take(&mut self.received);
        let rate = least_rate(settings);
        let credit = self.credit.get_or_insert_with(|| RateCredit::new(&rate));
        !credit.pass(&rate, time, received)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tenth of a second, of 10,000, after which a client is late that sends so many bytes in each, and is waited
    /// for in the first `waits` of each ten.
    fn late_after(bytes: usize, waits: u32) -> Option<u32> {
        let settings = Settings {
            idle_timeout: Duration::from_secs(8),
            min_rate: 100,
            ..Settings::default()
        };
        let (mut pace, start) = (ReceivePace::default(), Instant::now());
        (0..10_000).find(|tenth| {
            pace.receive(bytes);
            let now = start + Duration::from_millis(100) * *tenth;
            pace.is_late(tenth % 10 < waits, now, &settings)
        })
    }

    #[test]
    fn who_sends_too_little_while_it_is_waited_for_is_late() {
        assert_eq!(late_after(0, 10), Some(80));
        // Half of the rate: twice the time.
        assert!(late_after(5, 10).is_some_and(|tenths| (140..=170).contains(&tenths)));
        assert_eq!(late_after(10, 10), None);
        assert_eq!(late_after(0, 0), None, "it is not waited for");
        // Waited for in a part of the time, that part is counted, however short.
        assert!(late_after(0, 2).is_some_and(|tenths| (380..=420).contains(&tenths)));
    }
}
