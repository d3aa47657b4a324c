use crate::exchange::Exchange;
use crate::fixture::Fixture;
pub(super) fn rows(_fixture: &Fixture, _rows: &mut Vec<Exchange>) {}
