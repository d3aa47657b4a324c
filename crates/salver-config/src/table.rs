//! The table of settings: what reading them without anything said meets.

use std::sync::LazyLock;

use crate::environment::Environment;
use crate::layers::Layers;
use crate::machine::Machine;
use crate::resolver::Resolver;
use crate::row::{Entry, Scope};
use crate::server::Server;
use crate::site::Site;
use crate::typed::Typed;

/// All settings, in the order in which help shows them.
pub fn table() -> &'static [Entry] {
    static TABLE: LazyLock<Vec<Entry>> = LazyLock::new(|| {
        let (typed, environment) = (Typed::default(), Environment::default());
        let layers = Layers {
            typed: &typed,
            environment: &environment,
            file: None,
            machine: Machine::default(),
        };
        let mut from = Resolver::new(&layers, Scope::Server, Vec::new());
        Server::read(&mut from);
        let mut entries = from.entries();
        let mut from = Resolver::new(&layers, Scope::Site, Vec::new());
        Site::read(&mut from);
        entries.extend(from.entries());
        entries
    });
    &TABLE
}
