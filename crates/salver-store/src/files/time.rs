//! Times as people write them: UTC, by the second.

use std::time::{SystemTime, UNIX_EPOCH};

const DAY: i64 = 86_400;

/// The last second that has four digits of a year.
pub(crate) const LAST: i64 = 253_402_300_799;

/// A moment as year, month, day, hour, minute and second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    pub(crate) month: i64,
    pub(crate) day: i64,
    pub(crate) second_of_day: i64,
}

/// The whole seconds since 1970, no earlier than then and no later than the year 9999.
pub(crate) fn unix_seconds(now: SystemTime) -> i64 {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(LAST).min(LAST)
}

impl Civil {
    /// The moment of so many seconds since 1970. The calendar is Gregorian, counted in years that begin with March.
    pub(crate) fn of(unix_seconds: i64) -> Self {
        let days = unix_seconds.div_euclid(DAY) + 719_468;
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * day_of_year + 2) / 153;
        let month = if shifted < 10 {
            shifted + 3
        } else {
            shifted - 9
        };
        Civil {
            year: year_of_era + era * 400 + i64::from(month <= 2),
            month,
            day: day_of_year - (153 * shifted + 2) / 5 + 1,
            second_of_day: unix_seconds.rem_euclid(DAY),
        }
    }

    /// The seconds since 1970 of this moment, if there is such a day.
    pub(crate) fn unix_seconds(self) -> Option<i64> {
        let Civil {
            year,
            month,
            day,
            second_of_day,
        } = self;
        let is_possible = (1970..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && (0..DAY).contains(&second_of_day);
        if !is_possible {
            return None;
        }
        let from_march = if month <= 2 { year - 1 } else { year };
        let (era, year_of_era) = (from_march.div_euclid(400), from_march.rem_euclid(400));
        let shifted = if month > 2 { month - 3 } else { month + 9 };
        let day_of_year = (153 * shifted + 2) / 5 + day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        let days = era * 146_097 + day_of_era - 719_468;
        let seconds = days * DAY + second_of_day;
        // The 30th of February would be another day.
        (Civil::of(seconds) == self).then_some(seconds)
    }
}

/// A time as RFC 3339 writes it: `2026-11-24T01:35:10Z`.
pub fn written(unix_seconds: i64) -> String {
    let at = Civil::of(unix_seconds);
    let (hour, rest) = (at.second_of_day / 3600, at.second_of_day % 3600);
    format!(
        "{:04}-{:02}-{:02}T{hour:02}:{:02}:{:02}Z",
        at.year,
        at.month,
        at.day,
        rest / 60,
        rest % 60
    )
}

/// The time that was written so.
pub(crate) fn read(text: &str) -> Option<i64> {
    let numbers = text.strip_suffix('Z')?;
    let (date, time) = numbers.split_once('T')?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let mut time = time.splitn(3, ':').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    let at = Civil {
        year,
        month,
        day,
        second_of_day: hour * 3600 + minute * 60 + second,
    };
    // One moment has one text.
    at.unix_seconds()
        .filter(|seconds| written(*seconds) == text)
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
