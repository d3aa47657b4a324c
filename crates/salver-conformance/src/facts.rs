//! What only the server knows: its entity tags, learned before a row that needs them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::exchange::{Exchange, Message, Request, get};
use crate::expect::FieldRule;
use crate::transport::Transport;

/// How long a coded answer is asked for while the server checks its siblings off the loop.
const PATIENCE: Duration = Duration::from_secs(3);

/// The entity tags of one server, each asked for once.
pub(crate) struct Facts<'a> {
    transport: &'a dyn Transport,
    known: RefCell<HashMap<String, Result<String, String>>>,
}

/// What the judge must know besides the answer.
pub(crate) struct Circumstances<'a> {
    /// The request was HEAD.
    pub(crate) headless: bool,
    /// Files outside the root may be sent.
    pub(crate) may_leave_root: bool,
    /// The server's entity tags.
    pub(crate) facts: &'a Facts<'a>,
}

impl<'a> Facts<'a> {
    /// Knows nothing yet.
    pub(crate) fn new(transport: &'a dyn Transport) -> Self {
        Self {
            transport,
            known: RefCell::new(HashMap::new()),
        }
    }

    /// The text with its templates replaced.
    pub(crate) fn resolve(&self, text: &str) -> Result<String, String> {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let (template, behind) = after
                .split_once('}')
                .ok_or_else(|| format!("an unclosed template: {text}"))?;
            out.push_str(before);
            out.push_str(&self.value(template)?);
            rest = behind;
        }
        out.push_str(rest);
        Ok(out)
    }

    /// The message with the templates in its field values replaced.
    pub(crate) fn resolve_message(&self, message: &Message) -> Result<Message, String> {
        let Message::Semantic(request) = message else {
            return Ok(message.clone());
        };
        let mut request = request.clone();
        for (_, value) in &mut request.fields {
            if let Ok(text) = std::str::from_utf8(value)
                && text.contains("${")
            {
                *value = self.resolve(text)?.into_bytes();
            }
        }
        Ok(Message::Semantic(request))
    }

    /// Waits until the coded answer that a row wants is to be had: a server may send identity
    /// while it checks a sibling for the first time. If it never comes, the row itself says so.
    pub(crate) fn settle(&self, exchange: &Exchange) {
        let Message::Semantic(request) = &exchange.message else {
            return;
        };
        for (name, rule) in &exchange.expect.fields {
            if *name == "content-encoding"
                && let FieldRule::Equals(coding) = rule
            {
                let path = String::from_utf8_lossy(&request.target);
                let _ = self.entity_tag(&format!("{path}|{coding}"));
            }
        }
    }

    fn value(&self, template: &str) -> Result<String, String> {
        if let Some(path) = template.strip_prefix("weak:") {
            let tag = self.entity_tag(path)?;
            return Ok(format!("W/{}", tag.strip_prefix("W/").unwrap_or(&tag)));
        }
        if let Some(path) = template.strip_prefix("opaque:") {
            let tag = self.entity_tag(path)?;
            return Ok(tag.trim_start_matches("W/").trim_matches('"').to_owned());
        }
        let path = template
            .strip_prefix("etag:")
            .ok_or_else(|| format!("what is {template}?"))?;
        self.entity_tag(path)
    }

    /// The entity tag of `PATH` or `PATH|CODING`.
    fn entity_tag(&self, key: &str) -> Result<String, String> {
        if let Some(known) = self.known.borrow().get(key) {
            return known.clone();
        }
        let tag = match key.split_once('|') {
            Some((path, coding)) => self.coded_tag(path, coding),
            None => self.tag_of(&get(key)).map(|(_, tag)| tag),
        };
        self.known.borrow_mut().insert(key.to_owned(), tag.clone());
        tag
    }

    /// The content coding and the entity tag of an answer.
    fn tag_of(&self, request: &Request) -> Result<(Option<String>, String), String> {
        let response = self.transport.exchange(request)?;
        let tag = response
            .text("etag")
            .ok_or_else(|| format!("no entity tag could be learned from: {response}"))?;
        Ok((
            response.text("content-encoding").map(str::to_owned),
            tag.to_owned(),
        ))
    }

    /// Asks until the coding is used: a sibling may be passed over until it has been checked.
    fn coded_tag(&self, path: &str, coding: &str) -> Result<String, String> {
        let request = get(path).with("Accept-Encoding", coding);
        let start = Instant::now();
        loop {
            let (used, tag) = self.tag_of(&request)?;
            if used.as_deref() == Some(coding) {
                return Ok(tag);
            }
            if start.elapsed() > PATIENCE {
                return Err(format!("{path} never came in {coding}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response::Response;

    struct Canned;

    impl Transport for Canned {
        fn exchange(&self, request: &Request) -> Result<Response, String> {
            let coding = request.fields.first().map(|(_, value)| value.clone());
            let path = String::from_utf8_lossy(&request.target).into_owned();
            let shown = coding.clone().unwrap_or_default();
            let tag = format!("\"{path}{}\"", String::from_utf8_lossy(&shown));
            let mut fields = vec![("etag".to_owned(), tag.into_bytes())];
            fields.extend(coding.map(|coding| ("content-encoding".to_owned(), coding)));
            Ok(Response {
                status: 200,
                fields,
                content: Vec::new(),
            })
        }
    }

    #[test]
    fn templates() {
        let facts = Facts::new(&Canned);
        for (text, expected) in [
            ("plain", "plain"),
            ("${etag:/a}", "\"/a\""),
            ("\"x\", ${etag:/a|br}", "\"x\", \"/abr\""),
            ("${weak:/a}, ${etag:/b} ", "W/\"/a\", \"/b\" "),
            ("\"${opaque:/a}-x\"", "\"/a-x\""),
        ] {
            assert_eq!(facts.resolve(text).as_deref(), Ok(expected));
        }
        assert!(facts.resolve("${etag:/a").is_err());
        assert!(facts.resolve("${size:/a}").is_err());
    }
}
