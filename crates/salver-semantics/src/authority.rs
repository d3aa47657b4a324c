//! `host [":" port]`, as the Host field and two of the four target forms hold it.

use core::net::Ipv6Addr;

use crate::field::{ByteTable, byte_table, has};

/// The bytes that may be in the name of a simple authority.
static IS_SIMPLE: ByteTable =
    byte_table(b"-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");

/// An authority without userinfo (RFC 9110 section 4.2.4 makes userinfo an error).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Authority {
    /// True if a port number is there; a colon with nothing behind it is not one.
    pub has_port: bool,
}

impl Authority {
    /// Checks `bytes` against `uri-host [":" port]` (RFC 3986 section 3.2).
    ///
    /// Narrower than the grammar in three ways: the host is not empty (RFC 9110 section 4.2.1), a
    /// port fits into 16 bits, and a comma is refused, for it is what is left of two Host lines
    /// that somebody joined.
    pub fn parse(bytes: &[u8]) -> Option<Authority> {
        let (host_is_valid, port) = if let Some(literal) = bytes.strip_prefix(b"[") {
            let end = literal.iter().position(|&byte| byte == b']')?;
            let (literal, port) = literal.split_at_checked(end)?;
            (is_ip_literal(literal), port.strip_prefix(b"]")?)
        } else {
            let end = bytes
                .iter()
                .position(|&byte| byte == b':')
                .unwrap_or(bytes.len());
            let (name, port) = bytes.split_at_checked(end)?;
            (is_reg_name(name), port)
        };
        if !host_is_valid {
            return None;
        }
        match port {
            [] | [b':'] => Some(Authority { has_port: false }),
            [b':', digits @ ..] => is_port(digits).then_some(Authority { has_port: true }),
            _ => None,
        }
    }
}

/// True if `bytes` are an authority of the simple form that nearly all are of: letters, digits, `-`
/// and `.`, and perhaps a port of at most five digits. The others are for [`Authority::parse`].
#[inline]
pub fn is_simple(bytes: &[u8]) -> bool {
    let is_simple = |&byte: &u8| has(&IS_SIMPLE, byte);
    let Some(end) = bytes.iter().position(|byte| !is_simple(byte)) else {
        return !bytes.is_empty();
    };
    match bytes.split_at_checked(end) {
        Some(([_, ..], [b':', digits @ ..])) if digits.len() <= 5 => {
            let number = digits.iter().try_fold(0u32, |number, digit| {
                let is_digit = digit.is_ascii_digit();
                is_digit.then(|| number * 10 + u32::from(digit & 0x0f))
            });
            number.is_some_and(|number| number <= u32::from(u16::MAX))
        }
        _ => false,
    }
}

/// True if an authority is of this machine whatever any resolver says, so that browsers trust what comes from it in the
/// clear, too (W3C Secure Contexts section 3.1): `localhost` and names below it, 127.0.0.0/8, `[::1]`.
pub fn is_this_machine(authority: &[u8]) -> bool {
    // What nearly all of them are.
    let usual = authority.strip_prefix(b"localhost");
    if usual.is_some_and(is_port_part) {
        return true;
    }
    let host = match authority {
        [b'[', ..] => return authority.strip_prefix(b"[::1]").is_some_and(is_port_part),
        _ => {
            let end = authority.iter().position(|&byte| byte == b':');
            let (host, port) = authority.split_at(end.unwrap_or(authority.len()));
            if !is_port_part(port) {
                return false;
            }
            host
        }
    };
    const NAME: &[u8] = b"localhost";
    let Some((before, name)) = host
        .len()
        .checked_sub(NAME.len())
        .and_then(|at| host.split_at_checked(at))
    else {
        return is_loopback(host);
    };
    let is_below = before.is_empty() || before.len() > 1 && before.ends_with(b".");
    name.eq_ignore_ascii_case(NAME) && is_below || is_loopback(host)
}

/// True for a colon with a port, or nothing.
fn is_port_part(text: &[u8]) -> bool {
    text.is_empty() || text.strip_prefix(b":").is_some_and(is_port)
}

fn is_loopback(host: &[u8]) -> bool {
    let text = core::str::from_utf8(host).ok();
    let address: Option<core::net::Ipv4Addr> = text.and_then(|text| text.parse().ok());
    address.is_some_and(|address| address.is_loopback())
}

/// True for `1*DIGIT`, at most 65535. Leading zeros are allowed by the grammar.
fn is_port(digits: &[u8]) -> bool {
    digits
        .iter()
        .try_fold(0u16, |port, byte| {
            let digit = byte.is_ascii_digit().then(|| u16::from(byte & 0x0f))?;
            port.checked_mul(10)?.checked_add(digit)
        })
        .is_some()
}

/// True for a non-empty reg-name or IPv4 address: the latter is, byte for byte, also the former.
fn is_reg_name(name: &[u8]) -> bool {
    let mut rest = name;
    while let [first, tail @ ..] = rest {
        rest = match (first, tail) {
            (b'%', [high, low, tail @ ..])
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                tail
            }
            (b',', _) => return false,
            (&byte, tail) if is_unreserved_or_sub_delim(byte) => tail,
            _ => return false,
        };
    }
    !name.is_empty()
}

