//! The requests of the page, over HTTP.
//!
//! | request | answer |
//! | --- | --- |
//! | `GET /` | the page, to all on this machine: it asks for the rest with its token |
//! | `GET /open` | leads to the page, once |
//! | `GET /api/events` | each `Status`, as server-sent events |
//! | `POST /api/run` | starts a run; 400 if it cannot be meant, 409 if one is under way |
//! | `POST /api/stop` | stops the run; 409 if there is none |
//! | `GET /api/result` | the last run of this process that measured something, as `Saved` |
//! | `GET /api/runs` | the `Listing` |
//! | `GET /api/runs/{id}` | one run, as `Saved` |
//! | `GET /api/runs/{id}/page` | that run as a page in one file |

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::JsonRejection;
use axum::extract::{DefaultBodyLimit, Path, State as Shared};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY};
use axum::http::{HeaderName, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use futures_util::{Stream, stream};
use serde_json::json;

use super::guard::guard;
use super::job::Wanted;
use super::page;
use super::saved::{RunId, Saved};
use super::secret::Secret;
use super::state::State;

const LONGEST_FORM: usize = 16 << 10;

/// The least time between two events: faster than a person reads, slow enough to cost nothing.
const EVENT_EVERY: Duration = Duration::from_millis(200);

/// Everything behind the guard.
pub(super) fn router(state: Arc<State>) -> Router {
    Router::new()
        .route("/", get(show))
        .route("/open", get(open))
        .route("/api/events", get(events))
        .route("/api/run", post(run))
        .route("/api/stop", post(stop))
        .route("/api/result", get(result))
        .route("/api/runs", get(list))
        .route("/api/runs/{id}", get(one))
        .route("/api/runs/{id}/page", get(export))
        .fallback(async || problem(StatusCode::NOT_FOUND, "There is nothing here."))
        .layer(DefaultBodyLimit::max(LONGEST_FORM))
        .layer(middleware::from_fn_with_state(Arc::clone(&state), guard))
        .with_state(state)
}

/// An answer that says what is wrong, for the page to show.
fn problem(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({ "message": message }))).into_response()
}

fn defect(error: impl std::fmt::Display) -> Response {
    problem(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string())
}

async fn show(Shared(state): Shared<Arc<State>>) -> Response {
    match Secret::random() {
        Ok(nonce) => {
            let fields = [(CONTENT_SECURITY_POLICY, page::policy(&nonce))];
            (fields, Html(page::live(&nonce, &state.program))).into_response()
        }
        Err(error) => defect(error),
    }
}

async fn open(Shared(state): Shared<Arc<State>>) -> Redirect {
    Redirect::to(&format!("/?token={}", state.token))
}

async fn events(
    Shared(state): Shared<Arc<State>>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    // The first is told at once.
    let mut watch = state.watch();
    watch.mark_changed();
    let events = stream::unfold((watch, Duration::ZERO), async |(mut watch, pause)| {
        tokio::time::sleep(pause).await;
        watch.changed().await.ok()?;
        let status = watch.borrow_and_update().clone();
        let event = Event::default().json_data(status).ok()?;
        Some((Ok(event), (watch, EVENT_EVERY)))
    });
    Sse::new(events).keep_alive(KeepAlive::default())
}

async fn run(
    Shared(state): Shared<Arc<State>>,
    wanted: Result<Json<Wanted>, JsonRejection>,
) -> Response {
    let wanted = match wanted {
        Ok(Json(wanted)) => wanted,
        Err(rejection) => return problem(rejection.status(), &rejection.body_text()),
    };
    let job = match wanted.check() {
        Ok(job) => job,
        Err(errors) => {
            let message = "Nothing was started: see the fields.";
            let body = json!({ "message": message, "fields": errors });
            return (StatusCode::BAD_REQUEST, Json(body)).into_response();
        }
    };
    match state.start(job) {
        Some(run) => (StatusCode::ACCEPTED, Json(json!({ "run": run }))).into_response(),
        None => problem(
            StatusCode::CONFLICT,
            "A run is under way, and two at once would measure each other: wait for its end, or \
             stop it.",
        ),
    }
}

async fn stop(Shared(state): Shared<Arc<State>>) -> Response {
    match state.stop() {
        true => StatusCode::ACCEPTED.into_response(),
        false => problem(StatusCode::CONFLICT, "There is no run to stop."),
    }
}

async fn result(Shared(state): Shared<Arc<State>>) -> Response {
    match state.last() {
        Some(saved) => Json(&*saved).into_response(),
        None => problem(StatusCode::NOT_FOUND, "Nothing has been measured yet."),
    }
}

async fn list(Shared(state): Shared<Arc<State>>) -> Response {
    let listed = tokio::task::spawn_blocking(move || state.runs.list()).await;
    match listed {
        Ok(Ok(listing)) => Json(listing).into_response(),
        Ok(Err(error)) => defect(error),
        Err(error) => defect(error),
    }
}

async fn one(Shared(state): Shared<Arc<State>>, Path(id): Path<String>) -> Response {
    match load(state, &id).await {
        Ok((_, saved)) => Json(saved).into_response(),
        Err(response) => response,
    }
}

async fn export(Shared(state): Shared<Arc<State>>, Path(id): Path<String>) -> Response {
    let (id, saved) = match load(Arc::clone(&state), &id).await {
        Ok(found) => found,
        Err(response) => return response,
    };
    let nonce = match Secret::random() {
        Ok(nonce) => nonce,
        Err(error) => return defect(error),
    };
    let name = format!("attachment; filename=\"salver-{}.html\"", id.as_str());
    let fields: [(HeaderName, String); 2] = [
        (CONTENT_DISPOSITION, name),
        (CONTENT_SECURITY_POLICY, page::policy(&nonce)),
    ];
    let page = page::exported(&nonce, &state.program, &id, &saved);
    (fields, Html(page)).into_response()
}

/// Reads a run off the loop.
async fn load(state: Arc<State>, id: &str) -> Result<(RunId, Saved), Response> {
    let missing = |message: &str| problem(StatusCode::NOT_FOUND, message);
    let id = RunId::parse(id).ok_or_else(|| missing("This is not the name of a run."))?;
    let loaded = tokio::task::spawn_blocking(move || state.runs.load(&id).map(|saved| (id, saved)));
    match loaded.await {
        Ok(loaded) => loaded.map_err(|reason| missing(&reason)),
        Err(error) => Err(defect(error)),
    }
}
