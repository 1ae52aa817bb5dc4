#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# tune.sh VTAC SOURCE: vtac tune. Whatever schedules are taken, the integers are the same; a log is gone on from, cut or not; what
# was found is used, and never slower by the measure that it was found with.
. "$(dirname "$0")/../cli/lib.sh"
seed=$(sh "$source/tests/lib/seed.sh" tune)
echo "seed $seed"

small_net small.onnx 14 12 6
vtac zoo tiny_kws -o kws.onnx
exits 0

# The log: JSON objects; no point of a kernel is tried twice.
cat >log.py <<'END'
import json, sys

trials, proofs = [], []
for line in open(sys.argv[1]):
    r = json.loads(line)
    assert set(r) >= {"kernel", "shape", "target", "version", "point", "cost"}, r
    assert r["cost"] is None or r["cost"] > 0
    (proofs if r.get("proved") else trials).append((r["kernel"], r["shape"], r["point"]))
assert proofs and trials
print(len(trials), len(set(trials)))
END
tuners='grid random ga model'
ldconfig -p 2>/dev/null | grep -q libxgboost.so.0 && tuners="$tuners xgb"
for tuner in $tuners; do
    vtac tune kws.onnx --tuner "$tuner" --trials 2 --repeat 3 --log "$tuner.jsonl" --seed "$seed"
    exits 0
    silent err
    says out "trials"
    holds "the log of $tuner is one" python3 log.py "$tuner.jsonl"
    holds "$tuner: the network is faster where any kernel is said to be" python3 -c '
import re, sys

both = re.search(r"the network ([0-9.]+)\s+ms instead of ([0-9.]+) ms", " ".join(sys.stdin.read().split()))
sys.exit(both is not None and float(both[1]) > float(both[2]))' <out
done
vtac tune kws.onnx --tuner random --trials 2 --repeat 3 --log random.jsonl --seed "$seed"
exits 0
# shellcheck disable=SC2046  # two numbers
set -- $(python3 log.py random.jsonl)
holds "it goes on where it was: few of $1 trials are twice there ($2)" test $(($1 - $2)) -le $(($1 / 4))

# Cut, and gone on from; merged by cat; a line that is no record is told.
size=$(wc -c <grid.jsonl)
head -c $((size - 20)) grid.jsonl >cut.jsonl
vtac tune kws.onnx --tuner grid --trials 2 --repeat 3 --log cut.jsonl
exits 0
vtac compile kws.onnx --host host --tuned cut.jsonl -o kws.so
exits 0
for length in 1 5 20 300; do
    { head -n 1 grid.jsonl && head -c $length grid.jsonl && tail -n 1 grid.jsonl; } >glued.jsonl
    vtac compile kws.onnx --host host --tuned glued.jsonl -o kws.so
    exits 0
done
cat grid.jsonl random.jsonl >both.jsonl
vtac compile kws.onnx --host host --tuned both.jsonl -o kws.so
exits 0
{ head -n 2 grid.jsonl && echo nonsense && tail -n 1 grid.jsonl; } >bad.jsonl
vtac compile kws.onnx --tuned bad.jsonl -o bad.so
exits 1
says err "bad.jsonl: line 3 is no record of a schedule"
holds "nothing is half-written" test ! -e bad.so
"$vtac_program" tune kws.onnx --trials 50 --repeat 3 --log killed.jsonl >/dev/null 2>&1 &
until_so "it writes down what it has measured" sh -c '[ "$(wc -l <killed.jsonl)" -ge 2 ]'
kill -9 $!
wait $! 2>/dev/null
vtac tune kws.onnx --trials 1 --repeat 3 --log killed.jsonl
exits 0

# Logs of networks with one and with five of the same layer can be one: what it costs is said for one.
cat >alike.py <<'END'
import random, struct, sys

count = int(sys.argv[1])
random.seed(5)
text, weights = "[net]\nwidth=8\nheight=7\nchannels=32\n", []
for _ in range(count):
    text += "[convolutional]\nfilters=32\nsize=3\nstride=1\npad=1\nactivation=relu\n"
    weights += [random.gauss(0, 0.1) for _ in range(32 + 32 * 32 * 9)]
