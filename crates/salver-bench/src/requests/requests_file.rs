//! A list of requests from a file: one target in a line, a method and a target, or lines of an access
//! log in the Common or Combined Log Format.
//!
//! A request that stands there several times is asked as often: a log is its own mix. Of a log those requests
//! are repeated that can be without more than what is logged: GET and HEAD that the server answered.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use crate::error::BenchError;
use crate::protocol::target::{self, Target};
use crate::requests::workload::{MOST_URLS, Page, Workload};

/// The longest line that is read, in bytes.
const LONGEST_LINE: u64 = 64 * 1024;

/// One request of the list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Listed<'a> {
    /// `None` if the line names a target alone.
    method: Option<&'a str>,
    /// In origin form, or a whole URL.
    target: &'a str,
    /// The status that was logged.
    status: Option<u16>,
}

impl Workload {
    /// Of the requests that a file lists, asked of the server at `base`. The number of lines that
    /// hold no request that can be repeated is in [`passed_over`](Self::passed_over).
    ///
    /// # Errors
    /// The file cannot be read, holds nothing to ask for, or too much.
    pub fn of_requests(base: &str, file: &Path) -> Result<Workload, BenchError> {
        let base = target::parse(base)?;
        let server = Target::of(std::slice::from_ref(&base))?;
        let prefix = target::origin_form(&base);
        let prefix = prefix.trim_end_matches('/');
        let failed = |why: &dyn std::fmt::Display| BenchError::unreadable(file, why);
        let mut reader = BufReader::new(File::open(file).map_err(|error| failed(&error))?);
        let mut numbers: HashMap<Page, u32> = HashMap::new();
        let (mut pages, mut sequence, mut passed_over) = (Vec::new(), Vec::new(), 0);
        let mut line = Vec::new();
        loop {
            line.clear();
            let limited = reader.by_ref().take(LONGEST_LINE + 1);
            let read = { limited }.read_until(b'\n', &mut line);
            if read.map_err(|error| failed(&error))? == 0 {
                break;
            }
            if line.len() as u64 > LONGEST_LINE {
                return Err(failed(&"a line is longer than 64 KiB"));
            }
            let text = String::from_utf8_lossy(&line);
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let listed = parse(text).and_then(|listed| page(&listed, &server, prefix));
            let Some(page) = listed else {
                passed_over += 1;
                continue;
            };
            if sequence.len() == MOST_URLS {
                return Err(BenchError::Misused(format!(
                    "{} has more than the {MOST_URLS} requests that one run asks: give a part of it",
                    file.display()
                )));
            }
            let number = *numbers.entry(page).or_insert_with_key(|page| {
                pages.push(page.clone());
                u32::try_from(pages.len() - 1).unwrap_or(u32::MAX)
            });
            sequence.push(number);
        }
        if pages.is_empty() {
            return Err(BenchError::Misused(format!(
                "{} lists no request: write a target such as /index.html in each line, or give an \
                 access log",
                file.display()
            )));
        }
        let mut workload = Workload::new(server, pages)?;
        workload.sequence = Some(sequence.into());
        workload.passed_over = passed_over;
        Ok(workload)
    }
}

/// One line; `None` if there is no request in it that can be repeated.
fn parse(line: &str) -> Option<Listed<'_>> {
    if let Some((before, rest)) = line.split_once(" \"")
        && before.contains('[')
    {
        return logged(rest);
    }
    let listed = |method, target| Listed {
        method,
        target,
        status: None,
    };
    let mut words = line.split_ascii_whitespace();
    match (words.next()?, words.next(), words.next()) {
        (target, None, _) => Some(listed(None, target)),
        (method, Some(target), None) => Some(listed(Some(method), target)),
        _ => None,
    }
}

