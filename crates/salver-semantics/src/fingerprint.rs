//! Fingerprints: whether a file name carries a hash of the content. See
//! [`is_fingerprinted`](crate::cache_control::is_fingerprinted).

mod places;
#[cfg(test)]
mod tests;
mod written;

pub use places::HashPlaces;

use written::{Looks, looks, looks_in_hex, numbers_in_hex};

/// The fingerprint in a path, as far as the path says by itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fingerprint<'a> {
    /// No fingerprint.
    Absent,
    /// Words that may be hashes: other names in the directory decide, by [`confirmed`].
    Doubtful(Vec<Mark<'a>>),
    /// A fingerprint, certainly.
    Certain(Mark<'a>),
}

/// A part of a name that may be a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark<'a> {
    /// The part of the name before it, without the separator.
    stem: &'a [u8],
    /// A dot or a hyphen; `None` if nothing stands before it.
    separator: Option<u8>,
    hash: &'a [u8],
    /// The part of the name behind it.
    rest: &'a [u8],
    kind: FileClass,
}

/// The parts of the last segment of a path before and after its fingerprint: all that other versions of the file have in
/// common with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionedName<'a> {
    /// The part before the fingerprint, with the dot or hyphen at its end.
    pub before: &'a [u8],
    /// The part after the fingerprint.
    pub after: &'a [u8],
}

impl VersionedName<'_> {
    /// True if a name is one of these versions.
    pub fn has(&self, name: &[u8]) -> bool {
        let rest = name.strip_prefix(self.before);
        rest.is_some_and(|rest| rest.ends_with(self.after) && rest.len() > self.after.len())
    }
}

/// The kind of a file, by what build tools do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileClass {
    /// Made by them: scripts, style sheets.
    Code,
    /// Renamed by them, as code refers to it: images, fonts.
    Asset,
    /// Named by people: documents, music, archives.
    Other,
}

/// The fingerprint that the name at the end of `path` and the directories before it show.
pub(crate) fn of(path: &[u8]) -> Fingerprint<'_> {
    let at = path.iter().rposition(|&byte| byte == b'/');
    let (directories, name) = path.split_at(at.map_or(0, |at| at + 1));
    let is_reserved = is_reserved(directories);
    let mut doubtful = Vec::new();
    for mark in marks(name, is_reserved) {
        let looks = mark.looks();
        let is_likely = match looks {
            // Nothing but eight characters: so are many names.
            _ if mark.separator.is_none() && !is_reserved && !is_hex(mark.hash) => false,
            Looks::Written => false,
            Looks::Odd => mark.kind == FileClass::Code,
            Looks::Noise | Looks::Random => true,
        };
        if mark.is_certain() || is_reserved && is_likely {
            return Fingerprint::Certain(mark);
        }
        if is_likely {
            doubtful.push(mark);
        }
    }
    match doubtful.is_empty() {
        true => Fingerprint::Absent,
        false => Fingerprint::Doubtful(doubtful),
    }
}

/// The one of `marks` that other names in the directory show to be a hash: in the same place they
/// carry what can be nothing else, of the same length and of characters that its own are among.
/// Either enough of them do, and no small part of all; or every script does.
pub(crate) fn confirmed<'m, 'n, 'a>(
    marks: &'m [Mark<'n>],
    beside: impl Iterator<Item = &'a [u8]> + Clone,
) -> Option<&'m Mark<'n>> {
    marks.iter().find(|mark| {
        let (assets_count, least) = mark.evidence();
        let (mut all, mut alike, mut random) = (0_usize, 0_usize, 0_usize);
        let mut hashes: Vec<&[u8]> = Vec::new();
        let mut characters = 0;
        for name in beside.clone() {
            let counts = match kind(name) {
                FileClass::Code => true,
                FileClass::Asset => assets_count,
                FileClass::Other => false,
            };
            let others = self::marks(name, false);
            // The file itself, and what is made of it, speak neither for nor against it.
            if !counts || others.iter().any(|other| other.hash == mark.hash) {
                continue;
            }
            all += 1;
            let Some(other) = others.iter().find(|other| other.is_evidence_for(mark)) else {
                continue;
            };
            alike += 1;
            characters |= classes(other.hash);
            if other.looks() == Looks::Random {
                random += 1;
                if hashes.len() < least && !hashes.contains(&other.hash) {
                    hashes.push(other.hash);
                }
            }
        }
        let looks = mark.looks();
        let is_usual = hashes.len() == least && random * LEAST_SHARE >= all;
        let is_rule = mark.kind == FileClass::Code
            && looks >= Looks::Noise
            && alike == all
            && (random >= 1 || alike >= 1 && looks == Looks::Random);
        (is_usual || is_rule) && classes(mark.hash) & !alphabet(characters) == 0
    })
}

