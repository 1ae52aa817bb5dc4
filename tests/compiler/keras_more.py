#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Keras layers that change how large a picture, a sound or a volume is, and those between several values, against plain
# numpy: convolutions that go back (each size of border, with an output_padding and without), separable ones, what is cut
# off, resized, repeated; values stacked, tiled, held between bounds; where the largest lies. The files are those of keras_models.py.
#
# usage: keras_more.py VTAC   (exit status 77: no numpy or no h5py)
import itertools
import os
import sys
import tempfile

from keras_models import Net, act, close, numpy, outputs, view, word_seed


def back(x, w, stride, dilation, same, more):
    """What a convolution of a picture this large would have been given: every element goes to a window of the result. TensorFlow
    cuts the border that "same" has there: half of it, rounded down, before the picture. Where the result is larger, zeros follow."""
    axes = x.ndim - 2
    reach = [(k - 1) * d + 1 for k, d in zip(w.shape, dilation)]
    whole = numpy.zeros((x.shape[0], *((n - 1) * s + r for n, s, r in zip(x.shape[1:], stride, reach)), w.shape[-2]))
    for at in itertools.product(*map(range, x.shape[1:-1])):
        for tap in itertools.product(*map(range, w.shape[:axes])):
            place = tuple(i * s + u * d for i, s, u, d in zip(at, stride, tap, dilation))
            whole[(slice(None), *place)] += x[(slice(None), *at)].astype(float) @ w[tap].T.astype(float)
    for a in range(axes):
        n, s, r = x.shape[a + 1], stride[a], reach[a]
        if more is None:
            size = n * s if same else n * s + max(r - s, 0)
        else:
            size = (n - 1) * s + r - (2 * (r // 2) if same else 0) + more[a]
        begin = max((n - 1) * s + r - size, 0) // 2 if same else 0
        whole = numpy.pad(whole, [(0, size if i == a + 1 else 0) for i in range(whole.ndim)])
        whole = whole.take(range(begin, begin + size), a + 1)
    return whole


def conv_back(net, filters, size, stride, dilation, same, more, name):
    w, b = net.numbers(*size, filters, net.y.shape[-1]), net.numbers(filters)
    given = {} if more is None else {"output_padding": list(more)}
    net.add("Conv%dDTranspose" % len(size), act(name, back(net.y, w, stride, dilation, same, more) + b), [w, b], filters=filters, kernel_size=list(size),
            strides=list(stride), dilation_rate=list(dilation), padding="same" if same else "valid", activation=name, use_bias=True, **given)


def separable(net, filters, size, stride, same, times, name):
    c = net.y.shape[-1]
    w, p, b = net.numbers(*size, c, times), net.numbers(*[1] * len(size), c * times, filters), net.numbers(filters)
    letters = "ijk"[:len(size)]
    y = numpy.einsum("...c%s,%scm->...cm" % (letters, letters), view(net.y, size, stride, same).astype(float), w.astype(float))
    y = y.reshape(y.shape[:-2] + (-1,)) @ p.reshape(c * times, filters).astype(float) + b
    net.add("SeparableConv%dD" % len(size), act(name, y), [w, p, b], filters=filters, kernel_size=list(size), strides=list(stride),
            padding="same" if same else "valid", depth_multiplier=times, activation=name, use_bias=True)


def linear(x, axis, size):
    """Between the middles of pixels; beyond the last ones, those."""
    n = x.shape[axis]
    at = numpy.clip((numpy.arange(size) + 0.5) * n / size - 0.5, 0, n - 1)
    low = numpy.floor(at).astype(int)
    part = (at - low).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    return x.take(low, axis) * (1 - part) + x.take(numpy.minimum(low + 1, n - 1), axis) * part


def nearest(x, axis, size):
    return x.take(((numpy.arange(size) + 0.5) * x.shape[axis] / size).astype(int), axis)


WINDOWS = [  # size, stride, dilation, same, output_padding
    ((3, 3), (2, 2), (1, 1), True, None), ((3, 3), (2, 2), (1, 1), True, (1, 1)), ((4, 5), (2, 3), (1, 1), True, (1, 2)), ((2, 3), (3, 2), (1, 1), True, None),
    ((4, 4), (2, 2), (1, 1), True, (0, 1)), ((3, 2), (2, 2), (1, 1), False, None), ((2, 1), (3, 3), (1, 1), False, None), ((3, 4), (2, 3), (1, 1), False, (1, 2)),
    ((5, 2), (1, 1), (1, 1), True, None), ((3, 3), (1, 1), (2, 2), True, None)]


def transposed(random, version, number):
    size, stride, dilation, same, more = WINDOWS[number]
    net = Net(random, (2, 4, 5, 3), version)
    conv_back(net, 4, size, stride, dilation, same, more, ("linear", "relu", "tanh")[number % 3])
    return net


def lines_and_volumes(random, version, number):
    net = Net(random, (2, 6, 4) if number < 3 else (2, 3, 2, 4, 2), version)
    if number < 3:
        conv_back(net, 5, (3,), (2,), (1,), number == 1, None if number else (1,), "relu")
        separable(net, 4, (3,), (2,), number != 1, 2, "linear")
        net.add("Cropping1D", net.y[:, 1:-2], cropping=[1, 2])
        net.add("UpSampling1D", net.y.repeat(3, 1), size=3)
    else:
        conv_back(net, 3, (2, 3, 2), (2, 1, 2), (1, 1, 1), number == 3, None, "linear")
        net.add("Cropping3D", net.y[:, 1:, :-1, 2:-1], cropping=[[1, 0], [0, 1], [2, 1]])
        net.add("UpSampling3D", net.y.repeat(2, 1).repeat(1, 2).repeat(3, 3), size=[2, 1, 3])
    return net


def sizes(random, version, number):
    net = Net(random, (2, 9, 8, 3), version)
    separable(net, 5, (3, 2), (1, 2), number == 0, 2, "relu")
    net.add("Cropping2D", net.y[:, 1:-2, 1:], cropping=[[1, 2], [1, 0]])
    to = ((11, 3), (4, 7), (5, 5), (2, 13))[number]
    how = (linear, nearest)[number % 2]
    net.add("Resizing", how(how(net.y, 1, to[0]), 2, to[1]), height=to[0], width=to[1], interpolation=how.__name__.replace("linear", "bilinear"))
    net.add("UpSampling2D", linear(linear(net.y, 1, 2 * to[0]), 2, 3 * to[1]), size=[2, 3], interpolation="bilinear")
    net.add("Cropping2D", net.y[:, 1:-1, 1:-1], cropping=1)
    return net


def two_layers(random, version):
    """A network of two dense layers, and the names of what they make."""
    net = Net(random, (2, 5), version)
    net.dense(6, "tanh")
    first = net.last
    net.dense(6, "linear")
    return net, first, net.last


def several(random, version, number):
    net, a, b = two_layers(random, version)
    alpha = net.numbers(6)
    net.add("PReLU", numpy.where(net.y > 0, net.y, alpha * net.y), [alpha], shared_axes=None)
    c = net.last
    net.add("ELU", numpy.where(net.y > 0, net.y, 0.7 * numpy.expm1(net.y)), alpha=0.7)
    d = net.last
    values = [net.value[name] for name in (a, b, c, d)]
    for kind, value in (("Average", sum(values) / 4), ("Maximum", numpy.max(values, 0)), ("Minimum", numpy.min(values, 0))):
        net.add(kind, value, inputs=[a, b, c, d])
    net.add("Subtract", net.value[a] - net.y, inputs=[a, net.last])
    net.add("RepeatVector", numpy.repeat(net.y[:, None], 3, 1), n=3)
    e = net.last
    net.add("Add", 2 * net.value[e], inputs=[e, e])
    return net


def functions(random, version, number):
    """Functions between layers: values stacked along a new axis, tiled, held between bounds, and where the least and the largest lie."""
    net, a, b = two_layers(random, version)
    axis = (1, -1, 2, 1, 2)[number]
    net.function("stack", numpy.stack([net.value[a], net.value[b]], axis), [a, b], axis=axis)
    net.function("tile", numpy.tile(net.y, (1, 2, 3)), [net.last], **{"multiples" if version == 2 else "repeats": [1, 2, 3]})
    net.function("clip_by_value" if version == 2 else "clip", net.y.clip(-0.5, 0.4), [net.last],
                 **dict(zip(("clip_value_min", "clip_value_max") if version == 2 else ("x_min", "x_max"), (-0.5, 0.4))))
    if number > 2:
        net.add("Add", 2 * net.value[a], inputs=[a, a])
        net.function("stack", numpy.stack([net.value[b], net.y], 1), [b, net.last], axis=1)
        name, find = (("argmax", numpy.argmax), ("argmin", numpy.argmin))[number - 3]
        net.function("math." + name if version == 2 else name, find(net.y, (1, 2)[number - 3]), [net.last], axis=(-2, 2)[number - 3])
    return net


CASES = [(transposed, len(WINDOWS)), (lines_and_volumes, 5), (sizes, 4), (several, 1), (functions, 5)]


def main():
    seed = word_seed.told()
    random = numpy.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as work:
        for version, (kind, count) in itertools.product((2, 3), CASES):
            for number in range(count):
                net = kind(random, version, number)
                path = os.path.join(work, "made.h5" if version == 2 else "made.keras")
                (net.save_h5 if version == 2 else net.save_keras)(path, False)
                rows = []
                for i in range(2):
                    rows.append(os.path.join(work, "row%d.npy" % i))
                    numpy.save(rows[-1], net.x[i:i + 1])
                for i, found in enumerate(outputs(sys.argv[1], work, path, rows)):
                    close("%s %d of Keras %d, seed %d" % (kind.__name__, number, version, seed), found[0], net.y[i:i + 1],
                          1e-5 * max(1.0, float(numpy.abs(net.y).max())))


main()
