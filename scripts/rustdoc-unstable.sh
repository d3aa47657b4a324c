#!/bin/sh
# A stable rustdoc that takes unstable options, for public_types.py.
RUSTC_BOOTSTRAP=1 exec rustdoc "$@"
