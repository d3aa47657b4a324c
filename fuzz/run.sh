#!/bin/sh
# fuzz/run.sh SECONDS [TARGET...]
#
# Builds the fuzz targets with stable Rust and a C++ compiler, and runs each for SECONDS from the
# inputs in fuzz/seeds/TARGET and those that earlier runs found (fuzz/corpus/TARGET). An input that
# breaks an invariant is left in fuzz/artifacts/TARGET, and the exit status is not zero.
set -eu
cd "$(dirname "$0")"

seconds=${1:?usage: fuzz/run.sh SECONDS [TARGET...]}
shift
if [ $# -eq 0 ]; then
    set -- $(ls fuzz_targets | sed 's/\.rs$//')
fi

# What cargo-fuzz would pass, less the sanitizers, which need a nightly compiler: the code has no
# unsafe to watch. --target keeps the flags away from build scripts.
host=$(rustc -vV | sed -n 's/^host: //p')
RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares"
export RUSTFLAGS
cargo build --release --target "$host"
built=${CARGO_TARGET_DIR:-target}/$host/release

# Each has a thread: as many run at once as there are cores. What was printed stands in artifacts/TARGET/log.
printf '%s\n' "$@" | seconds=$seconds built=$built xargs -P "$(nproc)" -I{} sh -c '
    target={} log=artifacts/{}/log
    mkdir -p "corpus/$target" "artifacts/$target"
    if "$built/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
        -artifact_prefix="artifacts/$target/" -print_final_stats=1 \
        "corpus/$target" "seeds/$target" >"$log" 2>&1; then
        inputs=$(sed -n "s/^stat::number_of_executed_units: *\(.*\)/\1/p" "$log")
        echo "$target: $seconds s ... $inputs inputs, nothing broken"
    else
        echo "$target: $seconds s ... BROKEN"
        tail -n 40 "$log"
        exit 1
    fi'
