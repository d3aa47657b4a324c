//! The checks of a load before it begins: what cannot be meant, or not be done on this machine.

use super::Load;
use crate::error::BenchError;
use crate::machine::server_cost::ServerWatch;
use crate::requests::order::Order;
use crate::requests::workload::{Mix, Page, field_name};
use crate::result::latency::LONGEST;
use crate::result::model::Schedule;

/// More connections than this have no use on one machine.
const MOST_CONNECTIONS: usize = 200_000;

/// Nor have more requests at once.
const MOST_REQUESTS: usize = 1_000_000;

/// More bytes of requests than this are not held.
const MOST_BODIES: usize = 256 << 20;

impl Load {
    /// Checks that it can be meant, and carried out here.
    pub(super) fn check(&self) -> Result<(), BenchError> {
        let (connections, threads, timeout) = (self.connections, self.threads, self.timeout);
        let streams = self.workload.transport.streams;
        let pages = self.workload.pages.len();
        let per_second = match self.schedule {
            Schedule::Rate { per_second } => per_second,
            Schedule::Closed | Schedule::Burst { .. } => 1.0,
        };
        let exponent = match self.workload.order {
            Order::Zipf { exponent } => exponent,
            Order::RoundRobin => 0.0,
        };
        let Mix {
            ranges,
            conditional,
            fields,
            method,
            body,
            ..
        } = &self.workload.mix;
        let page = |page: &Page| page.method.as_deref().is_none_or(|method| method == "GET");
        let is_plain = method == "GET" && body.is_empty() && self.workload.pages.iter().all(page);
        let looks = self.workload.has_files() || ranges + conditional > 0.0;
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let is_method = !method.is_empty() && method.bytes().all(is_token) && method != "CONNECT";
        let is_no_field = |field: &&String| !field.contains(':') || field.contains(['\r', '\n']);
        let no_field = fields.iter().find(is_no_field);
        let named = |name: &str| {
            let is_it = |field: &&String| field_name(field).eq_ignore_ascii_case(name);
            fields.iter().filter(is_it).count()
        };
        let wrong = if connections == 0 || connections > MOST_CONNECTIONS {
            format!("{connections} connections cannot be opened: give 1 to {MOST_CONNECTIONS}")
        } else if threads == 0 || threads > connections {
            format!(
                "{threads} threads cannot share {connections} connections: give 1 thread to one for each \
                 connection"
            )
        } else if connections.saturating_mul(streams) > MOST_REQUESTS {
            format!(
                "{connections} connections of {streams} requests are more than the {MOST_REQUESTS} that \
                 can be under way"
            )
        } else if timeout.is_zero() || timeout > LONGEST {
            format!("a time-out of {timeout:?} is not between 0 and {LONGEST:?}")
        } else if self.duration.is_zero() {
            "a run of no time measures nothing".to_owned()
        } else if !(per_second > 0.0 && per_second <= 1e8) {
            format!("a rate of {per_second} per second cannot be kept")
        } else if self.schedule == (Schedule::Burst { every_ms: 0 }) {
            "bursts need some time from one to the next".to_owned()
        } else if !(exponent >= 0.0 && exponent.is_finite()) {
            format!("a Zipf exponent of {exponent} is not 0 or more")
        } else if !(*ranges >= 0.0 && *conditional >= 0.0 && ranges + conditional <= 1.0) {
            format!(
                "shares of {ranges} ranges and {conditional} conditional requests are not parts of 1"
            )
        } else if looks && !is_plain {
            "files, ranges and conditions are asked for by GET: give no other method and no body"
                .to_owned()
        } else if !is_method {
            format!("{method:?} is no method that can be measured")
        } else if method == "HEAD" && !body.is_empty() {
            "a request by HEAD has no body: give another --method".to_owned()
        } else if body.len().saturating_mul(pages) > MOST_BODIES {
            let (length, most) = (body.len(), MOST_BODIES >> 20);
            format!(
                "{pages} requests with a body of {length} bytes each take more than the {most} MiB that \
                 are held"
            )
        } else if let Some(field) = no_field {
            format!("{field:?} is no field: write it as 'Name: value'")
        } else if named("host") > 1 {
            "a request has one Host field: give one".to_owned()
        } else if named("content-length") + named("transfer-encoding") > 0 {
            "the length follows from the body: give --body or --body-file".to_owned()
        } else {
            if !self.server_pids.is_empty() {
                ServerWatch::start(&self.server_pids).map_err(BenchError::Failed)?;
            }
            return Ok(());
        };
        Err(BenchError::Misused(wrong))
    }
}
