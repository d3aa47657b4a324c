//! Names the folder that is embedded.

fn main() {
    println!("cargo::rerun-if-env-changed=BENCH_FILES");
    if std::env::var_os("BENCH_FILES").is_none() {
        println!(
            "cargo::error=BENCH_FILES does not name the folder to embed: `bench/run.py deps` does"
        );
    }
}
