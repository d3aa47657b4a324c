//! Text as people write it: telling words, numbers and abbreviations from the letters and digits of
//! a hash.

use super::FileClass;

/// The looks of a text, from written by people to random.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Looks {
    /// Words, a date, a number of something.
    Written,
    /// Odd, which says little.
    Odd,
    /// Noise: next to nothing of what people write is in it.
    Noise,
    /// Random: nothing of what people write is in it.
    Random,
}

/// The looks of characters out of `A-Z a-z 0-9 _ -` in the name of such a file. Of hashes in base64url about
/// one in fifty looks written, one in twenty no more than odd, and every other random.
pub(super) fn looks(text: &[u8], kind: FileClass) -> Looks {
    if is_numbered(text) {
        return Looks::Written;
    }
    let has = |is: fn(&u8) -> bool| text.iter().any(is);
    let has_digit = has(u8::is_ascii_digit);
    let (odd, noise, random) = match (has(u8::is_ascii_uppercase), has(u8::is_ascii_lowercase)) {
        (false, false) => return Looks::Written,
        (true, false) if kind != FileClass::Code && is_part_number(text) => return Looks::Written,
        (true, false) => (1, 1, 2),
        // Abbreviations run together are everyday names of files: `charconv`, `mksysnum`.
        (false, true) if !has_digit => (text.len(), usize::MAX, usize::MAX),
        // So are they with a number among them: `utf8conv`, `cpp2html`.
        (false, true) if runs(text).count() <= 3 => (2, usize::MAX, usize::MAX),
        (false, true) => (2, 2, 4),
        (true, true) if is_formula(text) => return Looks::Written,
        (true, true) => (1, 2, 4),
    };
    let random = if has_digit { random } else { random.max(6) };
    match oddity(text) {
        oddity if oddity >= random => Looks::Random,
        oddity if oddity >= noise => Looks::Noise,
        oddity if oddity >= odd => Looks::Odd,
        _ => Looks::Written,
    }
}

/// The same for digits with letters from `a` to `f`, which may be a word, a date, a number of
/// people's making: `cafe2024`, `2feb2026`, `a1234567`, `ade7753a`.
pub(super) fn looks_in_hex(text: &[u8], kind: FileClass) -> Looks {
    let is_digits = |run: &[u8]| run.first().is_some_and(u8::is_ascii_digit);
    let runs: Vec<&[u8]> = text
        .chunk_by(|one, next| one.is_ascii_digit() == next.is_ascii_digit())
        .collect();
    let spells = |run: &[u8]| run.len() >= 3 && is_word(run);
    // Nobody gives a script a serial number.
    let is_serial = |run: &[u8]| kind != FileClass::Code && run.len() >= 4;
    let (spells, is_serial) = match *runs {
        [letters, digits] | [digits, letters] if is_digits(digits) => {
            (spells(letters), is_serial(digits) && letters.len() <= 2)
        }
        [first, middle, last] if is_digits(middle) => {
            (spells(first) || spells(last), is_serial(middle))
        }
        [_, middle, _] => (spells(middle), false),
        [_, _, _, _, ..] if numbers_in_hex(text) == 0 => return Looks::Odd,
        [_, _, _, _, ..] => return Looks::Random,
        _ => return Looks::Written,
    };
    if is_serial || runs.iter().any(|run| is_year(run)) {
        Looks::Written
    } else if spells {
        Looks::Odd
    } else {
        Looks::Noise
    }
}

/// The number of runs of digits that stand for no letters: `0`, `1` and `5` may be read as `o`, `i` and `s`,
/// as in `5ca1ab1e`.
pub(super) fn numbers_in_hex(text: &[u8]) -> usize {
    let runs = text.chunk_by(|one, next| one.is_ascii_digit() == next.is_ascii_digit());
    runs.filter(|run| {
        run.iter()
            .any(|byte| matches!(byte, b'2'..=b'4' | b'6'..=b'9'))
    })
    .count()
}

