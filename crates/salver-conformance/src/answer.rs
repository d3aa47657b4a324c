//! An answer that grows on a stream of HTTP/2 or HTTP/3 (RFC 9113 section 8.1, RFC 9114
//! section 4.1).

use crate::carried::Carried;
use crate::response::Response;
use crate::section::{Lines, check_length, read_head};
use crate::session::Outcome;

/// What has come so far.
pub(crate) struct Answer {
    /// It has no content whatever its fields say.
    headless: bool,
    /// A "100 Continue" may come first.
    interim: bool,
    head: Option<Response>,
    content: Vec<u8>,
    ended: bool,
    reset: Option<u64>,
}

impl Answer {
    /// Nothing yet.
    pub(crate) fn to(request: &Carried) -> Self {
        Self {
            headless: request.is_head(),
            interim: request.value(b"expect").is_some(),
            head: None,
            content: Vec::new(),
            ended: false,
            reset: None,
        }
    }

    /// Nothing more is to come.
    pub(crate) fn is_done(&self) -> bool {
        self.ended || self.reset.is_some()
    }

    fn check_open(&self, what: &str) -> Result<(), String> {
        if self.reset.is_some() {
            return Err(format!("{what} behind a reset"));
        }
        if self.ended {
            return Err(format!("{what} behind the end of the stream"));
        }
        Ok(())
    }

    /// A whole field section has come.
    pub(crate) fn take_section(&mut self, lines: &Lines) -> Result<(), String> {
        self.check_open("a field section")?;
        if self.head.is_some() {
            return Err("trailers, though there is nothing for them to say".to_owned());
        }
        let head = read_head(lines)?;
        match head.status {
            100 if self.interim => Ok(()),
            ..200 => Err(format!(
                "an interim answer nobody asked for: {}",
                head.status
            )),
            _ => {
                self.head = Some(head);
                Ok(())
            }
        }
    }

    /// Content has come.
    pub(crate) fn take_content(&mut self, content: &[u8]) -> Result<(), String> {
        self.check_open("DATA")?;
        if self.head.is_none() {
            return Err("DATA before HEADERS".to_owned());
        }
        self.content.extend_from_slice(content);
        Ok(())
    }

    /// The stream has ended.
    pub(crate) fn take_end(&mut self) -> Result<(), String> {
        self.check_open("the end")?;
        let Some(head) = &mut self.head else {
            return Err("the stream ended without an answer".to_owned());
        };
        self.ended = true;
        head.content = std::mem::take(&mut self.content);
        check_length(head, self.headless)
    }

    /// The stream has been reset. Behind a whole answer that tells us to stop sending content
    /// (RFC 9113 section 8.1); `calm` says that the code is one for that.
    pub(crate) fn take_reset(&mut self, code: u64, calm: bool) -> Result<(), String> {
        if self.reset.is_some() {
            return Err("the stream was reset twice".to_owned());
        }
        if self.ended && !calm {
            return Err(format!("a reset with code {code:#x} behind the end"));
        }
        self.reset = Some(code);
        Ok(())
    }

    /// What became of the request; `ended` is the code of a connection that is over.
    pub(crate) fn outcome(&mut self, ended: u64) -> Outcome {
        match (self.ended, self.head.take(), self.reset) {
            (true, Some(response), _) => Outcome::Answer(response),
            (_, _, Some(code)) => Outcome::Reset(code),
            _ => Outcome::Ended(ended),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(status: &str, length: &str) -> Lines {
        vec![
            (b":status".to_vec(), status.as_bytes().to_vec()),
            (b"content-length".to_vec(), length.as_bytes().to_vec()),
        ]
    }

    fn answer() -> Answer {
        let request = Carried::default().with(":method", "GET");
        Answer::to(&request)
    }

    #[test]
    fn an_answer_in_order() {
        let mut own = answer();
        own.take_section(&head("200", "4")).unwrap();
        own.take_content(b"ab").unwrap();
        own.take_content(b"cd").unwrap();
        assert!(!own.is_done());
        own.take_end().unwrap();
        assert!(own.is_done());
        own.take_reset(0, true).unwrap();
        assert_eq!(own.outcome(0).answer().unwrap().content, b"abcd");
    }

    #[test]
    fn answers_out_of_order() {
        assert!(answer().take_content(b"a").is_err());
        assert!(answer().take_end().is_err());
        assert!(answer().take_section(&head("100", "0")).is_err());
        let mut own = answer();
        own.take_section(&head("200", "1")).unwrap();
        assert!(own.take_section(&head("200", "1")).is_err());
        assert!(own.take_end().is_err());
        assert!(own.take_content(b"a").is_err());
        let mut own = answer();
        own.take_reset(1, false).unwrap();
        assert!(own.take_section(&head("200", "0")).is_err());
        assert!(matches!(own.outcome(0), Outcome::Reset(1)));
        assert!(matches!(answer().outcome(7), Outcome::Ended(7)));
    }
}
