#!/usr/bin/env bash
# The playground's tests, after `./bootstrap.sh page` and `./bootstrap.sh run`: its numbers against the terminal's,
# and the page in a browser without a window. What is not installed or built is skipped, with the reason.
set -euo pipefail
cd "$(dirname "$0")/web"
if [ ! -d node_modules ]; then
  echo "skipped: the page is not built; ./bootstrap.sh page"
  exit 0
fi
exec node --test --test-reporter=spec test/*.test.mjs
