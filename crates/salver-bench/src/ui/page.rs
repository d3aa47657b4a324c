//! The page as one file: its parts put together, with data in it where it is to be shared.

use serde::Serialize;
use serde_json::json;

use super::saved::{RunId, Saved};
use super::secret::Secret;

const TEMPLATE: &str = include_str!("page/index.html");
const STYLE: &str = include_str!("page/style.css");

/// In the order in which they stand in the page.
const SCRIPTS: [&str; 10] = [
    include_str!("page/dom.js"),
    include_str!("page/format.js"),
    include_str!("page/series.js"),
    include_str!("page/bars.js"),
    include_str!("page/curves.js"),
    include_str!("page/tables.js"),
    include_str!("page/result.js"),
    include_str!("page/history.js"),
    include_str!("page/form.js"),
    include_str!("page/main.js"),
];

/// The content security policy of the page: it loads its own script and style, and asks this server.
pub(super) fn policy(nonce: &Secret) -> String {
    let strict = strict(nonce);
    format!("{strict}; connect-src 'self'; frame-ancestors 'none'")
}

/// The policy that both forms of the page have in common. Each directive that does not fall back to
/// `default-src` is named.
fn strict(nonce: &Secret) -> String {
    format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; \
         img-src data:; base-uri 'none'; form-action 'none'"
    )
}

/// The page that runs things. Nothing in it is private: whoever has no token is given it, too.
pub(super) fn live(nonce: &Secret, program: &str) -> String {
    let data = json!({ "mode": "live", "program": program });
    compose(nonce, "", &data)
}

/// The page with one run in it, for a file that needs nothing else.
pub(super) fn exported(nonce: &Secret, program: &str, id: &RunId, saved: &Saved) -> String {
    let data = json!({
        "mode": "file",
        "program": program,
        "run": { "id": id, "saved": saved },
    });
    let policy = format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">",
        strict(nonce)
    );
    compose(nonce, &policy, &data)
}

fn compose(nonce: &Secret, policy: &str, data: &impl Serialize) -> String {
    // `</script>` within a text would end the element. JSON has no `<` outside of texts.
    let data = serde_json::to_string(data)
        .unwrap_or_default()
        .replace('<', "\\u003c");
    // The data last: what stands in it is replaced by nothing.
    TEMPLATE
        .replace("{{nonce}}", &nonce.to_string())
        .replace("{{policy}}", policy)
        .replace("{{style}}", STYLE)
        .replace("{{script}}", &SCRIPTS.concat())
        .replace("{{data}}", &data)
}
