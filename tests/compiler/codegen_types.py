#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Types of eight bits and less: Cast, CastLike, QuantizeLinear, DequantizeLinear and operators that move data or ask what it is, against a
# reference that looks for the nearest of all the numbers that a type has.
#
# usage: codegen_types.py VTAC   (exit status 77: python3-onnx is not there)
import itertools
import math
import os
import sys

from onnx_cases import Suite, TensorProto, helper, numpy, random_for, write_model, write_set

F32 = numpy.float32


class Float:
    """A small float: its codes, and what each stands for, from the definition of the format."""

    def __init__(self, number, exponent, mantissa, bias, infinity=False, unsigned_zero=False, nan=True):
        self.number, self.bits, self.in_byte = number, 1 + exponent + mantissa, 8 // (1 + exponent + mantissa)
        self.unsigned_zero, self.has_nan, self.infinity = unsigned_zero, nan, infinity
        half = 1 << (exponent + mantissa)
        self.values = numpy.full(2 * half, math.nan)
        for code in range(2 * half):
            size, sign = code % half, -1.0 if code >= half else 1.0
            e, m = size >> mantissa, size % (1 << mantissa)
            self.values[code] = sign * (math.ldexp(m, 1 - bias - mantissa) if e == 0 else
                                        math.ldexp((1 << mantissa) + m, e - bias - mantissa))
            if infinity and e == (1 << exponent) - 1:
                self.values[code] = sign * math.inf if m == 0 else math.nan
            elif unsigned_zero and code == half:
                self.values[code] = math.nan
            elif nan and not unsigned_zero and size == half - 1:
                self.values[code] = math.nan
        finite = [c for c in range(half) if math.isfinite(self.values[c])]
        self.half, self.most, self.finite = half, finite[-1], self.values[finite]

    def code(self, x, saturate):
        sign = self.half if math.copysign(1, x) < 0 else 0
        if math.isnan(x):
            return self.half - 1 if self.has_nan and not self.unsigned_zero else self.half  # without one, -0
        size, top = abs(x), self.finite[-1]
        beyond = top + (top - self.finite[-2])  # what the next number would be
        if size > top:
            to_top = not math.isinf(size) and (size - top < beyond - size or (size - top == beyond - size and self.most % 2 == 0))
            if not to_top and not saturate and self.has_nan:
                return sign | (self.most + 1) if self.infinity else self.half if self.unsigned_zero else sign | (self.half - 1)
            return sign | self.most
        gaps = abs(self.finite - size)
        near = numpy.flatnonzero(gaps == gaps.min())
        code = int(near[0] if len(near) == 1 or near[0] % 2 == 0 else near[1])
        return code if code == 0 and self.unsigned_zero else sign | code

    def encode(self, array, saturate=True):
        return numpy.array([self.code(float(x), saturate) for x in array.ravel()], numpy.uint8).reshape(array.shape)

    def decode(self, codes):
        return self.values[codes].astype(F32)


class Int:
    def __init__(self, number, bits, signed):
        self.number, self.bits, self.in_byte = number, bits, 8 // bits
        self.low, self.high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)

    def encode(self, array, saturate=True):
        """A cast keeps the lowest bits, as ONNX's own data have it."""
        return (numpy.trunc(array).astype(int) % (1 << self.bits)).astype(numpy.uint8)

    def nearest(self, array):
        return self.encode(numpy.clip(numpy.rint(array), self.low, self.high))

    def decode(self, codes):
        return numpy.where(codes > self.high, codes.astype(int) - (1 << self.bits), codes).astype(F32)


FLOATS = {"e4m3fn": Float(17, 4, 3, 7), "e4m3fnuz": Float(18, 4, 3, 8, unsigned_zero=True), "e5m2": Float(19, 5, 2, 15, infinity=True),
          "e5m2fnuz": Float(20, 5, 2, 16, unsigned_zero=True), "e2m1": Float(23, 2, 1, 1, nan=False)}
INTS = {"u4": Int(21, 4, False), "i4": Int(22, 4, True), "u2": Int(25, 2, False), "i2": Int(26, 2, True)}
NARROW = dict(FLOATS, **INTS)
WIDE = {1: F32, 10: numpy.float16, 11: float, 3: numpy.int8, 2: numpy.uint8, 6: numpy.int32, 7: numpy.int64}


