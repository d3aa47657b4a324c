use super::*;
use proptest::prelude::*;

fn is_certain(path: &str) -> bool {
    matches!(of(path.as_bytes()), Fingerprint::Certain(_))
}

/// True if the name counts beside these.
fn counts(path: &str, beside: &str) -> bool {
    match of(path.as_bytes()) {
        Fingerprint::Absent => false,
        Fingerprint::Certain(_) => true,
        Fingerprint::Doubtful(marks) => {
            confirmed(&marks, beside.split_whitespace().map(str::as_bytes)).is_some()
        }
    }
}

fn check_all(names: &str, beside: &str, expected: bool) {
    for name in names.split_whitespace() {
        assert_eq!(counts(name, beside), expected, "{name}");
        let path = format!("assets/v1.2-x/{name}");
        assert_eq!(counts(&path, beside), expected, "{path}");
    }
}

#[test]
fn hexadecimal_without_a_doubt() {
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
         2.3f9a1c2b.chunk.css
         vendors~main.3f9a1c2b.chunk.js
         en.3f9a1c2b.module.wasm
         3f9a1c2b.js
         3f9a1c2b4d5e6f708192.js
         3f9a1c2b4d5e6f708192.woff2
         3f9a1c2b4d5e6f708192.pdf
         117-3f9a1c2b4d5e6f70.js
         framework-01a3456b89abc3ef.js
         photo.6ec499e59f1f1bcdd0f3d21cd0ed17ee.png
         d41d8cd98f00b204e9800998ecf8427e.jpg
         x.e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855.js
         @scope.3f9a1c2b.js
         .3f9a1c2b.js
         -3f9a1c2b.js
         styles.3f9a1c2b.JS",
        "",
        true,
    );
}

#[test]
fn never() {
    // Whatever is beside them.
    let beside = "a-3f9a1c2b.js b.77e2b4d1.css c.9b0d3e8a.js c-1a2b3c4d.js index-Bx3f9_aP.css d-Cq7Xw2_9.js \
        e-5QXXQZ7L.js f-EMM3VGLW.js g-x9kq2mz7.js h-0r8w2t5q.js";
    check_all(
        "app.js app.min.js app.bundle.min.js index.html LICENSE . .. ... .js -.js
         jquery-3.7.1.min.js jquery-3.7.1.js bootstrap-dropdown.js
         photo-20241121.jpg photo.20241121.jpg IMG_20241121.jpg 20241121.jpg 20241121123456.jpg
         report.20240101.pdf report-v2_Final.pdf CV-2026_Jan.pdf lecture-01_Intro.pdf
         contract-2ndDraft.pdf track-01_Intro.mp3 map-EU_North.png menu-cafe2024.pdf
         BSD-2-Clause.txt chapter-Chapter1.js
         a.deadbeef a.deadbeef.js a.3f9a1c2b a-3f9a1c2b 3f9a1c2b
         face.js decade.js facade.js effaced.js defaced-acceded.js a.acceeded.js
         12345678.js app.12345678.js app.1234567.js app.3f9a1c2.js app.3F9A1C2B.js app.3f9a1c2g.js
         app_3f9a1c2b.js app3f9a1c2b.js app~3f9a1c2b.js 3f9a1c2b.old.js 3f9a1c2b.1.js
         app.3f9a1c2b.v2.js app.3f9a1c2b.5 app.3f9a1c2b. app.3f9a1c2b..js
         app.3f9a1c2b.notanextension app.3f9a1c2b.j-s 3f9a1c2b-app.js app.3f9a1c2b.js/
         app.3f9a1c2b.js/app.js release-1.20.300.tar.gz
         x.e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b8550.js
         550e8400-e29b-41d4-a716-4466554400ab.jpg
         user-550e8400-e29b-41d4-a716-4466554400ab.jpg
         user-550e8400-e29b-41d4-a716-44f6a54b00ab.js
         550E8400-E29B-41D4-A716-4466554400ab.jpg
         data.3f9a1c2b.tar.gz song.3f9a1c2b.mp3 report-3f9a1c2b.pdf
         index_DiwrgTda.js DiwrgTda.js index-DiwrgTda index-DiwrgTd.js index-DiwrgTdaa.js index-Diwrg+da.js
         font-OpenSans.woff2 font.NotoSans.ttf theme-DarkMode.css theme-darkMode.css
         react-useState.js x-DataGrid.css x-SlideBar.js case-iPhone15.png cover-eBook123.jpg
         trip-NewYear1.jpg my-MyPhotos.jpg util-parseCss.js util-AbbrRole.js
         mol-CaCl2H2O.png photo-Xmas2025.jpg logo-BMW_2020.svg img-DSCN2345.png notice-HOLIDAYS.png part-SN74LS47.png",
        beside,
        false,
    );
    for name in [&b""[..], b"index-Diwrg\xc3\xa9Tda.js", b"app.3f9a1c2b .js"] {
        assert_eq!(of(name), Fingerprint::Absent);
    }
    assert!(matches!(
        of(b"\xff\xfe.3f9a1c2b.js"),
        Fingerprint::Certain(_)
    ));
}

