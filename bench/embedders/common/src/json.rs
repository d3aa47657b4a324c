//! What routes answer: a little JSON, made for each request.

use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct Greeting {
    message: &'static str,
    from: u32,
}

impl Greeting {
    pub(crate) fn new() -> Self {
        Greeting {
            message: "Hello, World!",
            from: std::process::id(),
        }
    }
}

/// The answer as JSON.
#[must_use]
pub fn greeting() -> Vec<u8> {
    serde_json::to_vec(&Greeting::new()).unwrap_or_default()
}
