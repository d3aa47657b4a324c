//! A page of a listing: the entries that a view selects, and the links between pages.

use std::cmp::Reverse;

use crate::entries::{Entries, Entry, EntryKind};
use crate::text::{encode_segment, shown};
use crate::view::{Order, Sort, View};

/// The most entries on one page.
pub const PAGE_LENGTH: usize = 1000;

/// A page of a listing.
#[derive(Debug)]
pub struct Page<'a> {
    path: &'a [u8],
    entries: &'a Entries,
    /// The view, at a page that there is.
    view: View,
    /// The numbers of the entries on the page.
    numbers: Vec<usize>,
    matching: usize,
    pages: u32,
    script: Option<&'a str>,
}

/// A directory on the way to the one that is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crumb {
    /// Its name for people; `/` for the root.
    pub name: String,
    /// The link to it, relative to the listing.
    pub href: String,
}

impl<'a> Page<'a> {
    /// The page that `view` selects of the entries of the directory at `path`: that of a URL, decoded, with a slash at
    /// either end. If there is no such page it is the last one.
    pub fn new(path: &'a [u8], entries: &'a Entries, view: &View) -> Self {
        let mut numbers = matching(entries, &view.filter);
        sort(&mut numbers, entries, view);
        let matching = numbers.len();
        let pages = u32::try_from(matching.div_ceil(PAGE_LENGTH).max(1)).unwrap_or(u32::MAX);
        let page = view.page.min(pages - 1);
        let first = usize::try_from(page)
            .unwrap_or(usize::MAX)
            .saturating_mul(PAGE_LENGTH);
        let numbers = numbers.into_iter().skip(first).take(PAGE_LENGTH);
        Page {
            path,
            entries,
            view: view.at_page(page),
            numbers: numbers.collect(),
            matching,
            pages,
            script: None,
        }
    }

    /// The same page with a script from this path, which the [policy](crate::CONTENT_SECURITY_POLICY) has to allow.
    #[must_use]
    pub fn with_script(mut self, path: Option<&'a str>) -> Self {
        self.script = path;
        self
    }

    /// The script that the page has.
    pub(crate) fn script(&self) -> Option<&str> {
        self.script
    }

    /// The view, at a page that there is.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The number of entries of the directory.
    pub fn total(&self) -> usize {
        self.entries.len()
    }

    /// The number of entries that the filter lets pass.
    pub fn matching(&self) -> usize {
        self.matching
    }

    /// The number of pages, at least 1.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// True if the directory holds more than is listed.
    pub fn is_truncated(&self) -> bool {
        self.entries.is_truncated()
    }

    /// The entries on the page.
    pub fn rows(&self) -> impl Iterator<Item = Entry<'a>> {
        self.numbers
            .iter()
            .filter_map(|&number| self.entries.get(number))
    }

    /// The bytes of the path of the directory.
    pub(crate) fn path_bytes(&self) -> &[u8] {
        self.path
    }

    /// The path of the directory for people.
    pub fn shown_path(&self) -> String {
        shown(self.path)
    }

    /// The directories from the root to the listed one.
    pub fn crumbs(&self) -> Vec<Crumb> {
        let segments: Vec<_> = self
            .path
            .split(|&byte| byte == b'/')
            .filter(|segment| !segment.is_empty())
            .collect();
        let link = |above: usize| match above {
            0 => "./".to_owned(),
            above => "../".repeat(above),
        };
        let root = Crumb {
            name: "/".to_owned(),
            href: link(segments.len()),
        };
        let above = (0..segments.len()).rev();
        let others = segments.iter().zip(above).map(|(segment, above)| Crumb {
            name: shown(segment),
            href: link(above),
        });
        std::iter::once(root).chain(others).collect()
    }

    /// True if there is a directory above.
    pub fn has_parent(&self) -> bool {
        self.path.iter().any(|&byte| byte != b'/')
    }

    /// The query of the page before this one.
    pub fn previous(&self) -> Option<String> {
        let page = self.view.page.checked_sub(1)?;
        Some(self.view.at_page(page).to_query())
    }

    /// The query of the page after this one.
    pub fn next(&self) -> Option<String> {
        let page = self.view.page.checked_add(1)?;
        (page < self.pages).then(|| self.view.at_page(page).to_query())
    }
}

/// The link to an entry, relative to the listing. It begins with `./`, so that no name is taken for a scheme.
pub(crate) fn href(entry: &Entry<'_>) -> String {
    let mut href = String::with_capacity(entry.name.len() + 3);
    href.push_str("./");
    encode_segment(entry.name, &mut href);
    if entry.kind == EntryKind::Directory {
        href.push('/');
    }
    href
}

/// The numbers of the entries whose names hold a text, whatever its case.
fn matching(entries: &Entries, filter: &str) -> Vec<usize> {
    if filter.is_empty() {
        return (0..entries.len()).collect();
    }
    let filter = filter.to_lowercase();
    let holds = |entry: &Entry<'_>| {
        let name = String::from_utf8_lossy(entry.name).to_lowercase();
        name.contains(&filter)
    };
    let numbered = entries.iter().enumerate();
    let found = numbered.filter(|(_, entry)| holds(entry));
    found.map(|(number, _)| number).collect()
}

