//! The client's preference among codings, read once for all requests that state it alike.

use std::cell::RefCell;

use salver_semantics::AcceptEncoding;

use crate::request::Request;

/// The longest value that is remembered. Browsers send some 30 bytes.
const LONGEST: usize = 128;

thread_local! {
    /// The last value that this thread read, with its meaning: most clients send one of very few,
    /// and reading it costs more than finding the answer.
    static LAST: RefCell<(Vec<u8>, Option<AcceptEncoding>)> = RefCell::default();
}

/// The preference that the request's `Accept-Encoding` states.
pub(crate) fn accept_encoding(request: &Request<'_>) -> AcceptEncoding {
    let Some(value) = request.fields.accept_encoding.as_deref() else {
        return AcceptEncoding::parse(None);
    };
    LAST.with_borrow_mut(|(last, meaning)| match meaning {
        Some(meaning) if last == value => *meaning,
        _ => {
            let read = AcceptEncoding::parse(Some(value));
            if value.len() <= LONGEST {
                last.clear();
                last.extend_from_slice(value);
                *meaning = Some(read);
            }
            read
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_what_would_be_read() {
        let long = format!("br{}", ", gzip".repeat(LONGEST));
        let values = [
            Some("br"),
            Some(""),
            None,
            Some("br;q=0, gzip"),
            Some(&*long),
            Some("*"),
        ];
        for first in values {
            for second in values {
                for value in [first, second, first] {
                    let mut request = Request::get(b"/");
                    request.fields.accept_encoding = value.map(|value| value.as_bytes().into());
                    let expected = AcceptEncoding::parse(value.map(str::as_bytes));
                    assert_eq!(accept_encoding(&request), expected, "{value:?}");
                }
            }
        }
    }
}
