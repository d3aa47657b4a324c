use proptest::prelude::*;

use super::*;

fn variables(list: &[(&str, &str)]) -> PageVariables {
    let list = list
        .iter()
        .map(|(name, value)| ((*name).to_owned(), Some((*value).to_owned())));
    PageVariables::new(list).unwrap()
}

/// The page with `X`, `</b>"'` and a space, in it.
fn rendered(page: &str) -> Option<String> {
    let rendered = variables(&[("X", "<\"' \\")]).put_into(page.as_bytes());
    rendered.page.map(|page| String::from_utf8(page).unwrap())
}

#[test]
fn text_is_escaped_for_where_it_stands() {
    let html = "&#60;&#34;&#39;&#32;&#92;";
    let script = "\\u003c\\u0022\\u0027\\u0020\\u005c";
    let check = |page: &str, escaped: &str| {
        let page = page.replace('X', "[[env.X]]");
        let expected = page.replace("[[env.X]]", escaped);
        assert_eq!(rendered(&page).as_deref(), Some(&*expected), "{page}");
    };
    for page in [
        "X",
        "<p>X</p>",
        "a < b X",
        "<p title=\"X\">",
        "<p title='aXb'>",
        "<p a=X b>",
        "<p a = X>",
        "<p\n/ a\t=\r\"X\">",
        "<p on x=X>",
        "<a b=\">\" c=X>",
        "<p a='<script>'>X",
        "<!-- <script> -->X",
        "<!--><script>--></script>X",
        "<!-- a --!>X",
        "<!DOCTYPE html><p>X",
        "<?xml <script>X",
        "</ x><p>X",
        "<script>a</script >X",
        "<SCRIPT>'</scripty>'</ScRiPt\n>X",
        "<script></script>X",
        "<title>X</title>",
        "<title><script></title><p>X",
        "<textarea><script>X</textarea>",
        "<style></style>X",
        "<scripts>X",
        "<p>X<script>",
        "<a href=\"X/a\">",
        "<a href=\"/a?javascript:X\">",
        "</p a=\"X\">",
    ] {
        check(page, html);
    }
    for page in [
        "<script>const a = 'X';</script>",
        "<script src=a>\"X\"",
        "<script type=\"application/json\">{\"a\": \"X\"}</script>",
        "<script>'<p title=\"'+'X'</script>",
        "<script>'</script-x>' + 'X'</script>",
        "<script>/* </scrip> */ `X`</script>",
        "<script a='</script>'>'X'</script>",
    ] {
        check(page, script);
    }
}

#[test]
fn what_no_escaping_makes_safe_stays() {
    let check = |page: &str| {
        let page = page.replace('X', "[[env.X]]");
        let found = variables(&[("X", "1")]).put_into(page.as_bytes());
        let stayed = BTreeSet::from([("X".to_owned(), Stayed::Unsafe)]);
        assert_eq!(found, Rendered { page: None, stayed }, "{page}");
    };
    for page in [
        "<p onclick=\"a('X')\">",
        "<p OnClick=aX>",
        "<p style='color: X'>",
        "<iframe srcdoc=\"X\">",
        "<iframe>X</iframe>",
        "<style>X</style>",
        "<xmp>X",
        "<plaintext></plaintext>X",
        "<X>",
        "</X>",
        "<!X>",
        "<?X",
        "<pX>",
        "<p X=a>",
        "<p aX=b>",
        "<script>'<X'</script>",
        "<a href=\"javascript:a('X')\">",
        "<a href=' Java\nScript:X'>",
        "<a href=javascript:X>",
    ] {
        check(page);
    }
}

#[test]
fn placeholders_are_whole_and_of_listed_names() {
    let check = |page: &str, expected: Option<&str>| {
        assert_eq!(rendered(page).as_deref(), expected, "{page}");
    };
    check("", None);
    check(
        "[[env.]] [[env. X]] [[env.X ]] [[env.X] [env.X]] [[env.x]] [[ENV.X]] [[env.XX]] [[env.",
        None,
    );
    check("[[env.[[env.X]]", Some("[[env.&#60;&#34;&#39;&#32;&#92;"));
    let found = variables(&[("A", "1")]).put_into(b"[[env.A]][[env.B]][[env.A]]");
    assert_eq!(found.page.as_deref(), Some(&b"1[[env.B]]1"[..]));
    assert_eq!(
        found.stayed,
        BTreeSet::from([("B".to_owned(), Stayed::NotListed)])
    );
    let unset = PageVariables::new([("A".to_owned(), None)]).unwrap();
    assert_eq!(
        unset.put_into(b"a[[env.A]]b").page.as_deref(),
        Some(&b"ab"[..])
    );
    assert_eq!(unset.script(), "globalThis.env = Object.freeze({});\n");
    // What is put in is not looked at again.
    let nested = variables(&[("A", "[[env.B]]"), ("B", "b")]);
    let found = nested.put_into(b"[[env.A]]").page.unwrap();
    assert!(found.starts_with(b"&#91;&#91;env.B"), "{found:?}");
}

#[test]
fn what_may_come_of_a_page_is_bounded() {
    let value = "<".repeat(LARGEST_VALUES - 1);
    let found = variables(&[("A", &value)]).put_into("[[env.A]]".repeat(100).as_bytes());
    assert_eq!(found.page, None);
    assert!(found.stayed.contains(&("A".to_owned(), Stayed::TooLong)));
    let more = PageVariables::new([("AB".to_owned(), Some(value))]);
    assert_eq!(more, Err(TooManyBytes(LARGEST_VALUES + 1)));
}

#[test]
fn values_are_not_shown_in_messages() {
    assert_eq!(format!("{:?}", variables(&[("A", "secret")])), "[\"A\"]");
}

proptest! {
    /// Whatever a page is and a value holds, the tags and quotes of the result are the page's own.
    #[test]
    fn a_value_adds_no_markup(
        page in "(<|>|/|!|--|\"|'|=| |a|p|script|style|title|onx|\\[\\[env\\.A\\]\\]){0,40}",
        value in "[<>\"'`\\\\ =/a!-]{0,12}",
    ) {
        let with = |value: &str| variables(&[("A", value)]).put_into(page.as_bytes()).page;
        let signs = |page: Option<Vec<u8>>| {
            let signs = page.unwrap_or_default().into_iter();
            signs.filter(|byte| b"<>\"'`= ".contains(byte)).collect::<Vec<_>>()
        };
        prop_assert_eq!(signs(with(&value)), signs(with("")));
    }
}
