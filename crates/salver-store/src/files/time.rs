//! Times as people write them: UTC, by the second.

use std::time::{SystemTime, UNIX_EPOCH};

use salver_semantics::CivilTime;

/// The last second that has four digits of a year.
pub(crate) const LAST: i64 = 253_402_300_799;

/// The whole seconds since 1970, no earlier than then and no later than the year 9999.
pub(crate) fn unix_seconds(now: SystemTime) -> i64 {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(LAST).min(LAST)
}

/// The seconds since 1970 of a time, if there is such a one since then.
pub(crate) fn unix_seconds_of(time: CivilTime) -> Option<i64> {
    let seconds = time.unix_seconds()?;
    // A leap second has the seconds of another time.
    (seconds >= 0 && CivilTime::of(seconds) == time).then_some(seconds)
}

/// A time as RFC 3339 writes it: `2026-11-24T01:35:10Z`.
pub fn written(unix_seconds: i64) -> String {
    CivilTime::of(unix_seconds).to_string()
}

/// The time that was written so.
pub(crate) fn read(text: &str) -> Option<i64> {
    let numbers = text.strip_suffix('Z')?;
    let (date, time) = numbers.split_once('T')?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let mut time = time.splitn(3, ':').map(|part| part.parse::<i64>().ok());
    let at = CivilTime {
        year: date.next()??,
        month: date.next()??,
        day: date.next()??,
        hour: time.next()??,
        minute: time.next()??,
        second: time.next()??,
    };
    // One moment has one text.
    unix_seconds_of(at).filter(|seconds| written(*seconds) == text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn moments_that_are_known() {
        let check = |seconds: i64, text: &str| {
            assert_eq!(written(seconds), text);
            assert_eq!(read(text), Some(seconds));
        };
        check(0, "1970-01-01T00:00:00Z");
        check(951_782_400, "2000-02-29T00:00:00Z");
        check(1_764_000_000, "2025-11-24T16:00:00Z");
        check(4_107_542_399, "2100-02-28T23:59:59Z");
        check(LAST, "9999-12-31T23:59:59Z");
    }

    #[test]
    fn what_is_no_moment() {
        for text in [
            "",
            "2026-02-30T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-1-01T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01 00:00:00Z",
            "2026-01-01T00:00:00",
            "1969-12-31T23:59:59Z",
            "+026-01-01T00:00:00Z",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn each_moment_is_read_as_it_was_written(seconds in 0..=LAST) {
            prop_assert_eq!(read(&written(seconds)), Some(seconds));
        }

        #[test]
        fn nothing_panics(text in "\\PC*") {
            let _ = read(&text);
        }
    }
}
