//! Content codings: their names, and their content decoded (RFC 9110 section 8.4.1).

use std::io::{self, Read};

/// A content coding that an answer named.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Coding {
    #[default]
    Identity,
    Gzip,
    Deflate,
    Brotli,
    Zstd,
    /// Several, or one that is not known here.
    Other(Box<str>),
}

impl Coding {
    /// By the value of `Content-Encoding`, empty if there is none.
    pub(crate) fn named(value: &[u8]) -> Coding {
        let is = |name: &str| value.eq_ignore_ascii_case(name.as_bytes());
        match value.len() {
            0 => Coding::Identity,
            _ if is("br") => Coding::Brotli,
            _ if is("gzip") || is("x-gzip") => Coding::Gzip,
            _ if is("zstd") => Coding::Zstd,
            _ if is("deflate") => Coding::Deflate,
            _ if is("identity") => Coding::Identity,
            _ => Coding::Other(String::from_utf8_lossy(value).to_lowercase().into()),
        }
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Coding::Identity => "identity",
            Coding::Gzip => "gzip",
            Coding::Deflate => "deflate",
            Coding::Brotli => "br",
            Coding::Zstd => "zstd",
            Coding::Other(name) => name,
        }
    }

    /// The decoded content.
    ///
    /// # Errors
    /// It is not of this coding, the coding is not known here, or it decodes to more than `most`
    /// bytes.
    pub(crate) fn decode(&self, coded: &[u8], most: u64) -> io::Result<Vec<u8>> {
        let mut decoder: Box<dyn Read + '_> = match self {
            Coding::Identity => Box::new(coded),
            Coding::Gzip => Box::new(flate2::read::MultiGzDecoder::new(coded)),
            Coding::Deflate => Box::new(flate2::read::ZlibDecoder::new(coded)),
            Coding::Brotli => Box::new(brotli::Decompressor::new(coded, 64 * 1024)),
            Coding::Zstd => Box::new(zstd::stream::read::Decoder::new(coded)?),
            Coding::Other(_) => return Err(io::ErrorKind::Unsupported.into()),
        };
        let mut content = Vec::new();
        let limited = &mut decoder.by_ref().take(most.saturating_add(1));
        match limited.read_to_end(&mut content)? as u64 <= most {
            true => Ok(content),
            false => Err(io::ErrorKind::FileTooLarge.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn each_coding_is_decoded() {
        let text = b"salver salver salver salver".to_vec();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        gzip.write_all(&text).unwrap();
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        zlib.write_all(&text).unwrap();
        let mut br = Vec::new();
        brotli::BrotliCompress(&mut &*text, &mut br, &Default::default()).unwrap();
        let zstd = zstd::encode_all(&*text, 3).unwrap();
        let check = |name: &str, coded: &[u8]| {
            let coding = Coding::named(name.as_bytes());
            assert_eq!(coding.decode(coded, 27).unwrap(), text, "{name}");
            assert!(coding.decode(coded, 26).is_err(), "{name}: too long");
            if coding != Coding::Identity {
                assert_eq!(coding.name(), name.to_lowercase());
                assert!(coding.decode(b"no such thing", 99).is_err(), "{name}");
            }
        };
        check("", &text);
        check("identity", &text);
        check("GZIP", &gzip.finish().unwrap());
        check("deflate", &zlib.finish().unwrap());
        check("br", &br);
        check("zstd", &zstd);
        let other = Coding::named(b"gzip, br");
        assert_eq!(other.name(), "gzip, br");
        assert!(other.decode(&text, 99).is_err());
    }
}
