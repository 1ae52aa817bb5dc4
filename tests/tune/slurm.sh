#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# slurm.sh VTAC: a real Slurm of one node (munged, slurmctld, slurmd, in a folder of their own, as whoever runs this) does an
# exploration, a suite and a search; what comes of it is that of one process. Exit 77 where Slurm does not start, with its reason.
set -u
vtac=$1
for program in munged slurmctld slurmd sbatch squeue scancel; do
    command -v $program >/dev/null || { PATH=$PATH:/usr/sbin:/sbin; export PATH; }
    command -v $program >/dev/null || { echo "skipped: $program is not there (Debian: munge slurmctld slurmd slurm-client)"; exit 77; }
done
work=$(mktemp -d)
pids=
# Jobs end before the daemons do: a step that ends without them asks for ever, and slurmd waits for it.
leave() {
    tries=0
    while [ $tries -lt 40 ] && squeue -h 2>/dev/null | grep -q .; do
        tries=$((tries + 1))
        sleep 0.5
    done
    for pid in $pids; do kill "$pid" 2>/dev/null; done
    { sleep 20 && for pid in $pids; do kill -9 "$pid"; done; } 2>/dev/null &
    late=$!
    # shellcheck disable=SC2086  # words
    wait $pids
    kill "$late" 2>/dev/null
    rm -rf "$work"
}
trap leave EXIT
trap 'exit 1' INT TERM
cd "$work" || exit 1
mkdir state spool run
chmod 755 "$work" state spool run
host=$(hostname -s)
user=$(id -un)
head -c 1024 /dev/urandom >key
chmod 600 key
umask 022

# A port that nobody has.
port() { python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])'; }
cat >slurm.conf <<END
ClusterName=vtac
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$work/run/munge
CryptoType=crypto/munge
SlurmctldPort=$(port)
SlurmdPort=$(port)
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/run/slurmctld.pid
SlurmdPidFile=$work/run/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
END
SLURM_CONF=$work/slurm.conf
export SLURM_CONF
give_up() {
    echo "skipped: $1"
    tail -n 5 ./*.log
    exit 77
}
munged --foreground --force --key-file="$work/key" --socket="$work/run/munge" --pid-file="$work/run/munged.pid" \
    --log-file="$work/munged.log" --seed-file="$work/run/seed" >/dev/null 2>munged.err &
pids="$pids $!"
slurmctld -D -L "$work/slurmctld.log" >/dev/null 2>&1 &
pids="$pids $!"
slurmd -D -L "$work/slurmd.log" >/dev/null 2>&1 &
pids="$pids $!"
tries=0
until sinfo -h -o %t 2>/dev/null | grep -q idle; do
    tries=$((tries + 1))
    [ $tries -lt 60 ] || give_up "Slurm does not start"
    sleep 0.5
done

words='--models tiny_ic,tiny_kws --fix LOG_BLOCK_IN=3,4 --fix LOG_BLOCK_OUT=3,4 --fix LOG_UOP_BUFF_SIZE=13 --fix LOG_INP_BUFF_SIZE=13,14
       --fix LOG_WGT_BUFF_SIZE=14,15 --fix LOG_ACC_BUFF_SIZE=13,14,15 --fix ARRAY_PUMP=1 --fix LOG_QUEUE_DEPTH=6
       --fix TABLE=1 --fix LOOP_BACK=1 --fix DEPTHWISE_TAPS=9'
# shellcheck disable=SC2086  # words
{
    "$vtac" explore $words --jobs 1 -o one >one.txt || exit 1
    timeout 200 "$vtac" explore $words --jobs 2 --slurm shared -o slurm >slurm.txt 2>slurm.err || { cat slurm.err; tail -n 20 shared/log/*; exit 1; }
}
cmp one/front.json slurm/front.json || exit 1
[ "$(find shared/log -type f | wc -l)" -ge 1 ] || { echo "no job has run"; exit 1; }
[ "$(find shared/results -type f | wc -l)" -gt 1 ] || { echo "no results in the folder"; exit 1; }

# Cut work goes on: without half of its results, and with a claim of a process that is gone.
for result in $(find shared/results -type f | sort | sed -n 'p;n'); do
    rm "$result" "shared/claims/$(basename "$result")"
done
: >"shared/claims/$(basename "$result")"
touch -d '1 hour ago' "shared/claims/$(basename "$result")"
# shellcheck disable=SC2086  # words
timeout 200 "$vtac" explore $words --jobs 2 --slurm shared -o again >again.txt || exit 1
cmp one/front.json again/front.json || exit 1

# A suite of models, by the same jobs.
echo '{"models": [{"zoo": "tiny_kws", "int8": true}, {"zoo": "tiny_ad", "int8": true}], "configs": ["tiny"], "seeds": [1, 2]}' >suite.json
"$vtac" regress suite.json --jobs 1 >one.txt 2>one.err || exit 1
timeout 200 "$vtac" regress suite.json --jobs 2 --slurm suite >slurm.txt 2>slurm.err || { cat slurm.err; tail -n 20 suite/log/*; exit 1; }
cmp one.txt slurm.txt || exit 1

# A search for schedules: its log, to the byte; and once more from the same folder, where all results lie already, but for one of
# another piece.
"$vtac" zoo tiny_kws --int8 -o kws.onnx >/dev/null || exit 1
"$vtac" tune kws.onnx --target vta --tuner model --trials 20 --log one.jsonl >one.txt 2>one.err || { cat one.err; exit 1; }
timeout 200 "$vtac" tune kws.onnx --target vta --tuner model --trials 20 --log slurm.jsonl --slurm tuned --jobs 2 >slurm.txt 2>slurm.err ||
    { cat slurm.err; tail -n 20 tuned/log/*; exit 1; }
cmp one.jsonl slurm.jsonl || exit 1
[ "$(find tuned/results -type f | wc -l)" -ge 20 ] || { echo "no results in the folder"; exit 1; }
cp tuned/results/00000001 tuned/results/00000000
timeout 200 "$vtac" tune kws.onnx --target vta --tuner model --trials 20 --log again.jsonl --slurm tuned --jobs 2 >again.txt || exit 1
cmp one.jsonl again.jsonl || exit 1
echo "a Slurm of one node: the front of one process, twice, a suite of models, and a search for schedules"
