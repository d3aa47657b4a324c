//! What all parts of one engine share.

use std::time::{Duration, Instant};

use crate::coalesce::Flights;
use crate::config::{Config, ConfigError, Mounts};
use crate::counters::Counters;
use crate::digest::Digests;
use crate::error::LoadError;
use crate::load::Landed;
use crate::log::Said;
use crate::memory::Memory;
use crate::policy::Key;

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) mounts: Mounts,
    pub(crate) memory: Memory,
    pub(crate) flights: Flights<Key, Landed>,
    pub(crate) digests: Digests,
    pub(crate) counters: Counters,
    pub(crate) said: Said,
    epoch: Instant,
}

impl Shared {
    pub(crate) fn new(config: Config, epoch: Instant) -> Result<Self, ConfigError> {
        Ok(Shared {
            mounts: Mounts::new(&config.mounts)?,
            memory: Memory::new(config.cache_size),
            flights: Flights::new(Landed::Failed(LoadError::Failed)),
            digests: Digests::new(),
            counters: Counters::default(),
            said: Said::default(),
            config,
            epoch,
        })
    }

    /// The longest content that is kept in memory, in bytes.
    pub(crate) fn keep_up_to(&self) -> u64 {
        self.config.keep_up_to()
    }

    pub(crate) fn since_epoch(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.epoch)
    }
}
