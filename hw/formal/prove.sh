#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# prove.sh HEADERS [NAME ...]: proves the library blocks and the bus masters and slave with yosys-smtbmc and z3.
#
# Each NAME_formal.v says in a line "// prove: DEPTH [induction] [words]" how far it is unrolled from reset, whether its properties
# are also inductive, which makes them hold forever, and whether the solver gets words instead of gates. What its `cover` statements
# say must come up within 20 cycles: a proof whose assumptions leave nothing proves nothing.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
headers=$1
shift
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$PWD
cd "$work" # names without a blank, wherever the sources are
export TMPDIR=. # for Yosys' ABC, too
ln -s "$root/rtl" rtl
ln -s "$root/include" include
ln -s "$root/formal" formal
ln -s "$headers" headers
[ $# -gt 0 ] || set -- formal/*_formal.v

parts='rtl/compute/vta_order.v rtl/compute/vta_span.v rtl/compute/vta_range.v rtl/compute/vta_enter.v'
parts="$parts rtl/compute/vta_guard.v rtl/compute/vta_load_guard.v rtl/compute/vta_marks.v"
status=0
for name in "$@"; do
    name=$(basename "$name" _formal.v)
    plan=$(sed -n 's,^// prove: ,,p' "formal/${name}_formal.v")
    depth=${plan%% *}
    # Induction refers to registers inside, whose names a netlist keeps when it is flattened late; `prep` simplifies more.
    case $plan in
    *induction*) flat="hierarchy -check -top ${name}_formal; setattr -mod -unset keep_hierarchy; proc; memory_map; flatten" ;;
    *) flat="hierarchy -check -top ${name}_formal; setattr -mod -unset keep_hierarchy; prep -flatten -top ${name}_formal; memory_map" ;;
    esac
    # Gates suit z3 better than words, but where sums are compared with sums.
    gates="techmap; dffunmap; simplemap; abc -g AND,XOR,MUX; dffunmap; opt_clean;"
    case $plan in
    *words*) gates="dffunmap; opt -fast; dffunmap; opt_clean;" ;;
    esac
    yosys -q -p "read_verilog -formal -Iheaders -Iinclude rtl/lib/*.v rtl/mem/*.v $parts formal/${name}_formal.v;
        $flat; async2sync; opt -full; $gates
        write_smt2 -wires $name.smt2" > log 2>&1 ||
        { cat log; echo "$name: yosys fails"; exit 1; }
    if yosys-smtbmc -s z3 -t "$depth" --presat "$name.smt2" > log 2>&1; then
        echo "$name: holds for $depth cycles from reset"
    else
        tail -n 30 log
        echo "$name: FAILS within $depth cycles from reset"
        status=1
        continue
    fi
    if ! grep -q 'yosys-smt2-cover' "$name.smt2"; then
        echo "$name: has no cover statement"
        status=1
    elif yosys-smtbmc -s z3 -c -t 20 "$name.smt2" > log 2>&1; then
        echo "$name: $(grep -c 'Reached cover' log) situations come up"
    else
        grep -i 'unreached' log || tail -n 5 log
        echo "$name: FAILS to bring up what it covers"
        status=1
    fi
    case $plan in
    *induction*)
        if yosys-smtbmc -s z3 -i -t "$depth" "$name.smt2" > log 2>&1; then
            echo "$name: holds forever, by induction"
        else
            tail -n 30 log
            echo "$name: FAILS by induction"
            status=1
        fi ;;
    esac
done
exit $status
