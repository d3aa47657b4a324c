//! The program `salver`. Everything it does is in the library beside it.
#![forbid(unsafe_code)]

use std::process::ExitCode;

/// Small blocks, many threads: what this allocator is made for.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    salver::main(std::env::args_os())
}
