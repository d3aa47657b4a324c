//! HTTP-date, both directions (RFC 9110 section 5.6.7).

use crate::civil_time::CivilTime;

/// A point in time as HTTP knows it: whole seconds since 1970-01-01T00:00:00Z, leap seconds not
/// counted. Negative before 1970. Always within the years 0 to 9999 (proleptic Gregorian), because
/// an HTTP-date has four digits for the year.
///
/// ```
/// use salver_semantics::HttpDate;
///
/// let date = HttpDate::from_unix_seconds(784_111_777);
/// assert_eq!(&date.format(), b"Sun, 06 Nov 1994 08:49:37 GMT");
/// assert_eq!(HttpDate::parse(b"Sun Nov  6 08:49:37 1994", date), Some(date));
/// ```
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HttpDate(i64);

/// The earliest date, 0000-01-01T00:00:00Z.
const EARLIEST: i64 = -62_167_219_200;
/// The latest date, 9999-12-31T23:59:59Z.
const LATEST: i64 = 253_402_300_799;
const DAY: i64 = 86_400;

impl HttpDate {
    /// The date `seconds` after 1970-01-01T00:00:00Z, moved to the nearest end if outside of the years 0 to
    /// 9999: a file system may hold any time, and every time must be printable.
    pub const fn from_unix_seconds(seconds: i64) -> Self {
        if seconds < EARLIEST {
            HttpDate(EARLIEST)
        } else if seconds > LATEST {
            HttpDate(LATEST)
        } else {
            HttpDate(seconds)
        }
    }

    /// The seconds since 1970-01-01T00:00:00Z.
    pub const fn unix_seconds(self) -> i64 {
        self.0
    }

    /// The date as an IMF-fixdate, the only form that may be sent: `Sun, 06 Nov 1994 08:49:37 GMT`.
    pub fn format(self) -> [u8; 29] {
        let civil = CivilTime::of(self.0);
        let [w0, w1, w2] = weekday_name(self.0.div_euclid(DAY));
        let [m0, m1, m2] = month_name(civil.month);
        let [y0, y1, y2, y3] = digits(civil.year);
        let [d0, d1] = digits(civil.day);
        let [h0, h1] = digits(civil.hour);
        let [i0, i1] = digits(civil.minute);
        let [s0, s1] = digits(civil.second);
        [
            w0, w1, w2, b',', b' ', d0, d1, b' ', m0, m1, m2, b' ', y0, y1, y2, y3, b' ', h0, h1,
            b':', i0, i1, b':', s0, s1, b' ', b'G', b'M', b'T',
        ]
    }

    /// Reads an HTTP-date in any of its three forms (IMF-fixdate, RFC 850, asctime); `now` decides
    /// the century of the two-digit year that RFC 850 has.
    ///
    /// `None` unless all of `value` is such a date, by the letter: names are case-sensitive, the
    /// day must exist in its month, the zone is GMT. Second 60 is accepted on any minute (it is
    /// the next minute's first). The name of the day must be one, but is not held against the
    /// date: it carries no information, and clients compute it wrongly. Nothing is allocated.
    pub fn parse(value: &[u8], now: HttpDate) -> Option<HttpDate> {
        let civil = match value {
            [_, _, _, b',', ..] => imf_fixdate(value),
            [_, _, _, b' ', ..] => asctime(value),
            _ => rfc850(value, now),
        };
        civil?.unix_seconds().map(HttpDate::from_unix_seconds)
    }
}

/// The time of day on this day.
fn at(year: i64, month: i64, day: i64, (hour, minute, second): (i64, i64, i64)) -> CivilTime {
    CivilTime {
        year,
        month,
        day,
        hour,
        minute,
        second,
    }
}

/// `day-name "," SP 2DIGIT SP month SP 4DIGIT SP time-of-day SP GMT`.
fn imf_fixdate(value: &[u8]) -> Option<CivilTime> {
    let mut reader = DateReader(value);
    reader.one_of(&WEEKDAYS)?;
    reader.literal(b", ")?;
    let day = reader.number(2)?;
    reader.literal(b" ")?;
    let month = reader.month()?;
    reader.literal(b" ")?;
    let year = reader.number(4)?;
    reader.literal(b" ")?;
    let time = reader.time_of_day()?;
    reader.last(b" GMT")?;
    Some(at(year, month, day, time))
}

