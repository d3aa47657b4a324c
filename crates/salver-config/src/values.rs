//! Values as people write them. An error says what would be right, and does not name the setting.

use std::ffi::OsStr;
use std::fmt::Display;
use std::net::Ipv6Addr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use bytesize::ByteSize;

use crate::os_text::split;

/// Longer times are mistakes; deadlines beyond could not be computed.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Larger sizes are mistakes, in bytes.
const LARGEST: u64 = bytesize::PIB;

/// How long `hsts` holds if it does not say: a year.
const A_YEAR: Duration = Duration::from_secs(31_536_000);

/// Yes or no: `true`, `yes`, `on`, `1`, or their opposites, in any case.
///
/// # Errors
/// What is wrong with it.
pub fn switch(text: &str) -> Result<bool, String> {
    match &*text.to_ascii_lowercase() {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => Err("neither yes nor no: give true or false".to_owned()),
    }
}

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

/// A content coding of precompressed siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// `br`.
    Brotli,
    /// `zstd`.
    Zstd,
    /// `gzip`.
    Gzip,
}

/// The codings by name, the best first, each with whether this build can verify it.
const CODINGS: [(&str, Coding, bool); 3] = [
    ("br", Coding::Brotli, cfg!(feature = "brotli")),
    ("zstd", Coding::Zstd, cfg!(feature = "zstd")),
    ("gzip", Coding::Gzip, cfg!(feature = "gzip")),
];

/// The names of [`Coding`]s.
pub(crate) const CODING_NAMES: &[&str] = &["br", "zstd", "gzip"];

/// All codings that this build can verify, as they are written.
pub(crate) const DEFAULT_CODINGS: &str = match CODINGS {
    [(_, _, true), (_, _, true), (_, _, true)] => "br,zstd,gzip",
    [(_, _, true), (_, _, true), (_, _, false)] => "br,zstd",
    [(_, _, true), (_, _, false), (_, _, true)] => "br,gzip",
    [(_, _, true), (_, _, false), (_, _, false)] => "br",
    [(_, _, false), (_, _, true), (_, _, true)] => "zstd,gzip",
    [(_, _, false), (_, _, true), (_, _, false)] => "zstd",
    [(_, _, false), (_, _, false), (_, _, true)] => "gzip",
    [(_, _, false), (_, _, false), (_, _, false)] => "none",
};

/// Which precompressed siblings are looked for, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Codings(pub Vec<Coding>);

/// A comma-separated list of `br`, `zstd` and `gzip` in any order, or `none`.
///
/// # Errors
/// The name that is not known or left out of this build, and those that can be given.
pub fn codings(text: &str) -> Result<Codings, String> {
    codings_among(text, CODINGS)
}

/// The codings in a list; those among `all` that can be verified may be there.
fn codings_among(text: &str, all: [(&'static str, Coding, bool); 3]) -> Result<Codings, String> {
    if text.trim() == "none" {
        return Ok(Codings(Vec::new()));
    }
    let mut wanted = Vec::new();
    for name in text.split(',').map(str::trim) {
        let why = match all.iter().find(|(known, ..)| *known == name) {
            Some((_, coding, true)) => {
                if !wanted.contains(coding) {
                    wanted.push(*coding);
                }
                continue;
            }
            Some((_, _, false)) => "was left out when this program was built",
            None => "is not known",
        };
        let some = all.iter().filter(|(_, _, is_built)| *is_built);
        let some: Vec<&str> = some.map(|(name, ..)| *name).collect();
        let advice = match &*some {
            [] => "give none".to_owned(),
            some => format!("give some of {}, or none", some.join(",")),
        };
        return Err(format!("{name:?} {why}: {advice}"));
    }
    Ok(Codings(wanted))
}

/// A value that is chosen by name.
pub trait Choice: Copy + 'static {
    /// The names, each with what it means.
    const NAMES: &'static [(&'static str, &'static str)];
    /// What they stand for, in the same order.
    const VALUES: &'static [Self];
}

/// Which symbolic links are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Symlinks {
    /// None.
    None,
    /// Those that stay beneath their directory.
    #[default]
    Beneath,
    /// All; the directory is then no confinement.
    Any,
}

