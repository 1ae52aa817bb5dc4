#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# vtac-agent through a plain pipe: what works, bad lines, and whatever else may be at the other end.
# Arguments: those of there.sh.
# shellcheck source=tests/board/lib.sh
. "$(dirname "$0")/lib.sh"
there() { echo "pipe:'$agent' --stdio?device=$(echo "$1" | sed 's/?/\&/')"; }
cut_line() { kill -KILL "$(pgrep -f "^$agent --stdio" | head -n 1)"; }
# shellcheck source=tests/board/there.sh
. "$here/there.sh"

# ---- bad lines
bad() { echo "pipe:python3 '$here/relay.py' $1 $2 '$agent' --stdio?device=fsim"; }
vtac run "$model" --device "$(bad slow 400000)" --seed 2 --output-dir slow
exits 0
holds "right over a slow line" sh -c 'cmp slow/*.npy ref2/*.npy'
seed=$(sh "$source/tests/lib/seed.sh" board_pipe)
echo "seed $seed"
size=$(wc -c <"$model")
sent=$(mktemp -d)
for n in 1 2 3 4 5 6; do
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    for mode in cut-to flip-to; do
        # Of the model and what is before it; a cache that is always empty makes sure that it is sent.
        VTAC_CACHE="$sent/$n$mode" vtac run "$model" --device "$(bad $mode $((seed % size)))"
        exits 1
        one_line err
        silent out
        holds "the cache has no broken file" sh -c "! ls $sent/$n$mode/models/* 2>/dev/null"
    done
    for mode in cut-from flip-from; do
        vtac run "$model" --device "$(bad $mode $((seed % 400)))"
        exits 1
        one_line err
        silent out
    done
done
rm -rf "$sent"
nobody "$agent --stdio"

# ---- who is not an agent
fake() {
    vtac exec "$source/isa/programs/tiny.vasm" --device "pipe:python3 '$here/fake.py' $1?patience=${3:-50}"
    refused 1 "$2"
}
fake version "the agent there is of release 9.9.9 and speaks protocol 2"
says err "install the board package of the same release there"
fake huge "a frame of 4294967295 bytes arrives; at most"
fake damaged "a frame arrives damaged"
fake other "arrives instead of the reply to 1 (HELLO)"
fake short "the reply to HELLO makes no sense"
fake status "a reply makes no sense"
fake half "the other side has closed the connection in the middle of a frame"
fake mute "nothing has come for" 2
# Times that are none would make JSON that nobody can read.
for seconds in nan inf -1 1e300; do
    vtac run "$model" --device "pipe:python3 '$here/fake.py' seconds $seconds?patience=50" --steps --json
    refused 1 "the reply to STEPS makes no sense"
done
# A thousand lines of progress at once: one a second is shown, without the sequence that would clear the screen.
vtac exec "$source/isa/programs/tiny.vasm" --device "pipe:python3 '$here/fake.py' flood?patience=50"
exits 1
silent out
says err "arrives instead of the reply"
says err "?[2J progress  0"
holds "a flood is a line a second" test "$(wc -l <err)" -le 20
fake chatty "the other side sends 'Welcome to ?[31mmy b', which is not the protocol of vtac-agent"
# A model there that is said to need 3 * 2^60 bytes here is refused with both numbers. The workspace is there, not here: a
# lie about it is the peer's business, and the run ends where that goes away.
greedy() { vtac run "$model" --device "pipe:python3 '$here/fake.py' greedy $1 $2?patience=50"; }
greedy 0 1152921504606846976
refused 1 "3458764513820540992 bytes of memory are needed for its inputs, outputs and workspace, "
says err " are available; end other programs, or use a machine with more"
greedy 549755813887 2
refused 1 "the other side has closed the connection"
# An output of texts and lists: 116 is a tensor, 540675 the type of texts, 115 a list. What its numbers promise is not there.
parcel() {
    vtac run "$model" --device "pipe:python3 '$here/fake.py' parcel $1?patience=50" --steps
    exits 0
    silent err
    says out "output 'y': $2"
    says out "?]0;title?step?"
    holds "no control character reaches the terminal" sh -c "! LC_ALL=C tr -d '\n\t -~' <out | grep -q ."
    vtac run "$model" --device "pipe:python3 '$here/fake.py' parcel $1?patience=50" --output-dir damaged
    ${3:-refused 1 "it is damaged, or of types of less than 8 bits"}
}
parcel "116 540675 1 1 0x7fffffffffffffff 0" "text[1] (damaged)"
parcel "116 540675 1 1 0x7ffffffffffffff8 0" "text[1] (damaged)"
parcel "116 540675 1 0x1000000000000000 0" "(damaged)"
parcel "115 0x4000000000000000" "(damaged)"
parcel "115 1 115 0x4000000000000000 111" "sequence of 1: (damaged)"
parcel "115 0xffffffffffffffff 111" "(damaged)"
parcel "99 1" "(damaged)"
parcel "116 540675 1 1 4 0x5d1b859b" "text[1] '???]'" "exits 0"
nobody "fake.py"
vtac run "$model" --device "pipe:exit 3"
refused 1 "the other side has closed the connection"
vtac run "$model" --device "pipe:'$work/no-such-agent'"
refused 1 "not found"
vtac run "$model" --device "pipe:"
refused 1 "expected pipe:COMMAND"
vtac run "$model" --device "pipe:'$agent'?patience=x"
refused 1 "expected seconds from 1 to 86400"

# ---- what is not our client, at the agent's end
agent_fails() {
    ran="agent: $1"
    "$agent" --stdio >out 2>err <input
    status=$?
    exits 1
    one_line err
}
head -c 3000 /dev/urandom >input
agent_fails "noise"
printf 'GET / HTTP/1.1\r\n\r\n' >input
agent_fails "another protocol"
printf 'VTAF\001\000\000\000\001\000\000\000\377\377\377\377\000\000\000\000' >input
agent_fails "a huge frame"
printf 'VTAF' >input
agent_fails "a piece of a frame"
: >input
ran="agent: a client that leaves"
"$agent" --stdio >out 2>err <input
status=$?
exits 0
silent out
silent err
"$agent" --version >out 2>err
status=$?
exits 0
says out "vtac-agent "
"$agent" >out 2>err
status=$?
exits 2
finish
