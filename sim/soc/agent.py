#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""agent.py SOURCE BUILD CONFIG[?cycles=N&wait=N&memory=sdram]: the other end of `--device soc:CONFIG`.

Talks like vtac-agent (driver/include/vta/wire.h) over standard input and output. A model is an object of `vtac compile --host rv32im`;
it is linked with runtime/baremetal/soc/serve.c and runs on the whole machine of hw/soc, simulated by Verilator. Each run starts the
machine anew. Simulators are built once for each configuration, into the user's cache."""

import fcntl
import hashlib
import os
import pathlib
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib

PROTOCOL, MOST, HEADER = 1, 1 << 20, 20
HELLO, REPLY, PROGRESS, ALIVE, INTERRUPT, DOCTOR, OPEN = 1, 2, 3, 4, 5, 6, 16
FILE_BEGIN, FILE_DATA, FILE_END, MODEL_OPEN, INPUT, OUTPUT, MODEL_RUN, STEPS, LAYERS = 32, 33, 34, 35, 36, 37, 38, 39, 40
OK, IO, INVALID, UNSUPPORTED, RANGE, TIMEOUT, NO_DEVICE, PROTOCOL_ERROR, INTERRUPTED = 0, 2, 3, 5, 6, 10, 13, 14, 15
BASE, MEMORY, INPUTS, ARENA, EACH = 0x8000_0000, 32 << 20, 4 << 20, 4 << 20, 64
CLOCK_HZ = 37500000
COMPILER = "riscv64-unknown-elf-gcc"
FLAGS = """-mabi=ilp32 -mstrict-align --specs=picolibc.specs -std=gnu17 -O2 -Wall -Wextra -Werror -ffunction-sections
-fdata-sections""".split()


class Failure(Exception):
    def __init__(self, status, text, told=""):
        super().__init__(text)
        self.status, self.told = status, told


# ---- frames


class Gone(Exception):
    """The client has closed."""


def read_exactly(size):
    data = b""
    while len(data) < size:
        piece = os.read(0, size - len(data))
        if not piece:
            raise Gone
        data += piece
    return data


def receive():
    header = read_exactly(HEADER)
    magic, kind, _, number, size, check = struct.unpack("<4sHHIII", header)
    if magic != b"VTAF" or size > MOST:
        raise Gone
    content = read_exactly(size)
    if zlib.crc32(header[:16] + content) != check:
        raise Gone
    return kind, number, content


def send(kind, number, content=b""):
    header = struct.pack("<4sHHII", b"VTAF", kind, 0, number, len(content))
    data = header + struct.pack("<I", zlib.crc32(header + content)) + content
    while data:
        data = data[os.write(1, data) :]


class Content:
    def __init__(self, data):
        self.data = data

    def take(self, layout):
        size = struct.calcsize(layout)
        if size > len(self.data):
            raise Failure(PROTOCOL_ERROR, "a request that is too short")
        values, self.data = struct.unpack_from(layout, self.data), self.data[size:]
        return values if len(values) > 1 else values[0]

    def bytes(self):
        return self.take(f"{self.take('<I')}s")

    def text(self):
        return self.bytes().rstrip(b"\0").decode(errors="replace")


def packed(data):
    return struct.pack("<I", len(data)) + data


def text(value):
    return packed(value.encode() + b"\0")


def numbers(layout, *values):
    return struct.pack("<" + layout, *values)


# ---- the machine


def one_line(data):
    lines = [line for line in data.decode(errors="replace").splitlines() if line.strip()]
    telling = [line for line in lines if "rror" in line] or lines or ["it says nothing"]
    return telling[0].strip()[:300]