#[test]
fn names_beside_it_decide() {
    let check = |name: &str, beside: &str, expected: bool| {
        assert!(!is_certain(name), "{name}");
        assert!(!counts(name, ""), "{name}");
        assert_eq!(counts(name, beside), expected, "{name} beside {beside}");
    };
    let vite = "index-Bx3f9_aP.css vendor-Cq7Xw2_9.js";
    check("index-DiwrgTda.js", vite, true);
    // All scripts there are.
    check("index-DiwrgTda.js", "index-Bx3f9_aP.css", true);
    check("index-DiwrgTda.js", "index-PqRstXyz.css", true);
    check("app-OAuth2v1.js", "app-WebGL2fx.js", false);
    check("index-DiwrgTda.js.map", vite, true);
    check("index-_aB3xaPq.js", vite, true);
    check("logo-B-3x_aPq.svg", vite, true);
    check("font-DiwrgTda.woff2", vite, true);
    check(
        "chunk-EMMPVGLW.js",
        "chunk-5QXXQZ7L.js main-7KQ2WZXB.js",
        true,
    );
    check("chunk-x9kq2mz7.js", "chunk-0r8w2t5q.js", true);
    check(
        "logo.a1b2c3d4.svg",
        "app.3f9a1c2b.js app.77e2b4d1.css",
        true,
    );
    check(
        "logo.a1b2c3d4.svg",
        "hero.3f9a1c2b.png team.77e2b4d1.jpg",
        true,
    );
    // One is not enough for what is no script, nor are those of the same thing.
    check("logo-B-3x_aPq.svg", "index-Bx3f9_aP.css", false);
    check(
        "user-B-3x_aPq.png",
        "user-Bx3f9_aP.png user-Cq7Xw2_9.png",
        false,
    );
    // Its own hash under another extension proves nothing.
    check(
        "index-DiwrgTda.js",
        "index-DiwrgTda.js index-DiwrgTda.js.map",
        false,
    );
    // Other separators, lengths, characters.
    check(
        "index-DiwrgTda.js",
        "index.Bx3f9_aP.css vendor.Cq7Xw2_9.js",
        false,
    );
    check("index-DiwrgTda.js", "a-3f9a1c2b.js b-77e2b4d1.css", false);
    check("index.DiwrgTda.js", "a.3f9a1c2b.js b.77e2b4d1.css", false);
    // A series, by somebody who counts.
    check("x-IPv4Addr.js", "x-IPv6Addr.js", false);
    check("x-a1b2c3d4.png", "y-a1b2c3d5.png z-a1b2c3d6.png", false);
    // Most scripts carry none.
    check(
        "index-DiwrgTda.js",
        "index-DiwrgTda.js a-Bx3f9_aP.js a.js b.js",
        true,
    );
    check("index-DiwrgTda.js", "a-Bx3f9_aP.js a.js b.js c.js", false);
    // Nothing but hexadecimal digits.
    check("a1b2c3d4.svg", "3f9a1c2b.js 77e2b4d1.css", false);
    check("a1b2c3d4.svg", "3f9a1c2b.js 77e2b4d1.css 9b0d3e8a.js", true);
}

