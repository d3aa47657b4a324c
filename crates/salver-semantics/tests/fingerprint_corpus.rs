//! Which names carry a fingerprint, measured on names of real builds and on names that people gave.
//! `-- --nocapture` prints the tables.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::collections::BTreeMap;

use salver_semantics::{HashPlaces, is_fingerprinted, may_be_fingerprinted};

const BUILDS: &str = include_str!("fingerprints/builds.txt");
const PEOPLE: &str = include_str!("fingerprints/people.txt");

/// The blocks of a corpus: their titles and lines.
fn blocks(corpus: &str) -> Vec<(&str, Vec<&str>)> {
    let mut blocks: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in corpus.lines().filter(|line| !line.starts_with("//")) {
        match line.strip_prefix("# ") {
            Some(title) => blocks.push((title, Vec::new())),
            None => blocks.last_mut().unwrap().1.push(line),
        }
    }
    blocks
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// The names of a tree by their directories.
fn directories<'a>(paths: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, Vec<Vec<u8>>> {
    let mut directories: BTreeMap<&str, Vec<Vec<u8>>> = BTreeMap::new();
    for path in paths {
        let (directory, name) = split(path);
        directories
            .entry(directory)
            .or_default()
            .push(name.as_bytes().to_vec());
    }
    directories
}

fn is_found(path: &str, beside: &[Vec<u8>]) -> bool {
    is_fingerprinted(path.as_bytes(), || Ok::<_, ()>(beside.to_vec())).unwrap()
}

#[test]
fn what_build_tools_name_is_found() {
    let (mut all, mut all_found) = (0, 0);
    let tools = blocks(BUILDS);
    println!(
        "{:32} {:>6} {:>6} {:>7} {:>6} {:>9}",
        "", "hashed", "found", "missed", "other", "mistaken"
    );
    for (tool, lines) in &tools {
        let named = || lines.iter().map(|line| line.split_once(' ').unwrap());
        let directories = directories(named().map(|(_, path)| path));
        let is_found = |path: &str| is_found(path, &directories[split(path).0]);
        let (hashed, others): (Vec<_>, Vec<_>) = named().partition(|(mark, _)| *mark == "+");
        let missed: Vec<&str> = hashed
            .iter()
            .map(|(_, path)| *path)
            .filter(|path| !is_found(path))
            .collect();
        let mistaken: Vec<&str> = others
            .iter()
            .map(|(_, path)| *path)
            .filter(|path| is_found(path))
            .collect();
        let found = hashed.len() - missed.len();
        println!(
            "{tool:32} {:6} {found:6} {:7} {:6} {:9}",
            hashed.len(),
            missed.len(),
            others.len(),
            mistaken.len()
        );
        for path in &missed {
            println!("{:32} missed: {path}", "");
        }
        assert!(mistaken.is_empty(), "{tool}: {mistaken:?}");
        // Licenses and single files say no more than their names; of the rest few may be missed.
        assert!(
            missed.len() * 100 <= hashed.len() * 25,
            "{tool}: {missed:?}"
        );
        all += hashed.len();
        all_found += found;
    }
    println!("{:32} {all:6} {all_found:6} {:7}", "all", all - all_found);
    assert!(
        tools.len() >= 20 && all >= 2000,
        "{} tools, {all} names",
        tools.len()
    );
    assert!(all_found * 100 >= all * 96, "{all_found} of {all}");
}

/// The chunks of yesterday, which a store keeps for the pages of yesterday: the rule that misses next to none.
#[test]
fn nearly_all_of_a_build_may_be_fingerprinted() {
    let (mut all, mut missed, mut others, mut mistaken) = (0, Vec::new(), 0, 0);
    for (tool, lines) in &blocks(BUILDS) {
        let named = || lines.iter().map(|line| line.split_once(' ').unwrap());
        let directories = directories(named().map(|(_, path)| path));
        for (mark, path) in named() {
            let beside = &directories[split(path).0];
            let places = HashPlaces::of(beside.iter().map(|name| &**name));
            let kept = is_found(path, beside) || may_be_fingerprinted(path.as_bytes(), &places);
            match mark {
                "+" if !kept => missed.push(format!("{tool}: {path}")),
                "+" => {}
                _ if kept => mistaken += 1,
                _ => others += 1,
            }
            all += usize::from(mark == "+");
        }
    }
    println!(
        "{all} names, missed {missed:#?}; {mistaken} of {} others",
        others + mistaken
    );
    assert!(missed.len() * 100 <= all, "{missed:#?}");
}

#[test]
fn what_people_name_is_never_taken_for_it() {
    let (mut all, mut all_mistaken) = (0, Vec::new());
    println!(
        "{:32} {:>6} {:>9} {:>9}",
        "", "names", "in doubt", "mistaken"
    );
    for (source, paths) in blocks(PEOPLE) {
        let directories = directories(paths.iter().copied());
        let in_doubt = |path: &str| is_fingerprinted(path.as_bytes(), || Err(())).is_err();
        let mistaken: Vec<&str> = paths
            .iter()
            .copied()
            .filter(|path| is_found(path, &directories[split(path).0]))
            .collect();
        let doubtful = paths.iter().filter(|path| in_doubt(path)).count();
        println!(
            "{source:32} {:6} {doubtful:9} {:9}",
            paths.len(),
            mistaken.len()
        );
        all += paths.len();
        all_mistaken.extend(mistaken);
    }
    println!("{:32} {all:6} {:9} {:9}", "all", "", all_mistaken.len());
    assert!(all >= 2000, "{all}");
    assert!(all_mistaken.is_empty(), "{all_mistaken:?}");
}

/// Somebody copies a file of their own into a directory of a build, where every other name carries a
/// hash: then its own name has to look like none.
#[test]
fn what_people_name_is_hardly_ever_taken_for_it_among_the_files_of_a_build() {
    let builds: Vec<Vec<Vec<u8>>> = blocks(BUILDS)
        .iter()
        .flat_map(|(_, lines)| {
            let paths = lines.iter().map(|line| line.split_once(' ').unwrap().1);
            directories(paths).into_values().collect::<Vec<_>>()
        })
        .filter(|names| names.len() > 10)
        .collect();
    let is_mistaken = |path: &&&str| {
        // At the root, for what its own directory is called says nothing here.
        let name = split(path).1;
        builds.iter().any(|names| is_found(name, names))
    };
    for by_hand in [false, true] {
        let paths: Vec<&str> = blocks(PEOPLE)
            .into_iter()
            .filter(|(source, _)| source.starts_with("by hand") == by_hand)
            .flat_map(|(_, paths)| paths)
            .collect();
        let mistaken: Vec<&&str> = paths.iter().filter(is_mistaken).collect();
        let (count, all) = (mistaken.len(), paths.len());
        println!("by hand: {by_hand}, {count} of {all}: {mistaken:?}");
        // Those by hand were made up for it.
        let most = if by_hand { all / 10 } else { 0 };
        assert!(count <= most, "{count} of {all}: {mistaken:?}");
    }
}
