//! Rules as their authors think of them: when, and what then. They are checked when they are compiled.

use std::fmt;

use salver_semantics::ContentCoding;

use crate::cors::Cors;
use crate::fault::Place;
use crate::pattern::Dialect;
use crate::security::Security;

/// A rule: actions for the requests that meet a condition.
///
/// Of all rules that match, the first with a [route](Action::Redirect) and the first with basic auth count;
/// response fields of later rules change what earlier ones said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rule {
    /// The place where its author wrote it, for messages.
    pub place: Place,
    /// The condition.
    pub when: Condition,
    /// The actions, in order.
    pub actions: Vec<Action>,
}

/// A condition on a request. Empty lists and `None` ask for nothing; within a list of hosts, methods or codings one
/// has to match, of queries and fields each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Condition {
    /// The path.
    pub path: PathCondition,
    /// The scheme.
    pub scheme: Option<Scheme>,
    /// Hosts without port: `example.org`, `*.example.org`, `:name.example.org`.
    pub hosts: Vec<String>,
    /// Methods, in their case: `GET`. HEAD matches where GET does.
    pub methods: Vec<String>,
    /// Query parameters, by their decoded names.
    pub query: Vec<(String, QueryTest)>,
    /// Request fields, by their names in any case.
    pub fields: Vec<(String, FieldTest)>,
    /// Content codings of the representation that is sent. Such a rule can only change response fields.
    pub codings: Vec<ContentCoding>,
}

/// A condition on the path of a request: decoded, as `/a/b` or, for a directory, `/a/`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PathCondition {
    /// Any path.
    #[default]
    Any,
    /// A shell-like glob: `/assets/**` for all beneath, `/docs/*.html` for one directory, `*.html` without a slash
    /// at the start for any; `?`, `[a-z]` and `{a,b}` too.
    Glob(String),
    /// A pattern with placeholders: `/blog/:slug`, `/old/*`.
    Pattern(String, Dialect),
}

/// A scheme that requests come by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// In the clear.
    Http,
    /// Over TLS or QUIC.
    Https,
}

/// A condition on one query parameter, of which the last value counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryTest {
    /// It is there, with any value.
    Present,
    /// It is not there.
    Absent,
    /// It has this decoded value.
    Is(String),
    /// It is there, and its value is a placeholder of this name.
    Capture(String),
}

/// A condition on one request field; several lines of it are one value, joined with `", "`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldTest {
    /// It is there.
    Present,
    /// It is not there.
    Absent,
    /// It has this value, letter by letter.
    Is(String),
    /// Its value holds this text.
    Contains(String),
}

/// An action of a rule.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Sets a response field, in place of what was there.
    Set(String, String),
    /// Adds a line of a response field.
    Append(String, String),
    /// Sets a response field, or joins the value to what a `Join` of an earlier rule set (Cloudflare's way).
    Join(String, String),
    /// Removes a response field.
    Remove(String),
    /// Sets Cache-Control.
    CacheControl(String),
    /// Answers requests of other origins (the Fetch standard's CORS protocol).
    Cors(Cors),
    /// Sets the fields that keep browsers from doing harm.
    Security(Security),
    /// Sets Content-Disposition.
    Disposition(Disposition),
    /// The page for answers with this status (400 to 599, but 406, 412 and 416) on the paths of the rule: a path of the
    /// site.
    ErrorPage(u16, String),
    /// Asks for a name and password.
    BasicAuth(BasicAuth),
    /// Redirects: a route.
    Redirect(Redirect),
    /// Serves another file: a route.
    Rewrite(Rewrite),
    /// Answers with this status (400 to 599, but 401): a route.
    Deny(u16),
}

/// A redirect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// 301, 302, 303, 307 or 308.
    pub status: u16,
    /// The target: a path, or a URL with `http` or `https`. `:name` and `:splat` are filled in.
    pub location: String,
    /// True if the query of the request is passed on, unless the target has one.
    pub keeps_query: bool,
    /// True if a file at the path of the request goes before it.
    pub unless_file: bool,
}

/// A rewrite: another file is served under the path that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewrite {
    /// The status of the answer: 200, or 400 to 599 but 401.
    pub status: u16,
    /// Paths of the site, of which the first that is there is served. `:name` and `:splat` are filled in.
    pub to: Vec<String>,
    /// True if a file at the path of the request goes before it.
    pub unless_file: bool,
}

/// The way in which a browser presents content (RFC 6266).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// It is shown.
    Inline,
    /// It is saved, under this name or that of the path.
    Attachment(Option<String>),
}

/// Basic authentication (RFC 7617). Who verifies passwords is not this crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasicAuth {
    /// The realm: what browsers show.
    pub realm: String,
    /// The users.
    pub users: Vec<User>,
}

/// A user and the hash of a password.
#[derive(Clone, PartialEq, Eq)]
pub struct User {
    /// The name, without colon.
    pub name: String,
    /// The hash: `$argon2id$…` (a PHC string), `$2b$…`, `$2a$…` or `$2y$…` (bcrypt).
    pub hash: String,
}

impl fmt::Debug for User {
    /// Without the hash: it may land in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Action {
    /// True for an action that says what is answered, of which a rule has at most one.
    pub fn is_route(&self) -> bool {
        matches!(
            self,
            Action::Redirect(_) | Action::Rewrite(_) | Action::Deny(_)
        )
    }
}

impl Condition {
    /// True if the path, and the coding of the representation, decide alone.
    pub fn is_on_path_alone(&self) -> bool {
        let Condition {
            path: _,
            codings: _,
            scheme,
            hosts,
            methods,
            query,
            fields,
        } = self;
        scheme.is_none()
            && hosts.is_empty()
            && methods.is_empty()
            && query.is_empty()
            && fields.is_empty()
    }
}
