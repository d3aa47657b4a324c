//! The names of sites, by numbers that requests carry instead of them.

use std::sync::{Arc, Mutex, PoisonError};

/// The names of the sites of a process. A number stands for its name as long as the process lives, whatever sites a
/// reload brings: requests that it goes by may end later.
#[derive(Debug)]
pub struct SiteNames(Mutex<Vec<Arc<str>>>);

impl Default for SiteNames {
    /// The name 0 is empty: that of a site alone, and of a request that is for none.
    fn default() -> Self {
        SiteNames(Mutex::new(vec![Arc::default()]))
    }
}

impl SiteNames {
    /// The number of a name; 0 if there are too many.
    pub fn number(&self, name: &str) -> u16 {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = names.iter().position(|known| **known == *name);
        let Ok(number) = u16::try_from(known.unwrap_or(names.len())) else {
            return 0;
        };
        if known.is_none() {
            names.push(name.into());
        }
        number
    }

    /// All names so far, each at its number.
    pub fn all(&self) -> Vec<Arc<str>> {
        let names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        names.clone()
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
