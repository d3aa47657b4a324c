#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod compiled;
mod cors;
mod escape;
mod fault;
mod field_change;
#[cfg_attr(not(feature = "globs"), path = "globs/absent.rs")]
mod globs;
mod headers_file;
#[cfg(feature = "import")]
mod import;
pub mod limits;
mod outcome;
mod path_index;
mod pattern;
mod redirects_file;
mod request;
mod rule;
mod rule_set;
#[cfg(feature = "toml")]
pub mod rule_toml;
mod security;
mod site_file;
mod template;

pub use cors::Cors;
pub use fault::{Fault, Place};
pub use field_change::FieldChange;
pub use headers_file::parse_headers;
#[cfg(feature = "import")]
pub use import::{ImportFormat, Imported, import};
pub use outcome::{Outcome, Route};
pub use pattern::Dialect;
pub use redirects_file::parse_redirects;
pub use request::Request;
pub use rule::{
    Action, BasicAuth, Condition, Disposition, FieldTest, PathCondition, QueryTest, Redirect,
    Rewrite, Rule, Scheme, User,
};
pub use rule_set::{PathRules, RuleSet};
#[cfg(feature = "toml")]
pub use rule_toml::{RuleToml, render_rules};
pub use security::{Framing, Security};
pub use site_file::{Compat, Parsed};
pub use template::Location;