#[test]
fn directories_of_build_tools_decide() {
    for path in [
        "_nuxt/DiwrgTda.js",
        "_nuxt/logo.DiwrgTda.svg",
        "app/_nuxt/DiwrgTda.js",
        "_app/immutable/nodes/0.DiwrgTda.js",
        "_app/immutable/chunks/DiwrgTda.js",
        "_astro/hero.BXXEljww.png",
        "_astro/hero.BXXEljww_ZK1CaX.webp",
        "_next/static/chunks/0dezdoe4ulg-8.js",
        "_next/static/chunks/turbopack-2u1d16houkiyo.js",
        "_next/static/media/vector.0rm0w0-d_gv_r.svg",
        "_next/static/media/e109470dc5c12418-s.p.woff2",
        "_next/static/media/logo.47bd33f9.png",
    ] {
        assert!(is_certain(path), "{path}");
    }
    for path in [
        "_nuxt/builds/latest.json",
        "_nuxt/builds/meta/8b116b9d-a11d-4926-9c73-6885d37698c4.json",
        "_nuxt/font-OpenSans.woff2",
        "_app/version.json",
        "_app/DiwrgTda.js",
        "my_nuxt/DiwrgTda.js",
        "_nuxt.old/DiwrgTda.js",
        "DiwrgTda/_nuxt",
        "_next/static/F31Xe6BATCaBNOiH1VXoY/_buildManifest.js",
        "_next/DiwrgTda.js",
        "chunks/turbopack-2u1d16houkiyo.js",
    ] {
        assert!(!is_certain(path), "{path}");
    }
}

/// The share of all possible hashes that are found beside some others, each of its own file. A
/// fixed sequence, so that the number is the same on every run.
#[test]
fn nearly_every_hash_is_found() {
    let check = |alphabet: &str, length: usize, others: usize, least: usize| {
        let mut state = 1_u64;
        let mut hash = || -> String {
            let mut next = || {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let at = usize::try_from(state >> 33).unwrap() % alphabet.len();
                char::from(alphabet.as_bytes()[at])
            };
            (0..length).map(|_| next()).collect()
        };
        let found = (0..2000).filter(|_| {
            let beside = (0..others).map(|number| format!("x{number}-{}.css ", hash()));
            let beside: String = beside.collect();
            counts(&format!("index-{}.js", hash()), &beside)
        });
        let found = found.count();
        assert!(found >= 20 * least, "{found} of 2000: {alphabet}");
    };
    let (upper, lower) = ("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz");
    let (base64url, base32) = (
        format!("{upper}{lower}0123456789-_"),
        format!("{upper}234567"),
    );
    check(&base64url, 8, 1, 65);
    check(&base64url, 8, 3, 85);
    check(&base64url, 8, 8, 96);
    check(&base32, 8, 1, 80);
    check(&base32, 8, 8, 92);
    // Of these more look like `utf8conv`.
    check("0123456789abcdefghjkmnpqrstvwxyz", 8, 16, 85);
    check("0123456789abcdef", 8, 1, 80);
    check("0123456789abcdef", 8, 8, 94);
    check("0123456789abcdef", 16, 1, 98);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_digest_is_found(
        stem in "[a-z_]{1,12}", separator in "[.-]", digest in "([0-9]{1,3}[a-f]{1,3}){5,6}"
    ) {
        prop_assume!((16..=64).contains(&digest.len()) && ![24, 32].contains(&digest.len()));
        let name = format!("{stem}{separator}{digest}.js");
        prop_assert!(is_certain(&name), "{}", name);
    }

    #[test]
    fn lower_case_words_and_versions_never_are(
        name in "[g-z]{0,9}([.-]([g-z]{1,7}|[0-9]{1,12})){0,4}\\.[g-z]{1,4}"
    ) {
        prop_assert!(of(name.as_bytes()) == Fingerprint::Absent, "{}", name);
    }

    #[test]
    fn nothing_panics(
        name in prop::collection::vec(any::<u8>(), 0..64),
        other in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        if let Fingerprint::Doubtful(marks) = of(&name) {
            let _ = confirmed(&marks, [&other[..], &name].into_iter());
        }
    }

    #[test]
    fn nothing_like_a_name_panics(
        name in "(_nuxt/|_astro/)?[a-fA-F0-9._-]{0,40}", other in "[a-zA-Z0-9._-]{0,40}"
    ) {
        // Without a dot there is no extension, and so no fingerprint.
        prop_assert!(name.contains('.') || of(name.as_bytes()) == Fingerprint::Absent);
        if let Fingerprint::Doubtful(marks) = of(name.as_bytes()) {
            // No name shows anything of itself.
            prop_assert!(confirmed(&marks, [name.as_bytes()].into_iter()).is_none());
            let _ = confirmed(&marks, [other.as_bytes()].into_iter());
        }
    }
}
