#!/usr/bin/env bash
# Takes a program and its debug information apart.
#   scripts/split.sh PROGRAM FOLDER
# FOLDER gets the program without symbols, and PROGRAM.debug. Where both lie in one folder, or PROGRAM.debug in the
# folder .debug beside the program, backtraces, gdb, perf and valgrind name functions and lines.
set -euo pipefail
program=$1 folder=$2
name=${program##*/}
mkdir -p "$folder"
objcopy --only-keep-debug "$program" "$folder/$name.debug"
objcopy --strip-all --remove-section=.gnu_debuglink --add-gnu-debuglink="$folder/$name.debug" "$program" "$folder/$name"
ls -l "$folder/$name" "$folder/$name.debug"
