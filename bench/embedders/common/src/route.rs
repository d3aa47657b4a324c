//! The application of axum that has one route.

use axum::routing::get;
use axum::{Json, Router};

use crate::json::Greeting;

/// The application: `GET /json`.
pub fn router() -> Router {
    Router::new().route("/json", get(async || Json(Greeting::new())))
}
