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
    const INFIXES: [&[u8]; 24] = [
        b"async", b"bundle", b"chunk", b"cjs", b"css", b"html", b"ico", b"js", b"json", b"lean",
        b"legacy", b"map", b"min", b"mjs", b"modern", b"module", b"prod", b"svg", b"tar", b"ttf",
        b"txt", b"wasm", b"worker", b"xml",
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
        // Only the first can be a single small letter: the i of iPhone.
        .all(|word| is_word(word) || matches!(word, [b'a'..=b'z']))
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check_all(names: &str, expected: bool) {
        for name in names.split_whitespace() {
            assert_eq!(is_fingerprinted(name.as_bytes()), expected, "{name}");
            let path = format!("/assets/v1.2-x/{name}");
            assert_eq!(is_fingerprinted(path.as_bytes()), expected, "{path}");
        }
    }

    #[test]
    fn hexadecimal() {
        check_all(
            "app.3f9a1c2b.js
             app.3f9a1c2b.js.map
             main.3f9a1c2b.chunk.js
             main.3f9a1c2b.chunk.js.map
             x.3f9a1c2b.min.css
             x.3f9a1c2b.min.css.map.gz
             a.3f9a1c2b.js.gz
             a.3f9a1c2b.js.br
             a.3f9a1c2b.js.zst
             app-3f9a1c2b.js
             app-3f9a1c2b.css
             my-app-3f9a1c2b.css
             my.app-3f9a1c2b.css
             my-app.3f9a1c2b.css
             2.3f9a1c2b.chunk.css
             vendors~main.3f9a1c2b.chunk.js
             runtime-main.3f9a1c2b.js
             en.3f9a1c2b.module.wasm
             3f9a1c2b.js
             3f9a1c2b4d5e6f708192.js
             3f9a1c2b4d5e6f708192.woff2
             3f9a1c2b4d5e6f708192.chunk.js
             117-3f9a1c2b4d5e6f70.js
             framework-0123456789abcdef.js
             page-a1b2c3d4e5f60718.js
             logo.a1b2c3d4.svg
             photo-1a2b3c4d.webp
             photo.6ec499e59f1f1bcdd0f3d21cd0ed17ee.png
             d41d8cd98f00b204e9800998ecf8427e.jpg
             x.e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855.js
             0000000a.js
             a0000000.js
             @scope.3f9a1c2b.js
             .3f9a1c2b.js
             -3f9a1c2b.js
             data.3f9a1c2b.tar.gz
             video.3f9a1c2b.mp4
             archive.3f9a1c2b.7z
             site.3f9a1c2b.webmanifest
             styles.3f9a1c2b.JS",
            true,
        );
    }

    #[test]
    fn base64url() {
        check_all(
            "index-DiwrgTda.js
             index-DiwrgTda.js.map
             index-DiwrgTda.css.gz
             index-BfR3x_aP.js
             logo-B-3x_aPq.svg
             logo.B-3x_aPq.svg
             index.DiwrgTda.js
             index--aB3xaPq.js
             index-_aB3xaPq.js
             my-app-C0xYz9_-.js
             index-CMdl_S7b.js
             vendor-BxKqTwZm.js
             react-CHdo91hT.svg
             Inter-roman-latin.Di8DUHzh.woff2
             app.t0sCi3HD.js
             theme.DXcttnDb.js
             index.md.D1jGRuBU.lean.js
             style.BYkyJyQe.css
             a-0000aB00.js
             a-aaaaaaaB.js",
            true,
        );
    }

    #[test]
    fn neither() {
        check_all(
            "app.js
             app.min.js
             app.bundle.min.js
             index.html
             LICENSE
             .
             ..
             ...
             .js
             -.js
             jquery-3.7.1.min.js
             jquery-3.7.1.js
             bootstrap-dropdown.js
             photo-20241121.jpg
             photo.20241121.jpg
             IMG_20241121.jpg
             20241121.jpg
             20241121123456.jpg
             report.20240101.pdf
             chapter-chapter1.html
             chapter-Chapter1.html
             a.deadbeef
             a.deadbeef.js
             a.3f9a1c2b
             a-3f9a1c2b
             3f9a1c2b
             face.js
             decade.js
             facade.js
             effaced.js
             defaced-acceded.js
             a.acceeded.js
             12345678.js
             app.1234567.js
             app.3f9a1c2.js
             app.3F9A1C2B.js
             app.3f9a1c2g.js
             app_3f9a1c2b.js
             app3f9a1c2b.js
             app~3f9a1c2b.js
             3f9a1c2b.old.js
             3f9a1c2b.1.js
             app.3f9a1c2b.v2.js
             app.3f9a1c2b.5
             app.3f9a1c2b.
             app.3f9a1c2b..js
             app.3f9a1c2b.notanextension
             app.3f9a1c2b.j-s
             3f9a1c2b-app.js
             app.3f9a1c2b.js/
             app.3f9a1c2b.js/app.js
             release-1.20.300.tar.gz
             x.e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b8550.js
             550e8400-e29b-41d4-a716-4466554400ab.jpg
             user-550e8400-e29b-41d4-a716-4466554400ab.jpg
             550E8400-E29B-41D4-A716-4466554400ab.jpg
             index-Diwrgtda.js
             index-diwrgtda.js
             index-DIWRGTDA.js
             index-x9kq2mz7.js
             index-5QZ2VXKA.js
             index_DiwrgTda.js
             DiwrgTda.js
             index-DiwrgTda
             index-DiwrgTd.js
             index-DiwrgTdaa.js
             index-Diwrg+da.js
             index-Diwrg~da.js",
            false,
        );
        assert!(!is_fingerprinted(b""));
        assert!(!is_fingerprinted(b"index-Diwrg\xc3\xa9Tda.js"));
        assert!(!is_fingerprinted(b"app.3f9a1c2b .js"));
        assert!(is_fingerprinted(b"\xff\xfe.3f9a1c2b.js"));
    }

    #[test]
    fn words_run_together() {
        check_all(
            "font-OpenSans.woff2
             font-NotoSans.woff2
             font.NotoSans.ttf
             theme-DarkMode.css
             theme-darkMode.css
             react-useState.js
             intro-ReadThis.txt
             page-HomePage.js
             x-GridView.js
             x-DataGrid.css
             x-SlideBar.js
             x-DropZone.js
             x-IsActive.js
             a-TypeBase.js
             case-iPhone15.png
             cover-eBook123.jpg
             trip-NewYear1.jpg
             my-MyPhotos.jpg",
            false,
        );
    }

    #[test]
    fn words() {
        fn check(word: &str, expected: bool) {
            assert_eq!(is_word(word.as_bytes()), expected, "{word}");
        }
        for word in [
            "Open", "Sans", "dark", "Mode", "Scroll", "Is", "Type", "Phone", "You",
        ] {
            check(word, true);
        }
        for noise in ["", "a", "Tda", "Xq", "Bfr", "zzz", "Mb", "Op3n", "O_en"] {
            check(noise, false);
        }
    }

    /// Of all possible hashes of Vite, those with letters of both cases should be found, but for a
    /// few that look like words. A fixed sequence, so that the number is the same on every run.
    #[test]
    fn nearly_every_hash_is_found() {
        let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let mut state = 1_u64;
        let (mut mixed, mut found) = (0, 0);
        for _ in 0..20_000 {
            let hash: [u8; 8] = std::array::from_fn(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                alphabet[usize::try_from(state >> 58).unwrap()]
            });
            mixed += u32::from(
                hash.iter().any(u8::is_ascii_lowercase)
                    && hash[1..].iter().any(u8::is_ascii_uppercase),
            );
            found += u32::from(is_fingerprinted(
                &[b"index-", hash.as_slice(), b".js"].concat(),
            ));
        }
        assert!(mixed > 18_000, "{mixed}");
        assert!(
            found <= mixed && (mixed - found) * 200 < mixed,
            "{found} of {mixed}"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn every_digest_is_found(
            stem in "[a-z_]{1,12}", separator in "[.-]", digest in "[0-9a-f]{20,64}"
        ) {
            prop_assume!(digest.bytes().any(|byte| byte.is_ascii_digit()));
            prop_assume!(digest.bytes().any(|byte| byte.is_ascii_alphabetic()));
            let name = format!("{stem}{separator}{digest}.js");
            prop_assert!(is_fingerprinted(name.as_bytes()), "{}", name);
        }

        #[test]
        fn lower_case_words_and_versions_never_are(
            name in "[g-z]{0,9}([.-]([g-z]{1,9}|[0-9]{1,12})){0,4}\\.[g-z]{1,4}"
        ) {
            prop_assert!(!is_fingerprinted(name.as_bytes()), "{}", name);
        }

        #[test]
        fn nothing_panics(name in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = is_fingerprinted(&name);
        }

        #[test]
        fn nothing_like_a_name_panics(name in "[a-fA-F0-9._-]{0,40}") {
            // Without a dot there is no extension, and so no fingerprint.
            prop_assert!(name.contains('.') || !is_fingerprinted(name.as_bytes()));
        }
    }
}
