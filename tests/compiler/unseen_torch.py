#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Networks that no test was written for (e2e/unseen_nets.py) as TorchScript, traced and scripted, with weights drawn by the
# seed, against PyTorch: each is compiled at -O 3 and run on drawn pictures.
#
#   right    every output is within 1e-3 of the range of the reference
#   refused  vtac took it not, with one line
#   unasked  PyTorch itself does not script or trace it, or its file gives other answers than the network
#   wrong    anything else: the exit status is 1
#
# usage: unseen_torch.py VTAC [--record] [NAME...]   (--record: in tests/results/published.json; exit status 77: PyTorch is not there)
import os
import re
import subprocess
import sys
import tempfile
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "e2e")]
import results  # noqa: E402
from published_tfjs import LIMIT, compare, ours  # noqa: E402

try:
    import numpy
    import torch
    import unseen
    from unseen_nets import NETS
except ImportError:
    print("skipped: PyTorch is not installed (apt-get install python3-torch python3-torchvision)")
    sys.exit(77)

SEED = 7


def flat(value):
    """The tensors of an answer, in their order."""
    if isinstance(value, torch.Tensor):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else []
    return [tensor for part in parts for tensor in flat(part)]


def written(net, picture, how, path):
    """The answers of the file that PyTorch writes; None: it writes none."""
    try:
        program = torch.jit.script(net) if how == "scripted" else torch.jit.trace(net, picture, strict=False)
        with torch.no_grad():
            answers = flat(program(picture))
            known = flat(net(picture))
    except Exception:  # PyTorch's own refusals have many types
        return None
    same = len(answers) == len(known) and all(a.shape == k.shape and torch.allclose(a, k, rtol=1e-3, atol=1e-4) for a, k in zip(answers, known))
    torch.jit.save(program, path)
    return answers if same else None


def judge(vtac, net, picture, how):
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "model.pt")
        answers = written(net, picture, how, path)
        if answers is None:
            return "unasked", "-"
        numpy.save(os.path.join(work, "in0.npy"), picture.numpy())
        for i, answer in enumerate(answers):
            numpy.save(os.path.join(work, "out%d.npy" % i), answer.numpy())
        said = {"inputs": [{"name": name_of(vtac, path), "open": True, "shape": list(picture.shape)}]}
        found, why = ours(vtac, path, said, work)
        if found is None:
            return ("refused", why) if why.startswith("vtac") else ("wrong", why)
        error = compare(found, work, len(answers))
        return ("right" if error <= LIMIT else "wrong"), "%.1e" % error


def name_of(vtac, path):
    """The name of its input, which the refusal of an open shape tells."""
    said = subprocess.run([vtac, "inspect", path], capture_output=True, text=True)
    found = re.search(r"--shape ([^= ]+)=", said.stderr) or re.search(r"input '([^']+)'", said.stderr)
    return found.group(1) if found else "x"


def main():
    vtac, words = sys.argv[1], sys.argv[2:]
    wanted = [w for w in words if w != "--record"]
    warnings.simplefilter("ignore")
    counts = {}
    for name in NETS:
        if wanted and not any(word in name for word in wanted):
            continue
        net, inputs, _ = unseen.draw(name, SEED)
        for how in ("traced", "scripted"):
            kind, why = judge(vtac, net, inputs[-1], how)
            counts[kind] = counts.get(kind, 0) + 1
            print("%-40s %-8s %s" % (name + ", " + how, kind, why[:300]), flush=True)
            if "--record" in words:
                results.record("published", "torch/%s, %s" % (name, how), {"format": "TorchScript", "answer": kind, "error or reason": why[:200]})
    print(", ".join("%d %s" % (n, kind) for kind, n in sorted(counts.items())))
    sys.exit(1 if counts.get("wrong") else 0)


if __name__ == "__main__":
    main()
