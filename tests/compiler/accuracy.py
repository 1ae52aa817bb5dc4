#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# What 8 bits cost in right answers: the shared float models with labelled inputs, as floats, quantized, and quantized with
# --tune-rounding. Pictures are seen in 20 ways each (two sizes, five places, mirrored or not); the quantizer sees only the
# plain ones, or, of models with few inputs, those inputs. Exit status 1 where more than 0.5 points are lost. The shares are recorded in
# tests/results/accuracy.json.
#
# usage: accuracy.py VTAC MODELS [NAME...]   (minutes; exit status 77: python3-onnx or the models are not there)
import glob
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import results

try:
    import numpy
    import onnx
    import onnx.helper
except ImportError:
    print("python3-onnx is not installed")
    sys.exit(77)

VTAC, MODELS, NAMES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3:]
ALLOWED = 0.5  # points

PICTURES = {"cat.jpg": 285, "dog.jpg": 207, "dog2.jpg": 207, "goldfish.jpg": 1, "horse-cart.jpg": 603, "hot_dog.jpg": 934,
            "hummingbird.jpg": 94, "kimono.jpg": 614, "kitten_224.png": 281, "parrot.jpg": 88, "wolves.jpg": 270}
# model: how pictures are prepared, or the labelled inputs among those that come with it (that of resnet20_cifar10 is one that it
# gets wrong as floats, too)
CASES = {
    "mobilenetv2-12_dequant_fp32": "imagenet",
    "squeezenet1.1_fp32_from_fp16": "caffe",
    "mlperf_kws_dscnn_fp32": {"tst_000000_Stop_7": 7, "tst_000001_Left_2": 2, "tst_000002_Right_6": 6},
    "mlperf_ic_resnet8_fp32": {"bird4": 2},
}


def run(*words):
    done = subprocess.run([VTAC, *words], capture_output=True, text=True)
    assert done.returncode == 0, f"vtac {' '.join(words)}: {done.stderr}"


def answer(library, path, *words):
    run("run", library, "--input", path, *words, "--output-dir", "out")
    (name,) = os.listdir("out")
    array = numpy.load(f"out/{name}")
    os.remove(f"out/{name}")
    return array


def views_of(preprocess):
    """The pictures as inputs of 224 x 224, the plain one of each first; a model that does nothing prepares them."""
    found = []
    for size in (240, 288):
        value = [onnx.helper.make_tensor_value_info(name, 1, [1, 3, size, size]) for name in "xy"]
        graph = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["x"], ["y"])], "same", value[:1], value[1:])
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=7), "same.onnx")
        run("compile", "same.onnx", "--host", "host", "-o", "same.so")
        far, middle = size - 224, (size - 224) // 2
        for name, label in PICTURES.items():
            picture = answer("same.so", f"{MODELS}/images/{name}", "--preprocess", preprocess)
            for y, x in ((middle, middle), (0, 0), (0, far), (far, 0), (far, far)):
                part = picture[:, :, y:y + 224, x:x + 224]
                found += [(part, label), (part[..., ::-1], label)]
    return found, found[:2 * 5 * len(PICTURES):2 * 5]


def check(model, how):
    if isinstance(how, str):
        inputs, plain = views_of(how)
    else:
        inputs = plain = [(numpy.load(f"{MODELS}/golden/{model}/{name}_in.npy"), label) for name, label in how.items()]
    numpy.savez("calib.npz", *[array for array, _ in plain])
    forms = {"float": None, "8 bits": [], "tuned": ["--tune-rounding"]}
    right = dict.fromkeys(forms, 0)
    for form, options in forms.items():
        path = f"{MODELS}/{model}.onnx"
        if options is not None:
            run("quantize", path, "--calib", "calib.npz", *options, "-o", "q.onnx")
            path = "q.onnx"
        run("compile", path, "--host", "host", "-o", "m.so")
        for array, label in inputs:
            numpy.save("input.npy", array)
            right[form] += int(answer("m.so", "input.npy").argmax() == label)
    share = {form: 100 * count / len(inputs) for form, count in right.items()}
    lost = {form: share["float"] - share[form] for form in ("8 bits", "tuned")}
    print(f"{model:30}{len(inputs):7}{share['float']:9.2f}{share['8 bits']:9.2f}{share['tuned']:9.2f}{lost['8 bits']:8.2f}{lost['tuned']:8.2f}",
          flush=True)
    results.record("accuracy", model, {"inputs": len(inputs), "float %": round(share["float"], 2), "8 bits %": round(share["8 bits"], 2),
                                       "tuned %": round(share["tuned"], 2)})
    return max(lost.values()) <= ALLOWED


if not glob.glob(f"{MODELS}/golden/*"):
    print(f"{MODELS} is not there")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    print(f"{'model':30}{'inputs':>7}{'float %':>9}{'8 bit %':>9}{'tuned %':>9}{'lost':>8}{'tuned':>8}", flush=True)
    good = [check(model, CASES[model]) for model in NAMES or CASES]
sys.exit(0 if all(good) else 1)
