//! Numbers as text, without the machinery of `fmt`.

/// The last `N` decimal digits of a number.
pub(crate) fn decimal<const N: usize>(number: u64) -> [u8; N] {
    let mut text = [b'0'; N];
    let mut rest = number;
    for place in text.iter_mut().rev() {
        *place += u8::try_from(rest % 10).unwrap_or_default();
        rest /= 10;
    }
    text
}

/// Appends a number in decimal.
pub(crate) fn push(out: &mut Vec<u8>, number: u64) {
    let mut text = [0; 20];
    let mut rest = number;
    let mut length = 0;
    for place in text.iter_mut().rev() {
        *place = b'0' + u8::try_from(rest % 10).unwrap_or_default();
        rest /= 10;
        length += 1;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(text.get(text.len() - length..).unwrap_or_default());
}

/// Appends seconds with six decimals.
pub(crate) fn push_seconds(out: &mut Vec<u8>, time: std::time::Duration) {
    push(out, time.as_secs());
    let [a, b, c, d, e, f] = decimal(time.subsec_micros().into());
    out.extend_from_slice(&[b'.', a, b, c, d, e, f]);
}

/// The 32 hexadecimal digits of a number, in lower case.
pub(crate) fn hex128(number: u128) -> [u8; 32] {
    let mut text = [0; 32];
    let (pairs, _) = text.as_chunks_mut::<2>();
    for (pair, byte) in pairs.iter_mut().zip(number.to_be_bytes()) {
        *pair = hex(byte);
    }
    text
}

/// The 16 hexadecimal digits of a number, in lower case.
pub(crate) fn hex64(number: u64) -> [u8; 16] {
    let mut text = [0; 16];
    let (pairs, _) = text.as_chunks_mut::<2>();
    for (pair, byte) in pairs.iter_mut().zip(number.to_be_bytes()) {
        *pair = hex(byte);
    }
    text
}

/// The two hexadecimal digits of a byte, in lower case.
pub(crate) fn hex(byte: u8) -> [u8; 2] {
    let digit = |half: u8| half + if half < 10 { b'0' } else { b'a' - 10 };
    [digit(byte >> 4), digit(byte & 15)]
}

/// The number of hexadecimal digits, all of which count; `None` if one is none, or upper case where that is
/// not `allowed`.
pub(crate) fn from_hex(text: &[u8], upper: bool) -> Option<u128> {
    text.iter().try_fold(0_u128, |number, sign| {
        let digit = match sign {
            b'0'..=b'9' => sign - b'0',
            b'a'..=b'f' => sign - b'a' + 10,
            b'A'..=b'F' if upper => sign - b'A' + 10,
            _ => return None,
        };
        Some(number << 4 | u128::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    #[test]
    fn seconds_have_six_decimals() {
        let check = |micros: u64, expected: &str| {
            let mut out = Vec::new();
            push_seconds(&mut out, Duration::from_micros(micros));
            assert_eq!(out, expected.as_bytes());
        };
        check(0, "0.000000");
        check(1, "0.000001");
        check(1_234_567, "1.234567");
        check(u64::MAX, "18446744073709.551615");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn numbers_are_as_std_writes_them(number in any::<u64>(), shift in 0..64, wide in any::<u128>()) {
            let number = number >> shift;
            let mut out = Vec::new();
            push(&mut out, number);
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            prop_assert_eq!(text(&out), number.to_string());
            prop_assert_eq!(text(&decimal::<6>(number)), format!("{:06}", number % 1_000_000));
            prop_assert_eq!(text(&hex128(wide)), format!("{wide:032x}"));
            prop_assert_eq!(text(&hex64(number)), format!("{number:016x}"));
            prop_assert_eq!(from_hex(&hex128(wide), false), Some(wide));
            prop_assert_eq!(from_hex(format!("{wide:X}").as_bytes(), true), Some(wide));
        }
    }
}
