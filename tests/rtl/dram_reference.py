#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# dram_reference.py DRAM_DRIVE SOURCES: the simulated DRAM against a model that was written from the rules of dram_queue.h and the
# columns of dram_kinds.def alone. It keeps the history of commands, and asks each rule anew how early a command may be. Every kind
# gets drawn accesses at drawn clocks, twice with different ones; each column access must come at the same picosecond. Then what
# long runs of accesses reach of the peak, against what was measured on boards.
import os
import random
import re
import subprocess
import sys

DRIVE, SOURCES = sys.argv[1:3]
SEED = os.environ.get("VTAC_SEED") or open(os.path.join(SOURCES, "tests/seed.txt"), encoding="ascii").read().split()[-1]
COLUMNS = "rate width burst banks row open cl cwl rcd rp ras rrd faw wr rtp wtr rtw refi rfc port".split()
DEPTH, RUN, MANY = 16, 32, 5

# Percent of the peak: kind, accesses (r, w, m: both by turns), in sequence or not, bytes of each, what was measured, by whom, how
# far the model may be off.
MEASURED = (
    ("ddr3-1050", "r", True, 128, 97, "AMD UG585, DDR Efficiency", 7),
    ("ddr3-1050", "r", False, 128, 92, "AMD UG585, DDR Efficiency", 7),
    ("ddr3-1050", "w", True, 128, 90, "AMD UG585, DDR Efficiency", 7),
    ("ddr3-1050", "w", False, 128, 87, "AMD UG585, DDR Efficiency", 7),
    ("ddr3-1050", "m", True, 128, 87, "AMD UG585, DDR Efficiency", 7),
    ("ddr3-1050", "m", False, 128, 79, "AMD UG585, DDR Efficiency", 7),
    ("lpddr4-1066", "m", True, 128, 92.5, "Manev, Vaishnav, Koch, FPT 2019: an Ultra96", 7),
    ("hbm2e-3200", "r", True, 256, 92.4, "Wang and others, FCCM 2020: 425 of 460 GB/s of an HBM2", 7),
    ("hyperram-400", "r", True, 1024, 97.2, "a datasheet's tCSM: 585 of 600 cycles (electronics.stackexchange.com 560465)", 7),
)


def kinds():
    """The rows of the table."""
    out = {}
    with open(os.path.join(SOURCES, "isa/include/vta/dram_kinds.def"), encoding="ascii") as table:
        for row in re.findall(r'^VTA_DRAM_KIND\(\w+, "([^"]+)", (.*), "', table.read(), re.M):
            out[row[0]] = dict(zip(COLUMNS, (int(word) for word in row[1].split(", "))))
    return out


class Bank:
    """The commands of a bank since its row was opened; `row` None: none is open."""

    def __init__(self):
        self.row, self.opened, self.ready, self.busy = None, 0, 0, []


