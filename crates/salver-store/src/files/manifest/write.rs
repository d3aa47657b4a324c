//! A manifest to its text.

use std::fmt::Write;
use std::sync::Arc;

use salver_assets::ContentCoding;
use salver_semantics::content_type;

use super::{Manifest, ManifestFile};
use crate::files::digest::BlobDigest;
use crate::files::escape::escape;

impl Manifest {
    /// A release of these files, made at this moment. They are sorted here; of several at one path the last counts.
    pub(crate) fn new(created: i64, mut files: Vec<ManifestFile>) -> Self {
        files.sort_by(|one, other| one.path.cmp(&other.path));
        files.reverse();
        files.dedup_by(|one, other| one.path == other.path);
        files.reverse();
        let mut lines = String::new();
        files.iter().for_each(|file| write_line(file, &mut lines));
        Manifest {
            created,
            digest: BlobDigest::of(lines.as_bytes()),
            files,
        }
    }

    /// The text of the manifest.
    pub fn to_text(&self) -> String {
        let count = self.files.len();
        let (created, bytes) = (self.created, self.bytes());
        let mut text = format!("salver-manifest 1\ncreated {created}\nfiles {count} {bytes}\n");
        for file in &self.files {
            write_line(file, &mut text);
        }
        let digest = BlobDigest::of(text.as_bytes());
        text.push_str(&format!("end {digest}\n"));
        text
    }
}

impl ManifestFile {
    /// The media type of a file of this name.
    pub(crate) fn media_type_of(path: &[u8]) -> Arc<str> {
        let content_type = content_type(path);
        let media_type = content_type.split(';').next().unwrap_or_default();
        media_type.trim_end().into()
    }
}

fn write_line(file: &ManifestFile, text: &mut String) {
    let coding = match (file.known.decoded, ContentCoding::of_file_name(&file.path)) {
        (Some(decoded), Some((coding, _))) => {
            let extension = coding.extension().unwrap_or_default();
            format!("{}={decoded:032x}", extension.trim_start_matches('.'))
        }
        _ => "-".to_owned(),
    };
    // To a string there is always room.
    let _ = writeln!(
        text,
        "{} {:032x} {} {} {} {coding} {}",
        file.blob,
        file.known.digest,
        file.length,
        file.modified_unix_seconds,
        escape(file.media_type.as_bytes()),
        escape(&file.path)
    );
}
