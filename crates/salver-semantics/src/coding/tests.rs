use super::ContentCoding::{Brotli, Gzip, Identity, Zstd};
use super::*;
use proptest::prelude::*;

/// All four, the coded ones shorter: brotli is the shortest.
const FULL: [(ContentCoding, u64); 4] = [(Identity, 100), (Brotli, 20), (Zstd, 25), (Gzip, 30)];

fn selected(value: Option<&str>, offered: &[(ContentCoding, u64)]) -> Option<ContentCoding> {
    let accept = AcceptEncoding::parse(value.map(str::as_bytes));
    let index = accept.select(offered.iter().copied())?;
    Some(offered[index].0)
}

#[test]
fn names() {
    fn check(name: &str, expected: Option<ContentCoding>) {
        assert_eq!(
            ContentCoding::from_name(name.as_bytes()),
            expected,
            "{name}"
        );
    }
    check("identity", Some(Identity));
    check("br", Some(Brotli));
    check("zstd", Some(Zstd));
    check("gzip", Some(Gzip));
    check("x-gzip", Some(Gzip));
    check("GZIP", Some(Gzip));
    check("X-GZip", Some(Gzip));
    check("Br", Some(Brotli));
    for unknown in [
        "", "*", "deflate", "compress", "gzi", "gzipp", " gzip", "brotli", "zst",
    ] {
        check(unknown, None);
    }
    for coding in ContentCoding::ALL {
        check(coding.name(), Some(coding));
        assert_eq!(
            coding.extension().is_some(),
            ContentCoding::CODED.contains(&coding)
        );
    }
    assert_eq!(
        ContentCoding::CODED.map(ContentCoding::extension),
        [".br", ".zst", ".gz"].map(Some)
    );
}

#[test]
fn selects_among_all() {
    fn check(value: &str, expected: Option<ContentCoding>) {
        assert_eq!(selected(Some(value), &FULL), expected, "{value:?}");
    }
    // Equal weights: the shortest.
    check("gzip, deflate, br, zstd", Some(Brotli));
    check("zstd, gzip", Some(Zstd));
    check("gzip", Some(Gzip));
    check("x-gzip", Some(Gzip));
    check("GZIP", Some(Gzip));
    check("identity, gzip", Some(Gzip));
    check("*", Some(Brotli));
    check("gzip;q=1, *;q=1", Some(Brotli));
    // Weights.
    check("gzip;q=1.0, br;q=0.5", Some(Gzip));
    check("gzip;q=0.8, br;q=0.9", Some(Brotli));
    check("gzip;q=0.001, br;q=0", Some(Gzip));
    check("br;q=0.999, gzip", Some(Gzip));
    check("gzip, *;q=0.5", Some(Gzip));
    check("*;q=0.5, gzip;q=0.1, zstd;q=0.6", Some(Zstd));
    check("br;q=0.5, zstd;q=0.5, gzip;q=0.5", Some(Brotli));
    // Refusals.
    check("br;q=0, gzip", Some(Gzip));
    check("br;q=0", Some(Identity));
    check("br;q=0, *", Some(Zstd));
    check("br;q=0.0, zstd;q=0.00, gzip;q=0.000", Some(Identity));
    check("*;q=0", None);
    check("*;q=0, gzip", Some(Gzip));
    check("*;q=0, identity", Some(Identity));
    check("*;q=0, identity;q=0.001", Some(Identity));
    check("identity;q=0", None);
    check("identity;q=0, gzip", Some(Gzip));
    check("identity;q=0, *", Some(Brotli));
    check("identity;q=0, deflate", None);
    check("identity;q=0, br;q=0, zstd;q=0, gzip;q=0", None);
    check("br;q=0, zstd;q=0, gzip;q=0, *;q=0", None);
    // Identity: what was named is weighed, what was not is the last resort.
    check("identity", Some(Identity));
    check("identity;q=0.5", Some(Identity));
    check("identity;q=1, gzip;q=0.9", Some(Identity));
    check("identity;q=0.5, gzip;q=0.4", Some(Identity));
    check("identity;q=0.4, gzip;q=0.5", Some(Gzip));
    check("gzip;q=0.001", Some(Gzip));
    check("*;q=0.5, identity", Some(Identity));
    check("*;q=0.001", Some(Brotli));
    // Nothing that we have.
    check("", Some(Identity));
    check(" ", Some(Identity));
    check(",", Some(Identity));
    check("deflate", Some(Identity));
    check("compress, deflate;q=0.5", Some(Identity));
    check("dcb, dcz", Some(Identity));
    check("none", Some(Identity));
}

