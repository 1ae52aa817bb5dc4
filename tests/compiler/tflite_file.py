# SPDX-License-Identifier: Apache-2.0
#
# TensorFlow Lite files for tests: what a file says, a copy of it whose outputs are all its operators' results, and
# a writer of small models. Flatbuffers after their specification, field numbers after TensorFlow Lite's schema.
import struct

import numpy

TYPES = {"float32": 0, "float16": 1, "int32": 2, "uint8": 3, "int64": 4, "bool": 6, "int16": 7, "int8": 9, "float64": 10, "complex64": 8, "resource": 13}
NAMES = {v: k for k, v in TYPES.items()}


# ---- reading

class File:
    def __init__(self, data):
        self.data = bytearray(data)
        self.root = self.u32(0)
        graph = self.items(self.root, 2)[0]
        self.graph = graph
        codes = [max(self.scalar(c, 0, "<b"), self.scalar(c, 3, "<i")) for c in self.items(self.root, 1)]
        self.tensors = []
        for t in self.items(graph, 0):
            self.tensors.append((self.text(t, 3), NAMES.get(self.scalar(t, 1, "<b")), self.ints(t, 0), self.scalar(t, 2, "<I")))
        self.ops = [(codes[self.scalar(o, 0, "<I")], self.ints(o, 1), self.ints(o, 2)) for o in self.items(graph, 3)]
        self.inputs, self.outputs = self.ints(graph, 1), self.ints(graph, 2)

    def u32(self, at):
        return struct.unpack_from("<I", self.data, at)[0]

    def field(self, table, n):
        vtable = table - struct.unpack_from("<i", self.data, table)[0]
        if 4 + 2 * n >= struct.unpack_from("<H", self.data, vtable)[0]:
            return 0
        offset = struct.unpack_from("<H", self.data, vtable + 4 + 2 * n)[0]
        return table + offset if offset else 0

    def scalar(self, table, n, kind):
        at = self.field(table, n)
        return struct.unpack_from(kind, self.data, at)[0] if at else 0

    def vector(self, table, n):
        at = self.field(table, n)
        at = at + self.u32(at) if at else 0
        return (at + 4, self.u32(at)) if at else (0, 0)

    def items(self, table, n):
        at, count = self.vector(table, n)
        return [at + 4 * i + self.u32(at + 4 * i) for i in range(count)]

    def ints(self, table, n):
        at, count = self.vector(table, n)
        return list(struct.unpack_from("<%di" % count, self.data, at))

    def text(self, table, n):
        at, count = self.vector(table, n)
        return bytes(self.data[at:at + count]).decode()

    def showing(self, outputs):
        """A copy with these tensors as outputs, and without the names of a signature."""
        data = bytearray(self.data)
        data += b"\0" * (-len(data) % 4)
        at = self.field(self.graph, 2)
        struct.pack_into("<I", data, at, len(data) - at)
        data += struct.pack("<I%di" % len(outputs), len(outputs), *outputs)
        vtable = self.root - struct.unpack_from("<i", data, self.root)[0]
        if struct.unpack_from("<H", data, vtable)[0] > 4 + 2 * 7:
            struct.pack_into("<H", data, vtable + 4 + 2 * 7, 0)
        return bytes(data)


# ---- writing: a table is {field: value}, a value (kind, number), bytes, str, a list of numbers (kind, [...]) or of tables

WIDTH = {"b": 1, "B": 1, "?": 1, "h": 2, "i": 4, "I": 4, "f": 4, "q": 8, "Q": 8}


def serialize(root, identifier=b"TFL3"):
    out = bytearray(8)
    out[4:8] = identifier
    queue = [(root, 0)]

    def align(to, ahead=0):
        out.extend(b"\0" * (-(len(out) + ahead) % to))

    while queue:
        value, hole = queue.pop(0)
        if isinstance(value, dict):
            fields = max(value) + 1 if value else 0
            inline = {n: (v[0] if isinstance(v, tuple) and not isinstance(v[1], list) else "I") for n, v in value.items()}
            offset, places = 4, {}
            for n in sorted(inline, key=lambda n: -WIDTH[inline[n]]):
                width = WIDTH[inline[n]]
                offset += -offset % width
                places[n] = offset
                offset += width
            align(8)
            vtable = len(out)
            out.extend(struct.pack("<HH", 4 + 2 * fields, offset))
            for n in range(fields):
                out.extend(struct.pack("<H", places.get(n, 0)))
            align(8)
            at = len(out)
            out.extend(bytes(offset))
            struct.pack_into("<i", out, at, at - vtable)
            for n, v in value.items():
                if isinstance(v, tuple) and not isinstance(v[1], list):
                    struct.pack_into("<" + v[0], out, at + places[n], v[1])
                else:
                    queue.append((v, at + places[n]))
        elif isinstance(value, (bytes, str)):
            data = value.encode() + b"\0" if isinstance(value, str) else value
            align(16, 4)
            at = len(out)
            out.extend(struct.pack("<I", len(data) - (1 if isinstance(value, str) else 0)) + data)
        elif isinstance(value, tuple):
            kind, numbers = value
            align(max(4, WIDTH[kind]), 4)
            at = len(out)
            out.extend(struct.pack("<I%d%s" % (len(numbers), kind), len(numbers), *numbers))
        else:
            align(4)
            at = len(out)
            out.extend(struct.pack("<I", len(value)) + bytes(4 * len(value)))
            queue.extend((item, at + 4 + 4 * i) for i, item in enumerate(value))
        struct.pack_into("<I", out, hole, at - hole)
    return bytes(out)


