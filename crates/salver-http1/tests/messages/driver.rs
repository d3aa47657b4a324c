//! A driver as a server has one, but fed by a test.

use salver_http1::{
    BodyLength, Connection, Event, Limits, Phase, RequestHead, RequestTarget, Version,
};

/// The events of a connection that receives `pieces`, as text.
pub(crate) fn events(limits: &Limits, pieces: &[&[u8]]) -> Vec<String> {
    let mut connection = Connection::new();
    let mut buffer = Vec::new();
    let mut events = Vec::new();
    for piece in pieces {
        buffer.extend_from_slice(piece);
        loop {
            let (consumed, event) = connection.receive(limits, &buffer, None);
            let text = text(&event);
            let is_final = matches!(event, Event::Incomplete);
            buffer.drain(..consumed);
            if is_final {
                break;
            }
            events.push(text);
        }
        assert!(
            buffer.len() < limits.max_head.max(1),
            "there is room in a buffer of max_head"
        );
        match connection.phase() {
            Phase::Idle | Phase::Body | Phase::Closed => assert!(buffer.is_empty()),
            Phase::Head => assert!(!buffer.is_empty()),
        }
    }
    events
}

/// `GET /path?query`, followed by what is not the default.
fn text(event: &Event<'_>) -> String {
    match event {
        Event::Incomplete => String::new(),
        Event::Request(head) => {
            assert_eq!(head.body, BodyLength::None);
            assert!(!head.expect_continue);
            text_of_head(head)
        }
        Event::Body {
            head,
            send_continue,
        } => {
            assert_ne!(head.body, BodyLength::None);
            assert_eq!(head.expect_continue, *send_continue);
            text_of_head(head)
        }
        Event::BodyEnd => "end".into(),
        Event::Refuse(refusal) => {
            assert!(!refusal.reason.is_empty());
            refusal.status.to_string()
        }
    }
}

fn text_of_head(head: &RequestHead<'_>) -> String {
    let mut text = format!("{:?} ", head.method);
    match head.target {
        RequestTarget::Path { path, query } => {
            text += &path.escape_ascii().to_string();
            if let Some(query) = query {
                text += &format!("?{}", query.escape_ascii());
            }
        }
        RequestTarget::Asterisk => text += "asterisk",
        RequestTarget::Authority => text += "authority",
    }
    if head.version == Version::Http10 {
        text += " 1.0";
    }
    if !head.persistent {
        text += " close";
    }
    match head.body {
        BodyLength::None => {}
        BodyLength::Sized(length) => text += &format!(" sized {length}"),
        BodyLength::Chunked => text += " chunked",
    }
    if head.expect_continue {
        text += " continue";
    }
    let fields = &head.fields;
    for (name, value) in [
        ("accept-encoding", &fields.accept_encoding),
        ("if-match", &fields.if_match),
        ("if-none-match", &fields.if_none_match),
        ("if-modified-since", &fields.if_modified_since),
        ("if-unmodified-since", &fields.if_unmodified_since),
        ("if-range", &fields.if_range),
        ("range", &fields.range),
    ] {
        if let Some(value) = value {
            text += &format!(" {name}=[{}]", value.escape_ascii());
        }
    }
    text
}
