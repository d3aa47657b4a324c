//! The second of a time, as text: thousands of requests begin in the same one.

use std::time::Duration;

use salver_semantics::HttpDate;

/// The texts of one second, in UTC.
#[derive(Clone, Debug)]
pub(crate) struct RenderedSecond {
    second: u64,
    /// `[22/Nov/2026:13:55:39 +0000]`.
    pub(crate) bracketed: [u8; 28],
    /// The same between a client of whom no more is known and a request: ` - - […] "`.
    pub(crate) of_nobody: [u8; 35],
    /// `2026-11-22T13:55:39`.
    pub(crate) iso: [u8; 19],
    /// `Nov 22 13:55:39`, with a space before a day of one digit, as syslog has it.
    #[cfg_attr(
        not(target_os = "linux"),
        allow(dead_code, reason = "there is no syslog")
    )]
    pub(crate) syslog: [u8; 15],
}

impl RenderedSecond {
    /// The texts of the second in which this time lies, since 1970-01-01T00:00:00Z.
    pub(crate) fn new(time: Duration) -> RenderedSecond {
        let second = time.as_secs();
        let date = HttpDate::from_unix_seconds(i64::try_from(second).unwrap_or(i64::MAX));
        let [
            ..,
            d0,
            d1,
            _,
            m0,
            m1,
            m2,
            _,
            y0,
            y1,
            y2,
            y3,
            _,
            h0,
            h1,
            _,
            i0,
            i1,
            _,
            s0,
            s1,
            _,
            _,
            _,
            _,
        ] = date.format();
        let [n0, n1] = month_number([m0, m1, m2]);
        let tens = if d0 == b'0' { b' ' } else { d0 };
        let bracketed = [
            b'[', d0, d1, b'/', m0, m1, m2, b'/', y0, y1, y2, y3, b':', h0, h1, b':', i0, i1, b':',
            s0, s1, b' ', b'+', b'0', b'0', b'0', b'0', b']',
        ];
        let mut of_nobody = *b" - - [00/Jan/1970:00:00:00 +0000] \"";
        if let Some(date) = of_nobody.get_mut(5..33) {
            date.copy_from_slice(&bracketed);
        }
        RenderedSecond {
            second,
            bracketed,
            of_nobody,
            iso: [
                y0, y1, y2, y3, b'-', n0, n1, b'-', d0, d1, b'T', h0, h1, b':', i0, i1, b':', s0,
                s1,
            ],
            syslog: [
                m0, m1, m2, b' ', tens, d1, b' ', h0, h1, b':', i0, i1, b':', s0, s1,
            ],
        }
    }

    /// Becomes the second in which this time lies.
    pub(crate) fn turn_to(&mut self, time: Duration) {
        if self.second != time.as_secs() {
            *self = RenderedSecond::new(time);
        }
    }
}

/// The number of a month by its name, in two digits.
fn month_number(name: [u8; 3]) -> [u8; 2] {
    *match &name {
        b"Jan" => b"01",
        b"Feb" => b"02",
        b"Mar" => b"03",
        b"Apr" => b"04",
        b"May" => b"05",
        b"Jun" => b"06",
        b"Jul" => b"07",
        b"Aug" => b"08",
        b"Sep" => b"09",
        b"Oct" => b"10",
        b"Nov" => b"11",
        _ => b"12",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_a_second() {
        let mut rendered = RenderedSecond::new(Duration::ZERO);
        let mut check = |second: u64, bracketed: &str, iso: &str, syslog: &str| {
            rendered.turn_to(Duration::new(second, 999_999_999));
            assert_eq!(rendered.bracketed, bracketed.as_bytes());
            let of_nobody = format!(" - - {bracketed} \"");
            assert_eq!(rendered.of_nobody, of_nobody.as_bytes());
            assert_eq!(rendered.iso, iso.as_bytes());
            assert_eq!(rendered.syslog, syslog.as_bytes());
        };
        check(
            0,
            "[01/Jan/1970:00:00:00 +0000]",
            "1970-01-01T00:00:00",
            "Jan  1 00:00:00",
        );
        check(
            784_111_777,
            "[06/Nov/1994:08:49:37 +0000]",
            "1994-11-06T08:49:37",
            "Nov  6 08:49:37",
        );
        check(
            784_111_778,
            "[06/Nov/1994:08:49:38 +0000]",
            "1994-11-06T08:49:38",
            "Nov  6 08:49:38",
        );
        check(
            1_709_251_199,
            "[29/Feb/2024:23:59:59 +0000]",
            "2024-02-29T23:59:59",
            "Feb 29 23:59:59",
        );
        check(
            u64::MAX,
            "[31/Dec/9999:23:59:59 +0000]",
            "9999-12-31T23:59:59",
            "Dec 31 23:59:59",
        );
    }

    #[test]
    fn months_have_their_numbers() {
        for month in 0..12_u64 {
            // The middle of each month of 1970.
            let rendered = RenderedSecond::new(Duration::from_secs((month * 30 + 15) * 86_400));
            let number = format!("1970-{:02}-", month + 1);
            assert!(rendered.iso.starts_with(number.as_bytes()), "{month}");
        }
    }
}
