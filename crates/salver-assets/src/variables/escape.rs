//! Escaping of values for the places of a page where they land.
//!
//! Each of the two is harmless in the place of the other: neither gives a quote, a bracket, a space or a backslash that
//! is not its own, so that a page which is read otherwise than a browser reads it shows odd text and nothing worse.

use std::fmt::Write;

/// True for what stands for itself in every place: it begins no reference, no string, no tag and no attribute.
fn is_plain(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || "-._~:/?#@+,%".contains(sign)
}

/// Appends text for HTML: within elements and in the values of attributes, quoted or not.
pub(super) fn html(text: &str, out: &mut String) {
    for sign in text.chars() {
        match sign {
            // References to these would be other characters (WHATWG HTML, numeric character reference end state).
            '\u{80}'..='\u{9f}' => out.push(sign),
            sign if is_plain(sign) => out.push(sign),
            // Writing to a String cannot fail.
            sign => drop(write!(out, "&#{};", u32::from(sign))),
        }
    }
}

/// Appends text for a string of JavaScript or JSON, whatever its quotes, also within a `<script>`.
pub(super) fn script_text(text: &str, out: &mut String) {
    for sign in text.chars() {
        if is_plain(sign) {
            out.push(sign);
            continue;
        }
        for unit in sign.encode_utf16(&mut [0; 2]) {
            // JSON knows no other escape for all of them.
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn escaped(escape: fn(&str, &mut String), text: &str) -> String {
        let mut out = String::new();
        escape(text, &mut out);
        out
    }

    #[test]
    fn what_could_end_its_place_is_escaped() {
        let check = |text: &str, as_html: &str, as_script: &str| {
            assert_eq!(escaped(html, text), as_html, "{text:?}");
            assert_eq!(escaped(script_text, text), as_script, "{text:?}");
        };
        let url = "https://api.example.org/v1?x#y";
        check(url, url, url);
        check("</script>", "&#60;/script&#62;", "\\u003c/script\\u003e");
        check("\"'`", "&#34;&#39;&#96;", "\\u0022\\u0027\\u0060");
        check("a b=c", "a&#32;b&#61;c", "a\\u0020b\\u003dc");
        check(
            "\\${x}\n",
            "&#92;&#36;&#123;x&#125;&#10;",
            "\\u005c\\u0024\\u007bx\\u007d\\u000a",
        );
        check(
            "-->&amp;",
            "--&#62;&#38;amp&#59;",
            "--\\u003e\\u0026amp\\u003b",
        );
        check(
            "é\u{2028}😀",
            "&#233;&#8232;&#128512;",
            "\\u00e9\\u2028\\ud83d\\ude00",
        );
        check("\u{85}", "\u{85}", "\\u0085");
    }

    proptest! {
        #[test]
        fn neither_breaks_out_of_either_place(text in "\\PC{0,40}|[<>\"'`\\\\/ =&;${}!\n\r\t-]{0,40}") {
            let as_html = escaped(html, &text);
            let as_script = escaped(script_text, &text);
            for sign in "<>\"'`= \n\r\t${}!".chars() {
                prop_assert!(!as_html.contains(sign) && !as_script.contains(sign), "{sign:?}");
            }
            prop_assert!(!as_html.contains('\\') && !as_script.contains('&'));
            let json: String = serde_json::from_str(&format!("\"{as_script}\"")).unwrap();
            prop_assert_eq!(json, text);
        }
    }
}
