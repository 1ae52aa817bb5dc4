#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Texts, sequences and what may be absent, in and out of models and in between, against plain Python. It fails when a text loses its
# number on the way, or a parcel one of its words.
#
# usage: flow_texts.py VTAC   (exit status 77: python3-onnx is not there)
import os
import re
import struct
import subprocess
import sys
import zlib

import onnx_cases
from onnx_cases import Suite, helper, numpy, numpy_helper, TensorProto, write_model

STRING, FLOAT, INT, BOOL = TensorProto.STRING, TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
KINDS = {"u": TensorProto.UINT8, "O": STRING, "f": FLOAT, "i": INT, "b": BOOL}
ML = "ai.onnx.ml"
MS = "com.microsoft"
WORDS = ["", "a", "Bär", "monday", "Monday", "MONDAY", "tuesday", "x y  z", " lead", "trail ", "Ωmega", "ЖУК", "жук", "1.5", "a,b,,c", ",",
         "a" * 40, "ß", "日本"]


def texts(random, *shape):
    return numpy.array([WORDS[i] for i in random.integers(len(WORDS), size=int(numpy.prod(shape)))], dtype=object).reshape(shape)


def floats(random, *shape):
    return random.standard_normal(shape).astype(numpy.float32)


def type_of(array):
    """The declared type of a value: lists are sequences."""
    if isinstance(array, list):
        element = array[0] if array else numpy.zeros(0, numpy.float32)
        return helper.make_sequence_type_proto(helper.make_tensor_type_proto(KINDS[element.dtype.kind], None))
    return helper.make_tensor_type_proto(KINDS[array.dtype.kind], array.shape)


def model_of(op, attrs, opset, domain, open_sizes=False, nodes=None):
    def make(inputs, outputs):
        def declared(name, array):
            kind = type_of(array)
            if open_sizes and not isinstance(array, list):
                kind = helper.make_tensor_type_proto(KINDS[array.dtype.kind], ["d%d" % i for i in range(array.ndim)])
            return helper.make_value_info(name, kind)
        def given(name, array):
            kind = type_of(array)
            if not isinstance(array, list):
                kind = helper.make_tensor_type_proto(KINDS[array.dtype.kind], None)
            return helper.make_value_info(name, kind)
        made = nodes or [helper.make_node(op, [n for n, _ in inputs], [n for n, _ in outputs], domain=domain, **attrs)]
        graph = helper.make_graph(made, "case", [declared(n, a) for n, a in inputs], [given(n, a) for n, a in outputs])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid(ML, opset if domain == ML else 3),
                                                                      helper.make_opsetid(MS, 1)],
                                 ir_version=8)
    return make


def proto(name, array):
    return numpy_helper.from_list(array, name) if isinstance(array, list) else numpy_helper.from_array(array, name)


class Texts(Suite):
    def one(self, op, make, reference, opset=20, domain="", outputs=("y",), open_sizes=False, nodes=None, **attrs):
        number = self.counts[op] = self.counts.get(op, 0) + 1
        name = "%s_%d" % (op.lower(), number)
        folder = os.path.join(self.folder.name, name)
        for data_set in range(2):
            inputs = make(onnx_cases.random_for(name, data_set))
            results = reference(*[a for _, a in inputs])
            results = results if isinstance(results, tuple) else (results,)
            named = list(zip(outputs, results))
            if data_set == 0:
                write_model(folder, model_of(op, attrs, opset, domain, open_sizes, nodes)(inputs, named))
            place = os.path.join(folder, "test_data_set_%d" % data_set)
            os.makedirs(place)
            for kind, values in (("input", inputs), ("output", named)):
                for i, (n, a) in enumerate(values):
                    with open(os.path.join(place, "%s_%d.pb" % (kind, i)), "wb") as file:
                        file.write(proto(n, a).SerializeToString())
        self.names.append(name)


def each(function, dtype=object):
    return numpy.vectorize(function, otypes=[dtype])


def obj(array):
    return numpy.array(array, dtype=object)


# ---- what only moves texts


