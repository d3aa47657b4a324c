//! A text to the manifest that it is of. One manifest has one text: what is written in another way is refused.

use std::collections::HashMap;
use std::sync::Arc;

use salver_assets::ContentCoding;
use salver_assets::digest::{Digest, KnownDigests};
use salver_assets::source::is_clean;

use super::{LONGEST_PATH, MOST_FILES, Manifest, ManifestError, ManifestFile};
use crate::files::digest::BlobDigest;
use crate::files::escape::unescape;
use crate::files::time::LAST;

/// The longest media type, in bytes.
const LONGEST_TYPE: usize = 255;

impl Manifest {
    /// Reads the text of a manifest.
    ///
    /// # Errors
    /// The first thing that is wrong with it, and where.
    pub fn parse(text: &str) -> Result<Self, ManifestError> {
        let mut lines = Lines {
            rest: text,
            line: 0,
        };
        if lines.next()? != "salver-manifest 1" {
            return Err(lines.fault("it is no manifest of version 1"));
        }
        let created = lines.words("created")?;
        let created = created.strip_prefix(' ').and_then(number::<i64>);
        let created = created.filter(|created| (0..=LAST).contains(created));
        let created = created.ok_or_else(|| lines.fault("no time of creation"))?;
        let counts = lines.words("files")?;
        let counts = counts
            .strip_prefix(' ')
            .and_then(|rest| rest.split_once(' '));
        let counts = counts.and_then(|(count, bytes)| Some((number(count)?, number(bytes)?)));
        let (count, bytes): (usize, u64) =
            counts.ok_or_else(|| lines.fault("no number of files and bytes"))?;
        if count > MOST_FILES {
            return Err(lines.fault("more files than a release may have"));
        }
        let start = lines.rest;
        // The length of the text bounds what is made room for, whatever it says.
        let mut files = Vec::with_capacity(count.min(start.len() / 128));
        let mut types = Types::default();
        for _ in 0..count {
            let line = lines.next()?;
            let file = file(line, &mut types).map_err(|what| lines.fault(what))?;
            let previous: Option<&ManifestFile> = files.last();
            if previous.is_some_and(|previous| previous.path >= file.path) {
                return Err(lines.fault("it is not sorted"));
            }
            files.push(file);
        }
        let digest = of_part(start, lines.rest);
        let all = of_part(text, lines.rest);
        let end = lines.words("end")?;
        let is_whole = end.strip_prefix(' ').and_then(BlobDigest::parse) == Some(all);
        if !is_whole || !lines.rest.is_empty() {
            return Err(lines.fault("it was cut off or changed"));
        }
        let manifest = Manifest {
            created,
            files,
            digest,
        };
        match manifest.bytes() == bytes {
            true => Ok(manifest),
            false => Err(lines.fault("the lengths do not add up")),
        }
    }
}

/// The digest of what stands in `text` before `rest`, its end.
fn of_part(text: &str, rest: &str) -> BlobDigest {
    let length = text.len().saturating_sub(rest.len());
    BlobDigest::of(text.as_bytes().get(..length).unwrap_or_default())
}

struct Lines<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Result<&'a str, ManifestError> {
        self.line += 1;
        let (line, rest) = self
            .rest
            .split_once('\n')
            .ok_or_else(|| self.fault("it ends here"))?;
        self.rest = rest;
        Ok(line)
    }

    /// What follows this word in the next line.
    fn words(&mut self, word: &str) -> Result<&'a str, ManifestError> {
        let line = self.next()?;
        line.strip_prefix(word)
            .ok_or_else(|| self.fault("another line was expected here"))
    }

    fn fault(&self, what: &'static str) -> ManifestError {
        ManifestError {
            line: self.line,
            what,
        }
    }
}

/// A number without sign of plus and without zeros before it.
fn number<N: std::str::FromStr + ToString>(text: &str) -> Option<N> {
    let number = text.parse::<N>().ok()?;
    (number.to_string() == text).then_some(number)
}

fn digest(text: &str) -> Option<Digest> {
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_digest = text.len() == 32 && text.bytes().all(is_hex);
    is_digest
        .then(|| Digest::from_str_radix(text, 16).ok())
        .flatten()
}

/// The media types that were met, each kept once.
#[derive(Default)]
struct Types<'a>(HashMap<&'a str, Arc<str>>);

impl<'a> Types<'a> {
    fn get(&mut self, word: &'a str) -> Option<Arc<str>> {
        if let Some(known) = self.0.get(word) {
            return Some(Arc::clone(known));
        }
        let text = String::from_utf8(unescape(word)?).ok()?;
        let is_type = text.len() <= LONGEST_TYPE
            && text.split('/').count() == 2
            && text.bytes().all(|byte| byte.is_ascii_graphic());
        let media_type: Arc<str> = is_type.then_some(text)?.into();
        self.0.insert(word, Arc::clone(&media_type));
        Some(media_type)
    }
}

fn file<'a>(line: &'a str, types: &mut Types<'a>) -> Result<ManifestFile, &'static str> {
    let mut words = line.split(' ');
    let mut word = || words.next().unwrap_or_default();
    let blob = BlobDigest::parse(word()).ok_or("no SHA-256")?;
    let engine = digest(word()).ok_or("no digest of the content")?;
    let length = number(word()).ok_or("no length")?;
    let modified_unix_seconds = number(word()).ok_or("no time of modification")?;
    let media_type = types.get(word()).ok_or("no media type")?;
    let (coding, path) = (word(), word());
    let path = unescape(path).ok_or("no path")?;
    let is_path = !path.is_empty() && path.len() <= LONGEST_PATH && is_clean(&path);
    if !is_path {
        return Err("a path that no file has");
    }
    if words.next().is_some() {
        return Err("more than belongs to a file");
    }
    let decoded = match coding {
        "-" => None,
        coding => Some(decoded(coding, &path).ok_or("a coding that the name does not have")?),
    };
    Ok(ManifestFile {
        path: path.into(),
        blob,
        known: KnownDigests {
            digest: engine,
            decoded,
        },
        length,
        modified_unix_seconds,
        media_type,
    })
}

/// The digest of what the file at this path decodes to, if the word says so.
fn decoded(word: &str, path: &[u8]) -> Option<Digest> {
    let (name, decoded) = word.split_once('=')?;
    let (coding, _) = ContentCoding::of_file_name(path)?;
    let extension = coding.extension()?;
    let is_its = extension.strip_prefix('.') == Some(name);
    is_its.then(|| digest(decoded)).flatten()
}