/// The share of the names beside it that has to carry a hash, one in three: people may write one or the other
/// that looks like one, but seldom that many in one directory.
const LEAST_SHARE: usize = 3;

/// True for directories into which a build tool puts nothing but what it has named itself: Next.js, Nuxt,
/// SvelteKit, Astro.
fn is_reserved(directories: &[u8]) -> bool {
    const RESERVED: [&[u8]; 4] = [b"_next/static/", b"_nuxt/", b"_app/immutable/", b"_astro/"];
    RESERVED.iter().any(|reserved| {
        directories.starts_with(reserved)
            || directories
                .windows(reserved.len() + 1)
                .any(|window| window.strip_prefix(b"/") == Some(reserved))
    })
}

/// The parts that may be hashes: each ends where an extension begins.
fn marks(name: &[u8], is_reserved: bool) -> Vec<Mark<'_>> {
    let kind = kind(name);
    let mut marks = Vec::new();
    let mut stem = name;
    let mut follows: fn(&[u8]) -> bool = is_extension;
    // From the end: what may follow a hash, for as long as it goes on.
    while let Some((before, suffix)) = split_at_last_dot(stem) {
        if !follows(suffix) {
            break;
        }
        let noted = is_reserved.then(|| without_note(before)).flatten();
        for stem in [Some(before), noted].into_iter().flatten() {
            let rest = name.get(stem.len()..).unwrap_or_default();
            let lengths = lengths(stem, is_reserved).into_iter();
            marks.extend(lengths.filter_map(|length| mark(stem, length, rest, kind)));
        }
        stem = before;
        follows = is_infix;
    }
    marks
}

/// A name without what is noted after its hash: what was done to an image, by Astro
/// (`hero.BXXEljww_ZK1CaX.webp`), what a font is for, by Next.js (`e109470dc5c12418-s.p.woff2`).
fn without_note(stem: &[u8]) -> Option<&[u8]> {
    if let Some(before) = stem.strip_suffix(b"-s.p").or(stem.strip_suffix(b"-s")) {
        return Some(before);
    }
    let at = stem.iter().rposition(|&byte| byte == b'_')?;
    let (before, note) = stem.split_at_checked(at)?;
    (5..=8).contains(&note.len()).then_some(before)
}

/// The lengths that a hash at the end of `stem` could have: the last word, if it is hexadecimal, or as many
/// characters as build tools take of an alphabet that has the hyphen in it.
fn lengths(stem: &[u8], is_reserved: bool) -> Vec<usize> {
    let is_separator = |byte: &u8| matches!(byte, b'.' | b'-');
    let word = stem.rsplit(is_separator).next().unwrap_or_default();
    let mut lengths = vec![SHORT];
    lengths.extend((is_hex(word) && word.len() != SHORT).then_some(word.len()));
    lengths.extend(is_reserved.then_some(TURBOPACK));
    lengths
}

/// The length of hashes of Vite, Rollup, esbuild and Bun.
const SHORT: usize = 8;

/// The length of hashes of Turbopack: thirteen of `0-9 a-z _ -`, in the directory that is Next.js's own.
const TURBOPACK: usize = 13;

fn mark<'a>(before: &'a [u8], length: usize, rest: &'a [u8], kind: FileClass) -> Option<Mark<'a>> {
    let (stem, hash) = before.split_at_checked(before.len().checked_sub(length)?)?;
    let (stem, separator) = match stem {
        [] => (stem, None),
        [stem @ .., separator @ (b'.' | b'-')] => (stem, Some(*separator)),
        _ => return None,
    };
    Some(Mark {
        stem,
        separator,
        hash,
        rest,
        kind,
    })
}