def packed(name, kind, codes, raw=True):
    """A TensorProto of codes, side by side where they are smaller than a byte."""
    flat = numpy.concatenate([codes.ravel(), numpy.zeros(-codes.size % kind.in_byte, numpy.uint8)]).reshape(-1, kind.in_byte)
    held = numpy.zeros(len(flat), numpy.uint8)
    for i in range(kind.in_byte):
        held |= flat[:, i] << (i * kind.bits)
    tensor = TensorProto(name=name, data_type=kind.number, dims=codes.shape)
    if raw:
        tensor.raw_data = held.tobytes()
    else:
        tensor.int32_data.extend(int(b) for b in held)
    return tensor


class Types(Suite):
    def case(self, name, node, make, reference, types, constants=(), opset=25):
        """make(random) gives arrays (codes for narrow types); types: ONNX's numbers of inputs and outputs by name."""
        name = "%s_%d" % (name, len(self.names))
        kinds = {k.number: k for k in NARROW.values()}
        folder = os.path.join(self.folder.name, name)
        fixed = None
        for data_set in range(2):
            arrays = make(random_for(name, data_set))
            arrays = {n: fixed[n] if fixed and n in constants else a for n, a in arrays.items()}
            fixed = fixed or arrays
            results = dict(zip(node.output, reference(**arrays)))
            tensors = {}
            for n, a in list(arrays.items()) + list(results.items()):
                kind = kinds.get(types[n])
                tensors[n] = packed(n, kind, a, raw=data_set == 0) if kind else helper.make_tensor(n, types[n], a.shape, a.tobytes(), raw=True)
            if data_set == 0:
                infos = {n: helper.make_tensor_value_info(n, types[n], a.shape) for n, a in {**arrays, **results}.items()}
                graph = helper.make_graph([node], "case", [infos[n] for n in arrays if n not in constants],
                                          [infos[n] for n in node.output], [tensors[n] for n in constants])
                write_model(folder, helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8))
            write_set(folder, data_set, [(n, tensors[n]) for n in arrays if n not in constants], [(n, tensors[n]) for n in node.output])
        self.names.append(name)


def numbers(random, kind, dtype, count=61):
    """Numbers of the type's range, halves between its own, and the odd ones."""
    if isinstance(kind, Int):
        return random.uniform(1.5 * kind.low - 2, 1.5 * kind.high + 2, count).astype(dtype)
    own = kind.finite[random.integers(0, len(kind.finite) - 1, count)]
    steps = numpy.array([kind.finite[numpy.searchsorted(kind.finite, v) + 1] - v for v in own])
    x = (own + steps * random.choice([0, 0.25, 0.5, 0.75, 1], count)) * random.choice([-1, 1], count)
    top = kind.finite[-1]
    odd = [0.0, -0.0, top, -top, 1.03 * top, 1.2 * top, -3 * top, math.inf, -math.inf, math.nan, -1e-9, 1e-9]
    x[:len(odd)] = odd
    with numpy.errstate(over="ignore"):
        return x.astype(dtype)


