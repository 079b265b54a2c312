#!/usr/bin/env bash
# install.sh BUILD PREFIX: installs BUILD into an emptied PREFIX, where the program runs and its pages are.
set -euo pipefail
build=$1 prefix=$2
rm -rf "$prefix"
cmake --install "$build" --prefix "$prefix" >/dev/null

expect() { # expect FILE TEXT
  grep -qF -- "$2" "$prefix/$1" && return
  echo "expected $1 with $2" >&2
  exit 1
}
"$prefix/bin/gradlab" --version | grep -q '^gradlab '
expect share/man/man1/gradlab.1 '.TH GRADLAB 1'
expect share/bash-completion/completions/gradlab.bash '_gradlab()'
expect share/zsh/site-functions/_gradlab '#compdef gradlab'
expect share/fish/vendor_completions.d/gradlab.fish 'complete -c gradlab'
expect include/gradlab/autograd/tensor.h '#pragma once'
expect include/gradlab/nn/linear.h '#pragma once'