def add_moves(suite):
    for sizes in (False, True):
        one = lambda op, make, reference, **more: suite.one(op, make, reference, open_sizes=sizes, **more)
        one("Identity", lambda r: [("x", texts(r, 2, 3))], lambda x: x)
        one("Equal", lambda r: [("x", texts(r, 4, 5)), ("z", texts(r, 5))], lambda x, z: x == z)
        one("Concat", lambda r: [("x", texts(r, 2, 3)), ("z", texts(r, 1, 3))], lambda x, z: numpy.concatenate([x, z]), axis=0)
        one("Transpose", lambda r: [("x", texts(r, 2, 3))], lambda x: x.T)
        one("Where", lambda r: [("c", r.integers(2, size=(3, 4)) == 0), ("x", texts(r, 3, 4)), ("z", texts(r, 4))], numpy.where)
        one("Gather", lambda r: [("x", texts(r, 5, 2)), ("i", r.integers(-5, 5, size=(3,)))], lambda x, i: x[i])
        one("Tile", lambda r: [("x", texts(r, 2, 2)), ("n", numpy.array([2, 1]))], lambda x, n: numpy.tile(x, n))
        one("Flatten", lambda r: [("x", texts(r, 2, 3, 2))], lambda x: x.reshape(2, 6))
        one("Shape", lambda r: [("x", texts(r, 2, 3, 2))], lambda x: numpy.array(x.shape))
        one("Compress", lambda r: [("x", texts(r, 6)), ("c", r.integers(2, size=6) == 0)], lambda x, c: x[c])
    suite.one("Unique", lambda r: [("x", texts(r, 12))], lambda x: (obj(sorted(set(x))), numpy.unique(x.astype(str), return_counts=True)[1]),
              nodes=[helper.make_node("Unique", ["x"], ["y", "", "", "n"], sorted=1)], outputs=("y", "n"))
    suite.one("Reshape", lambda r: [("x", texts(r, 2, 6)), ("s", numpy.array([3, 4]))], lambda x, s: x.reshape(s), open_sizes=True)
    suite.one("Identity", lambda r: [("x", texts(r, 0, 3))], lambda x: x)
    suite.one("Identity", lambda r: [("x", obj(WORDS[r.integers(len(WORDS))]))], lambda x: x)
    constant = helper.make_tensor("c", STRING, [3], [w.encode() for w in ("monday", "Bär", "new")])
    suite.one("Concat", lambda r: [("x", texts(r, 4))], lambda x: numpy.concatenate([x, obj(["monday", "Bär", "new"])]),
              nodes=[helper.make_node("Constant", [], ["c"], value=constant), helper.make_node("Concat", ["x", "c"], ["y"], axis=0)])
    suite.one("Equal", lambda r: [("x", texts(r, 9))], lambda x: x == "monday",
              nodes=[helper.make_node("Constant", [], ["c"], value_string="monday"), helper.make_node("Equal", ["x", "c"], ["y"])])


# ---- what makes new ones


def split(x, delimiter, most):
    parts = [[p for p in (t.split(delimiter, -1 if most is None else most) if delimiter else t.split(None, -1 if most is None else most))]
             for t in x.ravel()]
    widest = max([len(p) for p in parts] or [0])
    y = obj([p + [""] * (widest - len(p)) for p in parts]).reshape(x.shape + (widest,))
    return y, numpy.array([len(p) for p in parts], numpy.int64).reshape(x.shape)


def normalize(x, action, exact, stop):
    change = {"LOWER": lambda w: w if w == "ß" else w.lower(), "UPPER": lambda w: w if w == "ß" else w.upper(), "NONE": lambda w: w}[action]
    stop = set(stop if exact else [w.lower() for w in stop])
    kept = [change(w) for w in x.ravel() if (w if exact else w.lower()) not in stop] or [""]
    return obj(kept).reshape((1,) * (x.ndim - 1) + (len(kept),))


def tokenize(x, separators=(), tokenexp="", mark=0, least=1, pad="#"):
    """com.microsoft's Tokenizer: rows of what stands between separators, of what a pattern finds, or of characters."""
    def tokens(text):
        if separators == [""]:
            return list(text)
        parts = [m.group() for m in re.finditer(tokenexp, text, re.ASCII)] if tokenexp else [text]
        for separator in separators:
            parts = [cut for part in parts for cut in re.split("(?:%s)" % separator, part, flags=re.ASCII) if len(cut) >= least]
        return [p for p in parts if len(p) >= least]
    if x.size == 0:
        return x
    rows = [tokens(t) for t in x.ravel()]
    widest = max(len(r) for r in rows)
    ends = mark and widest > 0
    full = [(["\x02"] if ends else []) + r + (["\x03"] if ends else []) + [pad] * (widest - len(r)) for r in rows]
    return obj(full).reshape(x.shape + (widest + (2 if ends else 0),))


