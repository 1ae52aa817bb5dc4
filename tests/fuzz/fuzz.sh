#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fuzz.sh SECONDS [TARGET], or fuzz.sh TARGET|all SECONDS
#
# Builds the libFuzzer programs into build/fuzz (clang, address and undefined-behaviour sanitizers) and runs each in turn, or
# TARGET alone, for SECONDS. Inputs that reach new code are kept in build/fuzz/corpus; a finding ends the run with status 1
# and lies in build/fuzz/findings. To repeat one:  build/fuzz/bin/test_fuzz_TARGET FILE
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country

root=$(cd "$(dirname "$0")/../.." && pwd)
build=${VTA_FUZZ_BUILD:-$root/build/fuzz}
all=$(sed -n 's/^vta_fuzz(\([a-z0-9]*\) .*/\1/p' "$root/tests/fuzz/CMakeLists.txt" | tr '\n' ' ')

usage() {
    echo "usage: fuzz.sh SECONDS [TARGET] | TARGET|all SECONDS   targets: $all" >&2
    exit 2
}

if [ $# -lt 1 ] || [ $# -gt 2 ]; then
    usage
fi
case $1 in
*[!0-9]*) [ $# = 2 ] || usage; targets=$1 seconds=$2 ;;
*) seconds=$1 targets=${2:-all} ;;
esac
[ "$targets" != all ] || targets=$all
case $seconds in '' | *[!0-9]*) usage ;; esac
case " $all " in *" $targets "*) ;; *) usage ;; esac

flags='-O1 -g -Wno-pass-failed -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all'
mkdir -p "$build"
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_C_FLAGS_DEBUG="$flags" -DVTA_FUZZ=ON >"$build/configure.log" || { cat "$build/configure.log" >&2; exit 1; }
for target in $targets; do
    ninja -C "$build" "fuzz_$target" "test_fuzz_$target" >"$build/build.log" || { cat "$build/build.log" >&2; exit 1; }
done

# Memory that somebody only claims to need is granted as far as the machine has it, and costs nothing by itself; the
# sanitizer's books of it would. So it is refused here beyond what a fuzzer's process may take.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}allocator_may_return_null=1:max_allocation_size_mb=1024"
status=0
for target in $targets; do
    seeds=$root/tests/fuzz/corpus/$target
    [ -d "$seeds" ] || seeds=$build/tests/fuzz/seeds/$target
    [ -d "$seeds" ] || seeds=$root/tests/fuzz/corpus/assembler
    found=$root/tests/fuzz/found/$target
    [ -d "$found" ] || found=
    mkdir -p "$build/corpus/$target" "$build/findings"
    log=$build/$target.log
    if "$build/bin/fuzz_$target" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 -max_len=8192 \
        -print_final_stats=1 -artifact_prefix="$build/findings/$target-" "$build/corpus/$target" "$seeds" ${found:+"$found"} \
        >"$log" 2>&1; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
        echo "fuzz $target: $runs runs in $seconds s, no finding"
    else
        status=1
        echo "fuzz $target: a finding" >&2
        grep -E 'ERROR|SUMMARY|broken promise|runtime error|Test unit written|ALARM' "$log" | head -8 >&2 || tail -5 "$log" >&2
    fi
done
exit $status
