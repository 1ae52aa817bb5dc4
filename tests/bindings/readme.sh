#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The programs of the bindings' README, word for word, in the folder where it stands with them: each names the class of pictures
# that is expected, twice with different ones, and says what is wrong with a model that is not there.
# Arguments: README PREFIX PICTURES LANGUAGE…; PICTURES holds shapes.so, shapes.wasm, and NAME.rgb with NAME.class for each picture.
set -eu
readme=$1 prefix=$2 pictures=$3
shift 3
fail() { echo "readme: $*"; exit 1; }

# block FENCE FILE: the one program in that language.
block() {
    awk -v fence="\`\`\`$1" '$0 == fence { on = 1; next } /^```$/ { if (on) exit } on' "$readme" >"$2"
    [ "$(wc -l <"$2")" -ge 10 ] || fail "no program for $1"
}

run_cpp() { ./classify "$@"; }
build_cpp() {
    block cpp classify.cc
    for standard in 17 20; do
        # shellcheck disable=SC2046  # flags are meant to be split
        eval "g++ -std=c++$standard -Wall -Wextra -Werror classify.cc $(pkg-config --cflags --libs vta) -o classify"
    done
}
run_python() { "${PYTHON:-/usr/bin/python3}" classify.py "$@"; }
build_python() { block python classify.py; }
run_go() { ./classify_go "$@"; }
build_go() {
    mkdir go
    block go go/main.go
    printf 'module classify\n\ngo 1.19\n\nrequire vtac.invalid/vta v1.0.0\n\nreplace vtac.invalid/vta => "%s"\n' \
        "$prefix/share/gocode/src/vtac.invalid/vta" >go/go.mod
    (cd go && GOFLAGS=-mod=mod GOPROXY=off GOSUMDB=off go build -o ../classify_go .)
}
run_java() { java ${JNI:+"-Djava.library.path=$JNI"} -cp "$prefix/share/java/vta.jar" Classify.java "$@"; }
build_java() { block java Classify.java; }
run_js() {
    model=$1
    shift
    node classify.mjs "${model%.so}.wasm" "$@"
}
build_js() {
    block js classify.mjs
    cp "$prefix/share/vtac/web/vta.mjs" .
}

for language in "$@"; do
    "build_$language"
    shown=0
    for picture in "$pictures"/*.rgb; do
        said=$("run_$language" "$pictures/shapes.so" "$picture") || fail "$language: exit status $?"
        case $said in "class $(cat "${picture%.rgb}.class"), score "*) ;; *) fail "$language: $picture: $said" ;; esac
        scores=$(basename "$picture" .rgb).scores # the same number in each language, since bytes become floats without rounding
        printf '%s\n' "$said" | head -n 1 >>"$scores"
        [ "$(sort -u "$scores" | wc -l)" = 1 ] || fail "$language: $picture: another score than the language before: $(paste -sd';' "$scores")"
        shown=$((shown + 1))
    done
    [ "$shown" -ge 2 ] || fail "$shown pictures"
    if "run_$language" "$pictures/none.so" "$picture" >out 2>err; then fail "$language: a missing model runs"; fi
    grep -q 'none\.' err || { cat err; fail "$language: a missing model is not named"; }
    echo "readme: $language: $shown pictures"
done
