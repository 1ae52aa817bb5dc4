#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vtac run --generate on small drawn models, whose caches are absent, open, bounded or carried, against their sums in NumPy;
the same from C, cancelled and used again; what is refused.

usage: generate.py VTAC FOLDER_OF_LIBRARIES SOURCE C++
"""
import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../compiler"))
import onnx_cases  # noqa: E402  ends with 77 where onnx is missing
import word_seed  # noqa: E402
import native  # noqa: E402

numpy = onnx_cases.numpy
helper, numpy_helper, TensorProto = onnx_cases.helper, onnx_cases.numpy_helper, onnx_cases.TensorProto
WORDS, WIDTH, HEADS, LAYERS, PLACES = 48, 24, 3, 2, 64
VTAC, LIBRARIES, SOURCE, CXX = *map(os.path.abspath, sys.argv[1:4]), sys.argv[4]
failures = []


def check(what, holds, about=""):
    if not holds:
        failures.append(what)
        print(f"{what}: {about}")


class Builder:
    def __init__(self):
        self.nodes, self.constants, self.inputs, self.outputs = [], [], [], []

    def node(self, op, inputs, out, **attrs):
        inputs = [self.constant(f"{out}.{i}", x) if isinstance(x, numpy.ndarray) else x for i, x in enumerate(inputs)]
        self.nodes.append(helper.make_node(op, inputs, [out], **attrs))
        return out

    def constant(self, name, array):
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def input(self, name, shape, kind=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name, shape):
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def write(self, path):
        graph = helper.make_graph(self.nodes, "speaker", self.inputs, self.outputs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        with open(path, "wb") as file:
            file.write(model.SerializeToString())


def ints(*values):
    return numpy.array(values, dtype=numpy.int64)


class Decoder:
    """A decoder with learnt positions."""

    def __init__(self, rng):
        def weights(*shape):
            return (rng.standard_normal(shape) * 0.5).astype(numpy.float32)
        self.embedding, self.position, self.head = weights(WORDS, WIDTH), weights(PLACES, WIDTH), weights(WIDTH, WORDS)
        self.layers = [{name: weights(WIDTH, WIDTH) for name in "qkvo"} for _ in range(LAYERS)]

    def logits(self, ids):
        """Behind the last of the tokens, in doubles."""
        x = (self.embedding[ids] + self.position[:len(ids)]).astype(numpy.float64)
        later = numpy.triu(numpy.full((len(ids), len(ids)), -1e9), 1)
        for layer in self.layers:
            q, k, v = (numpy.reshape(x @ layer[n], (len(ids), HEADS, -1)).transpose(1, 0, 2) for n in "qkv")
            scores = q @ k.transpose(0, 2, 1) + later
            scores = numpy.exp(scores - scores.max(-1, keepdims=True))
            mixed = (scores / scores.sum(-1, keepdims=True)) @ v
            x = x + mixed.transpose(1, 0, 2).reshape(len(ids), -1) @ layer["o"]
        return (x @ self.head)[-1]

    def write(self, path, cache, tokens, kind=TensorProto.INT64, last=False):
        """cache: None, "open" or "bounded"; tokens of a run, or a name; `last`: logits of the last token alone."""
        b, columns = Builder(), WIDTH // HEADS
        b.input("input_ids", [1, tokens], kind)
        if cache == "open":
            b.input("attention_mask", [1, "past_and_new"], TensorProto.INT64)
        if cache == "bounded":
            b.input("position", [1], TensorProto.INT64)
            places = b.node("Add", ["position", ints(*range(tokens))], "places1")
            places = b.node("Unsqueeze", [places, ints(0)], "places")
            hot = b.node("Equal", [b.node("Unsqueeze", [places, ints(2)], "rows"), ints(*range(PLACES))[None, None]], "hot_bool")
            hot = b.node("Cast", [hot], "hot", to=TensorProto.FLOAT)  # [1, new, places]
            write = b.node("Transpose", [hot], "write3", perm=[0, 2, 1])
            write = b.node("Unsqueeze", [write, ints(1)], "write")
            keep = b.node("ReduceSum", [write, ints(3)], "taken")
            keep = b.node("Sub", [numpy.ones(1, numpy.float32), keep], "keep")
        else:
            places = b.input("position_ids", [1, tokens], TensorProto.INT64)
        x = b.node("Add", [b.node("Gather", [self.embedding, "input_ids"], "words"),
                           b.node("Gather", [self.position, places], "positions")], "begin")
        for i, layer in enumerate(self.layers):
            def heads(name):
                y = b.node("MatMul", [x, layer[name]], f"{name}{i}")
                y = b.node("Reshape", [y, ints(1, -1, HEADS, columns)], f"{name}{i}.apart")
                return b.node("Transpose", [y], f"{name}{i}.heads", perm=[0, 2, 1, 3])
            q, k, v = heads("q"), heads("k"), heads("v")
            for letter, name in (("k", "key"), ("v", "value")):
                new, past, present = k if letter == "k" else v, f"past_key_values.{i}.{name}", f"present.{i}.{name}"
                if cache is None:
                    continue
                b.input(past, [1, HEADS, "past" if cache == "open" else PLACES, columns])
                b.output(present, [1, HEADS, "past_and_new" if cache == "open" else PLACES, columns])
                if cache == "open":
                    b.node("Concat", [past, new], present, axis=2)
                else:
                    b.node("Add", [b.node("Mul", [past, keep], f"{present}.kept"), b.node("MatMul", [write, new], f"{present}.new")],
                           present)
                k, v = (present, v) if letter == "k" else (k, present)
            if i == 0:
                size = b.node("Gather", [b.node("Shape", [k], "sizes"), numpy.array(2)], "size")
                seen = b.node("Range", [numpy.array(0), size, numpy.array(1)], "seen")
                seen = b.node("LessOrEqual", [seen, b.node("Unsqueeze", [places, ints(2)], "mine")], "allowed3")
                if cache == "open":
                    mask = b.node("Cast", ["attention_mask"], "mask_bool", to=TensorProto.BOOL)
                    seen = b.node("And", [seen, b.node("Unsqueeze", [mask, ints(1)], "mask3")], "allowed_mask")
                allowed = b.node("Unsqueeze", [seen, ints(1)], "allowed")
            scores = b.node("MatMul", [q, b.node("Transpose", [k], f"k{i}.turned", perm=[0, 1, 3, 2])], f"scores{i}")
            scores = b.node("Where", [allowed, scores, numpy.array(-1e9, numpy.float32)], f"masked{i}")
            mixed = b.node("MatMul", [b.node("Softmax", [scores], f"shares{i}", axis=-1), v], f"mixed{i}")
            mixed = b.node("Reshape", [b.node("Transpose", [mixed], f"mixed{i}.back", perm=[0, 2, 1, 3]), ints(1, -1, WIDTH)],
                           f"mixed{i}.flat")
            x = b.node("Add", [x, b.node("MatMul", [mixed, layer["o"]], f"o{i}")], f"after{i}")
        if last:
            x = b.node("Slice", [x, ints(-1), ints(1 << 40), ints(1)], "last")
        b.node("MatMul", [x, self.head], "logits")
        b.output("logits", [1, 1 if last else tokens, WORDS])
        b.write(path)


class Recurrent:
    def __init__(self, rng):
        self.embedding, self.inner, self.head = ((rng.standard_normal(shape) * 0.7).astype(numpy.float32)
                                                 for shape in ((WORDS, WIDTH), (WIDTH, WIDTH), (WIDTH, WORDS)))

    def logits(self, ids):
        h = numpy.zeros(WIDTH)
        for i in ids:
            h = numpy.tanh(h @ self.inner + self.embedding[i])
        return h @ self.head

    def write(self, path):
        b = Builder()
        b.input("ids", [1, 1], TensorProto.INT64)
        b.input("memory_in", [1, WIDTH])
        x = b.node("Gather", [self.embedding, b.node("Squeeze", ["ids", ints(1)], "id")], "word")
        b.node("Tanh", [b.node("Add", [x, b.node("MatMul", ["memory_in", self.inner], "old")], "sum")], "memory_out")
        b.node("MatMul", ["memory_out", self.head], "logits")
        b.output("logits", [1, WORDS])
        b.output("memory_out", [1, WIDTH])
        b.write(path)


def greedy(model, prompt, count):
    """The tokens as far as no two logits are too near to each other to be told apart in floats."""
    ids = list(prompt)
    for _ in range(count):
        logits = model.logits(ids)
        first, second = numpy.sort(logits)[-1:-3:-1]
        if first - second < 1e-3:
            break
        ids.append(int(numpy.argmax(logits)))
    return ids[len(prompt):]


def vtac(*words, **how):
    return subprocess.run((VTAC,) + words, capture_output=True, text=True, check=False, timeout=300, **how)


def compile_model(path, *words):
    done = vtac("compile", path, "-o", path.replace(".onnx", ".so"), *words)
    check("compile", done.returncode == 0, done.stderr)
    return path.replace(".onnx", ".so")


def run_ids(so, prompt, count, *words):
    done = vtac("run", so, "--generate", str(count), "--ids", ",".join(map(str, prompt)), "--json", *words)
    check(f"{so} runs", done.returncode == 0, done.stderr)
    return json.loads(done.stdout) if done.returncode == 0 else {"ids": []}


def compare(model, so, rng, count=20):
    for _ in range(3):
        prompt = [int(i) for i in rng.integers(0, WORDS, rng.integers(1, 12))]
        expected = greedy(model, prompt, count)
        got = run_ids(so, prompt, count)
        check(f"{so}, tokens", got["ids"][:len(expected)] == expected and len(got["ids"]) == count, (prompt, got["ids"], expected))
        check(f"{so}, count", got.get("end") == "count", got)


def refused(what, text, *words, status=1):
    done = vtac("run", *words)
    check(what, done.returncode == status and text in done.stderr and done.stderr.count("\n") == 1 and done.stdout == "",
          (done.returncode, done.stdout, done.stderr, text))


def kept_inputs(model, so):
    """--save-inputs: an archive for each new token, of the run that made it."""
    got = run_ids(so, [7, 8, 9], 5, "--save-inputs", "kept/inputs")
    names = sorted(os.listdir("kept/inputs"))
    check("kept", names == ["%06d.npz" % i for i in range(1, 6)], names)
    fed = [9] + got["ids"][:-1]
    for i, name in enumerate(names):
        with numpy.load(f"kept/inputs/{name}") as kept:
            check("kept arrays", len(kept.files) == 2 + 2 * LAYERS and kept["past_key_values.0.key"].shape[2] == PLACES, kept.files)
            check("kept tokens", (kept["input_ids"].tolist(), kept["position"].tolist()) == ([[fed[i]]], [2 + i]), (i, fed))
            check("kept cache", bool(kept["past_key_values.1.value"][:, :, 2 + i].any()) and
                  not kept["past_key_values.1.value"][:, :, 3 + i:].any(), i)
    # Inputs of a text are calibration inputs, and the quantizer tells their perplexity: each token is the next sample's input.
    told = [7, 8, 9] + got["ids"]
    _, _, expected = perplexity_of([model.logits(told[:n]) for n in range(3, len(told) - 1)], told[3:-1])
    done = vtac("quantize", so.replace(".so", ".onnx"), "--calib", "kept/inputs", "--max-loss", "0", "--force", "--json", "-o", "kept/q.onnx")
    said = json.loads(done.stdout) if done.returncode == 0 else {}
    check("perplexity of kept inputs", said.get("predicted") == 4 and abs(said["perplexity_float"] / expected - 1) < 0.01, (done, expected))
    refused("kept nowhere", "folder '/dev/null'", so, "--generate", "1", "--ids", "1", "--save-inputs", "/dev/null/x")


# ---- what a tokenizer makes of it

def write_tokenizer(path, names, ends=()):
    vocabulary = {name: i for i, name in enumerate(names)}
    content = {"added_tokens": [{"id": vocabulary[e], "content": e, "special": True} for e in ends],
               "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}, "decoder": {"type": "ByteLevel"},
               "model": {"type": "BPE", "vocab": vocabulary, "merges": []}}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file)


def texts(model, so):
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)] + ["\u0120", ".", "\u00f0", "\u0141", "\u013b", "\u0124"]
    names = (letters + [f"{a}{b}" for a in "qxz" for b in "jkvwyqx"])[:WORDS - 1] + ["</s>"]
    write_tokenizer("tokenizer.json", names, ["</s>"])
    prompt = "the cat. a dog"
    ids = [names.index("\u0120" if c == " " else c) for c in prompt]
    expected = greedy(model, ids, 20)
    end = expected.index(WORDS - 1) + 1 if WORDS - 1 in expected else len(expected)
    byte = {"\u0120": 32, "\u00f0": 0xf0, "\u0141": 0x9f, "\u013b": 0x99, "\u0124": 0x82}
    text = bytes(b for i in expected[:end] if i != WORDS - 1 for b in (byte.get(c, ord(c)) for c in names[i])).decode("utf-8", "replace")
    done = vtac("run", so, "--generate", str(end), "--prompt", prompt)
    check("text", done.returncode == 0 and done.stdout == text + "\n" and done.stderr == "", (done, text))
    done = json.loads(vtac("run", so, "--generate", str(end), "--prompt", prompt, "--json", "--tokenizer", "tokenizer.json").stdout)
    check("text in JSON", (done["text"], done["ids"], done["prompt_tokens"]) == (text, expected[:end], len(prompt)), (done, text, expected))
    done = vtac("run", so, "--generate", "3", "--prompt", prompt, "--layers")
    check("speed", "3 tokens behind 14" in done.stderr and "tokens a second" in done.stderr, done.stderr)
    # The end of a text ends it, unless that is ignored.
    names2 = list(names)
    names2[expected[2]], names2[WORDS - 1] = "</s>", names[expected[2]]
    write_tokenizer("ends.json", names2, ["</s>"])
    words = ("run", so, "--generate", "9", "--ids", ",".join(map(str, ids)), "--tokenizer", "ends.json", "--json")
    first = expected.index(expected[2]) + 1
    done = json.loads(vtac(*words).stdout)
    check("ends", (done["end"], done["ids"]) == ("end of text", expected[:first]), done)
    done = json.loads(vtac(*words, "--ignore-end").stdout)
    check("goes on", (done["end"], done["ids"][:9]) == ("count", expected[:9]), (done, expected))
    # The same drawn twice, and drawn otherwise.
    drawn = [run_ids(so, ids, 30, "--temperature", "1.5", "--top-k", "20", "--top-p", "0.9", "--seed", seed)["ids"] for seed in ("1", "1", "2")]
    check("seeds", drawn[0] == drawn[1] != drawn[2], drawn)


def perplexity_of(logits, ids):
    """Of all rows of logits, the next token of each; the rows that are clear; e to the mean cost."""
    logits = numpy.array(logits)
    rest = numpy.sort(logits, 1)
    odds = logits - rest[:, -1:]
    cost = numpy.log(numpy.exp(odds).sum(1)) - odds[numpy.arange(len(ids)), ids]
    return logits.argmax(1), rest[:, -1] - rest[:, -2] >= -numpy.log(0.9), float(numpy.exp(cost.mean()))


def perplexity(models, sos, rng):
    """vtac perplexity: what each of the models makes of texts, against sums in NumPy; the others beside the first."""
    names = [chr(c) for c in range(ord("a"), ord("z") + 1)] + ["\u0120", "."]
    write_tokenizer("letters.json", names)
    given = ("--tokenizer", "letters.json", "--text")
    lines = [[int(i) for i in rng.integers(0, 28, rng.integers(2, 30))] for _ in range(5)]
    with open("texts.txt", "w", encoding="utf-8") as file:
        file.write("a\n\n" + "\n".join("".join(names[i] for i in ids).replace("\u0120", " ") for ids in lines))
    done = vtac("perplexity", *sos, *given, "texts.txt", "--json")
    check("perplexity runs", done.returncode == 0, done)
    said = json.loads(done.stdout)
    wanted = [i for ids in lines for i in ids[1:]]
    should = [perplexity_of([model.logits(ids[:n]) for ids in lines for n in range(1, len(ids))], wanted) for model in models]
    first, clear, base = should[0]
    check("places", (said["texts"], said["tokens"], said["clear"]) == (5, len(wanted), int(clear.sum())), (said, clear.sum()))
    for row, so, (top, _, cost) in zip(said["models"], sos, should):
        expected = (cost, 100 * (cost / base - 1), 100 * (top == first).mean(), 100 * (top == first)[clear].mean() if clear.any() else 100)
        got = (row["perplexity"], row["change"], row["same"], row["same_clear"])
        check(f"perplexity of {so}", row["model"] == so and numpy.allclose(got, expected, rtol=1e-3, atol=0.5), (row, expected))
    words = vtac("perplexity", *sos, *given, "texts.txt")
    check("perplexity in words", f"{len(wanted)} tokens of 5 texts" in words.stdout and words.stdout.count(".so") == len(sos), words)
    # A refusal is one line.
    for name, text in (("short.txt", b"a\n\nb\n"), ("bytes.txt", b"ab\n\nab\xffc\n")):
        with open(name, "wb") as file:
            file.write(text)
    for text, *arguments in (("short.txt: no line has two tokens", sos[0], *given, "short.txt"), ("nowhere.txt", sos[0], *given, "nowhere.txt"),
                             ("bytes.txt: line 3: ", sos[0], *given, "bytes.txt"), ("nowhere.so", sos[0], "nowhere.so", *given, "texts.txt"),
                             ("nowhere.json", sos[0], "--tokenizer", "nowhere.json", "--text", "texts.txt")):
        done = vtac("perplexity", *arguments)
        check(text, done.returncode == 1 and text in done.stderr and done.stderr.count("\n") == 1 and done.stdout == "", done)
    for arguments in ((sos[0],), (sos[0], "--text", "texts.txt", "--threads", "0"), ("--text", "texts.txt")):
        done = vtac("perplexity", *arguments)
        check("misused", done.returncode == 2 and done.stdout == "", done)


def misuse(so, open_so):
    refused("vocabulary", f"token {WORDS} of the prompt is outside of the model's vocabulary, which ends at {WORDS - 1}",
            so, "--generate", "1", "--ids", f"1,{WORDS}")
    refused("the same of an open model", f"index {WORDS} is outside of {WORDS}", open_so, "--generate", "1", "--ids", f"1,{WORDS}")
    refused("context", "the prompt has 40 tokens and the model takes 32: give a shorter one", so, "--generate", "1", "--ids",
            ",".join(["1"] * 40))
    write_tokenizer("large.json", [f"t{i}" for i in range(WORDS + 2)])
    refused("tokenizer", f"the tokenizer has {WORDS + 2} tokens and the model chooses among {WORDS}", so, "--generate", "1",
            "--prompt", "a", "--tokenizer", "large.json")
    write_tokenizer("small.json", ["a", "b"])
    done = vtac("run", so, "--generate", "9", "--prompt", "ab", "--tokenizer", "small.json")
    check("small tokenizer", done.returncode == 1 and "is none of the tokenizer's 2" in done.stderr and done.stderr.count("\n") == 1, done)
    refused("no text", "the prompt has no tokens", so, "--generate", "1", "--prompt", "")
    with open("broken.json", "w", encoding="utf-8") as file:
        file.write('{"model": ')
    refused("broken", "broken.json: byte", so, "--generate", "1", "--prompt", "a", "--tokenizer", "broken.json")
    refused("absent", "nowhere.json", so, "--generate", "1", "--prompt", "a", "--tokenizer", "nowhere.json")
    os.mkdir("alone")
    os.link(so, "alone/model.so")
    refused("none beside", "no tokenizer.json beside the model; give it by --tokenizer", "alone/model.so", "--generate", "1", "--prompt", "a")
    for what, text in (('input %a: f32[1,4]\n%y: f32[1,4] = Neg(%a)\noutput %y\n', "input 'a' is neither tokens"),
                       ('input %a: i64[1,4]\n%y: i64[1,4] = Neg(%a)\noutput %y\n', "0 outputs of floats that could be logits"),
                       ('input %a: i64[1,4]\ninput %b: i64[1,4]\n%y: i64[1,4] = Add(%a, %b)\noutput %y\n', "2 inputs of tokens")):
        with open("other.ir", "w", encoding="utf-8") as file:
            file.write('graph "other"\n' + what)
        check("other", vtac("compile", "other.ir", "-o", "other.so").returncode == 0)
        refused("no language model", text, "other.so", "--generate", "1", "--ids", "1")
    for words in ((so, "--generate", "0", "--ids", "1"), (so, "--generate", "x", "--ids", "1"), (so, "--generate", "1"), (so, "--prompt", "a"),
                  (so, "--generate", "1", "--ids", "1", "--prompt", "a"), (so, so, "--generate", "1", "--ids", "1"),
                  (so, "--generate", "1", "--ids", "1,,2"), (so, "--generate", "1", "--ids", "-1"), (so, "--generate", "1", "--ids", ""),
                  (so, "--generate", "1", "--ids", "1", "--temperature", "-1"), (so, "--generate", "1", "--ids", "1", "--temperature", "hot"),
                  (so, "--generate", "1", "--ids", "1", "--top-p", "2"), (so, "--generate", "1", "--ids", "1", "--top-k", "few"),
                  (so, "--generate", "1", "--ids", "1", "--input", "x.npy"), (so, "--temperature", "1")):
        refused("words", "", *words, status=2)


# ---- kept in a file

def kept_generation(so, other, another):
    """What was kept goes on as if it had never stopped; files of another model or target, and damaged ones, are refused."""
    whole = run_ids(so, [5, 6, 7], 16)["ids"]
    first = run_ids(so, [5, 6, 7], 6, "--keep", "kept.bin")["ids"]
    second = run_ids(so, whole[6:7], 9, "--resume", "kept.bin", "--keep", "kept.bin")["ids"]
    check(f"{so}, kept", first == whole[:6] and second == whole[7:16], (whole, first, second))
    run_ids(so, [5, 6, 7], 6, "--keep", "kept.bin")
    with open("kept.bin", "rb") as file:
        kept = file.read()
    words = ("--generate", "2", "--ids", "1", "--resume")
    refused("kept by another", "kept.bin: it was kept by another model than", other, *words, "kept.bin")
    refused("kept by one of other weights", "kept.bin: it was kept by another model than", another, *words, "kept.bin")
    refused("kept nowhere", "nowhere.bin", so, *words, "nowhere.bin")
    refused("kept in what never ends", "/dev/zero: it is no regular file", so, *words, "/dev/zero")
    done = vtac("run", so, "--generate", "1", "--ids", "1", "--keep", "/dev/null/k")
    check("a folder that is none", done.returncode == 1 and "/dev/null/k" in done.stderr and done.stderr.count("\n") == 1, done)
    for cut in (0, 7, 60, len(kept) // 2, len(kept) - 1):
        with open("cut.bin", "wb") as file:
            file.write(kept[:cut])
        refused(f"kept, {cut} bytes", "cut.bin: byte", so, *words, "cut.bin")
    with open("cut.bin", "wb") as file:
        file.write(kept[:70] + bytes([kept[70] ^ 4]) + kept[71:])
    refused("kept, a bit flipped", "cut.bin: byte", so, *words, "cut.bin")


# ---- stopped in the middle

def interrupted(so):
    with subprocess.Popen((VTAC, "run", so, "--generate", "1000000000", "--ids", "1"), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:
        begin = process.stdout.read(20)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    check("Ctrl-C", process.returncode == 130 and (begin + out).endswith("\n") and err.count("\n") == 1 and "interrupted" in err,
          (process.returncode, (begin + out)[-20:], err))


def from_c(library, so, prompt, expected):
    """Through the library: twice, cancelled by another thread, and again; ended by the callback, and again."""
    callback_type = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_char_p, ctypes.c_size_t)
    model, generator, diag = ctypes.c_void_p(), ctypes.c_void_p(), native.Diag()
    check("load", library.vta.vta_model_load(so.encode(), None, ctypes.byref(model), ctypes.byref(diag)) == 0, diag.text)
    library.call("vta_generator_create", model, None, ctypes.byref(generator))
    ids = (ctypes.c_uint32 * len(prompt))(*prompt)

    def generate(count, most=None, cancel=False):
        seen = []

        def token(_context, number, _text, _size):
            seen.append(number)
            if cancel and len(seen) == 3:
                thread = threading.Thread(target=library.generate.vta_generator_cancel, args=(generator,))
                thread.start()
                thread.join()
            return most is not None and len(seen) == most
        options = native.Options(size=ctypes.sizeof(native.Options), max_tokens=count)
        try:
            library.call("vta_generate", generator, ids, ctypes.c_size_t(len(prompt)), ctypes.byref(options), callback_type(token), None)
        except native.Refused as refusal:
            return seen, str(refusal)
        return seen, None
    for _ in range(2):
        check(f"{so} in C", generate(len(expected)) == (expected, None), expected)
    seen, text = generate(1000000, cancel=True)
    check(f"{so} cancelled", seen[:3] == expected[:3] and text is not None and "interrupted" in text, (seen, text))
    check(f"{so} after that", generate(len(expected)) == (expected, None), expected)
    check(f"{so} ended by the callback", generate(10, most=2) == (expected[:2], None), expected)
    # A refusal leaves a generator that speaks.
    def refuses(name, text, *words):
        try:
            library.call(name, generator, *words)
        except native.Refused as refusal:
            check(f"{so}, {name} refuses", text in str(refusal) and "\n" not in str(refusal), refusal)
        else:
            check(f"{so}, {name} refuses", False, text)
        check(f"{so} after {text}", generate(len(expected)) == (expected, None), expected)

    def tokens(numbers):
        options = native.Options(size=ctypes.sizeof(native.Options), max_tokens=1)
        return (ctypes.c_uint32 * len(numbers))(*numbers), ctypes.c_size_t(len(numbers)), ctypes.byref(options), callback_type(0), None
    refuses("vta_generator_resume", "nowhere.bin", b"nowhere.bin")
    refuses("vta_generator_resume", "another model", b"kept_by_another.bin")
    refuses("vta_generate", f"{WORDS}", *tokens([1, WORDS]))
    refuses("vta_generate", "no tokens", *tokens([]))
    if "step" in so:
        refuses("vta_generate", f"takes {PLACES}", *tokens([1] * (PLACES + 1)))
    library.generate.vta_generator_cancel(generator)  # while nothing runs: the next one ends at once, the one after it does not
    generate(1)
    check(f"{so} at the end", generate(len(expected)) == (expected, None), expected)
    library.generate.vta_generator_destroy(generator)
    library.vta.vta_model_destroy(model)


def from_cpp(so):
    """speaker.cc says what vtac says, each time, and what it is refused is one line."""
    folders = [f"-I{os.path.join(SOURCE, *f.split('/'))}" for f in
               ("runtime/bindings/cpp", "runtime/generate/include", "runtime/include", "driver/include", "isa/include", "isa/base/include")]
    made = subprocess.run([CXX, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-pedantic-errors", *folders, os.path.join(SOURCE, "tests/generate/speaker.cc"),
                           "-o", "speaker", f"-L{LIBRARIES}", f"-Wl,-rpath,{LIBRARIES}", "-lvta-generate", "-lvta", "-lpthread"], capture_output=True, text=True, check=False)
    check("speaker.cc", made.returncode == 0, made.stderr)
    prompt = "a dog. the cat"
    text = json.loads(vtac("run", so, "--generate", "9", "--prompt", prompt, "--ignore-end", "--json").stdout)["text"]
    done = subprocess.run(("./speaker", so, "tokenizer.json", "9", prompt), capture_output=True, check=False, timeout=120)
    lines = done.stdout.decode("utf-8", "replace")
    said = f"9 {text}\n"
    parts = ["the same text again\n" + said + "ended 3\nthrown: enough\n" + said + "refused: interrupted", said + "refused: token 4000000000 ",
             "refused: ", "nowhere.bin", "refused: ", "nowhere.json", said]
    at = 0
    for part in parts:
        check("in C++", part in lines[at:], (part, lines))
        at = lines.find(part, at) + len(part)
    check("C++ ends", done.returncode == 0 and lines.endswith(said) and not done.stderr, done)


def from_python(so, prompt, expected):
    """The Python binding, from the build's libraries and the sources."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../runtime/bindings/python/vta")
    os.mkdir("vta")
    for path in [os.path.join(source, name) for name in os.listdir(source)] + [os.path.join(LIBRARIES, "_vta.abi3.so")]:
        if os.path.isfile(path):
            os.symlink(os.path.realpath(path), os.path.join("vta", os.path.basename(path)))
    sys.path.insert(0, os.getcwd())
    import vta  # pylint: disable=import-outside-toplevel
    text = vtac("run", so, "--generate", "12", "--prompt", "the cat", "--ignore-end").stdout[:-1]
    check("vta.generate", "".join(vta.generate(so, "the cat", max_tokens=12, ignore_end=True)) == text, text)
    with vta.Generator(so) as generator:
        for _ in range(2):
            got = [token for token, _ in generator.generate(prompt, max_tokens=len(expected), ignore_end=True) if token is not None]
            check("vta.Generator", got == expected, (got, expected))
        check("sizes", (generator.vocabulary, generator.context) in ((0, 0), (WORDS, 0)), (generator.vocabulary, generator.context))
        check("decode", generator.decode(generator.encode("the cat")) == "the cat")
        left = generator.generate(prompt, max_tokens=5)
        next(left)
        again = [next(generator.generate(prompt))[0]]
        check("begun anew", again == expected[:1], again)

        def refused_by(kind, text, call):
            try:
                check(f"Python, {text}", False, call())
            except kind as error:
                check(f"Python, {text}", text in str(error), str(error))
        refused_by(vta.InvalidError, "another generation", lambda: next(left))
        refused_by(vta.Error, "no tokens", lambda: generator.generate([]))
        refused_by(OverflowError, "", lambda: generator.generate([-1]))
        refused_by(TypeError, "", lambda: generator.generate([1.5]))
        refused_by(vta.InvalidError, "temperature", lambda: generator.generate([1], temperature=-1.0))
        refused_by(UnicodeEncodeError, "", lambda: generator.generate("\ud800"))
        running = generator.generate(prompt, ignore_end=True)
        next(running)
        generator.cancel()
        refused_by(vta.Interrupted, "interrupted", lambda: next(running))
        check("after that", [token for token, _ in generator.generate(prompt, max_tokens=3)] == expected[:3])
    refused_by(ValueError, "closed", lambda: generator.generate(prompt))
    refused_by(vta.Error, "nowhere", lambda: vta.Generator("nowhere.so"))


