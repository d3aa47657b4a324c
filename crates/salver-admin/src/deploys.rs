//! Deploys over the network, as requests to the admin listener: paths and queries to orders, results to responses.
//!
//! | request | what |
//! | --- | --- |
//! | `POST /deploys?manifest=SHA256&length=N&by=WHO` | begins one |
//! | `GET /deploys/ID` | how far it is |
//! | `GET /deploys/ID/missing?after=SHA256` | what has to be sent next |
//! | `POST /deploys/ID/content` | takes pieces of it |
//! | `POST /deploys/ID/examine` | compares the store with the manifest, which has come |
//! | `POST /deploys/ID/commit?expected=RELEASE&codings=wait` | has it become current, once its codings are made |
//! | `POST /deploys/ID/commit?preview=NAME&expires=SECONDS&codings=wait` | makes it a preview |
//! | `GET /releases`, `POST /rollback?release=RELEASE&by=WHO` | lists releases; goes to another |
//!
//! `site=NAME` says which site it is of, where several have a store.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use serde_json::Value;

use crate::query::parameter;

/// The longest parameter that is looked at, in bytes.
const LONGEST: usize = 256;

/// What is asked of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeployOrder {
    /// Begin a deploy.
    Begin {
        /// The name of the site; none if there is one alone.
        site: Option<String>,
        /// The SHA-256 of the manifest.
        manifest: String,
        /// The length of the manifest in bytes.
        length: u64,
        /// Who deploys, for the journal.
        by: String,
    },
    /// Say how far a deploy is.
    Status(String),
    /// Say what has to be sent.
    Missing {
        /// The deploy.
        deploy: String,
        /// The blob behind which to begin.
        after: Option<String>,
    },
    /// Take content, which is in the request.
    Content(String),
    /// Compare the store with the manifest.
    Examine(String),
    /// Make it current.
    Commit {
        /// The deploy.
        deploy: String,
        /// The release that has to be current, `-` for none; `None` if any may.
        expected: Option<String>,
        /// The preview that it becomes instead of the current one.
        preview: Option<PreviewOrder>,
        /// True if codings are made first.
        waits_for_codings: bool,
    },
    /// List the releases.
    Releases {
        /// The name of the site; none if there is one alone.
        site: Option<String>,
    },
    /// Make another release the current one.
    Rollback {
        /// The name of the site; none if there is one alone.
        site: Option<String>,
        /// The release, or a part of its name; none for the one before.
        release: Option<String>,
        /// Who does it, for the journal.
        by: String,
    },
}

/// A preview that is ordered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviewOrder {
    /// Its name.
    pub name: String,
    /// The time for which it is shown.
    pub expires_after: Duration,
}

/// Why an order is not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeployRefusal {
    /// The status of the response.
    pub status: StatusCode,
    /// What is wrong, in one line, for people.
    pub message: String,
}

/// The stores of a server, which carry out orders. It may be called on several threads, and may wait for disks.
pub trait Deploys: Send + Sync {
    /// Carries out an order; `content` is that of its request.
    ///
    /// # Errors
    /// Why it does not.
    fn carry_out(&self, order: DeployOrder, content: &Bytes) -> Result<Value, DeployRefusal>;
}

/// The place of deploys at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeployPlace {
    Begin,
    Status,
    Missing,
    Content,
    Examine,
    Commit,
    Releases,
    Rollback,
}

impl DeployPlace {
    pub(crate) fn at(path: &str) -> Option<Self> {
        match path {
            "/deploys" => return Some(DeployPlace::Begin),
            "/releases" => return Some(DeployPlace::Releases),
            "/rollback" => return Some(DeployPlace::Rollback),
            _ => {}
        }
        let (_, action) = parts(path)?;
        Some(match action {
            "" => DeployPlace::Status,
            "missing" => DeployPlace::Missing,
            "content" => DeployPlace::Content,
            "examine" => DeployPlace::Examine,
            "commit" => DeployPlace::Commit,
            _ => return None,
        })
    }

    pub(crate) fn method(self) -> Method {
        match self {
            DeployPlace::Status | DeployPlace::Missing | DeployPlace::Releases => Method::GET,
            _ => Method::POST,
        }
    }

