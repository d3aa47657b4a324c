//! Requests of other origins: the CORS protocol of the Fetch standard.

use crate::fault::{Fault, quoted};
use salver_semantics::field::{is_token, is_value};

/// The other origins that may read answers, and how they may ask.
///
/// The default lets every page read with GET and HEAD, without cookies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cors {
    /// Origins, as `https://app.example.org`; `*` alone is any.
    pub origins: Vec<String>,
    /// Methods that a preflight allows.
    pub methods: Vec<String>,
    /// Request fields that a preflight allows; `*` is any.
    pub fields: Vec<String>,
    /// Response fields that scripts may read, beyond those that they always may.
    pub expose: Vec<String>,
    /// Seconds for which a browser may remember a preflight.
    pub max_age: u32,
    /// True if requests with cookies or passwords may be read, which needs named origins.
    pub credentials: bool,
}

impl Default for Cors {
    fn default() -> Self {
        Cors {
            origins: vec!["*".to_owned()],
            methods: vec!["GET".to_owned(), "HEAD".to_owned()],
            fields: Vec::new(),
            expose: Vec::new(),
            max_age: 86_400,
            credentials: false,
        }
    }
}

impl Cors {
    /// True if any origin may read, so that the answer does not depend on who asks.
    pub fn is_for_any(&self) -> bool {
        self.origins.iter().any(|origin| origin == "*")
    }

    /// Checks what would be sent.
    ///
    /// # Errors
    /// Says what is wrong.
    pub fn check(&self) -> Result<(), Fault> {
        if self.origins.is_empty() {
            return Err(Fault::new(
                "CORS names no origin",
                "name origins, or * for any",
            ));
        }
        if self.is_for_any() && (self.origins.len() > 1 || self.credentials) {
            let what = "CORS allows any origin, and credentials or further origins";
            return Err(Fault::new(
                what,
                "name the origins: browsers refuse * with credentials",
            ));
        }
        for origin in self.origins.iter().filter(|origin| *origin != "*") {
            let host = origin
                .strip_prefix("https://")
                .or(origin.strip_prefix("http://"));
            if host.is_none_or(|host| salver_semantics::Authority::parse(host.as_bytes()).is_none())
            {
                let what = format!("{} is not an origin", quoted(origin));
                return Err(Fault::new(
                    what,
                    "write it as https://app.example.org, without a path",
                ));
            }
        }
        for name in [&self.methods, &self.fields, &self.expose]
            .into_iter()
            .flatten()
        {
            if !is_token(name.as_bytes()) {
                let what = format!("{} is no name of a method or field", quoted(name));
                return Err(Fault::new(what, "write names as in GET or Content-Type"));
            }
        }
        Ok(())
    }

    /// The response fields for a request with that Origin, if it has one.
    pub(crate) fn response_fields(&self, origin: Option<&[u8]>) -> Vec<(&'static str, String)> {
        let mut fields = Vec::new();
        let Some(allowed) = self.allowed(origin) else {
            return fields;
        };
        fields.push(("access-control-allow-origin", allowed));
        if self.credentials {
            fields.push(("access-control-allow-credentials", "true".to_owned()));
        }
        if !self.expose.is_empty() {
            fields.push(("access-control-expose-headers", self.expose.join(", ")));
        }
        fields
    }

    /// The fields of the answer to a preflight of that origin.
    pub(crate) fn preflight_fields(&self, origin: &[u8]) -> Vec<(&'static str, String)> {
        let mut fields = self.response_fields(Some(origin));
        fields.retain(|(name, _)| *name != "access-control-expose-headers");
        if !fields.is_empty() {
            fields.push(("access-control-allow-methods", self.methods.join(", ")));
            if !self.fields.is_empty() {
                fields.push(("access-control-allow-headers", self.fields.join(", ")));
            }
            fields.push(("access-control-max-age", self.max_age.to_string()));
        }
        fields
    }

    fn allowed(&self, origin: Option<&[u8]>) -> Option<String> {
        if self.is_for_any() {
            return Some("*".to_owned());
        }
        let origin = origin.filter(|origin| is_value(origin))?;
        self.origins
            .iter()
            .find(|known| known.as_bytes() == origin)
            .cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins() {
        let named = Cors {
            origins: vec!["https://a.org".to_owned(), "http://b.org:8080".to_owned()],
            credentials: true,
            ..Cors::default()
        };
        named.check().unwrap();
        let allowed = |origin: &str| {
            let fields = named.response_fields(Some(origin.as_bytes()));
            fields.first().map(|(_, value)| value.clone())
        };
        assert_eq!(allowed("https://a.org").as_deref(), Some("https://a.org"));
        assert_eq!(allowed("https://a.org.evil"), None);
        assert_eq!(allowed("null"), None);
        assert_eq!(named.response_fields(None), []);
        assert_eq!(Cors::default().response_fields(None).len(), 1);
        let preflight = named.preflight_fields(b"http://b.org:8080");
        assert!(preflight.contains(&("access-control-allow-methods", "GET, HEAD".to_owned())));
        assert_eq!(named.preflight_fields(b"https://c.org"), []);
    }

    #[test]
    fn what_browsers_would_refuse_is_a_fault() {
        let check = |origins: &[&str], credentials| {
            let origins = origins.iter().map(|&origin| origin.to_owned()).collect();
            Cors {
                origins,
                credentials,
                ..Cors::default()
            }
            .check()
            .is_ok()
        };
        assert!(check(&["*"], false));
        assert!(!check(&["*"], true));
        assert!(!check(&["*", "https://a.org"], false));
        assert!(!check(&["https://a.org/"], false));
        assert!(!check(&["a.org"], false));
        assert!(!check(&[], false));
    }
}
