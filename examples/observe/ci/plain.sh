#!/bin/sh
# Graph breaks and predictions of one commit, for a CI that has nothing but a shell. Everything lies in the folder OUT (observed) at the end;
# where a gateway is named, its groups of this job are replaced, and one that does not answer fails nothing.
#
# usage: plain.sh RECORDS MATRIX [GATEWAY]
set -eu
records=$1 matrix=$2 gateway=${3:-} out=${OUT:-observed}
commit=${GIT_COMMIT:-$(git rev-parse HEAD 2>/dev/null || echo unknown)}
mkdir -p "$out"
set -- ${gateway:+--push "$gateway" --push-best-effort}

mlsysim graph-breaks ingest "$records" --commit "$commit" --by place -o markdown > "$out/breaks.md"
mlsysim graph-breaks export "$records" --commit "$commit" --form logfmt > "$out/breaks.log"
mlsysim graph-breaks export "$records" --commit "$commit" --alias-compile-breaks --job graph-breaks "$@" > "$out/compile.prom"

# The last word: 0 fine, 1 worse than accepted or over budget; the other codes are in docs/how-to/gate-in-ci.md.
mlsysim ci run "$matrix" --commit "$commit" --job predictions "$@" --history "$out/predictions.sqlite" --report "junit=$out/predictions.xml" \
  --report "markdown=$out/predictions.md" --report "html=$out/predictions.html"
