#!/usr/bin/env bash
# readme.sh PROGRAM: every command of README.md that runs the program succeeds, and its C++ blocks
# are the ones that tests/nn/readme_test.cpp compiles.
set -euo pipefail
program=$(realpath "$1")
root=$(realpath "$(dirname "$0")/../..")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

mkdir -p "$folder/build/release"
ln -s "$program" "$folder/build/release/gradlab"
count=0
while IFS= read -r line; do
  count=$((count + 1))
  (cd "$folder" && bash -c "$line" >out.txt 2>err.txt </dev/null) || {
    echo "README: failed: $line"
    cat "$folder/err.txt"
    failures=1
  }
done < <(sed -nE 's/^(\$ )?(build\/release\/gradlab .*)$/\2/p' "$root/README.md")
[ "$count" -ge 5 ] || { echo "README: found only $count commands"; failures=1; }

while IFS= read -r line; do
  grep -qxF -- "$line" "$root/tests/nn/readme_test.cpp" || {
    echo "README: no test compiles the line: $line"
    failures=1
  }
done < <(awk '/^```cpp/ {on = 1; next} /^```/ {on = 0} on' "$root/README.md")
exit $failures
