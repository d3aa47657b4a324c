use super::*;
use crate::proxy_protocol::checksum::crc32c;
use proptest::prelude::*;

type Expected = Result<Option<(&'static str, &'static str)>, ProxyProtocolError>;

/// Checks what is made of a header with something behind it, and that each shorter part of it is either
/// incomplete or wrong in the same way.
fn check(header: &[u8], expected: Expected) {
    let said = header.escape_ascii();
    let received = [header, b"GET / HTTP/1.1\r\n"].concat();
    let meant = expected.map(|named| Progress::Complete {
        header: match named {
            None => ProxyHeader::Unnamed,
            Some((source, destination)) => ProxyHeader::Proxied {
                source: source.parse().unwrap(),
                destination: destination.parse().unwrap(),
            },
        },
        length: header.len(),
    });
    assert_eq!(read(&received), meant, "{said}");
    for length in 0..header.len() {
        let part = read(&header[..length]);
        let is_fine = part == Ok(Progress::Incomplete) || meant.is_err() && part == meant;
        assert!(is_fine, "{length} of {said}: {part:?}");
    }
}

#[test]
fn lines_of_version_1() {
    check(
        b"PROXY TCP4 192.0.2.1 198.51.100.2 51234 443\r\n",
        Ok(Some(("192.0.2.1:51234", "198.51.100.2:443"))),
    );
    check(
        b"PROXY TCP6 2001:db8::1 2001:db8::2 0 65535\r\n",
        Ok(Some(("[2001:db8::1]:0", "[2001:db8::2]:65535"))),
    );
    check(
        b"PROXY TCP6 ::ffff:192.0.2.1 ::ffff:192.0.2.2 1 2\r\n",
        Ok(Some(("192.0.2.1:1", "192.0.2.2:2"))),
    );
    check(b"PROXY UNKNOWN\r\n", Ok(None));
    check(b"PROXY UNKNOWN  \xff\n\r\n", Ok(None));
    let longest = "PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n";
    check(longest.as_bytes(), Ok(None));
    for line in [
        "PROXY \r\n",
        "PROXY UNKNOWNS\r\n",
        "PROXY TCP4\r\n",
        "PROXY TCP5 192.0.2.1 192.0.2.2 1 2\r\n",
        "PROXY tcp4 192.0.2.1 192.0.2.2 1 2\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.2 1\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.2 1 2 3\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.2 1 2 \r\n",
        "PROXY TCP4  192.0.2.1 192.0.2.2 1 2\r\n",
        "PROXY TCP4 ::1 ::1 1 2\r\n",
        "PROXY TCP6 192.0.2.1 192.0.2.2 1 2\r\n",
        "PROXY TCP4 192.0.2.01 192.0.2.2 1 2\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.2 +1 2\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.2 01 2\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.2 1 65536\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.2  2\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\n\r\n",
        "PROXY TCP4 localhost 192.0.2.2 1 2\r\n",
        "PROXY TCP6 fe80::1%lo ::1 1 2\r\n",
    ] {
        check(line.as_bytes(), Err(ProxyProtocolError::Malformed1));
    }
    check(b"PROXY TCP4 \xff\r\n", Err(ProxyProtocolError::Malformed1));
    let line = |length: usize| format!("PROXY UNKNOWN {}\r\n", "x".repeat(length - 16));
    check(line(107).as_bytes(), Ok(None));
    check(line(108).as_bytes(), Err(ProxyProtocolError::TooLong));
    check(b"PROXY\tTCP4", Err(ProxyProtocolError::NoHeader));
    check(b"GET / HTTP/1.1\r\n\r\n", Err(ProxyProtocolError::NoHeader));
    check(b"proxy ", Err(ProxyProtocolError::NoHeader));
    check(b"\r\n\r\nGET /", Err(ProxyProtocolError::NoHeader));
}

/// A header of version 2: command, family, and what follows, with its length.
fn binary(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
    let length = u16::try_from(rest.len()).unwrap().to_be_bytes();
    [v2::SIGNATURE, &[command, family], &length, rest].concat()
}

const FOUR: [u8; 12] = [192, 0, 2, 1, 192, 0, 2, 2, 0xc8, 0x22, 0x01, 0xbb];
const FOUR_READ: Expected = Ok(Some(("192.0.2.1:51234", "192.0.2.2:443")));

