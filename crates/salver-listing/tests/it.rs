//! Pages of hostile directories, judged by a parser of HTML and one of JSON that are not of this crate.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

use html5ever::tendril::TendrilSink as _;
use html5ever::{ParseOpts, parse_document};
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use proptest::prelude::*;
use salver_listing::{Entries, EntryKind, Page, View};

/// Names that people should not give to files.
fn hostile() -> Vec<Vec<u8>> {
    let mut names: Vec<Vec<u8>> = [
        &b"<script>alert(1)<"[..],
        b"</title><script>alert(1)",
        b"</style><b>",
        b"\"><img src=x onerror=alert(1)>",
        b"' onmouseover='alert(1)",
        b"&lt;b&gt;&amp;",
        b"a\r\nSet-Cookie: x=y",
        b"tab\there",
        b"javascript:alert(1)",
        b"http:",
        b"?query#fragment",
        b"%2e%2e%2f",
        b"..%5c",
        b"caf\xe9",
        b"\xff\xfe\x80",
        b"\x01\x1b[31m\x7f",
        b"-->",
        b"]]>",
        b" leading and trailing ",
        b"{{ 7 * 7 }}",
    ]
    .iter()
    .map(|name| name.to_vec())
    .collect();
    names.push("x\u{202e}gpj.exe".as_bytes().to_vec());
    names.push("\u{2066}\u{200f}\u{feff}\u{2028}".as_bytes().to_vec());
    names.push(vec![b'w'; 255]);
    names.push("é".repeat(127).into_bytes());
    names
}

fn entries(names: &[Vec<u8>]) -> Entries {
    let mut entries = Entries::builder();
    for (number, name) in names.iter().enumerate() {
        let kind = match number % 3 {
            0 => EntryKind::Directory,
            _ => EntryKind::File,
        };
        entries.add(name, kind, 1 << (number % 60), 1_700_000_000);
    }
    entries.build()
}

/// An element: its name, its attributes, its text.
type Element = (String, Vec<(String, String)>, String);

/// The elements of a page, and what its parser had to correct.
struct Parsed {
    elements: Vec<Element>,
    errors: Vec<String>,
}

fn parse(html: &str) -> Parsed {
    let dom = parse_document(RcDom::default(), ParseOpts::default()).one(html);
    let errors = dom
        .errors
        .borrow()
        .iter()
        .map(ToString::to_string)
        .collect();
    let mut elements = Vec::new();
    walk(&dom.document, &mut elements);
    Parsed { elements, errors }
}

fn walk(node: &Handle, elements: &mut Vec<Element>) {
    if let NodeData::Element { name, attrs, .. } = &node.data {
        let attrs = attrs.borrow();
        let attrs = attrs
            .iter()
            .map(|attr| (attr.name.local.to_string(), attr.value.to_string()));
        let mut text = String::new();
        collect(node, &mut text);
        elements.push((name.local.to_string(), attrs.collect(), text));
    }
    for child in node.children.borrow().iter() {
        walk(child, elements);
    }
}

fn collect(node: &Handle, text: &mut String) {
    if let NodeData::Text { contents } = &node.data {
        text.push_str(&contents.borrow());
    }
    for child in node.children.borrow().iter() {
        collect(child, text);
    }
}

/// The path that a relative link leads to, decoded.
fn decoded(href: &str) -> Vec<u8> {
    let mut bytes = href.bytes();
    let mut path = Vec::new();
    while let Some(byte) = bytes.next() {
        path.push(match byte {
            b'%' => {
                let digits = [bytes.next().unwrap(), bytes.next().unwrap()];
                u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
            }
            byte => byte,
        });
    }
    path
}

/// A page of these names holds exactly their links, and nothing that they would like to be.
fn check(path: &[u8], names: &[Vec<u8>], view: &View) {
    let entries = entries(names);
    let page = Page::new(path, &entries, view);
    let parsed = parse(&page.to_html());
    assert_eq!(parsed.errors, Vec::<String>::new());
    let known = [
        "html", "head", "meta", "title", "style", "body", "header", "nav", "h1", "a", "bdi",
        "span", "form", "input", "button", "p", "main", "table", "thead", "tbody", "tr", "th",
        "td", "data", "time",
    ];
    for (name, attrs, _) in &parsed.elements {
        assert!(known.contains(&&**name), "{name}");
        assert!(
            attrs.iter().all(|(name, _)| !name.starts_with("on")),
            "{attrs:?}"
        );
    }
    let links = parsed.elements.iter().filter(|(name, ..)| name == "a");
    let hrefs: Vec<_> = links
        .map(|(_, attrs, text)| {
            let href = attrs.iter().find(|(name, _)| name == "href").unwrap();
            (href.1.clone(), text.clone())
        })
        .collect();
    for entry in page.rows() {
        let found = hrefs.iter().find(|(href, _)| {
            let path = decoded(href);
            let path = path.strip_prefix(b"./").unwrap_or_default();
            path.strip_suffix(b"/").unwrap_or(path) == entry.name
        });
        let (href, text) = found.unwrap_or_else(|| panic!("no link to {:?}", entry.name));
        assert!(
            href.is_ascii() && !href.contains(['"', '\'', '<', '>', ' ', ':']),
            "{href}"
        );
        assert!(!text.chars().any(char::is_control), "{text:?}");
    }
    let json: serde_json::Value = serde_json::from_str(&page.to_json()).unwrap();
    let listed = json["entries"].as_array().unwrap();
    assert_eq!(listed.len(), page.rows().count());
    for (listed, entry) in listed.iter().zip(page.rows()) {
        assert_eq!(listed["name"], String::from_utf8_lossy(entry.name).as_ref());
        let href = decoded(listed["href"].as_str().unwrap());
        assert!(href.starts_with(&[b"./", entry.name].concat()));
    }
}

#[test]
fn hostile_names_are_names_and_nothing_else() {
    let names = hostile();
    let filtered = |filter: &[u8]| View {
        filter: String::from_utf8_lossy(filter).into_owned(),
        ..View::default()
    };
    check(b"/", &names, &View::default());
    for name in &names {
        let path = [b"/", &**name, b"/x/"].concat();
        check(&path, &names, &filtered(name));
    }
}

#[test]
fn empty_and_paged_directories_are_pages() {
    check(b"/", &[], &View::default());
    check(b"/a/", &[], &View::of_query(b"filter=x&page=7"));
    let many: Vec<_> = (0..3500)
        .map(|number| format!("f{number}").into_bytes())
        .collect();
    check(
        b"/a/",
        &many,
        &View::of_query(b"page=2&sort=size&order=desc"),
    );
    let mut truncated = Entries::builder();
    truncated.truncate();
    let truncated = truncated.build();
    let page = Page::new(b"/", &truncated, &View::default());
    assert!(page.to_html().contains("holds more"));
    assert!(page.to_json().contains("\"truncated\":true"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn any_names_are_safe(
        names in proptest::collection::hash_set(
            proptest::collection::vec(any::<u8>().prop_filter("no name has it", |byte| !b"\0/".contains(byte)), 1..20)
                .prop_filter("these are no names", |name| name != b"." && name != b".."),
            0..6,
        ),
        query in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let names: Vec<_> = names.into_iter().collect();
        check(b"/", &names, &View::of_query(&query));
    }
}
