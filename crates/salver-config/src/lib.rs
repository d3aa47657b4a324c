#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//!
//! [`Server`] and [`Site`] are the settings, and the table: each field is made from a [`Row`] that has everything
//! else that is said of it. [`arguments`] are its flags, [`Typed`] what a command line says by them, [`Environment`]
//! what variables say, [`File`] what `salver.toml` says, and [`Configuration::resolve`] puts them together.
//! [`reference()`], [`schema()`], [`man_page`] and [`completions`] are written from the same table.
#![forbid(unsafe_code)]

mod completions;
mod configuration;
pub mod conventions;
mod deploys;
mod document;
mod environment;
mod fault;
mod file;
mod flags;
mod headings;
pub mod kind;
mod layers;
mod machine;
mod man;
pub mod nearest;
mod os_text;
mod print;
mod reference;
mod resolver;
mod row;
pub mod sandbox;
mod schema;
mod server;
mod setting;
mod site;
mod table;
mod toml;
mod typed;
mod unknown;
pub mod values;
mod written;

pub use completions::{Shell, completions};
pub use configuration::Configuration;
pub use deploys::Deploys;
pub use document::{Node, Table, Value};
pub use environment::Environment;
pub use fault::{Fault, Place};
pub use file::File;
pub use flags::{arguments, arguments_of};
pub use layers::Layers;
pub use machine::{AvailableMemory, Machine};
pub use man::man_page;
pub use reference::reference;
pub use resolver::Resolver;
pub use row::{Entry, Follows, Form, PREFIX, ROW, Row, Scope, Share, variable};
pub use schema::schema;
pub use server::Server;
pub use setting::{Origin, Setting};
pub use site::Site;
pub use table::table;
pub use typed::Typed;