impl Choice for Symlinks {
    const NAMES: &'static [(&'static str, &'static str)] = &[
        ("none", "None are followed"),
        ("beneath", "Those that stay beneath their directory"),
        ("any", "All; the directory is then no confinement"),
    ];
    const VALUES: &'static [Self] = &[Symlinks::None, Symlinks::Beneath, Symlinks::Any];
}

/// The format of the lines of an access log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// Common Log Format.
    Common,
    /// Combined Log Format.
    #[default]
    Combined,
    /// That, and host, duration, content coding, cache state and request id behind it.
    Extended,
    /// One JSON object a line.
    Json,
}

impl Choice for LogFormat {
    const NAMES: &'static [(&'static str, &'static str)] = &[
        ("common", "Common Log Format"),
        (
            "combined",
            "Combined Log Format: with Referer and User-Agent",
        ),
        (
            "extended",
            "Combined, and behind it host, seconds, content coding, cache state and request id",
        ),
        (
            "json",
            "A JSON object a line, with the names of OpenTelemetry",
        ),
    ];
    const VALUES: &'static [Self] = &[
        LogFormat::Common,
        LogFormat::Combined,
        LogFormat::Extended,
        LogFormat::Json,
    ];
}

/// The field in which trusted proxies name the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ForwardedField {
    /// None is read.
    None,
    /// `Forwarded` (RFC 7239).
    Forwarded,
    /// `X-Forwarded-For`.
    #[default]
    XForwardedFor,
}

impl Choice for ForwardedField {
    const NAMES: &'static [(&'static str, &'static str)] = &[
        ("none", "None is read"),
        ("forwarded", "Forwarded, RFC 7239"),
        ("x-forwarded-for", "X-Forwarded-For"),
    ];
    const VALUES: &'static [Self] = &[
        ForwardedField::None,
        ForwardedField::Forwarded,
        ForwardedField::XForwardedFor,
    ];
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

/// The fallback of a single-page application.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Spa {
    /// None.
    #[default]
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
        "" | "true" | "1" => Ok(Spa::Index),
        "false" | "0" => Ok(Spa::Off),
        _ => relative(text).map(Spa::File),
    }
}

/// A file beneath the root, in normal form.
fn relative(text: &str) -> Result<String, String> {
    let file = text.strip_prefix("./").unwrap_or(text);
    let wrong = |segment: &str| matches!(segment, "" | "." | "..") || segment.contains('\0');
    if file.split('/').any(wrong) {
        return Err("not a file beneath the root: give a relative path, such as app.html".into());
    }
    Ok(file.to_owned())
}

/// A number of seconds; nothing or `true` for a year; `false` for none.
///
/// # Errors
/// What is wrong with it.
pub fn hsts(text: &str) -> Result<Option<Duration>, String> {
    match text {
        "" | "true" => Ok(Some(A_YEAR)),
        "false" => Ok(None),
        _ => text
            .parse::<u32>()
            .map(|seconds| Some(Duration::from_secs(seconds.into())))
            .map_err(|_| "not a number of seconds: give 31536000 for a year, say".to_owned()),
    }
}

/// A place in the URL space and what appears there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// As given: `/static`, say. The engine checks it.
    pub prefix: String,
    /// A directory or a file, as given.
    pub path: PathBuf,
}

/// True for the URL of a bucket, which may stand in the place of a path: it has no directory that it is relative to. One
/// letter before the colon is a drive.
pub fn is_url(path: &OsStr) -> bool {
    let text = path.to_str().unwrap_or_default();
    let Some((scheme, _)) = text.split_once("://") else {
        return false;
    };
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "+.-".contains(letter);
    let begins = scheme.starts_with(|first: char| first.is_ascii_alphabetic());
    begins && scheme.len() > 1 && scheme.chars().all(is_letter)
}

