//! Puts the folder that `BENCH_FILES` names into the program.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed=BENCH_FILES");
    let folder = std::env::var("BENCH_FILES")
        .map_err(|_| "BENCH_FILES does not name the folder to embed: `bench/run.py deps` does")?;
    salver_embed::Tree::new(folder).name("files").build()?;
    Ok(())
}
