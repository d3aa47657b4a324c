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

status=0
for target in "$@"; do
    mkdir -p "corpus/$target" "artifacts/$target"
    printf '%s: %s s ... ' "$target" "$seconds"
    log=artifacts/$target/log
    if "$built/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
        -artifact_prefix="artifacts/$target/" -print_final_stats=1 \
        "corpus/$target" "seeds/$target" >"$log" 2>&1; then
        sed -n 's/^stat::number_of_executed_units: *\(.*\)/\1 inputs, nothing broken/p' "$log"
    else
        echo 'BROKEN'
        tail -n 40 "$log"
        status=1
    fi
done
exit $status
