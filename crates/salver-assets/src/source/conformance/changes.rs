//! The rules about trees that change, and about several of them.

use super::rules::{is_absent, open, read_from, view};
use super::{FILES, Rule, Violation, violates};
use crate::source::{Patience, Source};

/// Checks a source that holds [`FILES`] and can change; leaves it changed. `put` gives the file at a
/// path this content, complete from the start (as by rename), or removes it.
///
/// # Errors
/// The first rule that does not hold.
pub fn check_changes(
    source: &dyn Source,
    mut put: impl FnMut(&str, Option<&[u8]>),
) -> Result<(), Violation> {
    let (path, old) = ("sub/b.txt", b"beta");
    let before = open(&*view(source)?, path).map_err(violates(Rule::Opened))?;
    // As long as before, and perhaps at the same time.
    put(path, Some(b"zeta"));
    let after = view(source)?;
    replaced(&*after, path, &before, b"zeta").map_err(violates(Rule::Replaced))?;
    let held = read_from(&before.reader, 0, Patience::MayWait);
    if held.as_ref().is_ok_and(|bytes| bytes != old) || held.is_err() {
        let seen = format!("{path:?} was opened and then replaced: {held:?}");
        return Err(violates(Rule::Held)(seen));
    }
    put("sub/new/a.txt", Some(b"new"));
    let after = view(source)?;
    is_new(&*after).map_err(violates(Rule::New))?;
    put("sub/b.txt", None);
    let after = view(source)?;
    is_removed(&*after, path).map_err(violates(Rule::Removed))
}

fn replaced(
    view: &dyn crate::View,
    path: &str,
    before: &crate::source::Opened,
    content: &[u8],
) -> Result<(), String> {
    let opened = open(view, path)?;
    if opened.metadata.identity == before.metadata.identity {
        return Err(format!("{path:?} has the identity of what it replaced"));
    }
    let read = read_from(&opened.reader, 0, Patience::MayWait);
    match read {
        Ok(bytes) if bytes == content => Ok(()),
        other => Err(format!("{path:?} was replaced: {other:?}")),
    }
}

fn is_new(view: &dyn crate::View) -> Result<(), String> {
    open(view, "sub/new/a.txt")?;
    let names = view.list(b"sub/new").map_err(|error| error.to_string())?;
    if names != [b"a.txt"] {
        return Err(format!("list \"sub/new\": {} names", names.len()));
    }
    Ok(())
}

fn is_removed(view: &dyn crate::View, path: &str) -> Result<(), String> {
    is_absent(view, path)?;
    let names = view.list(b"sub").map_err(|error| error.to_string())?;
    if names.iter().any(|name| name == b"b.txt") {
        return Err(format!("{path:?} is still listed"));
    }
    Ok(())
}

/// Checks two sources that hold [`FILES`] each, on their own: one engine may serve both, and knows
/// files by their identity.
///
/// # Errors
/// The rule that does not hold.
pub fn check_apart(one: &dyn Source, other: &dyn Source) -> Result<(), Violation> {
    let identities = |source: &dyn Source| {
        let view = view(source)?;
        let mut identities = Vec::new();
        for (path, _) in FILES {
            let opened = open(&*view, path).map_err(violates(Rule::Opened))?;
            identities.push((path, opened.metadata.identity));
        }
        Ok::<_, Violation>(identities)
    };
    let other = identities(other)?;
    for (path, identity) in identities(one)? {
        if let Some((same, _)) = other.iter().find(|(_, known)| *known == identity) {
            let seen = format!("{path:?} of the one and {same:?} of the other have one identity");
            return Err(violates(Rule::Apart)(seen));
        }
    }
    Ok(())
}
