#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bindings.sh LANGUAGE BUILD CC CXX [DEVICE…]: one example in each language, from an installed prefix, on each device: load,
# describe, set, run, get, profile; memory of the program's, started runs, exceptions, threads, a fork. The simulator here
# and an agent behind a pipe, unless told.
set -eu
language=$1
here=$(cd "$(dirname "$0")" && pwd)
cxx=$4
shift
set -- "$@"
build=$1
sources=$here
[ $# -gt 3 ] && devices_given=1 || devices_given=
# shellcheck source=tests/install/lib.sh
. "$here/../install/lib.sh"
if [ -n "$devices_given" ]; then
    shift 3
else
    set -- fsim "pipe:'$prefix/bin/vtac-agent' --stdio?device=fsim"
fi
talker="python3 '$sources/talker.py'"
cd "$work"
"$prefix/bin/vtac" zoo tiny_ic --int8 -o ic.onnx >/dev/null
"$prefix/bin/vtac" compile ic.onnx --target vta -o ic.so >/dev/null
export LD_LIBRARY_PATH="$libdir" PYTHONDONTWRITEBYTECODE=1
case " ${CFLAGS:-} " in *-fsanitize*) sanitized=$($cc -print-file-name=libasan.so) ;; *) sanitized= ;; esac

# build_LANGUAGE once, run_LANGUAGE for each device.
build_cpp() {
    for standard in 17 20; do
        # shellcheck disable=SC2046,SC2086  # flags are meant to be split
        $cxx -std=c++$standard -pedantic-errors -Wall -Wextra -Werror ${CFLAGS:-} -o "example$standard" "$sources/example.cc" \
            $(pkg-config --cflags --libs vta) -lpthread
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

"build_$language"
for device in "$@"; do
    "run_$language" "$device" ic.so "$talker"
done