/// `day-name-l "," SP 2DIGIT "-" month "-" 2DIGIT SP time-of-day SP GMT`.
fn rfc850(value: &[u8], now: HttpDate) -> Option<CivilTime> {
    let mut reader = DateReader(value);
    reader.one_of(&LONG_WEEKDAYS)?;
    reader.literal(b", ")?;
    let day = reader.number(2)?;
    reader.literal(b"-")?;
    let month = reader.month()?;
    reader.literal(b"-")?;
    let year = reader.number(2)?;
    reader.literal(b" ")?;
    let time = reader.time_of_day()?;
    reader.last(b" GMT")?;

    // RFC 9110 section 5.6.7: what would be more than 50 years in the future is the most recent
    // year in the past with the same two digits. So: the latest year that is not beyond.
    let now = CivilTime::of(now.0);
    let beyond = CivilTime {
        year: now.year + 50,
        ..now
    };
    let next_century = now.year - now.year % 100 + 100;
    (0..3)
        .map(|back| at(next_century - back * 100 + year, month, day, time))
        .find(|candidate| *candidate <= beyond && candidate.year <= 9_999)
}

/// `day-name SP month SP ( 2DIGIT / ( SP 1DIGIT ) ) SP time-of-day SP 4DIGIT`.
fn asctime(value: &[u8]) -> Option<CivilTime> {
    let mut reader = DateReader(value);
    reader.one_of(&WEEKDAYS)?;
    reader.literal(b" ")?;
    let month = reader.month()?;
    reader.literal(b" ")?;
    let day = match reader.literal(b" ") {
        Some(()) => reader.number(1)?,
        None => reader.number(2)?,
    };
    reader.literal(b" ")?;
    let time = reader.time_of_day()?;
    reader.literal(b" ")?;
    let year = reader.number(4)?;
    reader.last(b"")?;
    Some(at(year, month, day, time))
}

/// The part of a date that is still to be read.
struct DateReader<'a>(&'a [u8]);

impl DateReader<'_> {
    fn literal(&mut self, expected: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(expected)?;
        Some(())
    }

    /// `expected`, and nothing after it.
    fn last(&mut self, expected: &[u8]) -> Option<()> {
        (self.0 == expected).then_some(())
    }

    /// The index of the name that comes next.
    fn one_of(&mut self, names: &[&[u8]]) -> Option<usize> {
        let (index, rest) = names
            .iter()
            .enumerate()
            .find_map(|(index, name)| Some((index, self.0.strip_prefix(*name)?)))?;
        self.0 = rest;
        Some(index)
    }

    /// 1 to 12.
    fn month(&mut self) -> Option<i64> {
        let index = self.one_of(&MONTHS)?;
        i64::try_from(index + 1).ok()
    }

    fn number(&mut self, length: usize) -> Option<i64> {
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        text.iter().try_fold(0, |sum, byte| {
            byte.is_ascii_digit()
                .then(|| sum * 10 + i64::from(byte - b'0'))
        })
    }

    fn time_of_day(&mut self) -> Option<(i64, i64, i64)> {
        let hour = self.number(2)?;
        self.literal(b":")?;
        let minute = self.number(2)?;
        self.literal(b":")?;
        let second = self.number(2)?;
        Some((hour, minute, second))
    }
}

/// The days of the week from Thursday on, the day of 1970-01-01.
const WEEKDAYS: [&[u8]; 7] = [b"Thu", b"Fri", b"Sat", b"Sun", b"Mon", b"Tue", b"Wed"];
const LONG_WEEKDAYS: [&[u8]; 7] = [
    b"Thursday",
    b"Friday",
    b"Saturday",
    b"Sunday",
    b"Monday",
    b"Tuesday",
    b"Wednesday",
];
const MONTHS: [&[u8]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

/// The name of the day that is `days` after 1970-01-01.
fn weekday_name(days: i64) -> [u8; 3] {
    name(&WEEKDAYS, days.rem_euclid(7))
}

/// The name of a month, 1 to 12.
fn month_name(month: i64) -> [u8; 3] {
    name(&MONTHS, month - 1)
}

fn name(names: &[&[u8]], index: i64) -> [u8; 3] {
    let name = usize::try_from(index)
        .ok()
        .and_then(|index| names.get(index).copied());
    // Callers stay within the table; the default is what that costs without a way to panic.
    name.and_then(|name| name.try_into().ok())
        .unwrap_or_default()
}

/// The last `N` decimal digits of a number that is not negative.
fn digits<const N: usize>(number: i64) -> [u8; N] {
    let mut text = [b'0'; N];
    let mut rest = number;
    for place in text.iter_mut().rev() {
        *place += u8::try_from(rest % 10).unwrap_or_default();
        rest /= 10;
    }
    text
}

#[cfg(test)]
mod tests;