#[test]
fn grammar() {
    fn check(value: &str, expected: Option<ContentCoding>) {
        assert_eq!(selected(Some(value), &FULL), expected, "{value:?}");
    }
    // White space and case.
    check("br ; q=0 , gzip", Some(Gzip));
    check("br\t;\tq=0\t,\tgzip", Some(Gzip));
    check("br;Q=0, gzip", Some(Gzip));
    check("BR;Q=0,GZIP;Q=0.1", Some(Gzip));
    check(",,gzip,,", Some(Gzip));
    check("* ; q=0", None);
    check("br;q=1., gzip;q=0.", Some(Brotli));
    // A malformed member is skipped, the others count.
    for malformed in [
        "br;q=",
        "br;q",
        "br;",
        "br;=1",
        "br;q=a",
        "br;q=1.1",
        "br;q=2",
        "br;q=-1",
        "br;q=0.1234",
        "br;q=.5",
        "br;q =1",
        "br;q= 1",
        "br;q=\"1\"",
        "br;q=1;q=1",
        "br;x=1",
        "br;q=1;x=1",
        "br q=1",
        "br=1",
        "\"br\"",
        "br gzip",
        "br/1",
        ";q=1",
        "b*",
    ] {
        check(malformed, Some(Identity));
        check(&format!("gzip, {malformed}"), Some(Gzip));
        check(&format!("{malformed}, gzip;q=0.1"), Some(Gzip));
    }
    // Named twice: the lower weight, whatever the order.
    check("br, br;q=0, gzip", Some(Gzip));
    check("br;q=0, br, gzip", Some(Gzip));
    check("gzip;q=0, x-gzip", Some(Identity));
    check("x-gzip;q=0, gzip", Some(Identity));
    check("gzip;q=0.9, zstd;q=0.5, gzip;q=0.1", Some(Zstd));
    check("*, *;q=0", None);
}

#[test]
fn without_the_field_only_identity() {
    assert_eq!(selected(None, &FULL), Some(Identity));
    assert_eq!(selected(None, &[(Gzip, 1)]), None);
    assert_eq!(
        AcceptEncoding::parse(None),
        AcceptEncoding::parse(Some(b""))
    );
}

#[test]
fn accepts() {
    fn check(value: Option<&str>, expected: &[ContentCoding]) {
        let accept = AcceptEncoding::parse(value.map(str::as_bytes));
        let accepted: Vec<_> = ContentCoding::ALL
            .into_iter()
            .filter(|coding| accept.accepts(*coding))
            .collect();
        assert_eq!(accepted, expected, "{value:?}");
    }
    check(None, &[Identity]);
    check(Some(""), &[Identity]);
    check(Some("gzip"), &[Identity, Gzip]);
    check(Some("*"), &[Identity, Brotli, Zstd, Gzip]);
    check(Some("*;q=0"), &[]);
    check(Some("*;q=0, br"), &[Brotli]);
    check(Some("identity;q=0"), &[]);
    check(Some("identity;q=0, *"), &[Brotli, Zstd, Gzip]);
    check(Some("br, zstd;q=0.5, gzip;q=0"), &[Identity, Brotli, Zstd]);
    check(Some("*, gzip;q=0"), &[Identity, Brotli, Zstd]);
}

#[test]
fn selects_by_what_is_offered() {
    fn check(value: &str, offered: &[(ContentCoding, u64)], expected: Option<usize>) {
        let accept = AcceptEncoding::parse(Some(value.as_bytes()));
        assert_eq!(
            accept.select(offered.iter().copied()),
            expected,
            "{value} {offered:?}"
        );
    }
    check("br, gzip", &[], None);
    check("br, gzip", &[(Identity, 5)], Some(0));
    check("br, gzip", &[(Identity, 5), (Gzip, 4)], Some(1));
    check("br, gzip", &[(Gzip, 4), (Brotli, 4)], Some(0));
    check("br, gzip", &[(Brotli, 5), (Gzip, 4)], Some(1));
    check("br, gzip", &[(Zstd, 1), (Identity, 5)], Some(1));
    check("br, gzip", &[(Zstd, 1)], None);
    // A coded representation may be longer than the plain one, and is still what was asked for;
    // unless identity was asked for as much.
    check("gzip", &[(Identity, 5), (Gzip, 25)], Some(1));
    check("gzip;q=0.001", &[(Identity, 5), (Gzip, 25)], Some(1));
    check("gzip, identity", &[(Identity, 5), (Gzip, 25)], Some(0));
    check("*", &[(Identity, 5), (Gzip, 25)], Some(0));
    check("*", &[(Identity, u64::MAX), (Gzip, u64::MAX)], Some(0));
    check("*;q=0", &[(Identity, 5)], None);
}

