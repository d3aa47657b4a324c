//! Pages by a template of the operator, in the language of Jinja. All that is put into it is escaped as HTML.

use std::fmt;

use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, context};

use crate::entries::{Entries, Entry, EntryKind};
use crate::page::{Page, href};
use crate::text::{minute, rfc3339, shown, size};
use crate::view::{Sort, View};

/// The `Content-Security-Policy` of pages by a template: files of the same site, and the styles that stand in the page.
pub const TEMPLATE_CONTENT_SECURITY_POLICY: &str = "default-src 'self'; \
    style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; \
    base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// The name of the template within its environment.
const NAME: &str = "listing.html";

/// A page of the operator's own.
pub struct Template {
    environment: Environment<'static>,
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Template").finish_non_exhaustive()
    }
}

/// The error of a template: the line, and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError {
    /// The number of the line, from 1; `None` where it is the template as a whole.
    pub line: Option<usize>,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for TemplateError {}

impl From<minijinja::Error> for TemplateError {
    fn from(error: minijinja::Error) -> Self {
        let what = match error.detail() {
            Some(detail) => format!("{}: {detail}", error.kind()),
            None => error.kind().to_string(),
        };
        TemplateError {
            line: error.line(),
            // One line, whatever stands in the template.
            what: what
                .escape_debug()
                .to_string()
                .replace("\\\"", "\"")
                .replace("\\'", "'"),
        }
    }
}

impl Template {
    /// Reads a template, and tries it with listings of each kind: what it names must be there.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn new(text: String) -> Result<Self, TemplateError> {
        let mut environment = Environment::new();
        environment.set_auto_escape_callback(|_| AutoEscape::Html);
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.add_template_owned(NAME, text)?;
        let template = Template { environment };
        let mut some = Entries::builder();
        some.add(b"directory", EntryKind::Directory, 0, 0);
        some.add(b"file", EntryKind::File, 1, 0);
        let (none, some) = (Entries::default(), some.build());
        let filtered = View {
            filter: "f".to_owned(),
            ..View::default()
        };
        for (path, entries) in [(&b"/"[..], &none), (b"/a/b/", &some)] {
            for view in [View::default(), filtered.clone()] {
                template.render(&Page::new(path, entries, &view))?;
            }
        }
        Ok(template)
    }

    /// The page by this template.
    ///
    /// # Errors
    /// What the template does that cannot be done with this page.
    pub fn render(&self, page: &Page<'_>) -> Result<String, TemplateError> {
        let template = self.environment.get_template(NAME)?;
        Ok(template.render(names(page))?)
    }
}

/// What a template may name.
fn names(page: &Page<'_>) -> Value {
    let view = page.view();
    let by = |sort| view.sorted_by(sort).to_query();
    let crumbs = page.crumbs().into_iter().map(|crumb| {
        context! { name => crumb.name, href => crumb.href }
    });
    let entries = page.rows().map(|entry| names_of(&entry));
    context! {
        path => page.shown_path(),
        has_parent => page.has_parent(),
        crumbs => crumbs.collect::<Value>(),
        entries => entries.collect::<Value>(),
        total => page.total(),
        matching => page.matching(),
        truncated => page.is_truncated(),
        filter => view.filter.as_str(),
        sort => view.sort.name(),
        order => view.order.name(),
        page => view.page + 1,
        pages => page.pages(),
        previous => page.previous(),
        next => page.next(),
        by_name => by(Sort::Name),
        by_size => by(Sort::Size),
        by_date => by(Sort::Date),
    }
}

/// What a template may name of an entry.
fn names_of(entry: &Entry<'_>) -> Value {
    let is_directory = entry.kind == EntryKind::Directory;
    let bytes = if is_directory { 0 } else { entry.size };
    context! {
        name => shown(entry.name),
        href => href(entry),
        is_directory => is_directory,
        bytes => bytes,
        size => if is_directory { String::new() } else { size(bytes) },
        modified => rfc3339(entry.modified),
        date => minute(entry.modified),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_filled_in_and_escaped() {
        let text = "<h1>{{ path }}</h1>{% for entry in entries %}\
                    <a href=\"{{ entry.href }}\">{{ entry.name }}</a> {{ entry.size }}{% endfor %}\
                    {% if next %}<a href=\"{{ next }}\">{% endif %}";
        let template = Template::new(text.to_owned()).unwrap();
        let mut entries = Entries::builder();
        entries.add(b"<script>\"'", EntryKind::File, 2048, 0);
        let entries = entries.build();
        let page = Page::new(b"/<b>/", &entries, &View::default());
        let html = template.render(&page).unwrap();
        assert!(html.starts_with("<h1>&#x2f;&lt;b&gt;&#x2f;</h1>"), "{html}");
        assert!(
            html.contains("&lt;script&gt;&quot;&#x27;</a> 2.0 KiB"),
            "{html}"
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let check = |text: &str, line, part: &str| {
            let error = Template::new(text.to_owned()).unwrap_err();
            assert_eq!(error.line, line, "{error}");
            assert!(error.to_string().contains(part), "{error}");
            assert_eq!(error.to_string().lines().count(), 1);
        };
        check("a\n{{ path", Some(2), "syntax error");
        check(
            "a\n\n{% for entry in entrys %}{% endfor %}",
            Some(3),
            "undefined",
        );
        check(
            "{{ path }}\n{% for e in entries %}\n{{ e.nome }}{% endfor %}",
            Some(3),
            "undefined",
        );
        check("{% include 'other' %}", Some(1), "include");
        check("{{ path | nofilter }}", Some(1), "nofilter");
    }
}
