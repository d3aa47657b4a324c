//! Places of hashes in names: what a name may carry where those beside it carry hashes.

use std::collections::HashMap;

use super::{FileClass, LEAST_SHARE, Looks, Mark, kind, marks};

/// The places in the names of a directory at which hashes stand.
///
/// One hash in fourteen looks like what people write (`Crew-BEwzoga7.css`). Beside others that can be nothing else it is
/// one all the same, most likely: see [`may_be_fingerprinted`](crate::may_be_fingerprinted).
#[derive(Clone, Debug, Default)]
pub struct HashPlaces {
    /// The names with a hash by its length and what stands before it.
    places: HashMap<(usize, Option<u8>), usize>,
    /// The names of kinds that build tools make or rename.
    names: usize,
}

impl HashPlaces {
    /// The places in these names of one directory, each given once.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut found = HashPlaces::default();
        for name in names {
            if kind(name) == FileClass::Other {
                continue;
            }
            found.names += 1;
            if let Some(mark) = marks(name, false).iter().find(|mark| mark.is_evidence()) {
                *found.places.entry(mark.place()).or_default() += 1;
            }
        }
        found
    }

    /// True if the name at the end of `path` has something where others have a hash: at least one other name, and no
    /// small part of all.
    pub(crate) fn has(&self, path: &[u8]) -> bool {
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        marks(name, false).iter().any(|mark| {
            let count = self.places.get(&mark.place()).copied().unwrap_or_default();
            // The name itself says nothing for it.
            let others = count.saturating_sub(usize::from(mark.is_evidence()));
            let all = self
                .names
                .saturating_sub(usize::from(mark.kind != FileClass::Other));
            others >= 1 && others * LEAST_SHARE >= all
        })
    }
}

impl Mark<'_> {
    fn place(&self) -> (usize, Option<u8>) {
        (self.hash.len(), self.separator)
    }

    /// True if nearly nobody would write it.
    fn is_evidence(&self) -> bool {
        self.looks() >= Looks::Noise
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, beside: &str, expected: bool) {
        // Whether the name itself is among them makes no difference.
        for names in [beside.to_owned(), format!("{beside} {name}")] {
            let places = HashPlaces::of(names.split_whitespace().map(str::as_bytes));
            assert_eq!(places.has(name.as_bytes()), expected, "{name} in {names}");
        }
    }

    #[test]
    fn what_stands_where_hashes_do() {
        let vite = "index-Bx3f9_aP.css index-B7kq_2xZ.js Panel-DvuGvLzb.js";
        check("Crew-BEwzoga7.css", vite, true);
        check("Berths-r70Potyt.js", vite, true);
        check("Report-DEB9IXQI.js.br", vite, true);
        check("Dashboard-Settings.js", vite, true);
        check("manual-BEwzoga7.pdf", vite, true);
        // Nothing stands there, or something of another length, or behind something else.
        check("Crew.css", vite, false);
        check("Crew-BEwzoga.css", vite, false);
        check("Crew.BEwzoga7.css", vite, false);
        check("overview.js", vite, false);
    }

    #[test]
    fn others_have_to_say_so() {
        check("Crew-BEwzoga7.css", "", false);
        check("Crew-BEwzoga7.css", "robots.txt index.html", false);
        check(
            "parse-Settings.js",
            "parse-Overview.js parse-Document.js",
            false,
        );
        // One of many is chance.
        let mostly_written = "index-Bx3f9_aP.css a.js b.js c.js d.js";
        check("Crew-BEwzoga7.css", mostly_written, false);
        check("Crew-BEwzoga7.css", "index-Bx3f9_aP.css a.js b.js", true);
    }
}
