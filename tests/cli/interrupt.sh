#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Ctrl-C at any moment of a verb that writes a file or runs a model: exit status 130, the result is as it was before
# or whole, nothing else is left behind, no process either. (exec.sh: the same for a program on a device.)
# A verb runs in a process group of its own, and the whole group gets the signal, as from a terminal: that takes
# bash, since the other sh start what is in the background deaf to SIGINT.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
set -m

# start WORD...: the verb, in the background. A child that gets the signal before it has become vtac would still have
# our trap and, in bash, run it as if it were us: there is none while we fork.
start() {
    trap - EXIT
    "$vtac_program" "$@" >out 2>err &
    child=$!
    trap 'rm -rf "$work"' EXIT
}

# interrupted SECONDS WORD...: the verb gets SIGINT after that time.
interrupted() {
    after=$1
    shift
    ran="vtac $*, interrupted after $after s"
    start "$@"
    sleep "$after"
    kill -INT -$child 2>kill_says
    wait $child
    status=$?
    checks=$((checks + 1))
    left=100 # tenths of a second for what was told to end with it
    while kill -0 -$child 2>kill_says && [ "$left" -gt 0 ]; do
        left=$((left - 1))
        sleep 0.1
    done
    [ "$left" -gt 0 ] || wrong "a process is left behind"
}

# only FILE...: the folder holds these and no other.
only() {
    printf '%s\n' "$@" | sort >expected
    find folder -type f | sort >now
    checks=$((checks + 1))
    cmp -s now expected || wrong "the folder holds $(tr '\n' ' ' <now), not $* alone"
}

# ended: 130, or 0 where the verb was done before the signal came.
ended() {
    checks=$((checks + 1))
    case $status in
    130) hits=$((hits + 1)) ;;
    0) ;;
    *) wrong "exit status $status instead of 130 (or 0)" ;;
    esac
}

# sweep STEPS FILE INPUT WORD...: interrupts a verb that writes FILE at STEPS moments over the time that it takes whole,
# the first before it has begun. There is a FILE before: it stays, or gives way to a whole one.
sweep() {
    steps=$1
    file=$2
    input=$3
    shift 3
    begin=$(date +%s%N)
    vtac "$@"
    exits 0
    took=$(($(date +%s%N) - begin))
    cp "$file" whole
    hits=0
    for step in $(seq 0 $((steps - 1))); do
        echo before >"$file"
        interrupted "$(LC_ALL=C awk "BEGIN { print $took * $step / $steps / 1e9 }")" "$@"
        ended
        [ "$status" = 0 ] || silent err
        checks=$((checks + 1))
        [ "$(head -c 6 "$file")" = before ] || cmp -s "$file" whole || wrong "'$file' is neither old nor whole"
        # shellcheck disable=SC2086  # there may be none
        only "$file" $input
    done
    checks=$((checks + 1))
    [ "$hits" -gt 0 ] || wrong "no signal came in time"
    cp whole "$file"
}

mkdir folder
sweep 6 folder/net.onnx '' zoo tiny_ic --int8 -o folder/net.onnx
small_net folder/net.onnx 14 12 6
sweep 12 folder/net.so folder/net.onnx compile folder/net.onnx --target vta -o folder/net.so

# A linker that dies in the middle leaves its own temporary file beside its output: that goes too.
mkdir linkers
cat >linkers/ld.lld-19 <<'END'
#!/bin/sh
while [ "$1" != -o ]; do shift; done
echo half >"$2.tmp0123456" && kill -INT $$
END
chmod +x linkers/ld.lld-19
PATH="$work/linkers:$PATH" vtac compile folder/net.onnx --target vta -o folder/net.so
exits 1
one_line err
says err "the linker failed on the compiled model: it ended without a word"
only folder/net.onnx folder/net.so

# One that a full disk ends says so: a page of a file that is a map of memory has no place there.
printf '#!/bin/sh\nkill -BUS $$\n' >linkers/ld.lld-19
PATH="$work/linkers:$PATH" vtac compile folder/net.onnx --target vta -o folder/net.so
exits 1
one_line err
says err "cannot write the compiled model: no space is left on its disk"
only folder/net.onnx folder/net.so

# A run ends where it stands, on the host's threads and on the accelerator, its processes with it.
"$vtac_program" compile folder/net.onnx --target vta --config tiny -o tiny.so >/dev/null || exit 1
for device in fsim tsim systemc; do
    "$vtac_program" devices --runnable | grep -qx "$device" || continue
    interrupted 1 run tiny.so --device "$device:tiny" --repeat 1000000
    exits 130
    [ ! -s err ] || says err "interrupted" # said once there is a device to stop
    only folder/net.onnx folder/net.so
