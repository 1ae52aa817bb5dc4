#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# coverage.sh BUILD FOLDER [TEST...]: which lines of the RTL, and which bits of its signals, do its benches move? Each bench of the
# suite (rtl_tb_*, rtl_unit_*; TEST: only these), with its parameters, in the form in which it asks for the modules, is translated by
# Verilator with its counters of lines and toggles and runs once; coverage.py adds up what they counted. FOLDER keeps all of it: what
# is unchanged is not made again. Verdicts are Icarus' affair: a bench that does not print PASS here is named and counts nothing.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
export PYTHONDONTWRITEBYTECODE=1
build=$(cd "$1" && pwd)
mkdir -p "$2"
work=$(cd "$2" && pwd)
shift 2
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
headers=$build/vh
seed=$("$root/tests/lib/seed.sh" rtl_coverage)

# The RTL under the names that a report shows; a bench may use what are words of SystemVerilog, which Verilator's $fatal needs.
words='alias|assert|assume|before|bind|bins|bit|break|byte|chandle|checker|class|const|constraint|context|continue|cover|do|enum|expect|export|extends'
words="$words|extern|final|first_match|foreach|global|iff|implements|import|inside|int|interface|intersect|join_any|join_none|let|local|logic|longint|matches"
words="$words|modport|new|null|package|packed|priority|program|property|protected|pure|rand|randc|ref|restrict|return|sequence|shortint|shortreal|solve"
words="$words|static|string|strong|struct|super|tagged|this|throughout|timeprecision|timeunit|type|typedef|union|unique|var|virtual|void|weak|with|within"
rm -rf "$work/hw" "$work/tests"
cp -R "$root/hw" "$work/hw"
find "$work/hw/tb" -type f -exec sed -i -E "s/\\b($words)\\b/\\1_it/g" {} +
cd "$work"
verilator=$(verilator --getenv VERILATOR_ROOT)
cxx="g++ -std=c++20 -fcoroutines -w -I$verilator/include -I$verilator/include/vltstd -DVM_COVERAGE=1 -DVM_SC=0 -DVM_TRACE=0 -DVM_TIMING=1"
mkdir -p runtime data
for source in verilated verilated_cov verilated_timing verilated_threads; do
    [ -f "runtime/$source.o" ] || $cxx -O1 -c "$verilator/include/$source.cpp" -o "runtime/$source.o"
done

ctest --test-dir "$build" --show-only=json-v1 | python3 -c '
import json, sys
for test in json.load(sys.stdin)["tests"]:
    if test["name"].startswith(("rtl_tb_", "rtl_unit_")):
        print("\037".join([test["name"]] + test["command"][1:]))' >benches

# translate BENCH DEFINES PARAMETERS: model/bench, unless it is there.
translate() {
    sources=tb/$1.v
    [ ! -f "hw/tb/compute/$1.v" ] || sources=tb/compute/$1.v
    [ -f "hw/tb/compute/$1.v" ] || sources="$sources tb/vta_compute_model.v"
    overrides=
    for parameter in $3; do overrides="$overrides -G$parameter"; done
    rm -rf model && mkdir model
    # shellcheck disable=SC2046,SC2086  # lists
    verilator --cc --timing --coverage-line --coverage-toggle -Wno-fatal -Wno-lint -Wno-style -fno-const-bit-op-tree --x-assign unique \
        --x-initial unique --output-split 0 --default-language 1800-2005 "-I$headers" -Ihw/include -Ihw/tb -Ihw/tb/compute \
        $(find hw/rtl -mindepth 1 -type d | sort | sed 's/.*/-y & -I&/') $2 $overrides --top-module "$1" --prefix Vbench --Mdir model \
        $(for s in $sources tb/vta_axi_mem.v tb/vta_axi_rules.v; do echo "hw/$s"; done) >model/log 2>&1 || { tail -n 5 model/log; return 1; }
    for part in model/*.cpp; do echo "#include \"${part#model/}\""; done >model/all.cc
    echo "#include \"$here/coverage_main.cc\"" >>model/all.cc
    $cxx -O0 -Imodel -c model/all.cc -o model/all.o
    g++ model/all.o runtime/*.o -lpthread -o model/bench
}

# key BENCH DEFINES PARAMETERS PLUSARGS: changes with all that a run depends on.
key() { { echo "$* $seed"; cat "$headers"/*.vh "$here/coverage.sh" "$here/coverage_main.cc"; find hw -type f | sort | xargs cat; } | sha1sum; }

bar=$(printf '\037')
while IFS=$bar read -r name bench _ parameters plusargs; do
    case " $* " in '  ' | *" $name "*) ;; *) continue ;; esac
    plusargs=$(echo "$plusargs" | tr "$bar" ' ')
    case " $plusargs " in
    *" +built "*) defines=-DSYNTHESIS ;;
    *" +one_port "*) defines=-DVTA_ONE_WRITE_PORT ;;
    *) defines= ;;
    esac
    want=$(key "$bench" "$defines" "$parameters" "$plusargs")
    [ "$(cat "data/$name.key" 2>/dev/null)" != "$want" ] || continue
    rm -f "data/$name".*
    translate "$bench" "$defines" "$parameters" || { echo "$name: not translated"; continue; }
    # shellcheck disable=SC2086  # words
    timeout 1200 model/bench "data/$name.dat" "+seed=$seed" $plusargs >"data/$name.log" 2>&1 || :
    grep -q '^PASS$' "data/$name.log" || { echo "$name: no PASS under Verilator ($work/data/$name.log): it counts nothing"; rm -f "data/$name.dat"; continue; }
    echo "$want" >"data/$name.key"
done <benches
python3 "$here/coverage.py" "$root/hw/rtl" "$work/uncovered.txt" 98 data/*.dat
