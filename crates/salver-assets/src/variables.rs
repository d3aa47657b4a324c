//! Variables that pages may see: told by a script, or put in the place of placeholders in HTML.
//!
//! One built site can so be shown in many environments. What is put in cannot become markup or code: it is escaped for
//! the place where it lands, and where no escaping would be right the placeholder stays.

mod contexts;
mod escape;

use std::collections::BTreeSet;
use std::fmt;

use crate::variables::contexts::{Context, Contexts};
use crate::variables::escape::{html, script_text};

/// The longest page whose placeholders are replaced, in bytes.
pub(crate) const LARGEST_PAGE: u64 = 1024 * 1024;

/// The most bytes that such a page comes to.
const LARGEST_RESULT: usize = 2 * 1024 * 1024;

/// The most bytes that names and values have together.
const LARGEST_VALUES: usize = 64 * 1024;

/// What a placeholder begins with. Few templates and builders take it for one of theirs.
const BEGIN: &[u8] = b"[[env.";

/// What a placeholder ends with.
const END: &[u8] = b"]]";

/// Names and values that pages may see.
///
/// ```
/// use salver_assets::PageVariables;
///
/// let variables = PageVariables::new([("API".to_owned(), Some("/v1</script>".to_owned()))]).unwrap();
/// assert_eq!(variables.script(), "globalThis.env = Object.freeze({\"API\": \"/v1\\u003c/script\\u003e\"});\n");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct PageVariables {
    list: Vec<(String, Option<String>)>,
}

/// Names alone: values may be logged by nobody who did not list them.
impl fmt::Debug for PageVariables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.list.iter().map(|(name, _)| name);
        f.debug_list().entries(names).finish()
    }
}

/// The variables are more than pages should carry: their bytes, of which [`PageVariables`] take 65,536.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyBytes(pub usize);

impl fmt::Display for TooManyBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the variables for pages have {} bytes, and {LARGEST_VALUES} are the most",
            self.0
        )
    }
}

impl std::error::Error for TooManyBytes {}

/// The result of putting variables into a page.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Rendered {
    /// The page with its placeholders replaced; `None` if it is as it was.
    pub(crate) page: Option<Vec<u8>>,
    /// The names whose placeholders stayed, and why.
    pub(crate) stayed: BTreeSet<(String, Stayed)>,
}

/// The reason for which a placeholder stayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Stayed {
    /// Pages may not see such a variable.
    NotListed,
    /// No escaping is right where it stands.
    Unsafe,
    /// The page would be too long.
    TooLong,
}

impl PageVariables {
    /// The variables with these names and values; one without a value is not set.
    ///
    /// # Errors
    /// They have more than 65,536 bytes.
    pub fn new(
        list: impl IntoIterator<Item = (String, Option<String>)>,
    ) -> Result<Self, TooManyBytes> {
        let list: Vec<_> = list.into_iter().collect();
        let value = |value: &Option<String>| value.as_ref().map_or(0, String::len);
        let bytes = list
            .iter()
            .map(|(name, text)| name.len() + value(text))
            .sum();
        if bytes > LARGEST_VALUES {
            return Err(TooManyBytes(bytes));
        }
        Ok(PageVariables { list })
    }

    /// The script that tells pages the variables that are set: `env.NAME`. It may stand within a page, too.
    pub fn script(&self) -> String {
        let mut script = String::from("globalThis.env = Object.freeze({");
        let set = self
            .list
            .iter()
            .filter_map(|(name, value)| Some((name, value.as_ref()?)));
        for (number, (name, value)) in set.enumerate() {
            if number > 0 {
                script.push_str(", ");
            }
            for (text, end) in [(name, "\": "), (value, "\"")] {
                script.push('"');
                script_text(text, &mut script);
                script.push_str(end);
            }
        }
        script.push_str("});\n");
        script
    }

    /// The page with these variables in the place of `[[env.NAME]]`; those that are not set are nothing.
    pub(crate) fn put_into(&self, page: &[u8]) -> Rendered {
        let mut rendered = Rendered::default();
        let mut contexts = Contexts::new(page);
        let mut out: Vec<u8> = Vec::new();
        let mut copied = 0;
        for (at, end, name) in placeholders(page) {
            let value = self.list.iter().find(|(known, _)| *known == name);
            let (Some((_, value)), context) = (value, contexts.at(at)) else {
                rendered.stayed.insert((name, Stayed::NotListed));
                continue;
            };
            let mut escaped = String::new();
            match (context, value) {
                (Context::Nowhere, _) => {
                    rendered.stayed.insert((name, Stayed::Unsafe));
                    continue;
                }
                (_, None) => {}
                (Context::Html, Some(value)) => html(value, &mut escaped),
                (Context::Script, Some(value)) => script_text(value, &mut escaped),
            }
            out.extend_from_slice(page.get(copied..at).unwrap_or_default());
            out.extend_from_slice(escaped.as_bytes());
            copied = end;
            if out.len() + (page.len() - end) > LARGEST_RESULT {
                rendered.stayed.insert((name, Stayed::TooLong));
                return rendered;
            }
        }
        if copied > 0 {
            out.extend_from_slice(page.get(copied..).unwrap_or_default());
            rendered.page = Some(out);
        }
        rendered
    }
}

/// Where each placeholder begins and ends, and the name in it.
fn placeholders(page: &[u8]) -> impl Iterator<Item = (usize, usize, String)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = page.get(from..)?;
            let at = from + rest.windows(BEGIN.len()).position(|part| part == BEGIN)?;
            let name_at = at + BEGIN.len();
            from = name_at;
            let rest = page.get(name_at..)?;
            let is_sign = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
            let length = rest.iter().take_while(is_sign).count();
            let (name, behind) = rest.split_at_checked(length)?;
            if length > 0 && behind.starts_with(END) {
                let end = name_at + length + END.len();
                from = end;
                return Some((at, end, String::from_utf8_lossy(name).into_owned()));
            }
        }
    })
}

#[cfg(test)]
mod tests;
