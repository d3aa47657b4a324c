//! Tests of HTTP-date.

use super::*;
use proptest::prelude::*;

/// 2025-06-15T12:00:00Z, the present of these tests.
const NOW: HttpDate = HttpDate(1_749_988_800);

fn text(date: HttpDate) -> String {
    String::from_utf8(date.format().to_vec()).unwrap()
}

#[test]
fn formats() {
    fn check(seconds: i64, expected: &str) {
        let date = HttpDate::from_unix_seconds(seconds);
        assert_eq!(text(date), expected, "{seconds}");
        assert_eq!(
            HttpDate::parse(expected.as_bytes(), NOW),
            Some(date),
            "{expected}"
        );
    }
    check(0, "Thu, 01 Jan 1970 00:00:00 GMT");
    check(1, "Thu, 01 Jan 1970 00:00:01 GMT");
    check(784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT");
    check(951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT");
    check(1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT");
    check(1_709_251_200, "Fri, 01 Mar 2024 00:00:00 GMT");
    check(1_749_988_800, "Sun, 15 Jun 2025 12:00:00 GMT");
    check(2_147_483_647, "Tue, 19 Jan 2038 03:14:07 GMT");
    check(2_147_483_648, "Tue, 19 Jan 2038 03:14:08 GMT");
    check(4_294_967_296, "Sun, 07 Feb 2106 06:28:16 GMT");
    check(4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT");
    // Before 1970.
    check(-1, "Wed, 31 Dec 1969 23:59:59 GMT");
    check(-86_400, "Wed, 31 Dec 1969 00:00:00 GMT");
    check(-86_401, "Tue, 30 Dec 1969 23:59:59 GMT");
    check(-2_208_988_800, "Mon, 01 Jan 1900 00:00:00 GMT");
    check(-2_147_483_648, "Fri, 13 Dec 1901 20:45:52 GMT");
    check(-11_644_473_600, "Mon, 01 Jan 1601 00:00:00 GMT");
    // Both ends, and beyond.
    check(EARLIEST, "Sat, 01 Jan 0000 00:00:00 GMT");
    check(LATEST, "Fri, 31 Dec 9999 23:59:59 GMT");
    check(EARLIEST - 1, "Sat, 01 Jan 0000 00:00:00 GMT");
    check(LATEST + 1, "Fri, 31 Dec 9999 23:59:59 GMT");
    check(i64::MIN, "Sat, 01 Jan 0000 00:00:00 GMT");
    check(i64::MAX, "Fri, 31 Dec 9999 23:59:59 GMT");
}

/// Walks the calendar day by day, as one would with a pencil, and compares.
#[test]
fn every_day_of_four_centuries_and_a_bit() {
    let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    // 1 January 1800 was a Wednesday.
    let (mut seconds, mut weekday) = (-5_364_662_400_i64, 2_usize);
    for year in 1800..=2210 {
        let leap = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0);
        let lengths = [
            31,
            if leap { 29 } else { 28 },
            31,
            30,
            31,
            30,
            31,
            31,
            30,
            31,
            30,
            31,
        ];
        for (month, length) in months.iter().zip(lengths) {
            for day in 1..=length {
                let expected = format!(
                    "{}, {day:02} {month} {year:04} 00:00:00 GMT",
                    weekdays[weekday]
                );
                let date = HttpDate::from_unix_seconds(seconds);
                assert_eq!(text(date), expected);
                assert_eq!(HttpDate::parse(expected.as_bytes(), NOW), Some(date));
                seconds += DAY;
                weekday = (weekday + 1) % 7;
            }
        }
    }
}

#[test]
fn every_second_of_a_day() {
    for second in 0..DAY {
        let expected = format!(
            "Sun, 06 Nov 1994 {:02}:{:02}:{:02} GMT",
            second / 3_600,
            second / 60 % 60,
            second % 60
        );
        assert_eq!(text(HttpDate(784_080_000 + second)), expected);
    }
}

#[test]
fn parses_all_three_forms() {
    fn check(input: &str, expected: i64) {
        let date = HttpDate::parse(input.as_bytes(), NOW).map(HttpDate::unix_seconds);
        assert_eq!(date, Some(expected), "{input}");
    }
    check("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777);
    check("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777);
    check("Sun Nov  6 08:49:37 1994", 784_111_777);
    check("Wed Nov 16 08:49:37 1994", 784_975_777);
    check("Wednesday, 16-Nov-94 08:49:37 GMT", 784_975_777);
    check("Sun Nov 06 08:49:37 1994", 784_111_777);
    // A leap second is the next minute's first.
    check("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800);
    check("Saturday, 31-Dec-16 23:59:60 GMT", 1_483_228_800);
    check("Sat Dec 31 23:59:60 2016", 1_483_228_800);
    check("Fri, 31 Dec 9999 23:59:60 GMT", LATEST);
    // The name of the day is not held against the date.
    check("Mon, 06 Nov 1994 08:49:37 GMT", 784_111_777);
    check("Monday, 06-Nov-94 08:49:37 GMT", 784_111_777);
    check("Mon Nov  6 08:49:37 1994", 784_111_777);
    // Leap days.
    check("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400);
    check("Thu Feb 29 23:59:59 2024", 1_709_251_199);
    check("Sun, 01 Jan 0000 00:00:00 GMT", EARLIEST);
}

#[test]
fn refuses_what_is_no_date() {
    for input in [
        "",
        " ",
        "0",
        "784111777",
        "now",
        "Sun",
        "Sun,",
        "Sun, ",
        "Sunday",
        "Sunday,",
        "Sun Nov",
        // Days and times that don't exist.
        "Thu, 31 Feb 2000 00:00:00 GMT",
        "Thu, 30 Feb 2000 00:00:00 GMT",
        "Thu, 29 Feb 1900 00:00:00 GMT",
        "Thu, 29 Feb 2100 00:00:00 GMT",
        "Thu, 29 Feb 2023 00:00:00 GMT",
        "Thu, 31 Apr 2023 00:00:00 GMT",
        "Thu, 31 Jun 2023 00:00:00 GMT",
        "Thu, 31 Sep 2023 00:00:00 GMT",
        "Thu, 31 Nov 2023 00:00:00 GMT",
        "Thu, 00 Jan 2023 00:00:00 GMT",
        "Thu, 32 Jan 2023 00:00:00 GMT",
        "Thu, 01 Jan 2023 24:00:00 GMT",
        "Thu, 01 Jan 2023 00:60:00 GMT",
        "Thu, 01 Jan 2023 00:00:61 GMT",
        "Thu, 01 Jan 2023 99:99:99 GMT",
        "Thursday, 31-Feb-00 00:00:00 GMT",
        "Thu Feb 31 00:00:00 2000",
        "Thu Feb  0 00:00:00 2000",
        // Close to the forms, but not one.
        "sun, 06 Nov 1994 08:49:37 GMT",
        "SUN, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT",
        "Sun, 06 NOV 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 gmt",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 EST",
        "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37GMT",
        "Sun, 06 Nov 1994 08:49 GMT",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun,  6 Nov 1994 08:49:37 GMT",
        "Sun, 06  Nov 1994 08:49:37 GMT",
        "Sun,06 Nov 1994 08:49:37 GMT",
        "Sun 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 94 08:49:37 GMT",
        "Sun, 06 Nov 19940 08:49:37 GMT",
        "Sun, 06 Nov -994 08:49:37 GMT",
        "Sun, +6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 8:49:37 GMT",
        "Sun, 06 Nov 1994 08.49.37 GMT",
        "Sun, 06-Nov-1994 08:49:37 GMT",
        "Sun, 06-Nov-94 08:49:37 GMT",
        "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sunday, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 6-Nov-94 08:49:37 GMT",
        "Sundays, 06-Nov-94 08:49:37 GMT",
        "Xyz, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Xyz 1994 08:49:37 GMT",
        "Sun, 06 November 1994 08:49:37 GMT",
        "Sun Nov 6 08:49:37 1994",
        "Sun Nov   6 08:49:37 1994",
        "Sun Nov  6 08:49:37 1994 GMT",
        "Sun Nov  6 08:49:37 94",
        "Sun Nov  6 08:49:37 19940",
        "Sunday Nov  6 08:49:37 1994",
        "1994-11-06T08:49:37Z",
        "06 Nov 1994 08:49:37 GMT",
        // White space around it, something after it, two of it.
        " Sun, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT ",
        "Sun, 06 Nov 1994 08:49:37 GMT; length=5",
        "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT",
        "\"Sun, 06 Nov 1994 08:49:37 GMT\"",
        "Sun, 06 Nov 1994 08:49:37\tGMT",
        "Sun, \u{660}6 Nov 1994 08:49:37 GMT",
    ] {
        assert_eq!(HttpDate::parse(input.as_bytes(), NOW), None, "{input:?}");
    }
}

#[test]
fn a_two_digit_year_is_at_most_fifty_years_ahead() {
    fn check(now: &str, input: &str, expected: &str) {
        let now = HttpDate::parse(now.as_bytes(), NOW).unwrap();
        let date = HttpDate::parse(input.as_bytes(), now);
        assert_eq!(
            date.map(text).as_deref(),
            Some(expected),
            "{input} as of {now:?}"
        );
    }
    let now = "Sun, 15 Jun 2025 12:00:00 GMT";
    check(
        now,
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT",
    );
    check(
        now,
        "Wednesday, 01-Jan-25 00:00:00 GMT",
        "Wed, 01 Jan 2025 00:00:00 GMT",
    );
    check(
        now,
        "Thursday, 31-Dec-26 00:00:00 GMT",
        "Thu, 31 Dec 2026 00:00:00 GMT",
    );
    check(
        now,
        "Saturday, 01-Jan-00 00:00:00 GMT",
        "Sat, 01 Jan 2000 00:00:00 GMT",
    );
    check(
        now,
        "Tuesday, 01-Jan-74 00:00:00 GMT",
        "Mon, 01 Jan 2074 00:00:00 GMT",
    );
    // Exactly fifty years are not more than fifty.
    check(
        now,
        "Saturday, 15-Jun-75 12:00:00 GMT",
        "Sat, 15 Jun 2075 12:00:00 GMT",
    );
    check(
        now,
        "Sunday, 15-Jun-75 12:00:01 GMT",
        "Sun, 15 Jun 1975 12:00:01 GMT",
    );
    check(
        now,
        "Monday, 16-Jun-75 00:00:00 GMT",
        "Mon, 16 Jun 1975 00:00:00 GMT",
    );
    check(
        now,
        "Thursday, 01-Jan-76 00:00:00 GMT",
        "Thu, 01 Jan 1976 00:00:00 GMT",
    );
    // Late in a century, the next one is near.
    let now = "Thu, 31 Dec 2099 23:59:59 GMT";
    check(
        now,
        "Friday, 01-Jan-00 00:00:00 GMT",
        "Fri, 01 Jan 2100 00:00:00 GMT",
    );
    check(
        now,
        "Thursday, 31-Dec-49 23:59:59 GMT",
        "Wed, 31 Dec 2149 23:59:59 GMT",
    );
    check(
        now,
        "Sunday, 01-Jan-50 00:00:00 GMT",
        "Sat, 01 Jan 2050 00:00:00 GMT",
    );
    check(
        now,
        "Thursday, 31-Dec-99 23:59:59 GMT",
        "Thu, 31 Dec 2099 23:59:59 GMT",
    );
    // At the ends of time there is no other century.
    let now = "Fri, 31 Dec 9999 23:59:59 GMT";
    check(
        now,
        "Friday, 31-Dec-99 00:00:00 GMT",
        "Fri, 31 Dec 9999 00:00:00 GMT",
    );
    check(
        now,
        "Friday, 01-Jan-01 00:00:00 GMT",
        "Tue, 01 Jan 9901 00:00:00 GMT",
    );
    let now = "Sat, 01 Jan 0000 00:00:00 GMT";
    check(
        now,
        "Saturday, 01-Jan-50 00:00:00 GMT",
        "Sat, 01 Jan 0050 00:00:00 GMT",
    );
    let earliest = HttpDate::from_unix_seconds(EARLIEST);
    assert_eq!(
        HttpDate::parse(b"Saturday, 01-Jan-51 00:00:00 GMT", earliest),
        None
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn what_is_formatted_is_read_back(seconds in EARLIEST..=LATEST) {
        let date = HttpDate::from_unix_seconds(seconds);
        prop_assert_eq!(date.unix_seconds(), seconds);
        prop_assert_eq!(HttpDate::parse(&date.format(), NOW), Some(date));
    }

    #[test]
    fn any_time_can_be_formatted(seconds in any::<i64>()) {
        let date = HttpDate::from_unix_seconds(seconds);
        prop_assert!((EARLIEST..=LATEST).contains(&date.unix_seconds()));
        prop_assert_eq!(HttpDate::parse(&date.format(), NOW), Some(date));
    }

    #[test]
    fn all_forms_agree(seconds in 0_i64..3_000_000_000) {
        let date = HttpDate::from_unix_seconds(seconds);
        let CivilTime { year, month, day, hour, minute, second } = CivilTime::of(seconds);
        let month = String::from_utf8(month_name(month).to_vec()).unwrap();
        let asctime = format!("Mon {month} {day:>2} {hour:02}:{minute:02}:{second:02} {year}");
        prop_assert_eq!(HttpDate::parse(asctime.as_bytes(), NOW), Some(date));
        let year = year % 100;
        let rfc850 =
            format!("Monday, {day:02}-{month}-{year:02} {hour:02}:{minute:02}:{second:02} GMT");
        prop_assert_eq!(HttpDate::parse(rfc850.as_bytes(), date), Some(date));
    }

    /// One byte changed: either refused, or a date that is printed as it was read.
    #[test]
    fn a_changed_byte_never_slips_through(at in 5_usize..29, byte in any::<u8>()) {
        let mut changed = *b"Sun, 06 Nov 1994 08:49:37 GMT";
        changed[at] = byte;
        if let Some(date) = HttpDate::parse(&changed, NOW) {
            let minute_overflows = changed[23..25] == *b"60";
            prop_assert!(minute_overflows || date.format()[5..] == changed[5..]);
        }
    }

    #[test]
    fn nothing_panics(
        value in prop::collection::vec(any::<u8>(), 0..64),
        now in any::<i64>(),
    ) {
        let _ = HttpDate::parse(&value, HttpDate::from_unix_seconds(now));
    }

    #[test]
    fn nothing_date_like_panics(
        value in "(Sun|Sunday)?,? ?[0-9]{0,2}[ -](Jan|Feb)[ -][0-9]{0,4} [0-9:]{0,8}( GMT)?",
        now in any::<i64>(),
    ) {
        if let Some(date) = HttpDate::parse(value.as_bytes(), HttpDate::from_unix_seconds(now)) {
            prop_assert_eq!(HttpDate::parse(&date.format(), NOW), Some(date));
        }
    }
}
