//! Does a file name carry a hash of the content? See
//! [`is_fingerprinted`](crate::cache_control::is_fingerprinted).

/// See [`is_fingerprinted`](crate::cache_control::is_fingerprinted).
pub(crate) fn is_fingerprinted(file_name: &[u8]) -> bool {
    let mut rest = file_name
        .rsplit(|&byte| byte == b'/')
        .next()
        .unwrap_or_default();
    let mut follows: fn(&[u8]) -> bool = is_extension;
    // From the end: what may follow a hash, for as long as it goes on, and then the hash.
    while let Some((stem, suffix)) = split_at_last_dot(rest) {
        if !follows(suffix) {
            return false;
        }
        if ends_with_hash(stem) {
            return true;
        }
        rest = stem;
        follows = is_infix;
    }
    false
}

fn split_at_last_dot(name: &[u8]) -> Option<(&[u8], &[u8])> {
    let dot = name.iter().rposition(|&byte| byte == b'.')?;
    let (stem, suffix) = name.split_at_checked(dot)?;
    Some((stem, suffix.strip_prefix(b".")?))
}

/// Any extension will do, known or not; but a version number is none.
fn is_extension(suffix: &[u8]) -> bool {
    suffix.len() <= 11
        && suffix.iter().all(u8::is_ascii_alphanumeric)
        && suffix.iter().any(u8::is_ascii_alphabetic)
}

/// What build tools put between the hash and the last extension: `.chunk.js`, `.js.map`.
fn is_infix(suffix: &[u8]) -> bool {
    const INFIXES: [&[u8]; 18] = [
        b"async", b"bundle", b"chunk", b"cjs", b"css", b"html", b"js", b"json", b"legacy", b"min",
        b"mjs", b"modern", b"module", b"prod", b"svg", b"tar", b"wasm", b"worker",
    ];
    INFIXES.contains(&suffix)
}

fn ends_with_hash(stem: &[u8]) -> bool {
    let word = stem
        .rsplit(|&byte| matches!(byte, b'.' | b'-'))
        .next()
        .unwrap_or_default();
    if is_hex_hash(word) {
        return !ends_with_uuid(stem);
    }
    // These eight may contain the separator themselves, so they are counted from the end.
    stem.split_last_chunk::<8>().is_some_and(|(before, last)| {
        matches!(before, [.., b'.' | b'-']) && is_base64url_hash(last)
    })
}

/// webpack, Parcel, Next.js: a digest, whole or shortened. Digits alone may be a date, letters
/// alone a word.
fn is_hex_hash(word: &[u8]) -> bool {
    (8..=64).contains(&word.len())
        && word
            .iter()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        && word.iter().any(u8::is_ascii_digit)
        && word.iter().any(u8::is_ascii_alphabetic)
}

/// A UUID says which file it is, not what is in it.
fn ends_with_uuid(stem: &[u8]) -> bool {
    stem.split_last_chunk::<36>().is_some_and(|(_, uuid)| {
        uuid.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
    })
}

/// Vite, Rollup: eight characters of base64url.
fn is_base64url_hash(last: &[u8; 8]) -> bool {
    let [_, inner @ ..] = last;
    last.iter()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        && last.iter().any(u8::is_ascii_lowercase)
        && inner.iter().any(u8::is_ascii_uppercase)
        && !is_camel_case(last)
}

/// Whether the letters are words run together, with or without a number at the end: `OpenSans`,
/// `darkMode`, `iPhone15`. About one hash in five hundred looks like that.
fn is_camel_case(text: &[u8]) -> bool {
    let digits = text
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let Some((letters, _number)) = text.split_at_checked(text.len() - digits) else {
        return false;
    };
    letters
        .chunk_by(|_, next| !next.is_ascii_uppercase())
        .enumerate()
        // The i of iPhone.
        .all(|(at, word)| is_word(word) || (at == 0 && matches!(word, [b'a'..=b'z'])))
}

/// Whether it could be spoken: two letters or more, starting as English words do, with a vowel.
fn is_word(word: &[u8]) -> bool {
    const ONSETS: [&[u8; 2]; 33] = [
        b"bl", b"br", b"ch", b"cl", b"cr", b"dr", b"dw", b"fl", b"fr", b"gh", b"gl", b"gr", b"kn",
        b"kr", b"ph", b"pl", b"pr", b"ps", b"rh", b"sc", b"sh", b"sk", b"sl", b"sm", b"sn", b"sp",
        b"st", b"sw", b"th", b"tr", b"tw", b"wh", b"wr",
    ];
    let vowel = |byte: &u8| b"aeiouy".contains(&byte.to_ascii_lowercase());
    let [first, second, ..] = word else {
        return false;
    };
    word.iter().all(u8::is_ascii_alphabetic)
        && word.iter().any(vowel)
        && (vowel(first)
            || vowel(second)
            || ONSETS.contains(&&[first.to_ascii_lowercase(), *second]))
}
