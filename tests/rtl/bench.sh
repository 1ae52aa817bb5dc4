#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bench.sh BENCH HEADERS "PARAMETERS" [PLUSARGS ...]: one run of a bench of hw/tb or hw/tb/compute under Icarus.
# PARAMETERS: NAME=VALUE pairs of the bench. The seed follows from VTAC_SEED unless a plusarg gives one; it is printed. A bench that
# does not print PASS has failed. The plusarg +built: with -DSYNTHESIS, the modules in the form in which they are built; +one_port: as
# they are built where RAM has one write port.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
bench=$1 headers=$2 parameters=$3
shift 3
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root/hw"
case " $* " in
*" +seed="*) ;;
*) set -- "$@" "+seed=$("$root/tests/lib/seed.sh" "$bench $parameters $*")" ;;
esac

define=
case " $* " in
*" +built "*) define=-DSYNTHESIS ;;
*" +one_port "*) define=-DVTA_ONE_WRITE_PORT ;;
esac

overrides=
for parameter in $parameters; do
    overrides="$overrides -P$bench.$parameter"
done
if [ -f "tb/compute/$bench.v" ]; then
    sources="$(find rtl -name '*.v' | sort) tb/compute/$bench.v"
else # the model stands in for the compute unit
    sources="$(find rtl/lib rtl/mem -name '*.v' | sort) tb/vta_compute_model.v tb/$bench.v"
fi
# shellcheck disable=SC2086
iverilog -g2005 -Wall -Wno-timescale $define "-I$headers" -Iinclude -Itb -Itb/compute $overrides -s "$bench" -o "$work/bench" \
    $sources tb/vta_axi_mem.v tb/vta_axi_rules.v > "$work/warnings" 2>&1 || { cat "$work/warnings"; exit 1; }
[ ! -s "$work/warnings" ] || { cat "$work/warnings"; echo "iverilog warns"; exit 1; }
echo "$bench $parameters $*"
vvp -N "$work/bench" "$@" | tee "$work/log"
grep -q '^PASS$' "$work/log"
