#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# campaign.sh BUILD PROGRAMS [DEVICE...]
#
# PROGRAMS random programs, spread over all shipped configurations and those of tests/lib/configs with what no shipped one has
# (rows*.json, wgt4*.json; VTAC_CAMPAIGN names other ones), each on every DEVICE (fsim strict and not, tsim and systemc with random stalls as far
# as they are there), with two damaged copies of each; then as many damaged programs through checker, interpreter and fsim. They are
# run in slices. What is done is kept in BUILD/campaign: a campaign that was interrupted goes on where it was, unless what it tests
# has changed. A disagreement leaves a shrunk program there.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country

build=$(cd "$1" && pwd)
programs=$2
shift 2
root=$(cd "$(dirname "$0")/../.." && pwd)
test=$build/bin/test_conformance_random
corrupt=$build/bin/test_conformance_corrupt
slice=500
out=$build/campaign
state=$out/state
mkdir -p "$out"

# available URI: a device that this build and machine have
available() {
    status=0
    "$test" --count 1 --seed 0 --length 1 --config tiny --device "$1" > /dev/null 2>&1 || status=$?
    [ $status -ne 3 ]
}

if [ $# -eq 0 ]; then
    for device in fsim 'fsim?strict=1' 'tsim?stall=25&watchdog=20000&seed={seed}' \
        'systemc?stall=25&watchdog=20000&seed={seed}'; do
        if available "$device"; then
            set -- "$@" "$device"
        else
            echo "campaign: $device is not available here" >&2
        fi
    done
fi
[ $# -gt 0 ] || { echo 'campaign: no device' >&2; exit 1; }
names=$*
for device; do
    shift
    set -- "$@" --device "$device"
done

chosen=${VTAC_CAMPAIGN:-$(printf '%s\n' "$root"/isa/configs/*.json "$root"/tests/lib/configs/rows*.json "$root"/tests/lib/configs/wgt4*.json)}

# One word for all that takes part.
subject=$({ echo "$names" "$chosen"; find "$root/hw/rtl" "$root/sim" -type f | LC_ALL=C sort | xargs cat "$test"; } | cksum | tr ' ' -)
base=$(date +%s)00000 done=0 insns=0 disagreements=0
if [ -f "$state" ]; then
    read -r was base_was done_was insns_was disagreements_was < "$state"
    if [ "$was" = "$subject" ] && [ "$done_was" -lt "$programs" ]; then
        base=$base_was done=$done_was insns=$insns_was disagreements=$disagreements_was
        echo "going on after $done programs"
    fi
fi

configurations=0
for config in $chosen; do
    configurations=$((configurations + 1))
    set -- "$@" --config "$config"
done
echo "$programs programs, seed $base, $configurations configurations, devices: $names"

# account: what the slice's log says was run, and how it ended.
account() {
    failed=$(sed -n 's/^seed \([0-9]*\), configuration.*/\1/p' "$out/log" | head -n 1)
    if [ "$status" -eq 0 ]; then
        done=$((done + count))
        insns=$((insns + $(sed -n 's/^[0-9]* programs, \([0-9]*\) instructions.*/\1/p' "$out/log")))
    elif [ -n "$failed" ]; then
        cat "$out/log"
        done=$((failed - base + 1))
        disagreements=$((disagreements + 1))
    else
        cat "$out/log"
        echo 'campaign: the test itself failed' >&2
        exit 1
    fi
}

while [ "$done" -lt "$programs" ]; do
    count=$((programs - done < slice ? programs - done : slice))
    status=0
    "$test" --seed $((base + done)) --count $count --out "$out" "$@" > "$out/log" 2>&1 || status=$?
    account
    echo "$subject $base $done $insns $disagreements" > "$state"
    echo "$(date +%T)  $done of $programs programs, $disagreements disagreements"
done

set --
for config in $chosen; do
    set -- "$@" --config "$config"
done
"$corrupt" "$@" --seed "$base" --count "$programs" -v
echo "campaign: $programs programs ($insns instructions in those that agree), $configurations configurations," \
    "devices $names: $disagreements disagreements; repeat with --seed $base"
[ "$disagreements" -eq 0 ]
