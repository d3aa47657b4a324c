//! `cargo run -p salver-tower --features brotli,gzip --example moved_app -- DIR [PORT]`: a single-page application and its
//! API with state, as it is after it has left `ServeDir`:
//!
//! | it had | it has |
//! | --- | --- |
//! | `ServeDir::new(dir).fallback(ServeFile::new("index.html"))` | `Assets::builder(dir).spa("index.html")`: `/missing.js` is 404 now, and no page |
//! | `.precompressed_br().precompressed_gzip()` | the features `brotli` and `gzip` of salver-tower: siblings are found |
//! | a layer that set `Cache-Control` on all that came from `/assets` | nothing: names with a fingerprint are `immutable`, all else is asked for again |

mod common;

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{FromRef, Path, State};
use axum::http::StatusCode;
use axum::routing::{get, put};
use axum::{Json, Router};
use salver_tower::Assets;

/// What the handlers share.
#[derive(Clone)]
struct Shared {
    items: Items,
    assets: Assets,
}

impl FromRef<Shared> for Items {
    fn from_ref(shared: &Shared) -> Self {
        shared.items.clone()
    }
}

impl FromRef<Shared> for Assets {
    fn from_ref(shared: &Shared) -> Self {
        shared.assets.clone()
    }
}

#[derive(Clone, Default)]
struct Items(Arc<Mutex<Vec<String>>>);

async fn list(State(Items(items)): State<Items>) -> Json<Vec<String>> {
    let items = items.lock().unwrap_or_else(PoisonError::into_inner);
    Json(items.clone())
}

async fn add(State(Items(items)): State<Items>, Path(item): Path<String>) -> StatusCode {
    let mut items = items.lock().unwrap_or_else(PoisonError::into_inner);
    items.push(item);
    StatusCode::CREATED
}

/// For who watches over it: that a page is there, and how the cache does.
async fn health(State(assets): State<Assets>) -> Result<String, StatusCode> {
    let page = assets.read("index.html").await;
    page.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
    Ok(format!("{} files in memory\n", assets.statistics().entries))
}

fn main() -> ExitCode {
    common::run(|directory| {
        let assets = Assets::builder(directory).spa("index.html").build()?;
        let shared = Shared {
            items: Items::default(),
            assets: assets.clone(),
        };
        let api = Router::new()
            .route("/items", get(list))
            .route("/items/{item}", put(add))
            .fallback(async || (StatusCode::NOT_FOUND, Json("no such call")));
        Ok(Router::new()
            .nest("/api", api)
            .route("/health", get(health))
            .fallback_service(assets)
            .with_state(shared))
    })
}