class Model:
    """A graph of operators: tensor() gives a number, op() uses them."""

    def __init__(self, of=None):
        self.tensors, self.ops, self.calls = [], [], []
        self.buffers, self.codes = (of.buffers, of.codes) if of else ([{}], [])

    def called(self, build):
        """Another graph of the file: build(graph) makes it and gives its inputs and outputs. The graph's number."""
        graph = Model(self)
        self.calls.append((graph, *build(graph)))
        return len(self.calls)

    def tensor(self, kind, shape, scale=None, zero=0, axis=0, data=None, name=None, open_batch=False, sparsity=None):
        t = {0: ("i", [int(d) for d in shape]), 1: ("b", TYPES[kind]), 3: name or "t%d" % len(self.tensors)}
        if data is not None:
            data = numpy.ascontiguousarray(data, numpy.dtype(kind))  # with sparsity: the values that there are
            t[2] = ("I", len(self.buffers))
            self.buffers.append({0: data.tobytes()})
        if scale is not None:
            scales = [float(s) for s in numpy.atleast_1d(scale)]
            zeros = [int(z) for z in numpy.broadcast_to(zero, len(scales))]
            t[4] = {2: ("f", scales), 3: ("q", zeros), 6: ("i", axis)}
        if sparsity is not None:
            t[6] = sparsity
        if open_batch:
            t[7] = ("i", [-1] + [int(d) for d in shape[1:]])
        self.tensors.append(t)
        return len(self.tensors) - 1

    def op(self, code, inputs, outputs, options=None, kind=0, version=1, custom=None, custom_options=None, between=None):
        key = (code, version, custom)
        if key not in self.codes:
            self.codes.append(key)
        o = {0: ("I", self.codes.index(key)), 1: ("i", list(inputs)), 2: ("i", list(outputs))}
        if options is not None:
            o[3], o[4] = ("B", kind), options
        if custom_options is not None:
            o[5] = custom_options
        if between is not None:
            o[8] = ("i", list(between))
        self.ops.append(o)

    def write(self, inputs, outputs, signatures=()):
        """The file. A signature is (key, graph, names of its inputs, of its outputs)."""
        codes = []
        for code, version, custom in self.codes:
            c = {0: ("b", min(code, 127)), 2: ("i", version), 3: ("i", code)}
            if custom:
                c[1] = custom
            codes.append(c)
        graphs = [{0: g.tensors, 1: ("i", list(i)), 2: ("i", list(o)), 3: g.ops, 4: "main"} for g, i, o in [(self, inputs, outputs)] + self.calls]
        root = {0: ("I", 3), 1: codes, 2: graphs, 3: "made for a test", 4: self.buffers}
        if signatures:
            ends = [[{0: n, 1: ("I", t)} for n, t in zip(names, graphs[graph][field][1])] for _, graph, *both in signatures for field, names in zip((1, 2), both)]
            root[7] = [{0: ends[2 * i], 1: ends[2 * i + 1], 2: s[0], 4: ("I", s[1])} for i, s in enumerate(signatures)]
        return serialize(root)


def flexbuffer(numbers):
    """A map of numbers, eight bytes each; integers, floats and lists of integers."""
    names, out, places, lists = sorted(numbers), bytearray(), [], {}
    for name in names:
        places.append(len(out))
        out += name.encode() + b"\0"
    out += b"\0" * (-len(out) % 8)
    for name in (n for n in names if isinstance(numbers[n], list)):
        out += struct.pack("<Q", len(numbers[name]))
        lists[name] = len(out)
        out += struct.pack("<%dq" % len(numbers[name]), *numbers[name])
    out += struct.pack("<Q", len(names))
    keys = len(out)
    for i, place in enumerate(places):
        out += struct.pack("<Q", len(out) - place)
    out += struct.pack("<QQQ", len(out) - keys, 8, len(names))
    values = len(out)
    for name in names:
        value = len(out) - lists[name] if name in lists else numbers[name]
        out += struct.pack("<d" if isinstance(value, float) else "<q", value)
    out += bytes({float: 3, int: 1, list: 11}[type(numbers[name])] << 2 | 3 for name in names)
    return bytes(out + struct.pack("<BBB", len(out) - values, 9 << 2 | 3, 1))
