//! The value of `--hsts`.

use std::time::Duration;

/// The default of `--hsts`: a year.
const A_YEAR: Duration = Duration::from_secs(31_536_000);

/// The value of `--hsts`: the time for which browsers use nothing but TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hsts {
    /// Nothing; the environment can say so.
    Off,
    /// For how long; no time at all has browsers forget it.
    For(Duration),
}

/// A number of seconds; nothing or `true` for a year; `false` for none.
///
/// # Errors
/// What to give.
pub fn hsts(text: &str) -> Result<Hsts, String> {
    match text {
        "" | "true" => Ok(Hsts::For(A_YEAR)),
        "false" => Ok(Hsts::Off),
        _ => text
            .parse::<u32>()
            .map(|seconds| Hsts::For(Duration::from_secs(seconds.into())))
            .map_err(|_| "not a number of seconds: give 31536000 for a year, say".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_year_unless_it_is_said() {
        let seconds = |seconds| Ok(Hsts::For(Duration::from_secs(seconds)));
        assert_eq!(hsts(""), seconds(31_536_000));
        assert_eq!(hsts("true"), seconds(31_536_000));
        assert_eq!(hsts("0"), seconds(0));
        assert_eq!(hsts("300"), seconds(300));
        assert_eq!(hsts("false"), Ok(Hsts::Off));
        for text in ["-1", "1d", "5000000000", "max-age=1", "1.5"] {
            assert!(hsts(text).unwrap_err().contains("31536000"), "{text}");
        }
    }
}