class Machine:
    """The simulator of a configuration, and programs for it."""

    def __init__(self, source, build, name, agent):
        self.source, self.build, self.agent = pathlib.Path(source), pathlib.Path(build), agent
        self.name, _, query = name.partition("?")
        self.options, self.sdram = {"cycles": 4000000000, "wait": 20}, 0
        for pair in filter(None, query.split("&")):
            key, _, value = pair.partition("=")
            if pair == "memory=sdram":
                self.sdram = self.options["sdram"] = 1
            elif key in self.options and value.isdigit():
                self.options[key] = int(value)
            else:
                expected = "cycles=N (the longest run), wait=N (cycles to memory's first beat) or memory=sdram"
                raise Failure(INVALID, f"option '{pair}': expected {expected}")
        cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
        self.cache = pathlib.Path(cache) / "vtac" / "soc"

    def config(self):
        if "/" in self.name or self.name.endswith(".json"):
            path = pathlib.Path(self.name)
        else:
            folders = (self.source / "isa/configs", self.source / "fpga/ecp5")
            path = next((p for p in (f / f"{self.name}.json" for f in folders) if p.exists()), None)
            if path is None:
                known = sorted(p.stem for f in folders for p in f.glob("*.json"))
                raise Failure(INVALID, f"no configuration is called '{self.name}' (there are {', '.join(known)}; a file has a '/')")
        if not path.is_file():
            raise Failure(INVALID, f"there is no file '{path}'")
        return path.resolve()

    def need(self, *programs):
        for program, package in programs:
            if shutil.which(program) is None:
                raise Failure(NO_DEVICE, f"there is no '{program}' here; install {package}")

    def run(self, words, status=IO, limit=None, **how):
        """What a program wrote, with the client kept informed; it ends when the client wants that."""
        with tempfile.TemporaryFile() as out, subprocess.Popen(
            list(map(str, words)), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True, **how
        ) as process:
            try:
                self.agent.wait(process, limit)
            except BaseException:
                os.killpg(process.pid, 9)
                raise
            out.seek(0)
            told = out.read()
        if process.returncode != 0:
            raise Failure(status, f"{pathlib.Path(words[0]).name}: {one_line(told)}", told.decode(errors="replace"))
        return told.decode(errors="replace")

    def parameters(self):
        return subprocess.run(
            [self.build / "bin/vta-params", "verilator", self.config()], capture_output=True, text=True, check=True
        ).stdout.split()

    def simulator(self):
        self.need(("verilator", "verilator"), ("g++", "g++"))
        source, words = self.source, [*self.parameters(), f"-GLOG_MEMORY={MEMORY.bit_length() - 1}", f"-GSDRAM={int(self.bus() == 8)}"]
        if self.sdram and self.bus() != 8:
            raise Failure(INVALID, f"the SDRAM's controller has a bus of 64 bits, '{self.name}' one of {8 * self.bus()}")
        files = [*sorted((source / "hw/soc").glob("*.v")), source / "hw/soc/tb/soc_top_tb.v", source / "hw/soc/tb/soc_sdram_cells.v", *sorted((source / "hw/rtl").rglob("*.v"))]
        files.append(source / "tests/soc/tick.cpp")
        headers = [source / "hw/include", self.build / "vh"]
        key = hashlib.sha256(" ".join(words).encode())
        for path in [*files, *(p for folder in headers for p in sorted(folder.glob("*.vh")))]:
            key.update(path.read_bytes())
        folder = self.cache / key.hexdigest()[:16]
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / "machine").exists():
                self.agent.tell(f"building the machine of '{self.name}', once")
                how = "--cc --exe --build -j 2 -O3 --x-assign fast --x-initial fast --no-timing -Wno-fatal -Wno-lint -Wno-style -CFLAGS -O2"
                where = ["--top-module", "soc_top_tb", "--Mdir", folder / "build", *(f"-I{p}" for p in headers)]
                self.run(["verilator", *how.split(), *where, *words, *files])
                os.replace(folder / "build/Vsoc_top_tb", folder / "machine")
                shutil.rmtree(folder / "build")
        return folder / "machine"

    def library(self):
        """Runtime and driver for the machine, as the sources are now."""
        self.need((COMPILER, "gcc-riscv64-unknown-elf"), ("cmake", "cmake"), ("ninja", "ninja-build"))
        folder = self.build / "cross/rv32im"
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / "build.ninja").exists():
                cross = f"-DCMAKE_TOOLCHAIN_FILE={self.source / 'fpga/cross/rv32im.cmake'}"
                self.run(["cmake", "-S", self.source, "-B", folder, "-G", "Ninja", cross])
            self.run(["ninja", "-C", folder])
        return folder / "lib/libvta.a"

    def link(self, model, folder):
        """The program around a model, as bytes from BASE on."""
        library, soc = self.library(), self.source / "runtime/baremetal/soc"
        includes = [f"-I{self.source / part / 'include'}" for part in ("runtime", "driver", "isa", "isa/base")]
        (folder / "model.o").write_bytes(model)
        compile_ = [COMPILER, *FLAGS, *includes]
        self.run([*compile_, "-march=rv32im_zicsr", "-c", soc / "board.c", "-o", folder / "board.o"])
        defined = [f"-Wl,--defsym=ram_bytes={MEMORY}", f"-Wl,--defsym=inputs_bytes={INPUTS}"]
        parts = [soc / "serve.c", soc / "memory.c", folder / "board.o", folder / "model.o", library, "-lm", "-nostartfiles"]
        try:
            self.run(
                [*compile_, "-march=rv32im", f"-DARENA_BYTES={ARENA}", *parts, "-T", soc / "soc.ld", *defined, "-Wl,--gc-sections"]
                + ["-Wl,--no-warn-rwx-segments", "-o", folder / "program"]
            )
        except Failure as failure:
            beyond = re.search(r"overflowed by (\d+) bytes|larger than the memory", failure.told)
            if beyond:
                more = f" by {beyond[1]} bytes" if beyond[1] else ""
                raise Failure(RANGE, f"the model is larger{more} than the {MEMORY >> 20} MiB of the machine less its program's") from failure
            raise
        self.run(["riscv64-unknown-elf-objcopy", "-O", "binary", folder / "program", folder / "program.bin"])
        return (folder / "program.bin").read_bytes()

    def bus(self):
        return 1 << int(next(word.split("=")[1] for word in self.parameters() if word.startswith("-GLOG_BUS_BYTES=")))

    def beats(self, data, path):
        size = self.bus()
        with open(path, "w", encoding="ascii") as file:
            for at in range(0, len(data), size):
                file.write(data[at : at + size].ljust(size, b"\0")[::-1].hex() + "\n")
        return (MEMORY - INPUTS) // size

    def start(self, simulator, folder, inputs, limit):
        """Lines of words that the program wrote."""
        at = self.beats(inputs, folder / "inputs")
        words = [simulator, f"+image={folder / 'image'}", f"+inputs={folder / 'inputs'}", f"+inputs_at={at}"]
        told = self.run([*words, *(f"+{key}={value}" for key, value in self.options.items())], limit=limit, cwd=folder)
        lines = told.splitlines()
        failed = next((line for line in lines if line.startswith("failed: ")), None)
        if failed is not None:
            raise Failure(INVALID, failed[len("failed: ") :])
        if "done" not in lines:
            end = next((line for line in lines if line.startswith("no end")), one_line(told.encode()))
            raise Failure(TIMEOUT, f"the program did not end within {self.options['cycles']} cycles ({end}); '?cycles=N' gives it more")
        return [line.split() for line in lines if re.fullmatch(r"[NIOSLRTCY]( \S+)+", line)]


