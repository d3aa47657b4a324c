//! Sizes as people read them.

/// A size for people.
pub(crate) fn size(bytes: u64) -> String {
    let text = bytesize::ByteSize(bytes).display().iec().to_string();
    text.replacen(".0 ", " ", 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_for_people() {
        fn check(bytes: u64, expected: &str) {
            assert_eq!(size(bytes), expected);
        }
        check(0, "0 B");
        check(1000, "1000 B");
        check(1 << 20, "1 MiB");
        check(3 << 19, "1.5 MiB");
        check(256 << 20, "256 MiB");
    }
}
