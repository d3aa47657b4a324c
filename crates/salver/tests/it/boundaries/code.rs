//! Rust source as tokens, without comments, literals and what is compiled for tests alone.

use std::iter::Peekable;
use std::str::Chars;

/// The tokens of a file that take part in the program: words, `::`, and single signs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Code {
    pub(crate) tokens: Vec<String>,
    /// The modules of other files that are compiled for tests alone.
    pub(crate) test_modules: Vec<String>,
}

impl Code {
    /// Reads the text of a file.
    pub(crate) fn read(text: &str) -> Code {
        let all = tokens(text);
        let mut code = Code::default();
        let mut at = 0;
        while let Some(token) = all.get(at) {
            if let Some(end) = attribute(&all[at..]) {
                let end = at + end;
                if is_for_tests(&all[at..end]) {
                    at = end;
                    while let Some(more) = attribute(&all[at..]) {
                        at += more;
                    }
                    let item = &all[at..at + item(&all[at..])];
                    if let [.., module, name, end] = item
                        && (&**module, &**end) == ("mod", ";")
                    {
                        code.test_modules.push(name.clone());
                    }
                    at += item.len();
                } else {
                    code.tokens.extend_from_slice(&all[at..end]);
                    at = end;
                }
                continue;
            }
            code.tokens.push(token.clone());
            at += 1;
        }
        code
    }

    /// True if these words stand in the code one after the other: `File :: open`, say.
    pub(crate) fn has(&self, words: &str) -> bool {
        let words: Vec<&str> = words.split(' ').collect();
        let mut windows = self.tokens.windows(words.len());
        windows.any(|window| window.iter().eq(words.iter()))
    }
}

/// The length of the attribute that the tokens begin with.
fn attribute(tokens: &[String]) -> Option<usize> {
    let open = match tokens {
        [sign, bracket, ..] if sign == "#" && bracket == "[" => 1,
        [sign, not, bracket, ..] if sign == "#" && not == "!" && bracket == "[" => 2,
        _ => return None,
    };
    Some(open + group(&tokens[open..]))
}