def main():
    seed = word_seed.told()
    rng = numpy.random.default_rng(seed)
    library = native.Library(LIBRARIES)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        decoder, recurrent = Decoder(rng), Recurrent(rng)
        decoder.write("whole.onnx", None, 32)
        decoder.write("open.onnx", None, "tokens", TensorProto.INT32)
        decoder.write("last.onnx", None, "tokens", last=True)
        decoder.write("growing.onnx", "open", "tokens")
        decoder.write("step.onnx", "bounded", 1)
        decoder.write("steps.onnx", "bounded", 4)
        recurrent.write("carried.onnx")
        made = {}
        for name, words in (("whole", ()), ("open", ("--dynamic",)), ("last", ("--dynamic",)), ("growing", ("--dynamic",)), ("step", ()),
                            ("steps", ()), ("carried", ())):
            made[name] = compile_model(name + ".onnx", *words)
            compare(recurrent if name == "carried" else decoder, made[name], rng)
        for name, most in (("whole", 32), ("step", PLACES), ("steps", PLACES)):
            got = run_ids(made[name], [1, 2, 3], 1000)
            check(f"{name}, the end of the context", (got.get("end"), len(got["ids"])) == ("context", most - 2), got)
        kept_inputs(decoder, made["step"])
        Decoder(rng).write("weights.onnx", "bounded", 1)
        weights = compile_model("weights.onnx")
        kept_generation(made["step"], made["growing"], weights)
        kept_generation(made["growing"], made["step"], weights)
        kept_generation(made["carried"], made["step"], weights)
        run_ids(weights, [5, 6, 7], 6, "--keep", "kept_by_another.bin")
        texts(decoder, made["growing"])
        other = Decoder(rng)
        other.write("another.onnx", "bounded", 1)
        perplexity([decoder] * 4 + [other], [made[name] for name in ("whole", "growing", "step", "steps")] + [compile_model("another.onnx")], rng)
        misuse(made["whole"], made["open"])
        interrupted(made["carried"])
        from_cpp(made["growing"])
        from_python(made["growing"], [5, 6], greedy(decoder, [5, 6], 6))
        for name in ("growing", "step", "carried"):
            model = recurrent if name == "carried" else decoder
            from_c(library, os.path.join(folder, made[name]), [5, 6], greedy(model, [5, 6], 8) if name != "carried" else
                   run_ids(made[name], [5, 6], 8)["ids"])
        os.chdir("/")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
