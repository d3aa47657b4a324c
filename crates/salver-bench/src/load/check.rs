//! The checks of a load before it begins: what cannot be meant, or not be done on this machine.

use super::Load;
use crate::error::BenchError;
use crate::latency;
use crate::model::Schedule;
use crate::order::Order;
use crate::server_cost::ServerWatch;
use crate::workload::{Page, field_name};

/// More connections than this have no use on one machine.
const MOST_CONNECTIONS: usize = 200_000;

/// Nor have more requests at once.
const MOST_REQUESTS: usize = 1_000_000;

/// More bytes of requests than this are not held.
const MOST_BODIES: usize = 256 << 20;

impl Load {
    /// Checks that it can be meant, and carried out here.
    ///
    /// # Errors
    /// Misused: it cannot be meant. Failed: a process of the server is not there.
    pub(super) fn check(&self) -> Result<(), BenchError> {
        let misused = |what: String| Err(BenchError::Misused(what));
        if self.connections == 0 || self.connections > MOST_CONNECTIONS {
            return misused(format!(
                "{} connections cannot be opened: give 1 to {MOST_CONNECTIONS}",
                self.connections
            ));
        }
        if self.threads == 0 || self.threads > self.connections {
            return misused(format!(
                "{} threads cannot share {} connections: give 1 thread to one for each connection",
                self.threads, self.connections
            ));
        }
        let streams = self.workload.transport.streams;
        if self.connections.saturating_mul(streams) > MOST_REQUESTS {
            return misused(format!(
                "{} connections of {streams} requests are more than the {MOST_REQUESTS} that can \
                 be under way",
                self.connections
            ));
        }
        if self.timeout.is_zero() || self.timeout > latency::LONGEST {
            return misused(format!(
                "a time-out of {:?} is not between 0 and {:?}",
                self.timeout,
                latency::LONGEST
            ));
        }
        if self.duration.is_zero() {
            return misused("a run of no time measures nothing".to_owned());
        }
        if let Schedule::Rate { per_second } = self.schedule
            && !(per_second > 0.0 && per_second <= 1e8)
        {
            return misused(format!("a rate of {per_second} per second cannot be kept"));
        }
        if let Schedule::Burst { every_ms: 0 } = self.schedule {
            return misused("bursts need some time from one to the next".to_owned());
        }
        if let Order::Zipf { exponent } = self.workload.order
            && !(exponent >= 0.0 && exponent.is_finite())
        {
            return misused(format!("a Zipf exponent of {exponent} is not 0 or more"));
        }
        let mix = &self.workload.mix;
        if !(mix.ranges >= 0.0 && mix.conditional >= 0.0 && mix.ranges + mix.conditional <= 1.0) {
            return misused(format!(
                "shares of {} ranges and {} conditional requests are not parts of 1",
                mix.ranges, mix.conditional
            ));
        }
        let page = |page: &Page| page.method.is_none() || page.method.as_deref() == Some("GET");
        let is_get = mix.method == "GET" && self.workload.pages.iter().all(page);
        let looks = self.workload.has_files() || mix.ranges + mix.conditional > 0.0;
        if looks && !(is_get && mix.body.is_empty()) {
            return misused(
                "files, ranges and conditions are asked for by GET: give no other method and no body"
                    .to_owned(),
            );
        }
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if mix.method.is_empty() || !mix.method.bytes().all(is_token) || mix.method == "CONNECT" {
            return misused(format!(
                "{:?} is no method that can be measured",
                mix.method
            ));
        }
        if mix.method == "HEAD" && !mix.body.is_empty() {
            return misused("a request by HEAD has no body: give another --method".to_owned());
        }
        let all_bodies = mix.body.len().saturating_mul(self.workload.pages.len());
        if all_bodies > MOST_BODIES {
            return misused(format!(
                "{} requests with a body of {} bytes each take more than the {} MiB that are held",
                self.workload.pages.len(),
                mix.body.len(),
                MOST_BODIES >> 20
            ));
        }
        let wrong = |field: &&String| {
            !field.contains(':') || field.bytes().any(|byte| byte == b'\r' || byte == b'\n')
        };
        if let Some(field) = mix.fields.iter().find(wrong) {
            return misused(format!("{field:?} is no field: write it as 'Name: value'"));
        }
        let named = |name: &str| {
            let is_it = |field: &&String| field_name(field).eq_ignore_ascii_case(name);
            mix.fields.iter().filter(is_it).count()
        };
        if named("host") > 1 {
            return misused("a request has one Host field: give one".to_owned());
        }
        if named("content-length") + named("transfer-encoding") > 0 {
            return misused(
                "the length follows from the body: give --body or --body-file".to_owned(),
            );
        }
        if !self.server_pids.is_empty() {
            ServerWatch::start(&self.server_pids).map_err(BenchError::Failed)?;
        }
        Ok(())
    }
}
