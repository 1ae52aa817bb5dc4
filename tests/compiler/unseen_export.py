#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Networks that no test was written for (those of e2e/unseen.py) as programs of torch.export, in each layout in its round, with
# weights drawn by the seed, against PyTorch: each is compiled at -O 3 and run on drawn pictures. PyTorch itself takes the
# networks apart into operators of ATen (make_fx); the file around them is written here, as Debian's PyTorch writes none.
#
#   right    every output is within 1e-3 of the range of the reference
#   refused  vtac took it not, with one line
#   unasked  PyTorch itself does not take it apart
#   wrong    anything else: the exit status is 1
#
# usage: unseen_export.py VTAC [--record] [NAME...]   (--record: in tests/results/published.json; exit status 77: PyTorch is not there)
import operator
import os
import sys
import tempfile
import warnings

from unseen_torch import LIMIT, SEED, compare, flat, numpy, ours, results, torch, unseen
import torch_file
from torch.fx.experimental.proxy_tensor import make_fx

LAYOUTS = ("old", "file", "raw")
SCALARS = {torch.uint8: 1, torch.int8: 2, torch.int16: 3, torch.int32: 4, torch.int64: 5, torch.float16: 6, torch.float32: 7, torch.float64: 8,
           torch.bool: 12}


def argument(value):
    """An argument of a node as the schema of torch.export has it."""
    if isinstance(value, torch.fx.Node):
        return value.name
    if isinstance(value, str):
        return {"as_string": value}
    if isinstance(value, torch.dtype):
        return {"as_scalar_type": SCALARS[value]}
    if isinstance(value, torch.device):
        return {"as_device": {"type": value.type, "index": value.index}}
    if isinstance(value, torch.memory_format):
        return {"as_memory_format": 1}
    if isinstance(value, torch.layout):
        return {"as_layout": 7}
    if isinstance(value, (list, tuple)) and any(v is None for v in value):
        return {"as_optional_tensors": [{"as_none": True} if v is None else {"as_tensor": {"name": v.name}} for v in value]}
    if isinstance(value, float) and value - value != 0:  # JSON has no infinity
        return {"as_float": "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"}
    return [argument(v) for v in value] if isinstance(value, (list, tuple)) else value


def outputs_of(node):
    """The names of the results of a node: of several, those that are taken out of it."""
    count = len(node.target._schema.returns)
    if count == 1 and "[]" not in str(node.target._schema.returns[0].type) and not isinstance(node.meta.get("val"), (list, tuple)):
        if not any(user.target is operator.getitem for user in node.users):
            return [node.name]
    taken = {user.args[1]: user.name for user in node.users if user.target is operator.getitem}
    names = [taken.get(i, "%s_unused_%d" % (node.name, i)) for i in range(max([count, *[i + 1 for i in taken]]))]
    return names if count > 1 else [names]






def nodes_of(graph):
    for node in graph.nodes:
        if node.op != "call_function" or node.target is operator.getitem:
            continue
        schema = node.target._schema
        given = dict(zip([a.name for a in schema.arguments], node.args))
        given.update(node.kwargs)
        yield torch_file.node("torch.ops.%s.%s" % (schema.name.replace("::", "."), schema.overload_name or "default"), outputs_of(node),
                              **{("self_" if k == "self" else k): argument(v) for k, v in given.items()})


def exported(net, picture, layout):
    """The bytes of a file, and the answers of PyTorch; None: it has none."""
    try:
        with torch.no_grad():
            answers = flat(net(picture))
            traced = make_fx(lambda x: flat(net(x)))(picture)
    except Exception:  # PyTorch's own refusals have many types
        return None, None
    traced.graph.eliminate_dead_code()
    weights, names = {}, {}
    for node in traced.graph.nodes:
        if node.op == "get_attr":
            names[node.name] = "w.%d" % len(weights)
            weights[names[node.name]] = getattr(traced, node.target).detach().contiguous().numpy()
            node.name = "p_" + names[node.name].replace(".", "_")
    entry = next(node.name for node in traced.graph.nodes if node.op == "placeholder")
    ends = next(node.args[0] for node in traced.graph.nodes if node.op == "output")
    text = torch_file.program(list(nodes_of(traced.graph)), {entry: picture.numpy()}, weights, [end.name for end in ends])
    return torch_file.exported(text, weights, layout), answers


def judge(vtac, net, picture, layout):
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "model.pt2")
        data, answers = exported(net, picture, layout)
        if data is None:
            return "unasked", "-"
        with open(path, "wb") as f:
            f.write(data)
        numpy.save(os.path.join(work, "in0.npy"), picture.numpy())
        for i, answer in enumerate(answers):
            numpy.save(os.path.join(work, "out%d.npy" % i), answer.numpy())
        found, why = ours(vtac, path, {"inputs": [{"name": "x", "open": False, "shape": []}]}, work)
        if found is None:
            return ("refused", why) if why.startswith("vtac") else ("wrong", why)
        error = compare(found, work, len(answers))
        return ("right" if error <= LIMIT else "wrong"), "%.1e" % error


def main():
    vtac, words = sys.argv[1], sys.argv[2:]
    wanted = [w for w in words if w != "--record"]
    warnings.simplefilter("ignore")
    counts = {}
    for i, name in enumerate(unseen.NETS):
        if wanted and not any(word in name for word in wanted):
            continue
        net, inputs, _ = unseen.draw(name, SEED)
        kind, why = judge(vtac, net, inputs[-1], LAYOUTS[i % len(LAYOUTS)])
        counts[kind] = counts.get(kind, 0) + 1
        print("%-40s %-8s %s" % (name + ", exported", kind, why[:300]), flush=True)
        if "--record" in words:
            results.record("published", "torch/%s, exported" % name, {"format": "torch.export", "answer": kind, "error or reason": why[:200]})
    print(", ".join("%d %s" % (n, kind) for kind, n in sorted(counts.items())))
    sys.exit(1 if counts.get("wrong") else 0)


if __name__ == "__main__":
    main()
