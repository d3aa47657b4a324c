//! The version of HTTP that a server is asked by.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A version of HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Http {
    /// HTTP/1.1 (RFC 9112), over TLS or not.
    #[default]
    #[serde(rename = "1.1")]
    One,
    /// HTTP/2 (RFC 9113): over TLS by ALPN, else with prior knowledge.
    #[serde(rename = "2")]
    Two,
    /// HTTP/3 (RFC 9114), which is always encrypted.
    #[serde(rename = "3")]
    Three,
}

impl FromStr for Http {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "1" | "1.1" => Ok(Http::One),
            "2" => Ok(Http::Two),
            "3" => Ok(Http::Three),
            _ => Err("not a version of HTTP that is spoken here: give 1, 2 or 3".to_owned()),
        }
    }
}

impl fmt::Display for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Http::One => "HTTP/1.1",
            Http::Two => "HTTP/2",
            Http::Three => "HTTP/3",
        })
    }
}
