#!/usr/bin/env bash
# The reading path of README.md: its files exist, have about as many lines as it says, and are an
# evening's reading together, at most 2,500 lines. Prints what is wrong, and then fails.
set -euo pipefail
cd "$(dirname "$0")/../.."

total=0 rows=0 failed=0
while IFS='|' read -r _ files said _; do
  count=0
  for file in $(grep -oE 'autograd/[a-z_/.]+' <<<"$files"); do
    [ -f "$file" ] || { echo "no file $file"; failed=1; continue; }
    count=$((count + $(wc -l <"$file")))
  done
  total=$((total + count)) rows=$((rows + 1))
  away=$((count > said ? count - said : said - count))
  [ $((10 * away)) -le "$count" ] || { echo "$files: $count lines, not$said"; failed=1; }
done < <(sed -n '/^## How to read/,/^## /p' README.md | grep '^| `autograd/')
[ "$rows" -ge 5 ] || { echo "found only $rows rows of the reading path"; failed=1; }
[ "$total" -le 2500 ] || { echo "the reading path has $total lines, more than 2500"; failed=1; }
exit "$failed"
