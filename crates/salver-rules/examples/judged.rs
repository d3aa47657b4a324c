//! What Salver makes of the cases that the judges run: JSON in, JSON out.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::indexing_slicing)]

use std::io::Read;

use salver_rules::{
    Compat, FieldChange, ImportFormat, Outcome, Request, Route, Rule, RuleSet, Scheme, import,
    parse_headers, parse_redirects,
};
use salver_semantics::ContentCoding;
use serde_json::{Value, json};

fn main() {
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input).unwrap();
    let cases: Vec<Value> = serde_json::from_str(&input).unwrap();
    let answers: Vec<Value> = cases.iter().map(judged).collect();
    println!("{}", Value::from(answers));
}

fn judged(case: &Value) -> Value {
    let text = |key: &str| case[key].as_str().unwrap_or_default().as_bytes().to_vec();
    let mut clean_urls = false;
    let mut slash = None;
    let (rules, faults): (Vec<Rule>, Vec<_>) = match case["compat"].as_str() {
        Some("serve") => {
            let imported = import(&text("serve"), ImportFormat::Serve).unwrap();
            clean_urls = imported.clean_urls == Some(true);
            slash = imported.trailing_slash;
            (imported.rules, imported.faults)
        }
        name => {
            let compat = if name == Some("cloudflare") {
                Compat::Cloudflare
            } else {
                Compat::Netlify
            };
            let headers = parse_headers(&text("headers"), compat);
            let redirects = parse_redirects(&text("redirects"), compat);
            (
                [headers.rules, redirects.rules].concat(),
                [headers.faults, redirects.faults].concat(),
            )
        }
    };
    let rules = RuleSet::compile(&rules).unwrap();
    let files: Vec<&str> = case["files"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let site = Site {
        rules,
        files,
        clean_urls,
        slash,
    };
    let answers: Vec<Value> = case["requests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|request| site.answer(request))
        .collect();
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    json!({"answers": answers, "faults": faults})
}

/// A site whose files are names, served as the engine would serve them as far as rules go.
struct Site<'c> {
    rules: RuleSet,
    files: Vec<&'c str>,
    clean_urls: bool,
    slash: Option<bool>,
}

impl Site<'_> {
    fn answer(&self, request: &Value) -> Value {
        let text = |key: &str| request[key].as_str().unwrap_or_default();
        let query = text("query").strip_prefix('?').map(str::as_bytes);
        let path = match decoded(text("path")) {
            Ok(path) => path,
            Err(status) => return json!({"status": status}),
        };
        let request = Request {
            scheme: if text("scheme") == "http" {
                Scheme::Http
            } else {
                Scheme::Https
            },
            host: text("host").as_bytes(),
            method: b"GET",
            query,
            field: &|_| None,
        };
        if let Some(location) = self.canonical(&path) {
            return json!({"status": 301, "location": location});
        }
        let outcome = self.rules.for_request(&path, &request);
        let mut answer = self.route(&outcome, &path, query);
        let fields = outcome.fields(ContentCoding::Identity);
        let mut sent = vec![("x-own".to_owned(), "own".to_owned())];
        FieldChange::apply(&fields, &mut sent);
        answer["fields"] = json!(sent);
        answer
    }

    fn route(&self, outcome: &Outcome<'_>, path: &[u8], query: Option<&[u8]>) -> Value {
        let own = self.file(path);
        let route = outcome.route();
        let unless = match &route {
            Some(Route::Redirect { unless_file, .. } | Route::Rewrite { unless_file, .. }) => {
                *unless_file
            }
            _ => false,
        };
        if let (Some(file), true) = (&own, unless) {
            return json!({"status": 200, "file": file});
        }
        match route {
            Some(Route::Redirect {
                status, location, ..
            }) => {
                json!({"status": status, "location": location.for_query(query), "force": !unless})
            }
            Some(Route::Rewrite { status, paths, .. }) => {
                let to = paths
                    .first()
                    .map(|path| String::from_utf8_lossy(path).into_owned());
                match paths.iter().find_map(|path| self.file(path)) {
                    Some(file) => {
                        json!({"status": status, "file": file, "to": to, "force": !unless})
                    }
                    None => json!({"status": 404, "rewritten": status, "to": to, "force": !unless}),
                }
            }
            Some(Route::Deny { status }) => json!({"status": status}),
            Some(Route::Preflight { .. }) => json!({"status": 204}),
            None => own.map_or(
                json!({"status": 404}),
                |file| json!({"status": 200, "file": file}),
            ),
        }
    }

    /// The file for a path: itself, its index page or, with clean URLs, its page.
    fn file(&self, path: &[u8]) -> Option<String> {
        let path = String::from_utf8_lossy(path).into_owned();
        let bare = path.trim_end_matches('/');
        let pages = [format!("{bare}/index.html"), format!("{bare}.html")];
        let pages = pages.into_iter().filter(|_| self.clean_urls);
        [path.clone()]
            .into_iter()
            .chain(pages)
            .find(|name| self.files.contains(&&**name))
    }

    /// The path under which the same is served, if it is another.
    fn canonical(&self, path: &[u8]) -> Option<String> {
        let path = String::from_utf8_lossy(path).into_owned();
        if let Some(bare) = path.strip_suffix(".html").filter(|_| self.clean_urls) {
            let bare = bare.strip_suffix("/index").unwrap_or(bare);
            return Some(if bare.is_empty() {
                "/".to_owned()
            } else {
                bare.to_owned()
            });
        }
        let name = path.rsplit('/').next().unwrap_or_default();
        match self.slash {
            Some(true) if !name.is_empty() && !name.contains('.') => Some(format!("{path}/")),
            Some(false) if path.len() > 1 && name.is_empty() => {
                Some(path.trim_end_matches('/').to_owned())
            }
            _ => None,
        }
    }
}

/// The path as the engine has it: decoded, each slash once; or the status of a path that names no file.
fn decoded(path: &str) -> Result<Vec<u8>, u16> {
    let mut out = Vec::new();
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        let byte = if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            let (high, low) = (digit().ok_or(400u16)?, digit().ok_or(400u16)?);
            match u8::try_from(high * 16 + low) {
                Ok(b'/') => return Err(404),
                Ok(0) | Err(_) => return Err(400),
                Ok(byte) => byte,
            }
        } else if byte == b'/' && out.last() == Some(&b'/') {
            continue;
        } else {
            byte
        };
        out.push(byte);
    }
    Ok(out)
}
