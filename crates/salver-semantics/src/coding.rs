//! Content codings and what a client accepts of them (RFC 9110 sections 8.4.1 and 12.5.3).

use std::cmp::Ordering;

use crate::dictionary::DictionaryCoding;
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

    /// The extension of a precompressed sibling's name, with its dot; `None` for identity.
    pub fn extension(self) -> Option<&'static str> {
        match self {
            ContentCoding::Identity => None,
            ContentCoding::Brotli => Some(".br"),
            ContentCoding::Zstd => Some(".zst"),
            ContentCoding::Gzip => Some(".gz"),
        }
    }

    /// The coding that the extension of a file name says, and the name without it.
    pub fn of_file_name(name: &[u8]) -> Option<(Self, &[u8])> {
        ContentCoding::CODED.into_iter().find_map(|coding| {
            let original = name.strip_suffix(coding.extension()?.as_bytes())?;
            Some((coding, original))
        })
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

/// The preference of a client among codings (Accept-Encoding). Twelve bytes, made without allocating; equal
/// values select equally.
///
/// ```
/// use salver_semantics::{AcceptEncoding, ContentCoding};
///
/// let accept = AcceptEncoding::parse(Some(b"gzip, br;q=0"));
/// let offered = [
///     (ContentCoding::Identity, 900),
///     (ContentCoding::Brotli, 200),
///     (ContentCoding::Gzip, 300),
/// ];
/// assert_eq!(accept.select(offered), Some(2));
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct AcceptEncoding {
    /// The preference for each coding, in the order of [`ContentCoding::ALL`].
    preferences: [Preference; 4],
    /// The preference for each coding against a dictionary, in the order of [`DictionaryCoding::ALL`].
    against_dictionary: [Preference; 2],
}

/// The place of a coding in a client's order of preference; a higher one is wanted more.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Preference(u16);

impl Preference {
    /// Not acceptable.
    const REFUSED: Preference = Preference(0);
    /// Acceptable, below everything that the client asked for: identity where nothing was said.
    const LAST_RESORT: Preference = Preference(1);
    /// Wanted no less than anything else.
    const MOST: Preference = Preference(1000 + Preference::LAST_RESORT.0);

    fn of(weight: Weight) -> Preference {
        if weight == Weight::ZERO {
            Preference::REFUSED
        } else {
            Preference(weight.thousandths() + Preference::LAST_RESORT.0)
        }
    }
}

impl AcceptEncoding {
    /// The preference of a client that has none: identity.
    const UNSAID: AcceptEncoding = AcceptEncoding {
        preferences: [
            Preference::LAST_RESORT,
            Preference::REFUSED,
            Preference::REFUSED,
            Preference::REFUSED,
        ],
        against_dictionary: [Preference::REFUSED; 2],
    };

    /// Reads Accept-Encoding, whose raw value this is; `None` if the request has none.
    ///
    /// Without the field any coding would be acceptable (RFC 9110 section 12.5.3, rule 1), but a
    /// client that names none most likely decodes none: only identity is sent, as it is for an
    /// empty value. Members that are malformed are skipped. Of a coding that is named twice (gzip
    /// and x-gzip are one) the lower weight counts, so that a refusal always holds.
    #[inline]
    pub fn parse(value: Option<&[u8]>) -> Self {
        value.map_or(AcceptEncoding::UNSAID, AcceptEncoding::parse_value)
    }

    fn parse_value(value: &[u8]) -> Self {
        let (mut named, mut any) = ([None; 4], None);
        let mut against_dictionary = [None; 2];
        for (name, weight) in list(value).filter_map(member) {
            let slot = match (ContentCoding::from_name(name), name) {
                (Some(coding), _) => named.get_mut(coding as usize),
                (None, b"*") => Some(&mut any),
                (None, name) => DictionaryCoding::from_name(name)
                    .and_then(|coding| against_dictionary.get_mut(coding as usize)),
            };
            if let Some(slot) = slot {
                *slot = Some(slot.map_or(weight, |earlier: Weight| earlier.min(weight)));
            }
        }
        // Rule 2: identity is acceptable unless refused, by name or by "*;q=0".
        let mut preferences = AcceptEncoding::UNSAID.preferences;
        for (preference, weight) in preferences.iter_mut().zip(named) {
            // RFC 9110 section 12.5.3: "*" matches every coding that is not named.
            if let Some(weight) = weight.or(any) {
                *preference = Preference::of(weight);
            }
        }
        // "*" is no word of a client that has a dictionary: it names what it decodes (RFC 9842 section 2.2).
        let of = |weight: Option<Weight>| weight.map_or(Preference::REFUSED, Preference::of);
        AcceptEncoding {
            preferences,
            against_dictionary: against_dictionary.map(of),
        }
    }

    /// True if `coding` may be sent.
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

    /// Whether the client wants the one coding more than the other, as much, or less.
    pub fn compare(&self, one: ContentCoding, other: ContentCoding) -> Ordering {
        self.preference(one).cmp(&self.preference(other))
    }

    /// The codings against a dictionary that may be sent and are wanted as much as `than` or more, the one that is wanted
    /// most first.
    #[inline]
    pub fn codings_against_dictionary(
        &self,
        than: Option<ContentCoding>,
    ) -> impl Iterator<Item = DictionaryCoding> + use<> {
        let [brotli, zstd] = DictionaryCoding::ALL;
        let in_order = match self.against(zstd) > self.against(brotli) {
            true => [zstd, brotli],
            false => [brotli, zstd],
        };
        let accept = *self;
        let least = than.map_or(Preference::LAST_RESORT, |than| self.preference(than));
        let least = least.max(Preference::LAST_RESORT);
        let is_wanted = move |coding: &DictionaryCoding| accept.against(*coding) >= least;
        in_order.into_iter().filter(is_wanted)
    }

    /// True if the client wants no coding more than this one against its dictionary.
    #[inline]
    pub fn wants_most(&self, coding: DictionaryCoding) -> bool {
        self.against(coding) == Preference::MOST
    }

    fn against(&self, coding: DictionaryCoding) -> Preference {
        let preference = self.against_dictionary.get(coding as usize);
        preference.copied().unwrap_or(Preference::REFUSED)
    }

    fn preference(&self, coding: ContentCoding) -> Preference {
        let preference = self.preferences.get(coding as usize);
        preference.copied().unwrap_or(Preference::REFUSED)
    }
}

/// A member of the list: `codings [ OWS ";" OWS "q=" qvalue ]` (RFC 9110 sections 12.4.2 and 12.5.3).
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

#[cfg(test)]
mod tests;