fn split_at_last_dot(name: &[u8]) -> Option<(&[u8], &[u8])> {
    let dot = name.iter().rposition(|&byte| byte == b'.')?;
    let (stem, suffix) = name.split_at_checked(dot)?;
    Some((stem, suffix.strip_prefix(b".")?))
}

/// True for any extension, known or not; but not for a version number.
fn is_extension(suffix: &[u8]) -> bool {
    suffix.len() <= 11
        && suffix.iter().all(u8::is_ascii_alphanumeric)
        && suffix.iter().any(u8::is_ascii_alphabetic)
}

/// True for what build tools put between the hash and the last extension: `.chunk.js`, `.js.map`.
fn is_infix(suffix: &[u8]) -> bool {
    const INFIXES: [&[u8]; 24] = [
        b"async", b"bundle", b"chunk", b"cjs", b"css", b"html", b"ico", b"js", b"json", b"lean",
        b"legacy", b"map", b"min", b"mjs", b"modern", b"module", b"prod", b"svg", b"tar", b"ttf",
        b"txt", b"wasm", b"worker", b"xml",
    ];
    INFIXES.contains(&suffix)
}

fn kind(name: &[u8]) -> FileClass {
    let mut extensions = name.rsplit(|&byte| byte == b'.');
    let extension =
        extensions.find(|extension| !matches!(*extension, b"br" | b"gz" | b"map" | b"zst"));
    match extension
        .unwrap_or_default()
        .to_ascii_lowercase()
        .as_slice()
    {
        b"js" | b"mjs" | b"cjs" | b"css" | b"wasm" => FileClass::Code,
        b"avif" | b"eot" | b"gif" | b"ico" | b"jpeg" | b"jpg" | b"json" | b"mp4" | b"otf"
        | b"png" | b"svg" | b"ttf" | b"webm" | b"webmanifest" | b"webp" | b"woff" | b"woff2" => {
            FileClass::Asset
        }
        _ => FileClass::Other,
    }
}

impl Mark<'_> {
    /// The parts around the hash of the name at the end of `path`, which has it; `None` if nothing stands before it.
    pub(crate) fn around<'p>(&self, path: &'p [u8]) -> Option<VersionedName<'p>> {
        let name = path.rsplit(|&byte| byte == b'/').next()?;
        self.separator.filter(|_| !self.stem.is_empty())?;
        let (before, _) = name.split_at_checked(self.stem.len() + 1)?;
        let (_, after) = name.split_at_checked(name.len().checked_sub(self.rest.len())?)?;
        Some(VersionedName { before, after })
    }
}

