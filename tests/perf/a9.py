# SPDX-License-Identifier: Apache-2.0
#
# a9.py COUNTED MODEL.so|- URI [--json]: what one run costs the processor of a PYNQ board, by a model and not by a clock: no
# load of this machine shows in it. qemu-arm tells each instruction that COUNTED (counted.c, for ARM) executes in a run on a
# virtual board; llvm-mca, with LLVM's model of the Cortex-A9's pipelines (which follows ARM's reference manuals DDI 0388 and
# DDI 0409), says how many cycles that sequence takes with all data in the nearest cache. What it cannot know is added:
#   a system call       1.0 us  (lmbench on Cortex-A9 of 650 to 1000 MHz gives 0.3 us for the shortest, 1.5 us for a lock)
#   a wake-up           5.0 us  from the interrupt to the waiting program (the same, two processes that switch)
#   a register          0.15 us read or written over the general-purpose port at 100 MHz: about 15 of its cycles
#   a line of 32 bytes  30 cycles where caches are synced: a maintenance by address in both levels; 25 cycles more for one of
#                       the input, which comes from the second level
# Waiting is not counted: what lies between a sleep's end and the next sleep, and until a virtual board has taken a command, which
# a board does at once (the driver looks at the thread's clock before and after that).
import argparse
import collections
import json
import re
import subprocess
import sys

MHZ = 650.0
CALL_US, WAKE_US, REGISTER_US = 1.0, 5.0, 0.15
SYNC_CYCLES, FILL_CYCLES, LINE = 30, 25, 32
MCA = "llvm-mca-19 -mtriple=armv7-linux-gnueabihf -mcpu=cortex-a9 -mattr=+neon,+vfp3 -iterations=1 -resource-pressure=0 -instruction-info=0 -skip-unsupported-instructions=any -"


def trace(command):
    """The program counters between the two calls of getppid, without those of waiting; texts of instructions; system calls."""
    text, run, calls = {}, [], []
    marks, waiting, untaken = 0, False, False
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, errors="replace")
    other = []
    for line in process.stderr:
        if line.startswith("Trace"):
            if marks == 1 and not waiting:
                at = line.index("/") + 1
                run.append(line[at:at + 8])
        elif line.startswith("0x"):
            pc, _, rest = line.partition(":")
            text[pc[2:]] = rest.strip()
        elif re.match(r"\d+ \w+\(", line):
            name = re.sub(r"^\d+ ", "", line)
            marks += name.startswith("getppid")
            if name.startswith("clock_gettime64(CLOCK_THREAD"):
                untaken = not untaken
                waiting = untaken
            elif marks == 1 and not untaken and not name.startswith("getppid"):
                asleep = re.match(r"poll\(\d+,1,[1-9].*= 0$|(clock_)?nanosleep", name) is not None
                waiting = asleep or (waiting and name.startswith("clock_gettime"))
                if not waiting:
                    calls.append(name.strip())
        elif line.strip() and not line.startswith(("IN:", "---")):
            other.append(line)
    if process.wait() != 0 or marks != 2:
        sys.exit("a9.py: %s failed: %s" % (command[-3], "".join(other[-3:])))
    return run, text, calls, [int(word) for word in process.stdout.read().split()]


def registers(words):
    """Reads of registers have a barrier behind them, writes one on each side."""
    barriers = [i for i, word in enumerate(words) if word.startswith("dsb")]
    writes = sum(1 for a, b in zip(barriers, barriers[1:]) if b - a <= 3 and any(w.startswith("str") for w in words[a:b]))
    return len(barriers) - writes


def as_known(words):
    """An instruction as LLVM reads it, or some of the same cost: transfers of many registers go two at a time."""
    name, _, rest = words.partition(" ")
    base = name.split(".")[0]
    rest = rest.strip()
    if re.match(r"(push|pop|ldm|stm|vpush|vpop|vldm|vstm)", base):
        count = rest.count(",") + 1 + 8 * rest.count("-")
        load = "pop" in base or "ldm" in base
        return [("ldr r0, [sp]" if load else "str r0, [sp]")] * max(1, count // 2)
    if re.match(r"(b|bl|bx|blx|cb|cbz|cbnz|svc|it|tb|dsb|dmb|isb|mrc|pld)[a-z]*$", base) and not base.startswith("bic"):
        return ["b #8"]
    rest = re.sub(r":0x([0-9a-f]+)\]", lambda m: ":%d]" % int(m.group(1), 16), rest)
    return [name + " " + rest]


def pipeline(words):
    """Cycles of the sequence by llvm-mca; an instruction that it does not know takes one."""
    lines = [known for word in words for known in as_known(word)]
    said = subprocess.run(MCA.split(), input="\n".join([".syntax unified", ".arm"] + lines) + "\n", capture_output=True, text=True)
    if said.returncode != 0:
        sys.exit("a9.py: llvm-mca: " + said.stderr[-300:])
    found = {key: int(re.search(key + r":\s+(\d+)", said.stdout).group(1)) for key in ("Total Cycles", "Instructions")}
    return found["Total Cycles"] + len(lines) - found["Instructions"]


LETTERS = (("clock_gettime", "M"), ("fcntl", "F"), ("poll", "P"), ("write", "W"), ("read", "R"))


def of_a_board(calls):
    """The calls that a board's kernel sees, as letters. A virtual board acknowledges what is synced through a FIFO, for one
    process at a time: a board needs one write for it."""
    letters = "".join(next((letter for begin, letter in LETTERS if call.startswith(begin)), "o") for call in calls)
    return re.sub(r"FR+WP?R*F", "W", letters)


def tell_hot(run, text, least):
    counts = collections.Counter(run)
    for pc in sorted(counts):
        if counts[pc] >= least:
            print("%8d  %s  %s" % (counts[pc], pc, text[pc]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("counted")
    parser.add_argument("model")
    parser.add_argument("uri")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--hot", type=int, help="list the instructions that ran so often or more")
    args = parser.parse_args()
    run, text, calls, moved = trace(["qemu-arm", "-L", "/usr/arm-linux-gnueabihf", "-cpu", "cortex-a9", "-singlestep", "-d", "exec,nochain,in_asm,strace",
                              args.counted, args.model, args.uri])
    words = [re.sub(r"^[0-9a-f]{4,8}( [0-9a-f]{4})?\s+", "", text[pc]) for pc in run]
    seen = of_a_board(calls)
    wakes = sum(1 for call in calls if call.startswith("write") and call.endswith("= 4"))  # interrupts switched on
    parts = {
        "instructions": len(words),
        "pipeline_us": pipeline(words) / MHZ,
        "calls": len(seen),
        "calls_us": CALL_US * len(seen),
        "wake_us": WAKE_US * wakes,
        "registers_us": REGISTER_US * registers(words),
        "caches_us": (moved[0] * FILL_CYCLES + moved[1] * SYNC_CYCLES) / LINE / MHZ,
    }
    parts["host_us"] = sum(value for key, value in parts.items() if key.endswith("_us"))
    if args.hot:
        tell_hot(run, text, args.hot)
    if args.json:
        print(json.dumps(parts))
    else:
        for key, value in parts.items():
            print("%-14s %10.1f" % (key, value))
        print("calls in turn: " + seen)


main()
