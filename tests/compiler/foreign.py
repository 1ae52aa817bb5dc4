#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Kinds of models that are known and not read are told apart by their contents: each file is refused in one line that names
# its kind and a way out, whatever it is called. Small files of each kind are written here; the published ones of
# models/importers are tried where they are. ONNX models under other names are still read, and what is cut off or of no kind
# at all is never taken for one.
#
# usage: foreign.py VTAC [MODELS]
import io
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import zipfile

import word_seed
from messages import message

PHRASES = {
    "pytorch-statedict": "PyTorch's torch.save", "safetensors": "safetensors",
}
PLAIN = (".bin", ".txt", ".index", "fingerprint.pb")  # what lies beside a model and has no mark


def archive(names, method):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        for name in names:
            z.writestr(name, b"\x80\x02}q\x00.")
    return out.getvalue()


def samples(draw):
    """Name of a file, format, contents."""
    word = "net%d" % draw.randint(0, 99)
    spaces = draw.choice(["", " ", "\n", "  \t\n"])
    method = draw.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
    yield "a.pt", "pytorch-statedict", archive([word + "/data.pkl", word + "/data/0"], method)
    yield "a.pth", "pytorch-statedict", b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02"
    header = json.dumps({word: {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode() + b" " * draw.randint(0, 7)
    yield "a.safetensors", "safetensors", struct.pack("<Q", len(header)) + header + bytes(8)


def onnx(turned):
    shape = message((1, message((1, 1), (2, message((1, message((1, 2))))))))
    ends = [(k, message((1, name), (2, shape))) for k, name in ((11, "x"), (12, "y"))]
    graph = message((1, message((1, "x"), (2, "y"), (4, "Relu"))), (2, "g"), *ends)
    fields = [(1, 8), (2, "a maker"), (7, graph), (8, message((2, 13)))]
    return message(*(fields[::-1] if turned else fields))


class Trial:
    def __init__(self, vtac, work):
        self.vtac, self.work, self.count = vtac, work, 0

    def inspect(self, path):
        done = subprocess.run([self.vtac, "inspect", path], capture_output=True, text=True)
        self.count += 1
        if done.returncode not in (0, 1) or done.returncode and done.stderr.count("\n") != 1:
            sys.exit("%s: exit status %d\n%s" % (path, done.returncode, done.stderr))
        return done

    def refused(self, path, phrase):
        done = self.inspect(path)
        if done.returncode != 1 or phrase not in done.stderr or path not in done.stderr:
            sys.exit("%s is not called %s:\n%s" % (path, phrase, done.stderr))

    def written(self, name, data):
        path = os.path.join(self.work, name)
        with open(path, "wb") as f:
            f.write(data)
        return path


def published(t, models):
    with open(os.path.join(models, "manifest.json")) as f:
        entries = json.load(f)
    for entry in entries:
        if entry["format"] not in PHRASES:
            continue  # it is read: importer_models.py
        path = os.path.join(models, entry["file"])
        plain = path.endswith(PLAIN) or "variables.data" in path
        t.refused(path, "no model of a known kind" if plain else PHRASES[entry["format"]] + " is not read; ")
        folder = os.path.dirname(path)
        if os.path.basename(path) == "saved_model.pb":
            t.refused(folder, PHRASES[entry["format"]])


def main():
    draw = random.Random(word_seed.told())
    with tempfile.TemporaryDirectory() as work:
        t = Trial(sys.argv[1], work)
        for _ in range(2):
            for name, kind, data in samples(draw):
                t.refused(t.written(name, data), PHRASES[kind])
                cut = t.inspect(t.written("cut", data[:draw.randrange(1, len(data))]))
                others = [p for k, p in PHRASES.items() if k != kind and p in cut.stderr and PHRASES[kind] not in cut.stderr]
                if cut.returncode != 1 or "not an ONNX model" in cut.stderr or others:
                    sys.exit("%s, cut off, is taken for another kind: %s" % (kind, cut.stderr))
            for turned in (False, True):
                for name in ("a.onnx", "a.pb", "a"):
                    if t.inspect(t.written(name, onnx(turned))).returncode != 0:
                        sys.exit("an ONNX model called %s is not read" % name)
            stray = [message((1, 1), (3, "text"), (9, b"\1\2")), json.dumps({"nodes": 3}).encode(), bytes(draw.randrange(256) for _ in range(40)),
                     b"name: yes\nlayering\n", b"\0" * 64]
            for data in stray:
                t.refused(t.written("stray", data), "no model of a known kind")
            t.refused(t.written("a.zip", archive(["one.txt"], zipfile.ZIP_STORED)), "no Keras model: it has no 'config.json'")
        if len(sys.argv) > 2 and os.path.isdir(sys.argv[2]):
            published(t, sys.argv[2])
        print("%d files" % t.count)


main()