impl Mark<'_> {
    /// True if nobody would write this, whatever stands beside it.
    fn is_certain(&self) -> bool {
        if !is_hex(self.hash) || self.ends_with_uuid() {
            return false;
        }
        let changes = changes(self.hash);
        match (self.hash.len(), self.kind) {
            // Twelve bytes, or sixteen, may be an identifier: of a record in a database, a UUID.
            (24, FileClass::Asset | FileClass::Other) => false,
            (32, _) if is_like_uuid(self.hash) => false,
            (20..=64, _) | (16..=19, FileClass::Code | FileClass::Asset) => changes >= 4,
            // Dates, part numbers and words such as `5ca1ab1e` change seldom, or have few digits.
            (8..=15, FileClass::Code) => changes >= 4 && numbers_in_hex(self.hash) >= 2,
            _ => false,
        }
    }

    /// The looks of the word, as a hash that other names would have to confirm.
    fn looks(&self) -> Looks {
        match self.hash.len() {
            _ if self.kind == FileClass::Other || self.ends_with_uuid() => Looks::Written,
            8..=64 if is_hex(self.hash) => looks_in_hex(self.hash, self.kind),
            SHORT | TURBOPACK if is_base64url(self.hash) => looks(self.hash, self.kind),
            _ => Looks::Written,
        }
    }

    /// The evidence that is needed: whether the names of images and fonts count, and the number of different
    /// hashes.
    fn evidence(&self) -> (bool, usize) {
        match (self.kind, self.separator, self.looks()) {
            (_, None, _) => (false, 3),
            (FileClass::Code, _, Looks::Random) => (false, 1),
            (FileClass::Code, _, Looks::Noise) => (false, 2),
            (FileClass::Code, _, _) => (false, 4),
            _ => (true, 2),
        }
    }

    /// True if it is in the same place as `mark`, and no more like what people write.
    fn is_evidence_for(&self, mark: &Mark<'_>) -> bool {
        self.hash.len() == mark.hash.len()
            && self.separator == mark.separator
            && !is_series(self.hash, mark.hash)
            // One thing under many numbers is no build, but for scripts: `chunk-5QXXQZ7L.js`.
            && (mark.kind == FileClass::Code || (self.stem, self.rest) != (mark.stem, mark.rest))
            && self.looks() >= Looks::Noise
    }

    /// A UUID says which file it is, not what is in it.
    fn ends_with_uuid(&self) -> bool {
        const BEFORE: usize = 23;
        let Some(before) = self.stem.len().checked_sub(BEFORE) else {
            return false;
        };
        let Some(before) = self.stem.get(before..) else {
            return false;
        };
        self.hash.len() == 12
            && self.separator == Some(b'-')
            && before.iter().enumerate().all(|(at, byte)| match at {
                8 | 13 | 18 => *byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            })
    }
}

/// True if two texts of one length are the same but for a few places, or made alike: `IPv4Addr` and
/// `IPv6Addr`, `01_Intro` and `02_Trees`.
fn is_series(one: &[u8], other: &[u8]) -> bool {
    let pairs = || one.iter().zip(other);
    let equal = pairs().filter(|(one, other)| one == other).count();
    let is_hex = is_hex(one) && is_hex(other);
    let shape = |byte: &u8| match byte {
        b'0'..=b'9' => 0,
        b'A'..=b'Z' => 1,
        b'a'..=b'z' => 2,
        _ => 3,
    };
    let is_same_shape = pairs().all(|(one, other)| shape(one) == shape(other));
    equal * 2 >= one.len() || is_same_shape && !is_hex
}

/// True for hexadecimal digits of both sorts: digits alone may be a date, letters alone a word.
fn is_hex(text: &[u8]) -> bool {
    text.iter()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        && text.iter().any(u8::is_ascii_digit)
        && text.iter().any(u8::is_ascii_alphabetic)
}

fn is_base64url(text: &[u8]) -> bool {
    text.iter()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// The number of changes from letters to digits, or from digits to letters.
fn changes(text: &[u8]) -> usize {
    let is_digit = u8::is_ascii_digit;
    let pairs = text.iter().zip(text.iter().skip(1));
    pairs
        .filter(|(one, next)| is_digit(one) != is_digit(next))
        .count()
}

/// A UUID of random bits (RFC 9562 section 5.4) without its hyphens. One MD5 in 64 looks like that.
fn is_like_uuid(text: &[u8]) -> bool {
    text.get(12) == Some(&b'4') && matches!(text.get(16), Some(b'8' | b'9' | b'a' | b'b'))
}

const DIGITS: u8 = 1;
const HEX: u8 = 2;
const LOWER: u8 = 4;
const UPPER: u8 = 8;
const SYMBOLS: u8 = 16;

/// The classes of characters in the text, as a set of bits.
fn classes(text: &[u8]) -> u8 {
    text.iter().fold(0, |all, byte| {
        all | match byte {
            b'0'..=b'9' => DIGITS,
            b'a'..=b'f' => HEX,
            b'g'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            _ => SYMBOLS,
        }
    })
}

/// The alphabet of hashes that have such characters: with letters of both cases it is base64url.
fn alphabet(classes: u8) -> u8 {
    match classes & UPPER != 0 && classes & (HEX | LOWER) != 0 {
        true => DIGITS | HEX | LOWER | UPPER | SYMBOLS,
        false => classes | DIGITS,
    }
}
