//! Tests of bodies.

use super::*;
use proptest::prelude::*;

const LIMITS: Limits = Limits {
    max_head: 64,
    max_target: 16,
    max_fields: 8,
    max_body: 100,
};

/// The number of bytes of a body, `None` if it is not whole, or the status of its refusal; whatever the pieces it
/// comes in.
fn decode(length: BodyLength, pieces: &[&[u8]]) -> Result<Option<usize>, u16> {
    let mut decoder = BodyDecoder::new(length, &LIMITS);
    let mut total = 0;
    for piece in pieces {
        let (consumed, whole) = decoder
            .read(piece, None)
            .map_err(|refusal| refusal.status)?;
        total += consumed;
        if whole {
            assert_eq!(decoder.read(b"more", None).unwrap(), (0, true));
            return Ok(Some(total));
        }
        assert_eq!(consumed, piece.len());
    }
    Ok(None)
}

#[track_caller]
fn check(length: BodyLength, input: &[u8], expected: Result<Option<usize>, u16>) {
    let text = input.escape_ascii();
    assert_eq!(decode(length, &[input]), expected, "{text}");
    let bytes: Vec<&[u8]> = input.chunks(1).collect();
    assert_eq!(decode(length, &bytes), expected, "{text}, byte by byte");
    for at in 0..=input.len() {
        let (left, right) = input.split_at(at);
        assert_eq!(
            decode(length, &[left, right]),
            expected,
            "{text}, divided at {at}"
        );
    }
    if let Ok(Some(end)) = expected {
        assert_eq!(
            decode(length, &[&input[..end]]),
            expected,
            "{text}, and no more"
        );
        assert_eq!(
            decode(length, &[&input[..end - 1]]),
            Ok(None),
            "{text}, one less"
        );
    }
}

#[test]
fn sized() {
    check(BodyLength::Sized(5), b"12345", Ok(Some(5)));
    check(
        BodyLength::Sized(5),
        b"12345GET / HTTP/1.1\r\n",
        Ok(Some(5)),
    );
    check(BodyLength::Sized(5), b"1234", Ok(None));
    check(BodyLength::Sized(1), b"\0", Ok(Some(1)));
    check(BodyLength::Sized(u64::MAX), b"12345", Ok(None));
    assert_eq!(decode(BodyLength::None, &[b"GET"]), Ok(Some(0)));
    assert_eq!(
        decode(BodyLength::Sized(5), &[b"", b"123", b"", b"4567"]),
        Ok(Some(5))
    );
}

#[test]
fn chunked() {
    for input in [
        "0\r\n\r\n",
        "5\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
        "a\r\n0123456789\r\n0\r\n\r\n",
        "A\r\n0123456789\r\n0\r\n\r\n",
        "1\r\n\r\r\n1\r\n\n\r\n0\r\n\r\n",
        "7\r\n0\r\n\r\nxx\r\n0\r\n\r\n",
        "0000000000000005\r\nhello\r\n0000000000000000\r\n\r\n",
        "00\r\n\r\n",
        // Extensions.
        "5;a\r\nhello\r\n0\r\n\r\n",
        "5;a=b\r\nhello\r\n0;c=d\r\n\r\n",
        "5;a=\"b\"\r\nhello\r\n0\r\n\r\n",
        "5;a=\"\"\r\nhello\r\n0\r\n\r\n",
        "5;a=\"; \\\" \\\\ ,\t\"\r\nhello\r\n0\r\n\r\n",
        "5;a;b=c;d=\"e\";f\r\nhello\r\n0\r\n\r\n",
        "5 ; a = b ; c\r\nhello\r\n0\r\n\r\n",
        "5\t;\ta\t=\t\"b\"\t;c\r\nhello\r\n0\r\n\r\n",
        // Trailers.
        "0\r\nA: b\r\n\r\n",
        "0\r\nA:\r\n\r\n",
        "0\r\nA:b\r\nC: d e\t\r\n\r\n",
        "0\r\nContent-Length: 5\r\nTransfer-Encoding: x\r\n\r\n",
        "0\r\nA: \u{fc}\r\n\r\n",
    ] {
        check(BodyLength::Chunked, input.as_bytes(), Ok(Some(input.len())));
        let pipelined = format!("{input}GET / HTTP/1.1\r\n\r\n");
        check(
            BodyLength::Chunked,
            pipelined.as_bytes(),
            Ok(Some(input.len())),
        );
    }
}

