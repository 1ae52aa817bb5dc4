#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# ONNX's own test cases, by `vtac verify`: the totals, and what does not pass, with the reason that a table has for it. It fails where
# a case does not pass and no row says why, or does not pass in the way that its row says. The cases of `light` are whole networks
# without their weights: their inputs are made as ONNX's own runner makes them.
#
# With a device that runs kernels, all steps that can be kernels run there; steps that stay on the host are named with the reason. The
# totals go into RESULTS.
#
# usage: nodes.py VTAC DATA JOBS TABLE [--device opencl:0 RESULTS] [NAME...]   (NAME: a case, or a pattern; exit status 77: python3-onnx
# is not there)
import collections
import concurrent.futures
import datetime
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from onnx_cases import numpy, numpy_helper, write_set
import onnx

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")
AT_ONCE = 40


def light_cases(data, folder):
    """Folders like those of the other cases."""
    for file in sorted(os.listdir(data)):
        if not file.endswith(".onnx"):
            continue
        name = file[:-len(".onnx")]
        place = os.path.join(folder, name)
        os.makedirs(place)
        shutil.copy(os.path.join(data, file), os.path.join(place, "model.onnx"))
        model = onnx.load(os.path.join(data, file))
        given = {i.name for i in model.graph.initializer}
        inputs = []
        for value in model.graph.input:
            if value.name not in given:
                shape = [d.dim_value or 1 for d in value.type.tensor_type.shape.dim]
                count = int(numpy.prod(shape))
                inputs.append((value.name, (numpy.arange(count).reshape(shape) / count).astype(numpy.float32)))
        outputs = []
        for i, value in enumerate(model.graph.output):
            tensor = onnx.TensorProto()
            with open(os.path.join(data, "%s_output_%d.pb" % (name, i)), "rb") as pb:
                tensor.ParseFromString(pb.read())
            outputs.append((value.name, numpy_helper.to_array(tensor)))
        write_set(place, 0, inputs, outputs)
        yield place


def verify(vtac, how, folders):
    """The lines of some cases, by name."""
    run = subprocess.run([vtac, "verify", "-O1", *how, *folders], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    found = {}
    for line in run.stdout.splitlines():
        said = re.match(r"(PASS|FAIL|UNSUPPORTED) ([^ :]+)(?: \(.*?\))?:? ?(.*)", line)
        if said:
            found[os.path.basename(said.group(2))] = (said.group(1), said.group(3))
    for folder in folders:
        if os.path.basename(folder) not in found:
            found[os.path.basename(folder)] = ("CRASH", "exit status %d: %s" % (run.returncode, run.stdout[-200:].strip()))
    return found


def rows_of(table):
    """[pattern, how, reason]: lines of the table, continued where they begin with a blank."""
    rows = []
    with open(table, encoding="utf-8") as file:
        for line in file:
            if line.startswith("#") or not line.strip():
                continue
            if line[0].isspace():
                rows[-1][2] += " " + line.strip()
            else:
                rows.append(line.split(None, 2))
                rows[-1][2] = rows[-1][2].strip()
    return rows


def left_on_host(vtac, target, folder):
    """Reasons of the steps that stay on the host."""
    run = subprocess.run([vtac, "explain", "-O1", os.path.join(folder, "model.onnx"), "--target", target, "--host-only"],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    found = [re.match(r"step '(.*)' stays on the host: (.*)", line) for line in run.stdout.splitlines()]
    whole = re.search(r"^(\d+) of (\d+) steps are kernels", run.stdout, re.MULTILINE)
    return [f.group(2) for f in found if f], [int(n) for n in whole.groups()] if whole else None


def tell_device(vtac, device, jobs, passed, counts, results):
    """Prints which passing cases run on the device, in whole or in part, and writes the totals."""
    target = device.split(":")[0]
    with concurrent.futures.ThreadPoolExecutor(int(jobs)) as pool:
        told = dict(zip(passed, pool.map(lambda folder: left_on_host(vtac, target, folder), passed)))
    reasons, kinds = collections.defaultdict(list), collections.Counter()
    for folder, (why, steps) in told.items():
        kinds["without a step" if steps is None or steps[1] == 0 else "whole" if not why else "in part" if steps[0] else "on the host"] += 1
        for reason in set(why):
            reasons[reason].append(os.path.basename(folder))
    for reason, names in sorted(reasons.items()):
        print("\nsteps on the host, %d: %s\n%s" % (len(names), reason, "\n".join("    " + name for name in names)))
    print("\nof %d that pass on %s: %s" % (len(told), device, ", ".join("%d %s" % (n, kind) for kind, n in sorted(kinds.items()))))
    known = {}
    if os.path.exists(results):
        with open(results, encoding="utf-8") as file:
            known = json.load(file)
    known["nodes"] = {"date": datetime.date.today().isoformat(), **{how.lower(): n for how, n in counts.items()}, **dict(sorted(kinds.items())),
                      "left": {reason: sorted(names) for reason, names in sorted(reasons.items())}}
    with open(results, "w", encoding="utf-8") as file:
        json.dump(known, file, indent=1)
        file.write("\n")


def main():
    vtac, data, jobs, table = sys.argv[1:5]
    names = sys.argv[5:]
    device = results = None
    if names[:1] == ["--device"]:
        device, results, *names = names[1:]
    wanted = names or ["*"]
    how = ["--target", device.split(":")[0], "--device", device] if device else []
    rows = rows_of(table)
    with tempfile.TemporaryDirectory() as folder:
        cases = [os.path.join(data, kind, name) for kind in KINDS for name in sorted(os.listdir(os.path.join(data, kind)))]
        cases += light_cases(os.path.join(data, "light"), folder)
        cases = [c for c in cases if any(fnmatch.fnmatch(os.path.basename(c), w) for w in wanted)]
        with concurrent.futures.ThreadPoolExecutor(int(jobs)) as pool:
            parts = pool.map(lambda i: verify(vtac, how, cases[i:i + AT_ONCE]), range(0, len(cases), AT_ONCE))
            found = {name: result for part in parts for name, result in part.items()}
    counts = {"PASS": 0, "FAIL": 0, "UNSUPPORTED": 0, "CRASH": 0}
    for how, _ in found.values():
        counts[how] += 1
    told, reasons = set(), {}
    for name, (how, text) in found.items():
        row = next((r for r in rows if fnmatch.fnmatch(name, r[0])), None)
        if how != "PASS" and row is not None and row[1] == how:
            told.add(row[0])
            reasons.setdefault((how, row[2]), []).append(name)
        elif how != "PASS":
            reasons.setdefault((how, ""), []).append("%s: %s" % (name, text))
    for (how, reason), names in sorted(reasons.items()):
        print("\n%s %d: %s" % (how, len(names), reason or "NO ROW OF %s SAYS WHY" % os.path.basename(table)))
        print("\n".join("    " + name for name in names))
    if device and not names:
        tell_device(vtac, device, jobs, [c for c in cases if found[os.path.basename(c)][0] == "PASS"], counts, results)
    if not names and not device:
        for row in rows:
            if row[0] not in told:
                print("\nnothing fails any more that %s names as %s" % (os.path.basename(table), row[0]))
    print("\n%d passed, %d failed, %d unsupported, %d crashed, of %d" %
          (counts["PASS"], counts["FAIL"], counts["UNSUPPORTED"], counts["CRASH"], len(found)))
    return 1 if any(reason == "" for _, reason in reasons) or not found else 0


sys.exit(main())
