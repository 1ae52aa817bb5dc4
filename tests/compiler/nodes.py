#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# ONNX's own test cases, by `vtac verify`: the totals, and what does not pass, with the reason that a table has for it. It fails where
# a case does not pass and no row says why, or does not pass in the way that its row says. The cases of `light` are whole networks
# without their weights: their inputs are made as ONNX's own runner makes them.
#
# With a device that runs kernels, all steps that can be kernels run there; steps that stay on the host are named with the reason. Each
# case is noted when it is done, in FOLDER: a run that was interrupted goes on there, as long as vtac is the same. The drivers keep what
# they compile there, too. With --record the totals go into tests/results/nodes.json. --every N: each N-th case, as a sample.
#
# usage: nodes.py VTAC DATA JOBS TABLE [--device opencl:0 FOLDER] [--record] [--every N] [NAME...]   (NAME: a case, or a pattern; exit
# status 77: python3-onnx is not there)
import collections
import concurrent.futures
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

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import results  # noqa: E402

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")
AT_ONCE = 20
FLOW = "the runtime's flow does it, without a kernel: control, texts, sequences, parameters and sizes that only the run knows"


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
    """[case, how it ended, what was said] of some cases; a case that ends the program is looked for among them."""
    run = subprocess.run([vtac, "verify", "-O1", *how, *folders], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    found = {}
    for line in run.stdout.splitlines():
        said = re.match(r"(PASS|FAIL|UNSUPPORTED) ([^ :]+)(?: \(.*?\))?:? ?(.*)", line)
        if said:
            found[os.path.basename(said.group(2))] = (said.group(1), said.group(3))
    left = [f for f in folders if os.path.basename(f) not in found]
    if left == folders:
        found[os.path.basename(left[0])] = ("CRASH", "exit status %d: %s" % (run.returncode, run.stdout[-200:].strip()))
        left = left[1:]
    return {**found, **(verify(vtac, how, left) if left else {})}


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


class Journal:
    """What is known of the cases, kept in a file; one of another vtac is forgotten."""

    def __init__(self, vtac, path):
        about = [[os.stat(f).st_size, os.stat(f).st_mtime] for f in (vtac, os.path.join(os.path.dirname(vtac), "..", "lib", "libvta_gpu.so"))]
        self.path, self.rows = path, {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                lines = [json.loads(line) for line in file if line.endswith("\n")]
            self.rows = {row[0]: row[1:] for row in lines[1:]} if lines[:1] == [about] else {}
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join(json.dumps(row) + "\n" for row in [about] + [[name, *row] for name, row in self.rows.items()]))

    def add(self, rows):
        self.rows.update(rows)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write("".join(json.dumps([name, *row]) + "\n" for name, row in rows.items()))


def verify_all(vtac, device, folder, jobs, cases):
    """[how it ended, what was said, steps on the host, [kernels, steps]] of all cases; tells how far it is."""
    how = ["--target", device.split(":")[0], "--device", device] if device else []
    journal = Journal(vtac, os.path.join(folder, "cases.jsonl")) if device else None
    known = {os.path.basename(c): journal.rows[os.path.basename(c)] for c in cases if os.path.basename(c) in journal.rows} if device else {}
    left = [c for c in cases if os.path.basename(c) not in known]
    parts = [left[i:i + AT_ONCE] for i in range(0, len(left), AT_ONCE)]

    def run(part):
        found = verify(vtac, how, part)
        where = {os.path.basename(c): left_on_host(vtac, device.split(":")[0], c) for c in part} if device else {}
        return {name: [*result, *where.get(name, ([], None))] for name, result in found.items()}

    with concurrent.futures.ThreadPoolExecutor(int(jobs)) as pool:
        for done in concurrent.futures.as_completed([pool.submit(run, part) for part in parts]):
            known.update(done.result())
            if device:
                journal.add(done.result())
            print("%d of %d cases, %d pass" % (len(known), len(cases), sum(row[0] == "PASS" for row in known.values())), flush=True)
    return known


def tell_device(device, found, unexplained, which, keep):
    """Prints which passing cases run on the device, in whole or in part; the totals are kept in tests/results/nodes.json."""
    reasons, kinds = collections.defaultdict(list), collections.Counter()
    for name, (how, _, why, steps) in found.items():
        if how != "PASS":
            continue
        if steps is None:
            kinds["with parameters made constants"] += 1
        elif steps[1] == 0:
            kinds["on the host"] += 1
            reasons[FLOW].append(name)
        else:
            kinds["whole" if not why else "in part" if steps[0] else "on the host"] += 1
        for reason in set(why):
            reasons[reason].append(name)
    for reason, names in sorted(reasons.items()):
        print("\nsteps on the host, %d: %s\n%s" % (len(names), reason, "\n".join("    " + name for name in names)))
    passed = sum(kinds.values())
    print("\nof %d that pass on %s: %s" % (passed, device, ", ".join("%d %s" % (n, kind) for kind, n in sorted(kinds.items()))))
    rows = {"cases on " + device: [len(found), which], "passes": [passed, ""]}
    rows.update({"passes, " + kind: [n, ""] for kind, n in sorted(kinds.items(), reverse=True)})
    rows["wrong"] = [len(unexplained), " ".join(sorted(unexplained))]
    rows["not as ONNX's data, by nodes.txt"] = [len(found) - passed - len(unexplained), ""]
    rows.update({"on the host: " + reason: [len(names), " ".join(sorted(names))] for reason, names in sorted(reasons.items())})
    if keep:
        results.record_all("nodes", {name: {"cases": row[0], "which": row[1]} for name, row in rows.items()})


def main():
    vtac, data, jobs, table = sys.argv[1:5]
    names = sys.argv[5:]
    device = folder = None
    if names[:1] == ["--device"]:
        device, folder, *names = names[1:]
        os.makedirs(folder, exist_ok=True)
        os.environ.update(POCL_CACHE_DIR=folder, VTAC_CACHE=os.devnull + "/none")
    keep = names[:1] == ["--record"]
    names = names[keep:]
    every = 1
    if names[:1] == ["--every"]:
        every, names = int(names[1]), names[2:]
    wanted = names or ["*"]
    rows = rows_of(table)
    with tempfile.TemporaryDirectory() as light:
        cases = [os.path.join(data, kind, name) for kind in KINDS for name in sorted(os.listdir(os.path.join(data, kind)))]
        cases += light_cases(os.path.join(data, "light"), light)
        cases = [c for c in cases if any(fnmatch.fnmatch(os.path.basename(c), w) for w in wanted)][(every - 1) // 2::every]
        found = verify_all(vtac, device, folder, jobs, cases)
    counts = {"PASS": 0, "FAIL": 0, "UNSUPPORTED": 0, "CRASH": 0}
    for how, *_ in found.values():
        counts[how] += 1
    told, reasons = set(), {}
    for name, (how, text, *_) in found.items():
        row = next((r for r in rows if fnmatch.fnmatch(name, r[0])), None)
        if how != "PASS" and row is not None and row[1] == how:
            told.add(row[0])
            reasons.setdefault((how, row[2]), []).append(name)
        elif how != "PASS":
            reasons.setdefault((how, ""), []).append("%s: %s" % (name, text))
    for (how, reason), such in sorted(reasons.items()):
        print("\n%s %d: %s" % (how, len(such), reason or "NO ROW OF %s SAYS WHY" % os.path.basename(table)))
        print("\n".join("    " + name for name in such))
    if device:
        which = ("all" if every == 1 else "one of %d" % every) + (" of " + " ".join(names) if names else "")
        tell_device(device, found, [text for key, texts in reasons.items() if key[1] == "" for text in texts], which, keep)
    if not names and not device and every == 1:
        for row in rows:
            if row[0] not in told:
                print("\nnothing fails any more that %s names as %s" % (os.path.basename(table), row[0]))
    print("\n%d passed, %d failed, %d unsupported, %d crashed, of %d" %
          (counts["PASS"], counts["FAIL"], counts["UNSUPPORTED"], counts["CRASH"], len(found)))
    return 1 if any(reason == "" for _, reason in reasons) or not found else 0


sys.exit(main())