def casts(suite):
    for name, kind in NARROW.items():
        codes = lambda random, k=kind: {"x": random.integers(0, 1 << k.bits, (7, 9)).astype(numpy.uint8)}
        for number in (1, 10) + ((3, 7) if isinstance(kind, Int) else ()):
            suite.case("from_" + name, helper.make_node("Cast", ["x"], ["y"], to=number), codes,
                       lambda x, k=kind, n=number: (k.decode(x).astype(WIDE[n]),), {"x": kind.number, "y": number})
        for number in (1, 10, 11):
            for saturate in (1, 0) if name in FLOATS and number == 1 else (1,):
                suite.case("to_" + name, helper.make_node("Cast", ["x"], ["y"], to=kind.number, saturate=saturate),
                           lambda random, k=kind, n=number: {"x": numbers(random, k, WIDE[n])},
                           lambda x, k=kind, s=saturate: (k.encode(x, s),), {"x": number, "y": kind.number})
        suite.case("like_" + name, helper.make_node("CastLike", ["x", "t"], ["y"]),
                   lambda random, k=kind: {"x": numbers(random, k, F32), "t": numpy.zeros((1,), numpy.uint8)},
                   lambda x, t, k=kind: (k.encode(x),), {"x": 1, "t": kind.number, "y": kind.number})
        for other in ("e5m2", "i4"):
            if isinstance(kind, Int) != (other == "i4") or other == name:
                continue
            to = NARROW[other]

            def convert(x, k=kind, t=to):
                if isinstance(t, Int):
                    return ((k.decode(x).astype(int) % (1 << t.bits)).astype(numpy.uint8),)
                return (t.encode(k.decode(x)),)
            suite.case("between_" + name, helper.make_node("Cast", ["x"], ["y"], to=to.number), codes, convert,
                       {"x": kind.number, "y": to.number})
    for dtype in (3, 6, 7):  # integers keep their lowest bits
        for name, kind in INTS.items():
            suite.case("bits_" + name, helper.make_node("Cast", ["x"], ["y"], to=kind.number),
                       lambda random, d=dtype: {"x": random.integers(-100, 100, (33,)).astype(WIDE[d])},
                       lambda x, k=kind: ((x.astype(int) % (1 << k.bits)).astype(numpy.uint8),), {"x": dtype, "y": kind.number})
    for group in (("u4", "i4", "e2m1"), ("u2", "i2")):  # the bits stay what they are
        for one, other in itertools.permutations(group, 2):
            kinds = NARROW[one], NARROW[other]
            suite.case("same_bits_" + one, helper.make_node("BitCast", ["x"], ["y"], to=kinds[1].number),
                       lambda random, k=kinds[0]: {"x": random.integers(0, 1 << k.bits, (5, 7)).astype(numpy.uint8)}, lambda x: (x,),
                       {"x": kinds[0].number, "y": kinds[1].number}, opset=26)
    for size in ((), (0,), (1,), (3, 0, 2)):
        kind = INTS["i4"]
        suite.case("size", helper.make_node("Cast", ["x"], ["y"], to=1),
                   lambda random, s=size: {"x": random.integers(0, 16, s).astype(numpy.uint8).reshape(s)},
                   lambda x: (INTS["i4"].decode(x).reshape(x.shape),), {"x": kind.number, "y": 1})


def spread(p, shape, axis, block):
    """A scale or zero point for every element."""
    if p.ndim == 0:
        return numpy.broadcast_to(p, shape)
    if block:
        return numpy.repeat(p, block, axis).take(range(shape[axis]), axis)
    return numpy.broadcast_to(p.reshape((-1,) + (1,) * (len(shape) - axis - 1)), shape)


def quantization(suite):
    shape, axis = (3, 7, 4), 1
    for name, kind in NARROW.items():
        for block, size in ((0, ()), (0, (7,)), (3, (3, 3, 4))):
            attrs = dict(axis=axis, **({"block_size": block} if block else {}))
            types = {"x": 1, "s": 1, "z": kind.number, "y": kind.number}

            def parameters(random, k=kind, size=size):
                zero = numpy.zeros(size) if isinstance(k, Float) else random.integers(k.low, k.high + 1, size)
                return {"s": numpy.array(2.0 ** random.integers(-3, 3, size), F32), "z": k.encode(numpy.array(zero, float))}

            def quantized(x, s, z, k=kind, block=block):
                s, z = spread(s, shape, axis, block), spread(k.decode(z), shape, axis, block)
                return (k.nearest(numpy.rint(x / s) + z) if isinstance(k, Int) else k.encode(x / s),)

            def reals(x, s, z, k=kind, block=block):
                return ((k.decode(x) - spread(k.decode(z), shape, axis, block)) * spread(s, shape, axis, block),)
            suite.case("quantize_" + name, helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"], **attrs),
                       lambda random, k=kind, p=parameters: {"x": (random.standard_normal(shape) * 4).astype(F32), **p(random)},
                       quantized, types, constants=("s", "z"))
            suite.case("dequantize_" + name, helper.make_node("DequantizeLinear", ["y", "s", "z"], ["x"], **attrs),
                       lambda random, k=kind, p=parameters: {"y": random.integers(0, 1 << k.bits, shape).astype(numpy.uint8), **p(random)},
                       lambda y, s, z, r=reals: r(y, s, z), types, constants=("s", "z"))
        suite.case("quantize_as_" + name, helper.make_node("QuantizeLinear", ["x", "s"], ["y"], output_dtype=kind.number),
                   lambda random: {"x": random.standard_normal((5, 3)).astype(F32) * 4, "s": numpy.array(0.5, F32)},
                   lambda x, s, k=kind: (k.nearest(x / s) if isinstance(k, Int) else k.encode(x / s),),
                   {"x": 1, "s": 1, "y": kind.number})
    for number, dtype in ((10, numpy.float16), (1, F32)):
        suite.case("dequantize_as", helper.make_node("DequantizeLinear", ["x", "s"], ["y"], output_dtype=number),
                   lambda random: {"x": random.integers(-128, 128, (5, 3)).astype(numpy.int8), "s": numpy.array(0.125, F32)},
                   lambda x, s, d=dtype: ((x.astype(F32) * s).astype(d),), {"x": 3, "s": 1, "y": number})