#[test]
fn codings_against_a_dictionary_have_to_be_named() {
    let check_than = |value: &str, than: Option<ContentCoding>, expected: &[&str]| {
        let accept = AcceptEncoding::parse(Some(value.as_bytes()));
        let found = accept.codings_against_dictionary(than);
        let found: Vec<_> = found.map(DictionaryCoding::name).collect();
        assert_eq!(found, expected, "{value:?} {than:?}");
    };
    let check = |value: &str, expected: &[&str]| check_than(value, None, expected);
    check("gzip, deflate, br, zstd, dcb, dcz", &["dcb", "dcz"]);
    check("DCZ, br", &["dcz"]);
    check("dcb;q=0.5, dcz", &["dcz", "dcb"]);
    check("dcb;q=0, dcz", &["dcz"]);
    check("dcb, dcb;q=0", &[]);
    check("*", &[]);
    check("dcb;q=2, dcz;x", &[]);
    check("", &[]);
    let some = "br, zstd;q=0.5, dcb;q=0.7, gzip;q=0.7";
    check_than(some, Some(Brotli), &[]);
    check_than(some, Some(Zstd), &["dcb"]);
    check_than(some, Some(Gzip), &["dcb"]);
    check_than(some, Some(Identity), &["dcb"]);
    check_than("identity;q=0, dcb;q=0", Some(Identity), &[]);
    check_than("br, dcz, dcb;q=0.9", Some(Brotli), &["dcz"]);
    let accept = AcceptEncoding::parse(Some(b"br, dcz;q=1.0, dcb;q=0.999"));
    let wants_most = DictionaryCoding::ALL.map(|coding| accept.wants_most(coding));
    assert_eq!(wants_most, [false, true]);
}

#[test]
fn is_small() {
    assert_eq!(size_of::<AcceptEncoding>(), 12);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// Against the rules of section 12.5.3, by looking each coding up in the list.
    #[test]
    fn weights_decide(
        members in prop::collection::btree_map(
            prop::sample::select(vec!["identity", "br", "zstd", "gzip", "deflate", "*"]),
            0_u32..=10,
            0..6,
        ),
        lengths in prop::array::uniform4(1_u64..4),
    ) {
        let written: Vec<String> = members
            .iter()
            .map(|(name, tenths)| format!("{name};q={}.{}", tenths / 10, tenths % 10))
            .collect();
        let accept = AcceptEncoding::parse(Some(written.join(", ").as_bytes()));
        let wanted = |coding: ContentCoding| {
            let stated = members.get(coding.name()).or_else(|| members.get("*"));
            // Half a tenth: above none, below the least.
            stated.map_or(u32::from(coding == Identity), |tenths| tenths * 2)
        };
        let offered: Vec<_> = ContentCoding::ALL.into_iter().zip(lengths).collect();
        for coding in ContentCoding::ALL {
            prop_assert_eq!(accept.accepts(coding), wanted(coding) > 0);
        }
        match accept.select(offered.iter().copied()) {
            None => prop_assert!(ContentCoding::ALL.into_iter().all(|c| wanted(c) == 0)),
            Some(index) => {
                let (best, best_length) = offered[index];
                prop_assert!(wanted(best) > 0);
                for (other, length) in &offered {
                    prop_assert!(wanted(*other) <= wanted(best));
                    prop_assert!(wanted(*other) < wanted(best) || *length >= best_length);
                }
            }
        }
    }

    #[test]
    fn nothing_panics(value in prop::collection::vec(any::<u8>(), 0..64)) {
        let accept = AcceptEncoding::parse(Some(&value));
        let best = accept.select(FULL);
        let any = ContentCoding::ALL.into_iter().any(|coding| accept.accepts(coding));
        prop_assert_eq!(best.is_some(), any);
    }

    #[test]
    fn nothing_like_the_field_panics(
        value in "((br|gzip|\\*|identity) ?;? ?q?=?[01.]{0,5},? ?){0,6}"
    ) {
        let accept = AcceptEncoding::parse(Some(value.as_bytes()));
        let best = accept.select(FULL);
        let any = ContentCoding::ALL.into_iter().any(|coding| accept.accepts(coding));
        prop_assert_eq!(best.is_some(), any);
    }
}
