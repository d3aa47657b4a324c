//! The modules of a crate and the arrows between them: which uses which.
//!
//! The rooms of a folder are the files and folders in it; a folder and the file of the same name beside it
//! are one room. An arrow leads from room to room of one folder if something in the one names something in
//! the other. What happens between a file and the folder of its name is inside of one room, and no arrow.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::code::{Code, arguments};

/// The path of a module in its crate; empty for the root.
type ModulePath = Vec<String>;

/// The modules of one crate with their code; what is compiled for tests alone is left out.
#[derive(Debug, Default)]
pub(crate) struct Modules(BTreeMap<ModulePath, Code>);

/// The arrows between the rooms of one folder, each with an import that makes it.
type Arrows = BTreeMap<String, BTreeMap<String, String>>;

impl Modules {
    /// Reads a crate's `src`.
    pub(crate) fn read(src: &Path) -> Modules {
        let mut modules = Modules::default();
        modules.read_folder(src, &[]);
        modules.without_tests()
    }

    fn read_folder(&mut self, folder: &Path, path: &[String]) {
        for entry in fs::read_dir(folder).unwrap() {
            let file = entry.unwrap().path();
            let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
            if file.is_dir() {
                self.read_folder(&file, &[path, &[name]].concat());
            } else if file.extension().is_some_and(|extension| extension == "rs") {
                let path = match &*name {
                    "mod" => path.to_vec(),
                    // A program's root has the same modules as that of its library.
                    "lib" | "main" if path.is_empty() => Vec::new(),
                    _ => [path, &[name]].concat(),
                };
                let code = Code::read(&fs::read_to_string(&file).unwrap());
                let known = self.0.entry(path).or_default();
                known.tokens.extend(code.tokens);
                known.test_modules.extend(code.test_modules);
            }
        }
    }

    fn without_tests(mut self) -> Modules {
        let tests: BTreeSet<ModulePath> = self
            .0
            .iter()
            .flat_map(|(path, code)| {
                let tests = code.test_modules.iter();
                tests.map(|name| [path, std::slice::from_ref(name)].concat())
            })
            .collect();
        self.0
            .retain(|path, _| !(0..=path.len()).any(|length| tests.contains(&path[..length])));
        self
    }

    /// A circle of rooms in one folder, if there is one: each arrow as the import that makes it.
    pub(crate) fn circle(&self) -> Option<Vec<String>> {
        let mut folders: BTreeMap<ModulePath, Arrows> = BTreeMap::new();
        for (from, code) in &self.0 {
            for import in imports(&code.tokens) {
                let Some(to) = self.module_of(from, &import) else {
                    continue;
                };
                let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
                if let (Some(a), Some(b)) = (from.get(common), to.get(common)) {
                    let said = format!("{} uses {}", from.join("::"), import.join("::"));
                    let arrows = folders.entry(from[..common].to_vec()).or_default();
                    let arrows = arrows.entry(a.clone()).or_default();
                    arrows.insert(b.clone(), said);
                }
            }
        }
        folders.values().find_map(circle_of)
    }

    /// The module that an import of the module `from` leads to: of a name that the root of the crate gives
    /// on, the one that it comes from. `None` for what is of other crates, or of the root itself.
    fn module_of(&self, from: &[String], import: &[String]) -> Option<ModulePath> {
        let mut path = from.to_vec();
        let mut names = import.iter();
        let mut rest = names.as_slice();
        while let Some(name) = names.next() {
            match &**name {
                "crate" => path.clear(),
                "self" => {}
                "super" => drop(path.pop()),
                _ => break,
            }
            rest = names.as_slice();
        }
        path.extend_from_slice(rest);
        let known = |path: &[String]| {
            let lengths = (1..=path.len()).rev();
            let mut prefixes = lengths.map(|length| &path[..length]);
            prefixes
                .find(|prefix| self.0.contains_key(*prefix))
                .map(<[_]>::to_vec)
        };
        known(&path).or_else(|| {
            let root = imports_of_root(&self.0.get(&Vec::new())?.tokens);
            let given = root
                .into_iter()
                .find(|given| given.last() == path.first())?;
            let given = given
                .strip_prefix(&["crate".to_owned()][..])
                .unwrap_or(&given);
            known(given)
        })
    }
}

/// The paths in the code that begin with `crate`, `self` or `super`, in `use` and elsewhere.
fn imports(tokens: &[String]) -> Vec<ModulePath> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let rest = &tokens[at..];
        let length = match &**token {
            // Not the captures of an opaque type: `use<'a>`.
            "use" if rest.get(1).is_some_and(|next| next != "<") => {
                let length = rest
                    .iter()
                    .position(|token| token == ";")
                    .unwrap_or(rest.len());
                let tree = rest.get(1..length).unwrap_or_default();
                expand(&[], tree, &mut found);
                length
            }
            "crate" | "self" | "super" if rest.get(1).is_some_and(|next| next == "::") => {
                let mut length = 1;
                let mut path = vec![token.clone()];
                while let [colons, name, ..] = &rest[length..]
                    && colons == "::"
                    && name.starts_with(|sign: char| sign.is_alphabetic() || sign == '_')
                {
                    path.push(name.clone());
                    length += 2;
                }
                found.push(path);
                length
            }
            _ => 1,
        };
        at += length.max(1);
    }
    found.retain(|path| {
        matches!(
            path.first().map(|name| &**name),
            Some("crate" | "self" | "super")
        )
    });
    found
}