def moves(suite):
    for name in ("e4m3fn", "i4", "u2"):
        kind = NARROW[name]
        codes = lambda random, k=kind: {"x": random.integers(0, (1 << k.bits) - 1, (5, 3)).astype(numpy.uint8)}
        types = {"x": kind.number, "y": kind.number, "i": 7}
        for op, reference, attrs in (("Transpose", lambda x: (x.T.copy(),), {}), ("Identity", lambda x: (x,), {}),
                                     ("Flatten", lambda x: (x.reshape(1, -1),), {"axis": 0})):
            suite.case("move_" + name, helper.make_node(op, ["x"], ["y"], **attrs), codes, reference, types)
        suite.case("gather_" + name, helper.make_node("Gather", ["x", "i"], ["y"]),
                   lambda random, c=codes: {**c(random), "i": random.integers(-5, 5, (4,))}, lambda x, i: (x[i],), types)
        suite.case("pad_" + name, helper.make_node("Pad", ["x", "p"], ["y"]), lambda random, c=codes: {**c(random), "p": numpy.array([1, 0, 2, 1])},
                   lambda x, p: (numpy.pad(x, ((1, 2), (0, 1))),), {**types, "p": 7}, constants=("p",))


def predicates(suite):
    for name, kind in NARROW.items():
        if isinstance(kind, Float):
            every = lambda random, k=kind: {"x": random.permutation(1 << k.bits).astype(numpy.uint8)}
            for op, reference in (("IsNaN", numpy.isnan), ("IsInf", numpy.isinf)):
                suite.case("is_" + name, helper.make_node(op, ["x"], ["y"]), every, lambda x, k=kind, r=reference: (r(k.decode(x)),),
                           {"x": kind.number, "y": 9})


def products(suite):
    """QLinearMatMul of small floats: what it means in numbers, rounded once. The product of the scales is a power of two, so that sums are exact."""
    for name in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz"):
        kind = FLOATS[name]
        scales = {"sa": numpy.array(0.5, F32), "sb": numpy.array(0.25, F32), "sy": numpy.array(2, F32)}
        scales.update((z, numpy.array(0, numpy.uint8)) for z in ("za", "zb", "zy"))

        def make(random, k=kind, scales=scales):
            small = lambda *shape: k.encode(random.integers(-6, 7, shape) / 4)
            return {**scales, "a": small(5, 9), "b": small(9, 3)}
        types = {n: kind.number if n[0] != "s" else 1 for n in ("a", "sa", "za", "b", "sb", "zb", "sy", "zy", "y")}
        suite.case("product_" + name, helper.make_node("QLinearMatMul", ["a", "sa", "za", "b", "sb", "zb", "sy", "zy"], ["y"]), make,
                   lambda a, b, sa, sb, sy, k=kind, **zeros: (k.encode((k.decode(a).astype(float) @ k.decode(b)) * float(sa * sb / sy)),), types,
                   constants=tuple(scales))


def main():
    suite = Types()
    for part in (casts, quantization, moves, predicates, products):
        part(suite)
    return suite.run(sys.argv[1])


if __name__ == "__main__":
    sys.exit(main())