done

# One step that takes long is left where it stands, too: a convolution of some 10^12 operations.
cat >long.cfg <<'END'
[net]
width=512
height=512
channels=64
[convolutional]
filters=256
size=11
stride=1
pad=1
activation=linear
END
head -c $((16 + 4 * 256 * (1 + 64 * 121))) /dev/zero >long.weights
"$vtac_program" compile long.cfg -O0 -o long.so >/dev/null || exit 1
# A slow machine takes its time to come to it: a run that was interrupted before is tried again, with twice the time.
for after in 1 2; do
    for longer in 1 2 4 8 16; do
        interrupted $((after * longer)) run long.so
        exits 130
        ! grep -q "interrupted in step" err || break
    done
    says err "interrupted in step"
done
rm -f long.*

# A space of some 700,000 configurations is left before all of them have been looked at.
cat >space.json <<'END'
{"LOG_BATCH": [0, 1, 2], "LOG_BLOCK_IN": [2, 3, 4, 5], "LOG_BLOCK_OUT": [2, 3, 4, 5], "LOG_UOP_BUFF_SIZE": [10, 11, 12, 13, 14, 15],
 "LOG_INP_BUFF_SIZE": [11, 12, 13, 14, 15, 16, 17], "LOG_WGT_BUFF_SIZE": [11, 12, 13, 14, 15, 16, 17, 18],
 "LOG_ACC_BUFF_SIZE": [11, 12, 13, 14, 15, 16, 17], "LOG_QUEUE_DEPTH": [4, 5, 6, 7, 8, 9]}
END
interrupted 3 explore --models tiny_ad --space space.json --jobs 1 -o explored
exits 130
says err "interrupted"

# Temporary files go with the verb: while the model is compiled, while it runs, and a signal for the process alone.
mkdir temporary
export TMPDIR="$work/temporary"
for after in 0.05 0.2 0.5 1; do
    for words in "bench folder/net.onnx --target vta --repeat 1000000" \
        "diff folder/net.onnx --a tsim --b llvm" \
        "verify folder folder folder" \
        "run folder/net.so --device tsim --repeat 1000000 --profile p.html"; do
        # shellcheck disable=SC2086
        interrupted "$after" $words
        case $words in
        *1000*) [ "$status" != 0 ] || wrong "exit status 0" ;; # those that would go on
        esac
        checks=$((checks + 1))
        [ -z "$(ls -A temporary)" ] || wrong "the folder for temporary files holds $(ls temporary)"
        rm -rf temporary/*
    done
done
# Verbs that take their time, ended by Ctrl-C and by a signal for the process alone: nothing is half written beside what was there,
# and nothing is left for a temporary file.
"$vtac_program" zoo tiny_ic -o float.onnx >/dev/null || exit 1
for signal in INT TERM; do
    for after in 0.1 0.4; do
        for words in "quantize float.onnx -o made/q.onnx" "convert float.onnx -o made/c.onnx" "report folder/net.onnx -o made" \
            "tune folder/net.onnx --target vta --trials 100000 --log made/t.jsonl --html made/t.html" \
            "build $source/isa/configs/pynq.json made/board --board pynq --models folder/net.onnx,float.onnx" \
            "inspect folder/net.onnx --html made/i.html"; do
            rm -rf made && mkdir made
            ran="vtac $words, ended by SIG$signal after $after s"
            # shellcheck disable=SC2086
            start $words
            sleep "$after"
            case $signal in INT) kill -INT -$child ;; *) kill -TERM $child ;; esac 2>kill_says
            wait $child
            checks=$((checks + 2))
            [ -z "$(ls -A temporary)" ] || wrong "the folder for temporary files holds $(ls temporary)"
            [ -z "$(find made -name '*.new-*' -o -name '*.tmp*')" ] || wrong "left behind: $(ls made)"
            rm -rf temporary/*
        done
    done
done

# A device's process that hears nothing, in a group of its own, ends with the verb that started it.
for verb in 'run folder/net.so' 'bench folder/net.so' doctor; do
    for signal in INT TERM; do
        ran="vtac $verb, ended by SIG$signal as it opens its device"
        rm -f pid
        # shellcheck disable=SC2086
        start $verb --device "pipe:echo \$\$ >pid; exec sleep 100"
        until_so "the device's process is there" test -s pid
        kill -$signal $child
        wait $child
        until_so "the device's process has ended" eval '! kill -0 "$(cat pid)"'
    done
done
finish
