//! `cargo run -p salver-tower --features brotli,gzip --example moved_docs -- DIR [PORT]`: a site of many pages with a
//! search, layers around it, as it is after it has left `ServeDir`:
//!
//! | it had | it has |
//! | --- | --- |
//! | `ServeDir::new(dir).html_as_default_extension(true)` | `.clean_urls(TrailingSlash::Auto)`: `/guide.html` leads to `/guide`, so that a page has one address |
//! | `.not_found_service(ServeFile::new("404.html"))` | `.not_found("404.html")` |
//! | `CompressionLayer` around everything | around what is made for each request alone: files have siblings (feature `gzip`), whose entity tags are their own |
//! | `TraceLayer`, `TimeoutLayer` | the same, around both |

mod common;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::RawQuery;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use salver_tower::{Assets, TrailingSlash};
use tower_http::compression::CompressionLayer;
use tower_http::timeout::TimeoutLayer;
use tower_http::trace::TraceLayer;
use tracing::Span;

/// What a real program finds in its index.
async fn search(RawQuery(words): RawQuery) -> String {
    let words = words.unwrap_or_default();
    format!("nothing is said of {words}\n").repeat(50)
}

fn main() -> ExitCode {
    common::run(|directory| {
        let assets = Assets::builder(directory)
            .clean_urls(TrailingSlash::Auto)
            .not_found("404.html")
            .build()?;
        let answers = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&answers);
        let trace =
            TraceLayer::new_for_http().on_response(move |_: &Response, _: Duration, _: &Span| {
                seen.fetch_add(1, Ordering::Relaxed);
            });
        let count = async move || format!("{} answers\n", answers.load(Ordering::Relaxed));
        let limit = Duration::from_secs(10);
        Ok(Router::new()
            .route("/search", get(search))
            // A layer is around what the router has by then: not around the files.
            .layer(CompressionLayer::new())
            .route("/count", get(count))
            .fallback_service(assets)
            .layer(TimeoutLayer::with_status_code(
                StatusCode::REQUEST_TIMEOUT,
                limit,
            ))
            .layer(trace))
    })
}