def add_tokens(suite):
    def sentences(r, *shape):
        words = ["a", "I", "love", "Bär", "ß", "x1", "a,b", "--", "3.14", "жук", "Hello"]
        gaps = [" ", "  ", ",", ", ", "-"]
        made = ["".join(str(r.choice(words)) + str(r.choice(gaps)) for _ in range(r.integers(0, 6))) for _ in range(int(numpy.prod(shape)))]
        return obj(made).reshape(shape)
    cases = ((dict(separators=[" "]), (5,)), (dict(separators=[" ", ","], mark=1), (3, 2)), (dict(separators=["[ ,]+", "-"], mincharnum=2), (4,)),
             (dict(separators=[""]), (4,)), (dict(separators=[""], mark=1), (2, 3)), (dict(tokenexp="[a-zA-Z0-9]+"), (5,)),
             (dict(tokenexp=r"\w+|[,.]", mark=1, mincharnum=1), (2, 2)), (dict(tokenexp="[0-9]+", mincharnum=3), (4,)), (dict(separators=[" "]), (0,)),
             (dict(separators=[" "], mark=1), (2, 0)), (dict(tokenexp="zzz", mark=1), (3,)))
    for given, shape in cases:
        attrs = {"mark": 0, "mincharnum": 1, **given}
        how = dict(separators=attrs.get("separators", ()), tokenexp=attrs.get("tokenexp", ""), mark=attrs["mark"], least=attrs["mincharnum"])
        suite.one("Tokenizer", lambda r, shape=shape: [("x", sentences(r, *shape))], lambda x, how=how: tokenize(x, **how), domain=MS, pad_value="#", **attrs)


def add_makers(suite):
    pair = each(lambda a, b: a + b)
    suite.one("StringConcat", lambda r: [("x", texts(r, 3)), ("z", texts(r, 3))], pair)
    suite.one("StringConcat", lambda r: [("x", texts(r, 2, 1, 3)), ("z", texts(r, 4, 1))], pair)
    suite.one("StringConcat", lambda r: [("x", texts(r, 0)), ("z", texts(r, 1))], lambda x, z: x)
    for delimiter, most in ((",", None), (",", 1), (None, None), (None, 1), ("", 0), ("ab", None), ("a", 2)):
        attrs = dict(delimiter=delimiter) if delimiter is not None else {}
        attrs.update(maxsplit=most) if most is not None else None
        suite.one("StringSplit", lambda r: [("x", texts(r, 3, 4))], lambda x: split(x, delimiter, most), outputs=("y", "n"), **attrs)
    suite.one("StringSplit", lambda r: [("x", texts(r, 0))], lambda x: split(x, ",", None), outputs=("y", "n"), delimiter=",")
    for action in ("LOWER", "UPPER", "NONE"):
        for exact in (0, 1):
            stop = ["monday", "ЖУК"] if exact else ["Monday", "жук"]
            suite.one("StringNormalizer", lambda r: [("x", texts(r, 9))], lambda x: normalize(x, action, exact, stop), opset=17,
                      case_change_action=action, is_case_sensitive=exact, stopwords=stop)
    suite.one("StringNormalizer", lambda r: [("x", texts(r, 1, 4))], lambda x: obj([[""]]), opset=17, is_case_sensitive=1, stopwords=WORDS)
    for pattern in (r"[a-z]+", r"\w+day", r"(?:a,)?b*.*?", r"\d\.\d", r"[^\s]*", r"M[oO](n|N)[\w]+", r"a{40}", r"", r"\.|,", r"[.,]",
                    r"[\w.\-]{1,8}", r"[^\-a]*", r"[\-\\o]*\w+", r"\bM\w+\b", r"(^|[.,])\w[\w,.]*($|[.,])", r"\B\w+"):
        suite.one("RegexFullMatch", lambda r: [("x", texts(r, 4, 5))],
                  lambda x: each(lambda t: re.fullmatch(pattern, t, re.ASCII) is not None, bool)(x), pattern=pattern)


