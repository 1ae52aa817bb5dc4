# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Sourced by the tests of vtac: `sh VERB.sh VTAC SOURCE`. `vtac WORD...` runs it; the others look at what came of it.
# A test that sees something else than it should says what, and the script goes on and fails at its end.
set -u
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
vtac_program=$1
# shellcheck disable=SC2034  # for the scripts that source this
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset NO_COLOR
VTA_CHECK=0 # programs that a device must refuse by itself reach it in every build
export VTA_CHECK
PYTHONPATH=$source/tests/lib PYTHONDONTWRITEBYTECODE=1 # terminal.py
export PYTHONPATH PYTHONDONTWRITEBYTECODE
failures=0
checks=0
status=
ran=

vtac() {
    ran="vtac $*"
    "$vtac_program" "$@" >out 2>err
    status=$?
}

wrong() {
    failures=$((failures + 1))
    printf '%s: %s\n' "$ran" "$*"
    cite out head
    cite err head
}

# cite FILE head|tail: 20 lines of what a program wrote there.
cite() {
    [ ! -e "$1" ] || sed "s/^/    $1: /" "$1" | "$2" -n 20
}

# exits STATUS: the last run ended with it.
exits() {
    checks=$((checks + 1))
    [ "$status" = "$1" ] || wrong "exit status $status instead of $1"
}

# says out|err TEXT: the stream has a line with the text.
says() {
    checks=$((checks + 1))
    grep -qF -- "$2" "$1" || wrong "std$1 does not say '$2'"
}

# silent out|err: nothing was written there.
silent() {
    checks=$((checks + 1))
    [ ! -s "$1" ] || wrong "std$1 is not empty"
}

# one_line err: a message is one line.
one_line() {
    checks=$((checks + 1))
    [ "$(wc -l <"$1")" = 1 ] || wrong "std$1 is not one line"
}

# good_json out|err: one well-formed document.
good_json() {
    checks=$((checks + 1))
    python3 -m json.tool "$1" >/dev/null 2>&1 || wrong "std$1 is not JSON"
}

# until_so WHAT COMMAND...: waits for the command to succeed, however slow the machine; two minutes of naps at most.
until_so() {
    checks=$((checks + 1))
    what=$1
    shift
    naps=2400
    until "$@" >held 2>&1; do
        naps=$((naps - 1))
        [ $naps -gt 0 ] || { wrong "waited in vain: $what: $*"; return; }
        sleep 0.05
    done
}

# heeds PID NUMBER: the process has a handler for the signal of that number; before, it would just die of it.
heeds() {
    caught=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status")
    [ $((0x${caught:-0} >> ($2 - 1) & 1)) = 1 ]
}

# number_of INT|TERM: what the kernel calls the signal.
number_of() { case $1 in INT) echo 2 ;; TERM) echo 15 ;; esac; }

# ticks PID: the processor time that a process has used, in hundredths of a second; all_ticks: that of our children that
# have ended.
ticks() { sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'; }
all_ticks() { sed 's/.*) //' "/proc/$$/stat" | awk '{ print $14 + $15 }'; }

# at_work PID: it has used a tenth of a second.
at_work() { [ "$(ticks "$1")" -ge 10 ]; }

# holds WHAT COMMAND...: the command succeeds.
holds() {
    checks=$((checks + 1))
    what=$1
    shift
    "$@" >held 2>&1 && return
    failures=$((failures + 1))
    printf '%s: does not hold: %s\n' "$what" "$*"
    cite held tail # a traceback ends with its cause
}

# small_net FILE WIDTH HEIGHT LAYERS: a network of 8-bit integers with random weights that compiles in a moment, for what is
# tested with any network: the first of a 3 by 3 convolution, a depthwise one, a 1 by 1, a sum, one with strides, a 1 by 1.
small_net() {
    python3 - "$2" "$3" "$4" <<'PYTHON' || exit 1
import random
import struct
import sys

random.seed(3)
text, weights, channels = ["[net]", f"width={sys.argv[1]}", f"height={sys.argv[2]}", "channels=16"], [], 16
layers = (16, 3, 1, 1), (16, 3, 1, 16), (16, 1, 1, 1), None, (32, 3, 2, 1), (24, 1, 1, 1)
for layer in layers[:int(sys.argv[3])]:
    if layer is None:
        text += ["[shortcut]", "from=-3", "activation=linear"]
        continue
    filters, size, stride, groups = layer
    text += ["[convolutional]", f"filters={filters}", f"size={size}", f"stride={stride}", "pad=1", f"groups={groups}", "activation=relu"]
    each = channels // groups * size * size
    weights += [random.gauss(0, 0.1) for _ in range(filters)] + [random.gauss(0, 2 / each**0.5) for _ in range(filters * each)]
    channels = filters
open("small_net.cfg", "w").write("\n".join(text) + "\n")
open("small_net.weights", "wb").write(struct.pack(f"<iiiq{len(weights)}f", 0, 2, 0, 0, *weights))
PYTHON
    vtac quantize small_net.cfg -o "$1"
    exits 0
    rm small_net.cfg small_net.weights
}

# refused STATUS TEXT: the last run failed so, in one line on stderr alone.
refused() {
    exits "$1"
    says err "$2"
    one_line err
    silent out
}

finish() {
    printf '%d checks, %d failures\n' "$checks" "$failures"
    [ "$checks" -gt 0 ] && [ "$failures" = 0 ]
    exit
}
