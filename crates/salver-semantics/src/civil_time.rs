//! Times of the calendar, in UTC.

use std::fmt;

const DAY: i64 = 86_400;

/// A time of the proleptic Gregorian calendar in UTC, not necessarily an existing one. The order of the fields makes the
/// derived order the order of time. Displayed as RFC 3339 writes it: `2026-11-24T01:35:10Z`.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CivilTime {
    /// The year; 0 is the one before 1.
    pub year: i64,
    /// 1 to 12.
    pub month: i64,
    /// From 1.
    pub day: i64,
    /// 0 to 23.
    pub hour: i64,
    /// 0 to 59.
    pub minute: i64,
    /// 0 to 59; 60 is a leap second, which is the next minute's first.
    pub second: i64,
}

impl CivilTime {
    /// The time so many seconds after 1970 began, leap seconds not counted.
    pub fn of(unix_seconds: i64) -> Self {
        let seconds = unix_seconds.rem_euclid(DAY);
        // Days are counted from 1 March of year 0, so that the leap day is the last of its year;
        // eras are the 400 years after which the calendar repeats.
        let days = unix_seconds.div_euclid(DAY) + 719_468;
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let month = if month_from_march < 10 {
            month_from_march + 3
        } else {
            month_from_march - 9
        };
        CivilTime {
            year: era * 400 + year_of_era + i64::from(month <= 2),
            month,
            day: day_of_year - (153 * month_from_march + 2) / 5 + 1,
            hour: seconds / 3_600,
            minute: seconds / 60 % 60,
            second: seconds % 60,
        }
    }

    /// The seconds from 1970 to this time; `None` if there is no such day or time in a year of four digits.
    pub fn unix_seconds(self) -> Option<i64> {
        let CivilTime {
            year,
            month,
            day,
            hour,
            minute,
            second,
        } = self;
        let exists = (0..=9_999).contains(&year)
            && (1..=days_in_month(year, month)).contains(&day)
            && (0..=23).contains(&hour)
            && (0..=59).contains(&minute)
            && (0..=60).contains(&second);
        if !exists {
            return None;
        }
        let march_year = year - i64::from(month <= 2);
        let era = march_year.div_euclid(400);
        let year_of_era = march_year.rem_euclid(400);
        let month_from_march = if month > 2 { month - 3 } else { month + 9 };
        let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        let days = era * 146_097 + day_of_era - 719_468;
        Some(days * DAY + hour * 3_600 + minute * 60 + second)
    }
}

impl fmt::Display for CivilTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CivilTime {
            year,
            month,
            day,
            hour,
            minute,
            second,
        } = self;
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
        )
    }
}

/// The number of days; 0 if there is no such month.
fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        _ => 0,
    }
}
