#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bindings.sh LANGUAGE BUILD CC CXX [DEVICE…]: one example in each language, from an installed prefix, on each device: load,
# describe, set, run, get, profile; memory of the program's, started runs, exceptions, threads, a fork. The simulator here
# and an agent behind a pipe, unless told. LANGUAGE 'all': every one of them, on the RTL's simulator, a virtual board, and an
# agent behind a real sshd. 'readme': the programs of the bindings' README, word for word.
set -eu
language=$1
here=$(cd "$(dirname "$0")" && pwd)
cxx=$4
shift
set -- "$@"
build=$1
sources=$here
# shellcheck source=tests/install/lib.sh
. "$here/../install/lib.sh"
[ $# -gt 3 ] || set -- "$@" fsim "pipe:'$prefix/bin/vtac-agent' --stdio?device=fsim"
shift 3
tree=$(cd "$build" && pwd)
go_cache=$tree/go
talker="python3 '$sources/talker.py'"
cd "$work"
"$prefix/bin/vtac" zoo tiny_ic --int8 -o ic.onnx >/dev/null
"$prefix/bin/vtac" compile ic.onnx --target vta -o ic.so >/dev/null
python3 "$sources/open_model.py" open.onnx
"$prefix/bin/vtac" compile open.onnx --dynamic -o open.so >/dev/null # beside the other, where the examples look for it
python3 "$sources/open_model.py" reshaped.onnx reshaped
"$prefix/bin/vtac" compile reshaped.onnx --dynamic -o reshaped.so >/dev/null
export LD_LIBRARY_PATH="$libdir" PYTHONDONTWRITEBYTECODE=1
case " ${CFLAGS:-} " in *-fsanitize*) sanitized=$($cc -print-file-name=libasan.so) ;; *) sanitized= ;; esac

# Go 1.19 takes what pkg-config says apart at blanks, quoted or not: for it, the library lies where there is none.
trap 'rm -rf "$work" ${beside:+"$beside"}' EXIT INT TERM
beside=
find_for_go() {
    case $PKG_CONFIG_PATH in *' '*) ;; *) return 0 ;; esac
    beside=$(mktemp -d /tmp/vtac.XXXXXX)
    ln -s "$prefix" "$beside/prefix"
    PKG_CONFIG_PATH=$beside/prefix${PKG_CONFIG_PATH#"$prefix"}
}

missing() { echo "no $1: 'apt-get install $2'"; exit 77; }

# build_LANGUAGE once, run_LANGUAGE for each device.
build_cpp() {
    for standard in 17 20; do
        eval "$cxx -std=c++$standard -pedantic-errors -Wall -Wextra -Werror ${CFLAGS:-} -o example$standard \"\$sources/example.cc\" \
            $(pkg-config --cflags --libs vta) -lpthread"
    done
}
run_cpp() {
    ./example17 "$@"
    ./example20 "$@"
}

build_python() {
    PYTHONPATH=$(dirname "$(dirname "$(find "$prefix" -name '_vta.abi3.so')")")
    export PYTHONPATH
}
run_python() { # leaks are the interpreter's own
    LD_PRELOAD="$sanitized" ASAN_OPTIONS=detect_leaks=0 "${PYTHON:-/usr/bin/python3}" -X dev "$sources/example.py" "$@"
}

# Nothing is fetched: the module is the installed one. What Go has compiled for one run of the tests serves the next.
build_go() {
    command -v go >/dev/null || missing Go golang-go
    module=$prefix/share/gocode/src/vtac.invalid/vta
    wrong=$(gofmt -l "$module" "$sources/example.go")
    [ -z "$wrong" ] || { echo "gofmt writes it otherwise: $wrong"; exit 1; }
    find_for_go
    mkdir go
    cp "$sources/example.go" go/
    printf 'module example\n\ngo 1.19\n\nrequire vtac.invalid/vta v1.0.0\n\nreplace vtac.invalid/vta => "%s"\n' "$module" >go/go.mod
    export GOFLAGS=-mod=mod GOPROXY=off GOSUMDB=off GOCACHE="$go_cache" GOPATH="$work/gopath"
    (cd go && go vet . && go build ${sanitized:+-asan} -o ../example_go .)
}
run_go() { # checks of what Go and C may hold of one another
    GODEBUG=cgocheck=2 ASAN_OPTIONS=detect_leaks=0 ./example_go "$@"
}

