//! Floors of what may be told without asking: what was asked for before somebody said that it has changed is compared first.

/// The most floors of prefixes that have something in common; for more than these there is one for two that are most alike.
const MOST: usize = 64;

/// The floors by what paths begin with, of times that only grow.
#[derive(Clone, Debug)]
pub(crate) struct Floors<T> {
    /// Ordered by their prefixes, once there are too many.
    all: Vec<(Box<[u8]>, T)>,
    /// The bytes that prefixes must have in common for one floor to be for both.
    within: usize,
}

impl<T: Copy + Ord> Floors<T> {
    /// None so far, of prefixes that begin with so many bytes that tell one place from another.
    pub(crate) fn within(bytes: usize) -> Self {
        Floors {
            all: Vec::new(),
            within: bytes,
        }
    }

    /// Has all beneath a prefix compared that was asked for before.
    pub(crate) fn raise(&mut self, prefix: &[u8], to: T) {
        self.add(prefix.into(), to);
        while self.all.len() > MOST && self.merge() {}
    }

    fn add(&mut self, prefix: Box<[u8]>, to: T) {
        self.all
            .retain(|(known, floor)| !(known.starts_with(&prefix) && *floor <= to));
        self.all.push((prefix, to));
    }

    /// Has one floor take the place of two, for as little besides as possible; false if none can.
    fn merge(&mut self) -> bool {
        // Those that are most alike lie side by side.
        self.all.sort_by(|(one, _), (other, _)| one.cmp(other));
        let pairs = self.all.iter().zip(self.all.iter().skip(1)).enumerate();
        let common = pairs.map(|(place, ((one, _), (other, _)))| {
            let same = one.iter().zip(other).take_while(|(a, b)| a == b);
            (same.count(), place)
        });
        let most = common.max().filter(|(length, _)| *length >= self.within);
        let Some((length, place)) = most else {
            return false;
        };
        let both: Vec<_> = self.all.drain(place..place + 2).collect();
        let latest = both.iter().map(|(_, floor)| *floor).max();
        let prefix = both.first().and_then(|(one, _)| one.get(..length));
        if let (Some(prefix), Some(latest)) = (prefix, latest) {
            self.add(prefix.into(), latest);
        }
        true
    }

    /// Lets go of the floors of prefixes that begin so and are no later than this: nothing is told any more of what was asked
    /// for before.
    pub(crate) fn forget(&mut self, prefix: &[u8], until: T) {
        self.all
            .retain(|(known, floor)| *floor > until || !known.starts_with(prefix));
    }

    /// True if there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// True if what was asked for then, at a path, may be told.
    pub(crate) fn permit(&self, path: &[u8], asked: T) -> bool {
        let mut floors = self.all.iter();
        floors.all(|(prefix, floor)| asked >= *floor || !path.starts_with(prefix))
    }

    /// The floors.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], T)> {
        self.all.iter().map(|(prefix, floor)| (&**prefix, *floor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_older_than_a_floor_is_not_told() {
        let mut floors = Floors::within(0);
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
    fn there_are_so_many_and_then_one_for_those_that_are_alike() {
        let mut floors = Floors::within(0);
        for number in 0..10 * MOST {
            floors.raise(format!("blog/{number:03}/").as_bytes(), number);
            floors.raise(b"docs/a/", number);
            assert!(floors.iter().count() <= MOST, "{number}");
        }
        // Each holds still, and what is like none of them is as it was.
        for number in 1..10 * MOST {
            let path = format!("blog/{number:03}/x");
            assert!(!floors.permit(path.as_bytes(), number - 1), "{path}");
        }
        for path in ["docs/b", "x", "blog.html"] {
            assert!(floors.permit(path.as_bytes(), 0), "{path}");
        }
        floors.forget(b"docs/", 10 * MOST);
        assert!(floors.permit(b"docs/a/x", 0));
        floors.forget(b"", MOST);
        assert!(!floors.permit(format!("blog/{:03}/x", 9 * MOST).as_bytes(), 8 * MOST));
        floors.forget(b"", 10 * MOST);
        assert!(floors.is_empty());
    }

    #[test]
    fn no_floor_is_for_two_places() {
        let mut floors = Floors::within(2);
        for place in 0..100_u8 {
            for number in 0..10 {
                floors.raise(&[b'p', place, number], u32::from(place));
            }
        }
        assert_eq!(floors.iter().count(), 100);
        for place in 1..100 {
            let path = [b'p', place, 3];
            let floor = u32::from(place);
            assert!(floors.permit(&path, floor) && !floors.permit(&path, floor - 1));
        }
    }
}
