#!/bin/sh
# Installs the program mlsysim for the current user: one file, without root and without other packages.
#
# usage: install.sh [--from DIR|URL] [--to DIR]
#   --from   folder or URL of a release (default: $MLSYSIM_RELEASE_URL, else the folder of this script)
#   --to     folder that receives the program (default: ~/.local/bin)
#
# The archive must match its line in SHA256SUMS. Needs tar, xz or gzip, sha256sum, and curl or wget for a URL;
# busybox has all of them.
set -eu

fail() {
  echo "install.sh: $*" >&2
  exit 1
}

from=${MLSYSIM_RELEASE_URL:-} to=
while [ $# -gt 0 ]; do
  case $1 in
    --from | --to)
      [ $# -ge 2 ] || fail "$1 needs a value"
      if [ "$1" = --from ]; then from=$2; else to=$2; fi
      shift 2
      ;;
    -h | --help)
      sed -n '2,/^set /s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    *) fail "expected --from or --to, found '$1'" ;;
  esac
done
if [ -z "$from" ]; then
  from=$(dirname "$0")
  [ -f "$from/SHA256SUMS" ] || fail "no release beside this script; name one with --from DIR or --from URL"
fi
if [ -z "$to" ]; then
  [ -n "${HOME:-}" ] || fail "HOME is not set; name a folder with --to"
  to=$HOME/.local/bin
fi

system=$(uname -s) machine=$(uname -m)
case $system-$machine in
  Linux-x86_64 | Linux-amd64) ;;
  *) fail "releases have a program for Linux on x86_64, this is $system on $machine; build from source there" ;;
esac

# Everything is made beside its place, so that the program appears whole or not at all.
mkdir -p "$to" || fail "cannot make $to; choose another folder with --to"
work=$to/.mlsysim-install.$$
mkdir "$work" || fail "cannot write to $to; choose another folder with --to"
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# fetch NAME: one file of the release into $work
fetch() {
  case $from in
    http://* | https://*)
      if command -v curl >/dev/null 2>&1; then
        curl -fsSL -o "$work/$1" "${from%/}/$1"
      elif command -v wget >/dev/null 2>&1; then
        wget -q -O "$work/$1" "${from%/}/$1"
      else
        fail "neither curl nor wget is here; download the release and use --from DIR"
      fi
      ;;
    *) cp "${from#file://}/$1" "$work/$1" ;;
  esac || fail "cannot read $1 from $from"
}

fetch SHA256SUMS
# A bare Debian has no xz.
if xz --help >/dev/null 2>&1; then form=xz unpack='xz -dc'; else form=gz unpack='gzip -dc'; fi
archive=$(sed -n "s/^[0-9a-f]\{64\} [ *]\(mlsysim-[0-9][0-9A-Za-z.+~-]*-linux-x86_64\.tar\.$form\)\$/\1/p" "$work/SHA256SUMS")
case $archive in
  '') fail "SHA256SUMS of $from names no mlsysim-VERSION-linux-x86_64.tar.$form" ;;
  *[!0-9A-Za-z.+~_-]*) fail "SHA256SUMS of $from names several programs" ;;
esac
fetch "$archive"
grep " [ *]$archive\$" "$work/SHA256SUMS" >"$work/sum"
(cd "$work" && sha256sum -c sum) >/dev/null 2>&1 || fail "$archive does not match its checksum; nothing was installed"
mkdir "$work/unpacked"
$unpack "$work/$archive" | tar -xf - -C "$work/unpacked" || fail "$archive cannot be unpacked; nothing was installed"
program=$work/unpacked/${archive%.tar.*}/mlsysim
version=$("$program" --version) || fail "the program does not run on this machine; nothing was installed"
mv -f "$program" "$to/mlsysim" || fail "cannot replace $to/mlsysim"
echo "installed $version: $to/mlsysim"
case ":${PATH:-}:" in
  *":$to:"*) try=mlsysim ;;
  *) try=$to/mlsysim ;;
esac
echo "try: $try eval Llama3_8B H100"
