//! A slow disk: `slow-disk MOUNTPOINT KIND`, mounted until its standard input ends.
#![forbid(unsafe_code)]

#[cfg(target_os = "linux")]
fn main() -> std::io::Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    salver_system_tests::serve(&arguments)
}

#[cfg(not(target_os = "linux"))]
fn main() {}