/// The length of the brackets that the tokens begin with, and all that is between.
fn group(tokens: &[String]) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate() {
        match &**token {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// The length of the item that the tokens begin with: up to its semicolon or its closing brace.
fn item(tokens: &[String]) -> usize {
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match &**token {
            ";" => return at + 1,
            "{" => return at + group(&tokens[at..]),
            "(" | "[" => at += group(&tokens[at..]),
            _ => at += 1,
        }
    }
    tokens.len()
}

/// True for `#[cfg(…)]` with a condition that fails wherever no tests are compiled.
fn is_for_tests(attribute: &[String]) -> bool {
    match attribute {
        [_, _, cfg, condition @ .., _] if cfg == "cfg" => holds(condition) == Some(false),
        _ => false,
    }
}

/// Evaluates a condition, in brackets or not, where no tests are compiled; `None` if that does not decide.
fn holds(condition: &[String]) -> Option<bool> {
    match condition {
        [word] if word == "test" => Some(false),
        [open, inner @ .., close] if open == "(" && close == ")" => holds(inner),
        [word, open, inner @ .., close] if open == "(" && close == ")" => {
            let parts = arguments(inner);
            let mut parts = parts.iter().map(|part| holds(part));
            match &**word {
                "not" => parts.next().flatten().map(|holds| !holds),
                "all" => parts.any(|part| part == Some(false)).then_some(false),
                "any" => parts.all(|part| part == Some(false)).then_some(false),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The parts between commas that stand in no further brackets.
pub(crate) fn arguments(tokens: &[String]) -> Vec<&[String]> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0);
    while let Some(token) = tokens.get(at) {
        match &**token {
            "," => {
                parts.push(&tokens[start..at]);
                at += 1;
                start = at;
            }
            "(" | "[" | "{" => at += group(&tokens[at..]),
            _ => at += 1,
        }
    }
    parts.push(&tokens[start..]);
    parts.retain(|part| !part.is_empty());
    parts
}

/// All tokens of a text; comments are none, and a literal of text is `""`.
fn tokens(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(sign) = rest.next() {
        match sign {
            '/' if rest.peek() == Some(&'/') => {
                rest.by_ref().find(|&sign| sign == '\n');
            }
            '/' if rest.peek() == Some(&'*') => skip_comment(&mut rest),
            '"' => {
                skip_text(&mut rest);
                found.push("\"\"".to_owned());
            }
            '\'' => skip_quote(&mut rest),
            _ if sign.is_alphanumeric() || sign == '_' => {
                let mut word = String::from(sign);
                while let Some(sign) = rest.next_if(|&sign| sign.is_alphanumeric() || sign == '_') {
                    word.push(sign);
                }
                let is_raw = matches!(&*word, "r" | "br" | "cr");
                if is_raw && matches!(rest.peek(), Some('"' | '#')) && skip_raw(&mut rest) {
                    word = "\"\"".to_owned();
                }
                found.push(word);
            }
            ':' if rest.next_if_eq(&':').is_some() => found.push("::".to_owned()),
            _ if sign.is_whitespace() => {}
            _ => found.push(sign.to_string()),
        }
    }
    found
}

/// Skips the rest of a comment in asterisks, which may hold others.
fn skip_comment(rest: &mut Peekable<Chars<'_>>) {
    let mut depth = 0;
    let mut last = '/';
    for sign in rest.by_ref() {
        match (last, sign) {
            ('/', '*') => depth += 1,
            ('*', '/') => depth -= 1,
            _ => {
                last = sign;
                continue;
            }
        }
        last = ' ';
        if depth == 0 {
            return;
        }
    }
}

/// Skips the rest of a literal in double quotes.
fn skip_text(rest: &mut Peekable<Chars<'_>>) {
    while let Some(sign) = rest.next() {
        match sign {
            '"' => return,
            '\\' => drop(rest.next()),
            _ => {}
        }
    }
}

/// Skips the rest of a raw literal; false for a raw identifier, of which the `#` is skipped.
fn skip_raw(rest: &mut Peekable<Chars<'_>>) -> bool {
    let mut hashes = 0;
    while rest.next_if_eq(&'#').is_some() {
        hashes += 1;
    }
    if rest.next_if_eq(&'"').is_none() {
        return false;
    }
    while let Some(sign) = rest.next() {
        if sign == '"' && (0..hashes).all(|_| rest.next_if_eq(&'#').is_some()) {
            break;
        }
    }
    true
}

/// Skips the rest of a character in quotes; of a lifetime nothing but the quote.
fn skip_quote(rest: &mut Peekable<Chars<'_>>) {
    let mut ahead = rest.clone();
    let is_character = match ahead.next() {
        Some('\\') => true,
        Some(_) => ahead.next() == Some('\''),
        None => false,
    };
    if !is_character {
        return;
    }
    if rest.next() == Some('\\') {
        rest.next();
    }
    rest.by_ref().find(|&sign| sign == '\'');
}

#[test]
fn comments_literals_and_tests_are_no_code() {
    fn check(text: &str, expected: &str) {
        let expected: Vec<&str> = expected
            .split(' ')
            .filter(|word| !word.is_empty())
            .collect();
        assert_eq!(Code::read(text).tokens, expected, "{text}");
    }
    check("a /* b /* c */ d */ e // f\ng", "a e g");
    check(r##"a "b\"{" r#"c"{"# br"d" e"##, r#"a "" "" "" e"#);
    check(r"a '{' '\'' '\u{7b}' <'a, 'b> c", "a < a , b > c");
    check("r#use a :: b", "r use a :: b");
    check("#[cfg(test)] mod tests { fn f() { } } a", "a");
    check("#[cfg(test)] #[allow(b)] pub(super) mod tests { } a", "a");
    check(
        "#[cfg(all(test, not(loom)))] fn f(a: [u8; 4]) -> B { } a",
        "a",
    );
    check(
        "#[cfg(any(test, fuzzing))] a;",
        "# [ cfg ( any ( test , fuzzing ) ) ] a ;",
    );
    check("#[cfg(not(test))] a;", "# [ cfg ( not ( test ) ) ] a ;");
    check("#[cfg(unix)] a;", "# [ cfg ( unix ) ] a ;");
    let code = Code::read("#[cfg(test)] mod tests; mod other;");
    assert_eq!(code.test_modules, ["tests"]);
    assert!(code.has("mod other ;") && !code.has("other mod"));
}
