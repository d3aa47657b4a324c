//! Scanning for the end of a run of bytes of one class, eight bytes at a time.
//!
//! A [`ByteClass`] takes eight bytes as one word, the first in the lowest place, and sets the highest bit of each
//! byte that is *not* in the class. Only the lowest bit that it sets has to be right: a carry may spoil the bytes
//! behind it, which are not read. NUL is in no class, so that the zeros that stand for bytes behind the end are the
//! end of every run.

/// The test of eight bytes at once for those outside of a class.
type ByteClass = fn(u64) -> u64;

/// A byte in all eight places.
const fn each(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// The bytes of field values but for HTAB: SP, VCHAR and obs-text (RFC 9110 section 5.5).
pub(crate) const TEXT: ByteClass = |word| {
    let below_space = word.wrapping_sub(each(b' '));
    let delete = (word ^ each(0x7f)).wrapping_sub(each(1));
    (below_space | delete) & !word & each(0x80)
};

/// The bytes of request targets but for `?`: anything but controls, SP and `#`.
pub(crate) const TARGET: ByteClass = |word| {
    let to_space = word.wrapping_sub(each(b' ' + 1));
    let hash = (word ^ each(b'#')).wrapping_sub(each(1));
    // `?` and DEL differ in one bit.
    let question_or_delete = ((word | each(0x40)) ^ each(0x7f)).wrapping_sub(each(1));
    (to_space | hash | question_or_delete) & !word & each(0x80)
};

/// The bytes of nearly all field names: letters and `-`. The byte that ends the run may still be a `tchar`.
pub(crate) const NAME: ByteClass = |word| {
    let dash = is_not(word, b'-');
    !((letters(word) | !dash) & !word) & each(0x80)
};

/// Sets the highest bit of each ASCII letter, but is right only about bytes below 0x80, as the next
/// two are.
fn letters(word: u64) -> u64 {
    between(word | each(0x20), b'a', b'z')
}

/// Sets the highest bit of each byte from `first` to `last`.
fn between(word: u64, first: u8, last: u8) -> u64 {
    let word = word & each(0x7f);
    (word + each(0x80 - first)) & !(word + each(0x7f - last))
}

/// Sets the highest bit of each byte that is not `byte`.
fn is_not(word: u64, byte: u8) -> u64 {
    ((word ^ each(byte)) & each(0x7f)) + each(0x7f)
}

/// The length of the run of bytes of that class that `bytes` begin with.
#[inline(always)]
pub(crate) fn run(class: ByteClass, bytes: &[u8]) -> usize {
    let mut rest = bytes;
    while let Some((chunk, behind)) = rest.split_first_chunk() {
        let others = class(u64::from_le_bytes(*chunk));
        if others != 0 {
            return bytes.len() - rest.len() + first(others);
        }
        rest = behind;
    }
    run_at_end(class, bytes, rest)
}

/// As [`run`] of `TEXT`, faster where it is long: the compiler makes vector instructions of a loop over sixteen bytes
/// without a branch.
#[inline(always)]
pub(crate) fn run_of_text(bytes: &[u8]) -> usize {
    let is_other = |byte: u8| byte < b' ' || byte == 0x7f;
    let mut rest = bytes;
    while let Some((chunk, behind)) = rest.split_first_chunk::<16>() {
        if chunk.iter().fold(false, |any, &byte| any | is_other(byte)) {
            return bytes.len() - rest.len() + run(TEXT, chunk);
        }
        rest = behind;
    }
    match rest.split_first_chunk() {
        Some((chunk, behind)) => match TEXT(u64::from_le_bytes(*chunk)) {
            0 => run_at_end(TEXT, bytes, behind),
            others => bytes.len() - rest.len() + first(others),
        },
        None => run_at_end(TEXT, bytes, rest),
    }
}

/// As [`run`], where only `rest`, fewer than eight bytes at the end of `bytes`, have not been scanned.
#[inline(always)]
fn run_at_end(class: ByteClass, bytes: &[u8], rest: &[u8]) -> usize {
    match bytes.last_chunk() {
        // The bytes that are scanned again are in the class, so that none of them is marked.
        Some(chunk) => bytes.len() - 8 + first(class(u64::from_le_bytes(*chunk))),
        None => {
            let shift = |word, &byte| word << 8 | u64::from(byte);
            bytes.len() - rest.len() + first(class(rest.iter().rfold(0, shift)))
        }
    }
}

/// The index of the first byte that is marked, 8 if none is.
#[inline(always)]
fn first(others: u64) -> usize {
    // At most 8, on any machine.
    (others.trailing_zeros() / 8) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn is_text(byte: u8) -> bool {
        matches!(byte, b' '..=b'~' | 0x80..)
    }

    fn is_target(byte: u8) -> bool {
        matches!(byte, b'!'..=b'~' | 0x80..) && !b"#?".contains(&byte)
    }

    fn is_name(byte: u8) -> bool {
        byte.is_ascii_alphabetic() || byte == b'-'
    }

    type Case = (ByteClass, fn(u8) -> bool);

    const CASES: [Case; 3] = [(TEXT, is_text), (TARGET, is_target), (NAME, is_name)];

    fn check(bytes: &[u8]) {
        let expected = |is: fn(u8) -> bool| bytes.iter().take_while(|&&byte| is(byte)).count();
        for (number, (class, is)) in CASES.into_iter().enumerate() {
            let actual = run(class, bytes);
            assert_eq!(actual, expected(is), "{number} {}", bytes.escape_ascii());
        }
        assert_eq!(run_of_text(bytes), expected(is_text));
    }

    #[test]
    fn every_two_bytes() {
        // In pairs, for what carries over goes to the next byte.
        for first in 0..=u8::MAX {
            for second in 0..=u8::MAX {
                check(&[b'a', first, second, b'b', b'c', b'd', b'e', b'f']);
            }
        }
    }

    #[test]
    fn at_each_place() {
        for length in 0..40 {
            for place in 0..=length {
                for byte in [
                    b'\0', b'\t', b'\r', b' ', b'#', b'/', b':', b'?', 0x7f, 0x80, 0xff,
                ] {
                    let mut bytes = vec![b'a'; length];
                    bytes.splice(place..(place + 1).min(length), [byte]);
                    check(&bytes);
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            check(&bytes);
        }
    }
}
