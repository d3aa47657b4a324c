//! Values of flags that clap has no parser for. A parser's error says what would be right.

use std::fmt::{self, Display};
use std::str::FromStr;
use std::time::Duration;

use bytesize::ByteSize;
use salver_assets::ContentCoding;
use salver_assets::digest::DECODED;

/// Longer times are mistakes; deadlines beyond could not be computed.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Larger sizes are mistakes, in bytes.
const LARGEST: u64 = bytesize::PIB;

/// A time with its unit: `30s`, `1m 30s`, `500ms`, or `0`.
///
/// # Errors
/// What is wrong with it.
pub fn time(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| match error {
        // Which units there are.
        humantime::DurationError::UnknownUnit { .. } => error.to_string(),
        _ => "not a time: give 30s, 500ms or 1m 30s".to_owned(),
    })?;
    if time > LONGEST {
        return Err("a year is the most: give at most 365d".to_owned());
    }
    Ok(time)
}

/// A time limit: a [`time`] that is not zero.
///
/// # Errors
/// What is wrong with it.
pub fn limit(text: &str) -> Result<Duration, String> {
    match time(text)? {
        Duration::ZERO => Err("nobody could be served in no time: give 1s, say".to_owned()),
        time => Ok(time),
    }
}

/// A size in bytes, with a unit or without: `64MiB`, `1.5GB`, `4096`.
///
/// # Errors
/// What is wrong with it.
pub fn size(text: &str) -> Result<u64, String> {
    let size: ByteSize = text
        .trim()
        .parse()
        .map_err(|_| "not a size: give 64MiB, 1.5GB or a number of bytes".to_owned())?;
    if size.as_u64() > LARGEST {
        return Err("1PiB is the most".to_owned());
    }
    Ok(size.as_u64())
}

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

/// A whole number within bounds, both included.
pub fn whole<N>(
    least: N,
    most: N,
) -> impl Fn(&str) -> Result<N, String> + Clone + Send + Sync + 'static
where
    N: FromStr + PartialOrd + Display + Copy + Send + Sync + 'static,
{
    move |text| {
        let number: Option<N> = text.trim().parse().ok();
        let possible = number.filter(|number| (least..=most).contains(number));
        possible.ok_or_else(|| format!("not a whole number from {least} to {most}"))
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

/// The codings of which precompressed siblings are looked for; written as they are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Codings(pub Vec<ContentCoding>);

/// Without the flag: all that this build can verify.
impl Default for Codings {
    fn default() -> Self {
        Codings(DECODED.to_vec())
    }
}

impl Display for Codings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        let names: Vec<_> = self.0.iter().map(|coding| coding.name()).collect();
        f.write_str(&names.join(","))
    }
}

/// A comma-separated list of `br`, `zstd` and `gzip` in any order, or `none`.
///
/// # Errors
/// The name that is not known or left out of this build, and those that can be given.
pub fn codings(text: &str) -> Result<Codings, String> {
    codings_among(text, DECODED)
}

/// The codings in a list, all of them among `known`.
fn codings_among(text: &str, known: &[ContentCoding]) -> Result<Codings, String> {
    if text.trim() == "none" {
        return Ok(Codings(Vec::new()));
    }
    let mut wanted = Vec::new();
    for name in text.split(',').map(str::trim) {
        let of_that_name = |coding: &ContentCoding| coding.name() == name;
        let Some(coding) = known.iter().copied().find(of_that_name) else {
            let why = match ContentCoding::CODED.iter().any(of_that_name) {
                true => "was left out when this program was built",
                false => "is not known",
            };
            let advice = match known {
                [] => "give none".to_owned(),
                some => format!("give some of {}, or none", Codings(some.to_vec())),
            };
            return Err(format!("{name:?} {why}: {advice}"));
        };
        if !wanted.contains(&coding) {
            wanted.push(coding);
        }
    }
    Ok(Codings(wanted))
}

/// A file name that stands for its directory.
///
/// # Errors
/// What is wrong with it.
pub fn index_name(text: &str) -> Result<String, String> {
    if matches!(text, "" | "." | "..") || text.contains(['/', '\0']) {
        return Err("not a file name: give one without a slash, such as index.html".to_owned());
    }
    Ok(text.to_owned())
}

/// What `--spa` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spa {
    /// No fallback; the environment can say so.
    Off,
    /// The first index name.
    Index,
    /// This file, relative to the root, in normal form.
    File(String),
}

