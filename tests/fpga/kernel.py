#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kernel.py ROOT BASE.dtb FAMILY SOURCE VTAC [LACK...]: what a board's kernel does below the folder ROOT, until it is ended.

It shows the device tree BASE, applies overlays that are written below sys/kernel/config/device-tree by fdtoverlay, and
makes devices of what is in the tree then as Linux would: only of nodes below the root or a bus ("simple-bus"), in the
address space of that bus, with an interrupt whose controller is there. A clock runs when somebody consumes it. Registers
and memory are those of `vtac board` when the node has the address at which the bitstream has them, and its clock runs;
else nobody answers. LACK: fclk, afi (no such driver), dma (no memory), slow (nodes appear late), clash (a UIO device has
our interrupt)."""
import json
import os
import re
import struct
import subprocess
import sys
import time

root, base, family, source, vtac = sys.argv[1:6]
lack = set(sys.argv[6:])


class Node:
    def __init__(self, name, parent):
        self.name, self.parent, self.children, self.props = name, parent, [], {}

    def path(self):
        return "" if self.parent is None else self.parent.path() + "/" + self.name

    def all(self):
        yield self
        for child in self.children:
            yield from child.all()

    def cells(self, name, default=None):
        data = self.props.get(name)
        return default if data is None else list(struct.unpack(f">{len(data) // 4}I", data))

    def words(self, name):
        return self.props.get(name, b"").decode().rstrip("\0").split("\0")


def parse(blob):
    structs, strings = struct.unpack(">II", blob[8:16])
    at, node = structs, None
    while True:
        token, = struct.unpack(">I", blob[at:at + 4])
        at += 4
        if token == 1:
            end = blob.index(b"\0", at)
            made = Node(blob[at:end].decode(), node)
            if node is not None:
                node.children.append(made)
            node = made
            at = (end + 4) & ~3
        elif token == 2:
            if node.parent is None:
                return node
            node = node.parent
        elif token == 3:
            size, name = struct.unpack(">II", blob[at:at + 8])
            text = blob[strings + name:blob.index(b"\0", strings + name)].decode()
            node.props[text] = blob[at + 8:at + 8 + size]
            at = (at + 8 + size + 3) & ~3


def put(path, data):
    path = os.path.join(root, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "wb") as out:
        out.write(data if isinstance(data, bytes) else data.encode())
    os.rename(path + ".new", path)


def show(tree):
    for node in tree.all():
        folder = os.path.join(root, "proc/device-tree" + node.path())
        os.makedirs(folder, exist_ok=True)
        for name, data in node.props.items():
            put(os.path.relpath(os.path.join(folder, name), root), data)


def is_bus(node):
    """Its children become devices."""
    return node.parent is None or ("simple-bus" in node.words("compatible") and is_bus(node.parent))


def devices(tree):
    return [n for n in tree.all() if n.parent is not None and is_bus(n.parent) and "compatible" in n.props
            and n.words("status")[0] in ("", "okay", "ok")]


def by_handle(tree, handle):
    return next((n for n in tree.all() if n.cells("phandle") == [handle]), None)


def address_of(node):
    address, size = node.parent.cells("#address-cells", [2])[0], node.parent.cells("#size-cells", [1])[0]
    cells = node.cells("reg", [])
    if len(cells) < address + size:
        return None
    value = 0
    for cell in cells[:address]:
        value = value << 32 | cell
    return value


def interrupt_of(tree, node):
    parent = node
    while parent is not None and "interrupt-parent" not in parent.props:
        parent = parent.parent
    controller = by_handle(tree, parent.cells("interrupt-parent")[0]) if parent is not None else None
    if controller is None or "interrupt-controller" not in controller.props or "interrupts" not in node.props:
        return None
    return tuple(node.cells("interrupts"))


def clock_of(tree, node):
    cells = node.cells("clocks")
    provider = by_handle(tree, cells[0]) if cells else None
    if provider is not None and "fixed-factor-clock" in provider.words("compatible"):
        return clock_of(tree, provider)
    return (provider.name.split("@")[0], cells[1]) if provider is not None else None


def poke(address, mask, value):
    path = os.path.join(root, "dev/mem")
    with open(path, "r+b") as memory:
        memory.seek(address)
        old, = struct.unpack("<I", memory.read(4).ljust(4, b"\0"))
        memory.seek(address)
        memory.write(struct.pack("<I", old & ~mask | value & mask))


AFI = {2 * (port + 2) + way: (0xFD380000 + 0x10000 * port + 0x14 * way, 3) for port in range(4) for way in range(2)} | {14: (0xFD615000, 0xF00)}
CLOCKS = {("clkc", 15): "fclk0", ("clock-controller", 71): "pl0_ref"}


def set_ports(node):
    if "afi" in lack:
        return
    cells = node.cells("config-afi", [])
    for number, value in zip(cells[::2], cells[1::2]):
        poke(*AFI[number], value)
    if "xlnx,afi-width" in node.props:
        for offset in (0, 0x14):
            poke(address_of(node) + offset, 1, node.cells("xlnx,afi-width")[0])


def start_clocks(tree):
    """Those that somebody consumes run; the drivers of ports set them. Returns the clocks that run."""
    rate, running = {}, set()
    for node in devices(tree):
        kinds = node.words("compatible")
        if "assigned-clocks" in node.props:
            provider = by_handle(tree, node.cells("assigned-clocks")[0])
            rate[(provider.name.split("@")[0], node.cells("assigned-clocks")[1])] = node.cells("assigned-clock-rates")[0]
        if "xlnx,fclk" in kinds and "fclk" not in lack:
            running.add(clock_of(tree, node))
        if "xlnx,afi-fpga" in kinds:
            set_ports(node)
    for key, name in CLOCKS.items():
        if key in rate:
            put(f"sys/kernel/debug/clk/{name}/clk_rate", f"{rate[key]}\n")
            put(f"sys/kernel/debug/clk/{name}/clk_enable_count", f"{int(key in running)}\n")
    return running


def seen_of(config, nodes):
    """The accelerators that the bitstream of a configuration has, and a configuration of as many as the tree shows."""
    path = config if os.path.exists(config) else os.path.join(source, "isa", "configs", config + ".json")
    with open(path, encoding="utf-8") as file:
        keys = json.load(file)
    cores = keys.get("CORES", 1)
    if nodes != cores:
        config = os.path.join(root, "seen.json")
        put("seen.json", json.dumps(keys | {"CORES": nodes}))
    return cores, config


def make(tree, running, uio_taken):
    """The devices of a tree with our nodes in it; the process behind them, or None."""
    cores, memory = {}, False
    for node in devices(tree):
        kinds = node.words("compatible")
        if "ikwzm,u-dma-buf" in kinds and "dma" not in lack:
            memory = True
        if "generic-uio" in kinds and node.words("linux,uio-name")[0].startswith("vta"):
            cores[node.words("linux,uio-name")[0]] = node
    interrupts = [interrupt_of(tree, node) for node in cores.values()]
    if "vta" not in cores or None in interrupts or set(interrupts) & uio_taken() or len(set(interrupts)) < len(cores) or not memory:
        return None
    with open(os.path.join(source, "fpga", family, "build.tcl"), encoding="utf-8") as script:
        built_at = int(re.search(r"registers (0x[0-9A-Fa-f]+)", script.read()).group(1), 16)
    built, name = seen_of(os.environ.get("KERNEL_CONFIG", {"zynq7": "pynq", "zynqmp": "ultra96"}[family]), len(cores))
    answers = len(cores) <= built and all(
        address_of(node) == built_at + 0x2000 * int(core[3:] or 0) and clock_of(tree, node) in running for core, node in cores.items())
    if "slow" in lack:
        time.sleep(2)
    return subprocess.Popen([vtac, "board", "--dir", root, "--config", name]
                            + ([] if answers else ["--fault", "dead"]), stdout=subprocess.DEVNULL)


def main():
    with open(base, "rb") as file:
        tree = parse(file.read())
    show(tree)
    put("sys/class/fpga_manager/fpga0/state", "operating\n")
    os.makedirs(os.path.join(root, "sys/kernel/config/device-tree/overlays"), exist_ok=True)
    os.makedirs(os.path.join(root, "dev"), exist_ok=True)
    with open(os.path.join(root, "dev/mem"), "wb") as memory:
        memory.truncate(1 << 32)
    for address, mask in list(AFI.values()) + [(0xF8008000 + 0x1000 * port + 0x14 * way, 1) for port in range(4) for way in range(2)]:
        poke(address, mask, 0xFFFFFFFF)
    # PYNQ's own UIO devices, with their interrupts, until they are unbound.
    theirs = [n for n in devices(tree) if "generic-uio" in n.words("compatible")]
    for i, node in enumerate(theirs):
        put(f"sys/class/uio/uio{i + 4}/name", node.name.split("@")[0] + "\n")
        put(f"sys/class/uio/uio{i + 4}/maps/map0/addr", f"0x{address_of(node):08x}\n")
        device = os.path.join(root, f"sys/devices/{address_of(node):x}.fabric")
        os.makedirs(os.path.join(device, "driver"), exist_ok=True)
        put(os.path.relpath(device, root) + "/driver/unbind", "")
        os.symlink(device, os.path.join(root, f"sys/class/uio/uio{i + 4}/device"))

    def taken():
        held = set()
        for node in theirs:
            path = os.path.join(root, f"sys/devices/{address_of(node):x}.fabric/driver/unbind")
            with open(path, encoding="utf-8") as file:
                if file.read() == "":
                    held.add(interrupt_of(tree, node))
        return held

    overlay = os.path.join(root, "sys/kernel/config/device-tree/overlays/vta")
    process = None
    print("ready", flush=True)
    while True:
        time.sleep(0.02)
        blob = os.path.join(overlay, "dtbo")
        if process is not None and not os.path.isdir(overlay):
            process.terminate()
            process.wait()
            process = None
        if not os.path.isdir(overlay) or os.path.exists(os.path.join(overlay, "status")):
            continue
        if not os.path.exists(blob) or os.path.getsize(blob) == 0:
            continue
        with open(blob, "rb") as file:
            head = file.read(8)
        if len(head) < 8 or struct.unpack(">I", head[4:8])[0] != os.path.getsize(blob):
            continue # still being written
        merged = os.path.join(root, "merged.dtb")
        done = subprocess.run(["fdtoverlay", "-i", base, "-o", merged, blob], check=False, capture_output=True)
        if done.returncode == 0:
            with open(merged, "rb") as file:
                now = parse(file.read())
            show(now)
            clocks = start_clocks(now)
            put(os.path.relpath(overlay, root) + "/status", "applied\n")
            process = make(now, clocks, taken)
        else:
            put(os.path.relpath(overlay, root) + "/status", "unapplied\n")


main()
