#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Language models in JavaScript: tokens of drawn texts as libvta-generate has them; what the demo's model says in Node, greedy and drawn,
as vtac says it here; what cannot be, in one line, with a generator that speaks behind it; and a page in which one talks with it.

usage: chat.py VTAC TALES FOLDER_OF_LIBRARIES SOURCE     (exit status 77: no Node, or no Chromium)
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

VTAC, TALES, LIBRARIES, SOURCE = map(os.path.abspath, sys.argv[1:5])
sys.path[:0] = [os.path.join(SOURCE, "tests/generate"), os.path.join(SOURCE, "tests/compiler")]
import native  # noqa: E402
import word_seed  # noqa: E402

ROWS = os.path.join(SOURCE, "tests/lib/configs/rows_pynq.json")
PARTS = ["a", "b", "c", " ", "ab", "abc", " a", "1", "12", "!", "\u00e9", "\ufb01", "\u00bd", "<b>", "<|endoftext|>", "<unk>", "\n", "  ", "x", "xx", "'s",
         "'S", "Tom", "has", " the ball", ".", "?", "\u732b", "\U0001f600", "-"]
failures = []


def check(what, holds, about=""):
    if not holds:
        failures.append(what)
        print(f"{what}: {about}")


def run(*words, **how):
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=280, **how)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.stdout}{done.stderr}")
    return done.stdout


def node(what, *words):
    return json.loads(run("node", os.path.join(SOURCE, "tests/bindings/chat.mjs"), os.path.join(SOURCE, "runtime/wasm"), what, *words))


def keep(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)
    return path


def tokens(rng):
    """Of the tokenizers that the fuzzer begins with, and the tales'."""
    library = native.Library(LIBRARIES)
    corpus = os.path.join(SOURCE, "tests/fuzz/corpus/tokenizer")
    for path in ["tokenizer.json"] + [os.path.join(corpus, name) for name in sorted(os.listdir(corpus))]:
        with open(path, encoding="utf-8") as file:
            content = file.read().split("----")[0]
        with open("one.json", "w", encoding="utf-8") as file:
            file.write(content)
        texts = ["".join(rng.choice(PARTS) for _ in range(rng.randint(0, 14))) for _ in range(200)]
        here = native.Tokenizer(library, content.encode())
        expected = [[list(here.encode(text, True)), here.decode(here.encode(text, True)).decode()] for text in texts]
        wrong = [both for both in zip(texts, node("encode", "one.json", keep("texts.json", texts)), expected) if both[1] != both[2]]
        check(f"{os.path.basename(path)} in JavaScript", not wrong, wrong[:3])
        here.close()


def spoken(rng, module, here, *device):
    """The same in Node as here."""
    requests, expected = [], []
    for words, options in (((), {}), (("--temperature", "1"), {"temperature": 1}),
                           (("--temperature", "1.3", "--top-k", "7"), {"temperature": 1.3, "topK": 7}),
                           (("--temperature", "0.9", "--top-p", "0.8"), {"temperature": 0.9, "topP": 0.8}),
                           (("--temperature", "1.5", "--top-k", "9", "--top-p", "0.7"), {"temperature": 1.5, "topK": 9, "topP": 0.7})):
        prompt = rng.choice(["Tom has a red ball.", "Mia", "Who has the lamp?", "Zoe goes to the park. Where is"])
        seed = str(rng.randint(1, 1000000))
        said = json.loads(run(VTAC, "run", here, *device, "--generate", "24", "--prompt", prompt, "--ignore-end", "--json", "--seed", seed, *words))
        requests.append({"prompt": prompt, "maxTokens": 24, "ignoreEnd": True, "seed": int(seed), **options})
        expected.append({"ids": said["ids"], "text": said["text"]})
    for request, got, want in zip(requests, node("generate", module, "tokenizer.json", keep("requests.json", requests)), expected):
        check(f"{module} says", got == want, (request, got, want))


