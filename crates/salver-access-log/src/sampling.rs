//! Which entries are written.

use std::num::NonZeroU32;

use crate::request_id::{RequestId, mix};

/// The share of the requests that are logged. What decides is the request's identifier alone, so that logs
/// that know it have the same requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sampling {
    /// One request in so many is logged, on average. 1 by default: all are.
    pub one_in: NonZeroU32,
    /// True if answers with a status from 500 on are logged in any case. They are by default.
    pub server_errors: bool,
}

impl Default for Sampling {
    fn default() -> Self {
        Sampling {
            one_in: NonZeroU32::MIN,
            server_errors: true,
        }
    }
}

impl Sampling {
    /// True if the request is logged.
    pub fn keeps(&self, id: RequestId, status: u16) -> bool {
        if self.one_in == NonZeroU32::MIN || self.server_errors && status >= 500 {
            return true;
        }
        let [high, low] = [id.to_u128() >> 64, id.to_u128() & u128::from(u64::MAX)]
            .map(|half| u64::try_from(half).unwrap_or_default());
        // Identifiers that a proxy gave need not be random in any of their bits.
        mix(mix(high) ^ low).is_multiple_of(self.one_in.get().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_its_size_and_is_the_same_each_time() {
        let check = |one_in: u32, id: fn(u128) -> u128| {
            let sampling = Sampling {
                one_in: NonZeroU32::new(one_in).unwrap(),
                server_errors: true,
            };
            let ids = || (0..100_000).map(|number| RequestId::from_u128(id(number)));
            let kept = ids().filter(|id| sampling.keeps(*id, 404)).count();
            let expected = 100_000 / usize::try_from(one_in).unwrap();
            // Four times the deviation of a binomial distribution is less than that.
            assert!(
                kept.abs_diff(expected) < 4 * expected.isqrt() + 1,
                "{one_in}: {kept}"
            );
            assert!(ids().all(|id| sampling.keeps(id, 404) == sampling.keeps(id, 200)));
            assert!(ids().all(|id| sampling.keeps(id, 500) && sampling.keeps(id, 599)));
            let without = Sampling {
                server_errors: false,
                ..sampling
            };
            assert!(ids().all(|id| without.keeps(id, 500) == sampling.keeps(id, 200)));
        };
        check(1, |number| number);
        check(2, |number| number);
        check(10, |number| number << 64);
        check(1000, |number| number << 20);
    }
}
