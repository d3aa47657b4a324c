//! `cargo run -p with-tonic -- DIR [PORT]`: a service of gRPC, a route of axum and the files of DIR, at one port.

use std::io;

use axum::Router;
use axum::routing::get;
use salver_tower::Assets;
use tonic::service::Routes;

fn app(assets: Assets) -> Router {
    let (_, health) = tonic_health::server::health_reporter();
    Routes::new(health)
        .into_axum_router()
        .route("/api/health", get(async || "well\n"))
        .fallback_service(assets)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let (directory, port) = common::arguments()?;
    let assets = Assets::new(directory).map_err(io::Error::other)?;
    let (listener, end) = common::listen(port).await?;
    axum::serve(listener, app(assets))
        .with_graceful_shutdown(end)
        .await
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use salver_tower::MemorySource;
    use tonic::Code;
    use tonic_health::pb::HealthCheckRequest;
    use tonic_health::pb::health_client::HealthClient;

    use super::*;

    #[tokio::test]
    async fn grpc_is_answered_beside_the_files() {
        let assets = Assets::from_source(Arc::new(MemorySource::new()))
            .build()
            .unwrap();
        let mut client = HealthClient::new(app(assets));
        let of = |service: &str| HealthCheckRequest {
            service: service.to_owned(),
        };
        let answer = client.check(of("")).await.unwrap();
        assert_eq!(answer.into_inner().status, 1, "it serves");
        let unknown = client.check(of("none")).await.unwrap_err();
        assert_eq!(unknown.code(), Code::NotFound);
    }
}
