//! The rows, a file per theme.

mod caching;
mod dictionaries;
mod directories;
mod fields;
mod flags;
mod framing;
pub(crate) mod malformed;
mod messages;
mod methods;
mod multirange;
mod negotiation;
mod paths;
mod preconditions;
mod ranges;
mod siblings;
mod special;
mod targets;
mod types;
mod validators;

use crate::exchange::Exchange;
use crate::fixture::Fixture;

/// Every row of every setup. The fixture gives the bytes to compare with; nothing is sent.
#[must_use]
pub fn exchanges(fixture: &Fixture) -> Vec<Exchange> {
    let mut rows = Vec::new();
    messages::rows(fixture, &mut rows);
    fields::rows(fixture, &mut rows);
    framing::rows(fixture, &mut rows);
    targets::rows(fixture, &mut rows);
    methods::rows(fixture, &mut rows);
    paths::rows(fixture, &mut rows);
    directories::rows(fixture, &mut rows);
    special::rows(fixture, &mut rows);
    types::rows(fixture, &mut rows);
    validators::rows(fixture, &mut rows);
    preconditions::rows(fixture, &mut rows);
    ranges::rows(fixture, &mut rows);
    multirange::rows(fixture, &mut rows);
    negotiation::rows(fixture, &mut rows);
    dictionaries::rows(fixture, &mut rows);
    siblings::rows(fixture, &mut rows);
    caching::rows(fixture, &mut rows);
    flags::rows(fixture, &mut rows);
    rows
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::expect::ContentRule;
    use crate::setup::Setup;

    fn table() -> (tempfile::TempDir, Fixture, Vec<Exchange>) {
        let directory = tempfile::tempdir().unwrap();
        let fixture = Fixture::build(directory.path()).unwrap();
        let rows = exchanges(&fixture);
        (directory, fixture, rows)
    }

    #[test]
    fn rows_can_be_told_apart_and_know_their_files() {
        let (_directory, _fixture, rows) = table();
        let mut seen = HashSet::new();
        for row in &rows {
            for setup in row.setups {
                assert!(
                    seen.insert((row.name.clone(), *setup)),
                    "twice: {}",
                    row.name
                );
            }
            assert!(!row.setups.is_empty(), "{} is never played", row.name);
            assert!(
                !row.expect.statuses.is_empty(),
                "{} expects nothing",
                row.name
            );
            let contents = match &row.expect.content {
                ContentRule::Exactly(content) => vec![content.clone()],
                ContentRule::Parts { parts, .. } => {
                    parts.iter().map(|(_, content)| content.clone()).collect()
                }
                _ => Vec::new(),
            };
            for content in contents {
                assert!(
                    !content.starts_with(b"the fixture has no file"),
                    "{}",
                    row.name
                );
            }
        }
    }

    #[test]
    fn every_setup_has_rows() {
        let (_directory, _fixture, rows) = table();
        for setup in Setup::ALL {
            let count = rows
                .iter()
                .filter(|row| row.setups.contains(&setup))
                .count();
            assert!(count >= 4, "{setup:?} has {count} rows");
        }
        assert!(rows.len() > 800, "{} rows", rows.len());
    }
}
