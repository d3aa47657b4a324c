//! The variables that pages may see, from the environment to the engine. They are read once, when the settings are.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use salver_assets::{MemorySource, Mount, PageVariables};
use salver_config::Site;

use crate::failure::Failure;

/// Has the pages of these mounts see what those of a site may, in the place of placeholders; gives the mount of the
/// script, if there is one.
///
/// # Errors
/// A variable that is not UTF-8, or what the script cannot be at.
pub(crate) fn add_variables(
    mounts: &mut Vec<Mount>,
    warnings: &mut Vec<String>,
    site: &Site,
) -> Result<Option<Mount>, Failure> {
    let (script, names) = (&site.env_script, &site.env_variables);
    let is_used = script.is_some() || *site.env_placeholders;
    if names.is_empty() && is_used {
        let user = match script.is_some() {
            true => script.name(),
            false => site.env_placeholders.name(),
        };
        warnings.push(format!("{user} does nothing without {}", names.name()));
    }
    if !names.is_empty() && !is_used {
        warnings.push(format!(
            "{} does nothing without {} or {}",
            names.name(),
            script.name(),
            site.env_placeholders.name()
        ));
    }
    if !is_used {
        return Ok(None);
    }
    let mut list = Vec::new();
    for name in names.iter() {
        let value = value(name, std::env::var_os(name))?;
        if value.is_none() {
            warnings.push(format!(
                "the variable {name} is not set: pages see none ({})",
                names.name()
            ));
        }
        list.push((name.clone(), value));
    }
    let variables = PageVariables::new(list)
        .map_err(|error| Failure::Misused(format!("{}: {error}", names.name())))?;
    let variables = Arc::new(variables);
    if *site.env_placeholders {
        let plain = std::mem::take(mounts).into_iter();
        mounts.extend(plain.map(|mount| mount.with_page_variables(Arc::clone(&variables))));
    }
    let Some(path) = &**script else {
        return Ok(None);
    };
    let mount = script_at(path, &variables).ok_or_else(|| {
        Failure::Misused(format!(
            "{}: {path:?} does not end in .js, by which browsers take it for a script: give /env.js, say",
            script.name()
        ))
    })?;
    Ok(Some(mount))
}

/// The value of a variable; an empty one is not set.
fn value(name: &str, value: Option<OsString>) -> Result<Option<String>, Failure> {
    let value = value.filter(|value| !value.is_empty());
    let text = value.map(OsString::into_string).transpose();
    text.map_err(|_| Failure::Misused(format!("the variable {name} is not UTF-8: set it to text")))
}

/// The script at a path, if its name is one of a script.
fn script_at(path: &str, variables: &PageVariables) -> Option<Mount> {
    let name = path.rsplit('/').next()?;
    let stem = name
        .strip_suffix(".js")
        .or_else(|| name.strip_suffix(".mjs"))?;
    if stem.is_empty() {
        return None;
    }
    // Its content is of this moment.
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let source = MemorySource::new();
    let seconds = i64::try_from(now.as_secs()).unwrap_or_default();
    source.insert(name, variables.script(), seconds);
    Some(Mount::file(path, Arc::new(source), name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_text_and_not_empty() {
        assert_eq!(value("A", None), Ok(None));
        assert_eq!(value("A", Some("".into())), Ok(None));
        assert_eq!(value("A", Some("b".into())), Ok(Some("b".to_owned())));
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStringExt as _;
            let wrong = value("A", Some(OsString::from_vec(vec![0xff])));
            let line = wrong.unwrap_err().to_string();
            assert!(line.contains("variable A is not UTF-8"), "{line}");
        }
    }

    #[test]
    fn a_script_has_the_name_of_one() {
        let variables = PageVariables::new([]).unwrap();
        for (path, is_one) in [
            ("/env.js", true),
            ("/a/env.mjs", true),
            ("/env", false),
            ("/env.json", false),
            ("/.js", false),
            ("/env.js/", false),
        ] {
            assert_eq!(script_at(path, &variables).is_some(), is_one, "{path}");
        }
    }
}