def add_casts(suite):
    def number_texts(r):
        return [("x", obj(["3", "-7", "0", "12e2", "+5", "1E1"])[r.permutation(6)])]
    suite.one("Cast", number_texts, lambda x: x.astype(float).astype(numpy.float32), to=FLOAT)
    suite.one("Cast", number_texts, lambda x: x.astype(float).astype(numpy.int64), to=INT)
    special = {"NaN": numpy.nan, "inf": numpy.inf, "-INF": -numpy.inf, "+INF": numpy.inf, "3.14": 3.14, "1e-5": 1e-5}
    suite.one("Cast", lambda r: [("x", obj(list(special))[r.permutation(6)])], lambda x: numpy.array([special[t] for t in x], numpy.float32),
              to=FLOAT)
    suite.one("Cast", lambda r: [("x", r.integers(-2**62, 2**62, size=7))], lambda x: each(str)(x), to=STRING)
    suite.one("Cast", lambda r: [("x", floats(r, 20) * numpy.float32(10) ** r.integers(-9, 20, size=20).astype(numpy.float32))],
              lambda x: each(lambda v: str(numpy.float32(v)))(x), to=STRING)
    suite.one("Cast", lambda r: [("x", numpy.array([0, 1, -2, 100, 65536], numpy.float32))], lambda x: each(lambda v: str(numpy.float32(v)))(x),
              to=STRING)


# ---- ai.onnx.ml


def add_classic(suite):
    keys = [w for w in WORDS if w != "ß"]
    back = dict((k, i * 3 - 4) for i, k in enumerate(keys))
    numbers = list(back.values())
    suite.one("LabelEncoder", lambda r: [("x", texts(r, 4, 5))], lambda x: each(lambda t: back.get(t, -1), numpy.int64)(x), opset=2, domain=ML,
              keys_strings=keys, values_int64s=numbers)
    suite.one("LabelEncoder", lambda r: [("x", texts(r, 9))], lambda x: each(lambda t: back.get(t, 0.25), numpy.float32)(x), opset=2, domain=ML,
              keys_strings=keys, values_floats=[float(n) for n in numbers], default_float=0.25)
    suite.one("LabelEncoder", lambda r: [("x", r.integers(-5, 60, size=8))],
              lambda x: each(lambda v: dict(zip(numbers, keys)).get(v, "_Unused"))(x), opset=2, domain=ML, keys_int64s=numbers,
              values_strings=keys)
    suite.one("LabelEncoder", lambda r: [("x", texts(r, 8))], lambda x: each(lambda t: dict(zip(keys, keys[::-1])).get(t, "none"))(x), opset=2,
              domain=ML, keys_strings=keys, values_strings=keys[::-1], default_string="none")
    suite.one("LabelEncoder", lambda r: [("x", texts(r, 8))], lambda x: each(lambda t: keys.index(t) if t in keys else 77, numpy.int64)(x),
              opset=1, domain=ML, classes_strings=keys, default_int64=77)
    suite.one("CategoryMapper", lambda r: [("x", texts(r, 8))], lambda x: each(lambda t: back.get(t, -1), numpy.int64)(x), opset=1, domain=ML,
              cats_strings=keys, cats_int64s=numbers)
    suite.one("CategoryMapper", lambda r: [("x", r.integers(-5, 60, size=8))],
              lambda x: each(lambda v: dict(zip(numbers, keys)).get(v, "?"))(x), opset=1, domain=ML, cats_strings=keys, cats_int64s=numbers,
              default_string="?")
    suite.one("OneHotEncoder", lambda r: [("x", texts(r, 3, 4))], lambda x: (x[..., None] == obj(keys)).astype(numpy.float32), opset=1, domain=ML,
              cats_strings=keys)
    labels = ["red", "green", "blue"]
    w, b = [0.5, -1.0, 0.25, 2.0, 1.0, -0.75], [0.1, 0.2, -0.3]

    def classify(x):
        scores = x @ numpy.array(w, numpy.float32).reshape(3, 2).T + numpy.array(b, numpy.float32)
        return obj([labels[i] for i in scores.argmax(1)]), scores
    suite.one("LinearClassifier", lambda r: [("x", floats(r, 6, 2))], classify, opset=1, domain=ML, outputs=("y", "s"), coefficients=w,
              intercepts=b, classlabels_strings=labels)
    pool = ["a", "monday", "Bär", "a", "monday", "ß", "a"]  # 1-grams: a, monday, Bär; 2-grams: (a, monday), (ß, a)
    grams = [("a",), ("monday",), ("Bär",), ("a", "monday"), ("ß", "a")]

    def count(x):
        return numpy.array([sum(tuple(x[i:i + len(g)]) == g for i in range(len(x) - len(g) + 1)) for g in grams], numpy.float32)
    suite.one("TfIdfVectorizer", lambda r: [("x", obj(["a", "monday", "Bär", "ß", "zz"])[r.integers(5, size=30)])], count, opset=9, mode="TF",
              min_gram_length=1, max_gram_length=2, max_skip_count=0, ngram_counts=[0, 3], ngram_indexes=[0, 1, 2, 3, 4], pool_strings=pool)