class Model:
    """One DRAM with its controller."""

    def __init__(self, kind, mhz):
        self.k, self.mhz = kind, mhz
        self.size = kind["burst"] * kind["width"] // 8
        self.time = 1000000 * kind["burst"] // kind["rate"]
        self.banks = [Bank() for _ in range(kind["banks"])]
        self.activates, self.queues, self.log = [], {"r": [], "w": []}, []
        self.way, self.run, self.data_end, self.refreshes = "r", 0, 0, 0

    def row_of(self, addr, way):
        if self.k["open"]:
            return addr // self.k["row"] // self.k["banks"]
        return (addr, way)

    def may_precharge(self, bank):
        return max([bank.opened + self.k["ras"]] + bank.busy)

    def refresh(self, now):
        while self.k["refi"] and (self.refreshes + 1) * self.k["refi"] <= now:
            self.refreshes += 1
            due = self.refreshes * self.k["refi"]
            if due + self.k["refi"] <= now:
                continue  # the next one comes before anything else does
            begin = max([due] + [b.ready if b.row is None else self.may_precharge(b) + self.k["rp"] for b in self.banks])
            for b in self.banks:
                b.row, b.busy, b.ready = None, [], begin + self.k["rfc"]

    def activate(self, bank, row, arrived):
        rules = [max(self.may_precharge(bank), arrived) + self.k["rp"] if bank.row is not None else max(bank.ready, arrived)]
        rules += [self.activates[-1] + self.k["rrd"]] if self.activates else []
        rules += [self.activates[-4] + self.k["faw"]] if len(self.activates) > 3 else []
        bank.row, bank.opened, bank.busy = row, max(rules), []
        self.activates.append(bank.opened)

    def choose(self):
        other = "w" if self.way == "r" else "r"
        if self.queues[self.way] and not (self.queues[other] and self.run >= RUN):
            return self.way
        return other if self.queues[other] else None

    def step(self, now, until):
        """One command in this cycle; False: none."""
        way = self.choose()
        if way is None:
            return False
        self.refresh(now)
        request = self.queues[way][0]
        number, addr, last, arrived, done = request
        bank = self.banks[addr // self.k["row"] % self.k["banks"]]
        if bank.row != self.row_of(addr, way):
            self.activate(bank, self.row_of(addr, way), arrived)
        latency = self.k["cl"] if way == "r" else self.k["cwl"]
        rules = [now, bank.opened + self.k["rcd"], self.data_end - latency]
        if way == "r" and self.way == "w":
            rules.append(self.data_end + self.k["wtr"])
        if way == "w" and self.way == "r":
            rules.append(self.data_end + self.k["rtw"] - latency)
        at = max(rules)
        if at >= until:
            return False
        self.run = self.run + 1 if way == self.way else 1
        self.way, self.data_end = way, at + latency + self.time
        bank.busy.append(self.data_end + self.k["wr"] if way == "w" else at + self.k["rtp"])
        if not self.k["open"]:
            bank.busy.append(self.data_end)
            bank.row = self.row_of(addr + self.size, way)
        self.log.append((number, done, self.data_end + self.k["port"]))
        request[1], request[4] = addr + self.size, done + 1
        if addr == last:
            self.queues[way].pop(0)
        return True

    def play(self, accesses):
        at = cycle = 0
        while at < len(accesses) or self.queues["r"] or self.queues["w"]:
            now, until = cycle * 1000000 // self.mhz, (cycle + 1) * 1000000 // self.mhz
            while at < len(accesses) and accesses[at][0] <= cycle and len(self.queues[accesses[at][1]]) < DEPTH:
                _, way, addr, count = accesses[at]
                first, last = addr // self.size * self.size, (addr + count - 1) // self.size * self.size
                self.queues[way].append([at, first, last, now, 0])
                at += 1
            while self.step(now, until):
                pass
            cycle += 1
        return self.log


def drive(kind, mhz, accesses):
    """The same by the simulator."""
    text = "".join("%d %s %d %d\n" % access for access in accesses)
    done = subprocess.run([DRIVE, kind, str(mhz)], input=text, stdout=subprocess.PIPE, universal_newlines=True, check=True)
    return [tuple(int(word) for word in line.split()) for line in done.stdout.splitlines()[:-1]]


def draw(rnd):
    """Accesses near each other and far apart, dense and with rests, of one kind and mixed."""
    out, cycle, places = [], 0, [rnd.randrange(1 << 24) for _ in range(3)]
    writes, rest, short = rnd.choice((0, 10, 50, 100)), rnd.choice((0, 5, 200, 3000)), rnd.choice((64, 512, 4096))
    for _ in range(rnd.randrange(50, 300)):
        size = rnd.randrange(1, short + 1)
        which = rnd.randrange(3)
        if rnd.randrange(4) == 0:
            places[which] = rnd.randrange(1 << 24)
        out.append((cycle, "w" if rnd.randrange(100) < writes else "r", places[which], size))
        places[which] += size
        cycle += rnd.randrange(rest + 1) if rnd.randrange(3) == 0 else 0
    return out


def compare(name, kind, rnd):
    mhz, accesses = rnd.choice((50, 100, 112, 200, 333, 600)), draw(rnd)
    ours, theirs = Model(kind, mhz).play(accesses), drive(name, mhz, accesses)
    for i, (a, b) in enumerate(zip(ours, theirs)):
        if a != b:
            sys.exit("%s at %d MHz: command %d is (access, column, time) %s here and %s there, seed %s" % (name, mhz, i, a, b, SEED))
    if len(ours) != len(theirs):
        sys.exit("%s at %d MHz: %d commands here and %d there, seed %s" % (name, mhz, len(ours), len(theirs), SEED))
    return len(ours)


def share_of_peak(name, kind, ways, in_order, size):
    rnd, place, accesses = random.Random(1), {"r": 0, "w": (1 << 26) + 3 * kind["row"]}, []
    for i in range(3000):
        way = ways if ways != "m" else "rw"[i % 2]
        accesses.append((0, way, place[way] if in_order else rnd.randrange(1 << 28) // size * size, size))
        place[way] += size
    last = max(at for _, _, at in drive(name, 500, accesses))
    return 100 * len(accesses) * size / last * 1e6 / (kind["rate"] * kind["width"] / 8)


def main():
    rnd, table, good = random.Random(SEED), kinds(), True
    print("seed %s, %d kinds" % (SEED, len(table)))
    for name, kind in table.items():
        print("%-14s %d column accesses at the same times" % (name, sum(compare(name, kind, rnd) for _ in range(MANY))))
    for name, ways, in_order, size, measured, source, most in MEASURED:
        reached = share_of_peak(name, table[name], ways, in_order, size)
        good = good and abs(reached - measured) <= most
        words = {"r": "reads", "w": "writes", "m": "reads and writes"}[ways] + (" in order" if in_order else " at random")
        print("%-14s %-28s %4d bytes: %.1f %% of the peak, measured %.1f %% (%s)" % (name, words, size, reached, measured, source))
    return 0 if good and len(table) > 5 else 1


sys.exit(main())
