//! Content codings and what a client accepts of them (RFC 9110 sections 8.4.1 and 12.5.3).

use crate::field::{Weight, list, trim_ows};

/// A content coding that Salver can send.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum ContentCoding {
    /// The bytes as they are.
    Identity,
    /// Brotli, RFC 7932.
    Brotli,
    /// Zstandard, RFC 8878.
    Zstd,
    /// gzip, RFC 1952.
    Gzip,
}

impl ContentCoding {
    /// Every coding, identity first.
    pub const ALL: [ContentCoding; 4] = [
        ContentCoding::Identity,
        ContentCoding::Brotli,
        ContentCoding::Zstd,
        ContentCoding::Gzip,
    ];
    /// The codings that change the bytes.
    pub const CODED: [ContentCoding; 3] = [
        ContentCoding::Brotli,
        ContentCoding::Zstd,
        ContentCoding::Gzip,
    ];

    /// The name in Content-Encoding and Accept-Encoding. (Identity's own is reserved for
    /// Accept-Encoding and must not be sent in Content-Encoding.)
    pub fn name(self) -> &'static str {
        match self {
            ContentCoding::Identity => "identity",
            ContentCoding::Brotli => "br",
            ContentCoding::Zstd => "zstd",
            ContentCoding::Gzip => "gzip",
        }
    }

    /// What a precompressed sibling's name ends with, with its dot; `None` for identity.
    pub fn extension(self) -> Option<&'static str> {
        match self {
            ContentCoding::Identity => None,
            ContentCoding::Brotli => Some(".br"),
            ContentCoding::Zstd => Some(".zst"),
            ContentCoding::Gzip => Some(".gz"),
        }
    }

    /// The coding of that name, in any case; `x-gzip` is gzip (RFC 9110 section 8.4.1.3).
    pub fn from_name(name: &[u8]) -> Option<Self> {
        if name.eq_ignore_ascii_case(b"x-gzip") {
            return Some(ContentCoding::Gzip);
        }
        ContentCoding::ALL
            .into_iter()
            .find(|coding| name.eq_ignore_ascii_case(coding.name().as_bytes()))
    }
}

/// How much each coding is wanted. Eight bytes, made without allocating; equal values select
/// equally.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct AcceptEncoding {
    identity: Preference,
    brotli: Preference,
    zstd: Preference,
    gzip: Preference,
}

/// The place of a coding in a client's order of preference; a higher one is wanted more.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Preference(u16);

impl Preference {
    /// Not acceptable.
    const REFUSED: Preference = Preference(0);
    /// Acceptable, below everything that the client asked for: identity where nothing was said.
    const LAST_RESORT: Preference = Preference(1);

    fn of(weight: Weight) -> Preference {
        if weight == Weight::ZERO {
            Preference::REFUSED
        } else {
            Preference(weight.thousandths() + Preference::LAST_RESORT.0)
        }
    }
}

impl AcceptEncoding {
    /// Reads Accept-Encoding, whose raw value this is; `None` if the request has none.
    ///
    /// Without the field any coding would be acceptable (RFC 9110 section 12.5.3, rule 1), but a
    /// client that names none most likely decodes none: only identity is sent, as it is for an
    /// empty value. Members that are malformed are skipped. Of a coding that is named twice (gzip
    /// and x-gzip are one) the lower weight counts, so that a refusal always holds.
    pub fn parse(value: Option<&[u8]>) -> Self {
        let mut named = Named::default();
        for (name, weight) in list(value.unwrap_or_default()).filter_map(member) {
            if let Some(slot) = named.slot(name) {
                *slot = Some(slot.map_or(weight, |earlier| earlier.min(weight)));
            }
        }
        // RFC 9110 section 12.5.3: "*" matches every coding that is not named.
        let preference =
            |weight: Option<Weight>, unsaid| weight.or(named.any).map_or(unsaid, Preference::of);
        AcceptEncoding {
            // Rule 2: identity is acceptable unless refused, by name or by "*;q=0".
            identity: preference(named.identity, Preference::LAST_RESORT),
            brotli: preference(named.brotli, Preference::REFUSED),
            zstd: preference(named.zstd, Preference::REFUSED),
            gzip: preference(named.gzip, Preference::REFUSED),
        }
    }

    /// Whether `coding` may be sent.
    pub fn accepts(&self, coding: ContentCoding) -> bool {
        self.preference(coding) > Preference::REFUSED
    }

    /// The index of the best of the representations offered, each given by its coding and its
    /// length in bytes: the one wanted most; of those the shortest; of those the first. `None` if
    /// none may be sent: 406 (Not Acceptable).
    pub fn select(&self, offered: impl IntoIterator<Item = (ContentCoding, u64)>) -> Option<usize> {
        offered
            .into_iter()
            .enumerate()
            .filter(|(_, (coding, _))| self.accepts(*coding))
            .min_by_key(|(_, (coding, length))| {
                (std::cmp::Reverse(self.preference(*coding)), *length)
            })
            .map(|(index, _)| index)
    }

    fn preference(&self, coding: ContentCoding) -> Preference {
        match coding {
            ContentCoding::Identity => self.identity,
            ContentCoding::Brotli => self.brotli,
            ContentCoding::Zstd => self.zstd,
            ContentCoding::Gzip => self.gzip,
        }
    }
}

/// The weights that a field states.
#[derive(Default)]
struct Named {
    any: Option<Weight>,
    identity: Option<Weight>,
    brotli: Option<Weight>,
    zstd: Option<Weight>,
    gzip: Option<Weight>,
}

impl Named {
    /// `None` for a coding that Salver doesn't know.
    fn slot(&mut self, name: &[u8]) -> Option<&mut Option<Weight>> {
        if name == b"*" {
            return Some(&mut self.any);
        }
        Some(match ContentCoding::from_name(name)? {
            ContentCoding::Identity => &mut self.identity,
            ContentCoding::Brotli => &mut self.brotli,
            ContentCoding::Zstd => &mut self.zstd,
            ContentCoding::Gzip => &mut self.gzip,
        })
    }
}

/// `codings [ OWS ";" OWS "q=" qvalue ]` (RFC 9110 sections 12.4.2 and 12.5.3).
fn member(text: &[u8]) -> Option<(&[u8], Weight)> {
    let mut parts = text.splitn(2, |&byte| byte == b';');
    let name = trim_ows(parts.next()?);
    let weight = match parts.next().map(trim_ows) {
        None => Weight::MAX,
        Some([b'q' | b'Q', b'=', qvalue @ ..]) => Weight::parse(qvalue)?,
        Some(_) => return None,
    };
    Some((name, weight))
}