def word_bytes(word):
    return b"" if word == "-" else bytes.fromhex(word)


def texts(words):
    return b"".join(packed(word_bytes(word) + b"\0") for word in words)


def tensor(words):
    values = [int(word, 16) for word in words[2:]]
    return texts(words[1:2]) + numbers("IIQI", *values[:4]) + numbers(f"{len(values) - 4}Q", *values[4:])


class Agent:
    def __init__(self, source, build, config):
        self.number, self.heard = 0, time.monotonic()
        self.machine = Machine(source, build, config, self)
        self.file = self.model = None

    # ---- while something takes long

    def tell(self, line):
        send(PROGRESS, self.number, text(line))

    def wait(self, process, limit):
        begin = time.monotonic()
        told = begin
        while process.poll() is None:
            ready, _, _ = select.select([0], [], [], 0.05)
            now = time.monotonic()
            if ready:
                kind, _, _ = receive()
                raise Failure(INTERRUPTED, "interrupted") if kind == INTERRUPT else Gone
            if limit and now - begin > limit:
                raise Failure(TIMEOUT, f"no end after {limit:g} s")
            if now - told > 5:
                told = now
                send(ALIVE, 0)

    # ---- requests

    def hello(self, content):
        content.take("<I")
        return numbers("I", PROTOCOL) + text(content.text()) + text("rv32im")

    def doctor(self, _):
        rows = []
        for name, find in (("configuration", self.machine.config), ("machine", self.machine.simulator), ("programs", self.machine.library)):
            try:
                rows.append((0, name, str(find())))
            except Failure as failure:
                rows.append((2, name, str(failure)))
        return numbers("I", len(rows)) + b"".join(numbers("I", outcome) + text(name) + text(found) for outcome, name, found in rows)

    def open(self, _):
        raise Failure(UNSUPPORTED, "it runs models, objects of 'vtac compile --host rv32im', and no programs of the accelerator alone; tsim does")

    def file_begin(self, content):
        content.take("<Q")
        self.file = bytearray(min(content.take("<Q"), 1 << 30))
        return numbers("I", 0)

    def file_data(self, content):
        at, data = content.take("<Q"), content.bytes()
        if self.file is None or at + len(data) > len(self.file):
            raise Failure(PROTOCOL_ERROR, "data beyond its file")
        self.file[at : at + len(data)] = data
        return b""

    def file_end(self, _):
        return b""

    def model_open(self, content):
        content.take("<QQI")
        content.text()
        self.limit = content.take("<d")
        data = bytes(self.file or b"")
        if data[:6] != b"\x7fELF\x01\x01" or struct.unpack_from("<HH", data.ljust(20, b"\0"), 16) != (1, 243):
            how = f"'vtac compile MODEL --host rv32im --target vta --config {self.machine.name} -o MODEL.o'"
            raise Failure(INVALID, f"this is no object for the machine's processor; {how} makes one")
        self.folder = tempfile.TemporaryDirectory(prefix="vtac-soc-")
        folder = pathlib.Path(self.folder.name)
        self.simulator = self.machine.simulator()
        self.machine.beats(self.machine.link(data, folder), folder / "image")
        self.tell("the machine opens the model")
        lines = self.machine.start(self.simulator, folder, bytes(EACH), self.limit)
        rows = {letter: [line for line in lines if line[0] == letter] for letter in "NIOSL"}
        self.inputs = [bytearray(int(row[4], 16)) for row in rows["I"]]
        self.outputs, self.steps, self.layers = [b""] * len(rows["O"]), [], []
        self.accelerated = [row[4] == "1" for row in rows["S"]]
        needed = EACH + sum(-(-len(data) // EACH) * EACH for data in self.inputs)
        if needed > INPUTS:
            raise Failure(RANGE, f"its inputs take {needed} bytes, for which the machine has {INPUTS}")
        device = f"soc:{self.machine.name}"
        out = texts(rows["N"][0][1:2]) + text(device) + numbers("Q", int(rows["N"][0][2], 16))
        for letter in "IO":
            out += numbers("I", len(rows[letter])) + b"".join(map(tensor, rows[letter]))
        out += numbers("I", len(rows["S"]))
        for row in rows["S"]:
            out += texts(row[1:3]) + numbers("IIQQ", *(int(word, 16) for word in row[3:]))
        out += numbers("I", len(rows["L"]))
        for row in rows["L"]:
            out += texts(row[1:5]) + numbers("IIIQQQQ", *(int(word, 16) for word in row[5:]))
        self.model = data
        return out

    def input(self, content):
        index, at = content.take("<IQ")
        data = content.bytes()
        if self.model is None or index >= len(self.inputs) or at + len(data) > len(self.inputs[index]):
            raise Failure(RANGE, f"{len(data)} bytes at {at} are not in input {index}")
        self.inputs[index][at : at + len(data)] = data
        return b""

    def output(self, content):
        index, at, size = content.take("<IQI")
        if self.model is None or index >= len(self.outputs) or at + size > len(self.outputs[index]):
            raise Failure(RANGE, f"{size} bytes at {at} are not in output {index}")
        return packed(self.outputs[index][at : at + size])

    def model_run(self, _):
        if self.model is None:
            raise Failure(PROTOCOL_ERROR, "no model is open")
        data = b"\x01".ljust(EACH, b"\0") + b"".join(bytes(each).ljust(-(-len(each) // EACH) * EACH, b"\0") for each in self.inputs)
        lines = self.machine.start(self.simulator, pathlib.Path(self.folder.name), data, self.limit)
        values = {letter: [[int(word, 16) for word in line[1:]] for line in lines if line[0] == letter] for letter in "RTC"}
        self.outputs = [word_bytes(line[1]) for line in lines if line[0] == "Y"]
        self.steps, self.layers = values["T"], values["C"]
        return b""

    def rows(self, rows, content, encode):
        first = content.take("<I")
        here = rows[first : first + 4096]
        return numbers("II", len(rows), len(here)) + b"".join(encode(row) for row in here)

    def step_rows(self, content):
        """A step's cycles are the machine's: they sum to the run's."""
        return self.rows(self.steps, content, lambda row: numbers("dQ", row[0] / CLOCK_HZ, row[0]))

    def layer_rows(self, content):
        return self.rows(self.layers, content, lambda row: numbers(f"{len(row)}Q", *row))

    def answer(self, kind, content):
        kinds = {HELLO: self.hello, DOCTOR: self.doctor, OPEN: self.open, FILE_BEGIN: self.file_begin, FILE_DATA: self.file_data}
        kinds |= {FILE_END: self.file_end, MODEL_OPEN: self.model_open, INPUT: self.input, OUTPUT: self.output}
        kinds |= {MODEL_RUN: self.model_run, STEPS: self.step_rows, LAYERS: self.layer_rows}
        try:
            if kind not in kinds:
                raise Failure(UNSUPPORTED, "the machine of hw/soc runs models and nothing else")
            return numbers("I", OK) + text("") + kinds[kind](Content(content))
        except Failure as failure:
            return numbers("I", failure.status) + text(str(failure))
        except (OSError, subprocess.SubprocessError) as error:
            return numbers("I", IO) + text(str(error))

    def serve(self):
        try:
            while True:
                kind, self.number, content = receive()
                if kind != INTERRUPT:
                    send(REPLY, self.number, self.answer(kind, content))
        except (Gone, BrokenPipeError):
            pass


def main():
    try:
        Agent(*sys.argv[1:4]).serve()
    except Failure as failure:
        sys.exit(str(failure))


if __name__ == "__main__":
    main()
