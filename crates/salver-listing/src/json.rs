//! The page of a listing as JSON (RFC 8259), for programs.

use std::fmt::Write as _;

use crate::entries::EntryKind;
use crate::page::{Page, href};
use crate::text::rfc3339;

impl Page<'_> {
    /// The page as a JSON object: `path`, `total`, `matching`, `page`, `pages`, `truncated`, `next`, `previous`, and
    /// `entries` with `name`, `href`, `kind`, `size` and `modified`. A name that is no UTF-8 is exact in `href` alone.
    pub fn to_json(&self) -> String {
        let mut json = String::from("{\"path\":");
        // Of a path that is no text, no more can be said.
        text(&String::from_utf8_lossy(self.path_bytes()), &mut json);
        let _ = write!(
            json,
            ",\"total\":{},\"matching\":{},\"page\":{},\"pages\":{},\"truncated\":{}",
            self.total(),
            self.matching(),
            self.view().page + 1,
            self.pages(),
            self.is_truncated()
        );
        for (name, query) in [("previous", self.previous()), ("next", self.next())] {
            let _ = write!(json, ",\"{name}\":");
            match query {
                Some(query) => text(&query, &mut json),
                None => json.push_str("null"),
            }
        }
        json.push_str(",\"entries\":[");
        for (number, entry) in self.rows().enumerate() {
            json.push_str(if number == 0 { "\n" } else { ",\n" });
            json.push_str("{\"name\":");
            text(&String::from_utf8_lossy(entry.name), &mut json);
            json.push_str(",\"href\":");
            text(&href(&entry), &mut json);
            let _ = match entry.kind {
                EntryKind::Directory => write!(json, ",\"kind\":\"directory\",\"size\":null"),
                EntryKind::File => write!(json, ",\"kind\":\"file\",\"size\":{}", entry.size),
            };
            json.push_str(",\"modified\":");
            match rfc3339(entry.modified) {
                time if time.is_empty() => json.push_str("null"),
                time => text(&time, &mut json),
            }
            json.push('}');
        }
        json.push_str("]}\n");
        json
    }
}

/// Writes a string (RFC 8259 section 7).
fn text(value: &str, out: &mut String) {
    out.push('"');
    for character in value.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            '\u{0}'..='\u{1f}' | '\u{7f}' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            _ => out.push(character),
        }
    }
    out.push('"');
}
