//! The names of sites, by numbers that requests carry instead of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The names of the sites of a process. A number stands for its name as long as the process lives, whatever sites a
/// reload brings: requests that it goes by may end later.
#[derive(Debug)]
pub struct SiteNames(Mutex<Names>);

#[derive(Debug)]
struct Names {
    /// Each at its number.
    all: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u16>,
}

impl Default for SiteNames {
    /// The name 0 is empty: that of a site alone, and of a request that is for none.
    fn default() -> Self {
        let empty = Arc::<str>::default();
        SiteNames(Mutex::new(Names {
            all: vec![Arc::clone(&empty)],
            numbers: [(empty, 0)].into(),
        }))
    }
}

impl SiteNames {
    /// The number of a name; 0 if there are too many.
    pub fn number(&self, name: &str) -> u16 {
        let mut names = self.hold();
        if let Some(known) = names.numbers.get(name) {
            return *known;
        }
        let Ok(number) = u16::try_from(names.all.len()) else {
            return 0;
        };
        let name = Arc::<str>::from(name);
        names.all.push(Arc::clone(&name));
        names.numbers.insert(name, number);
        number
    }

    /// All names so far, each at its number.
    pub fn all(&self) -> Vec<Arc<str>> {
        self.hold().all.clone()
    }

    fn hold(&self) -> MutexGuard<'_, Names> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_numbers() {
        let names = SiteNames::default();
        let numbers = ["", "a", "b", "a", "", "c"].map(|name| names.number(name));
        assert_eq!(numbers, [0, 1, 2, 1, 0, 3]);
        assert_eq!(
            names.all().iter().map(|name| &**name).collect::<Vec<_>>(),
            ["", "a", "b", "c"]
        );
        for number in 4..=u16::MAX {
            assert_eq!(names.number(&number.to_string()), number);
        }
        assert_eq!((names.number("one too many"), names.number("c")), (0, 3));
    }
}