#[test]
fn headers_of_version_2() {
    check(&binary(0x21, 0x11, &FOUR), FOUR_READ);
    check(&binary(0x21, 0x12, &FOUR), FOUR_READ);
    let six = [
        &[0x20, 1, 0xd, 0xb8][..],
        &[0; 11],
        &[1],
        &[0; 15],
        &[1],
        &[0, 1, 0, 2],
    ]
    .concat();
    let six_read = Ok(Some(("[2001:db8::1]:1", "[::1]:2")));
    check(&binary(0x21, 0x21, &six), six_read);
    check(&binary(0x21, 0x22, &six), six_read);
    let mapped = [&[0; 10][..], &[255, 255, 10, 0, 0, 1], &six[16..]].concat();
    check(
        &binary(0x21, 0x21, &mapped),
        Ok(Some(("10.0.0.1:1", "[::1]:2"))),
    );
    check(&binary(0x21, 0x31, &[b'/'; 216]), Ok(None));
    check(&binary(0x21, 0x00, b""), Ok(None));
    check(&binary(0x21, 0x00, b"anything"), Ok(None));
    // The proxy's own connection, whatever else it says.
    check(&binary(0x20, 0x00, b""), Ok(None));
    check(&binary(0x20, 0x11, &FOUR), Ok(None));
    check(&binary(0x20, 0xff, b"x"), Ok(None));
    for (command, family) in [(0x22, 0x11), (0x11, 0x11), (0x01, 0x11), (0x31, 0x11)] {
        check(
            &binary(command, family, &FOUR),
            Err(ProxyProtocolError::Malformed2),
        );
    }
    for family in [0x01, 0x10, 0x13, 0x20, 0x41, 0xff] {
        check(
            &binary(0x21, family, &FOUR),
            Err(ProxyProtocolError::Malformed2),
        );
    }
    check(
        &binary(0x21, 0x11, &FOUR[..11]),
        Err(ProxyProtocolError::Malformed2),
    );
    check(
        &binary(0x21, 0x21, &six[..35]),
        Err(ProxyProtocolError::Malformed2),
    );
    check(
        &binary(0x21, 0x31, &[0; 215]),
        Err(ProxyProtocolError::Malformed2),
    );
    let longest = HEADER_AT_MOST - 16;
    check(&binary(0x21, 0x00, &vec![0; longest]), Ok(None));
    check(
        &binary(0x21, 0x00, &vec![0; longest + 1]),
        Err(ProxyProtocolError::TooLong),
    );
}

#[test]
fn extensions_fill_the_header() {
    let with = |extensions: &[u8]| binary(0x21, 0x11, &[&FOUR, extensions].concat());
    check(&with(b"\x01\x00\x02h2"), FOUR_READ);
    check(&with(b"\x04\x00\x00\x02\x00\x01a"), FOUR_READ);
    for wrong in [
        &b"\x01"[..],
        b"\x01\x00",
        b"\x01\x00\x03h2",
        b"\x04\x00\x00\x01\x00\x01",
    ] {
        check(&with(wrong), Err(ProxyProtocolError::Extensions));
    }
    check(
        &with(b"\x03\x00\x03abc"),
        Err(ProxyProtocolError::Extensions),
    );
}

#[test]
fn the_checksum_is_that_of_the_header() {
    let extensions = |sum: u32| {
        let sum = sum.to_be_bytes();
        let extensions = [b"\x03\x00\x04", &sum[..], b"\x01\x00\x02h2"].concat();
        binary(0x21, 0x11, &[&FOUR, &extensions[..]].concat())
    };
    let right = crc32c(&[&extensions(0)]);
    check(&extensions(right), FOUR_READ);
    for bit in 0..32 {
        check(
            &extensions(right ^ 1 << bit),
            Err(ProxyProtocolError::Checksum),
        );
    }
}

/// Bytes that are often nearly a header.
fn nearly() -> impl Strategy<Value = Vec<u8>> {
    let any_bytes = || prop::collection::vec(any::<u8>(), 0..300);
    let text =
        "PROXY (TCP4|TCP6|UNKNOWN|T) [0-9a-f.:]{0,20} [0-9a-f.:]{0,20} [0-9]{0,6} [0-9]{0,6}\r\n";
    let version_2 = (0x1e..0x24_u8, any::<u8>(), any_bytes());
    prop_oneof![
        any_bytes(),
        text.prop_map(String::into_bytes),
        version_2.prop_map(|(command, family, rest)| binary(command, family, &rest)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_header_is_read_beyond_its_end(received in nearly()) {
        let read_whole = read(&received);
        if let Ok(Progress::Complete { length, .. }) = read_whole {
            prop_assert!(length <= received.len() && length <= HEADER_AT_MOST);
            prop_assert_eq!(read(&received[..length]), read_whole);
            prop_assert_eq!(read(&received[..length - 1]), Ok(Progress::Incomplete));
        }
        if received.len() >= HEADER_AT_MOST {
            prop_assert_ne!(read_whole, Ok(Progress::Incomplete));
        }
    }

    #[test]
    fn what_is_wrong_stays_wrong(received in nearly(), more in any::<u8>()) {
        if let Err(error) = read(&received) {
            let longer = [&received[..], &[more]].concat();
            prop_assert_eq!(read(&longer), Err(error));
        }
    }
}