# ---- sequences


def add_sequences(suite):
    def several(r, make):
        return [make(r, *r.integers(0, 4, size=2)) for _ in range(r.integers(1, 5))]
    suite.one("Identity", lambda r: [("x", several(r, floats))], lambda x: x)
    suite.one("Identity", lambda r: [("x", several(r, texts))], lambda x: x)
    suite.one("SequenceAt", lambda r: [("x", several(r, texts)), ("i", numpy.array(-1))], lambda x, i: x[-1])
    suite.one("SequenceErase", lambda r: [("x", several(r, floats) + [floats(r, 1)]), ("i", numpy.array(0))], lambda x, i: x[1:])
    suite.one("SplitToSequence", lambda r: [("x", floats(r, 5, 2))], lambda x: [x[:2], x[2:4], x[4:]],
              nodes=[helper.make_node("Constant", [], ["n"], value_int=2), helper.make_node("SplitToSequence", ["x", "n"], ["y"])])
    suite.one("ConcatFromSequence", lambda r: [("x", [texts(r, n, 3) for n in r.integers(1, 4, size=3)])], numpy.concatenate, axis=0)
    # Sequences that grow out of each other share a list.
    suite.one("SequenceInsert", lambda r: [("x", several(r, floats)), ("a", floats(r, 3)), ("b", floats(r, 2))],
              lambda x, a, b: (x + [a], x + [b], x + [a, b], x + [b, b], [a] + x + [b]), outputs=("p", "q", "r", "s", "u"),
              nodes=[helper.make_node("SequenceInsert", ["x", "a"], ["p"]), helper.make_node("SequenceInsert", ["x", "b"], ["q"]),
                     helper.make_node("SequenceInsert", ["p", "b"], ["r"]), helper.make_node("SequenceInsert", ["q", "b"], ["s"]),
                     helper.make_node("Constant", [], ["z"], value_int=0), helper.make_node("SequenceInsert", ["q", "a", "z"], ["u"])])
    graph = helper.make_graph([helper.make_node("Add", ["e", "k"], ["t"]), helper.make_node("ReduceSum", ["t"], ["s"], keepdims=0)], "body",
                              [helper.make_tensor_value_info("e", FLOAT, None), helper.make_tensor_value_info("k", FLOAT, None)],
                              [helper.make_tensor_value_info("t", FLOAT, None), helper.make_tensor_value_info("s", FLOAT, None)])
    suite.one("SequenceMap", lambda r: [("x", several(r, floats)), ("k", floats(r, 1))],
              lambda x, k: ([e + k for e in x], [numpy.array((e + k).sum(dtype=numpy.float64), numpy.float32) for e in x]), outputs=("y", "z"), body=graph)
    twice = helper.make_graph([helper.make_node("StringConcat", ["e", "e"], ["t"])], "body",
                              [helper.make_tensor_value_info("e", STRING, None)], [helper.make_tensor_value_info("t", STRING, None)])
    suite.one("SequenceMap", lambda r: [("x", several(r, texts))], lambda x: [e + e for e in x], body=twice)


# ---- pictures, as the bytes of a file