/// True for the text between the brackets: IPv6address or IPvFuture (RFC 3986 section 3.2.2).
fn is_ip_literal(literal: &[u8]) -> bool {
    if let [b'v' | b'V', future @ ..] = literal {
        let Some(dot) = future.iter().position(|&byte| byte == b'.') else {
            return false;
        };
        let Some((version, address)) = future.split_at_checked(dot) else {
            return false;
        };
        let address = address.strip_prefix(b".").unwrap_or_default();
        return !version.is_empty()
            && version.iter().all(u8::is_ascii_hexdigit)
            && !address.is_empty()
            && address
                .iter()
                .all(|&byte| byte == b':' || is_unreserved_or_sub_delim(byte));
    }
    // The address is only checked, by the type that knows the grammar: nothing is connected to.
    core::str::from_utf8(literal).is_ok_and(|text| text.parse::<Ipv6Addr>().is_ok())
}

/// True for an unreserved character or a sub-delimiter (RFC 3986 sections 2.2 and 2.3).
fn is_unreserved_or_sub_delim(byte: u8) -> bool {
    matches!(
        byte,
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~'
        | b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'='
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_of_this_machine() {
        for yes in [
            "localhost",
            "LocalHost:8080",
            "app.localhost",
            "127.0.0.1",
            "127.9.9.9:1",
            "[::1]",
            "[::1]:443",
        ] {
            assert!(is_this_machine(yes.as_bytes()), "{yes}");
        }
        for no in [
            "",
            "localhost.example",
            "notlocalhost",
            ".localhost",
            "128.0.0.1",
            "127.0.0.1.example",
            "[::2]",
            "localhost:x",
            "[::1]x",
            "example.org",
            "localhost:99999",
            "127.1",
            "localhost, localhost",
        ] {
            assert!(!is_this_machine(no.as_bytes()), "{no}");
        }
    }

    /// `expected`: not valid, valid without a port, valid with a port.
    #[track_caller]
    fn check(input: &[u8], expected: Option<bool>) {
        let actual = Authority::parse(input).map(|authority| authority.has_port);
        assert_eq!(actual, expected, "{}", input.escape_ascii());
        assert!(
            expected.is_some() || !is_simple(input),
            "{}",
            input.escape_ascii()
        );
    }

    #[test]
    fn simple() {
        for (input, expected) in [
            (&b"example.org"[..], true),
            (b"EXAMPLE-9.org:80", true),
            (b"127.0.0.1:8080", true),
            (b"a:", true),
            (b"a:65535", true),
            (b"a:65536", false),
            (b"a:000080", false),
            (b"a_b", false),
            (b"[::1]", false),
            (b"", false),
        ] {
            assert_eq!(is_simple(input), expected, "{}", input.escape_ascii());
        }
        for byte in 0..=u8::MAX {
            for input in [vec![byte], vec![byte, b'a'], vec![b'a', byte, b'8']] {
                assert!(!is_simple(&input) || Authority::parse(&input).is_some());
            }
        }
    }

    #[test]
    fn valid_without_port() {
        for input in [
            &b"example.org"[..],
            b"EXAMPLE.org",
            b"localhost",
            b"a",
            b"under_score.example",
            b"trailing.dot.",
            b"127.0.0.1",
            b"999.999.999.999",
            b"xn--bcher-kva.example",
            b"b%C3%BCcher.example",
            b"a!$&'()*+;=b",
            b"-._~",
            b"example.org:",
            b"[::1]",
            b"[::1]:",
            b"[2001:db8::1]",
            b"[::ffff:192.0.2.1]",
            b"[v1.fe80::a]",
            b"[V1f.x]",
        ] {
            check(input, Some(false));
        }
    }

    #[test]
    fn valid_with_port() {
        for input in [
            &b"example.org:80"[..],
            b"example.org:0",
            b"example.org:65535",
            b"example.org:00080",
            b"127.0.0.1:8080",
            b"[::1]:8080",
            b"[v1.x]:1",
        ] {
            check(input, Some(true));
        }
    }

    #[test]
    fn invalid() {
        for input in [
            &b""[..],
            b":",
            b":80",
            b" ",
            b" example.org",
            b"example.org ",
            b"exam ple.org",
            b"example.org\t",
            b"a,b",
            b"a, b",
            b"a,",
            b"user@example.org",
            b"user:pass@example.org",
            b"@",
            b"example.org/",
            b"example.org/path",
            b"/",
            b"http://example.org",
            b"example.org?x",
            b"example.org#x",
            b"example.org\\x",
            b"example.org:http",
            b"example.org:80:80",
            b"example.org:+80",
            b"example.org:-1",
            b"example.org:65536",
            b"example.org:184467440737095516160",
            b"example.org: 80",
            b"example.org:80 ",
            b"example.org:8\x000",
            b"exa\x00mple.org",
            b"exa\x7fmple.org",
            b"b\xc3\xbccher.example",
            b"a%",
            b"a%2",
            b"a%zz",
            b"a\"b",
            b"<a>",
            b"{a}",
            b"a|b",
            b"a^b",
            b"a`b",
            b"[",
            b"]",
            b"[]",
            b"[::1",
            b"::1",
            b"[::1]x",
            b"[::1]80",
            b"[::1]]",
            b"[[::1]]",
            b"[127.0.0.1]",
            b"[::1%25eth0]",
            b"[::g]",
            b"[1::2::3]",
            b"[example.org]",
            b"[v.x]",
            b"[v1.]",
            b"[v1]",
            b"[vg.x]",
            b"[v1.x/]",
            b"[::1]:65536",
        ] {
            check(input, None);
        }
    }
}