/// A mount of `PREFIX=DIR`, split at the first `=`.
///
/// # Errors
/// What is wrong with it.
pub fn mount(value: &OsStr) -> Result<Mount, String> {
    let mut halves = split(value, b'=', 2).into_iter();
    let (Some(prefix), Some(path)) = (halves.next(), halves.next()) else {
        return Err("there is no '=': give PREFIX=DIR, such as /images=/srv/images".to_owned());
    };
    if path.is_empty() {
        return Err("there is nothing behind '=': give PREFIX=DIR".to_owned());
    }
    let prefix = prefix
        .into_string()
        .ok()
        .filter(|prefix| prefix.starts_with('/'));
    let Some(prefix) = prefix else {
        return Err("the prefix must begin with a slash, such as /images=/srv/images".to_owned());
    };
    Ok(Mount {
        prefix,
        path: PathBuf::from(path),
    })
}

/// A host that a site answers for, in lower case.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum HostPattern {
    /// This name or address, without a port.
    Exact(String),
    /// Every name that ends with a dot and this: `example.org` of `*.example.org`.
    Below(String),
}

impl Display for HostPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            HostPattern::Exact(host) => f.write_str(host),
            HostPattern::Below(host) => write!(f, "*.{host}"),
        }
    }
}

/// A name, an address, or `*.` and a name.
///
/// # Errors
/// What is wrong with it.
pub fn host_pattern(text: &str) -> Result<HostPattern, String> {
    let host = text.to_ascii_lowercase();
    let is_label = |label: &str| {
        let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        (1..=63).contains(&label.len()) && label.bytes().all(is_sign)
    };
    let is_name = |name: &str| name.len() <= 253 && name.split('.').all(is_label);
    let inner = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    if inner.is_some_and(|inner| inner.parse::<Ipv6Addr>().is_ok()) || is_name(&host) {
        return Ok(HostPattern::Exact(host));
    }
    match host.strip_prefix("*.") {
        Some(name) if is_name(name) => Ok(HostPattern::Below(name.to_owned())),
        _ => Err(
            "not a host: give a name such as example.org or *.example.org, or an address, without a \
             port; of other letters the form with xn--"
                .to_owned(),
        ),
    }
}

/// The file that is the content of answers with a status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorPage {
    /// The status, from 400 to 599.
    pub status: u16,
    /// The file, relative to the root, in normal form.
    pub file: String,
}

/// An error page of `STATUS=FILE`.
///
/// # Errors
/// What is wrong with it.
pub fn error_page(text: &str) -> Result<ErrorPage, String> {
    let (status, file) = text.split_once('=').unwrap_or((text, ""));
    let status = whole(400u16, 599)(status);
    Ok(ErrorPage {
        status: status.map_err(|wrong| format!("the status is {wrong}"))?,
        file: relative(file)?,
    })
}

/// The name of an environment variable.
///
/// # Errors
/// What is wrong with it.
pub fn variable_name(text: &str) -> Result<String, String> {
    let mut bytes = text.bytes();
    let begins = bytes.next();
    let is_start = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    if begins.is_some_and(is_start) && bytes.all(|byte| is_start(byte) || byte.is_ascii_digit()) {
        return Ok(text.to_owned());
    }
    Err("not the name of a variable: give letters, digits and _, such as API_URL".to_owned())
}

/// The path of a URL: it begins with a slash and has neither a query nor a fragment.
///
/// # Errors
/// What is wrong with it.
pub fn url_path(text: &str) -> Result<String, String> {
    let is_sign = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#');
    if text.starts_with('/') && text.bytes().all(is_sign) {
        return Ok(text.to_owned());
    }
    Err("not a path of a URL: give one that begins with a slash, such as /env.js".to_owned())
}

#[cfg(test)]
#[path = "values/tests.rs"]
mod tests;
