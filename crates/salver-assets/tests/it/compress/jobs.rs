//! Jobs: one for each content, within a budget, for as long as there is an engine that wants it.

use super::*;

#[test]
fn one_job_for_a_content_however_many_have_it() {
    let content = text(6, 30_000);
    let paths: Vec<String> = (0..30).map(|number| format!("{number}.js")).collect();
    let files: Vec<(&str, &[u8])> = paths.iter().map(|path| (&**path, &*content)).collect();
    let one = Site::new(config(Mount::tree("/", memory(&files))));
    let other = one.beside(config(Mount::tree("/", memory(&files))));
    for site in [&one, &other] {
        for path in &paths {
            assert_eq!(coding(&get(site, &format!("/{path}"), "br")), "");
        }
    }
    idle(&one);
    for site in [&one, &other] {
        // One job knows some places; the others find it out when they look.
        site.advance(Duration::from_secs(1));
        for path in &paths {
            until(site, &format!("/{path}"), "br", &content, "br");
        }
    }
    assert_eq!(one.engine.statistics().codings_made, 1);
}

#[test]
fn an_engine_in_place_of_another_makes_nothing_again() {
    let (content, other) = (text(10, 9_000), text(11, 9_000));
    let files: [(&str, &[u8]); 1] = [("a.js", &content)];
    let before = Site::new(config(Mount::tree("/", memory(&files))));
    let made = until(&before, "/a.js", "br", &content, "br");
    idle(&before);
    let files: [(&str, &[u8]); 2] = [("b.js", &content), ("c.js", &other)];
    let after = before.in_place_of(config(Mount::tree("/", memory(&files))));
    drop(before);
    let taken = until(&after, "/b.js", "br", &content, "br");
    assert!(taken.body == made.body && taken.field("ETag") == made.field("ETag"));
    assert_eq!(after.engine.statistics().codings_made, 0);
    until(&after, "/c.js", "br", &other, "br");
    assert_eq!(after.engine.statistics().codings_made, 1);
}

#[test]
fn an_engine_that_goes_leaves_no_work_behind() {
    let files: Vec<(String, Vec<u8>)> = (0..20)
        .map(|number| (format!("{number}.js"), text(number, 400_000)))
        .collect();
    let source: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(name, file)| (&**name, &**file))
        .collect();
    let source = memory(&source);
    let site = Site::new(config(Mount::tree("/", source.clone())));
    for (name, _) in &files {
        site.ask(&request(
            Method::Get,
            &format!("/{name}"),
            &[("Accept-Encoding", "br")],
        ));
    }
    drop(site);
    // Whoever is at work has a part of it.
    let end = Instant::now() + LONG;
    while Arc::strong_count(&source) > 1 {
        assert!(Instant::now() < end, "somebody still has the files");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_budget_that_is_too_small_for_all_holds() {
    // Hexadecimal digits at random get half as long, whatever is done.
    let digits = |seed: u64| {
        let digit = |byte: u8| char::from_digit(u32::from(byte % 16), 16).unwrap();
        let digits = noise(seed).take(40_000).map(digit);
        digits.collect::<String>().into_bytes()
    };
    let contents: Vec<Vec<u8>> = (1..=140).map(digits).collect();
    let names: Vec<String> = (1..=140).map(|number| format!("{number}.txt")).collect();
    let files = names.iter().zip(&contents);
    let files: Vec<(&str, &[u8])> = files.map(|(name, content)| (&**name, &**content)).collect();
    let most = 20 << 20;
    let site = Site::new(Config {
        cache_size: most,
        ..config(Mount::tree("/", memory(&files)))
    });
    let most = u64::try_from(most).unwrap();
    // The first of them have left when they are asked for again.
    for asked in [&files[..], &files[..3]] {
        for (name, content) in asked {
            let answer = get(&site, &format!("/{name}"), "zstd");
            assert!(decoded(&answer) == *content, "{name}");
        }
        idle(&site);
        let statistics = site.engine.statistics();
        assert!(statistics.coding_bytes <= most / 8, "{statistics:?}");
        assert!(statistics.coding_bytes > most / 10, "{statistics:?}");
        assert!(statistics.bytes + statistics.coding_bytes <= most);
    }
    // What has no room to be coded in is not.
    let long = text(1, 2_000_000);
    let site = Site::new(Config {
        cache_size: 20 << 20,
        ..config(Mount::tree("/", memory(&[("long.txt", &long)])))
    });
    let answer = get(&site, "/long.txt", BROWSER);
    assert_eq!((coding(&answer), answer.field("Vary")), ("", ""));
}
