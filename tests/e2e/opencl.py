#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Models as kernels of OpenCL against the same file on the host, twice with different data: integers equal, floats within a
# thousandth of the range; then what a user gets who has no driver, no such device, a kernel that the driver refuses.
#
# With --results, networks alone: all of the zoo, in float and int8, where none is named; tests/results/opencl.json keeps what came of each,
# and, with --time, what it takes, as a multiple of the same file's time on the host: the processor's time of both, in turn.
#
# The drivers' loader is a stand-in then, which lets go wrong what a driver on the processor does not.
#
# usage: opencl.py VTAC FOLDER [--stand-in FOLDER] [--results [--time]] [NETWORK[:int8]...]   (FOLDER keeps what the driver compiles; exit status 77: no driver)
import ctypes
import filecmp
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from results import record  # noqa: E402
from seal import seal_of  # noqa: E402

here = os.path.dirname(os.path.abspath(__file__))
vtac, cache = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
os.makedirs(cache, exist_ok=True)
environment = dict(os.environ, POCL_CACHE_DIR=cache, VTAC_CACHE=os.path.join(cache, "vtac"))
wrong = []
names = sys.argv[3:]
results = stand_in = timed = None
if names[:1] == ["--stand-in"]:
    stand_in, names = os.path.abspath(names[1]), names[2:]
if names[:1] == ["--results"]:
    results, names = True, names[1:]
    timed = names[:1] == ["--time"]
    names = names[timed:]


