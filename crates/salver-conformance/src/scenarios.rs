use crate::fixture::Fixture;
use crate::report::Report;
use std::net::SocketAddr;
pub(crate) fn run(_address: SocketAddr, _fixture: &Fixture, _report: &mut Report) {}
