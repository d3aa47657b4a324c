//! The order of names as people expect it: case does not count, and `file9` comes before `file10`.

use std::cmp::Ordering;

/// Compares two names. Names that differ are never equal, so that an order is the same each time.
pub(crate) fn of_names(one: &[u8], other: &[u8]) -> Ordering {
    natural(one, other).then_with(|| one.cmp(other))
}

fn natural(mut one: &[u8], mut other: &[u8]) -> Ordering {
    loop {
        let (Some(&a), Some(&b)) = (one.first(), other.first()) else {
            return one.len().cmp(&other.len());
        };
        if a.is_ascii_digit() && b.is_ascii_digit() {
            let ((a, rest), (b, other_rest)) = (number(one), number(other));
            // Without zeros at the front the longer number is the larger.
            let order = a.len().cmp(&b.len()).then_with(|| a.cmp(b));
            if order.is_ne() {
                return order;
            }
            (one, other) = (rest, other_rest);
            continue;
        }
        let order = a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase());
        if order.is_ne() {
            return order;
        }
        (one, other) = (
            one.get(1..).unwrap_or_default(),
            other.get(1..).unwrap_or_default(),
        );
    }
}

/// The digits that a name begins with, without zeros at the front, and what follows them.
fn number(name: &[u8]) -> (&[u8], &[u8]) {
    let count = |of: &[u8], is: fn(&u8) -> bool| of.iter().take_while(|byte| is(byte)).count();
    let (digits, rest) = name
        .split_at_checked(count(name, u8::is_ascii_digit))
        .unwrap_or_default();
    let zeros = count(digits, |byte| *byte == b'0');
    (digits.get(zeros..).unwrap_or_default(), rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_in_the_order_of_people() {
        let sorted = [
            "",
            "1",
            "01",
            "2",
            "10",
            "a",
            "A1",
            "a2",
            "a10",
            "a10b",
            "a99999999999999999999999",
            "B",
            "é",
        ];
        for pair in sorted.windows(2) {
            let found = natural(pair[0].as_bytes(), pair[1].as_bytes());
            assert_ne!(found, Ordering::Greater, "{pair:?}");
        }
        assert_eq!(of_names(b"a", b"A"), Ordering::Greater);
    }

    proptest! {
        #[test]
        fn it_is_a_total_order(
            names in proptest::collection::vec(proptest::collection::vec(proptest::sample::select(b"aA01b\xff".to_vec()), 0..5), 3)
        ) {
            let [a, b, c] = [&names[0], &names[1], &names[2]];
            prop_assert_eq!(of_names(a, b), of_names(b, a).reverse());
            prop_assert_eq!(of_names(a, b).is_eq(), a == b);
            if of_names(a, b).is_le() && of_names(b, c).is_le() {
                prop_assert!(of_names(a, c).is_le());
            }
        }
    }
}
