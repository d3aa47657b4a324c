//! Pages: coded against one file that they name.

use super::*;

/// A page, most of which all have.
fn page(number: usize) -> Vec<u8> {
    let mut text = format!("<!doctype html><title>{number}</title>\n");
    for line in 0..200 {
        text += &format!(
            "<a class=\"item{:x}\" href=\"/{line}\">A link</a>\n",
            line * 7919 % 997
        );
    }
    text += &format!("<p>The number is {number}.</p>\n");
    text.into_bytes()
}

fn paged(files: &[(&str, &[u8])]) -> Site {
    Site::new(Config {
        page_dictionary: Some("/pages.dat".to_owned()),
        ..config(Mount::tree("/", memory(files)))
    })
}

#[test]
fn pages_name_their_dictionary_and_are_coded_against_it() {
    let dictionary = page(0);
    let site = paged(&[
        ("pages.dat", &dictionary),
        ("index.html", &page(1)),
        ("a/index.html", &page(2)),
        ("app.js", &script(1)),
    ]);
    let first = site.get("/", &[("Accept-Encoding", PLAIN), OWN]);
    let link = "</pages.dat>; rel=\"compression-dictionary\"";
    assert_eq!(first.field("Link"), link);
    assert_eq!(first.field("Use-As-Dictionary"), "");
    assert_eq!(first.field("Vary"), "Accept-Encoding, Available-Dictionary");
    idle(&site);
    // Browsers may have had the dictionary for long: that a page names it is enough.
    for (path, number) in [("/", 1), ("/a/", 2)] {
        let delta = until(&site, path, BROWSER, &dictionary, "dcb");
        assert!(decoded(&delta, &dictionary) == page(number));
        assert_eq!(delta.field("Link"), link);
        assert!(delta.body.len() < 200);
    }
    let sent = send(&site, "/pages.dat");
    // Browsers keep a dictionary for as long as it is fresh.
    assert_eq!(sent.field("Cache-Control"), "public, max-age=2592000");
    let field = sent.field("Use-As-Dictionary");
    let expected = "match=\"/*\", match-dest=(\"document\" \"iframe\" \"\"), id=\"";
    assert!(field.starts_with(expected), "{field}");
    assert_eq!(site.get("/app.js", &[OWN]).field("Link"), "");
    // Visitors come from elsewhere, too; what is framed elsewhere is another matter.
    let available = available(&dictionary);
    for (destination, expected) in [("document", "dcb"), ("iframe", "")] {
        let fields = [
            ("Accept-Encoding", "dcb"),
            ("Available-Dictionary", &*available),
            ("Sec-Fetch-Site", "cross-site"),
            ("Sec-Fetch-Mode", "navigate"),
            ("Sec-Fetch-Dest", destination),
        ];
        assert_eq!(coding(&site.get("/", &fields)), expected, "{destination}");
    }
}

#[test]
fn a_dictionary_that_is_not_there_harms_no_page() {
    let site = paged(&[("index.html", &page(1))]);
    for _ in 0..3 {
        let answer = get(&site, "/", "dcb", &page(0));
        assert_eq!((answer.status, coding(&answer)), (200, ""));
        idle(&site);
    }
}