/// True for letters and a number, or a year with anything: `Xmas2025`, `BMW_2020`, `DSCN2345`, `IMG_0123`.
fn is_numbered(text: &[u8]) -> bool {
    let is_digit = u8::is_ascii_digit;
    let letters = text
        .iter()
        .take_while(|byte| byte.is_ascii_alphabetic())
        .count();
    let number = text.iter().rev().take_while(|byte| is_digit(byte)).count();
    let between = text.get(letters..text.len() - number).unwrap_or_default();
    let mut runs = text.chunk_by(|one, next| is_digit(one) && is_digit(next));
    number >= 3 && matches!(between, [] | [b'-' | b'_']) || runs.any(is_year)
}

/// True if a number ends or begins with a year.
fn is_year(digits: &[u8]) -> bool {
    let is = |four: Option<&[u8; 4]>| matches!(four, Some([b'1', b'9', ..] | [b'2', b'0', ..]));
    is(digits.first_chunk()) || is(digits.last_chunk())
}

/// The measure of what people do not write: letters that cannot be spoken, one letter or two here
/// and there, several numbers, hyphens at the ends.
fn oddity(text: &[u8]) -> usize {
    let (mut odd, mut words, mut short) = (0, 0, 0_usize);
    for token in tokens(text) {
        let is_upper = token.iter().all(u8::is_ascii_uppercase);
        match (token, token.len()) {
            ([b'0'..=b'9' | b'-' | b'_'], _) | ([b'0'..=b'9', ..], _) => {}
            ([b'-' | b'_', ..], _) => odd += 2,
            (_, 1) => short += 1,
            (_, 2) => {
                short += 1;
                odd += usize::from(!is_word(token));
            }
            _ if is_word(token) => words += 1,
            // An abbreviation.
            (_, 3 | 4) if is_upper => odd += 1,
            (_, length) => odd += length,
        }
    }
    if matches!(text, [b'-' | b'_', ..] | [.., b'-' | b'_']) {
        odd += 2;
    }
    match words >= 1 && short == 0 && is_words_and_a_number(text) {
        // `parseCss`, `AbbrRole`, `HTMLtree2`: a word makes it likely that the rest is short for one.
        true => 0,
        false => odd + numbers(text).saturating_sub(1) + short.saturating_sub(1),
    }
}

fn is_words_and_a_number(text: &[u8]) -> bool {
    let letters = text.iter().take_while(|byte| byte.is_ascii_alphabetic());
    let number = text.iter().rev().take_while(|byte| byte.is_ascii_digit());
    letters.count() + number.count() == text.len()
}

/// The number of numbers in the text.
fn numbers(text: &[u8]) -> usize {
    runs(text)
        .filter(|run| run.first().is_some_and(u8::is_ascii_digit))
        .count()
}

/// The runs of letters, of digits and of separators.
fn runs(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.chunk_by(|one, next| class(*one) == class(*next))
}

/// The words, numbers and separators: `IMGPark_01` is `IMG`, `Park`, `_`, `01`.
fn tokens(text: &[u8]) -> Vec<&[u8]> {
    let mut tokens = Vec::new();
    for run in runs(text) {
        let mut rest = run;
        while let Some(length) = first_word(rest) {
            let (word, tail) = rest.split_at(length);
            tokens.push(word);
            rest = tail;
        }
        tokens.push(rest);
    }
    tokens
}

/// The length of the first of several words run together; `None` if it is one.
fn first_word(letters: &[u8]) -> Option<usize> {
    (1..letters.len()).find(|&at| {
        let is = |at: usize, is: fn(&u8) -> bool| letters.get(at).is_some_and(is);
        is(at, u8::is_ascii_uppercase)
            && (is(at - 1, u8::is_ascii_lowercase) || is(at + 1, u8::is_ascii_lowercase))
    })
}

/// The class of a character: digit, letter or separator.
fn class(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => 0,
        b'A'..=b'Z' | b'a'..=b'z' => 1,
        _ => 2,
    }
}

