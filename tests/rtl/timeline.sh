#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# timeline.sh VTAC DEVICE...: the timelines of shipped programs are what a viewer of Chrome's trace format opens, and tell what
# the counters tell: each instruction once, in its unit, inside the run; what each unit waited for, to the cycle; as many
# steps as the arrays made. Timelines and waves that find no room leave the file that was there.
set -eu
vtac=$1
shift
programs=$(cd "$(dirname "$0")/../../isa/programs" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A timeline that finds no room: exit status 1, one line, and the file that was there before. Limits are of 512 bytes.
for device; do
    "$vtac" exec "$programs/tiny.vasm" --device "$device" >/dev/null # the simulator is built without a limit
    for limit in 1 2 4; do
        echo old >"$work/t.json"
        if (ulimit -f $limit; "$vtac" exec "$programs/tiny.vasm" --device "$device?timeline=$work/t.json" >/dev/null 2>"$work/err"); then
            echo "a timeline in $limit blocks: exit status 0"
            exit 1
        fi
        if [ "$(cat "$work/t.json")" != old ] || [ "$(wc -l <"$work/err")" != 1 ] || ! grep -q "the timeline cannot be written" "$work/err" ||
            [ "$(ls -A "$work")" != "$(printf 'err\nt.json')" ]; then
            echo "after a timeline in $limit blocks:"
            ls -la "$work"
            cat "$work/err"
            exit 1
        fi
    done
    ! "$vtac" exec "$programs/tiny.vasm" --device "$device?timeline=/dev/full" >/dev/null 2>"$work/err" && grep -q "No space left" "$work/err"
    rm "$work"/*
done

# Waves that find no room: the same, at each size until they fit. Those that fit are whole: an FST file is blocks of a kind and a
# length, among them the header, the geometry and the names.
whole='import sys
data, at, kinds = open(sys.argv[1], "rb").read(), 0, set()
while at < len(data):
    kinds.add(data[at])
    at += 1 + int.from_bytes(data[at + 1:at + 9], "big")
assert at == len(data) and 0 in kinds and 3 in kinds and kinds & {4, 6, 7} and kinds & {1, 5, 8} and 255 not in kinds, (at, len(data), kinds)'
for device; do
    # Long enough for what is written last to be longer than what is written while the device starts.
    awk '{ print } /^alu.max both/ { for (i = 0; i < 6000; i++) { v = i * 7919 % 30000; print "alu.add both, " v; print "alu.add both, -" v } }' \
        "$programs/tiny.vasm" >"$work/long"
    "$vtac" exec "$work/long" --device "$device?trace=$work/t.fst" >/dev/null
    python3 -c "$whole" "$work/t.fst"
    blocks=$(($(wc -c <"$work/t.fst") / 512))
    for limit in 1 $((blocks / 2)) $((blocks * 9 / 10)) $((blocks - 1)) $blocks; do
        echo old >"$work/t.fst"
        status=0
        (ulimit -f "$limit"; "$vtac" exec "$work/long" --device "$device?trace=$work/t.fst" >/dev/null 2>"$work/err") || status=$?
        if [ $status != 1 ] || [ "$(cat "$work/t.fst")" != old ] || [ "$(wc -l <"$work/err")" != 1 ] ||
            [ "$(ls -A "$work")" != "$(printf 'err\nlong\nt.fst')" ]; then
            echo "after waves in $limit of $blocks blocks: status $status"
            ls -la "$work"
            cat "$work/err"
            exit 1
        fi
    done
    if "$vtac" exec "$programs/tiny.vasm" --device "$device?trace=/dev/full" >/dev/null 2>"$work/err"; then
        echo "waves in /dev/full: exit status 0"
        exit 1
    fi
    grep -q "no file on a disk" "$work/err"
    rm "$work"/*
done

# Waves show every change of a register: steps of the array and the ALU that they count are those of the counters.
if command -v fst2vcd >/dev/null; then
    for program in matmul depthwise; do
        "$vtac" exec "$programs/$program.vasm" --device "tsim?trace=$work/t.fst" --json >"$work/report.json"
        fst2vcd "$work/t.fst" | python3 -B "$(dirname "$0")/../../fpga/asic/activity.py" vta_top 2 >"$work/activity"
        python3 - "$work/report.json" "$work/activity" <<'END'
import json
import sys

counts = json.load(open(sys.argv[1]))["counts"]
seen = {words[1]: int(words[2]) for words in map(str.split, open(sys.argv[2])) if words[0] == "="}
steps = {"array": counts["compute_gemm_tiles"] + counts["compute_depthwise_input_tiles"], "alu": counts["compute_alu_tiles"] + counts["compute_requant_tiles"]}
assert steps["array"] > 10 and {k: seen[k] for k in steps} == steps, (seen, steps)
END
        rm "$work"/*
    done
fi

for device; do
    for program in tiny matmul depthwise; do
        "$vtac" exec "$programs/$program.vasm" --device "$device?stall=10&seed=5&timeline=$work/t.json" --json > "$work/report.json"
        python3 - "$work/t.json" "$work/report.json" "$program, $device" <<'END'
import json
import sys

trace, report = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:3])
events, counts, cycles = trace["traceEvents"], report["counts"], report["cycles"]
assert report["ok"], "the program fails"
for event in events:
    assert event["ph"] in ("M", "X", "i") and isinstance(event["pid"], int) and isinstance(event["tid"], int), event
    assert event["ph"] == "M" or event["ts"] >= 0, event
    assert event["ph"] != "X" or (event["dur"] >= 1 and event["name"]), event

# The format wants slices of a thread to lie apart or inside each other.
threads = {}
for event in events:
    if event["ph"] == "X":
        threads.setdefault(event["tid"], []).append((event["ts"], -event["dur"]))
for slices in threads.values():
    open_until = []
    for begin, minus in sorted(slices):
        while open_until and open_until[-1] <= begin:
            open_until.pop()
        assert not open_until or begin - minus <= open_until[-1], "slices of a thread overlap"
        open_until.append(begin - minus)

start = next(event["ts"] for event in events if event["ph"] == "i")
insns = [event for event in events if event["ph"] == "X" and "insn" in event.get("args", {})]
assert sorted(event["args"]["insn"] for event in insns) == list(range(counts["fetch_instructions"])), "not each instruction once"
for event in insns:
    args = event["args"]
    assert start <= args["issue"] <= args["start"] <= args["end"] <= start + cycles["total"], event
    assert event["ts"] == args["start"] and event["dur"] == args["end"] - args["start"] + 1, event

waits = {}
for event in events:
    if event["ph"] == "X" and "args" not in event:
        waits[event["name"]] = waits.get(event["name"], 0) + event["dur"]
for unit in ("load", "compute", "store"):
    mine = [event for event in insns if event["args"]["unit"] == unit]
    assert len(mine) == counts[unit + "_instructions"], unit
    for key, words, arg in (("token", "a token", "token_wait"), ("mem", "memory", "memory_wait")):
        count = cycles[f"{unit}_{key}"]
        assert waits.get(f"{unit} waits for {words}", 0) == count, f"{unit} waits for {words}, {count}"
        assert sum(event["args"][arg] for event in mine) <= count, f"{unit} {arg}"
for name, key in (("array: gemm", "compute_gemm_tiles"), ("array: depthwise", "compute_depthwise_input_tiles"),
                  ("alu", "compute_alu_tiles"), ("requantizer", "compute_requant_tiles")):
    assert waits.get(name, 0) == counts[key], f"{name}: {waits.get(name, 0)} steps, not {counts[key]}"
print(f"{sys.argv[3]}: {len(insns)} instructions, {sum(len(s) for s in threads.values())} slices")
END
    done
done
