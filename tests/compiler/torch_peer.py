#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Models that PyTorch itself writes, traced and scripted, against what it computes: floats within 1e-5, quantized ones within
# one step and with the same decision, on the host and on the accelerator, where all is one region. Weights are drawn by the
# seed. PyTorch is an optional peer (Debian's python3-torch): without it the test says so and is skipped.
#
# usage: torch_peer.py VTAC   (exit status 77: no PyTorch)
import os
import subprocess
import sys
import tempfile
import warnings

import word_seed

try:
    import numpy as np
    import torch
    import torch.ao.quantization as tq
    import torch.nn as nn
    import torch.nn.functional as F
    from torch.ao.nn.quantized import FloatFunctional
except ImportError:
    print("skipped: PyTorch is not installed (apt-get install python3-torch)")
    sys.exit(77)


class Block(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.a, self.n = nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o)
        self.b, self.m, self.r = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True)
        self.d = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o)) if stride > 1 else None

    def forward(self, x):
        y = self.m(self.b(self.r(self.n(self.a(x)))))
        if self.d is not None:
            x = self.d(x)
        y += x
        return self.r(y)


def residual():
    return nn.Sequential(Block(8, 8, 1), Block(8, 16, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.1), nn.Linear(16, 10))


class Pyramid(nn.Module):
    def __init__(self):
        super().__init__()
        self.c, self.d, self.t = nn.Conv2d(8, 8, 3, padding="same"), nn.Conv2d(24, 4, 1), nn.ConvTranspose2d(8, 8, 3, 2, 1, 1)

    def forward(self, x):
        y = F.max_pool2d(F.hardswish(self.c(x)), 2)
        z = F.interpolate(y, size=x.shape[2:], mode="bilinear", align_corners=True)
        y = F.interpolate(self.t(y), scale_factor=0.5)
        y = F.pad(F.interpolate(y, scale_factor=2.0), [0, x.shape[3] - 2 * y.shape[3], 0, x.shape[2] - 2 * y.shape[2]])
        return torch.sigmoid(self.d(torch.cat([z, x, y], dim=1))), F.avg_pool2d(x, 3, 2, 1, True), F.adaptive_avg_pool2d(x, (5, 7))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.o, self.h = nn.Linear(16, 48), nn.Linear(16, 16), 4
        self.layer, self.norm = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, activation="gelu"), nn.LayerNorm(16)
        self.register_buffer("mask", torch.tril(torch.ones(12, 12)).view(1, 1, 12, 12))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.q(x).split(c, dim=2)
        q, k, v = [y.view(b, t, self.h, c // self.h).transpose(1, 2) for y in (q, k, v)]
        a = (q @ k.transpose(-2, -1)) * (1.0 / (k.size(-1) ** 0.5))
        a = F.softmax(a.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf")), dim=-1)
        return self.layer(self.o((a @ v).transpose(1, 2).contiguous().view(b, t, c))), self.norm(x)[:, 0]


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.l, self.g = nn.Embedding(30, 16), nn.LSTM(16, 8, num_layers=2, batch_first=True, bidirectional=True), nn.GRU(16, 8, batch_first=True)

    def forward(self, ids):
        x = self.e(ids)
        y, (h, c) = self.l(x)
        return y, h, c, self.g(x)[0]


class Steps(nn.Module):
    """What is scripted alone: loops, lists, dictionaries, early returns."""

    def __init__(self):
        super().__init__()
        self.l = nn.ModuleList([nn.Linear(16, 16) for _ in range(3)])

    def forward(self, x):
        kept = []
        for i, layer in enumerate(self.l):
            x = torch.tanh(layer(x))
            if i % 2 == 0:
                kept.append(x)
        n = 0
        while n < 3:
            x, n = x * 1.1, n + 1
        if x.dim() == 2:
            return {"a": x}
        return {"a": x, "b": torch.cat(kept, 0)}


def joined(i, o, k, stride, groups=1, act=True):
    return nn.Sequential(nn.Conv2d(i, o, k, stride, k // 2, groups=groups, bias=False), nn.BatchNorm2d(o), *([nn.ReLU()] if act else []))


class Small(nn.Module):
    """A network to be quantized: each operator of the quantized namespace that such networks have."""

    def __init__(self):
        super().__init__()
        self.begin, self.end, self.add, self.cat, self.mul = tq.QuantStub(), tq.DeQuantStub(), FloatFunctional(), FloatFunctional(), FloatFunctional()
        self.a, self.b, self.c = joined(3, 16, 3, 2), joined(16, 16, 3, 1, 16), joined(16, 24, 1, 1, act=False)
        self.e, self.r, self.g = joined(24, 24, 3, 1), joined(16, 24, 1, 1, act=False), nn.Conv2d(48, 48, 1)
        self.h, self.s, self.k = nn.Hardswish(), nn.Sigmoid(), nn.LeakyReLU(0.1)
        self.l, self.m, self.o = nn.Linear(48, 10), nn.ReLU(), nn.Linear(10, 10)

    def forward(self, x):
        x = self.a(self.begin(x))
        y = self.add.add(self.c(self.b(x)), self.r(x))
        x = self.h(F.max_pool2d(self.cat.cat([y, self.e(y)], 1), 2))
        x = self.k(self.mul.mul(x, self.s(self.g(F.adaptive_avg_pool2d(x, 1)))))
        return self.end(self.o(self.m(self.l(F.avg_pool2d(x, 2).mean([2, 3])))))


def quantized(qconfig):
    model = Small().eval()
    settle(model)
    groups = [[n + ".0", n + ".1"] + ([n + ".2"] if n in "abe" else []) for n in "abcer"]
    model = tq.fuse_modules(model, groups + [["l", "m"]])
    model.qconfig = qconfig
    prepared = tq.prepare(model)
    for i in range(4):
        prepared(torch.randn(1, 3, 32, 32) * (0.5 + 0.2 * i))
    return tq.convert(prepared)


def settle(model):
    """Statistics as if it had been trained."""
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.running_mean.normal_(0, 0.2)
            m.running_var.uniform_(0.5, 1.5)
            m.weight.data.uniform_(0.5, 1.5)
            m.bias.data.normal_(0, 0.2)


def flat(v):
    if isinstance(v, torch.Tensor):
        return [v]
    return [t for item in (v.values() if isinstance(v, dict) else v) for t in flat(item)]


class Trial:
    def __init__(self, vtac, work):
        self.vtac, self.work, self.count, self.worst = vtac, work, 0, 0.0

    def outputs(self, script, x, *more):
        name = next(n.debugName() for n in list(script.graph.inputs())[1:]).split(".")[0]
        path = os.path.join(self.work, "net.pt")
        script.save(path)
        np.save(os.path.join(self.work, "in.npy"), x.numpy())
        folder = tempfile.mkdtemp(dir=self.work)
        commands = (["compile", path, "-O", "1", "--shape", "%s=%s" % (name, "x".join(map(str, x.shape))), "-o", os.path.join(self.work, "net.so"), *more],
                    ["run", os.path.join(self.work, "net.so"), "--input", os.path.join(self.work, "in.npy"), "--output-dir", folder])
        for command in commands:
            done = subprocess.run([self.vtac, *command], capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(done.stderr)
        self.count += 1
        names = sorted(os.listdir(folder), key=lambda f: (len(f), f))
        return [np.load(os.path.join(folder, n)) for n in names]

    def floats(self, model, x, forms="ts"):
        model.eval()
        settle(model)
        for form in forms:
            script = torch.jit.trace(model, x) if form == "t" else torch.jit.script(model)
            for got, want in zip(self.outputs(script, x), flat(script(x)), strict=True):
                want = want.numpy()
                error = np.abs(got - want).max() / max(1e-3, np.abs(want).max())
                if got.shape != want.shape or not error <= 1e-5:
                    sys.exit("%s, %s: off by %g" % (type(model).__name__, form, error))
                self.worst = max(self.worst, error)

    def bytes(self, model, x):
        script = torch.jit.trace(model, x)
        want = script(x).numpy()
        step = model.o.scale
        for target in ([], ["--target", "vta", "--config", "pynq"]):
            got = self.outputs(script, x, *target)[0]
            off = np.rint(np.abs(got - want) / step).max()
            if off > 1 or got.flat[want.argmax()] < got.max() - 1.01 * step:
                sys.exit("quantized, %s: %g steps off" % (target, off))


def main():
    warnings.simplefilter("ignore")
    torch.manual_seed(word_seed.told())
    torch.backends.quantized.engine = "qnnpack"
    x = torch.randn(2, 8, 12, 16)
    with tempfile.TemporaryDirectory() as work, torch.no_grad():
        t = Trial(sys.argv[1], work)
        t.floats(residual(), x)
        t.floats(Pyramid(), x)
        t.floats(Attention(), torch.randn(2, 12, 16))
        t.floats(Words(), torch.randint(0, 30, (2, 7)))
        t.floats(Steps(), torch.randn(2, 12, 16), "s")
        for _ in range(2):
            channels = tq.QConfig(activation=tq.HistogramObserver.with_args(reduce_range=False), weight=tq.default_per_channel_weight_observer)
            for qconfig in (tq.get_default_qconfig("qnnpack"), channels):
                t.bytes(quantized(qconfig), torch.randn(1, 3, 32, 32))
        print("%d models, floats off by at most %.1e" % (t.count, t.worst))


main()