open(f"alike{count}.cfg", "w").write(text)
open(f"alike{count}.weights", "wb").write(struct.pack(f"<iiiq{len(weights)}f", 0, 2, 0, 0, *weights))
END
for count in 2 6; do
    python3 alike.py $count
    vtac tune alike$count.cfg --tuner grid --trials 4 --log alike.jsonl$count
    exits 0
    vtac tune alike$count.cfg --target vta --tuner grid --trials 5 --log alikevta.jsonl$count
    exits 0
done
for log in alike.jsonl alikevta.jsonl; do
    holds "the costs of $log are those of one step" python3 - ${log}2 ${log}6 <<'END'
import json, sys

logs = []
for file in sys.argv[1:]:
    costs = {}
    for line in open(file):
        r = json.loads(line)
        if r["cost"] is not None:
            key = r["kernel"], r["shape"], r["point"]
            costs[key] = min(costs.get(key, 9e9), r["cost"])
    logs.append(costs)
shared = sorted(logs[1][key] / logs[0][key] for key in logs[0] if key in logs[1])
print(shared)
assert len(shared) >= 3 and shared[len(shared) // 2] < 2.5, shared
END
done

# A point that an old log has as good for another shape of the same kernel is tried early.
for tuner in ga $(case $tuners in *xgb*) echo xgb ;; esac); do
    point=$(python3 - "old$tuner.jsonl" <<'END'
import json, sys

r = [r for r in map(json.loads, open("alikevta.jsonl2")) if not r.get("proved")][-1]
r["shape"] = r["shape"].replace("in32x", "in320x")
open(sys.argv[1], "w").write(json.dumps(r) + "\n")
print(r["point"])
END
)
    vtac tune alike2.cfg --target vta --tuner "$tuner" --trials 5 --log "old$tuner.jsonl"
    exits 0
    holds "the point is tried, by $tuner" test "$(grep -c "$point" "old$tuner.jsonl")" -ge 2
done

# Interrupted at the end, when the best is timed beside the standard one: nothing stays of it.
mkdir temporary
TMPDIR=$PWD/temporary python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$vtac_program" tune kws.onnx --trials 1 --repeat 4000 --log interrupted.jsonl >out 2>err &
until_so "it is at its end" sh -c 'ls temporary/vtac-tune-*/best.so >/dev/null 2>&1'
kill -INT $!
wait $! 2>/dev/null
holds "its folder is gone" test -z "$(ls temporary)"

# Random schedules everywhere: the integers are those of the standard ones, on the host and on the accelerator.
cat >shuffle.py <<'END'
import json, random, sys

random.seed(int(sys.argv[2]))
points = {}
for line in open(sys.argv[1]):
    r = json.loads(line)
    points.setdefault((r["kernel"], r["shape"], r["target"], r["version"]), []).append(r["point"])
for (kernel, shape, target, version), own in points.items():
    print(json.dumps({"kernel": kernel, "shape": shape, "target": target, "version": version,
                      "point": random.choice(own), "cost": 1e-9, "proved": True}))
END
vtac compile small.onnx --host host --target vta -o standardvta.so
exits 0
vtac compile small.onnx --host host -o standardhost.so
exits 0
vtac run standardhost.so --seed 7 --output-dir standard
exits 0
vtac tune small.onnx --tuner random --trials 3 --repeat 3 --log host.jsonl --seed "$seed"
exits 0
vtac tune small.onnx --target vta --tuner model --trials 24 --log vta.jsonl --html tune.html
exits 0
says out "trials"
for round in 1 2; do
    for kind in host vta; do
        python3 shuffle.py $kind.jsonl "$seed$round" >shuffled.jsonl
        holds "$kind, round $round: there are schedules" test -s shuffled.jsonl
        target=vta
        [ $kind = vta ] || target=llvm
        vtac compile small.onnx --host host --target $target --tuned shuffled.jsonl -o other.so
        exits 0
        vtac run other.so --seed 7 --output-dir other$kind$round
        exits 0
        holds "$kind, round $round: the integers are the same" diff -r standard other$kind$round
        holds "$kind, round $round: another code" sh -c "! cmp -s standard$kind.so other.so"
    done
done

