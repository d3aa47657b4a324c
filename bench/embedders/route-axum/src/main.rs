//! A route of JSON by axum's own `serve`.

fn main() -> std::io::Result<()> {
    common::serve(common::asked()?.port, common::router())
}
