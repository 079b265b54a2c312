#!/usr/bin/env bash
# From a fresh Debian 12 or Ubuntu 24.04 to a running program: installs what is missing, builds, runs.
set -euo pipefail
exec </dev/null # Nothing here asks a question. Under `run` stdout belongs to the program alone.

usage="usage: ./bootstrap.sh run [OPTION...]   build the program and run: gradlab scaling OPTION...
       ./bootstrap.sh test              build everything and run all tests
       ./bootstrap.sh page              build the playground, one page that works offline, and print its path
       ./bootstrap.sh ci                only install what .ci/run needs besides"

build_packages=(g++ cmake ninja-build make libeigen3-dev libfmt-dev libcli11-dev nlohmann-json3-dev
                libtomlplusplus-dev libutf8proc-dev libdnnl-dev)
test_packages=(libgtest-dev libgmock-dev)
page_packages=(g++ cmake ninja-build libeigen3-dev libfmt-dev nlohmann-json3-dev emscripten nodejs)
ci_packages=(clang-14 libclang-rt-14-dev clang-format-14 libc++-14-dev libc++abi-14-dev)

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

# show_progress LABEL LOG: until it is stopped, the last "[n/m]" of LOG and the time: on a terminal one line
# that changes, elsewhere a line every 30 s.
show_progress() {
  local begin=$SECONDS pause=30 start='' end='\n'
  if [ -t 2 ]; then pause=1 start='\r\033[K' end=''; fi
  while sleep $pause >/dev/null 2>&1 && kill -0 $$; do # must not hold the pipes of ours open
    # shellcheck disable=SC2059 # those are formats
    printf "$start%s: %s %d s$end" "$1" \
           "$(grep -oE '^\[[0-9]+/[0-9]+\]' "$2" | tail -n 1)" $((SECONDS - begin)) >&2
  done
}

# quietly LABEL COMMAND...: shows the progress of COMMAND and, if it fails, all that it said.
quietly() {
  local label=$1 begin=$SECONDS status=0 log
  shift
  log=$(mktemp)
  show_progress "$label" "$log" &
  # shellcheck disable=SC2064 # this process and this file
  trap "kill $! 2>/dev/null; rm -f '$log'" EXIT
  "$@" >"$log" 2>&1 || status=$?
  kill $!
  wait $! 2>/dev/null || true
  if [ -t 2 ]; then printf '\r\033[K' >&2; fi
  if [ "$status" -ne 0 ]; then
    cat "$log" >&2
    die "$label failed"
  fi
  if [ $((SECONDS - begin)) -ge 3 ]; then echo "$label took $((SECONDS - begin)) s" >&2; fi
  rm -f "$log"
  trap - EXIT
}

# install_missing PACKAGE...
install_missing() {
  local package missing=() as_root=()
  for package in "$@"; do
    is_installed "$package" || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  is_known_system ||
    die "this is neither Debian 12 nor Ubuntu 24.04 (or newer). Install CMake 3.25, Ninja, g++ 12" \
        "or clang 14, Eigen 3.4, fmt 9, CLI11 2.1, nlohmann_json 3.11, toml++ 3.3, utf8proc 2.8 and" \
        "GoogleTest 1.12, or newer ones (oneDNN makes it faster); then:" \
        "cmake --workflow --preset run && build/release/gradlab scaling"
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "only root, or a user with sudo, can install: ${missing[*]}"
    sudo -v # asks for the password, if at all, before anything is silent
    as_root=(sudo)
  fi
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C
             apt-get -q -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300)
  quietly "Reading the list of packages" "${apt[@]}" update
  local size
  size=$("${apt[@]}" install --assume-no --no-install-recommends "${missing[@]}" 2>/dev/null |
    grep -oP '^After this operation, \K.*(?= of additional)') || true
  echo "Installing ${missing[*]}${size:+, which takes $size on disk}" >&2
  quietly "Installing packages" "${apt[@]}" install -y --no-install-recommends "${missing[@]}"
}

# build PRESET SECONDS: configures and builds; SECONDS is what one processor needs at first.
build() {
  local is_first=yes
  [ ! -x build/release/gradlab ] || is_first=no
  quietly "Configuring" cmake --preset "$1"
  [ $is_first = no ] || echo "Compiling: about $(($2 / $(nproc))) s on $(nproc) processors, if they are idle" >&2
  quietly "Compiling" cmake --build --preset "$1"
  [ $is_first = no ] || echo "build/release is $(du -sh build/release | cut -f1)" >&2
}

# build_page: the engine as WebAssembly, and the page around it.
build_page() {
  local is_first=yes
  [ ! -e build/page/playground.html ] || is_first=no
  quietly "Configuring" cmake --preset page
  [ $is_first = no ] || echo "Compiling: about $((120 / $(nproc))) s on $(nproc) processors, if they are idle" >&2
  quietly "Compiling" cmake --build --preset page
}

started_in=$PWD
cd "$(dirname "$0")"
[ "${1-}" = run ] || [ $# -le 1 ] || die "$1 takes no options"$'\n'"$usage"
case "${1-}" in
  run | test | page)
    [ -w . ] || die "cannot write to $PWD, where build/ would be; build elsewhere:" \
                    "cmake -S $PWD -B BUILD -G Ninja && cmake --build BUILD"
    ;;
esac
case "${1-}" in
  run)
    install_missing "${build_packages[@]}"
    build run 160
    program=$PWD/build/release/gradlab
    cd "$started_in" # where --out FILE belongs
    exec "$program" scaling "${@:2}"
    ;;
  test)
    install_missing "${build_packages[@]}" "${test_packages[@]}"
    build release 400
    ctest --preset release
    ;;
  page)
    # npm may have come with another node than Debian's, which has it in a package of its own.
    command -v npm >/dev/null || page_packages+=(npm)
    install_missing "${page_packages[@]}"
    build_page
    echo "$PWD/build/page/playground.html"
    ;;
  ci)
    install_missing "${build_packages[@]}" "${test_packages[@]}" "${ci_packages[@]}"
    ;;
  -h | --help)
    echo "$usage"
    ;;
  *)
    die "expected run, test or page, got ${1:-nothing}"$'\n'"$usage"
    ;;
esac