#[test]
fn chunked_syntax() {
    for input in [
        "\r\n",
        "\n",
        " 5\r\n",
        ";\r\n",
        "x\r\n",
        "-5\r\n",
        "+5\r\n",
        "0x5\r\n",
        "5_0\r\n",
        "5g\r\n",
        "5,5\r\n",
        "5.0\r\n",
        "\u{665}\r\n",
        "5\n",
        "5\r5",
        "5\rhello",
        "5\r\r\n",
        "5 \r\n",
        "5\t\r\n",
        "5 5\r\n",
        "5\0\r\n",
        "0\n",
        "00000000000000005\r\n",
        "10000000000000000\r\n",
        "ffffffffffffffffff\r\n",
        // The end of a chunk.
        "5\r\nhello0\r\n",
        "5\r\nhello\n0\r\n",
        "5\r\nhello\r0\r\n",
        "5\r\nhello!!\r\n0\r\n",
        "5\r\nhello\r\r\n",
        "5\r\nhello \r\n",
        "5\r\nhello\r\n\r\n",
        // Extensions.
        "5;\r\n",
        "5;;a\r\n",
        "5; \r\n",
        "5;=b\r\n",
        "5;a=\r\n",
        "5;a=b=c\r\n",
        "5;a= \r\n",
        "5;a \r\n",
        "5;a=b \r\n",
        "5;a=\"b\" \r\n",
        "5;a b\r\n",
        "5;a=b c\r\n",
        "5;a=\"b\"c\r\n",
        "5;a=\"b\r\n",
        "5;a=\"b\n\"\r\n",
        "5;a=\"\\\r\n",
        "5;a=\"\x7f\"\r\n",
        "5;a=\0\r\n",
        "5;a\n",
        "5;a\rb\r\n",
        "5;\u{fc}\r\n",
        "5;a=b\u{fc}\r\n",
        "5;(a)\r\n",
        // Trailers.
        "0\r\n\n",
        "0\r\n\rx",
        "0\r\nA\r\n",
        "0\r\nA b\r\n",
        "0\r\nA : b\r\n",
        "0\r\n: b\r\n",
        "0\r\n A: b\r\n",
        "0\r\nA: b\r\n c\r\n\r\n",
        "0\r\nA: b\n\r\n",
        "0\r\nA: b\rc\r\n",
        "0\r\nA: b\0\r\n",
        "0\r\nA: \x7f\r\n",
        "0\r\n\u{fc}: b\r\n",
        "0\r\n0\r\n\r\n",
    ] {
        check(BodyLength::Chunked, input.as_bytes(), Err(400));
    }
}

#[test]
fn chunked_in_part() {
    for input in [
        "",
        "5",
        "5\r",
        "5;",
        "5;a=\"",
        "5\r\nhel",
        "5\r\nhello\r",
        "0\r\n",
        "0\r\nA: b\r\n\r",
    ] {
        check(BodyLength::Chunked, input.as_bytes(), Ok(None));
    }
}

#[test]
fn chunked_content_is_bounded() {
    let chunk = |size: usize| format!("{size:x}\r\n{}\r\n", "x".repeat(size));
    let end = "0\r\n\r\n";
    for sizes in [&[100][..], &[50, 50], &[99, 1], &[1; 100]] {
        let body: String = sizes.iter().map(|&size| chunk(size)).collect();
        check(
            BodyLength::Chunked,
            (body + end).as_bytes(),
            Ok(Some(sizes_len(sizes))),
        );
    }
    for sizes in [&[101][..], &[50, 51], &[100, 1], &[1; 101]] {
        let body: String = sizes.iter().map(|&size| chunk(size)).collect();
        check(BodyLength::Chunked, (body + end).as_bytes(), Err(413));
    }
    for size in [
        "65",
        "ffffffffffffffff",
        "8000000000000000",
        "7fffffffffffffff",
    ] {
        // Said as soon as the size is known.
        check(
            BodyLength::Chunked,
            format!("{size}\r\n").as_bytes(),
            Err(413),
        );
        check(
            BodyLength::Chunked,
            format!("1\r\nx\r\n{size}\r\n").as_bytes(),
            Err(413),
        );
    }
    fn sizes_len(sizes: &[usize]) -> usize {
        sizes
            .iter()
            .map(|size| format!("{size:x}").len() + size + 4)
            .sum::<usize>()
            + 5
    }
}

#[test]
fn chunked_overhead_is_bounded() {
    // ";" and the name and CR and LF: those of one line, then those of two.
    for (input, fits) in [
        (format!("1;{}\r\nx\r\n0\r\n\r\n", "a".repeat(60)), true),
        (format!("1;{}\r\nx\r\n0\r\n\r\n", "a".repeat(100)), false),
        (
            format!("1;{0}\r\nx\r\n1;{0}\r\nx\r\n0\r\n\r\n", "a".repeat(29)),
            true,
        ),
        (
            format!("1;{0}\r\nx\r\n1;{0}\r\nx\r\n0\r\n\r\n", "a".repeat(50)),
            false,
        ),
    ] {
        let expected = if fits {
            Ok(Some(input.len()))
        } else {
            Err(400)
        };
        check(BodyLength::Chunked, input.as_bytes(), expected);
    }
    for (input, fits) in [
        (format!("0\r\nA: {}\r\n\r\n", "b".repeat(55)), true),
        (format!("0\r\nA: {}\r\n\r\n", "b".repeat(80)), false),
        (format!("0\r\n{}\r\n", "A:\r\n".repeat(15)), true),
        (format!("0\r\n{}\r\n", "A:\r\n".repeat(20)), false),
        (
            format!("0;{}\r\nA: {}\r\n\r\n", "a".repeat(40), "b".repeat(40)),
            false,
        ),
    ] {
        let expected = if fits {
            Ok(Some(input.len()))
        } else {
            Err(431)
        };
        check(BodyLength::Chunked, input.as_bytes(), expected);
    }
}