def refusals(module):
    good = {"prompt": "Tom has", "maxTokens": 5}
    bad = [({"prompt": []}, "no tokens"), ({"prompt": [1, 4000000000]}, "outside of the model's vocabulary"), ({"prompt": [1.5]}, "outside of"),
           ({"prompt": [3] * 65}, "the prompt has 65 tokens and the model takes 64"), ({**good, "temperature": -1}, "temperature"),
           ({**good, "topP": 2}, "top-p"), ({**good, "maxTokens": 20, "ignoreEnd": True, "cancelAt": 3}, "interrupted behind")]
    requests = [good] + [request for one, _ in bad for request in (one, good)]
    first, *rest = node("generate", module, "tokenizer.json", keep("requests.json", requests))
    for (_, text), got, after in zip(bad, rest[::2], rest[1::2]):
        check(text, text in got.get("error", "") and "\n" not in got["error"] and got["name"] == "VtaError", got)
        check(f"after '{text}'", after == first, (after, first))
    whole = node("generate", module, "", keep("requests.json", [{"prompt": "a"}, {"prompt": [1, 3], "maxTokens": 70, "ignoreEnd": True}]))
    check("a text without a tokenizer", "a text needs a tokenizer" in whole[0].get("error", ""), whole[0])
    check("to the end of the context", len(whole[1]["ids"]) == 63, whole[1])


def page(here):
    """Two questions, then one that is too long."""
    with open("talk.html", encoding="utf-8") as file:
        content = file.read()
    check("nothing from elsewhere", "src=" not in content and "href=" not in content and "url(" not in content)
    texts = ["Tom has a red ball.", "Where is Tom?", "Tom has a ball. " * 30]
    said = node("page", os.path.abspath("talk.html"), os.path.abspath("profile"), keep("options.json", {"temperature": 0, "most": 12}), *texts)
    turns = []
    for text, answer in zip(texts[:2], said["answers"]):
        turns.append(text)
        expected = json.loads(run(VTAC, "run", here, "--generate", "12", "--prompt", " ".join(turns), "--json"))["text"]
        check("the page answers", answer == expected.lstrip(), (answer, expected))
        turns.append(expected.strip())
    check("too long", "and the model takes 64: give a shorter one" in said["answers"][2], said["answers"])
    check("widths", said["widths"][0] <= 1400 and said["widths"][1] <= 500, said["widths"])
    check("speed", "tokens behind" in said["speed"] and "cycles a token" in said["speed"], said["speed"])
    with open("tokenizer.json", encoding="utf-8") as file:
        tokenizer = json.load(file)
    os.mkdir("other")
    keep("other/tokenizer.json", {**tokenizer, "pre_tokenizer": {"type": "Nowhere"}})
    run(VTAC, "compile", "int8.onnx", "--host", "wasm32", "-o", "other/talk.html")
    with open("other/talk.html", encoding="utf-8") as file:
        check("a tokenizer that is another's", "Nowhere" in file.read())


def main():
    if shutil.which("node") is None or shutil.which("chromium") is None:
        print("no Node or no Chromium: 'apt-get install nodejs chromium'")
        return 77
    rng = random.Random(word_seed.told())
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as work:
        os.chdir(work)
        run(TALES, "train", "--steps", "60", "-o", "tale.onnx")
        run(VTAC, "compile", "tale.onnx", "--context", "64", "-o", "step.so")
        run(VTAC, "run", "step.so", "--generate", "40", "--prompt", "Tom has a", "--ignore-end", "--temperature", "1", "--save-inputs", "inputs")
        run(VTAC, "quantize", "tale.onnx", "--context", "64", "--calib", "inputs", "--force", "-o", "int8.onnx")
        held = ("--target", "vta", "--config", ROWS, "--offload", "all")
        run(VTAC, "compile", "int8.onnx", "-o", "int8.so")
        run(VTAC, "compile", "int8.onnx", "--host", "wasm32", "-o", "int8.wasm")
        run(VTAC, "compile", "int8.onnx", *held, "--host", "wasm32", "-o", "held.wasm")
        run(VTAC, "compile", "int8.onnx", *held, "--host", "wasm32", "-o", "talk.html")
        tokens(rng)
        for module in ("int8.wasm", "held.wasm"):
            spoken(rng, module, "int8.so")
        refusals("held.wasm")
        page("int8.so")
        os.chdir("/")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
