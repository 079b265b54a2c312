#!/usr/bin/env bash
# A new op cannot miss its gradcheck: every op of ops.h has a case in gradcheck/*_cases.cpp, named as the op
# or as the op and a form ("matmul", "matmul_1d"), and every file of ops/ and every name given to
# record() there is an op of ops.h. Prints what is missing, and then fails.
#   op_table.sh [ROOT]
set -euo pipefail
cd "${1:-$(dirname "$0")/../..}/autograd"

# What ops.h declares besides ops with a gradient.
no_gradient='zeros ones full arange tensor from_values uniform normal randn
             zeros_like ones_like eye linspace randint randperm multinomial one_hot argsort eq ne lt le gt ge
             logical_not logical_and logical_or logical_xor any all floor_divide remainder argmax
             allclose check_split_parts arange_of'
# Files named after a family rather than an op.
families='creation compare'

failed=0
complain() {
  echo "$*"
  failed=1
}

declared=$(grep -oP '^(Tensor|Sorted|bool|void|std::(vector|array)<[^(]*>) \K[a-z]\w*(?=\()' ops.h |
  grep -v '^operator$' | sort -u)
is_among() { grep -qwF -- "$1" <<<"$2"; }

# The op that a name stands for: the longest one that it begins with.
op_of() {
  local op=$1
  until is_among "$op" "$declared" || [[ $op != *_* ]]; do op=${op%_*}; done
  echo "$op"
}

cases=$(for name in $(grep -ohP '"\K[a-z][a-z0-9_]*(?=")' gradcheck/*_cases.cpp); do op_of "$name"; done)
for op in $declared; do
  is_among "$op" "$no_gradient" || is_among "$op" "$cases" || complain "$op: no gradcheck case"
done
for op in $(basename -as .cpp ops/*.cpp); do
  is_among "$op" "$declared $families" || complain "ops/$op.cpp: not declared in ops.h"
done
for name in $(grep -ohP '\brecord\(\s*"\K[a-z]\w*' ops/*.cpp | sort -u); do
  is_among "$(op_of "$name")" "$declared" || complain "record(\"$name\"): not declared in ops.h"
done
exit "$failed"
