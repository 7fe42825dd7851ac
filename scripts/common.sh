# Shared by the scripts of this folder: `source` it after `set -euo pipefail`.
# shellcheck shell=bash

# The first comment of a script is its help.
if [[ ${1-} == --help || ${1-} == -h ]]; then
  sed -n '2,/^[^#]/{/^#/{s/^# \{0,1\}//;p}}' "$0"
  exit 0
fi

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# Parallel jobs: all cores unless JOBS says otherwise.
jobs=${JOBS:-$(nproc)}

if [ -t 1 ]; then bold=$'\e[1m' plain=$'\e[0m'; else bold='' plain=''; fi

say() { printf '%s== %s%s\n' "$bold" "$*" "$plain"; }
fail() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# What the kernel and its command line need.
kernel_packages=(g++ cmake ninja-build libfmt-dev libyaml-cpp-dev nlohmann-json3-dev libcli11-dev zlib1g-dev)
packages=(
  "${kernel_packages[@]}" ccache
  libeigen3-dev libmd-dev libcpp-httplib-dev
  libprotobuf-dev protobuf-compiler libminizip-dev libsqlite3-dev librsvg2-2
  catch2 libbenchmark-dev busybox-static
  python3 python3-dev python3-venv python3-numpy python3-pytest python3-yaml pybind11-dev)

# Installs what is missing of the packages given (default: all). Costs a few milliseconds where nothing is missing.
need_packages() {
  local wanted=("$@") missing=() package
  [ ${#wanted[@]} -gt 0 ] || wanted=("${packages[@]}")
  command -v dpkg-query >/dev/null ||
    fail "this system has no dpkg; install the equivalents of: ${wanted[*]}, then use cmake --preset release"
  local installed
  installed=$(dpkg-query -W -f='${db:Status-Abbrev} ${Package}\n' "${wanted[@]}" 2>/dev/null | sed -n 's/^ii *//p') ||
    true
  for package in "${wanted[@]}"; do
    grep -qxF "$package" <<<"$installed" || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  say "installing ${missing[*]}"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null ||
      fail "packages are missing and there is neither root nor sudo; ask an administrator for: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get -qq update
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -qq -o Dpkg::Use-Pty=0 install -y --no-install-recommends "${missing[@]}" >/dev/null
}

# configure <preset>: ninja itself runs CMake again when a file was added, so this is for a fresh build folder and
# for changed presets.
configure() {
  local build=build/$1
  if [ ! -f "$build/build.ninja" ] || [ CMakePresets.json -nt "$build/CMakeCache.txt" ]; then
    say "configuring preset $1"
    cmake --preset "$1" >/dev/null
    touch "$build/CMakeCache.txt"
  fi
}

# build <preset> [<target>...]: progress on a terminal, only warnings and errors elsewhere.
build() {
  local preset=$1
  shift
  local quiet=(-- --quiet)
  if [ -t 1 ]; then quiet=(); fi
  mkdir -p build
  (
    flock 9 # scripts that run side by side build in turn
    configure "$preset"
    cmake --build "build/$preset" -j "$jobs" --target "${@:-all}" "${quiet[@]}"
  ) 9>"build/$preset.lock"
}

# has_target <preset> <target>: is there such a target in this build?
has_target() { ninja -C "build/$1" -t query "$2" >/dev/null 2>&1; }

# build_watched <preset> <target>...: as build; says each minute how far it is where there is no terminal.
build_watched() {
  local preset=$1 total log
  shift
  configure "$preset"
  total=$(ninja -C "build/$preset" -n "$@" | sed -n 's/^\[[0-9]*\/\([0-9]*\)\].*/\1/p' | tail -1)
  if [ -t 1 ] || [ -z "$total" ]; then
    cmake --build "build/$preset" -j "$jobs" --target "$@"
    return
  fi
  log=$(mktemp)
  cmake --build "build/$preset" -j "$jobs" --target "$@" >"$log" 2>&1 &
  local builder=$! minutes=0
  while kill -0 "$builder" 2>/dev/null; do
    sleep 1
    [ $((SECONDS / 60)) -eq "$minutes" ] && continue
    minutes=$((SECONDS / 60))
    say "$(sed -n 's/^\(\[[0-9]*\/[0-9]*\]\).*/\1/p' "$log" | tail -1) steps after $minutes min"
  done
  wait "$builder" || { cat "$log"; rm -f "$log"; return 1; }
  rm -f "$log"
}

# venv <preset>: .venv with the system's numpy and pytest and this build's package, installed anew where it changed.
venv() {
  local site stamp package=build/$1/python
  if [ ! -x .venv/bin/python ]; then
    say "making .venv"
    /usr/bin/python3 -m venv --system-site-packages .venv
  fi
  site=$(echo .venv/lib/python3*/site-packages)
  stamp=.venv/.mlsysim-installed
  if [ ! -f "$stamp" ] || [ "$(cat "$stamp")" != "$1" ] ||
    [ -n "$(find "$package" build/"$1"/share -newer "$stamp" -print -quit)" ]; then
    rm -rf "$site/mlsysim"
    cmake --install "build/$1" --component python --prefix "$site" >/dev/null
    echo "$1" >"$stamp"
  fi
}