build_java() {
    command -v javac >/dev/null || missing 'Java compiler' openjdk-17-jdk-headless
    javac -Xlint:all -Werror --release 17 -d java -cp "$prefix/share/java/vta.jar" "$sources/Example.java"
}
run_java() { # the machine's own checks of JNI warn, if at all
    LD_PRELOAD="$sanitized" ASAN_OPTIONS=detect_leaks=0:handle_segv=0:allow_user_segv_handler=1 \
        java -Xcheck:jni -Djava.library.path="$prefix/lib/jni" -cp "$prefix/share/java/vta.jar:java" Example "$@" >java.log 2>&1 ||
        { cat java.log; exit 1; }
    cat java.log
    ! grep -q WARNING java.log
}

# A module has the simulator in it: there is no other device for it.
build_js() {
    command -v node >/dev/null || missing Node nodejs
    "$prefix/bin/vtac" compile ic.onnx --target vta --host wasm32 >/dev/null
    if "$prefix/bin/vtac" compile open.onnx --dynamic --host wasm32 2>refused; then echo "open sizes for WebAssembly"; exit 1; fi
    if ! grep -q 'open.onnx: .*give fixed sizes' refused || [ -e open.wasm ]; then
        cat refused
        exit 1
    fi
    node "$sources/example.mjs" "$prefix/share/vtac/web/vta.mjs" ic.wasm write
    for number in 1 2; do "$prefix/bin/vta-run" ic.so --input in$number.bin --output-dir here$number >/dev/null; done
}
run_js() { [ "$1" != fsim ] || node "$sources/example.mjs" "$prefix/share/vtac/web/vta.mjs" "$work/ic.wasm"; }

if [ "$language" = readme ]; then # its programs, from what is installed here
    for tool in go javac node; do command -v $tool >/dev/null || missing $tool "golang-go openjdk-17-jdk-headless nodejs"; done
    build_python
    find_for_go
    export GOCACHE="$go_cache" GOPATH="$work/gopath" JNI="$prefix/lib/jni" LD_PRELOAD="$sanitized" ASAN_OPTIONS=detect_leaks=0
    "$sources/pictures.sh" "$prefix/bin/vtac" "$tree/bin/shapes" "$(dirname "$(dirname "$sources")")" "$work/pictures"
    "$sources/readme.sh" "$(dirname "$(dirname "$sources")")/runtime/bindings/README.md" "$prefix" "$work/pictures" cpp python go java js
    exit
fi

if [ "$language" != all ]; then
    "build_$language"
    for device in "$@"; do
        "run_$language" "$device" ic.so "$talker"
    done
    exit
fi

boards=
clean_up() {
    for pid in $boards; do kill "$pid" 2>/dev/null || true; done
    rm -rf "$work" ${beside:+"$beside"}
}
trap clean_up EXIT INT TERM
"$prefix/bin/vtac" board --dir board --config pynq >board.log 2>&1 &
boards=$!
set -- tsim uio:board
if [ -x "$(command -v sshd || echo /usr/sbin/sshd)" ]; then
    sshd=$(command -v sshd || echo /usr/sbin/sshd)
    # shellcheck source=tests/board/sshd.sh
    . "$here/../board/sshd.sh"
    set -- "$@" "ssh://$user@127.0.0.1:$port/fsim?agent=$prefix/bin/vtac-agent"
else
    echo "no sshd: 'apt-get install openssh-server'; ssh:// is left out"
fi
until grep -q ready board.log; do
    kill -0 "${boards%% *}" || { cat board.log; exit 1; }
    sleep 0.1
done
for language in cpp python go java; do
    "build_$language"
    for device in "$@"; do
        "run_$language" "$device" ic.so "$talker"
    done
done
