#!/usr/bin/env bash
# Deploys the site that was tried, if the input deploy says where to: PROGRAM is the salver, the token is in SALVER_ADMIN_TOKEN.
set -euo pipefail
[ -n "$DEPLOY_TO" ] || exit 0
wrong() { echo "::error::salver: $*"; exit 1; }
[ -n "$SITE_PATH" ] || wrong "deploy needs path, the directory of the built site"
[ -n "$SALVER_ADMIN_TOKEN" ] || wrong "deploy needs token, a secret of the repository"
"$PROGRAM" deploy "$SITE_PATH" --to "$DEPLOY_TO" || wrong "the release was not deployed: see above"
