//! The gain below which a coding is not kept.

/// The least share of the length that is worth it: a twentieth.
const SHARE: usize = 20;

/// The least number of bytes that are worth it.
const LEAST: usize = 64;

/// True if a coding of so many bytes is worth it for content of `length` bytes: it saves a twentieth and 64 bytes.
/// Less than that is not worth the fields that go with a coding.
pub fn is_worth_it(length: usize, coded: usize) -> bool {
    let least = (length / SHARE).max(LEAST);
    coded.checked_add(least).is_some_and(|most| most <= length)
}

#[cfg(test)]
mod tests {
    use super::is_worth_it;

    #[test]
    fn small_gains_are_not_worth_it() {
        fn check(length: usize, coded: usize, expected: bool) {
            assert_eq!(is_worth_it(length, coded), expected, "{length} {coded}");
        }
        check(0, 0, false);
        check(63, 0, false);
        check(64, 0, true);
        check(1000, 936, true);
        check(1000, 937, false);
        check(100_000, 95_000, true);
        check(100_000, 95_001, false);
        check(100, usize::MAX, false);
        check(usize::MAX, usize::MAX, false);
    }
}
