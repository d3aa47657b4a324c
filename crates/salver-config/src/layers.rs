//! Where settings are said.

use crate::environment::Environment;
use crate::file::File;
use crate::machine::Machine;
use crate::typed::Typed;

/// Where settings are said, by falling precedence.
#[derive(Clone, Copy, Debug)]
pub struct Layers<'a> {
    /// The command line.
    pub typed: &'a Typed,
    /// The environment.
    pub environment: &'a Environment,
    /// The configuration file, if there is one.
    pub file: Option<&'a File>,
    /// The machine, which some defaults follow.
    pub machine: Machine,
}