/// All paths in the `use` of a crate's root, which names its modules without a word before them.
fn imports_of_root(tokens: &[String]) -> Vec<ModulePath> {
    let mut found = Vec::new();
    for (at, _) in tokens
        .iter()
        .enumerate()
        .filter(|(_, token)| *token == "use")
    {
        let rest = &tokens[at + 1..];
        let end = rest
            .iter()
            .position(|token| token == ";")
            .unwrap_or(rest.len());
        expand(&[], &rest[..end], &mut found);
    }
    found
}

/// The paths of a tree such as `a::{b, c::{self, D as E}}`.
fn expand(before: &[String], tree: &[String], found: &mut Vec<ModulePath>) {
    let names = tree
        .iter()
        .take_while(|token| *token != "{" && *token != "as");
    let length = names.clone().count();
    let names = names.filter(|token| *token != "::").cloned();
    let path: Vec<String> = before.iter().cloned().chain(names).collect();
    match &tree[length..] {
        [open, inner @ .., _] if open == "{" => {
            for part in arguments(inner) {
                expand(&path, part, found);
            }
        }
        _ => {
            let is_itself = !before.is_empty() && path.last().is_some_and(|name| name == "self");
            let path = match is_itself {
                true => before.to_vec(),
                false => path,
            };
            found.push(path);
        }
    }
}

/// A circle in the arrows, if there is one.
fn circle_of(arrows: &Arrows) -> Option<Vec<String>> {
    /// Follows the arrows from the last room of `way`; `done` are rooms that lead into no circle.
    fn follow(
        arrows: &Arrows,
        way: &mut Vec<String>,
        done: &mut BTreeSet<String>,
    ) -> Option<Vec<String>> {
        let room = way.last()?.clone();
        for next in arrows.get(&room).into_iter().flat_map(BTreeMap::keys) {
            if let Some(start) = way.iter().position(|known| known == next) {
                let circle = way[start..].iter();
                let ends = way[start + 1..].iter().chain([next]);
                let said = |(from, to)| arrows[from as &String][to as &String].clone();
                return Some(circle.zip(ends).map(said).collect());
            }
            if !done.contains(next) {
                way.push(next.clone());
                let circle = follow(arrows, way, done);
                if circle.is_some() {
                    return circle;
                }
                way.pop();
            }
        }
        done.insert(room);
        None
    }
    let mut done = BTreeSet::new();
    let mut rooms = arrows.keys();
    rooms.find_map(|room| follow(arrows, &mut vec![room.clone()], &mut done))
}

#[test]
fn imports_are_read_from_trees_and_paths() {
    fn check(text: &str, expected: &[&str]) {
        let found = imports(&Code::read(text).tokens);
        let found: Vec<String> = found.iter().map(|path| path.join("::")).collect();
        assert_eq!(found, expected, "{text}");
    }
    check("use crate::a::B;", &["crate::a::B"]);
    check(
        "pub(crate) use crate::{a::{self, B as C}, d::*};",
        &["crate::a", "crate::a::B", "crate::d::*"],
    );
    check(
        "use super::super::a; use self::b::C; use d::E;",
        &["super::super::a", "self::b::C"],
    );
    check(
        "fn f() -> crate::a::B { super::c::<D>(self.e) }",
        &["crate::a::B", "super::c"],
    );
    check(
        "// use crate::a;\n\"use crate::b;\" #[cfg(test)] mod t { use crate::c; }",
        &[],
    );
}

#[test]
fn circles_are_found_between_rooms_of_one_folder() {
    fn check(files: &[(&str, &str)], expected: Option<&[&str]>) {
        let modules = files.iter().map(|(path, text)| {
            let path = path.split("::").filter(|name| !name.is_empty());
            (path.map(str::to_owned).collect(), Code::read(text))
        });
        let found = Modules(modules.collect()).without_tests().circle();
        let expected = expected.map(|said| said.iter().map(|said| (*said).to_owned()).collect());
        assert_eq!(found, expected, "{files:?}");
    }
    check(
        &[
            ("a", "use crate::b::B;"),
            ("b", "use crate::c::C;"),
            ("c", ""),
        ],
        None,
    );
    check(
        &[("a", "use crate::b::B;"), ("b", "fn f() { super::a::f() }")],
        Some(&["a uses crate::b::B", "b uses super::a::f"]),
    );
    // Through the files of a folder, which are one room seen from outside.
    check(
        &[
            ("a", ""),
            ("a::x", "use crate::b::B;"),
            ("a::y", ""),
            ("b", "use crate::a::y::Y;"),
        ],
        Some(&["a::x uses crate::b::B", "b uses crate::a::y::Y"]),
    );
    // Within a folder.
    check(
        &[
            ("a::x", "use super::y::Y;"),
            ("a::y", "use crate::a::x::X;"),
        ],
        Some(&["a::x uses super::y::Y", "a::y uses crate::a::x::X"]),
    );
    // A folder and the file of its name.
    check(
        &[("a", "use crate::a::x::X;"), ("a::x", "use super::A;")],
        None,
    );
    // By a name that the root gives on.
    check(
        &[
            ("", "pub use a::A;"),
            ("a", "use crate::b::B;"),
            ("b", "use crate::A;"),
        ],
        Some(&["a uses crate::b::B", "b uses crate::A"]),
    );
    // Tests may use whatever they like.
    check(
        &[
            ("a", "use crate::b::B;"),
            ("b", "#[cfg(test)] mod tests;"),
            ("b::tests", "use crate::a::A;"),
        ],
        None,
    );
}
