//! Whether a coding is worth the best effort.

use crate::encode::encode;
use crate::{ContentCoding, Effort, is_worth_it};

/// The bytes up to which it is found out by the best effort whether a coding is worth it, and beyond which by a quick
/// one: so that nobody does all the work again for content that is left alone.
pub const SHORT: usize = 64 * 1024;

/// True if it is worth trying a coding at the best effort: of [short](SHORT) content always, of other if a quick coding is
/// worth it.
pub fn is_promising(bytes: &[u8], coding: ContentCoding) -> bool {
    if bytes.len() <= SHORT {
        return true;
    }
    let coded = encode(bytes, coding, Effort::Quick, &|| true);
    coded.is_ok_and(|coded| is_worth_it(bytes.len(), coded.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_long_is_tried_quickly() {
        let text = b"words and words, ".repeat(10_000);
        assert!(is_promising(&text, ContentCoding::Brotli));
        let mut state = 1_u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[3]
        })
        .take(100_000)
        .collect();
        assert!(!is_promising(&noise, ContentCoding::Brotli));
        assert!(is_promising(
            noise.get(..SHORT).unwrap(),
            ContentCoding::Brotli
        ));
    }
}
