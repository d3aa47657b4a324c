//! The entries of one directory, side by side in little memory: a hundred thousand are some megabytes.

use crate::order;

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKind {
    /// A directory.
    Directory,
    /// A file.
    File,
}

/// An entry of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The bytes of its name, which may be no text.
    pub name: &'a [u8],
    /// What it is.
    pub kind: EntryKind,
    /// The length of a file in bytes.
    pub size: u64,
    /// The time of its last change, in seconds since 1970.
    pub modified: i64,
}

/// The entries of a directory, in the order of their names, directories first.
#[derive(Debug, Default)]
pub struct Entries {
    /// All names, one after the other.
    names: Vec<u8>,
    records: Vec<Record>,
    is_truncated: bool,
}

/// An entry whose name lies with the others.
#[derive(Clone, Copy, Debug)]
struct Record {
    size: u64,
    modified: i64,
    start: u32,
    length: u16,
    kind: EntryKind,
}

/// The builder of [`Entries`].
#[derive(Debug, Default)]
pub struct EntriesBuilder(Entries);

impl Entries {
    /// A builder of entries, which are added in any order.
    pub fn builder() -> EntriesBuilder {
        EntriesBuilder::default()
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// True if the directory holds more than these.
    pub fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// The bytes of memory that they take, about.
    pub fn weight(&self) -> usize {
        self.names.capacity() + self.records.capacity() * std::mem::size_of::<Record>()
    }

    /// The entries, directories first, each kind in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = Entry<'_>> {
        self.records.iter().map(|record| self.entry(record))
    }

    /// The entry with this number.
    pub(crate) fn get(&self, number: usize) -> Option<Entry<'_>> {
        self.records.get(number).map(|record| self.entry(record))
    }

    fn entry(&self, record: &Record) -> Entry<'_> {
        Entry {
            name: record.name(&self.names),
            kind: record.kind,
            size: record.size,
            modified: record.modified,
        }
    }
}

impl Record {
    fn name<'a>(&self, names: &'a [u8]) -> &'a [u8] {
        let start = usize::try_from(self.start).unwrap_or(usize::MAX);
        let end = start.saturating_add(usize::from(self.length));
        names.get(start..end).unwrap_or_default()
    }
}

impl EntriesBuilder {
    /// Adds an entry. What could be no file's name, because it is empty, say, or longer than 65,535 bytes, is left out.
    pub fn add(&mut self, name: &[u8], kind: EntryKind, size: u64, modified: i64) {
        let entries = &mut self.0;
        let (Ok(start), Ok(length)) = (
            u32::try_from(entries.names.len()),
            u16::try_from(name.len()),
        ) else {
            return;
        };
        if matches!(name, b"" | b"." | b"..") || name.contains(&b'/') {
            return;
        }
        entries.names.extend_from_slice(name);
        entries.records.push(Record {
            size,
            modified,
            start,
            length,
            kind,
        });
    }

    /// Notes that the directory holds more entries.
    pub fn truncate(&mut self) {
        self.0.is_truncated = true;
    }

    /// The entries in their order.
    pub fn build(self) -> Entries {
        let mut entries = self.0;
        entries.names.shrink_to_fit();
        entries.records.shrink_to_fit();
        let names = &entries.names;
        entries.records.sort_unstable_by(|one, other| {
            let names = || order::of_names(one.name(names), other.name(names));
            one.kind.cmp(&other.kind).then_with(names)
        });
        entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_in_order_and_what_is_no_name_is_left_out() {
        let mut entries = Entries::builder();
        let long = [b'a'; 65_536];
        for name in [
            &b"b"[..],
            b"",
            b".",
            b"..",
            b"x/y",
            &long,
            b"a10",
            b"a9",
            b"\xff",
        ] {
            entries.add(name, EntryKind::File, 1, 2);
        }
        entries.add(b"z", EntryKind::Directory, 0, 3);
        let entries = entries.build();
        let names: Vec<_> = entries.iter().map(|entry| entry.name).collect();
        assert_eq!(names, [&b"z"[..], b"a9", b"a10", b"b", b"\xff"]);
        assert!(!entries.is_truncated() && entries.len() == 5);
        assert!(entries.weight() < 5 * 40);
    }
}
