//! The program `salver`. Everything it does is in the library beside it.
#![forbid(unsafe_code)]

use std::process::ExitCode;

/// Small blocks, many threads: what this allocator is made for.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Before any thread is there. Measured: 5 MB resident at the start instead of 13.
    #[cfg(target_os = "linux")]
    salver_os::use_small_pages();
    salver::main(std::env::args_os())
}
