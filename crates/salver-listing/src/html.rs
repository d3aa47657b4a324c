//! The page of a listing as HTML. All text in it is escaped by the macro that writes it.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::entries::{Entry, EntryKind};
use crate::page::{Page, href};
use crate::text::{minute, rfc3339, shown, size};
use crate::view::{Order, Sort};

/// The style of the page, which stands in it.
pub const STYLE: &str = include_str!("style.css");

/// The `Content-Security-Policy` of the page: its style and its form, and nothing else.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; \
    style-src 'sha256-rGuerpXfGSHRAP83MPfnLtlkQOhmly2uNISFFlAvywI='; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

impl Page<'_> {
    /// The page as HTML, with its style and without any script but [that](Self::with_script) which it was given.
    pub fn to_html(&self) -> String {
        let title = format!("Index of {}", self.shown_path());
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    title { (title) }
                    style { (PreEscaped(STYLE)) }
                    @if let Some(script) = self.script() {
                        script src=(script) defer {}
                    }
                }
                body {
                    header {
                        nav aria-label="Breadcrumb" { (self.heading()) }
                        (self.form())
                        p role="status" { (self.summary()) }
                    }
                    main { (self.table()) }
                    (self.page_links())
                }
            }
        };
        page.into_string()
    }

    fn heading(&self) -> Markup {
        let crumbs = self.crumbs();
        let last = crumbs.len().saturating_sub(1);
        html! {
            h1 {
                @for (number, crumb) in crumbs.iter().enumerate() {
                    @if number > 1 { span aria-hidden="true" { "/" } }
                    a href=(crumb.href) aria-current=[(number == last).then_some("page")] {
                        bdi { (crumb.name) }
                    }
                }
            }
        }
    }

    fn form(&self) -> Markup {
        let view = self.view();
        html! {
            form method="get" role="search" {
                input type="search" name="filter" value=(view.filter) maxlength="256"
                    placeholder="Filter by name" aria-label="Filter by name";
                @if view.sort != Sort::default() {
                    input type="hidden" name="sort" value=(view.sort.name());
                }
                @if view.order != Order::default() {
                    input type="hidden" name="order" value=(view.order.name());
                }
                button { "Filter" }
                @if !view.filter.is_empty() {
                    a href="./" { "Show all" }
                }
            }
        }
    }

    /// What is shown, in words.
    fn summary(&self) -> String {
        let (total, matching) = (self.total(), self.matching());
        let entries = |count| if count == 1 { "entry" } else { "entries" };
        let mut text = match self.view().filter.is_empty() {
            true => format!("{total} {}", entries(total)),
            false => format!("{matching} of {total} {}", entries(total)),
        };
        if self.pages() > 1 {
            text += &format!(", page {} of {}", self.view().page + 1, self.pages());
        }
        if self.is_truncated() {
            text += ". The directory holds more, which are not shown.";
        }
        text
    }

    fn table(&self) -> Markup {
        html! {
            table {
                thead {
                    tr {
                        (self.column("name", "Name", Sort::Name))
                        (self.column("size", "Size", Sort::Size))
                        (self.column("date", "Modified (UTC)", Sort::Date))
                    }
                }
                tbody {
                    @if self.has_parent() {
                        tr class="dir" {
                            td class="name" { a href="../" { "../" } }
                            td class="size" {}
                            td class="date" {}
                        }
                    }
                    @for entry in self.rows() { (row(&entry)) }
                }
            }
        }
    }

    fn column(&self, class: &str, text: &str, sort: Sort) -> Markup {
        let view = self.view();
        let direction = (view.sort == sort).then_some(match view.order {
            Order::Ascending => "ascending",
            Order::Descending => "descending",
        });
        html! {
            th class=(class) scope="col" aria-sort=[direction] {
                a href=(view.sorted_by(sort).to_query()) { (text) }
            }
        }
    }

    fn page_links(&self) -> Markup {
        html! {
            @if self.pages() > 1 {
                nav class="pages" aria-label="Pages" {
                    @if let Some(query) = self.previous() {
                        a rel="prev" href=(query) { "Previous" }
                    }
                    span { (self.view().page + 1) " / " (self.pages()) }
                    @if let Some(query) = self.next() {
                        a rel="next" href=(query) { "Next" }
                    }
                }
            }
        }
    }
}

fn row(entry: &Entry<'_>) -> Markup {
    let is_directory = entry.kind == EntryKind::Directory;
    html! {
        tr class=[is_directory.then_some("dir")] {
            td class="name" {
                a href=(href(entry)) {
                    bdi { (shown(entry.name)) }
                    @if is_directory { "/" }
                }
            }
            td class="size" {
                @if !is_directory {
                    data value=(entry.size) { (size(entry.size)) }
                }
            }
            td class="date" {
                time datetime=(rfc3339(entry.modified)) { (minute(entry.modified)) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest as _, Sha256};

    #[test]
    fn the_policy_names_the_hash_of_the_style() {
        let hash = Sha256::digest(STYLE);
        let hash = base64(&hash);
        assert!(
            CONTENT_SECURITY_POLICY.contains(&format!("'sha256-{hash}'")),
            "the style has changed: {hash}"
        );
        // The end of the element, or what the parser changes, would make another text of it.
        assert!(!STYLE.contains('<') && !STYLE.contains('\r') && !STYLE.contains('\0'));
    }

    fn base64(bytes: &[u8]) -> String {
        const DIGITS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for three in bytes.chunks(3) {
            let bits = three.iter().chain([&0, &0]).take(3);
            let bits = bits.fold(0, |bits, byte| bits << 8 | usize::from(*byte));
            for place in 0..4 {
                text.push(match place <= three.len() {
                    true => char::from(DIGITS[bits >> (18 - 6 * place) & 63]),
                    false => '=',
                });
            }
        }
        text
    }
}
