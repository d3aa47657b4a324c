#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//!
//! [`Entries`] are what a directory holds. [`View`] is what a request wants to see of it: order, filter, page. A
//! [`Page`] is both together; [`Page::to_html`] and [`Page::to_json`] render it, and [`Format::preferred`] says which
//! of them a client wants.
#![forbid(unsafe_code)]

mod accept;
mod entries;
mod html;
mod json;
mod order;
mod page;
#[cfg_attr(not(feature = "template"), path = "template/absent.rs")]
mod template;
mod text;
mod view;

pub use accept::Format;
pub use entries::{Entries, EntriesBuilder, Entry, EntryKind};
pub use html::{CONTENT_SECURITY_POLICY, STYLE};
pub use page::{Crumb, PAGE_LENGTH, Page};
pub use template::{TEMPLATE_CONTENT_SECURITY_POLICY, Template, TemplateError};
pub use view::{Order, Sort, View};
