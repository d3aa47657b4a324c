//! HTTP-date (RFC 9110 section 5.6.7) in its one sendable form, written independently of the
//! server's own.

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Days from 1970-01-01 to the given day of the proleptic Gregorian calendar.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The inverse of [`days_from_civil`]: (year, month, day).
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
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
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

fn name<'a>(table: &[&'a str], index: i64) -> &'a str {
    usize::try_from(index)
        .ok()
        .and_then(|index| table.get(index))
        .copied()
        .unwrap_or("?")
}

/// The IMF-fixdate of a number of seconds since 1970, which may be negative.
pub(crate) fn format(seconds: i64) -> String {
    let days = seconds.div_euclid(86_400);
    let rest = seconds.rem_euclid(86_400);
    let (year, month, day) = civil_from_days(days);
    format!(
        "{}, {day:02} {} {year:04} {:02}:{:02}:{:02} GMT",
        name(&DAYS, days.rem_euclid(7)),
        name(&MONTHS, month - 1),
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

/// The same instant in the obsolete form of RFC 850, which a recipient must understand.
pub(crate) fn format_rfc850(seconds: i64) -> String {
    const LONG: [&str; 7] = [
        "Thursday",
        "Friday",
        "Saturday",
        "Sunday",
        "Monday",
        "Tuesday",
        "Wednesday",
    ];
    let days = seconds.div_euclid(86_400);
    let rest = seconds.rem_euclid(86_400);
    let (year, month, day) = civil_from_days(days);
    format!(
        "{}, {day:02}-{}-{:02} {:02}:{:02}:{:02} GMT",
        name(&LONG, days.rem_euclid(7)),
        name(&MONTHS, month - 1),
        year.rem_euclid(100),
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

/// The same instant as C's `asctime` writes it, which a recipient must understand.
pub(crate) fn format_asctime(seconds: i64) -> String {
    let days = seconds.div_euclid(86_400);
    let rest = seconds.rem_euclid(86_400);
    let (year, month, day) = civil_from_days(days);
    format!(
        "{} {} {day:2} {:02}:{:02}:{:02} {year:04}",
        name(&DAYS, days.rem_euclid(7)),
        name(&MONTHS, month - 1),
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

/// Seconds since 1970 of an IMF-fixdate; `None` for anything a server must not send.
pub(crate) fn parse(text: &str) -> Option<i64> {
    let year = text.get(12..16)?.parse::<i64>().ok()?;
    let month = MONTHS
        .iter()
        .position(|month| Some(*month) == text.get(8..11))?;
    let day = text.get(5..7)?.parse::<i64>().ok()?;
    let hour = text.get(17..19)?.parse::<i64>().ok()?;
    let minute = text.get(20..22)?.parse::<i64>().ok()?;
    let second = text.get(23..25)?.parse::<i64>().ok()?;
    let days = days_from_civil(year, i64::try_from(month).ok()? + 1, day);
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second;
    // Writing it again proves every separator, the weekday and the day of the month.
    (format(seconds) == text).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_agree() {
        for (seconds, text) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (1_714_979_289, "Mon, 06 May 2024 07:08:09 GMT"),
            (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ] {
            assert_eq!(format(seconds), text);
            assert_eq!(parse(text), Some(seconds), "{text}");
        }
        assert_eq!(format_rfc850(784_111_777), "Sunday, 06-Nov-94 08:49:37 GMT");
        assert_eq!(format_asctime(784_111_777), "Sun Nov  6 08:49:37 1994");
    }

    #[test]
    fn other_forms_are_refused() {
        for text in [
            "",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "Mon, 06 Nov 1994 08:49:37 GMT",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 UTC",
            "Thu, 31 Feb 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 GMT ",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
