//! The names that a component of a path may have on Windows.
//!
//! The system gives many names to one file and to what is no file at all: devices (`NUL`, `COM1.txt`), streams
//! beside the content (`a.txt::$DATA`), the same name with dots or spaces behind it (`a.txt.`), separators (`\`) and
//! wildcards. A rule or a password that holds for one of them must not be walked around by another, so all
//! of these name nothing here. Short names (`PROGRA~1`) and another case (`A.TXT`) look like any name: they are told
//! by what the directory itself says of its entry.

/// The longest component, in UTF-16 units: that of NTFS.
const LONGEST: usize = 255;

/// The name in UTF-16, if a file may be asked for by it.
pub(crate) fn component(name: &[u8]) -> Option<Vec<u16>> {
    let name = std::str::from_utf8(name).ok()?;
    let units: Vec<u16> = name.encode_utf16().collect();
    (is_servable(name) && units.len() <= LONGEST).then_some(units)
}

/// The name of an entry of a directory, if it may be asked for.
pub(crate) fn entry(units: &[u16]) -> Option<Vec<u8>> {
    let name = String::from_utf16(units).ok()?;
    is_servable(&name).then(|| name.into_bytes())
}

fn is_servable(name: &str) -> bool {
    let is_special = |c: char| c < ' ' || r#"<>:"/\|?*"#.contains(c);
    !name.is_empty()
        && !name.contains(is_special)
        && !name.ends_with(['.', ' '])
        && !is_device(name)
}

/// True if the system takes the name for a device, wherever it stands and whatever follows a dot in it.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default();
    let stem = stem.trim_end_matches(' ').to_ascii_uppercase();
    if ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$"].contains(&&*stem) {
        return true;
    }
    let number = stem
        .strip_prefix("COM")
        .or_else(|| stem.strip_prefix("LPT"));
    let mut number = number.unwrap_or_default().chars();
    // Superscripts count, as ISO 8859-1 has them.
    let is_number = |c: char| c.is_ascii_digit() || ['\u{b9}', '\u{b2}', '\u{b3}'].contains(&c);
    number.next().is_some_and(is_number) && number.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_is_a_plain_name_or_names_nothing() {
        fn check(name: &[u8], expected: bool) {
            let shown = String::from_utf8_lossy(name);
            assert_eq!(component(name).is_some(), expected, "{shown:?}");
            let units: Option<Vec<u16>> = std::str::from_utf8(name)
                .ok()
                .map(|name| name.encode_utf16().collect());
            if let Some(units) = units.filter(|units| units.len() <= LONGEST) {
                assert_eq!(entry(&units), expected.then(|| name.to_vec()), "{shown:?}");
            }
        }
        let right: [&[u8]; 22] = [
            b"a",
            b"index.html",
            b".htaccess",
            b"..a",
            b"a..b",
            b"a b",
            b" a",
            b"CONSOLE",
            b"con1",
            b"com",
            b"COM10",
            b"lpt",
            b"com1a",
            b"nul-",
            b"nullable.js",
            b"auxiliary",
            b"a~1",
            b"PROGRA~1",
            b"$MFT",
            b"a%b",
            "\u{fc}.txt".as_bytes(),
            "\u{1f600}".as_bytes(),
        ];
        let devices: [&[u8]; 20] = [
            b"CON",
            b"con",
            b"Prn",
            b"aux",
            b"NUL",
            b"nul.txt",
            b"NUL.tar.gz",
            b"nul .txt",
            b"COM1",
            b"com9.html",
            b"com0",
            b"LPT1",
            b"lpt0.x",
            b"CONIN$",
            b"conout$",
            b"clock$",
            "COM\u{b9}".as_bytes(),
            "lpt\u{b3}.txt".as_bytes(),
            b"aux.",
            b"con:",
        ];
        let others: [&[u8]; 26] = [
            b"",
            b".",
            b"..",
            b"...",
            b"a.",
            b"a ",
            b"a. .",
            b"a.txt:",
            b"a.txt:s",
            b"a.txt::$DATA",
            b":",
            b"C:",
            b"c:a",
            b"a\\b",
            b"..\\a",
            b"\\",
            b"a/b",
            b"a*",
            b"?",
            b"a<",
            b"a>b",
            b"\"",
            b"a|b",
            b"a\nb",
            b"a\0b",
            b"a\xff",
        ];
        for (names, expected) in [(&right[..], true), (&devices, false), (&others, false)] {
            for name in names {
                check(name, expected);
            }
        }
        check(&[b'a'; LONGEST], true);
        check(&[b'a'; LONGEST + 1], false);
        assert_eq!(entry(&[0xd800]), None, "half of a character");
    }
}
