//! The counts of one thread.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::answer::Answer;
use crate::answer::coding::Coding;
use crate::machine::thread_time::ThreadTime;
use crate::result::latency::Latencies;
use crate::result::model::{Errors, Tls};

/// Counts of requests that belong to what is measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) requests: u64,
    pub(crate) errors: Errors,
    pub(crate) head_bytes: u64,
    pub(crate) content_bytes: u64,
    pub(crate) raw: Latencies,
    pub(crate) corrected: Latencies,
    pub(crate) late_sends: u64,
    /// Requests that were due at the end and had not been sent, because no connection was free.
    pub(crate) backlog: u64,
    pub(crate) due: u64,
    /// From the first moment that is measured to the last answer.
    pub(crate) span: Duration,
    /// The thread's time meanwhile; of several threads that of the one with the least to spare.
    pub(crate) used: ThreadTime,
    /// CPU of all threads but that one.
    pub(crate) further_cpu: Duration,
    /// Connections that were opened while it was measured.
    pub(crate) reconnects: u64,
    pub(crate) asked_again: u64,
    /// The TLS parameters of the first connection.
    pub(crate) tls: Option<Tls>,
    answers: Vec<(u16, Coding, u64)>,
}

impl Tally {
    /// Counts a complete answer, right or wrong.
    pub(crate) fn answer(&mut self, answer: &Answer) {
        self.head_bytes += answer.head_bytes;
        self.content_bytes += answer.content_bytes;
        let same = |(status, coding, _): &&mut (u16, Coding, u64)| {
            *status == answer.status && *coding == answer.coding
        };
        match self.answers.iter_mut().find(same) {
            Some((_, _, count)) => *count += 1,
            None => {
                let coding = answer.coding.clone();
                self.answers.push((answer.status, coding, 1));
            }
        }
    }

    pub(crate) fn cpu(&self) -> Duration {
        self.used.cpu + self.further_cpu
    }

    /// Adds what another thread has counted.
    pub(crate) fn add(&mut self, other: Tally) {
        self.requests += other.requests;
        self.errors.add(&other.errors);
        self.head_bytes += other.head_bytes;
        self.content_bytes += other.content_bytes;
        self.raw.add(&other.raw);
        self.corrected.add(&other.corrected);
        self.late_sends += other.late_sends;
        self.backlog += other.backlog;
        self.due += other.due;
        self.span = self.span.max(other.span);
        self.further_cpu += other.further_cpu;
        let (less, more) = match self.used.occupied() < other.used.occupied() {
            true => (self.used, other.used),
            false => (other.used, self.used),
        };
        self.further_cpu += less.cpu;
        self.used = more;
        self.reconnects += other.reconnects;
        self.asked_again += other.asked_again;
        if self.tls.is_none() {
            self.tls = other.tls;
        }
        self.answers.extend(other.answers);
    }

    pub(crate) fn statuses(&self) -> BTreeMap<u16, u64> {
        let mut statuses = BTreeMap::new();
        for (status, _, count) in &self.answers {
            *statuses.entry(*status).or_default() += count;
        }
        statuses
    }

    pub(crate) fn codings(&self) -> BTreeMap<String, u64> {
        let mut codings = BTreeMap::new();
        for (_, coding, count) in &self.answers {
            *codings.entry(coding.name().to_owned()).or_default() += count;
        }
        codings
    }
}
