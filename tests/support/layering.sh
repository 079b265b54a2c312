#!/usr/bin/env bash
# The order of the layers as a test. Prints every line that breaks it, and then fails.
#   layering.sh [ROOT]
# Lists of files are split on purpose: our names have no spaces.
# shellcheck disable=SC2046,SC2086
set -euo pipefail
cd "${1:-$(dirname "$0")/../..}"

broken=0
check() { # check RULE OFFENDING_LINES
  [ -n "$2" ] || return 0
  printf '%s:\n%s\n\n' "$1" "$2"
  broken=1
}

sources() { find "$@" \( -name '*.h' -o -name '*.cpp' \) | sort; }
matches() { # matches PATTERN FILE...: the lines with PATTERN
  [ $# -gt 1 ] || return 0
  grep -HnE "$1" "${@:2}" || true
}

# may_include ALLOWED FILE...: includes of our own headers match ALLOWED.
may_include() {
  local allowed=$1
  shift
  check "may include, of our own headers, only $allowed" \
    "$(matches '^\s*#\s*include\s*["<](autograd|nn|experiments|tests)/|^\s*#\s*include\s*"' "$@" |
      grep -vE "\"($allowed)\"" || true)"
}

# Later lines see all that earlier ones do. Headers only where a source file needs more.
facts='autograd/(errors|scope)\.h'
array="$facts|autograd/(array|machine)/.*"
graph="$array|autograd/graph/.*"
ops="$graph|autograd/(tensor|operators|ops)\.h|autograd/ops/.*"
engine='autograd/.*'
layers='autograd/(tensor|ops|derivatives|errors|scope|machine/parallel|array/reduce)\.h|nn/.*'
may_include "$facts" autograd/{errors,scope}.*
may_include "$array" $(sources autograd/array autograd/machine)
may_include "$graph" $(sources autograd/graph)
may_include "$graph" autograd/tensor.h
may_include "$graph|autograd/tensor\.h" autograd/operators.h
may_include "$graph|autograd/(tensor|operators)\.h" autograd/ops.h
may_include "$ops" $(sources autograd/ops)
may_include "$ops|autograd/derivatives\.h" autograd/*.cpp
may_include "$engine" $(sources autograd/gradcheck)
may_include "$layers" nn/*.h nn/*.cpp $(sources nn/io)
may_include "$layers|autograd/gradcheck/.*" $(sources nn/gradcheck)
may_include "$engine|nn/.*|experiments/.*" $(sources experiments)

all=$(sources autograd nn experiments tests)
outside() { grep -vE "$1" <<<"$all"; } # the sources that do not match
check 'only autograd/machine/parallel.cpp knows OpenMP' \
  "$(matches 'omp\.h|pragma\s+omp|_Pragma\("omp|\bomp_\w+\(|\b_OPENMP\b' \
    $(outside '^autograd/machine/parallel\.cpp$'))"
check 'Eigen stays inside source files, of autograd and of measure' \
  "$(matches 'include\s*[<"](unsupported/)?Eigen/' $(outside '^(autograd|experiments/measure)/.*\.cpp$'))"
check 'CLI11 and nlohmann_json stay out of headers, and in nn inside one source' \
  "$(matches 'include\s*[<"]CLI/' $(outside '^(experiments|tests)/.*\.cpp$'))$(
    matches 'include\s*[<"]nlohmann/' \
      $(outside '^experiments/.*\.cpp$|^tests/|^nn/io/safetensors_header\.cpp$'))"

exit "$broken"
