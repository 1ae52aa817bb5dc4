# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154  # for the scripts that source this
#
# Sourced by the tests of the plug-ins with a script's arguments, BUILD [HOST], once `plugin_name`, `stand_in` and `runner` are set: the
# object below BUILD/lib, the host that stands in for the real one, and the program in BUILD/bin that drives either.
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
build=$1
host=${2:-$build/lib/$stand_in}
plugin=$build/lib/$plugin_name
vtac=$build/bin/vtac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
export VTAC_CACHE="$work/cache"
failed=0
fail() { echo "FAILED: $*"; cat "$work/out"; failed=1; }
run() { # STATUS MODEL REFERENCE [KEY=VALUE…]
    expected=$1
    model=$2
    reference=$3
    shift 3
    status=0
    "$build/bin/$runner" "$host" "$plugin" "$model" "$reference" log=all "$@" >"$work/out" 2>&1 || status=$?
    [ "$status" = "$expected" ] || fail "$model $*: exit status $status, not $expected"
}
said() { grep -qE -e "$1" "$work/out" || fail "'$1' is not said"; }
not_said() { ! grep -qE -e "$1" "$work/out" || fail "'$1' is said"; }
