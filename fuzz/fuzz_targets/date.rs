//! HTTP-dates: whatever is read can be printed, and means the same again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use salver_semantics::HttpDate;

fuzz_target!(|data: &[u8]| {
    // A date of any text; `now` matters to two-digit years alone.
    let (now, text) = data.split_first_chunk::<8>().unwrap_or((&[0; 8], data));
    let now = HttpDate::from_unix_seconds(i64::from_le_bytes(*now));
    check_printed(now);
    if let Some(date) = HttpDate::parse(text, now) {
        check_printed(date);
        // Not a byte around it is taken for part of it.
        for longer in [
            [text, b" "].concat(),
            [b" ", text].concat(),
            [text, b"0"].concat(),
        ] {
            assert_eq!(
                HttpDate::parse(&longer, now),
                None,
                "{:?}",
                longer.escape_ascii()
            );
        }
        let other = HttpDate::parse(text, HttpDate::from_unix_seconds(0));
        let rfc850 = text
            .iter()
            .position(|&byte| byte == b',')
            .is_some_and(|comma| comma > 3);
        if rfc850 {
            // Only the century is open, and at most 50 years of the future are believed
            // (RFC 9110 section 5.6.7).
            let years = |date: HttpDate| -> i64 {
                let digits = date.format();
                std::str::from_utf8(&digits[12..16])
                    .unwrap()
                    .parse()
                    .unwrap()
            };
            let read = &text[text.iter().rposition(|&byte| byte == b'-').unwrap() + 1..][..2];
            let second_60_of_a_year = date.unix_seconds() % 86_400 == 0;
            if !second_60_of_a_year {
                assert_eq!(&date.format()[14..16], read);
            }
            assert!(years(date) <= years(now) + 51);
        } else {
            assert_eq!(other, Some(date));
        }
    }
});

/// A date that is printed is a date, has the fixed form, and reads as itself.
fn check_printed(date: HttpDate) {
    let printed = date.format();
    assert_eq!(printed.len(), 29);
    assert!(printed.is_ascii() && printed.ends_with(b" GMT"));
    assert_eq!(
        HttpDate::parse(&printed, HttpDate::from_unix_seconds(0)),
        Some(date)
    );
    assert_eq!(HttpDate::from_unix_seconds(date.unix_seconds()), date);
}
