//! Parts of paths, and the keys by which the cache has what is at them.

/// True if a relative path has a segment that begins with a dot, other than `.well-known` (RFC
/// 8615) in first place: such are not served unless [asked for](crate::Config::dotfiles).
pub fn is_hidden(relative: &[u8]) -> bool {
    let mut segments = relative.split(|&byte| byte == b'/');
    let first = segments.next().unwrap_or_default();
    (first.starts_with(b".") && first != b".well-known")
        || segments.any(|segment| segment.starts_with(b"."))
}

/// The key of one of several resources at `path`, which has no NUL.
pub(crate) fn variant_key(path: &[u8], variant: &[u8]) -> Vec<u8> {
    [path, b"\0", variant].concat()
}

/// The path at which the resource with this key is asked for, and the variant if it is one of several there.
pub(crate) fn path_of_key(key: &[u8]) -> (&[u8], Option<&[u8]>) {
    let mut parts = key.splitn(2, |&byte| byte == 0);
    (parts.next().unwrap_or_default(), parts.next())
}

/// The last segment; empty for a directory.
pub(crate) fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use salver_semantics::RequestPath;

    #[test]
    fn hidden_segments() {
        fn check(relative: &str, expected: bool) {
            assert_eq!(is_hidden(relative.as_bytes()), expected, "{relative}");
            let absolute = format!("/{relative}");
            let path = RequestPath::parse(absolute.as_bytes()).unwrap();
            assert!(path.has_dot_segment() || !expected);
        }
        check("", false);
        check("a.b/c.d", false);
        check(".git/config", true);
        check("a/.env", true);
        check(".well-known/acme", false);
        check(".well-known/", false);
        check("a/.well-known/x", true);
        check(".well-known/.secret", true);
        check("...", true);
    }
}