def run(*words, **changes):
    done = subprocess.run([vtac, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                          env=dict(environment, **changes))
    return done.returncode, done.stdout, done.stderr


def must(*words):
    status, out, err = run(*words)
    if status != 0:
        sys.exit("vtac %s: exit status %d: %s" % (" ".join(words), status, err))
    return out


def refused(text, *words, driver="", **changes):
    """One line of vtac's; a line with `driver` in it is the driver's own."""
    status, _, err = run(*words, **changes)
    err = "".join(line for line in err.splitlines(True) if not driver or driver not in line)
    if status != 1 or err.count("\n") != 1 or text not in err:
        wrong.append("vtac %s: exit status %d, %r instead of one line with %r" % (" ".join(words), status, err, text))


def outputs(folder):
    return {name: numpy.load(os.path.join(folder, name)) for name in sorted(os.listdir(folder))}


def compare(what, host, device):
    """The largest error, in parts of the range."""
    worst = 0.0
    if host.keys() != device.keys() or not host:
        wrong.append("%s: other outputs" % what)
    for name, a in host.items():
        b = device[name]
        reach = float(numpy.abs(a.astype(numpy.float64)).max()) or 1.0
        far = float(numpy.abs(a.astype(numpy.float64) - b.astype(numpy.float64)).max()) if a.shape == b.shape else 1e9
        worst = max(worst, far / reach)
        if a.dtype != b.dtype or not far <= (1e-3 * reach if a.dtype.kind == "f" else 0):
            wrong.append("%s: '%s' is %g off, its range is %g" % (what, name, far, reach))
    return worst


def forget_outputs():
    for folder in ("host", "device", "got"):
        shutil.rmtree(folder, ignore_errors=True)


def check_network(name):
    """NETWORK[:int8][@gpu][?host=OPERATOR,...]: @gpu: in groups; the named operators' steps stay on the host, between launches."""
    forget_outputs()
    name, _, kept = name.partition("?")
    device = "opencl:0" + ("?" + kept if kept else "")
    name, _, form = name.partition("@")
    base, _, kind = name.partition(":")
    must("zoo", base, "-o", "m.onnx", *(["--int8"] if kind else []))
    told = must("compile", "m.onnx", "--target", "opencl" + (":" + form if form else ""), "--offload", "all", "-o", "m.so")
    kernels = next(line for line in told.splitlines() if " are kernels " in line)
    print("%s: %s" % (name, kernels), flush=True)
    last, error = None, 0.0
    for seed in ("1", "2"):
        must("run", "m.so", "--seed", seed, "--output-dir", "host")
        must("run", "m.so", "--seed", seed, "--output-dir", "device", "--device", device, "--repeat", "2")
        host = outputs("host")
        error = max(error, compare("%s, seed %s" % (name, seed), host, outputs("device")))
        if last is not None and all(numpy.array_equal(host[k], last[k]) for k in host):
            wrong.append("%s: other data give the same outputs" % name)
        last = host
    return kernels.split(" are ")[0], error


def seconds_of(runs, *device):
    """The processor's time of so many runs, but for what loading takes."""
    def spent(count):
        before = os.times()
        must("run", "m.so", "--repeat", str(count), *device)
        after = os.times()
        return after.children_user - before.children_user + after.children_system - before.children_system

    return spent(runs + 1) - spent(1)


def times_of_host():
    """What a run takes as a multiple of the host's time: the median of pairs in turn, each of half a second or more."""
    runs = 4
    while seconds_of(runs) < 0.5:
        runs *= 2
    pairs = sorted(seconds_of(runs, "--device", "opencl:0") / seconds_of(runs) for _ in range(7))
    print("the processor's time, of the host's: %s" % ", ".join("%.2f" % pair for pair in pairs), flush=True)
    return pairs[len(pairs) // 2]


def record_zoo(networks):
    """All networks, one after the other; each is recorded at once (`./run results opencl`)."""
    for name in networks:
        before = len(wrong)
        kernels, error = check_network(name)
        row = {"kernels": kernels, "error": float("%.2g" % error), "right": len(wrong) == before}
        record("opencl", name, {**row, **({"times the host": float("%.2f" % times_of_host())} if timed else {})})


def check_cache():
    """What the driver built is kept; a damaged file, and one that the driver does not take, are built anew."""
    def files():
        folder = os.path.join("kept", "kernels")
        return {name: os.stat(os.path.join(folder, name)).st_size for name in os.listdir(folder)} if os.path.isdir(folder) else {}

    def go(what):
        status, out, err = run("run", "m.so", "--seed", "5", "--output-dir", "got", "--device", "opencl:0", VTAC_CACHE="kept")
        if status != 0 or err:
            wrong.append("%s: exit status %d, %s" % (what, status, err))
        compare(what, outputs("host"), outputs("got"))

    forget_outputs()
    must("run", "m.so", "--seed", "5", "--output-dir", "host")
    go("without a cache")
    first = files()
    path = os.path.join("kept", "kernels", next(iter(first), ""))
    if len(first) != 1:
        wrong.append("the cache has %d files after one model" % len(first))
        return
    with open(path, "rb") as file:
        whole = file.read()
    header = struct.unpack("<6Q", whole[:48])
    driver, program = whole[48 : 48 + header[3]], whole[48 + header[3] :]
    useless = bytes(len(program))
    value = 0xCBF29CE484222325
    for byte in useless:
        value = (value ^ byte) * 0x100000001B3 & (1 << 64) - 1
    for what, spoilt in (
        ("the same again", None),
        ("a damaged file", whole[:-1] + bytes([whole[-1] ^ 1])),
        ("half a file", whole[: len(whole) // 2]),
        ("a program that the driver does not take", struct.pack("<6Q", *header[:4], value, len(useless)) + driver + useless),
    ):
        if spoilt is not None:
            with open(path, "wb") as file:
                file.write(spoilt)
        go(what)
        with open(path, "rb") as file:
            if len(file.read()) != len(whole) or len(files()) != 1:
                wrong.append("%s: the cache is not as it was" % what)
    if run("run", "m.so", "--device", "opencl:0", VTAC_CACHE="/dev/null/none")[0] != 0:
        wrong.append("a cache that cannot be written stops a model")


def check_stand_in():
    """What a driver on the processor does not do: each is one line, and the model is whole afterwards."""
    ctypes.CDLL("libOpenCL.so.1")
    with open("/proc/self/maps", encoding="utf-8") as file:
        real = next(line.split()[-1] for line in file if "libOpenCL.so" in line)
    device = ("run", "m.so", "--device", "opencl:0")
    os.makedirs("broken")
    with open("broken/libOpenCL.so.1", "w", encoding="ascii") as file:
        file.write("no library")
    refused("no OpenCL: libOpenCL.so.1 cannot be loaded; 'apt-get install ocl-icd-libopencl1'", *device, LD_LIBRARY_PATH="broken")
    for fault, text in (
        ("none", "no OpenCL driver is installed"),
        ("empty", "does not exist; OpenCL's drivers have 0"),
        ("old", "knows 'OpenCL 1.1 stand-in'; OpenCL 1.2 is needed"),
        ("small", "room for a model failed: OpenCL's error -4, out of memory"),
        ("late", "a launch failed: OpenCL's error -6, out of memory"),
        ("lost", "failed: OpenCL's error -36, the device is lost"),
        ("refusing", "refuses the kernel of '"),
    ):
        refused(text, *device, LD_LIBRARY_PATH=stand_in, OPENCL_REAL=real, OPENCL_STAND_IN=fault, VTAC_CACHE="cold")
        if fault in ("none", "empty"):
            out = run("doctor", "--device", "opencl:0", LD_LIBRARY_PATH=stand_in, OPENCL_REAL=real, OPENCL_STAND_IN=fault)[1]
            if "FAILED  driver" not in out:
                wrong.append("'vtac doctor' says nothing of a driver that is %s: %s" % (fault, out))
    library = os.path.join(os.path.dirname(vtac), "..", "lib", "libvta.so")
    for fault, status, text in ((None, 0, ""), ("lost", 1, "the device is lost\n"), ("late", 1, "out of memory\n")):
        done = subprocess.run(["/usr/bin/python3", "-B", os.path.join(here, "intact.py"), library, "m.so", "opencl:0", "11"],
                              stdout=subprocess.PIPE, text=True, check=False,
                              env=dict(environment, LD_LIBRARY_PATH=stand_in, OPENCL_REAL=real, OPENCL_STAND_IN=fault or ""))
        if done.returncode != status or not done.stdout.endswith(text) or done.stdout.count("\n") != status:
            wrong.append("a program whose device is %s: exit status %d, %s" % (fault or "well", done.returncode, done.stdout))
    check_use(real)
    check_untouched(real)
    check_dots(real)


def check_dots(real):
    """A device that has products of four bytes makes the same integers by them."""
    forget_outputs()
    must("zoo", "tiny_kws", "--int8", "-o", "dots.onnx")
    must("compile", "dots.onnx", "--target", "opencl:gpu", "-o", "dots.so", "--emit", "kernels:dots")
    must("run", "dots.so", "--output-dir", "host")
    status, _, err = run("run", "dots.so", "--device", "opencl:0", "--output-dir", "device", LD_LIBRARY_PATH=stand_in, OPENCL_REAL=real,
                         OPENCL_STAND_IN="dots", VTAC_CACHE=os.devnull + "/none")
    if status != 0:
        sys.exit("a device with products of four bytes: %s" % err)
    compare("products of four bytes", outputs("host"), outputs("device"))
    with open("dots/model.kernels", encoding="utf-8") as file:
        if not re.search(r" vtac_s?dot4\(", file.read().partition("__kernel")[2]):
            wrong.append("a GPU's kernels of int8 have no products of four bytes")
    if shutil.which("clang") is None:
        print("no clang: the text for a device with products of bytes is not looked at")
        return
    done = subprocess.run(["clang", "-x", "cl", "-cl-std=CL1.2", "-target", "spir64-unknown-unknown", "-Xclang", "-finclude-default-header", "-Werror",
                           "-D__opencl_c_integer_dot_product_input_4x8bit_packed", "-S", "-emit-llvm", "-o", "dots.ll", "dots/model.kernels"],
                          stderr=subprocess.PIPE, text=True, check=False)
    with open("dots.ll" if done.returncode == 0 else os.devnull, encoding="utf-8") as file:
        if "dot_4x8packed" not in file.read():
            wrong.append("clang makes no product of four bytes: %s" % done.stderr[:500])


def check_untouched(real):
    """Who asks for no such device loads nothing of it."""
    for words in (("--version",), ("zoo", "list"), ("run", "m.so"), ("compile", "m.onnx", "--target", "opencl", "-o", "n.so")):
        status = run(*words, LD_LIBRARY_PATH=stand_in, OPENCL_REAL=real, OPENCL_STAND_IN_REPORT="loaded.txt")[0]
        if status != 0 or os.path.exists("loaded.txt"):
            wrong.append("'vtac %s' loads OpenCL's drivers, or ends with %d" % (" ".join(words), status))


def check_use(real):
    """A run makes no buffer and waits once, at its end; all goes through one queue."""
    steps = int(must("explain", "m.onnx", "--target", "opencl").splitlines()[-1].split()[2])
    for runs in (2, 5):
        status, _, err = run("run", "m.so", "--device", "opencl:0", "--repeat", str(runs), LD_LIBRARY_PATH=stand_in, OPENCL_REAL=real,
                             OPENCL_STAND_IN_REPORT="use.txt")
        if status != 0:
            wrong.append("the stand-in does not hand calls on: %s" % err)
        with open("use.txt", encoding="ascii") as file:
            words = file.read().split()
        use = dict(zip(words[::2], map(int, words[1::2])))
        if use["launches"] % steps != 0 or use["launches"] < runs * steps or use["late"] != 0 or use["queues"] != 1 or \
                use["waits"] > use["launches"] // steps + 4:  # two when it is loaded, two when it is closed
            wrong.append("%d runs of %d steps: %s" % (runs, steps, use))


def check_tuning(target, space, point):
    """The tuner draws how nests are bound; a record of `point` makes another kernel of the same numbers."""
    log = space + ".jsonl"
    must("tune", "ad.onnx", "--target", target, "--offload", "all", "--device", "opencl:0", "--trials", "4", "--repeat", "2", "--log", log)
    with open(log, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    if not all(row["target"].startswith("opencl kernels of ") for row in rows):
        wrong.append("records of kernels are not told from the host's")
    first, other = {}, {}
    for row in rows:
        if row["kernel"] == space:
            kept = first.setdefault(row["shape"], row)
            if row["point"] != kept["point"]:
                other[row["shape"]] = row
    names = re.findall("[a-z]+=", point)
    if not first or first.keys() != other.keys() or any(re.findall("[a-z]+=", row["point"]) != names for row in other.values()):
        wrong.append("%s: the tuner draws %s after %s" % (space, other, first))
    with open("other.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps({**row, "point": point, "cost": 1e-9, "proved": True}) + "\n" for row in other.values())
    for name, words in (("standard", ()), ("tuned", ("--tuned", "other.jsonl"))):
        must("compile", "ad.onnx", "--target", target, "--offload", "all", "--host", "host", *words, "-o", name + ".so", "--emit", "kernels:" + name)
    forget_outputs()
    must("run", "tuned.so", "--output-dir", "host")
    must("run", "tuned.so", "--output-dir", "device", "--device", "opencl:0")
    compare("what is tuned for %s" % target, outputs("host"), outputs("device"))
    if space == "gpu_groups" and filecmp.cmp("standard/model.kernels", "tuned/model.kernels", shallow=False):
        wrong.append("%s: records change nothing, of %d shapes" % (space, len(other)))


def check_verbs():
    """What vtac does for the host it does for such a device."""
    forget_outputs()
    must("zoo", "tiny_ad", "-o", "ad.onnx")
    if "by its own clock" not in must("bench", "ad.onnx", "--device", "opencl:0", "--repeat", "3"):
        wrong.append("'vtac bench' does not tell the device's clock")
    if json.loads(must("bench", "ad.onnx", "--device", "opencl:0", "--repeat", "3", "--json"))["device_median_ms"] <= 0:
        wrong.append("'vtac bench --json' has no time of the device")
    check_tuning("opencl", "gpu_items", "items=1024")
    check_tuning("opencl:gpu", "gpu_groups", "lanes=8 group=64 tile=0")
    must("compile", "ad.onnx", "--target", "opencl", "-o", "t.so")
    must("run", "t.so", "--device", "opencl:0", "--profile", "p.html")
    with open("p.html", encoding="utf-8") as file:
        if "Gemm_3" not in file.read():
            wrong.append("the profile's page has no steps")
    if "agree" not in must("diff", "ad.onnx", "--a", "llvm", "--b", "opencl:0"):
        wrong.append("'vtac diff' finds a difference")
    with open("suite.json", "w", encoding="ascii") as file:
        json.dump({"models": [{"zoo": "tiny_ad"}, {"zoo": "tiny_kws", "int8": True}], "devices": ["opencl:0"], "seeds": [1, 2]}, file)
    must("regress", "suite.json", "--jobs", "1")
    if run("tune", "ad.onnx", "--target", "opencl")[0] != 2 or run("tune", "ad.onnx", "--target", "opencl", "--device", "fsim")[0] != 2:
        wrong.append("kernels are tuned on no device")


def write_large(path):
    """A model with a gigabyte of outputs, more than PoCL gives where its limit is that; False: python3-onnx is not there."""
    try:
        from onnx import TensorProto, helper, numpy_helper, save
    except ImportError:
        return False
    shape = [1000, 300000]
    graph = helper.make_graph(
        [helper.make_node("Expand", ["x", "shape"], ["y"])],
        "large",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(numpy.array(shape, dtype=numpy.int64), "shape")],
    )
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), path)
    return True


def check_refusals():
    with open("m.so", "rb") as file:
        whole = file.read()
    must("compile", "m.onnx", "-o", "plain.so")
    told = must("explain", "m.onnx", "--target", "opencl").splitlines()
    steps = int(told[-1].split()[2])
    if len(told) != steps + 1 or sum(": kernel k" in line for line in told) != int(told[-1].split()[0]):
        wrong.append("'vtac explain' tells %d lines of %d steps" % (len(told), steps))
    refused("cannot be made for wasm32", "compile", "m.onnx", "--target", "opencl", "--host", "wasm32", "-o", "m.wasm")
    if os.path.exists("m.wasm") or run("tune", "m.onnx", "--target", "opencl")[0] != 2:
        wrong.append("what has no kernels is not refused")
    refused("compile it with '--target opencl'", "run", "plain.so", "--device", "opencl:0")
    refused("does not exist", "run", "m.so", "--device", "opencl:99")
    for uri in ("opencl:one", "opencl:", "opencl:0?guest=Conv", "opencl:1000"):
        refused("expected opencl or opencl:NUMBER", "run", "m.so", "--device", uri)
    if write_large("large.onnx"):
        must("compile", "large.onnx", "--target", "opencl", "-o", "large.so")
        refused("MiB in one piece", "run", "large.so", "--device", "opencl:0", POCL_MEMORY_LIMIT="1")
    refused("no OpenCL driver is installed", "run", "m.so", "--device", "opencl:0", OCL_ICD_VENDORS=os.getcwd())
    spoilt = whole.replace(b"get_global_size(0)", b"get_global_shape()", 1)[:-16]  # a function that OpenCL C lacks
    if len(spoilt) + 16 != len(whole) or whole.startswith(spoilt):
        wrong.append("the file holds no kernel's text")
    with open("spoilt.so", "wb") as file:
        file.write(spoilt + whole[-16:-8] + struct.pack("<Q", seal_of(spoilt)))
    for text in ("refuses the kernel of '", "get_global_shape"):
        refused(text, "run", "spoilt.so", "--device", "opencl:0", driver=" error generated.")


def main():
    probe, out, err = run("doctor", "--device", "opencl:0")
    if probe != 0:
        print(out + err)
        return 77
    if "opencl:0" not in must("devices"):
        wrong.append("'vtac devices' does not list opencl:0")
    home = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        if results:
            whole = [line.split()[0] for line in must("zoo", "list").splitlines()]
            record_zoo(names or [n + kind for n in whole for kind in ("", ":int8")])
        else:
            for name in names:
                check_network(name)
            check_cache()
            check_refusals()
            check_verbs()
            if stand_in:
                check_stand_in()
        os.chdir(home)
    print("\n".join(wrong) or "all networks are the same")
    return 1 if wrong else 0


sys.exit(main())
