#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# The PTX of networks of the zoo, for the processors that users have: ptxas assembles it without a word, and the machine code of int8
# networks has the instruction for four products of bytes (IDP). Prints of each network its steps, and for each processor the most
# registers of a kernel and how many kernels keep some of their values in memory.
#
# usage: ptx_zoo.py VTAC FOLDER_OF_PTXAS [--record] [NETWORK[:int8]...]   (--record: each at once, in tests/results/ptx.json)
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import results  # noqa: E402

PROCESSORS = ("sm_70", "sm_80", "sm_90")
STANDARD = ("resnet18 resnet50 mobilenet_v1 mobilenet_v2 squeezenet1_1 densenet121 tiny_ic tiny_kws tiny_vww tiny_ad lstm gru bilstm crnn "
            "transformer shufflenet_v2 mobilenet_v3_small efficientnet_lite0 yolov5n ssd_mobilenet_v2 unet deeplab vit_tiny bert minilm gpt "
            "llama whisper conformer swin tcn c3d resnet18:int8 resnet50:int8 mobilenet_v2:int8 tiny_kws:int8 bert:int8").split()
wrong = []


def run(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def assemble(tools, name, processor, of_bytes):
    """Most registers of a kernel, kernels that spill, and whether the code has IDP, where it is looked for."""
    status, told = run(os.path.join(tools, "ptxas"), "-arch=" + processor, "-v", "texts/model.kernels", "-o", "m.cubin")
    bad = [line for line in told.splitlines() if re.search("warning|error|fatal", line, re.I)]
    if status != 0 or bad:
        wrong.append("%s, %s: ptxas ends with %d: %s" % (name, processor, status, "; ".join(bad[:2])))
        return 0, 0, False
    registers = [int(n) for n in re.findall(r"Used (\d+) registers", told)]
    spills = len(re.findall(r"[1-9]\d* bytes spill stores", told))
    code = run(os.path.join(tools, "nvdisasm"), "-c", "m.cubin")[1] if of_bytes else ""
    return max(registers, default=0), spills, re.search(r"\bIDP(\.\w+)+", code) is not None


def check_network(vtac, tools, name):
    base, _, kind = name.partition(":")
    row = {}
    run(vtac, "zoo", base, "-o", "m.onnx", *(["--int8"] if kind else []))
    for processor in PROCESSORS:
        status, told = run(vtac, "compile", "m.onnx", "--target", "cuda:" + processor, "--offload", "all", "-o", "m.so", "--emit", "kernels:texts")
        steps = re.search(r"^(\d+) of (\d+) steps are kernels", told, re.M)
        if status != 0 or steps is None:
            wrong.append("%s: it is not compiled: %s" % (name, told))
            return row
        row["steps"], row["on the host"] = int(steps.group(2)), int(steps.group(2)) - int(steps.group(1))
        registers, spills, dots = assemble(tools, name, processor, kind != "")
        row["registers " + processor], row["spill " + processor] = registers, spills
        if kind and not dots:
            wrong.append("%s, %s: its code has no IDP" % (name, processor))
    print("%s: %s" % (name, ", ".join("%s %d" % item for item in row.items())), flush=True)
    return row


def main():
    words = [w for w in sys.argv[3:] if w != "--record"]
    vtac, tools = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    rows = {}
    home = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in words or STANDARD:
            before = len(wrong)
            rows[name] = check_network(vtac, tools, name)
            if "--record" in sys.argv and len(wrong) == before:
                results.record("ptx", name, rows[name])
        os.chdir(home)
    print("\n".join(wrong) or "%d networks are assembled for %s" % (len(rows), ", ".join(PROCESSORS)))
    return 1 if wrong else 0


sys.exit(main())