def png(pixels):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def bmp(pixels, bits=24, down=False):
    """24 or 32 bits a pixel; 8: a palette of all its pixels."""
    height, width, _ = pixels.shape
    blue = pixels[..., ::-1]
    palette = b""
    if bits == 8:
        colours, places = numpy.unique(blue.reshape(-1, 3), axis=0, return_inverse=True)
        palette = b"".join(c.tobytes() + b"\0" for c in colours)
        blue = places.reshape(height, width, 1).astype(numpy.uint8)
    if bits == 32:
        blue = numpy.concatenate([blue, numpy.full((height, width, 1), 9, numpy.uint8)], axis=2)
    rows = [row.tobytes() + b"\0" * (-len(row.tobytes()) % 4) for row in (blue if down else blue[::-1])]
    begin = 54 + len(palette)
    return (b"BM" + struct.pack("<IIIIiiHHIIIIII", begin + sum(map(len, rows)), 0, begin, 40, width, -height if down else height, 1, bits, 0, 0,
                                0, 0, len(palette) // 4, 0) + palette + b"".join(rows))


def pnm(pixels, kind):
    """P1 to P6; P1 and P4 take black and white pixels alone."""
    height, width, _ = pixels.shape
    samples = pixels if kind in (3, 6) else pixels[..., 0]
    head = "P%d # a comment\n%d %d\n" % (kind, width, height) + ("" if kind in (1, 4) else "255\n")
    if kind == 4:
        return head.encode() + numpy.packbits(samples == 0, axis=1).tobytes()
    if kind > 3:
        return head.encode() + samples.tobytes()
    return (head + " ".join(str(int(v == 0) if kind == 1 else int(v)) for v in samples.flatten())).encode()


def jpeg(pixels):
    """Grey, each block of 8 x 8 of one value: one coefficient, whose quantum is 8, so that nothing is lost."""
    height, width, _ = pixels.shape
    blocks = pixels[::8, ::8, 0].astype(int).flatten() - 128
    def segment(mark, data):
        return b"\xff" + bytes([mark]) + struct.pack(">H", len(data) + 2) + data
    bits, last = "", 0
    for value in blocks:
        step, last = int(value) - last, int(value)
        size = abs(step).bit_length()
        bits += format(size, "04b") + (format(step if step > 0 else step + (1 << size) - 1, "0%db" % size) if size else "") + "0"
    bits += "1" * (-len(bits) % 8)
    data = bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8)).replace(b"\xff", b"\xff\0")
    return (b"\xff\xd8" + segment(0xdb, b"\0" + bytes([8] * 64)) + segment(0xc0, struct.pack(">BHHBBBB", 8, height, width, 1, 1, 0x11, 0)) +
            segment(0xc4, b"\0" + bytes([0, 0, 0, 12] + [0] * 12) + bytes(range(12))) +
            segment(0xc4, b"\x10" + bytes([1] + [0] * 15) + b"\0") + segment(0xda, b"\1\1\0\0\x3f\0") + data + b"\xff\xd9")


# The pixels of a picture after it was read, and the function that writes the picture.
PICTURES = [(lambda p: p, png), (lambda p: p, bmp), (lambda p: p, lambda p: bmp(p, 32, True)), (lambda p: p, lambda p: bmp(p, 8)),
            (lambda p: p, lambda p: pnm(p, 6)), (lambda p: p, lambda p: pnm(p, 3)), (lambda p: p[..., :1].repeat(3, 2), lambda p: pnm(p, 5)),
            (lambda p: p[..., :1].repeat(3, 2), lambda p: pnm(p, 2)), (lambda p: (p[..., :1] > 99).repeat(3, 2) * numpy.uint8(255), lambda p: pnm(p, 1)),
            (lambda p: (p[..., :1] > 99).repeat(3, 2) * numpy.uint8(255), lambda p: pnm(p, 4)),
            (lambda p: p[..., :1].repeat(3, 2).repeat(8, 0).repeat(8, 1), jpeg)]


