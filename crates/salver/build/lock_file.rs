//! The versions in a `Cargo.lock`. Cargo writes it, a key in a line, so that no parser of TOML is compiled for it.

/// The versions of a library that the lock file has, in its order.
pub(crate) fn versions<'a>(lock_file: &'a str, name: &str) -> Vec<&'a str> {
    let lines = || lock_file.lines().map(str::trim_end);
    let pairs = lines().zip(lines().skip(1));
    let of_name = pairs.filter(|(first, _)| value(first, "name") == Some(name));
    of_name
        .filter_map(|(_, second)| value(second, "version"))
        .collect()
}

/// The value in a line `key = "value"`.
fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let quoted = line.strip_prefix(key)?.strip_prefix(" = \"")?;
    quoted.strip_suffix('"')
}