    /// The order of a request to this place.
    pub(crate) fn order<B>(self, request: &Request<B>) -> Result<DeployOrder, DeployRefusal> {
        let query = request.uri().query();
        let text = |name: &str| {
            let value = parameter(query, name).filter(|value| value.len() <= LONGEST)?;
            String::from_utf8(value).ok()
        };
        let deploy = || {
            let (deploy, _) = parts(request.uri().path()).unwrap_or_default();
            deploy.to_owned()
        };
        let by = || text("by").unwrap_or_else(|| "unknown".to_owned());
        Ok(match self {
            DeployPlace::Begin => {
                let length = text("length").and_then(|length| length.parse().ok());
                let (Some(manifest), Some(length)) = (text("manifest"), length) else {
                    return Err(wrong("say manifest=SHA256 and length=BYTES"));
                };
                DeployOrder::Begin {
                    site: text("site"),
                    manifest,
                    length,
                    by: by(),
                }
            }
            DeployPlace::Status => DeployOrder::Status(deploy()),
            DeployPlace::Missing => DeployOrder::Missing {
                deploy: deploy(),
                after: text("after"),
            },
            DeployPlace::Content => DeployOrder::Content(deploy()),
            DeployPlace::Examine => DeployOrder::Examine(deploy()),
            DeployPlace::Commit => DeployOrder::Commit {
                deploy: deploy(),
                expected: text("expected"),
                preview: match text("preview") {
                    None => None,
                    Some(name) => {
                        let seconds = text("expires").and_then(|seconds| seconds.parse().ok());
                        let seconds = seconds.filter(|seconds| *seconds > 0);
                        Some(PreviewOrder {
                            name,
                            expires_after: Duration::from_secs(
                                seconds.ok_or_else(|| wrong("say expires=SECONDS"))?,
                            ),
                        })
                    }
                },
                waits_for_codings: text("codings").is_some_and(|value| value == "wait"),
            },
            DeployPlace::Releases => DeployOrder::Releases { site: text("site") },
            DeployPlace::Rollback => DeployOrder::Rollback {
                site: text("site"),
                release: text("release"),
                by: by(),
            },
        })
    }
}

/// The refusal of a request that lacks something.
fn wrong(what: &str) -> DeployRefusal {
    DeployRefusal {
        status: StatusCode::BAD_REQUEST,
        message: format!("Bad Request: {what}"),
    }
}

/// The name of the deploy in a path, and what stands behind it.
fn parts(path: &str) -> Option<(&str, &str)> {
    let rest = path.strip_prefix("/deploys/")?;
    let (deploy, action) = rest.split_once('/').unwrap_or((rest, ""));
    let is_name = (1..=LONGEST).contains(&deploy.len());
    is_name.then_some((deploy, action))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(method: &str, target: &str) -> Option<Result<DeployOrder, DeployRefusal>> {
        let request = Request::builder().method(method).uri(target);
        let request = request.body(()).unwrap();
        let place = DeployPlace::at(request.uri().path())?;
        (place.method() == method).then(|| place.order(&request))
    }

    #[test]
    fn requests_are_orders() {
        let check = |method: &str, target: &str, expected: DeployOrder| {
            assert_eq!(order(method, target), Some(Ok(expected)), "{target}");
        };
        check(
            "POST",
            "/deploys?manifest=ab&length=7&by=j%20o&site=a.test",
            DeployOrder::Begin {
                site: Some("a.test".to_owned()),
                manifest: "ab".to_owned(),
                length: 7,
                by: "j o".to_owned(),
            },
        );
        check("GET", "/deploys/x", DeployOrder::Status("x".to_owned()));
        check(
            "POST",
            "/deploys/x/content",
            DeployOrder::Content("x".to_owned()),
        );
        check(
            "POST",
            "/deploys/x/commit?codings=wait&expected=-",
            DeployOrder::Commit {
                deploy: "x".to_owned(),
                expected: Some("-".to_owned()),
                preview: None,
                waits_for_codings: true,
            },
        );
        check(
            "POST",
            "/deploys/x/commit?preview=next&expires=3600",
            DeployOrder::Commit {
                deploy: "x".to_owned(),
                expected: None,
                preview: Some(PreviewOrder {
                    name: "next".to_owned(),
                    expires_after: Duration::from_hours(1),
                }),
                waits_for_codings: false,
            },
        );
        check("GET", "/releases", DeployOrder::Releases { site: None });
        for (method, target) in [
            ("GET", "/deploys"),
            ("POST", "/deploys/"),
            ("POST", "/deploys//commit"),
            ("POST", "/deploys/x/other"),
            ("POST", "/deploys/x/commit/y"),
            ("GET", "/rollback"),
        ] {
            assert_eq!(order(method, target), None, "{target}");
        }
        for wrong in [
            "/deploys?manifest=ab&length=-1",
            "/deploys/x/commit?preview=next",
            "/deploys/x/commit?preview=next&expires=0",
        ] {
            let wrong = order("POST", wrong).unwrap();
            assert_eq!(wrong.unwrap_err().status, StatusCode::BAD_REQUEST);
        }
    }
}