# The accelerator: what was found is predicted to be faster, or nothing was found.
vtac compile small.onnx --target vta --report --json -o before.so
exits 0
cp out before.json
holds "the page has a curve of each task" python3 -c "
import json, re
d = json.loads(re.search(r'application/json\">(.*?)</script>', open('tune.html').read(), re.S).group(1))
assert d['tasks'] and sum(len(t['costs']) for t in d['tasks']) == d['trials'] == 24, d['trials']"
if command -v mpirun >/dev/null && [ -e "$(dirname "$vtac_program")/../lib/libvtac_mpi.so" ]; then
    ran="mpirun -n 3 vtac tune"
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ASAN_OPTIONS=detect_leaks=0 timeout 1000 mpirun -n 3 --oversubscribe "$vtac_program" tune small.onnx \
        --target vta --tuner model --trials 24 --log ranks.jsonl >out 2>err
    status=$?
    exits 0
    holds "ranks find what processes find" cmp vta.jsonl ranks.jsonl
    says out "trials"
fi
vtac compile small.onnx --target vta --tuned vta.jsonl --report --json -o after.so
exits 0
cp out after.json
holds "the prediction is no worse" python3 -c "
import json, sys
before, after = (json.load(open(f))['cycles'] for f in ('before.json', 'after.json'))
print(before, after)
sys.exit(after > before)"

# Boards, all at once: one that hangs and one that is cut lose the network that they had and no other, a slow one is only slow,
# one that is not there is left out; nothing of them stays.
cat >board.sh <<'END'
#!/bin/sh
# board.sh KIND AGENT: the second network hangs, or is cut off; or each begins late
count=$(cat "$1.count" 2>/dev/null || echo 0)
echo $((count + 1)) >"$1.count"
case $1:$count in
hang:1) echo $$ >hang.pid; exec sleep 1000 ;;
cut:1) exit 1 ;;
slow:*) sleep 1 ;;
esac
exec "$2" --stdio
END
chmod +x board.sh
agent=$(dirname "$vtac_program")/vtac-agent
boards() {
    vtac tune kws.onnx --tuner "$1" --trials "$2" --repeat 2 --log "boards$1.jsonl" --device "pipe:'$agent' --stdio" --device "pipe:./board.sh hang '$agent'" \
        --device "pipe:./board.sh cut '$agent'" --device "pipe:./board.sh slow '$agent'" --device pipe:false
}
for tuner in random ga; do
    rm -f ./*.count hang.pid
    boards $tuner 20
    exits 0
    says out "20 trials"
    says err "'--device pipe:false' is left out: "
    holds "one board alone is left out" test "$(wc -l <err)" -eq 1
    # One hangs and one is cut off; a busy machine may be too slow for a slow candidate or two.
    holds "at most four of 20 networks are lost" python3 - "boards$tuner.jsonl" <<'END'
import json, sys

trials, lost = {}, {}
for line in open(sys.argv[1]):
    r = json.loads(line)
    if not r.get("proved"):
        trials[r["shape"]] = trials.get(r["shape"], 0) + 1
        lost[r["shape"]] = lost.get(r["shape"], 0) + (r["cost"] is None)
assert set(trials.values()) == {20} and max(lost.values()) <= 4, (trials, lost)
END
    for kind in hang cut; do
        holds "$tuner: the board that is '$kind' has timed the standard network and more" test "$(cat $kind.count)" -ge 2
    done
    holds "the slow board has begun" test "$(cat slow.count)" -ge 1 # the others may be done before it is
    until_so "what hung is ended" sh -c 'case $(ps -o stat= -p "$(cat hang.pid)") in "" | Z*) ;; *) exit 1 ;; esac'
done
# A board that is lost when the best is timed beside the standard network: the next one does it.
cat >late.sh <<'END'
#!/bin/sh
! ls temporary/vtac-tune-*/best.so >/dev/null 2>&1 || exit 1
exec "$1" --stdio
END
chmod +x late.sh
TMPDIR=$PWD/temporary
export TMPDIR
vtac tune kws.onnx --trials 2 --repeat 2 --log late.jsonl --device "pipe:./late.sh '$agent'" --device "pipe:'$agent' --stdio"
exits 0
says out "2 trials"
says err "vtac tune: '--device pipe:./late.sh '$agent'' is left out: "
one_line err
holds "it is judged" grep -q '"proved": true' late.jsonl
vtac tune kws.onnx --trials 2 --repeat 2 --log late2.jsonl --device "pipe:./late.sh '$agent'"
exits 1
says err "no board is left, of those that '--device' names"
holds "nothing stays" test -z "$(ls temporary)"
unset TMPDIR
for device in nonsense fsim tsim:tiny; do
    vtac tune kws.onnx --trials 2 --log none.jsonl --device "$device"
    refused 1 "vtac: '--device $device': a host's kernels are timed here, without '--device', or on a board by ssh://[USER@]HOST; with '--target vta' it may be any device"
