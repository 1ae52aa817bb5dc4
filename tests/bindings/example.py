# SPDX-License-Identifier: Apache-2.0
"""The Python binding as a program uses it. Arguments: DEVICE MODEL TALKER"""
import array
import asyncio
import concurrent.futures
import ctypes
import gc
import os
import select
import signal
import sys
import threading

import vta

uri, path, talker = sys.argv[1:]
remote = uri.startswith(("pipe:", "ssh:"))


def picture(tensor, seed):
    values = array.array("f")
    for _ in range(tensor.nbytes // 4):
        seed = (seed * 1664525 + 1013904223) % 2**32
        values.append((seed >> 24) / 255)
    return memoryview(values).cast("B").cast("f", tensor.shape)


def raises(kind, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except kind as error:
        assert str(error), kind
        return error
    raise AssertionError("%s was not raised" % kind)


def classify(model, seed):
    return model.run(picture(model.inputs[0], seed))[0].tolist()


# Load, describe, set, run, get, profile.
with vta.Model(path, device=uri, threads=2) as model:
    print(model)
    x, y = model.inputs[0], model.outputs[0]
    assert x.dtype == "float32" and x.nbytes == 4 * x.shape[0] * x.shape[1] * x.shape[2] * x.shape[3]
    one, two = classify(model, 1), classify(model, 2)
    assert one != two and classify(model, 1) == one
    model.set(x.name, picture(x, 2).tobytes())
    assert model.run()[0].tolist() == two and model.get(y.name).tolist() == two
    model.run(picture(x, 1).tolist())
    assert model.get().tolist() == one and y.data.shape == y.shape
    steps = model.profile(picture(x, 2))
    assert [s.name for s in steps] == [s.name for s in model.steps()] and sum(s.cycles for s in steps) == model.cycles
    assert any(s.on_accelerator for s in steps) and any(s.seconds > 0 for s in steps)
    layers = model.layers()
    assert sum(layer.predicted for layer in layers) == sum(s.predicted for s in steps) > 0
    assert all(sum(layer.split.values()) == layer.cycles for layer in layers)
    assert not uri.startswith("tsim") or sum(layer.cycles for layer in layers) == model.cycles > 0
    kept = y.copy()
    classify(model, 1)
    assert kept.tolist() == two and y.tolist() == one

    # Tensors of `run` belong to the caller; `run_views` returns the model's own tensors.
    mine, views = model.run(picture(x, 2))[0], model.run_views(picture(x, 2))
    model.run(picture(x, 1))
    assert mine.tolist() == two and views[0] is y and y.tolist() == one
    assert y[0].tolist() == one[0] and y[0, -1] == y[-1][-1] == one[0][-1] and [row.tolist() for row in y] == one
    y[0].set([3.0] * y.shape[1])
    assert y.tolist() == [[3.0] * y.shape[1]]
    raises(IndexError, lambda: y[1])
    raises(IndexError, lambda: y[0, 0, 0])
    raises(TypeError, lambda: y[0:1])

    # Nothing is copied: what is bound is read and written where it lies.
    mine, result = bytearray(picture(x, 2).tobytes()), bytearray(y.nbytes)
    model.bind_input(0, mine)
    model.bind_output(0, result)
    y.data.cast("B")[:] = bytes(y.nbytes)
    assert model.run()[0] is result
    assert memoryview(result).cast("f", y.shape).tolist() == two and not any(y.tobytes())
    raises(BufferError, mine.extend, b"more")  # a view of it is in use
    mine[:] = picture(x, 1).tobytes()
    model.run()
    assert memoryview(result).cast("f", y.shape).tolist() == one
    model.bind_output(0, None)
    assert classify(model, 2) == two
    mine.extend(b"free again")

    # DLPack, both ways, with ourselves as the other library.
    other = x.copy()
    other.set(picture(x, 1))
    model.bind_input(0, other)
    model.run()
    assert y.tolist() == one
    del other
    gc.collect()
    model.run()
    assert y.tolist() == one
    x.set(vta.Model(path, device=uri).inputs[0])  # zeros, of a model that is gone
    assert not any(x.tobytes()) and x.__dlpack_device__() == (1, 0)
    capsule = x.__dlpack__()
    del capsule
    try:
        import numpy
    except ImportError:
        numpy = None
    if numpy is not None:
        pixels = numpy.array(picture(x, 2))
        scores = model.run(pixels)[0]
        assert type(scores) is numpy.ndarray and scores.dtype == numpy.float32 and scores.tolist() == two
        assert scores.argmax() == two[0].index(max(two[0])) and scores[0].max() == max(two[0])
        assert model.run(pixels[..., ::-1])[0].tolist() == model.run(numpy.ascontiguousarray(pixels[..., ::-1]))[0].tolist()
        model.bind_input(0, pixels)
        assert model.run()[0].tolist() == two
        assert numpy.from_dlpack(model.get()).tolist() == two

        for wrong in (pixels.astype(">f4"), pixels.astype("f8"), "text", None):
            raises(TypeError, model.run, wrong)
        for wrong in (pixels[0], numpy.float32(1), 1.0, [[1.0], [2.0, 3.0]]):
            raises(ValueError, model.run, wrong)
        raises(TypeError, model.bind_input, 0, array.array("i", bytes(x.nbytes)))
        raises(BufferError, model.bind_input, 0, pixels[..., ::-1])

    # Errors are of the language.
    assert raises(ValueError, model.run, b"123")
    raises(ValueError, model.set, 0, memoryview(bytes(4 * 7)).cast("f"))
    raises(TypeError, model.set, 0, memoryview(bytes(x.nbytes)).cast("i").cast("B").cast("i", x.shape))
    raises(TypeError, model.run, b"", b"")
    raises(KeyError, model.set, "nothing", b"")
    raises(IndexError, model.get, 7)
    raises(vta.InvalidError, model.wait)
    raises(BufferError, model.bind_input, 0, bytes(x.nbytes))
    raises(ValueError, model.bind_output, 0, bytearray(3))
    error = raises(OSError, vta.Model, "no such file.so")
    assert isinstance(error, vta.DeviceError) and error.status == "input/output error" and "no such file.so" in str(error)
    raises(OSError, vta.Model, path, device="nonsense")
    raises(TypeError, vta.Model, path, device=3)
    for wrong in (dict(threads=-1), dict(threads=2**40), dict(timeout=-1.0), dict(timeout=float("nan")), dict(device="fsim\0")):
        raises(ValueError, vta.Model, path, **wrong)
    raises(vta.DeviceError, vta.Model, b"no such \xff file.so")
    raises(TypeError, model.get, slice(0, 1))

    # Started and awaited, in an event loop that goes on meanwhile.
    async def loop():
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        ticker = asyncio.ensure_future(tick())
        assert (await model.run_async(picture(x, 1)))[0].tolist() == one
        assert (await model.run_async(picture(x, 2)))[0].tolist() == two and ticks > 1
        task = asyncio.ensure_future(model.run_async())
        await asyncio.sleep(0)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            pass
        assert (await model.run_async(picture(x, 1)))[0].tolist() == one
        # cancelled when it is over, but the task does not know it yet; and a second one beside it is refused
        task = asyncio.ensure_future(model.run_async(picture(x, 2)))
        await asyncio.sleep(0)
        with select.epoll() as over:
            over.register(model.fileno(), select.EPOLLIN)
            assert over.poll(60)
        try:
            await model.run_async(picture(x, 1))
            raise AssertionError("two runs of one model")
        except vta.Error as error:
            assert error.status == "device busy", error
        asyncio.get_running_loop().call_soon(lambda: asyncio.get_running_loop().call_soon(task.cancel))
        try:
            assert (await task)[0].tolist() == two
        except asyncio.CancelledError:
            pass
        assert (await model.run_async(picture(x, 1)))[0].tolist() == one
        ticker.cancel()

    asyncio.run(loop())
    model.start(picture(x, 2))
    raises(vta.Error, model.run)
    raises(vta.Error, model.set, 0, bytes(x.nbytes))
    raises(vta.Error, model.bind_input, 0, bytearray(x.nbytes))
    while model.wait(0.01) is None:
        pass
    assert y.tolist() == two
    model.start()
    model.cancel()
    try:
        model.wait()
    except vta.Interrupted:
        pass
    model.interrupt()
    raises(vta.Interrupted, model.run)
    assert classify(model, 1) == one
raises(ValueError, model.run)
assert y.tolist() == one  # a tensor outlives its model
model.close()

# The calls of ONNX Runtime's class.
session = vta.InferenceSession(path, device=uri)
given, made = session.get_inputs()[0], session.get_outputs()[0]
assert given.type == "tensor(float)" and tuple(given.shape) == session.model.inputs[0].shape and made.name
for seed, expected in ((1, one), (2, two)):
    feed = {given.name: picture(session.model.inputs[0], seed)}
    assert session.run(None, feed)[0].tolist() == session.run([made.name], feed)[0].tolist() == expected
assert given.name in str(raises(ValueError, session.run, None, {}))
assert "'scores of none'" in str(raises(KeyError, session.run, ["scores of none"], feed))
session.model.close()

# Without NumPy, `run` returns tensors that belong to the caller.
numpy_here, sys.modules["numpy"] = sys.modules.get("numpy"), None
vta._numpy.cache_clear()
with vta.Model(path, device=uri) as model:
    mine = model.run(picture(model.inputs[0], 2))[0]
    assert type(mine) is vta.Tensor and mine.name == model.outputs[0].name
    assert classify(model, 1) == one and mine.tolist() == two and mine[0, 1] == two[0][1]
del sys.modules["numpy"]
if numpy_here is not None:
    sys.modules["numpy"] = numpy_here
vta._numpy.cache_clear()

# Sizes that the model leaves open: an input takes that of its values, an output what the run decides.
if not remote:
    with vta.Model(os.path.join(os.path.dirname(path), "open.so")) as model:
        for rows in (2, 3, 1, 3):
            values = [[(5 * i + 3 * j + rows) % 7 - 3.0 for j in range(4)] for i in range(rows)]
            y, z = model.run(values)
            assert y.tolist() == [[max(v, 0) for v in row] for row in values], y.tolist()
            places = [(i, j) for i, row in enumerate(values) for j, v in enumerate(row) if v > 0]
            assert z.tolist() == [[i for i, _ in places], [j for _, j in places]] and model.outputs[1].tolist() == z.tolist()
        model.set_shape("x", (2, 4))
        assert model.run()[0].tolist() == [[0.0] * 4] * 2 and model.outputs[1].tolist() == [[], []]
        assert y.tolist() == [[max(v, 0) for v in row] for row in values]
        assert "axis 1 is 5" in str(raises(ValueError, model.run, [[1.0] * 5]))
        raises(ValueError, model.set_shape, 0, (2, 4, 1))

# The compiler, by its options' names; what it refuses is an exception with its sentence.
if uri == "fsim":
    summary = vta.compile("ic.onnx", "again.so", target="vta", host="host", disable_pass=["fuse", "combine-parallel-conv2d"], report=True)
    assert summary["file"] == "again.so" and summary["steps"] > 2, summary
    assert classify(vta.Model("again.so"), 1) == one
    assert "ic.onnx" not in str(raises(vta.InvalidError, vta.compile, "ic.onnx", nonsense=1))
    assert "none.onnx" in str(raises(vta.Error, vta.compile, "none.onnx"))
    assert "unknown host 'pink'" in str(raises(vta.InvalidError, vta.compile, "ic.onnx", host="pink"))
    vta.vtac("zoo", "tiny_ad", o="ad.onnx")
    assert vta.quantize("ad.onnx", "adq.onnx", per_tensor=True)["samples"] > 0 and os.path.getsize("adq.onnx") > 1000
    for trials in (2, 4):  # the second goes on from the first
        found = vta.tune("adq.onnx", "ad.jsonl", target="vta", trials=trials, tuner="grid")
        assert found and all("kernel" in record and "point" in record for record in found), found
    assert vta.compile("adq.onnx", "ad.so", target="vta", tuned="ad.jsonl")["steps"] > 0
    assert "none.onnx" in str(raises(vta.Error, vta.tune, "none.onnx"))
    # Progress and notes; what they raise, Ctrl-C too, ends the work and comes out, and leaves no file.
    stages, notes = [], []
    vta.compile("ic.onnx", "again.so", progress=lambda *at: stages.append(at), notes=notes.append)
    assert len(stages) > 20 and all(done <= total or total == 0 for _, _, done, total in stages) and notes == []
    vta.quantize("ad.onnx", "adq.onnx", notes=notes.append)
    assert notes and "made-up" in notes[0] and not any("\n" in line for line in notes), notes
    def ends(at):
        raise ZeroDivisionError(at)
    for how, error in ((lambda *at: ends(at), ZeroDivisionError), (lambda *at: True, vta.Interrupted),
                       (lambda *at: os.kill(os.getpid(), signal.SIGINT), KeyboardInterrupt)):
        try:
            vta.compile("ic.onnx", "ended.so", progress=how)
            raise AssertionError(error)
        except error:
            pass
        assert not os.path.exists("ended.so")
    pool = [threading.Thread(target=vta.compile, args=("ic.onnx", "thread%d.so" % i)) for i in range(2)]
    for thread in pool:
        thread.start()
    for thread in pool:
        thread.join()
    assert open("thread0.so", "rb").read() == open("thread1.so", "rb").read() == open("again.so", "rb").read()
    assert "'board'" in str(raises(vta.InvalidError, vta.vtac, "board", dir="b"))
    assert "resnet18" in vta.vtac("zoo", "list") and raises(vta.Error, vta.verify, "no such folder")

# A callback that throws: it comes out of the load.
def angry(line):
    raise ZeroDivisionError(line)


raises(ZeroDivisionError, vta.Model, path, device="pipe:" + talker, progress=angry)
lines = []
raises(vta.DeviceError, vta.Model, path, device="pipe:" + talker, progress=lines.append)
assert lines == ["pipe: there is something to wait for"], lines

# A thread pool of ours: a model for each thread, on one device.
if not remote:
    with vta.Device(uri, "pynq") as device, concurrent.futures.ThreadPoolExecutor(4) as pool:

        def work(number):
            with vta.Model(path, device=device, threads=1, priority=number % 2) as own:
                return [classify(own, 1 + (number + i) % 2) for i in range(3)]

        answers = list(pool.map(work, range(6)))
        for number, got in enumerate(answers):
            assert got == [(one, two)[(number + i) % 2] for i in range(3)], number
        used = vta.Model(path, device=device)
        raises(vta.DeviceError, device.close)
        used.close()

# After a fork the child has its own copy.
if uri.startswith("fsim") or uri.startswith("tsim"):
    model = vta.Model(path, device=uri, threads=3)
    assert classify(model, 2) == two
    child = os.fork()
    if child == 0:
        os._exit(0 if classify(model, 1) == one and classify(model, 2) == two else 1)
    assert os.waitpid(child, 0)[1] == 0 and classify(model, 1) == one
print("example.py: %s: good" % uri)