/// A line of a log from the request on: `GET /x HTTP/1.1" 200 …`. Quotes within are escaped.
fn logged(rest: &str) -> Option<Listed<'_>> {
    let end = rest.match_indices('"').map(|(at, _)| at);
    let is_end = |at: &usize| !rest.get(..*at).is_some_and(|text| text.ends_with('\\'));
    let end = { end }.find(is_end)?;
    let (request, after) = rest.split_at_checked(end)?;
    let mut words = request.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let status = after.get(1..)?.split_ascii_whitespace().next()?;
    let status = match status.parse::<u16>().ok()? {
        // It was asked for a part, or whether it had changed: here it is asked for all of it.
        206 | 304 => 200,
        // The time-out, the length and the range of what was sent are not logged; 499 is a client
        // that left.
        408 | 411 | 412 | 413 | 416 | 499 => return None,
        status @ 200..=498 => status,
        _ => return None,
    };
    matches!(method, "GET" | "HEAD").then_some(Listed {
        method: Some(method),
        target,
        status: Some(status),
    })
}

/// The page that is asked for, if it is of this server.
fn page(listed: &Listed<'_>, server: &Target, prefix: &str) -> Option<Page> {
    let form = match listed.target.starts_with('/') {
        true => {
            let url = format!("{}{prefix}{}", server.origin(), listed.target);
            target::origin_form(&target::parse(&url).ok()?)
        }
        false => {
            let url = target::parse(listed.target).ok()?;
            let form = target::origin_form(&url);
            (format!("{}{form}", server.origin()) == url.to_string()).then_some(form)?
        }
    };
    let is_token = |method: &&str| method.bytes().all(|byte| byte.is_ascii_alphabetic());
    Some(Page {
        method: match listed.method {
            None => None,
            Some(method) => Some(Some(method).filter(is_token)?.to_owned()),
        },
        status: listed.status,
        form,
        file: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_target_a_method_and_a_target_or_of_a_log() {
        let check = |line: &str, expected: Option<(Option<&str>, &str, Option<u16>)>| {
            let found = parse(line).map(|one| (one.method, one.target, one.status));
            assert_eq!(found, expected, "{line}");
        };
        check("/a?b", Some((None, "/a?b", None)));
        check("POST /a", Some((Some("POST"), "/a", None)));
        check("POST /a b", None);
        let date = "[22/Nov/2026:10:00:00 +0000]";
        let log = |request: &str, status: u16| {
            format!("::1 - me {date} \"{request}\" {status} 17 \"-\" \"curl\"")
        };
        let get = Some((Some("GET"), "/a?b=c", Some(200)));
        check(&log("GET /a?b=c HTTP/1.1", 200), get);
        check(&log("GET /a?b=c HTTP/1.1", 304), get);
        check(&log("GET /a?b=c HTTP/2.0", 206), get);
        let head = Some((Some("HEAD"), "/x", Some(404)));
        check(&log("HEAD /x HTTP/1.1", 404), head);
        let quoted = Some((Some("GET"), "/\\\"x", Some(200)));
        check(&log("GET /\\\"x HTTP/1.1", 200), quoted);
        for status in [408, 416, 499, 500, 503, 101] {
            check(&log("GET / HTTP/1.1", status), None);
        }
        check(&log("POST / HTTP/1.1", 200), None);
        check(&log("\\x16\\x03", 400), None);
        check(&log("-", 400), None);
        check(&format!("x - - {date} \"GET /a HTTP/1.1"), None);
    }

    #[test]
    fn what_stands_there_several_times_is_asked_as_often_and_held_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("list");
        let base = "http://127.0.0.1:1/p/";
        let read = |text: &str| {
            std::fs::write(&file, text).unwrap();
            Workload::of_requests(base, &file)
        };
        let found = read(
            "/a\n# not this\n/b x\n\n/a\nHEAD /a\nhttp://127.0.0.1:1/c\nhttp://127.0.0.1:2/c\n/ä b c\n/a",
        );
        let found = found.unwrap();
        let forms: Vec<&str> = found.pages.iter().map(|page| &*page.form).collect();
        assert_eq!(forms, ["/p/a", "/p/a", "/c"]);
        assert_eq!(found.sequence.as_deref(), Some(&[0, 0, 1, 2, 0][..]));
        assert_eq!((found.len(), found.passed_over()), (5, 3));
        let wrong = |text: &str, part: &str| {
            assert!(read(text).unwrap_err().to_string().contains(part), "{part}");
        };
        wrong("\n#\n", "lists no request");
        wrong(&"/".repeat(70_000), "longer than");
        wrong(&"/a\n".repeat(MOST_URLS + 1), "more than");
    }
}