done
vtac tune kws.onnx --trials 2 --log none.jsonl --device pipe:false
exits 1
says err "no board is left, of those that '--device' names"
holds "its message stands in one line" test "$(tail -n 1 err | wc -l)" -eq 1

# Code for another machine is refused before the search; a device that counts no cycles proves nothing.
vtac tune kws.onnx --host pynq --log never.jsonl
exits 1
one_line err
says err "vtac: code for 'pynq' cannot be timed here; name boards of that kind with '--device ssh://[USER@]HOST', once or more often: "
says err "it was compiled for arm"
holds "no trial was made" test ! -e never.jsonl
vtac tune kws.onnx --host cortex-a53
exits 1
says err "vtac: unknown host 'cortex-a53'; known are host, pynq, "

# A network that is read by other files and options is read so again where it is proved: by tune, and by explore's finalists.
cat >darknet.py <<'END'
import random, struct

open("own.cfg", "w").write("""[net]
width=12
height=10
channels=16
[convolutional]
filters=32
size=3
stride=1
pad=1
activation=relu
[convolutional]
filters=16
size=1
stride=1
activation=linear
""")
random.seed(3)
count = 32 + 32 * 16 * 9 + 16 + 16 * 32
with open("elsewhere.weights", "wb") as f:
    f.write(struct.pack("<iiiq", 0, 2, 0, 0) + struct.pack(f"<{count}f", *(random.gauss(0, 0.1) for _ in range(count))))
END
python3 darknet.py
vtac tune own.cfg --weights elsewhere.weights --target vta --tuner model --trials 16 --log own.jsonl
exits 0
says out "trials: "
says err "vtac tune: own.cfg: warning: no calibration inputs"
for device in fsim tsim:ultra96 wibble; do # before the search
    vtac tune own.cfg --weights elsewhere.weights --target vta --trials 100000 --log own2.jsonl --device "$device"
    exits 1
    case $device in
    fsim) says err "vtac: nothing can be proved by '--device fsim'; name one that counts cycles, as tsim" ;;
    wibble) says err "unknown device 'wibble'; known are" ;;
    *) says err "the program was made for configuration 'pynq', but device 'tsim:ultra96' differs in" ;;
    esac
    holds "no trial was made" test ! -e own2.jsonl
