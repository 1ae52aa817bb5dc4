#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# vtac run --device tsim --jobs: what a run in parts tells is what one in one piece tells, but for the clock on the wall.
. "$(dirname "$0")/lib.sh"

# same FILE FILE: two profiles agree, timeline and all, but for times on the wall.
same() {
    python3 - "$@" <<'END'
import json, sys
wall = {'wall_s', 'host_s', 'us', 'inferences_per_s', 'device'}
def bare(v):
    if isinstance(v, dict):
        return {k: bare(x) for k, x in v.items() if k not in wall}
    return [bare(x) for x in v] if isinstance(v, list) else v
a, b = (bare(json.load(open(f))) for f in sys.argv[1:])
sys.exit(0 if a == b and a['cycles'] > 0 else 'they differ')
END
}
# cuts FILE: in how many places the run was cut, of the last --json.
cuts() { python3 -c 'import json, sys; print(sum(len(p["cuts"]) for p in json.load(open(sys.argv[1]))["parts"]))' "$1"; }
# cycles_of FILE
cycles_of() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["cycles"])' "$1"; }

# Residual and depthwise networks, the second with rows of its own in ACC.
seed=$("$(dirname "$0")/../lib/seed.sh" cli_cut)
for net in tiny_ic tiny_vww; do
    vtac zoo $net --int8 --seed "$seed" -o $net.onnx
    exits 0
    vtac compile $net.onnx --target vta --config pynq --offload all -o $net.so
    exits 0
    vtac run $net.so --device tsim --seed "$seed" --output-dir $net.one --profile $net.one.json
    exits 0
    vtac run $net.so --device "tsim?timeline=$net.t" --seed "$seed" --json
    exits 0
    cp out $net.out
    for jobs in 2 3; do
        vtac run $net.so --device "tsim?timeline=t" --seed "$seed" --output-dir $net.$jobs --jobs $jobs --json
        exits 0
        good_json out
        cp out $net.$jobs.out
        holds "$net in $jobs parts, seed $seed: the cycles of one" test "$(cycles_of out)" = "$(cycles_of $net.out)"
        holds "the timeline of one" cmp t $net.t
        vtac run $net.so --device tsim --seed "$seed" --jobs $jobs --profile $net.$jobs.json
        exits 0
        says out "exact, both parts alike for"
        holds "$net in $jobs parts, seed $seed: the profile of one" same $net.one.json $net.$jobs.json
        holds "it was cut" test "$(cuts $net.$jobs.out)" -ge 1
        holds "the same results" diff -r $net.one $net.$jobs
    done
done

# Every memory that the machine can have keeps its pace; where each run is another one, nothing is cut.
for option in shared=100 latency=200 bandwidth=4 stall=10; do
    vtac run tiny_ic.so --device "tsim?$option" --json
    exits 0
    cp out whole
    vtac run tiny_ic.so --device "tsim?$option" --jobs 2 --json
    exits 0
    holds "$option: the cycles of one process" test "$(cycles_of out)" = "$(cycles_of whole)"
done
vtac run tiny_ic.so --device "tsim?stall=10" --jobs 2
exits 0
says out "in one piece: device 'tsim' does not record its runs: its back-pressure is random"

# More workers than parts, one worker, a program that is too short.
vtac run tiny_ic.so --device tsim --jobs 64 --json
exits 0
holds "64 workers" test "$(cycles_of out)" = "$(cycles_of tiny_ic.out)"
vtac run tiny_ic.so --device tsim --jobs 1
exits 0
says out "in one piece: there is one worker"

# Misuse.
for jobs in 0 -1 4097 many; do
    vtac run tiny_ic.so --device tsim --jobs=$jobs
    refused 2 "expected a number from 1 to 4096"
done
vtac run tiny_ic.so --jobs 2
refused 2 "those of 'fsim' are not"
vtac run tiny_ic.so --device systemc --jobs 2
refused 2 "those of 'systemc' are not"
vtac run tiny_ic.so --device tsim --jobs 2 --repeat 2
refused 2 "one run of one model"
vtac run tiny_ic.so tiny_vww.so --device tsim --jobs 2
refused 2 "one run of one model"
vtac run tiny_ic.so --device tsim --folder a --join b
refused 2 "one of --slurm, --folder, --join"

# A folder that two processes share.
"$vtac_program" run tiny_vww.so --device tsim --seed "$seed" --join shared --jobs 2 >joined 2>&1 &
helper=$!
vtac run tiny_vww.so --device tsim --seed "$seed" --folder shared --jobs 2 --json
exits 0
wait $helper
holds "a helper ends well" test $? = 0
holds "a folder: the cycles of one process" test "$(cycles_of out)" = "$(cycles_of tiny_vww.out)"

# Ranks. Open MPI leaks, which is not ours to mend.
if command -v mpirun >/dev/null && [ -e "$(dirname "$vtac_program")/../lib/libvtac_mpi.so" ]; then
    ran="mpirun -n 3 vtac run"
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ASAN_OPTIONS=detect_leaks=0 timeout 200 mpirun -n 3 --oversubscribe \
        "$vtac_program" run tiny_vww.so --device tsim --seed "$seed" --json >out 2>err
    status=$?
    exits 0
    good_json out # one rank tells
    holds "ranks: the cycles of one process" test "$(cycles_of out)" = "$(cycles_of tiny_vww.out)"
fi

# children PID: the workers of a process. strays: who still works in this folder.
children() { grep -l "^PPid:[[:space:]]*$1\$" /proc/[0-9]*/status 2>/dev/null | cut -d/ -f3; }
strays() {
    for link in /proc/[0-9]*/cwd; do
        pid=${link#/proc/}
        pid=${pid%/cwd}
        [ "$pid" = $$ ] || [ "$pid" = "$BASHPID" ] || [ "$(readlink "$link" 2>/dev/null)" != "$work" ] || echo "$pid"
    done
}

# A worker that is killed costs its part alone; Ctrl-C and a kill leave nobody behind and no file.
rm -rf ./*.one* t shared
listed() { find . -type f | grep -v -x -E './(out|err|held|before|after)' | sort; }
listed >before
for signal in KILL INT TERM; do
    "$vtac_program" run tiny_vww.so --device tsim --seed "$seed" --jobs 2 --json >out 2>err &
    leader=$!
    victim=$leader
    if [ $signal = KILL ]; then
        victim=
        while [ -z "$victim" ] && kill -0 $leader 2>held; do
            victim=$(children $leader | head -n 1)
        done
        # A worker that has just begun, or the run is over and nobody is hurt.
    else
        sleep 0.3
    fi
    [ -z "$victim" ] || kill -$signal "$victim" 2>held
    wait $leader
    status=$?
    if [ $signal = KILL ]; then
        exits 0
        holds "without a worker: the cycles of one process" test "$(cycles_of out)" = "$(cycles_of tiny_vww.out)"
    fi
    none() { [ -z "$(strays)" ]; }
    until_so "nobody is left after $signal" none
    listed >after
    holds "no file is left" diff before after
done
finish
