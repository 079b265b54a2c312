#!/usr/bin/env bash
# readme.sh PROGRAM: every command of README.md that runs the program succeeds, those in console
# blocks print what stands there, and the C++ blocks are the ones that tests/nn/readme_test.cpp
# compiles. "[...]" stands for any text; numbers and bars may differ, as their last digits depend on
# the instruction set.
set -euo pipefail
export LC_ALL=C.UTF-8
program=$(realpath "$1")
root=$(realpath "$(dirname "$0")/../..")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

mkdir -p "$folder/build/release"
ln -s "$program" "$folder/build/release/gradlab"

fail() {
  echo "README: $1"
  failures=1
}

# One line without numbers, as a pattern if $1 says so.
normalised() {
  tr -s '[:space:]' ' ' |
    sed -E 's/[-+]?[0-9][0-9.,]*(e[-+]?[0-9]+)?/N/g; s/[▁▂▃▄▅▆▇█▉▊▋▌▍▎▏]+/B/g; s/ $//' |
    if [ "$1" = pattern ]; then sed -E 's/[][*?\\]/\\&/g; s/ ?\\\[\.\.\.\\\] ?/*/g'; else cat; fi
}

# run COMMAND: its output is in out.txt.
run() {
  count=$((count + 1))
  local line=${1/#.\/bootstrap.sh run/build/release/gradlab}
  (cd "$folder" && bash -c "$line" >out.txt 2>err.txt </dev/null) && return
  fail "failed: $1"
  cat "$folder/err.txt"
}

count=0 block='' command='' expected=''
check_output() {
  [ -n "$command" ] || return 0
  run "$command"
  local pattern
  pattern=$(normalised pattern <<<"$expected")
  # shellcheck disable=SC2053 # a pattern
  [[ $(normalised text <"$folder/out.txt") == $pattern ]] || {
    fail "printed differently: $command"
    diff <(printf '%s' "$expected") "$folder/out.txt" || true
  }
  command='' expected=''
}
while IFS= read -r line; do
  case $block,$line in
    ,'```'*) block=${line#'```'} block=${block:-text} ;;
    *,'```'*) check_output; block='' ;;
    console,'$ '*) check_output; command=${line#'$ '} ;;
    console,*) expected+=$line$'\n' ;;
    sh,*build/release/gradlab*) run "$line" ;;
  esac
done <"$root/README.md"
[ "$count" -ge 8 ] || fail "found only $count commands"

while IFS= read -r line; do
  grep -qxF -- "$line" "$root"/tests/nn/readme_test.cpp "$root"/tests/consumer/hello.cpp ||
    fail "no test compiles the line: $line"
done < <(awk '/^```cpp/ {on = 1; next} /^```/ {on = 0} on' "$root/README.md")
exit $failures