done
# shellcheck disable=SC2046  # words
vtac explore --models own.cfg --weights elsewhere.weights --finalists 1 -o finalists $(python3 -c '
import json, sys

keys = json.load(open(sys.argv[1]))
keys |= {"ARRAY_PUMP": 1, "TABLE": 1, "LOOP_BACK": 1, "DEPTHWISE_TAPS": 9}
for key, value in keys.items():
    if key.startswith("LOG_") and "WIDTH" not in key.replace("BUS_WIDTH", "") or key in ("ARRAY_PUMP", "TABLE", "LOOP_BACK", "DEPTHWISE_TAPS"):
        print("--fix", f"{key}={value}")' "$source/isa/configs/pynq.json")
exits 0
says out "best1 on tsim, "
says err "vtac explore: own.cfg: warning: no calibration inputs"

# A log that cannot be used is reported in one line, and the network is made without it.
unused() { # FILE WORDS: compiled with this log
    log=$1 why=$2
    shift 2
    vtac compile kws.onnx "$@" --tuned "$log" -o unused.so
    exits 0
    holds "one line tells why" test "$(cat err)" = "vtac compile: '--tuned $log': no record of it is used: $why"
}
version=$(head -n 1 grid.jsonl | sed 's/.*"version": "\([^"]*\)".*/\1/')
target=$(head -n 1 grid.jsonl | sed 's/.*"target": "\([^"]*\)".*/\1/')
sed 's/"version": "[^"]*"/"version": "0.0.7"/' grid.jsonl >old.jsonl
unused old.jsonl "they are of release 0.0.7, and this is $version; 'vtac tune' makes new ones" --host host
sed 's/"kernel": "[^"]*"/"kernel": "wibble"/' grid.jsonl >strange.jsonl
unused strange.jsonl "none is of a kernel and a shape that this model has" --host host
unused grid.jsonl "they are for '$target', and this is compiled for 'pynq'; compile with --host host" --host pynq
sed "s/$target/vta of another board/" grid.jsonl >board.jsonl
unused board.jsonl "they are for 'vta of another board', and this is compiled for 'host'; name that host or configuration" --host host
: >empty.jsonl
unused empty.jsonl "it is empty" --host host
cat old.jsonl strange.jsonl grid.jsonl >all.jsonl
vtac compile kws.onnx --host host --tuned all.jsonl -o all.so
exits 0
silent err
vtac compile kws.onnx --host host --tuned old.jsonl --tuned grid.jsonl -o all.so
exits 0
silent err
# A log of another release is gone on from as if it were empty, and kept.
cp old.jsonl further.jsonl
vtac tune kws.onnx --tuner grid --trials 1 --repeat 2 --log further.jsonl
exits 0
holds "what it had is kept" sh -c 'head -n "$(wc -l <old.jsonl)" further.jsonl | cmp - old.jsonl'

# Log and page are looked at before the work: where they cannot be written, no trial is made.
mkdir -p sub
for word in --log --html; do
    vtac tune kws.onnx --trials 2000 --log never.jsonl $word nowhere/file
    refused 1 "vtac: cannot write 'nowhere/file': there is no folder 'nowhere'; make it, or name another file"
    vtac tune kws.onnx --trials 2000 --log never.jsonl $word sub
    refused 1 "vtac: cannot write 'sub': it is a folder"
done
vtac tune kws.onnx --trials 2000 --log /dev/full
refused 1 "vtac: '/dev/full' is no file that lines can be appended to; name another one with '--log'"
vtac tune small.onnx --target vta --trials 2000 --log /dev/full
refused 1 "vtac: '/dev/full' is no file that lines can be appended to; name another one with '--log'"
holds "nothing was begun" test ! -e never.jsonl
# A disk that is full: the reason, and the log is as good as before. (No file may be longer than this log already nearly is.)
python3 -c 'line = open("old.jsonl").read().split("\n")[0] + "\n"; open("short.jsonl", "w").write(line * ((1 << 21) // len(line)))'
cp short.jsonl before.jsonl
ran="vtac tune, a full disk"
(ulimit -f 4096 && trap '' XFSZ && exec "$vtac_program" tune kws.onnx --tuner grid --trials 20 --repeat 2 --log short.jsonl) >out 2>err
status=$?
exits 1
one_line err
says err "vtac: cannot write 'short.jsonl': "
holds "what was there is there" sh -c 'head -c "$(wc -c <before.jsonl)" short.jsonl | cmp - before.jsonl'
vtac tune kws.onnx --tuner grid --trials 1 --repeat 2 --log short.jsonl
exits 0
for seconds in 0 -1 nan 1x; do
    vtac tune small.onnx --budget $seconds
    refused 2 "vtac tune: --budget takes a number of seconds above 0, not '$seconds'"
done
vtac tune kws.onnx --threads 1025
refused 2 "vtac tune: --threads takes a number up to 1024, not '1025'"
vtac tune kws.onnx --slurm folder
refused 2 "vtac tune: kernels of the host are timed on one machine, and not by whoever sees a folder"
printf '[net]\nwidth=4\nheight=4\nchannels=2\n[dropout]\nprobability=0.5\n' >nothing.cfg
head -c 20 /dev/zero >nothing.weights
for target in llvm vta; do
    vtac tune nothing.cfg --target $target
    exits 1
    says err "vtac: 'nothing.cfg': nothing can be tuned: none of its "
done
vtac tune
exits 2
vtac tune small.onnx --tuner best
refused 2 "vtac tune: '--tuner best': expected xgb, ga, random, grid or model"
vtac tune small.onnx --trials 0
refused 2 "vtac tune: --trials takes a number above 0, not '0'"
finish
