//! The dynamic table (RFC 7541 section 2.3.2): the field lines that were received last.

use std::collections::VecDeque;

use salver_fields::FieldLine;

/// The overhead of an entry, counted beside its bytes (section 4.1).
const OVERHEAD: usize = 32;

/// A dynamic table: first in, first out, within a number of bytes.
#[derive(Debug)]
pub(crate) struct DynamicTable {
    /// The entries, the newest first.
    entries: VecDeque<Entry>,
    /// Invariant: the sizes of all entries, at most `most`.
    size: usize,
    most: usize,
}

#[derive(Debug)]
struct Entry {
    /// The bytes of the name, then those of the value.
    bytes: Box<[u8]>,
    name: usize,
    is_valid: bool,
}

impl Entry {
    fn size(&self) -> usize {
        self.bytes.len() + OVERHEAD
    }
}

impl DynamicTable {
    pub(crate) fn new(most: usize) -> Self {
        DynamicTable {
            entries: VecDeque::new(),
            size: 0,
            most,
        }
    }

    /// The line of an entry; the newest is 0.
    pub(crate) fn get(&self, index: usize) -> Option<FieldLine<'_>> {
        let entry = self.entries.get(index)?;
        let (name, value) = entry.bytes.split_at_checked(entry.name)?;
        Some(FieldLine {
            name,
            value,
            is_valid: entry.is_valid,
        })
    }

    /// Adds an entry (section 4.4). One that is too large empties the table.
    pub(crate) fn insert(&mut self, name: &[u8], value: &[u8], is_valid: bool) {
        let size = name.len() + value.len() + OVERHEAD;
        self.shrink(self.most.saturating_sub(size));
        if size <= self.most {
            self.size += size;
            self.entries.push_front(Entry {
                bytes: [name, value].concat().into_boxed_slice(),
                name: name.len(),
                is_valid,
            });
        }
    }

    /// Sets the maximum size of the table (section 4.3).
    pub(crate) fn resize(&mut self, most: usize) {
        self.most = most;
        self.shrink(most);
    }

    fn shrink(&mut self, most: usize) {
        while self.size > most
            && let Some(entry) = self.entries.pop_back()
        {
            self.size -= entry.size();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(table: &DynamicTable) -> Vec<String> {
        let name = |index| table.get(index).map(|line| line.name.to_vec());
        let text = |name| String::from_utf8(name).unwrap();
        (0..).map_while(name).map(text).collect()
    }

    #[test]
    fn the_oldest_leave_when_there_is_no_room() {
        let mut table = DynamicTable::new(100);
        table.insert(b"a", b"12345678901234567", true);
        table.insert(b"b", b"12345678901234567", true);
        assert_eq!(
            (names(&table), table.size),
            (vec!["b".into(), "a".into()], 100)
        );
        table.insert(b"c", b"", false);
        assert_eq!(names(&table), ["c", "b"]);
        let invalid = FieldLine {
            name: b"c",
            value: b"",
            is_valid: false,
        };
        assert_eq!(table.get(0), Some(invalid));
        table.resize(40);
        assert_eq!(names(&table), ["c"]);
        table.insert(b"d", &[b'x'; 100], true);
        assert_eq!((names(&table).len(), table.size), (0, 0));
        table.resize(0);
        table.insert(b"", b"", true);
        assert_eq!(table.size, 0);
    }
}
