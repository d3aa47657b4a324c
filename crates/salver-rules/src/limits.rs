//! The bounds on rules: how many, how long, and how much may come of one.
//!
//! A file of rules is its author's, but it may be a build's output, or a stranger's pull request on a preview
//! host: no size of it may cost more than a refusal.

/// Rules in one [`RuleSet`](crate::RuleSet).
pub const MOST_RULES: usize = 20_000;
/// Actions of one rule; Netlify's and Cloudflare's header blocks count one per field.
pub const MOST_ACTIONS: usize = 256;
/// Conditions on query parameters, fields, hosts and methods, each, of one rule.
pub const MOST_CONDITIONS: usize = 64;
/// Placeholders and splats in one pattern.
pub const MOST_PLACEHOLDERS: usize = 32;
/// Bytes of one pattern, template or field value.
pub const LONGEST_TEXT: usize = 8 * 1024;
/// Bytes of a Location, a rewritten path or a field value once its placeholders are filled in.
pub const LONGEST_OUTPUT: usize = 8 * 1024;
/// Bytes of a `_headers` or `_redirects` file, or of a file to import.
pub const LARGEST_FILE: usize = 4 * 1024 * 1024;
/// Bytes of one line of `_headers` or `_redirects`.
pub const LONGEST_LINE: usize = 16 * 1024;
/// Faults that are kept of one file; the last then says how many more there were.
pub const MOST_FAULTS: usize = 1_000;
