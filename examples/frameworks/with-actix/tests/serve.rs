//! The program as people run it, over a socket.

#[test]
fn files_and_routes() {
    common::check(env!("CARGO_BIN_EXE_with-actix"));
}
