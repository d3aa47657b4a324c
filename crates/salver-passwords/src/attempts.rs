//! The limit on attempts with passwords, for each client.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use salver_semantics::ClientKey;

/// The attempts that a client has in one span; those that turn out right do not count.
const MOST: u32 = 10;

/// The span that attempts are counted in, from the first of them.
const SPAN: Duration = Duration::from_secs(60);

/// The clients that are counted; beyond, all are forgotten.
const CLIENTS: usize = 16 * 1024;

/// The attempts of clients.
#[derive(Default)]
pub(crate) struct Attempts(HashMap<ClientKey, (Instant, u32)>);

impl Attempts {
    /// Counts an attempt.
    ///
    /// # Errors
    /// The seconds after which the client may try again, if it has had its share.
    pub(crate) fn begin(&mut self, client: ClientKey, now: Instant) -> Result<(), u64> {
        let age = |since: Instant| now.saturating_duration_since(since);
        if self.0.len() >= CLIENTS && !self.0.contains_key(&client) {
            self.0.retain(|_, (since, _)| age(*since) < SPAN);
            if self.0.len() > CLIENTS / 2 {
                // Not one after the other: that would take long each time.
                self.0.clear();
            }
        }
        let (since, count) = self.0.entry(client).or_insert((now, 0));
        if age(*since) >= SPAN {
            (*since, *count) = (now, 0);
        }
        if *count >= MOST {
            return Err((SPAN - age(*since)).as_secs() + 1);
        }
        *count += 1;
        Ok(())
    }

    /// Takes an attempt back that was right, or that came to nothing.
    pub(crate) fn take_back(&mut self, client: ClientKey) {
        if let Some((_, count)) = self.0.get_mut(&client) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.0.remove(&client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn client(number: u32) -> ClientKey {
        ClientKey::of(Ipv4Addr::from_bits(number).into())
    }

    #[test]
    fn a_client_has_its_share_of_each_span() {
        let mut attempts = Attempts::default();
        let now = Instant::now();
        for _ in 0..MOST {
            assert_eq!(attempts.begin(client(1), now), Ok(()));
        }
        assert_eq!(attempts.begin(client(1), now), Err(61));
        let later = now + Duration::from_secs(50);
        assert_eq!(attempts.begin(client(1), later), Err(11));
        assert_eq!(attempts.begin(client(2), now), Ok(()));
        attempts.take_back(client(1));
        assert_eq!(attempts.begin(client(1), later), Ok(()));
        assert_eq!(attempts.begin(client(1), later), Err(11));
        assert_eq!(attempts.begin(client(1), now + SPAN), Ok(()));
    }

    #[test]
    fn the_number_of_clients_is_bounded() {
        let mut attempts = Attempts::default();
        let now = Instant::now();
        for number in 0..50_000 {
            let now = now + Duration::from_millis(number.into());
            assert_eq!(attempts.begin(client(number), now), Ok(()));
            assert!(attempts.0.len() <= CLIENTS);
        }
    }
}
