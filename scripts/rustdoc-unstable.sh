#!/bin/sh
# A stable rustdoc that takes unstable options, for rustdoc_json.py.
RUSTC_BOOTSTRAP=1 exec rustdoc "$@"