/// Sorts the numbers of entries. What is equal stays in the order of the names.
fn sort(numbers: &mut [usize], entries: &Entries, view: &View) {
    let kind = |number: &usize| entries.get(*number).map(|entry| entry.kind);
    // Directories have no size to be sorted by.
    let key = |number: &usize| {
        let entry = entries.get(*number);
        match view.sort {
            Sort::Name => i128::try_from(*number).unwrap_or(i128::MAX),
            Sort::Size => entry.map_or(0, |entry| match entry.kind {
                EntryKind::Directory => 0,
                EntryKind::File => i128::from(entry.size),
            }),
            Sort::Date => entry.map_or(0, |entry| i128::from(entry.modified)),
        }
    };
    match (view.sort, view.order) {
        // As they lie.
        (Sort::Name, Order::Ascending) => {}
        (_, Order::Ascending) => numbers.sort_by_key(|number| (kind(number), key(number))),
        (_, Order::Descending) => {
            numbers.sort_by_key(|number| (kind(number), Reverse(key(number))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(list: &[(&str, EntryKind, u64, i64)]) -> Entries {
        let mut entries = Entries::builder();
        for (name, kind, size, modified) in list {
            entries.add(name.as_bytes(), *kind, *size, *modified);
        }
        entries.build()
    }

    #[test]
    fn pages_are_sorted_and_filtered_with_directories_first() {
        let entries = entries(&[
            ("b.txt", EntryKind::File, 10, 30),
            ("a.txt", EntryKind::File, 30, 10),
            ("C.log", EntryKind::File, 20, 20),
            ("dir", EntryKind::Directory, 4096, 5),
            ("a dir", EntryKind::Directory, 0, 50),
        ]);
        let check = |query: &str, expected: &[&str]| {
            let view = View::of_query(query.as_bytes());
            let page = Page::new(b"/x/", &entries, &view);
            let names: Vec<_> = page.rows().map(|row| shown(row.name)).collect();
            assert_eq!(names, expected, "{query}");
            assert_eq!((page.pages(), page.matching()), (1, expected.len()));
        };
        check("", &["a dir", "dir", "a.txt", "b.txt", "C.log"]);
        check("order=desc", &["dir", "a dir", "C.log", "b.txt", "a.txt"]);
        check("sort=size", &["a dir", "dir", "b.txt", "C.log", "a.txt"]);
        check(
            "sort=size&order=desc",
            &["a dir", "dir", "a.txt", "C.log", "b.txt"],
        );
        check("sort=date", &["dir", "a dir", "a.txt", "C.log", "b.txt"]);
        check("filter=TXT", &["a.txt", "b.txt"]);
        check("filter=c.LOG", &["C.log"]);
        check("filter=nothing", &[]);
    }

    #[test]
    fn a_hundred_thousand_entries_are_a_hundred_pages() {
        let mut all = Entries::builder();
        for number in 0..100_000_u32 {
            all.add(format!("file{number}").as_bytes(), EntryKind::File, 1, 1);
        }
        let all = all.build();
        let at = |page| {
            let view = View::default().at_page(page);
            let page = Page::new(b"/", &all, &view);
            let rows = page.rows().map(|row| shown(row.name)).collect::<Vec<_>>();
            let links = (page.previous().is_some(), page.next().is_some());
            (page.view().page, page.pages(), rows, links)
        };
        let (page, pages, rows, links) = at(0);
        assert_eq!((page, pages, links), (0, 100, (false, true)));
        assert_eq!((&*rows[0], rows.len()), ("file0", PAGE_LENGTH));
        let (_, _, rows, links) = at(41);
        assert_eq!((&*rows[999], links), ("file41999", (true, true)));
        // Beyond the last it is the last.
        let (page, _, rows, links) = at(u32::MAX);
        assert_eq!((page, &*rows[999], links), (99, "file99999", (true, false)));
    }

    #[test]
    fn crumbs_lead_up() {
        let none = Entries::default();
        let check = |path: &[u8], expected: &[(&str, &str)], has_parent| {
            let page = Page::new(path, &none, &View::default());
            let crumbs = page.crumbs();
            let found: Vec<_> = crumbs
                .iter()
                .map(|crumb| (&*crumb.name, &*crumb.href))
                .collect();
            assert_eq!(found, expected);
            assert_eq!(page.has_parent(), has_parent);
        };
        check(b"/", &[("/", "./")], false);
        check(
            b"/a/b\xff/",
            &[("/", "../../"), ("a", "../"), ("b\u{fffd}", "./")],
            true,
        );
    }

    #[test]
    fn links_lead_to_the_bytes_of_a_name() {
        let check = |name: &[u8], kind, expected: &str| {
            let entry = Entry {
                name,
                kind,
                size: 0,
                modified: 0,
            };
            assert_eq!(href(&entry), expected);
        };
        check(b"a b", EntryKind::File, "./a%20b");
        check(b"javascript:x", EntryKind::File, "./javascript%3Ax");
        check(
            b"\xff\r\n\"?#&",
            EntryKind::Directory,
            "./%FF%0D%0A%22%3F%23%26/",
        );
    }
}
