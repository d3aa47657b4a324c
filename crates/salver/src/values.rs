//! Values of flags of `salver bench` alone. A parser's error says what would be right.

use std::time::Duration;

use salver_config::values::size;

/// The longest file that measurements make, in bytes.
pub const LONGEST_MEASURED: u64 = 64 * 1024 * 1024;

/// The length of a file that a measurement makes.
///
/// # Errors
/// What is wrong with it.
pub fn measured_size(text: &str) -> Result<u64, String> {
    match size(text)? {
        0 => Err("an empty file has nothing to send: give 1KiB, say".to_owned()),
        bytes if bytes > LONGEST_MEASURED => Err(format!("{} is the most", show(LONGEST_MEASURED))),
        bytes => Ok(bytes),
    }
}

/// A length as a flag takes it, and as a person reads it.
pub fn show(bytes: u64) -> String {
    const KIB: u64 = 1024;
    const MIB: u64 = 1024 * KIB;
    match bytes {
        0 => "0".to_owned(),
        _ if bytes.is_multiple_of(MIB) => format!("{}MiB", bytes / MIB),
        _ if bytes.is_multiple_of(KIB) => format!("{}KiB", bytes / KIB),
        _ => bytes.to_string(),
    }
}

/// How long to measure, a number of seconds.
///
/// # Errors
/// What is wrong with it.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = "give a number of seconds from 0.1 to 3600";
    let seconds: f64 = text.trim().parse().map_err(|_| wrong.to_owned())?;
    if (0.1..=3600.0).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(wrong.to_owned())
    }
}

/// A number, with decimals or without.
///
/// # Errors
/// It is none.
pub fn number(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim().parse().ok();
    let finite = number.filter(|number| number.is_finite());
    finite.ok_or_else(|| "not a number: give 100 or 0.9, say".to_owned())
}

/// Processes of this machine, by their ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pids(pub Vec<u32>);

/// One id or several, separated by commas or spaces: as `pidof` prints those of a server that has a
/// process for each core.
///
/// # Errors
/// There is none, or what is no id.
pub fn pids(text: &str) -> Result<Pids, String> {
    let words = text.split([',', ' ', '\n', '\t']);
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    if words.is_empty() {
        return Err("no process is named: does the server run?".to_owned());
    }
    let ids = words.into_iter().map(|word| {
        let id: Option<u32> = word.parse().ok().filter(|id| *id > 0);
        id.ok_or_else(|| format!("{word:?} is no process: give its number, as pidof prints it"))
    });
    ids.collect::<Result<_, _>>().map(Pids)
}

/// A share of a whole: `25%` or `0.25`.
///
/// # Errors
/// What is wrong with it.
pub fn share(text: &str) -> Result<f64, String> {
    let (number, whole) = match text.trim().strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    let share: Option<f64> = number.trim().parse().ok().map(|number: f64| number / whole);
    share
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "not a share: give 25% or 0.25".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: PartialEq + std::fmt::Debug>(
        parse: impl Fn(&str) -> Result<T, String>,
        right: &[(&str, T)],
        wrong: &[&str],
    ) {
        for (text, value) in right {
            assert_eq!(parse(text).as_ref(), Ok(value), "{text:?}");
        }
        for text in wrong {
            assert!(parse(text).is_err(), "{text:?}: {:?}", parse(text));
        }
    }

    #[test]
    fn what_is_measured_has_bounds() {
        let right = [("1KiB", 1024), ("64MiB", LONGEST_MEASURED)];
        let wrong = ["0", "0KiB", "65MiB", "1PiB", "", "many"];
        check(measured_size, &right, &wrong);
        let right = [
            ("0.5", Duration::from_millis(500)),
            ("3600", Duration::from_secs(3600)),
        ];
        let wrong = ["0", "0.09", "-1", "3601", "NaN", "inf", "1s", ""];
        check(seconds, &right, &wrong);
    }

    #[test]
    fn lengths_are_shown_as_flags_take_them() {
        let table = [
            (0, "0"),
            (1, "1"),
            (1000, "1000"),
            (1024, "1KiB"),
            (500 * 1024, "500KiB"),
            (1 << 20, "1MiB"),
            (3 << 19, "1536KiB"),
        ];
        for (bytes, shown) in table {
            assert_eq!(show(bytes), shown);
            assert_eq!(size(shown), Ok(bytes));
        }
    }

    #[test]
    fn numbers_are_within_their_bounds() {
        check(
            number,
            &[("1", 1.0), ("0.9", 0.9)],
            &["", "x", "inf", "NaN", "1e999"],
        );
    }

    #[test]
    fn processes_are_named_as_pidof_prints_them() {
        let right = [
            ("7", Pids(vec![7])),
            ("27005 26996", Pids(vec![27005, 26996])),
            ("1,2, 3\n", Pids(vec![1, 2, 3])),
        ];
        check(
            pids,
            &right,
            &["", " ", "0", "a", "1;2", "-1", "4294967296"],
        );
        assert!(pids("").unwrap_err().contains("does the server run"));
    }
}