#[test]
fn trailers_are_lines_of_the_last_section_alone() {
    let body = b"1;x=y\r\nA\r\n0;z\r\nA: b \r\nContent-Length:5\r\nC:\td:e\r\n\r\n";
    let mut buffer = BodyBuffer::default();
    let mut decoder = BodyDecoder::new(BodyLength::Chunked, &LIMITS);
    let read = decoder.read(body, Some(&mut buffer));
    assert_eq!(read, Ok((body.len(), true)));
    let lines: Vec<_> = trailer_lines(&buffer.trailers).collect();
    let expected: [(&[u8], &[u8]); 3] = [(b"A", b"b"), (b"Content-Length", b"5"), (b"C", b"d:e")];
    assert_eq!((lines, &*buffer.content), (expected.to_vec(), &b"A"[..]));
    assert_eq!(trailer_lines(b"").count(), 0);
}

#[test]
fn what_is_left_is_told_where_the_length_is() {
    let mut decoder = BodyDecoder::new(BodyLength::Sized(5), &LIMITS);
    assert_eq!(decoder.content_left(), Some(5));
    assert_eq!(decoder.read(b"123", None), Ok((3, false)));
    assert_eq!(decoder.content_left(), Some(2));
    let decoder = BodyDecoder::new(BodyLength::Chunked, &LIMITS);
    assert_eq!(decoder.content_left(), None);
}

/// A chunked body of any chunks, extensions and trailers that fit the bounds.
/// And the content and the trailer section that it carries.
fn body() -> impl Strategy<Value = (Vec<u8>, BodyBuffer)> {
    let extension = "( ?; ?[a-z]{1,3}(=([a-z]{1,3}|\"[a-z ;,]{0,4}\"))?)?";
    let chunk = (
        proptest::collection::vec(any::<u8>(), 1..12),
        extension,
        any::<bool>(),
    );
    let trailer = "[A-Za-z-]{1,5}:[ -~]{0,8}\r\n";
    (
        proptest::collection::vec(chunk, 0..4),
        proptest::collection::vec(trailer, 0..3),
    )
        .prop_map(|(chunks, trailers)| {
            let (mut body, mut content) = (Vec::new(), Vec::new());
            for (data, extension, upper) in chunks {
                content.extend_from_slice(&data);
                let size = format!("{:x}", data.len());
                let size = if upper { size.to_uppercase() } else { size };
                body.extend_from_slice(format!("{size}{extension}\r\n").as_bytes());
                body.extend_from_slice(&data);
                body.extend_from_slice(b"\r\n");
            }
            let trailers = trailers.concat().into_bytes();
            body.extend_from_slice(b"0\r\n");
            body.extend_from_slice(&trailers);
            body.extend_from_slice(b"\r\n");
            (body, BodyBuffer { content, trailers })
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_valid_body_ends_where_it_ends((body, expected) in body(), next in any::<[u8; 4]>()) {
        let limits = Limits { max_head: 1000, ..LIMITS };
        let input = [body.as_slice(), &next].concat();
        let mut read = BodyBuffer::default();
        let mut decoder = BodyDecoder::new(BodyLength::Chunked, &limits);
        prop_assert_eq!(decoder.read(&input, Some(&mut read)), Ok((body.len(), true)));
        prop_assert_eq!(&read, &expected);
        read = BodyBuffer::default();
        let mut decoder = BodyDecoder::new(BodyLength::Chunked, &limits);
        for byte in body.chunks(1) {
            prop_assert_eq!(decoder.read(byte, Some(&mut read)).map(|(count, _)| count), Ok(1));
        }
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn pieces_make_no_difference(
        (mut body, _) in body(),
        wrong in proptest::option::of((any::<usize>(), any::<u8>())),
        at in any::<usize>(),
    ) {
        if let Some((place, byte)) = wrong {
            let place = place % body.len();
            body[place] = byte;
        }
        let whole = decode(BodyLength::Chunked, &[&body]);
        let (left, right) = body.split_at(at % body.len());
        prop_assert_eq!(decode(BodyLength::Chunked, &[left, right]), whole);
        let bytes: Vec<&[u8]> = body.chunks(1).collect();
        prop_assert_eq!(decode(BodyLength::Chunked, &bytes), whole);
    }
}