def add_pictures(suite):
    def grey(p):
        return ((p[..., 0] * 19595.0 + p[..., 1] * 38470.0 + p[..., 2] * 7471.0 + 32768) // 65536).astype(numpy.uint8)[..., None]
    seen = {}
    for i, (shown, write) in enumerate(PICTURES):
        for order, change in (("RGB", lambda p: p), ("BGR", lambda p: p[..., ::-1]), ("Grayscale", grey)):
            def make(random, shown=shown, write=write):
                pixels = shown(random.integers(256, size=(random.integers(1, 6), random.integers(1, 20), 3)).astype(numpy.uint8))
                file = numpy.frombuffer(write(pixels).ljust(2048, b"\0"), numpy.uint8)  # of one size for both sets of data
                seen[file.tobytes()] = pixels
                return [("x", file)]
            suite.one("ImageDecoder", make, lambda x, change=change: change(seen[x.tobytes()]),
                      **({} if order == "RGB" and i % 2 else dict(pixel_format=order)))


def no_reader(vtac, folder):
    """A program that has set no reader ends with a line that says so; bytes that are no picture, too."""
    place = os.path.join(folder, "unread")
    x = numpy.frombuffer(b"P6 1 1 255 abc", numpy.uint8)
    write_model(place, model_of("ImageDecoder", {}, 20, "")([("x", x)], [("y", numpy.zeros((1, 1, 3), numpy.uint8))]))
    subprocess.run([vtac, "compile", "model.onnx", "-o", "m.so"], cwd=place, check=True)
    failed = 0
    for program, data, want in ((["run", "m.so"], x.tobytes(), None), (["run", "m.so"], b"GIF89a        ", "no PNG, JPEG, BMP or PNM"),
                                ([os.path.join(os.path.dirname(vtac), "vta-run"), "m.so"], x.tobytes(), "this program has set no reader")):
        numpy.save(os.path.join(place, "x.npy"), numpy.frombuffer(data, numpy.uint8))
        words = program if want and "reader" in want else [vtac] + program
        run = subprocess.run(words + ["--input", "x.npy"], cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        right = run.returncode == 0 if want is None else run.returncode == 1 and want in run.stderr and run.stderr.count("\n") == 1
        if not right:
            print("expected '%s', got: %d %s" % (want, run.returncode, run.stderr))
            failed = 1
    return failed


def maps(vtac, folder):
    """Operators that take a map are refused with what to do."""
    failed = 0
    for op in ("CastMap", "DictVectorizer"):
        place = os.path.join(folder, op)
        x = numpy.zeros((1, 3), numpy.float32)
        write_model(place, model_of(op, {}, 3, ML)([("x", x)], [("y", x)]))
        run = subprocess.run([vtac, "compile", "model.onnx", "-o", "m.so"], cwd=place, stderr=subprocess.PIPE, text=True, check=False)
        if run.returncode != 1 or op not in run.stderr or "a map is no value here" not in run.stderr or run.stderr.count("\n") != 1:
            print("%s: %d %s" % (op, run.returncode, run.stderr))
            failed = 1
    return failed


def refusals(vtac, folder):
    """One line each, with what was expected."""
    failed = 0
    cases = (("RegexFullMatch", dict(pattern="(?i)a"), obj(["a"]), "this group"), ("RegexFullMatch", dict(pattern="("), obj(["a"]), "its form"),
             ("RegexFullMatch", dict(pattern="((a{100}){100}){100}"), obj(["a"]), "so many repeats"),
             ("Tokenizer", dict(mark=0, mincharnum=2, pad_value="", separators=[""]), obj(["a"]), "expected 1 for single characters"),
             ("Tokenizer", dict(mark=0, mincharnum=1, pad_value="", separators=[" "], tokenexp="a"), obj(["a"]), "and not both"),
             ("Tokenizer", dict(mark=0, mincharnum=1, pad_value="", tokenexp="a("), obj(["a"]), "its form"),
             ("Cast", dict(to=FLOAT), obj(["Hello"]), "'Hello' is no number"), ("ReduceMax", {}, obj(["a"]), "expected numbers, bool"))
    for i, (op, attrs, x, want) in enumerate(cases):
        place = os.path.join(folder, "bad_%d" % i)
        y = numpy.zeros(1, numpy.float32) if op == "Cast" else numpy.zeros(1, bool)
        write_model(place, model_of(op, attrs, 20, MS if op == "Tokenizer" else "")([("x", x)], [("y", y)]))
        os.makedirs(os.path.join(place, "test_data_set_0"))
        for name, value in (("input_0", x), ("output_0", y)):
            with open(os.path.join(place, "test_data_set_0", name + ".pb"), "wb") as file:
                file.write(proto(name, value).SerializeToString())
        run = subprocess.run([vtac, "verify", place], stdout=subprocess.PIPE, text=True, timeout=20, check=False)
        first = run.stdout.splitlines()[0]
        if want not in first or not first.startswith("FAIL"):
            print("expected '%s', got: %s" % (want, first))
            failed = 1
    return failed


def main():
    suite = Texts()
    add_moves(suite)
    add_makers(suite)
    add_tokens(suite)
    add_casts(suite)
    add_classic(suite)
    add_sequences(suite)
    add_pictures(suite)
    vtac = os.path.abspath(sys.argv[1])
    return suite.run(vtac) | refusals(vtac, suite.folder.name) | no_reader(vtac, suite.folder.name) | maps(vtac, suite.folder.name)


sys.exit(main())
