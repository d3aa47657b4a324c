//! Floors of what may be told without asking: what was asked for before somebody said that it has changed is compared first.

/// The most floors; for more than these there is one for all paths.
const MOST: usize = 64;

/// The floors by what paths begin with, of times that only grow.
#[derive(Clone, Debug)]
pub(crate) struct Floors<T>(Vec<(Box<[u8]>, T)>);

impl<T> Default for Floors<T> {
    fn default() -> Self {
        Floors(Vec::new())
    }
}

impl<T: Copy + Ord> Floors<T> {
    /// Has all beneath a prefix compared that was asked for before.
    pub(crate) fn raise(&mut self, prefix: &[u8], to: T) {
        self.0
            .retain(|(known, floor)| !(known.starts_with(prefix) && *floor <= to));
        if self.0.len() >= MOST {
            let latest = self.0.drain(..).map(|(_, floor)| floor).max();
            self.0
                .push((Box::default(), latest.map_or(to, |latest| latest.max(to))));
            return;
        }
        self.0.push((prefix.into(), to));
    }

    /// True if there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if what was asked for then, at a path, may be told.
    pub(crate) fn permit(&self, path: &[u8], asked: T) -> bool {
        let mut floors = self.0.iter();
        floors.all(|(prefix, floor)| asked >= *floor || !path.starts_with(prefix))
    }

    /// The floors.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], T)> {
        self.0.iter().map(|(prefix, floor)| (&**prefix, *floor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_older_than_a_floor_is_not_told() {
        let mut floors = Floors::default();
        assert!(floors.permit(b"a", 0));
        floors.raise(b"a/", 5);
        let check = |floors: &Floors<u32>, path: &str, asked, expected| {
            let permitted = floors.permit(path.as_bytes(), asked);
            assert_eq!(permitted, expected, "{path} {asked}");
        };
        check(&floors, "a/b", 4, false);
        check(&floors, "a/b", 5, true);
        check(&floors, "ab", 4, true);
        floors.raise(b"a/b", 3);
        check(&floors, "a/b", 5, true);
        floors.raise(b"", 9);
        assert_eq!(floors.iter().count(), 1);
        check(&floors, "x", 8, false);
        floors.raise(b"x", 10);
        check(&floors, "x", 9, false);
        check(&floors, "y", 9, true);
    }

    #[test]
    fn there_are_so_many_and_then_one_for_all() {
        let mut floors = Floors::default();
        for number in 0..u32::try_from(MOST).unwrap() {
            floors.raise(format!("{number:03}").as_bytes(), number);
        }
        assert!(floors.permit(b"other", 0));
        floors.raise(b"one more", 50);
        assert_eq!(floors.iter().count(), 1);
        let latest = u32::try_from(MOST).unwrap() - 1;
        assert!(!floors.permit(b"other", latest - 1) && floors.permit(b"other", latest));
    }
}
