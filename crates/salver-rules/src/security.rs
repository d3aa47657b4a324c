//! The response fields that keep browsers from doing harm, set together by one switch.

/// The security fields of a site. The default is what a site without foreign scripts can bear: one switch.
///
/// `None` leaves a field alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Security {
    /// Content-Security-Policy, without `frame-ancestors`, which [`Security::framing`] adds.
    pub content_security_policy: Option<String>,
    /// True for `X-Content-Type-Options: nosniff`: the Content-Type holds, whatever the content looks like.
    pub nosniff: bool,
    /// Referrer-Policy.
    pub referrer_policy: Option<String>,
    /// Permissions-Policy.
    pub permissions_policy: Option<String>,
    /// The pages that may frame this one.
    pub framing: Framing,
}

/// The pages that may show a page in a frame: X-Frame-Options and `frame-ancestors` of Content-Security-Policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// None.
    Deny,
    /// Those of the same origin.
    #[default]
    SameOrigin,
    /// Any: nothing is said.
    Any,
}

impl Default for Security {
    fn default() -> Self {
        let owned = |text: &str| Some(text.to_owned());
        Security {
            content_security_policy: owned(
                "default-src 'self'; base-uri 'self'; form-action 'self'; object-src 'none'",
            ),
            nosniff: true,
            referrer_policy: owned("strict-origin-when-cross-origin"),
            permissions_policy: owned(
                "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
            ),
            framing: Framing::SameOrigin,
        }
    }
}

impl Security {
    /// The names and values of the fields.
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        let (ancestors, options) = match self.framing {
            Framing::Deny => (Some("frame-ancestors 'none'"), Some("DENY")),
            Framing::SameOrigin => (Some("frame-ancestors 'self'"), Some("SAMEORIGIN")),
            Framing::Any => (None, None),
        };
        let policy = [self.content_security_policy.as_deref(), ancestors];
        let policy: Vec<&str> = policy
            .into_iter()
            .flatten()
            .filter(|part| !part.is_empty())
            .collect();
        let owned = |value: &str| value.to_owned();
        let fields = [
            (
                "content-security-policy",
                (!policy.is_empty()).then(|| policy.join("; ")),
            ),
            (
                "x-content-type-options",
                self.nosniff.then(|| owned("nosniff")),
            ),
            ("referrer-policy", self.referrer_policy.clone()),
            ("permissions-policy", self.permissions_policy.clone()),
            ("x-frame-options", options.map(owned)),
        ];
        fields
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_switch_sets_all_five() {
        let fields = Security::default().fields();
        let names: Vec<_> = fields.iter().map(|(name, _)| *name).collect();
        assert_eq!(
            names,
            [
                "content-security-policy",
                "x-content-type-options",
                "referrer-policy",
                "permissions-policy",
                "x-frame-options"
            ]
        );
        assert!(
            fields[0]
                .1
                .ends_with("object-src 'none'; frame-ancestors 'self'")
        );
    }

    #[test]
    fn each_can_be_left_out() {
        let nothing = Security {
            content_security_policy: None,
            nosniff: false,
            referrer_policy: None,
            permissions_policy: None,
            framing: Framing::Any,
        };
        assert_eq!(nothing.fields(), []);
        let framed = Security {
            framing: Framing::Deny,
            ..nothing
        };
        assert_eq!(
            framed.fields(),
            [
                (
                    "content-security-policy",
                    "frame-ancestors 'none'".to_owned()
                ),
                ("x-frame-options", "DENY".to_owned())
            ]
        );
    }
}
