# SPDX-License-Identifier: Apache-2.0
#
# What the tests of the importers share: a model through `vtac compile` and `vtac run`, windows as plain
# loops in double, and damage.
import glob
import os
import subprocess
import sys
import tempfile

import numpy


def replaced(text, pairs):
    """The text with the second of each pair in the place of the first, which has to be there."""
    for old, new in pairs:
        if old not in text:
            sys.exit("'%s' is not in:\n%s" % (old, text))
        text = text.replace(old, new)
    return text


def one_line(said):
    """True where an error is one line, behind remarks of the verb."""
    lines = said.splitlines()
    return len(lines) > 0 and lines[-1].startswith("vtac: ") and all(line.startswith("vtac inspect: ") for line in lines[:-1])


class Lab:
    def __init__(self, vtac, work):
        self.vtac, self.work, self.runs = vtac, work, 0

    def write(self, files):
        """Files by name, in a folder of their own; returns the path of the first."""
        folder = tempfile.mkdtemp(dir=self.work)
        for name, data in files.items():
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            with open(os.path.join(folder, name), "wb") as f:
                f.write(data.encode() if isinstance(data, str) else data)
        return os.path.join(folder, next(iter(files)))

    def call(self, *words, fails=False):
        done = subprocess.run([self.vtac, *words], capture_output=True, text=True)
        self.runs += 1
        if (done.returncode != 0) != fails or (fails and (done.returncode != 1 or not one_line(done.stderr))):
            sys.exit("vtac %s: exit status %d\n%s%s" % (" ".join(words), done.returncode, done.stdout, done.stderr))
        return done.stderr if fails else done.stdout

    def outputs(self, model, given, *options):
        """The outputs by name, for inputs by name."""
        so, folder = os.path.join(self.work, "model.so"), tempfile.mkdtemp(dir=self.work)
        self.call("compile", model, "--target", "llvm", "-o", so, *options)
        words = []
        for name, x in given.items():
            numpy.save(os.path.join(folder, "given.%s.npy" % name), x)
            words += ["--input", "%s=%s" % (name, os.path.join(folder, "given.%s.npy" % name))]
        out = os.path.join(folder, "out")
        self.call("run", so, *words, "--output-dir", out)
        return {os.path.basename(p)[:-4]: numpy.load(p) for p in glob.glob(out + "/*.npy")}

    def compare(self, what, found, wanted, tolerance=1e-5):
        """Each output against its reference, to that part of its range."""
        worst = 0.0
        if set(found) != set(wanted):
            sys.exit("%s: outputs %s, expected %s" % (what, sorted(found), sorted(wanted)))
        for name, value in wanted.items():
            value = numpy.asarray(value, dtype=float)
            if found[name].shape != value.shape:
                sys.exit("%s: %s is %s, expected %s" % (what, name, found[name].shape, value.shape))
            reach = max(1.0, float(numpy.ptp(value))) if value.size else 1.0
            off = float(numpy.max(numpy.abs(found[name] - value))) / reach if value.size else 0.0
            if not off <= tolerance:
                sys.exit("%s: %s is off by %g of its range" % (what, name, off))
            worst = max(worst, off)
        return worst

    def refused(self, files, phrase, *options):
        """One line that has the phrase, exit status 1."""
        said = self.call("inspect", self.write(files), *options, fails=True)
        if phrase not in said:
            sys.exit("expected '%s' in: %s" % (phrase, said))

    def damaged(self, files, name, *options, step=97):
        """The file of that name cut at every 97th byte, and with bytes changed: one line or a model."""
        path = self.write(files)
        at = os.path.join(os.path.dirname(path), name)
        data = files[name].encode() if isinstance(files[name], str) else files[name]
        cases = [data[:n] for n in range(0, len(data), step)]
        cases += [data[:n] + bytes([data[n] ^ (0x55 + n % 64)]) + data[n + 1:] for n in range(3, len(data), 3 * step + 1)]
        for case in cases:
            with open(at, "wb") as f:
                f.write(case)
            done = subprocess.run([self.vtac, "inspect", path, *options], capture_output=True, text=True)
            self.runs += 1
            if done.returncode not in (0, 1) or done.returncode == 1 and not one_line(done.stderr):
                sys.exit("%s of %d bytes: exit status %d\n%s" % (name, len(case), done.returncode, done.stderr))