/// A file relative to the root; nothing, `true` or `1` for the first index name; `false` or `0`
/// for none.
///
/// # Errors
/// What is wrong with it.
pub fn spa(text: &str) -> Result<Spa, String> {
    match text {
        "" | "true" | "1" => return Ok(Spa::Index),
        "false" | "0" => return Ok(Spa::Off),
        _ => {}
    }
    let file = text.strip_prefix("./").unwrap_or(text);
    let wrong = |segment: &str| matches!(segment, "" | "." | "..") || segment.contains('\0');
    if file.split('/').any(wrong) {
        return Err("not a file beneath the root: give a relative path, such as app.html".into());
    }
    Ok(Spa::File(file.to_owned()))
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
    fn times_have_units_and_bounds() {
        let milliseconds = Duration::from_millis;
        let right = [
            ("0s", Duration::ZERO),
            ("0", Duration::ZERO),
            ("1s", milliseconds(1000)),
            ("250ms", milliseconds(250)),
            ("1m 30s", milliseconds(90_000)),
            ("365d", LONGEST),
        ];
        let wrong = ["", "5", "-1s", "1 parsec", "366d", "99999999999999999999s"];
        check(time, &right, &wrong);
        check(limit, &right[2..], &["0s", "0", "0ms", "5", ""]);
    }

    #[test]
    fn sizes_have_units_and_bounds() {
        let right = [
            ("0", 0),
            ("4096", 4096),
            ("64MiB", 64 << 20),
            ("64 MiB", 64 << 20),
            ("64mib", 64 << 20),
            ("1.5GB", 1_500_000_000),
            ("1PiB", LARGEST),
        ];
        let wrong = [
            "",
            "MiB",
            "-1",
            "1 apple",
            "2PiB",
            "99999999999999999999",
            "1.2.3MB",
            "NaN",
        ];
        check(size, &right, &wrong);
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
        let right = [("1", 1), ("1024", 1024), (" 7 ", 7)];
        check(
            whole(1u16, 1024),
            &right,
            &["", "0", "1025", "-1", "x", "1.5", "70000"],
        );
        let wrong = whole(0u16, 65535)("abc").unwrap_err();
        assert_eq!(wrong, "not a whole number from 0 to 65535");
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

    #[test]
    fn codings_are_named_in_any_order() {
        use ContentCoding::{Brotli, Gzip, Zstd};
        let right = [
            ("br,zstd,gzip", Codings(vec![Brotli, Zstd, Gzip])),
            ("gzip, br", Codings(vec![Gzip, Brotli])),
            ("gzip,gzip", Codings(vec![Gzip])),
            ("none", Codings(vec![])),
        ];
        let all = |text: &str| codings_among(text, &ContentCoding::CODED);
        check(
            all,
            &right,
            &["", "brotli", "br,", "br,none", "identity", "BR"],
        );
        assert_eq!(Codings(vec![Gzip, Brotli]).to_string(), "gzip,br");
        assert_eq!(Codings(vec![]).to_string(), "none");
        assert_eq!(
            all("deflate").unwrap_err(),
            "\"deflate\" is not known: give some of br,zstd,gzip, or none"
        );
    }

    #[test]
    fn what_is_not_verified_is_not_looked_for() {
        use ContentCoding::{Brotli, Gzip};
        let check = |text: &str, known: &[ContentCoding], expected: &str| {
            assert_eq!(codings_among(text, known).unwrap_err(), expected);
        };
        let left_out = "\"br\" was left out when this program was built: ";
        check(
            "gzip,br",
            &[Gzip],
            &format!("{left_out}give some of gzip, or none"),
        );
        check("br", &[], &format!("{left_out}give none"));
        assert_eq!(codings_among("none", &[]), Ok(Codings(vec![])));
        assert_eq!(codings_among("br", &[Brotli]), Ok(Codings(vec![Brotli])));
        // The default is what can be given.
        let text = Codings::default().to_string();
        assert_eq!(codings(&text), Ok(Codings::default()));
    }

    #[test]
    fn names_and_fallbacks_stay_beneath_the_root() {
        let right = [
            ("index.html", "index.html".to_owned()),
            ("d\u{e9}but", "d\u{e9}but".into()),
        ];
        check(index_name, &right, &["", ".", "..", "a/b", "/", "a\0"]);
        let file = |file: &str| Spa::File(file.to_owned());
        let right = [
            ("", Spa::Index),
            ("true", Spa::Index),
            ("0", Spa::Off),
            ("app.html", file("app.html")),
            ("./app.html", file("app.html")),
            ("a/b.html", file("a/b.html")),
        ];
        check(
            spa,
            &right,
            &["/etc/passwd", "../x", "a/../b", "a//b", "a/", "./", "a\0"],
        );
    }
}
