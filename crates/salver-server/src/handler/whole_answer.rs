//! The answer of a handler whose content is whole: its response as it is, of which no plan is made where it can be
//! sent so.

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use salver_assets::{Method, ResponsePlan};

use super::sent_fields::{fields, is_sent};

/// The fields that say how content is sent, which the server says by itself.
const FRAMING: &[&str] = &["content-length", "trailer"];

/// The most fields for which a map keeps its memory.
const MOST_KEPT: usize = 64;

/// The room for the digits of a length.
pub(crate) type Digits = [u8; 20];

/// The answer of a handler whose content is whole.
pub(crate) struct WholeAnswer {
    status: StatusCode,
    headers: HeaderMap,
    content: Bytes,
    method: Method,
    /// As a [plan](ResponsePlan::driver_fields) has it.
    pub(crate) driver_fields: u16,
    /// As a [plan](ResponsePlan::driver_site) has it.
    pub(crate) driver_site: u16,
}

impl WholeAnswer {
    /// The answer to a request with this method.
    pub(super) fn new(
        status: StatusCode,
        headers: HeaderMap,
        content: Bytes,
        method: Method,
    ) -> Self {
        WholeAnswer {
            status,
            headers,
            content,
            method,
            driver_fields: 0,
            driver_site: 0,
        }
    }

    /// The status code.
    pub(crate) fn status(&self) -> u16 {
        self.status.as_u16()
    }

    /// The content to send.
    pub(crate) fn content(&self) -> Option<&Bytes> {
        let is_sent = self.method != Method::Head && self.has_length();
        is_sent.then_some(&self.content)
    }

    /// The fields of the head, as [`into_plan`](Self::into_plan) has them.
    pub(crate) fn fields<'a>(
        &'a self,
        digits: &'a mut Digits,
    ) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        let length = decimal(self.content.len(), digits);
        let length = self.has_length().then_some(("Content-Length", length));
        let own = self.headers.iter();
        let own = own.filter(|(name, _)| is_sent(name.as_str(), FRAMING));
        length
            .into_iter()
            .chain(own.map(|(name, value)| (name.as_str(), value.as_bytes())))
    }

    /// RFC 9110 section 8.6: false if nothing says how long something is that isn't there.
    fn has_length(&self) -> bool {
        !matches!(self.status(), 204 | 304)
    }

    /// The plan of the answer.
    pub(crate) fn into_plan(self) -> ResponsePlan {
        let fields = fields(&self.headers, FRAMING);
        let mut plan = ResponsePlan::own(self.status(), fields, self.content);
        plan.driver_fields = self.driver_fields;
        plan.driver_site = self.driver_site;
        plan.for_method(self.method)
    }

    /// The map of its fields without them, for those of another message.
    pub(crate) fn into_spare(self) -> HeaderMap {
        let mut headers = self.headers;
        match headers.capacity().max(headers.len()) <= MOST_KEPT {
            true => headers.clear(),
            false => headers = HeaderMap::new(),
        }
        headers
    }
}

/// A number in decimal.
fn decimal(mut number: usize, digits: &mut Digits) -> &[u8] {
    let mut at = digits.len();
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + u8::try_from(number % 10).unwrap_or_default();
        number /= 10;
        at -= 1;
        if number == 0 {
            break;
        }
    }
    digits.get(at..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use http::header::{CONTENT_LENGTH, CONTENT_TYPE, DATE, SET_COOKIE, TRAILER};

    #[test]
    fn what_is_sent_is_what_the_plan_says() {
        for status in [200, 204, 304, 404] {
            for method in [Method::Get, Method::Head, Method::Post] {
                for length in [0, 9, 10, 4321] {
                    check(status, method, length);
                }
            }
        }
    }

    #[track_caller]
    fn check(status: u16, method: Method, length: usize) {
        let mut headers = HeaderMap::new();
        let fields = [
            (SET_COOKIE, "a=b"),
            (CONTENT_LENGTH, "77"),
            (DATE, "then"),
            (TRAILER, "x"),
            (CONTENT_TYPE, "text/plain"),
            (SET_COOKIE, "c=d"),
        ];
        for (name, value) in fields {
            headers.append(name, HeaderValue::from_static(value));
        }
        let status = StatusCode::from_u16(status).unwrap();
        let content = Bytes::from(vec![b'x'; length]);
        let answer = WholeAnswer::new(status, headers, content, method);
        let mut digits = Digits::default();
        let own = |(name, value): (&str, &[u8])| (name.to_owned(), value.to_vec());
        let sent: Vec<_> = answer.fields(&mut digits).map(own).collect();
        let content = answer.content().cloned().unwrap_or_default();
        let plan = answer.into_plan();
        let planned: Vec<_> = plan
            .fields()
            .map(|(name, value)| own((name, value)))
            .collect();
        assert_eq!(sent, planned);
        let planned = match plan.content {
            salver_assets::Content::Memory(bytes) => bytes,
            _ => Bytes::new(),
        };
        assert_eq!(content, planned);
    }

    #[test]
    fn memory_is_kept_for_few_fields() {
        let spare = |count: usize| {
            let mut headers = HeaderMap::with_capacity(count);
            headers.insert(DATE, HeaderValue::from_static("then"));
            let status = StatusCode::OK;
            WholeAnswer::new(status, headers, Bytes::new(), Method::Get).into_spare()
        };
        let few = spare(8);
        assert!(few.is_empty() && few.capacity() >= 8);
        assert_eq!(spare(1000).capacity(), 0);
    }
}