/// True for part numbers: `SN74LS47`, `LM2576T5`, `STM32F42`, `DSCN2345`.
fn is_part_number(text: &[u8]) -> bool {
    let runs: Vec<&[u8]> = runs(text).collect();
    match *runs {
        [letters, digits] => {
            letters.first().is_some_and(u8::is_ascii_alphabetic) && digits.len() >= 2
        }
        [letters, digits, suffix, ..] => {
            letters.first().is_some_and(u8::is_ascii_alphabetic)
                && letters.len() <= 4
                && digits.len() >= 2
                && suffix.len() <= 2
                && runs.len() <= 4
        }
        _ => false,
    }
}

/// True for formulas: `CaCl2H2O`, symbols of elements and numbers.
fn is_formula(text: &[u8]) -> bool {
    const ELEMENTS: &[u8] = b"Ac Ag Al Am Ar As At Au B Ba Be Bi Br C Ca Cd Ce Cl Co Cr Cs Cu Dy Er Eu \
        F Fe Fr Ga Gd Ge H He Hf Hg Ho I In Ir K Kr La Li Lu Mg Mn Mo N Na Nb Nd Ne Ni Np O Os P Pa Pb \
        Pd Po Pr Pt Pu Ra Rb Re Rh Rn Ru S Sb Sc Se Si Sm Sn Sr Ta Tb Tc Te Th Ti Tl Tm U V W Xe Y Yb \
        Zn Zr";
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        let is_long = tail.first().is_some_and(u8::is_ascii_lowercase);
        let (symbol, tail) = match rest.split_at_checked(2) {
            Some(split) if is_long => split,
            _ => (std::slice::from_ref(first), tail),
        };
        if !is_one_of(symbol, ELEMENTS) {
            return false;
        }
        let digits = tail.iter().take_while(|byte| byte.is_ascii_digit()).count();
        rest = tail.get(digits..).unwrap_or_default();
    }
    true
}

/// True if it could be spoken in one of the languages of Europe: vowels, and between them no more
/// consonants than go together.
fn is_word(word: &[u8]) -> bool {
    let word = word.to_ascii_lowercase();
    let runs: Vec<&[u8]> = word
        .chunk_by(|one, next| is_vowel(*one) == is_vowel(*next))
        .collect();
    let last = runs.len().saturating_sub(1);
    let has_vowel = word.iter().any(|byte| is_vowel(*byte));
    word.len() >= 2
        && has_vowel
        && runs.iter().enumerate().all(|(at, run)| match run {
            [byte, ..] if is_vowel(*byte) => run.len() <= 3,
            run if at == 0 => is_onset(run),
            run if at == last => is_coda(run),
            [_] => true,
            run => (1..run.len()).any(|cut| {
                let (coda, onset) = run.split_at(cut);
                is_coda(coda) && is_onset(onset)
            }),
        })
}

fn is_vowel(byte: u8) -> bool {
    b"aeiouy".contains(&byte)
}

/// True if a syllable begins so.
fn is_onset(consonants: &[u8]) -> bool {
    const ONSETS: &[u8] =
        b"bl br ch cl cr dr dw fl fr gh gl gn gr kl kn kr mc ph pl pr ps pt qu rh \
        sc sh sk sl sm sn sp st sv sw th tr ts tw vl wh wr zh chr phr sch scr shr spl spr str thr";
    consonants.len() == 1 || is_one_of(consonants, ONSETS)
}

/// True if a syllable ends so.
fn is_coda(consonants: &[u8]) -> bool {
    const CODAS: &[u8] = b"bs bt ch ck cs ct ds dd ff ft gg gh gn gs hm hn ht ks kt lb ld lf lg lk ll \
        lm ln lp ls lt lv mb mm mn mp ms nc nd nf ng nk nn ns nt nx nz ph pp ps pt rb rc rd rf rg rk \
        rl rm rn rp rr rs rt rv rx rz sc sh sk sm sp ss st ts tt tz th wd wk wl wn ws zz xt cks cts \
        ght lls lts mps mpt nch nds ngl ngs ngt nks nst nts rch rds rks rld rms rns rst rth rts sch \
        sts tch ths";
    match consonants {
        [one] => !b"jq".contains(one),
        more => is_one_of(more, CODAS),
    }
}

fn is_one_of(word: &[u8], words: &[u8]) -> bool {
    words
        .split(u8::is_ascii_whitespace)
        .any(|known| known == word)
}