def rows_of_readme(path, rows):
    """Names in a README's table against those of the rows (names of a .def): the same, in any order."""
    with open(path) as f:
        lines = [line for line in f if line.startswith("|")]
    named = {word for line in lines for i, word in enumerate(line.split("`")) if i % 2 == 1}
    if named != set(rows):
        sys.exit("%s: not in the table %s, not in the code %s" % (path, sorted(set(rows) - named), sorted(named - set(rows))))


# ---- windows

def taps(x, kernel, stride, pads, dilation=(1, 1), count=None, fill=0.0):
    """Windows [n, c, oy, ox, ky, kx] over rows and columns; pads: top, left, bottom, right."""
    top, left, bottom, right = pads
    sizes = [(x.shape[2 + a] + pads[a] + pads[a + 2] - (kernel[a] - 1) * dilation[a] - 1) // stride[a] + 1 for a in (0, 1)]
    sizes = count or sizes
    room = [(sizes[a] - 1) * stride[a] + (kernel[a] - 1) * dilation[a] + 1 for a in (0, 1)]
    big = numpy.full(x.shape[:2] + (max(room[0], x.shape[2] + top + bottom), max(room[1], x.shape[3] + left + right)), fill)
    big[:, :, top:top + x.shape[2], left:left + x.shape[3]] = x
    out = numpy.empty(x.shape[:2] + tuple(sizes) + tuple(kernel))
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            y = big[:, :, i * dilation[0]:, j * dilation[1]:]
            out[..., i, j] = y[:, :, ::stride[0], ::stride[1]][:, :, :sizes[0], :sizes[1]]
    return out


def conv(x, w, bias=None, stride=(1, 1), pads=(0, 0, 0, 0), dilation=(1, 1), groups=1):
    view = taps(x, w.shape[2:], stride, pads, dilation)
    parts, inputs, outputs = [], x.shape[1] // groups, w.shape[0] // groups
    for g in range(groups):
        part = view[:, g * inputs:(g + 1) * inputs]
        parts.append(numpy.einsum("ncyxij,fcij->nfyx", part, w[g * outputs:(g + 1) * outputs]))
    y = numpy.concatenate(parts, 1)
    return y if bias is None else y + bias.reshape(-1, 1, 1)


def deconv(x, w, bias=None, stride=(1, 1), pads=(0, 0, 0, 0), groups=1):
    """Weights [inputs, outputs / groups, ky, kx]."""
    n, c, h, wide = x.shape
    each = w.shape[1]
    full = numpy.zeros((n, each * groups, (h - 1) * stride[0] + w.shape[2], (wide - 1) * stride[1] + w.shape[3]))
    for i in range(c):
        first = i // (c // groups) * each
        for y in range(h):
            for z in range(wide):
                at = full[:, first:first + each, y * stride[0]:y * stride[0] + w.shape[2], z * stride[1]:z * stride[1] + w.shape[3]]
                at += x[:, i, y, z].reshape(-1, 1, 1, 1) * w[i]
    top, left, bottom, right = pads
    full = full[:, :, top:full.shape[2] - bottom, left:full.shape[3] - right]
    return full if bias is None else full + bias.reshape(-1, 1, 1)


def caffe_count(size, kernel, stride, pad):
    count = -(-(size + 2 * pad - kernel) // stride) + 1
    return count - 1 if pad and (count - 1) * stride >= size + pad else count


def pool(x, kind, kernel, stride, pad, counts, count_padding):
    """As Caffe's loops have it: each window cut to the input; means over the window cut to input and padding, or to the input."""
    out = numpy.empty(x.shape[:2] + tuple(counts))
    for i in range(counts[0]):
        for j in range(counts[1]):
            begin = [i * stride[0] - pad[0], j * stride[1] - pad[1]]
            end = [min(begin[a] + kernel[a], x.shape[2 + a] + pad[a]) for a in (0, 1)]
            area = (end[0] - begin[0]) * (end[1] - begin[1])
            begin = [max(b, 0) for b in begin]
            end = [min(end[a], x.shape[2 + a]) for a in (0, 1)]
            part = x[:, :, begin[0]:end[0], begin[1]:end[1]]
            if not count_padding:
                area = part.shape[2] * part.shape[3]
            out[:, :, i, j] = part.max((2, 3)) if kind == "max" else part.sum((2, 3)) / area
    return out


def softmax(x, axis):
    e = numpy.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)
