#!/usr/bin/env bash
# Whether all sources are formatted as .clang-format says; with --fix, formats them.
set -euo pipefail
cd "$(dirname "$0")/../.."

mode=(--dry-run -Werror)
[ "${1-}" != --fix ] || mode=(-i)
find autograd nn experiments tests benchmarks \( -name '*.h' -o -name '*.cpp' \) -print0 |
  xargs -0 clang-format-14 "${mode[@]}"
