#!/usr/bin/env bash
# From a fresh Debian 12 or Ubuntu 24.04 to a running program: installs what is missing, builds, runs.
set -euo pipefail
exec </dev/null # Nothing here asks a question. Under `run` stdout belongs to the program alone.

usage="usage: ./bootstrap.sh run [OPTION...]   build the program and run: gradlab scaling OPTION...
       ./bootstrap.sh test              build everything and run all tests
       ./bootstrap.sh ci                only install what .ci/run needs besides"

build_packages=(g++ cmake ninja-build libeigen3-dev libfmt-dev libcli11-dev nlohmann-json3-dev
                libgtest-dev libgmock-dev libdnnl-dev)
ci_packages=(clang-14 clang-format-14 libc++-14-dev libc++abi-14-dev)

die() {
  echo "bootstrap.sh: $*" >&2
  exit 2
}

# Debian 12, Ubuntu 24.04, and what came after them.
is_known_system() (
  [ -r /etc/os-release ] || return 1
  . /etc/os-release
  version=${VERSION_ID:-99} # testing and unstable have none
  case "${ID-}" in
    debian) [ "${version%%.*}" -ge 12 ] ;;
    ubuntu) [ "${version%%.*}" -ge 24 ] ;;
    *) return 1 ;;
  esac
)

is_installed() {
  dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed
}

# install_missing PACKAGE...
install_missing() {
  is_known_system ||
    die "this is neither Debian 12 nor Ubuntu 24.04 (or newer). Install CMake 3.25, Ninja, g++ 12" \
        "or clang 14, Eigen 3.4, fmt 9, CLI11 2.1, nlohmann_json 3.11 and GoogleTest 1.12, or newer" \
        "ones (oneDNN makes it faster); then: cmake --workflow --preset run && build/release/gradlab scaling"
  local package missing=() as_root=()
  for package in "$@"; do
    is_installed "$package" || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "only root, or a user with sudo, can install: ${missing[*]}"
    as_root=(sudo)
  fi
  echo "bootstrap.sh: installing ${missing[*]}" >&2
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive
             apt-get -qq -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300)
  "${apt[@]}" update >&2
  "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >&2
}

started_in=$PWD
cd "$(dirname "$0")"
[ "${1-}" = run ] || [ $# -le 1 ] || die "$1 takes no options"$'\n'"$usage"
case "${1-}" in
  run)
    install_missing "${build_packages[@]}"
    cmake --workflow --preset run >&2
    program=$PWD/build/release/gradlab
    cd "$started_in" # where --out FILE belongs
    exec "$program" scaling "${@:2}"
    ;;
  test)
    install_missing "${build_packages[@]}"
    cmake --workflow --preset test
    ;;
  ci)
    install_missing "${build_packages[@]}" "${ci_packages[@]}"
    ;;
  -h | --help)
    echo "$usage"
    ;;
  *)
    die "expected run or test, got ${1:-nothing}"$'\n'"$usage"
    ;;
esac
