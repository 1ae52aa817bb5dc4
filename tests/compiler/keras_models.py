#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Keras models: published .h5 files against their outputs; .h5 files and .keras archives made here, with layers of each
# kind, against NumPy; damaged and hostile ones, which get one line and exit status 1.
#
# usage: keras_models.py VTAC FOLDER   (exit status 77: no numpy or h5py)
import glob
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile

try:
    import h5py
    import numpy
    import word_seed
except ImportError:
    sys.exit(77)

F32 = numpy.float32


def run(*words, fails=False):
    done = subprocess.run(words, capture_output=True, text=True)
    if (done.returncode != 0) != fails or (fails and (done.returncode != 1 or done.stderr.count("\nvtac: ") + done.stderr.startswith("vtac: ") != 1)):
        sys.exit("%s: exit status %d\n%s%s" % (" ".join(words), done.returncode, done.stdout, done.stderr))
    return done.stderr


def outputs(vtac, work, model, given):
    so, found = os.path.join(work, "model.so"), []
    run(vtac, "compile", model, "--target", "llvm", "-o", so)
    for path in given:
        out = tempfile.mkdtemp(dir=work)
        run(vtac, "run", so, "--input", path, "--output-dir", out)
        found.append([numpy.load(p) for p in sorted(glob.glob(out + "/*.npy"))])
    return found


def close(what, found, wanted, tolerance):
    if found.shape != wanted.shape:
        sys.exit("%s: %s, expected %s" % (what, found.shape, wanted.shape))
    off = float(numpy.max(numpy.abs(found - wanted)))
    if not off <= tolerance:
        sys.exit("%s: off by %g, %g is allowed" % (what, off, tolerance))
    return off


def published(vtac, work, folder):
    for model in sorted(glob.glob(folder + "/*/*.h5")):
        cases = sorted(glob.glob(os.path.dirname(model) + "/*_in.npy"))
        worst = 0.0
        for given, found in zip(cases, outputs(vtac, work, model, cases)):
            worst = max(worst, close(given, found[0], numpy.load(given.replace("_in.npy", "_out0.npy")), 1e-5))
        print("%s: %d cases, off by at most %g" % (os.path.basename(model), len(cases), worst))


# ---- models made here: a layer is (class, configuration, weights), and what it computes

def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def act(name, x):
    if name == "softmax":
        e = numpy.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)
    return {"linear": x, "relu": numpy.maximum(x, 0), "tanh": numpy.tanh(x), "sigmoid": sigmoid(x), "swish": x * sigmoid(x),
            "elu": numpy.where(x > 0, x, numpy.expm1(x)), "relu6": numpy.clip(x, 0, 6)}[name]


def view(x, size, stride, same, fill=0.0):
    pads = [(0, 0)]
    for n, k, s in zip(x.shape[1:-1], size, stride):
        total = max((-(-n // s) - 1) * s + k - n, 0) if same else 0
        pads.append((total // 2, total - total // 2))
    x = numpy.pad(x, pads + [(0, 0)], constant_values=fill)
    w = numpy.lib.stride_tricks.sliding_window_view(x, size, tuple(range(1, len(size) + 1)))
    return w[(slice(None),) + tuple(slice(None, None, s) for s in stride)]


def of(value):
    """A value as (layer, call, output)."""
    return (value[0], 0, value[1]) if isinstance(value, tuple) else (value, 0, 0)


class Net:
    def __init__(self, random, shape, version):
        self.random, self.version, self.layers, self.within = random, version, [], {}
        self.x = random.standard_normal(shape).astype(F32)
        self.value = {"first": self.x.astype(float)}
        self.last = "first"
        key = "batch_shape" if version == 3 else "batch_input_shape"
        self.layers.append(("InputLayer", {"name": "first", key: [None] + list(shape[1:]), "dtype": "float32"}, [], [], ""))

    def numbers(self, *shape, low=None):
        v = self.random.standard_normal(shape) * 0.5 if low is None else self.random.uniform(low, 2, shape)
        return v.astype(F32)

    def add(self, kind, value, weights=(), inputs=None, part="", **config):
        name = "l%d_%s" % (len(self.layers), kind.lower())
        self.layers.append((kind, dict(config, name=name), list(weights), inputs or [self.last], part))
        self.value[name] = value
        self.last = name
        return name

    def function(self, path, value, args, **named):
        """A function between layers: path as TensorFlow has it; args are names of values and numbers."""
        name = "l%d_%s" % (len(self.layers), path)
        class_name = "".join(w.capitalize() for w in path.split(".")[-1].split("_"))
        self.layers.append((class_name if self.version == 3 else "SlicingOpLambda" if "getitem" in path else "TFOpLambda",
                            {"name": name, "function": path} if self.version == 2 else dict(named, name=name), [], list(args), ("function", named)))
        self.value[name] = value
        self.last = name
        return name

    def node(self, op, value, inputs, constants=None, **attr):
        """An operation of TensorFlow in a layer, whose name in the model has a prefix."""
        name = "n%d_%s" % (len(self.layers), op)
        node = {"name": name, "op": op, "input": [], "attr": dict(attr, T={"type": "DT_FLOAT"})}
        self.layers.append(("TensorFlowOpLayer", {"name": name, "node_def": node, "constants": constants or {}}, [], list(inputs), ""))
        self.last = "tf_op_layer_" + name
        self.value[self.last] = value

    @property
    def y(self):
        return self.value[self.last]

    def conv(self, filters, size, stride, same, groups=1, name="relu"):
        c = self.y.shape[-1]
        w, b = self.numbers(*size, c // groups, filters), self.numbers(filters)
        v = view(self.y, size, stride, same)
        letters = "ij"[:len(size)]
        parts = [numpy.einsum("...c%s,%scf->...f" % (letters, letters), v[..., g * c // groups:(g + 1) * c // groups,
                                                                         *[slice(None)] * len(size)].astype(float),
                              w[..., g * filters // groups:(g + 1) * filters // groups].astype(float)) for g in range(groups)]
        y = numpy.concatenate(parts, -1) + b
        self.add("Conv%dD" % len(size), act(name, y), [w, b], filters=filters, kernel_size=list(size), strides=list(stride),
                 padding="same" if same else "valid", groups=groups, activation=name, dilation_rate=[1] * len(size), use_bias=True)

    def depthwise(self, size, stride, same, times):
        w = self.numbers(*size, self.y.shape[-1], times)
        y = numpy.einsum("...cij,ijcm->...cm", view(self.y, size, stride, same).astype(float), w.astype(float))
        self.add("DepthwiseConv2D", y.reshape(y.shape[:3] + (-1,)), [w], kernel_size=list(size), strides=list(stride),
                 padding="same" if same else "valid", depth_multiplier=times, use_bias=False, activation="linear")

    def norm(self, scale=True, center=True):
        c = self.y.shape[-1]
        g, b, m, v = (self.numbers(c) if scale else None), (self.numbers(c) if center else None), self.numbers(c), self.numbers(c, low=0.1)
        y = (self.y - m) / numpy.sqrt(v + 1e-3) * (1 if g is None else g) + (0 if b is None else b)
        self.add("BatchNormalization", y, [w for w in (g, b, m, v) if w is not None], axis=[self.y.ndim - 1], epsilon=1e-3,
                 scale=scale, center=center)

    def pool(self, kind, size, stride, same):
        v = view(self.y, size, stride, same, numpy.nan)
        axes = (-2, -1)[:len(size)]
        y = numpy.nanmax(v, axes) if kind == "Max" else numpy.nanmean(v, axes)
        self.add(kind + "Pooling2D", y, pool_size=list(size), strides=list(stride), padding="same" if same else "valid")

    def dense(self, units, name):
        w, b = self.numbers(self.y.shape[-1], units), self.numbers(units)
        self.add("Dense", act(name, self.y @ w.astype(float) + b), [w, b], units=units, activation=name, use_bias=True)

    def cell(self, kind, units, sequences, backwards=False, x=None, start=None, mask=None, weights=None):
        x = self.y if x is None else x
        gates = {"LSTM": 4, "GRU": 3, "SimpleRNN": 1}[kind]
        w, r, b = weights or (self.numbers(x.shape[-1], gates * units), self.numbers(units, gates * units),
                              self.numbers(2, gates * units) if kind == "GRU" else self.numbers(gates * units))
        h, c, all_h = numpy.zeros((x.shape[0], units)), numpy.zeros((x.shape[0], units)), []
        h, c = start or (h, c)
        for t in range(x.shape[1])[::-1 if backwards else 1]:
            before = h, c
            if kind == "GRU":
                a, s = numpy.split(x[:, t] @ w + b[0], 3, 1), numpy.split(h @ r + b[1], 3, 1)
                z = sigmoid(a[0] + s[0])
                h = z * h + (1 - z) * numpy.tanh(a[2] + sigmoid(a[1] + s[1]) * s[2])
            elif kind == "LSTM":
                i, f, g, o = numpy.split(x[:, t] @ w + h @ r + b, 4, 1)
                c = sigmoid(f) * c + sigmoid(i) * numpy.tanh(g)
                h = sigmoid(o) * numpy.tanh(c)
            else:
                h = numpy.tanh(x[:, t] @ w + h @ r + b)
            if mask is not None:  # a step that does not count changes nothing
                h, c = (numpy.where(mask[:, t, None], new, old) for new, old in zip((h, c), before))
            all_h.append(h)
        all_h = all_h[::-1] if backwards else all_h
        self.states = [h, c] if kind == "LSTM" else [h]
        return (numpy.stack(all_h, 1) if sequences else h), [w, r, b]

    def conv_lstm(self, filters, size, stride, same, sequences, backwards=False):
        """A convolution of each step and one of the state, gate by gate."""
        c, axes = self.y.shape[-1], len(size)
        w, r, b = self.numbers(*size, c, 4 * filters), self.numbers(*size, filters, 4 * filters), self.numbers(4 * filters)
        letters = "ijk"[:axes]
        over = lambda x, kernel, s, pad: numpy.einsum("...c%s,%scf->...f" % (letters, letters), view(x, size, s, pad).astype(float),
                                                      kernel.astype(float))
        h, state, found = None, 0.0, []
        for t in range(self.y.shape[1])[::-1 if backwards else 1]:
            gates = over(self.y[:, t], w, stride, same) + b
            gates = gates if h is None else gates + over(h, r, (1,) * axes, True)
            i, f, g, o = numpy.split(gates, 4, -1)
            state = sigmoid(f) * state + sigmoid(i) * numpy.tanh(g)
            h = sigmoid(o) * numpy.tanh(state)
            found.append(h)
        self.add("ConvLSTM%dD" % axes, numpy.stack(found, 1) if sequences else h, [w, r, b], part="cell/", filters=filters,
                 kernel_size=list(size), strides=list(stride), padding="same" if same else "valid", dilation_rate=[1] * axes,
                 activation="tanh", recurrent_activation="sigmoid", use_bias=True, return_sequences=sequences, go_backwards=backwards)

    def recurrent(self, kind, units, sequences):
        y, weights = self.cell(kind, units, sequences)
        self.add(kind, y, weights, part="cell/", units=units, activation="tanh", recurrent_activation="sigmoid", use_bias=True,
                 return_sequences=sequences, **({"reset_after": True} if kind == "GRU" else {}))

    def on_card(self, kind, units, sequences):
        """Old files' layers for graphic cards: each gate's weights lie turned, a bias for inputs and one for the state."""
        x = self.y
        gates = 4 if kind == "LSTM" else 3
        w, r, b = self.numbers(x.shape[-1], gates * units), self.numbers(units, gates * units), self.numbers(2 * gates * units)
        turned = [numpy.concatenate([g.reshape(units, -1).T for g in numpy.split(v, gates, 1)], 1) for v in (w, r)]
        bias = b[:gates * units] + b[gates * units:] if kind == "LSTM" else b.reshape(2, -1)
        y, _ = self.cell(kind, units, sequences, weights=turned + [bias])
        self.add("CuDNN" + kind, y, [w, r, b], units=units, return_sequences=sequences)

    def local(self, filters, size, stride, name):
        """Windows with weights of their own at each place."""
        v = view(self.y, size, stride, False)
        axes = len(size)
        v = numpy.moveaxis(v, axes + 1, -1)
        places, each = v.shape[1:axes + 1], int(numpy.prod(size)) * self.y.shape[-1]
        w, b = self.numbers(int(numpy.prod(places)), each, filters), self.numbers(*places, filters)
        y = numpy.einsum("npk,pkf->npf", v.reshape(v.shape[0], -1, each), w.astype(float)).reshape(v.shape[:axes + 1] + (filters,)) + b
        self.add("LocallyConnected%dD" % axes, act(name, y), [w, b], filters=filters, kernel_size=list(size), strides=list(stride),
                 padding="valid", activation=name, use_bias=True, implementation=1)

    def bidirectional(self, kind, units, sequences):
        there, w = self.cell(kind, units, sequences)
        back, v = self.cell(kind, units, sequences, True)
        inner = {"class_name": kind, "config": {"name": "inner", "units": units, "activation": "tanh", "use_bias": True,
                                                "recurrent_activation": "sigmoid", "return_sequences": sequences, "reset_after": True}}
        self.add("Bidirectional", numpy.concatenate([there, back], -1), w + v, part="forward_layer/cell/", layer=inner, merge_mode="concat")

    # ---- files

    def call(self, args, named):
        def tensor(a):
            if self.version == 3:
                return {"class_name": "__keras_tensor__", "config": {"shape": [], "dtype": "float32", "keras_history": [a, 0, 0]}}
            return [a, 0, 0]
        if self.version == 3:
            items = [tensor(a) if isinstance(a, str) else a for a in args]
            return {"args": [items] if "axis" in named and len(args) > 1 else items, "kwargs": {}}
        if "axis" in named and len(args) > 1:  # a list of tensors
            return [tensor(a) + [named] for a in args]
        first = tensor(args[0]) if isinstance(args[0], str) else ["_CONSTANT_VALUE", -1, args[0]]
        rest = {} if len(args) == 1 else {"y": tensor(args[1]) if isinstance(args[1], str) else args[1]}
        return first + [dict(rest, **named)]

    def config(self, sequential):
        layers = []
        for kind, config, _, inputs, part in self.layers:
            node = {"class_name": kind, "config": config, "name": ("tf_op_layer_" if kind == "TensorFlowOpLayer" else "") + config["name"]}
            if isinstance(part, tuple):
                node["inbound_nodes"] = [self.call(inputs, part[1])]
                node["module"] = "keras.src.ops.numpy" if self.version == 3 else "keras.layers"
            elif self.version == 3:
                tensors = [{"class_name": "__keras_tensor__", "config": {"shape": [], "dtype": "float32", "keras_history": [*of(i)]}}
                           for i in inputs]
                node["inbound_nodes"] = [{"args": tensors if len(tensors) == 1 else [tensors], "kwargs": {}}] if inputs else []
            else:
                node["inbound_nodes"] = [[[*of(i), {}] for i in inputs]] if inputs else []
            layers.append(node)
        config = {"name": "made", "layers": layers}
        if not sequential:
            config.update(input_layers=[["first", 0, 0]], output_layers=[[self.last, 0, 0]])
        return json.dumps({"class_name": "Sequential" if sequential else "Functional", "config": config})

    def save_h5(self, path, sequential):
        with h5py.File(path, "w") as f:
            f.attrs["model_config"], f.attrs["keras_version"] = self.config(sequential), "2.11.0"
            top = f.create_group("model_weights")
            for _, config, weights, _, _ in self.layers:
                group = top.create_group(config["name"])
                inside = self.within.get(config["name"], "")  # a layer in a model in it
                names = ["%s/%sw%d:0" % (config["name"], inside, i) for i in range(len(weights))]
                group.attrs["weight_names"] = [n.encode() for n in names]
                for name, w in zip(names, weights):
                    group.create_dataset(name, data=w)

    def save_keras(self, path, sequential, old=False):
        memory, counts = io.BytesIO(), {}
        with h5py.File(memory, "w") as f:
            for kind, config, weights, _, part in self.layers:
                if isinstance(part, tuple):
                    continue
                snake = {"DepthwiseConv2D": "depthwise_conv2d", "BatchNormalization": "batch_normalization", "InputLayer": "input_layer",
                         "SimpleRNN": "simple_rnn", "ConvLSTM1D": "conv_lstm1d", "ConvLSTM2D": "conv_lstm2d", "TimeDistributed": "time_distributed", "MultiHeadAttention": "multi_head_attention",
                         "AdditiveAttention": "additive_attention", "LeakyReLU": "leaky_re_lu", "LayerNormalization": "layer_normalization",
                         "GroupNormalization": "group_normalization", "UnitNormalization": "unit_normalization", "EinsumDense": "einsum_dense",
                         "RMSNormalization": "rms_normalization", "Mine>LayerScale": "layer_scale", "SpectralNormalization": "spectral_normalization",
                         "GroupedQueryAttention": "grouped_query_attention", "RNN": "rnn", "PReLU": "p_re_lu", "Conv1DTranspose": "conv1d_transpose",
                         "Conv2DTranspose": "conv2d_transpose", "Conv3DTranspose": "conv3d_transpose", "SeparableConv1D": "separable_conv1d",
                         "SeparableConv2D": "separable_conv2d"}.get(kind, kind.lower())
                n = counts[snake] = counts.get(snake, -1) + 1
                group = "%s/%s" % ("_layer_checkpoint_dependencies" if old else "layers", snake if n == 0 else "%s_%d" % (snake, n))
                f.create_group(group + "/vars")
                half = len(weights) // 2 if kind == "Bidirectional" else len(weights)
                for i, w in enumerate(weights):
                    if isinstance(part, list):
                        f.create_dataset(group + "/" + part[i], data=w)
                        continue
                    if kind in ("MultiHeadAttention", "GroupedQueryAttention"):
                        f.create_dataset("%s/%s_dense/vars/%d" % (group, ("query", "key", "value", "output")[i // 2], i % 2), data=w)
                        continue
                    where = part if i < half else "backward_layer/cell/"
                    f.create_dataset("%s/%svars/%d" % (group, where, i % max(half, 1)), data=w)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if old else zipfile.ZIP_STORED) as z:
            z.writestr("metadata.json", json.dumps({"keras_version": "3.4.1"}))
            z.writestr("config.json", self.config(sequential))
            z.writestr("model.weights.h5", memory.getvalue())


def pictures(random, version, channels):
    net = Net(random, (2, 13, 10, 3), version)
    net.conv(channels, (3, 3), (2, 2), True)
    net.norm()
    net.depthwise((3, 2), (1, 1), True, 2)
    net.norm(scale=False)
    a = net.last
    net.add("Activation", act("swish", net.y), activation="swish")
    net.conv(2 * channels, (1, 1), (1, 1), False, 2, "linear")
    net.add("Add", net.y + net.value[a], inputs=[net.last, a])
    net.pool("Max", (3, 3), (2, 2), True)
    b = net.last
    net.pool("Average", (2, 2), (1, 1), True)
    net.add("LeakyReLU", numpy.where(net.y > 0, net.y, 0.2 * net.y), **{"negative_slope" if version == 3 else "alpha": 0.2})
    net.add("Concatenate", numpy.concatenate([net.y, net.value[b]], -1), inputs=[net.last, b], axis=-1)
    net.add("ZeroPadding2D", numpy.pad(net.y, ((0, 0), (1, 0), (0, 2), (0, 0))), padding=[[1, 0], [0, 2]])
    net.add("UpSampling2D", net.y.repeat(2, 1).repeat(3, 2), size=[2, 3], interpolation="nearest")
    c = net.last
    net.add("GlobalAveragePooling2D", net.y.mean((1, 2)))
    net.dense(net.value[c].shape[-1], "sigmoid")
    net.add("Reshape", net.y.reshape(2, 1, 1, -1), target_shape=[1, 1, -1])
    net.add("Multiply", net.y * net.value[c], inputs=[net.last, c])
    net.add("Flatten", net.y.reshape(2, -1))
    net.dense(7, "softmax")
    return net


def films(random, version, channels):
    net = Net(random, (2, 4, 7, 6, 3), version)
    net.conv_lstm(channels, (3, 2), (2, 1), True, True)
    net.conv_lstm(2, (2, 3), (1, 1), False, True, backwards=True)
    net.conv_lstm(3, (3, 3), (1, 1), True, False)
    net.add("Flatten", net.y.reshape(2, -1))
    net.add("Reshape", net.y.reshape(2, -1, 3, 3), target_shape=[net.y.shape[1] // 9, 3, 3])
    net.conv_lstm(channels, (3,), (1,), True, False)
    return net


def sounds(random, version, channels):
    net = Net(random, (2, 12, 5), version)
    net.conv(channels, (3,), (1,), True, name="relu6")
    net.norm(center=False)
    net.recurrent("GRU", 6, True)
    net.bidirectional("LSTM", 4, True)
    net.recurrent("SimpleRNN", 5, True)
    net.add("Dropout", net.y, rate=0.5)
    net.recurrent("LSTM", channels, False)
    net.dense(3, "elu")
    return net


def early(random, version, channels):
    """What files of Keras 2 have alone."""
    net = Net(random, (2, 7, 6, channels), version)
    net.local(4, (3, 2), (2, 1), "relu")
    net.add("Reshape", net.y.reshape(2, 15, 4), target_shape=[15, 4])
    net.local(5, (3,), (2,), "linear")
    net.on_card("LSTM", 6, True)
    net.on_card("GRU", channels, True)
    net.on_card("LSTM", 3, False)
    return net


def functions(random, version, channels):
    """What stands between the layers of MobileNetV3 and its like, and layers that prepare pictures."""
    net = Net(random, (2, 9, 8, 3), version)
    mean, variance = net.numbers(3), net.numbers(3, low=0.2)
    net.add("Rescaling", net.y * [0.5, 2, 1.5] - 1, scale=[0.5, 2.0, 1.5], offset=-1.0)
    net.add("Normalization", (net.y - mean) / numpy.sqrt(variance), [mean, variance, numpy.zeros((), "int64")], axis=[-1], mean=None, variance=None)
    net.add("CenterCrop", net.y[:, 1:8, 1:7], height=7, width=6)
    net.add("RandomFlip", net.y, mode="horizontal")
    net.conv(channels, (3, 3), (1, 1), True, name="linear")
    x = net.last
    net.function("__operators__.add", net.y + 3, [net.last, 3.0])
    net.add("ReLU", numpy.clip(net.y, 0, 6), max_value=6.0)
    net.function("math.multiply", net.y / 6, [net.last, 1 / 6])
    net.function("math.multiply", net.y * net.value[x], [x, net.last])
    y = net.last
    net.function("math.reduce_mean" if version == 2 else "mean", net.y.mean((1, 2), keepdims=True), [net.last], axis=[1, 2], keepdims=True)
    net.function("math.subtract", 1 - net.y, [1.0, net.last])
    net.function("math.multiply", net.y * net.value[y], [y, net.last])
    net.function("concat" if version == 2 else "concatenate", numpy.concatenate([net.y, net.value[x]], -1), [net.last, x], axis=-1)
    net.add("GroupNormalization", group(net.y, 2), [net.numbers(2 * channels) * 0 + 1, net.numbers(2 * channels) * 0], groups=2, axis=-1, epsilon=1e-3)
    net.add("UnitNormalization", net.y / numpy.sqrt((net.y ** 2).sum(-1, keepdims=True)), axis=-1)
    net.function("nn.silu" if version == 2 else "silu", net.y * sigmoid(net.y), [net.last])
    net.function("math.reduce_std" if version == 2 else "std", net.y.std(-1, keepdims=True), [net.last], axis=-1, keepdims=True)
    net.function("subtract", net.value[x] - net.y, [x, net.last])
    branch = net.last
    net.function("reverse" if version == 2 else "flip", net.y[:, ::-1], [net.last], axis=[1])
    net.add("CustomScaleLayer", net.value[branch] + 0.25 * net.y, inputs=[branch, net.last], scale=0.25)
    net.function("math.sign" if version == 2 else "sign", numpy.sign(net.y), [net.last])
    net.function("math.log1p" if version == 2 else "log1p", numpy.log1p(net.y ** 2), [net.function("math.square" if version == 2 else "square", net.value[branch] ** 2, [branch])])
    net.value[net.last] = numpy.log1p(net.value[branch] ** 2)
    net.function("math.floormod" if version == 2 else "mod", net.y % 0.75, [net.last, 0.75])
    if version == 3:
        net.function("swapaxes", net.y.swapaxes(1, 2), [net.last], axis1=1, axis2=-2)
        moved = net.function("moveaxis", numpy.moveaxis(net.y, 1, 3), [net.last], source=1, destination=3)
        high = net.function("greater", net.y > 0.3, [net.last, 0.3])
        most = net.function("amax", net.value[branch].max((1, 2, 3), keepdims=True), [branch], axis=[1, 2, 3], keepdims=True)
        net.function("where", numpy.where(net.value[high], net.value[most], net.value[moved]), [high, most, moved])
    if version == 2:
        net.function("__operators__.getitem", net.y[:, 1:5, 2], [net.last], slice_spec=[
            {"start": None, "stop": None, "step": None}, {"start": 1, "stop": -2, "step": None}, 2])
    net.function("reshape", net.y.reshape(2, -1), [net.last], **{"shape" if version == 2 else "newshape": [-1, net.y[0].size]})
    net.dense(5, "linear")
    net.function("nn.softmax" if version == 2 else "softmax", act("softmax", net.y), [net.last])
    return net


def brackets(random, version, channels):
    """Parts by steps, new axes, arrays that a function is called with, products of two activations."""
    net = Net(random, (2, 8, 9, channels), version)
    shift = [float(v) for v in net.numbers(channels)]
    table = [[[float(v)] for v in row] for row in net.numbers(8, 9)]
    array = (lambda v: v) if version == 2 else (lambda v: {"class_name": "__numpy__", "config": {"value": v, "dtype": "float32"}})
    net.conv(channels, (3, 3), (1, 1), True)
    net.function("math.subtract" if version == 2 else "subtract", net.y - numpy.array(shift), [net.last, array(shift)])
    net.function("math.multiply" if version == 2 else "multiply", net.y * numpy.array(table), [net.last, array(table)])
    x = net.last

    def part(value, *entries):
        spec = [e if not isinstance(e, tuple) else dict(zip(("start", "stop", "step"), e)) if version == 2 else {"class_name": "slice", "config": list(e)}
                for e in entries]
        if version == 2:
            net.function("__operators__.getitem", value, [x], slice_spec=spec)
        else:
            net.function("get_item", value, [x, {"class_name": "__tuple__", "items": spec}])
        return net.last
    full = (None, None, None)
    corners = [part(net.value[x][:, i::2, j:8:2], full, (i, None, 2), (j, 8, 2)) for i in range(2) for j in range(2)]
    focus = net.function("concat" if version == 2 else "concatenate", numpy.concatenate([net.value[c] for c in corners], -1), corners, axis=-1)
    dots = "Ellipsis" if version == 2 else {"class_name": "__ellipsis__", "config": {}}
    part(net.value[x][..., ::-1], dots, (None, None, -1))
    part(net.value[x][:, 6:1:-2, None, 3, 1:-1:3], full, (6, 1, -2), None, 3, (1, -1, 3))
    net.function("roll", numpy.roll(net.value[focus], (-1, 3), (1, 2)), [focus], shift=[-1, 3], axis=[1, 2])
    flat = net.function("reshape", net.y.reshape(2, 16, -1), [net.last], **{"shape" if version == 2 else "newshape": [-1, 16, 4 * channels]})
    if version == 3:
        net.function("swapaxes", net.y.swapaxes(1, 2), [net.last], axis1=1, axis2=2)
        net.function("matmul", net.value[flat] @ net.y, [flat, net.last])
    else:
        net.function("linalg.matmul", net.y @ net.y.swapaxes(1, 2), [net.last, net.last], transpose_b=True)
    return net


def nodes(random, version, channels):
    """Operations as TensorFlow 2.0 to 2.3 kept them between layers."""
    net = Net(random, (2, 6, 8, channels), version)
    net.conv(channels, (3, 3), (1, 1), True, name="linear")
    x = net.last
    net.node("AddV2", net.y + 3, [net.last], {"1": 3.0})
    net.node("Relu6", numpy.clip(net.y, 0, 6), [net.last])
    net.node("Mul", net.y * net.value[x] / 6, [net.last, x])
    net.value[net.last] = net.y * 6
    net.node("RealDiv", net.y / numpy.arange(1, channels + 1), [net.last], {"1": list(range(1, channels + 1))})
    net.node("Sub", 1 - net.y, [net.last], {"0": 1.0})
    y = net.last
    net.node("Mean", net.y.mean((1, 2), keepdims=True), [net.last], {"1": [1, 2]}, keep_dims={"b": True})
    net.node("Squeeze", net.y[:, 0, 0], [net.last], squeeze_dims={"list": {"i": ["1", "-2"]}})
    net.dense(channels, "sigmoid")
    net.node("ExpandDims", net.y[:, None], [net.last], {"1": 1})
    net.node("Reshape", net.y.reshape(2, 1, 1, -1), [net.last], {"1": [-1, 1, 1, channels]})
    net.node("Mul", net.y * net.value[y], [y, net.last])
    net.node("ConcatV2", numpy.concatenate([net.y, net.value[x]], 3), [net.last, x], {"2": 3}, N={"i": "2"})
    net.node("StridedSlice", net.y[:, 1:, ::-2, 1], [net.last], {"1": [0, 1, 0, 1], "2": [0, 0, 0, 2], "3": [1, 1, -2, 1]},
             begin_mask={"i": "5"}, end_mask={"i": "7"}, shrink_axis_mask={"i": "8"}, ellipsis_mask={"i": "0"}, new_axis_mask={"i": "0"})
    net.node("StridedSlice", net.y[:, ..., None], [net.last], {"1": [0, 0, 0], "2": [0, 0, 0], "3": [1, 1, 1]},
             begin_mask={"i": "1"}, end_mask={"i": "1"}, ellipsis_mask={"i": "2"}, new_axis_mask={"i": "4"})
    net.node("ResizeNearestNeighbor", net.y.repeat(2, 1).repeat(3, 2), [net.last], {"1": [10, 12]}, half_pixel_centers={"b": True})
    net.node("Transpose", net.y.transpose(0, 3, 2, 1), [net.last], {"1": [0, 3, 2, 1]})
    net.node("Softmax", act("softmax", net.y), [net.last])
    return net


def group(x, groups):
    parts = x.reshape(x.shape[0], -1, groups, x.shape[-1] // groups)
    mean, variance = parts.mean((1, 3), keepdims=True), parts.var((1, 3), keepdims=True)
    return ((parts - mean) / numpy.sqrt(variance + 1e-3)).reshape(x.shape)


def volumes(random, version, channels):
    net = Net(random, (2, 6, 7, 5, 2), version)
    for stride, same in ((1, True), (2, False)):
        c, w, b = net.y.shape[-1], None, net.numbers(channels)
        w = net.numbers(3, 2, 3, c, channels)
        y = numpy.einsum("...cijk,ijkcf->...f", view(net.y, (3, 2, 3), (stride,) * 3, same).astype(float), w.astype(float)) + b
        net.add("Conv3D", numpy.maximum(y, 0), [w, b], kernel_size=[3, 2, 3], strides=[stride] * 3, padding="same" if same else "valid",
                activation="relu", use_bias=True, dilation_rate=[1, 1, 1])
        if same:
            net.add("MaxPooling3D", view(net.y, (2, 1, 1), (1, 1, 1), False).max((-3, -2, -1)), pool_size=[2, 1, 1], strides=[1, 1, 1], padding="valid")
    net.add("GlobalAveragePooling3D", net.y.mean((1, 2, 3)))
    net.dense(4, "tanh")
    return net


def first(random, version, channels):
    """Channels on axis 1 in the file."""
    net = Net(random, (2, 3, 8, 6), version)
    for stride in (1, 2):
        w, b = net.numbers(3, 3, net.y.shape[1], channels), net.numbers(channels)
        y = numpy.einsum("...cij,ijcf->...f", view(net.y.transpose(0, 2, 3, 1), (3, 3), (stride, stride), True).astype(float), w.astype(float)) + b
        net.add("Conv2D", numpy.maximum(y, 0).transpose(0, 3, 1, 2), [w, b], kernel_size=[3, 3], strides=[stride] * 2, padding="same",
                activation="relu", use_bias=True, data_format="channels_first")
        g, v, mean = net.numbers(channels, low=0.1), net.numbers(channels, low=0.1), net.numbers(channels)
        y = (net.y - mean.reshape(-1, 1, 1)) / numpy.sqrt(v.reshape(-1, 1, 1) + 1e-3) * g.reshape(-1, 1, 1)
        net.add("BatchNormalization", y, [g, mean, v], axis=[1], epsilon=1e-3, scale=True, center=False)
    net.add("ZeroPadding2D", numpy.pad(net.y, ((0, 0), (0, 0), (1, 1), (0, 2))), padding=[[1, 1], [0, 2]], data_format="channels_first")
    x = net.last
    net.add("GlobalMaxPooling2D", net.y.max((2, 3)), data_format="channels_first")
    y = net.last
    net.add("Flatten", net.value[x].transpose(0, 2, 3, 1).reshape(2, -1), inputs=[x], data_format="channels_first")
    net.dense(channels, "linear")
    net.add("Dot", (net.y * net.value[y]).sum(1, keepdims=True), inputs=[net.last, y], axes=1)
    return net


def categories(random, version, strange):
    """Places in vocabularies of integers and between bounds, rows that mark or count them, and back; `strange` places of unknown words."""
    net = Net(random, (2, 6), version)
    words, rows = [int(n) for n in random.permutation(40)[:9] - 12 if n not in (-1, 0)], []

    def hot(places, count, how):
        marks = (places[..., None] == numpy.arange(count)).astype(F32)
        return marks if how == "one_hot" else marks.sum(1) if how == "count" else marks.max(1)

    def row(value, kind, inputs, **config):
        rows.append(net.add(kind, value, inputs=[inputs], **config))
    net.function("math.multiply" if version == 2 else "multiply", net.y * 14, [net.last, 14.0])
    whole, numbers = net.function("math.floor" if version == 2 else "floor", numpy.floor(net.y), [net.last]), numpy.floor(net.y).astype(int)
    bounds = [-9.5, -2.0, 0.0, 3.25, 11.0]
    between = (numbers[..., None] >= numpy.array(bounds)).sum(-1)
    parts = net.add("Discretization", between, inputs=[whole], bin_boundaries=bounds, output_mode="int")
    row(hot(between, 8, "multi_hot"), "CategoryEncoding", parts, num_tokens=8, output_mode="multi_hot")
    row(hot(between, 8, "count"), "CategoryEncoding", parts, num_tokens=8, output_mode="count")
    row(hot(between, 6, "multi_hot"), "Discretization", whole, bin_boundaries=bounds, output_mode="multi_hot")
    at = {w: i for i, w in enumerate(words)}
    unknown = numbers % strange
    places = numpy.vectorize(lambda n, u: at[n] + strange if n in at else u)(numbers, unknown)
    row(hot(places, len(words) + strange + 3, "count"), "IntegerLookup", whole, vocabulary=words, num_oov_indices=strange, oov_token=-1, mask_token=None,
        output_mode="count", max_tokens=len(words) + strange + 3, pad_to_max_tokens=True)
    masked = numpy.where(numbers == 0, 0, places + 1)
    given = ([0] + [-1] * strange if version == 3 else []) + words
    inner = net.add("IntegerLookup", masked, inputs=[whole], vocabulary=given, num_oov_indices=strange, oov_token=-1, mask_token=0, output_mode="int", invert=False)
    table = net.numbers(len(words) + strange + 1, 3)
    embedded = net.add("Embedding", table[masked], [table], input_dim=len(table), output_dim=3)
    row(table[masked].reshape(2, -1), "Flatten", embedded)
    single = net.add("CategoryEncoding", hot(masked, 12, "one_hot"), inputs=[inner], num_tokens=12, output_mode="one_hot")
    row(hot(masked, 12, "one_hot").reshape(2, -1), "Flatten", single)
    back = numpy.array([-1] * strange + words)[between]
    again = (back[..., None] >= numpy.array(bounds)).sum(-1)
    net.add("IntegerLookup", back, inputs=[parts], vocabulary=words, num_oov_indices=strange, oov_token=-1, mask_token=None, output_mode="int", invert=True)
    net.add("Discretization", again, bin_boundaries=bounds, output_mode="int")
    row(hot(again, 6, "count"), "CategoryEncoding", net.last, num_tokens=6, output_mode="count")
    net.add("Concatenate", numpy.concatenate([net.value[r] for r in rows], -1), inputs=rows, axis=-1)
    net.dense(4, "linear")
    return net


def states(random, version, channels):
    """An encoder's states start a decoder; steps backwards; a convolution at each step."""
    net = Net(random, (2, 6, 5, 4, 3), version)
    w, b = net.numbers(2, 2, 3, channels), net.numbers(channels)
    y = numpy.einsum("...cij,ijcf->...f", view(net.y.reshape(12, 5, 4, 3), (2, 2), (1, 1), False).astype(float), w.astype(float)) + b
    inner = {"class_name": "Conv2D", "config": {"name": "c", "kernel_size": [2, 2], "strides": [1, 1], "padding": "valid", "activation": "relu"}}
    net.add("TimeDistributed", numpy.maximum(y, 0).reshape(2, 6, 4, 3, channels), [w, b], part="layer/", layer=inner)
    net.add("TimeDistributed", net.y.mean((2, 3)), layer={"class_name": "GlobalAveragePooling2D", "config": {"name": "p"}})
    x = net.last
    y, weights = net.cell("LSTM", 5, True)
    there = net.states
    net.add("LSTM", y, weights, part="cell/", units=5, activation="tanh", recurrent_activation="sigmoid", return_sequences=True, return_state=True)
    encoder = net.last
    y, weights = net.cell("LSTM", 5, True, x=net.value[x], start=there)
    net.add("LSTM", y, weights, inputs=[x, (encoder, 1), (encoder, 2)], part="cell/", units=5, activation="tanh",
            recurrent_activation="sigmoid", return_sequences=True)
    y, weights = net.cell("GRU", 4, True, backwards=True)
    net.add("GRU", y[:, ::-1], weights, part="cell/", units=4, activation="tanh", recurrent_activation="sigmoid", return_sequences=True,
            go_backwards=True, **({"reset_after": True} if version == 3 else {}))
    net.add("Flatten", net.y.reshape(2, -1))
    net.dense(3, "linear")
    return net


def attention(random, version, channels):
    net = Net(random, (2, 6, channels), version)
    soft = lambda z: act("softmax", z)
    heads, each, valued = 2, 3, 4
    shapes = [(channels, heads, each), (channels, heads, each), (channels, heads, valued), (heads, valued, channels)]
    w = [net.numbers(*s) for s in shapes]
    b = [net.numbers(*s) for s in ((heads, each), (heads, each), (heads, valued), (channels,))]
    x = net.y
    q, k, v = (numpy.einsum("bsc,che->bhse", x, w[i].astype(float)) + b[i][:, None] for i in range(3))
    y = numpy.einsum("bhse,hec->bsc", soft(q @ k.transpose(0, 1, 3, 2) / numpy.sqrt(each)) @ v, w[3].astype(float)) + b[3]
    first = net.last
    net.add("MultiHeadAttention", y, [t for pair in zip(w, b) for t in pair], inputs=[first, first], num_heads=heads, key_dim=each, value_dim=valued,
            use_bias=True)
    net.add("Add", net.y + x, inputs=[net.last, first])
    g, shift = net.numbers(channels), net.numbers(channels)
    y = (net.y - net.y.mean(-1, keepdims=True)) / numpy.sqrt(net.y.var(-1, keepdims=True) + 1e-3) * g + shift
    net.add("LayerNormalization", y, [g, shift], axis=-1, epsilon=1e-3)
    second = net.last
    scale = net.numbers()
    net.add("Attention", soft(net.y @ x.transpose(0, 2, 1) * scale) @ x, [scale], inputs=[second, first], use_scale=True)
    scale, y = net.numbers(channels), net.value[second]
    scores = (numpy.tanh(net.y[:, :, None] + y[:, None]) * scale).sum(-1)
    net.add("AdditiveAttention", soft(scores) @ y, [scale], inputs=[net.last, second], use_scale=True)
    return net


def masked(random, version, channels):
    """Steps of nothing, at either end and between, do not count."""
    net = Net(random, (2, 9, 5), version)
    mask = random.random((2, 9)) < 0.6
    mask[0, :2], mask[1, -3:], mask[1, 0] = False, False, True
    net.x[~mask] = 0.0
    net.value["first"] = net.x.astype(float)
    net.add("Masking", net.y, mask_value=0.0)
    net.dense(channels, "tanh")
    both = [net.cell("LSTM", 4, True, backwards, mask=mask) for backwards in (False, True)]
    inner = {"class_name": "LSTM", "config": {"name": "inner", "units": 4, "activation": "tanh", "use_bias": True,
                                              "recurrent_activation": "sigmoid", "return_sequences": True}}
    net.add("Bidirectional", numpy.concatenate([both[0][0], both[1][0]], -1), both[0][1] + both[1][1], part="forward_layer/cell/", layer=inner,
            merge_mode="concat")
    last = net.last
    y, weights = net.cell("GRU", channels, True, mask=mask)
    config = {"units": channels, "activation": "tanh", "recurrent_activation": "sigmoid", "use_bias": True, "reset_after": True}
    net.add("RNN", y, weights, part="cell/", return_sequences=True, cell={"class_name": "GRUCell", "config": dict(config, name="gru_cell")})
    net.add("GlobalAveragePooling1D", (net.y * mask[..., None]).sum(1) / mask.sum(1, keepdims=True))
    pooled = net.last
    y, weights = net.cell("SimpleRNN", channels, False, x=net.value[last], mask=mask)
    net.add("SimpleRNN", y, weights, inputs=[last], part="cell/", units=channels, activation="tanh", use_bias=True, return_sequences=False)
    net.add("Add", net.y + net.value[pooled], inputs=[net.last, pooled])
    return net


def modern(random, version, channels):
    """A model at each step, activations that are layers, equations, layers that a package registered."""
    net = Net(random, (2, 4, 6, 5, 3), version)
    w, b = net.numbers(2, 2, 3, channels), net.numbers(channels)
    y = numpy.einsum("...cij,ijcf->...f", view(net.y.reshape(8, 6, 5, 3), (2, 2), (1, 1), False).astype(float), w.astype(float)) + b
    start = {"class_name": "InputLayer", "config": {"name": "in", "batch_shape": [None, 6, 5, 3]}, "name": "in", "inbound_nodes": []}
    leaky = {"class_name": "LeakyReLU", "config": {"name": "a", "negative_slope" if version == 3 else "alpha": 0.1}}
    conv = {"class_name": "Conv2D", "config": {"name": "conv", "kernel_size": [2, 2], "strides": [1, 1], "padding": "valid", "activation": leaky}}
    pool = {"class_name": "GlobalMaxPooling2D", "config": {"name": "pool"}}
    inner = {"class_name": "Sequential", "config": {"name": "inner", "layers": [start, conv, pool]}}
    y = numpy.where(y > 0, y, 0.1 * y).max((1, 2)).reshape(2, 4, channels)
    net.add("TimeDistributed", y, [w, b], part="layer/layers/conv2d/", layer=inner)
    net.within[net.last] = "conv/"
    w, b = net.numbers(channels, 2, 3), net.numbers(2, 3)
    clipped = {"module": "keras.layers", "class_name": "ReLU", "config": {"name": "r", "max_value": 1.5, "negative_slope": 0.0, "threshold": 0.0}}
    y = numpy.einsum("abc,cde->abde", net.y, w.astype(float)) + b
    net.add("EinsumDense", numpy.clip(y, 0, 1.5), [w, b], equation="abc,cde->abde", output_shape=[None, 2, 3], bias_axes="de", activation=clipped)
    net.add("Reshape", net.y.reshape(2, 4, 6), target_shape=[4, 6])
    g = net.numbers(6)
    net.add("Mine>LayerScale", net.y * g, [g], projection_dim=6)
    net.add("StochasticDepth", net.y, drop_path_rate=0.1)
    g = net.numbers(6)
    net.add("RMSNormalization", net.y / numpy.sqrt((net.y ** 2).mean(-1, keepdims=True) + 1e-5) * g, [g], axis=-1, epsilon=1e-5)
    x, soft = net.last, lambda z: act("softmax", z)
    scores = net.y @ net.y.transpose(0, 2, 1)
    later = numpy.arange(4)[None] > numpy.arange(4)[:, None]
    net.add("Attention", soft(numpy.where(later, -1e9, scores)) @ net.y, inputs=[x, x], use_scale=False, **{"causal": True, "use_causal_mask": True})
    net.function("math.l2_normalize" if version == 2 else "normalize", net.y / numpy.sqrt((net.y ** 2).sum(-1, keepdims=True)), [net.last], axis=-1)
    quick = 0.5 * net.y * (1 + numpy.tanh(numpy.sqrt(2 / numpy.pi) * (net.y + 0.044715 * net.y ** 3)))
    net.function("nn.gelu" if version == 2 else "gelu", quick, [net.last], **({"approximate": True} if version == 2 else {}))
    net.function("reshape", net.y.reshape(2, 2, 3, 4), [net.last], **{"shape" if version == 2 else "newshape": [-1, 2, 3, 4]})
    if version == 2:
        y = net.y.reshape(2, 2, 3, 2, 2, 1).transpose(0, 1, 3, 2, 4, 5).reshape(2, 4, 6, 1)
        net.function("nn.depth_to_space", y, [net.last], block_size=2)
    whole = net.last
    size = [2 * n for n in net.y.shape[1:3]]
    blend = lambda v: 0.75 * v + 0.25 * numpy.concatenate([v[:, :1], v[:, :-1]], 1), lambda v: 0.75 * v + 0.25 * numpy.concatenate([v[:, 1:], v[:, -1:]], 1)
    twice = lambda v: numpy.stack([f(v) for f in blend], 2).reshape(v.shape[0], -1, *v.shape[2:])
    y = twice(twice(net.y).swapaxes(1, 2)).swapaxes(1, 2)
    net.function("image.resize" if version == 2 else "resize", y, [whole], size=size, **{"method" if version == 2 else "interpolation": "bilinear"})
    half = net.y.shape[2] // 2
    net.function("split", net.y[:, :, :half], [net.last], axis=2, **{"num_or_size_splits" if version == 2 else "indices_or_sections": 2})
    net.add("Add", net.y + y[:, :, half:], inputs=[net.last, (net.last, 1)])
    net.function("pad", numpy.pad(net.y, ((0, 0), (1, 0), (0, 2), (0, 0))), [net.last],
                 **{"paddings" if version == 2 else "pad_width": [[0, 0], [1, 0], [0, 2], [0, 0]], "mode": "CONSTANT" if version == 2 else "constant"})
    return net


def wrapped(random, version, channels):
    """Layers around layers, cells in a stack, as many windows as are asked for, contrast, heads that share."""
    net = Net(random, (2, 11, 8, 3), version)
    net.x[:, :, :, 0] = 0.25  # a channel without contrast
    net.value["first"] = net.x.astype(float)
    low, high = net.y.min((1, 2), keepdims=True), net.y.max((1, 2), keepdims=True)
    with numpy.errstate(all="ignore"):
        net.add("AutoContrast", numpy.where(low == high, net.y, (net.y - low) / (high - low) * 3 - 1), value_range=[-1, 2])
    for kind in ("Equalization", "Solarization", "RandAugment", "AugMix"):
        net.add(kind, net.y)
    w, b, u = net.numbers(2, 2, 3, channels), net.numbers(channels), net.numbers(1, channels)
    inner = {"class_name": "Conv2D", "config": {"name": "c", "kernel_size": [2, 2], "strides": [1, 1], "padding": "valid", "activation": "relu"}}
    y = numpy.einsum("...cij,ijcf->...f", view(net.y, (2, 2), (1, 1), False).astype(float), w.astype(float)) + b
    net.add("SpectralNormalization", numpy.maximum(y, 0), [w, b, u], part=["layer/vars/0", "layer/vars/1", "vars/0"], layer=inner, power_iterations=1)

    def windows(v, axis, n, how):
        size = v.shape[axis]
        return numpy.concatenate([how(v.take(range(i * size // n, -(-(i + 1) * size // n)), axis), axis=axis, keepdims=True) for i in range(n)], axis)
    kind, how = ("Average", numpy.mean) if channels % 2 else ("Max", numpy.max)
    net.add("Adaptive%sPooling2D" % kind, windows(windows(net.y, 1, 4, how), 2, 5, how), output_size=[4, 5])
    net.add("Adaptive%sPooling2D" % kind, windows(net.y, 1, 2, how), output_size=[2, 5])
    net.add("Permute", net.y.transpose(0, 3, 1, 2), dims=[3, 1, 2])
    net.add("AdaptiveAveragePooling2D", windows(windows(net.y, 2, 3, numpy.mean), 3, 4, numpy.mean), output_size=[3, 4], data_format="channels_first")
    net.add("Reshape", net.y.reshape(2, -1, 12), target_shape=[-1, 12])
    net.add("AdaptiveMaxPooling1D", windows(net.y, 1, channels + 3, numpy.max), output_size=[channels + 3])
    for name in ("sparse_plus", "sparse_sigmoid", "glu"):
        half = net.y.shape[-1] // 2
        net.add("Activation", {"sparse_plus": numpy.where(net.y < -1, 0, numpy.where(net.y > 1, net.y, (net.y + 1) ** 2 / 4)),
                               "sparse_sigmoid": numpy.clip(net.y / 2 + 0.5, 0, 1), "glu": net.y[..., :half] * sigmoid(net.y[..., half:])}[name], activation=name)
    x, heads, shared, each = net.y, 6, 3, 4
    w = [net.numbers(*s) for s in ((6, heads, each), (6, shared, each), (6, shared, each), (heads, each, 6))]
    b = [net.numbers(*s) for s in ((heads, each), (shared, each), (shared, each), (6,))]
    q, k, v = (numpy.einsum("bsc,che->bhse", x, w[i].astype(float)) + b[i][:, None] for i in range(3))
    k, v = k.repeat(heads // shared, 1), v.repeat(heads // shared, 1)
    y = numpy.einsum("bhse,hec->bsc", act("softmax", q @ k.transpose(0, 1, 3, 2) / 2) @ v, w[3].astype(float)) + b[3]
    net.add("GroupedQueryAttention", y, [t for pair in zip(w, b) for t in pair], inputs=[net.last, net.last], head_dim=each, num_query_heads=heads,
            num_key_value_heads=shared, use_bias=True)
    units, weights, parts, cells = {"LSTM": 5, "GRU": channels, "SimpleRNN": 3}, [], [], []
    backwards, y = channels % 2 == 0, net.y
    for i, cell in enumerate(("LSTM", "GRU", "LSTM", "SimpleRNN")):
        y, w = net.cell(cell, units[cell], True, backwards, x=y)
        weights += w
        name = {"LSTM": "lstm", "GRU": "gru", "SimpleRNN": "simple_rnn"}[cell]
        parts += ["cell/cells/%s_cell%s/vars/%d" % (name, "_1" if i == 2 else "", n) for n in range(3)]
        cells.append({"class_name": cell + "Cell", "config": {"name": "x%d" % i, "units": units[cell], "activation": "tanh", "use_bias": True,
                                                                "recurrent_activation": "sigmoid", "reset_after": True}})
    stack = {"class_name": "StackedRNNCells", "config": {"name": "stack", "cells": cells}}
    net.add("RNN", y[:, ::-1] if backwards else y, weights, part=parts, cell=stack, return_sequences=True, go_backwards=backwards)
    there, w = net.cell("LSTM", 4, False)
    back, v = net.cell("LSTM", 4, False, True)
    inner = {"class_name": "RNN", "config": {"name": "r", "cell": cells[0], "return_sequences": False}}
    cells[0]["config"]["units"] = 4
    net.add("Bidirectional", numpy.concatenate([there, back], -1), w + v, part="forward_layer/cell/", layer=inner, merge_mode="concat")
    return net


def made(vtac, work, seed):
    random = numpy.random.default_rng(seed)
    for kind, version, channels in ((pictures, 2, 4), (pictures, 3, 6), (films, 2, 4), (films, 3, 3), (sounds, 2, 7), (sounds, 3, 8), (functions, 2, 4), (functions, 3, 6), (brackets, 2, 3), (brackets, 3, 4), (nodes, 2, 5),
                                    (volumes, 2, 3), (volumes, 3, 4), (early, 2, 3), (early, 2, 5), (first, 2, 3), (first, 3, 4), (states, 2, 3), (states, 3, 4), (categories, 2, 1), (categories, 3, 2), (attention, 2, 5), (attention, 3, 7),
                                    (masked, 2, 3), (masked, 3, 4), (modern, 2, 5), (modern, 3, 7),
                                    (wrapped, 2, 4), (wrapped, 3, 5), (wrapped, 3, 10), (wrapped, 2, 3)):
        net = kind(random, version, channels)
        sequential = kind is sounds and channels == 7 or channels == 8
        path = os.path.join(work, "made.h5" if version == 2 else "made.keras")
        if version == 2:
            net.save_h5(path, sequential)
        else:
            net.save_keras(path, sequential, old=channels == 6)
        # the batch is open in the file: one row after the other
        rows = []
        for i in range(2):
            rows.append(os.path.join(work, "row%d.npy" % i))
            numpy.save(rows[-1], net.x[i:i + 1])
        for i, found in enumerate(outputs(vtac, work, path, rows)):
            close("%s of Keras %d, seed %d" % (kind.__name__, version, seed), found[0], net.y[i:i + 1],
                  1e-4 * max(1.0, float(numpy.abs(net.y).max())))


# ---- damaged and hostile files

# ---- files of the first Keras, and of those that have their weights as bytes

def judge_one(vtac, work, path, x, wanted):
    numpy.save(os.path.join(work, "one.npy"), x)
    close(os.path.basename(path), outputs(vtac, work, path, [os.path.join(work, "one.npy")])[0][0], wanted, 1e-5)


def store(group, names, weights):
    group.attrs["weight_names"] = [n.encode() for n in names]
    for name, w in zip(names, weights):
        group.create_dataset(name, data=w)


def generation1(vtac, work, random, cell):
    """Options and classes of Keras 1; gates that lie one after the other; two branches and a Merge."""
    net, units = Net(random, (1, 9, 8, 3), 2), 4
    w, b, u, c = net.numbers(3, 2, 3, 5), net.numbers(5), net.numbers(3, 2, 3, 5), net.numbers(5)
    v = view(net.y, (3, 2), (2, 1), True)
    sides = [numpy.maximum(numpy.einsum("...cij,ijcf->...f", v, k.astype(float)) + d, 0) for k, d in ((w, b), (u, c))]
    joined = numpy.concatenate(sides, -1)
    pooled = numpy.nanmax(view(joined, (2, 2), (2, 2), False, numpy.nan), (-2, -1))
    steps = pooled.reshape(1, -1, 10)
    k, d = net.numbers(2, 1, 10, 6), net.numbers(6)
    steps = numpy.einsum("bscj,jcf->bsf", view(steps, (2,), (1,), False), k[:, 0].astype(float)) + d
    gates = {"LSTM": "ifco", "GRU": "zrh"}[cell]
    parts = {g: (net.numbers(6, units), net.numbers(units, units), net.numbers(units)) for g in gates}
    hard = lambda z: numpy.clip(0.2 * z + 0.5, 0, 1)
    h, state = numpy.zeros((1, units)), numpy.zeros((1, units))
    for t in range(steps.shape[1]):
        z = {g: steps[:, t] @ p[0] + p[2] for g, p in parts.items()}
        if cell == "LSTM":
            z = {g: z[g] + h @ parts[g][1] for g in gates}
            state = hard(z["f"]) * state + hard(z["i"]) * numpy.tanh(z["c"])
            h = hard(z["o"]) * numpy.tanh(state)
        else:
            gate = {g: hard(z[g] + h @ parts[g][1]) for g in "zr"}
            h = gate["z"] * h + (1 - gate["z"]) * numpy.tanh(z["h"] + (gate["r"] * h) @ parts["h"][1])
    dense, bias = net.numbers(units, 3), net.numbers(3)
    conv = {"nb_filter": 5, "nb_row": 3, "nb_col": 2, "border_mode": "same", "subsample": [2, 1], "dim_ordering": "tf", "activation": "relu", "bias": True}
    order = "icfo" if cell == "LSTM" else "zrh"
    rows = [("InputLayer", {"batch_input_shape": [None, 9, 8, 3], "input_dtype": "float32"}, [], []),
            ("Convolution2D", conv, ["a"], [w, b]), ("Convolution2D", conv, ["a"], [u, c]),
            ("Merge", {"mode": "concat", "concat_axis": -1, "mode_type": "raw"}, ["b", "c"], []),
            ("MaxPooling2D", {"pool_size": [2, 2], "strides": [2, 2], "border_mode": "valid", "dim_ordering": "tf"}, ["d"], []),
            ("Reshape", {"target_shape": [-1, 10]}, ["e"], []),
            ("Convolution1D", {"nb_filter": 6, "filter_length": 2, "subsample_length": 1, "border_mode": "valid", "activation": "linear", "bias": True}, ["f"], [k, d]),
            (cell, {"output_dim": units, "activation": "tanh", "inner_activation": "hard_sigmoid", "return_sequences": False}, ["g"],
             [v for g in order for v in parts[g]]),
            ("Dropout", {"p": 0.5}, ["h"], []), ("Dense", {"output_dim": 3, "activation": "softmax", "bias": True}, ["i"], [dense, bias])]
    path = os.path.join(work, "first.h5")
    with h5py.File(path, "w") as f:
        layers = [{"class_name": kind, "name": "abcdefghij"[i], "config": dict(config, name="abcdefghij"[i]), "inbound_nodes": [[[n, 0, 0] for n in inputs]] if inputs else []}
                  for i, (kind, config, inputs, _) in enumerate(rows)]
        f.attrs["model_config"] = json.dumps({"class_name": "Model", "config": {"name": "m", "layers": layers, "input_layers": [["a", 0, 0]], "output_layers": [["j", 0, 0]]}})
        f.attrs["keras_version"] = "1.2.2"
        for i, row in enumerate(rows):
            name = "abcdefghij"[i]
            store(f.create_group("model_weights/" + name), ["%s_%d" % (name, n) for n in range(len(row[3]))], row[3])
    judge_one(vtac, work, path, net.x, act("softmax", h @ dense.astype(float) + bias))


def bytes_inside(vtac, work, random, text):
    """Dense layers and an embedding of int8, as Keras 3 quantizes a model; a sequence that was built by a call."""
    policy = "int8_from_float32" if text else {"module": "keras", "class_name": "QuantizedDTypePolicy", "config": {"mode": "int8", "source_name": "float32"}}
    table, by = random.integers(-127, 128, (11, 6)).astype("int8"), random.uniform(50, 150, 11).astype(F32)
    w = [random.integers(-127, 128, s).astype("int8") for s in ((6, 8), (8, 3))]
    scales, bias = [random.uniform(50, 150, v.shape[1]).astype(F32) for v in w], random.standard_normal(8).astype(F32)

    def dense(v, i):
        scale = 127 / (numpy.abs(v).max(-1, keepdims=True) + 1e-7)
        return numpy.clip(numpy.round(v * scale), -127, 127) @ w[i].astype(float) / (scale * scales[i])
    x = random.integers(0, 11, (1, 5))
    y = dense(numpy.maximum(dense(table[x] / by[x][..., None], 0) + bias, 0), 1)
    layers = [("Embedding", {"input_dim": 11, "output_dim": 6, "dtype": policy}, [table, by]),
              ("Dense", {"units": 8, "activation": "relu", "use_bias": True, "dtype": policy}, [w[0], bias, scales[0]]),
              ("Dense", {"units": 3, "activation": "linear", "use_bias": False, "dtype": policy}, [w[1], scales[1]])]
    config = {"name": "s", "layers": [{"class_name": k, "config": dict(c, name="n%d" % i)} for i, (k, c, _) in enumerate(layers)]}
    if text:
        config["build_input_shape"] = [None, 5]
    else:
        config["layers"][0]["build_config"] = {"input_shape": [None, 5]}
    memory, path = io.BytesIO(), os.path.join(work, "bytes.keras")
    with h5py.File(memory, "w") as f:
        for group, (_, _, weights) in zip(("embedding", "dense", "dense_1"), layers):
            for n, v in enumerate(weights):
                f.create_dataset("layers/%s/vars/%d" % (group, n), data=v)
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("metadata.json", json.dumps({"keras_version": "3.6.0"}))
        z.writestr("config.json", json.dumps({"class_name": "Sequential", "config": config}))
        z.writestr("model.weights.h5", memory.getvalue())
    judge_one(vtac, work, path, x.astype(F32), y)


def many_names(vtac, work, random):
    """A nested model whose names are too many for one attribute; weights of 16 bits."""
    w = [random.standard_normal((4, 4)).astype("float16") for _ in range(6)]
    x = random.standard_normal((1, 4)).astype(F32)
    path, y = os.path.join(work, "many.h5"), x.astype(float)
    inner = [{"class_name": "Dense", "config": {"name": "d%d" % i, "units": 4, "use_bias": False, "activation": "tanh", "dtype": "float16"}} for i in range(6)]
    for v in w:
        y = numpy.tanh(y @ v.astype(float))
    with h5py.File(path, "w") as f:
        f.attrs["model_config"] = json.dumps({"class_name": "Sequential", "config": {"name": "o", "layers": [
            {"class_name": "InputLayer", "config": {"name": "i", "batch_input_shape": [None, 4]}},
            {"class_name": "Sequential", "config": {"name": "body", "layers": inner}}]}})
        group = f.create_group("model_weights/body")
        for part in range(3):
            names = ["d%d/kernel:0" % i for i in range(2 * part, 2 * part + 2)]
            group.attrs["weight_names%d" % part] = [n.encode() for n in names]
            for i, n in enumerate(names):
                group.create_dataset(n, data=w[2 * part + i])
    judge_one(vtac, work, path, x, y)


def generations(vtac, work, seed):
    random = numpy.random.default_rng(seed)
    for cell, text in (("LSTM", True), ("GRU", False)):
        generation1(vtac, work, random, cell)
        bytes_inside(vtac, work, random, text)
    many_names(vtac, work, random)


def bomb(path, size):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("config.json", "{}")
        z.writestr("model.weights.h5", bytes(1000))
    data = bytearray(open(path, "rb").read())
    for mark, at in ((b"PK\1\2", 24), (b"PK\3\4", 22)):
        place = data.rindex(mark)
        data[place + at:place + at + 4] = size.to_bytes(4, "little")
    open(path, "wb").write(data)


def damaged(vtac, work):
    net = sounds(numpy.random.default_rng(1), 2, 4)
    path, so = os.path.join(work, "bad.h5"), os.path.join(work, "bad.so")

    def refused(words):
        line = run(vtac, "compile", path, "--target", "llvm", "-o", so, fails=True)
        if os.path.basename(path) not in line or os.path.exists(so) or words not in line:
            sys.exit("'%s' expected: %s" % (words, line))

    net.save_h5(path, True)
    whole = open(path, "rb").read()
    for size in (9, 100, len(whole) // 2, len(whole) - 1000):
        open(path, "wb").write(whole[:size])
        refused("")
    group = "model_weights/l1_conv1d/l1_conv1d"
    for link in (h5py.SoftLink("/model_weights"), h5py.ExternalLink("/etc/hostname", "/x"), None):
        net.save_h5(path, True)
        with h5py.File(path, "a") as f:
            del f[group + "/w0:0"]
            if link is not None:
                f[group + "/w0:0"] = link
            else:
                f.create_dataset(group + "/w0:0", (3, 5, 4), F32, external=[("/etc/hostname", 0, 240)])
        refused("only what lies in the file itself is read")
    for change in ("{", "[]", "{}", '{"class_name": "Functional", "config": {"layers": [{"class_name": "Oh", "config": {"name": "o"}}]}}',
                   '{"class_name": "Sequential", "config": {"layers": [{"class_name": "Dense", "config": {"name": "d"}}]}}',
                   '{"class_name": "Sequential", "config": [{"class_name": "GroupNormalization", "config": {"name": "g", "groups": 2, '
                   '"scale": false, "center": false, "batch_input_shape": [null, 5, 0]}}]}',
                   '{"class_name": "Mine", "config": {}}', "[" * 5000):
        net.save_h5(path, True)
        with h5py.File(path, "a") as f:
            f.attrs["model_config"] = change
        refused("")
    inner = {"class_name": "InputLayer", "config": {"name": "i", "batch_input_shape": [None, 3]}}
    config = {"name": "m", "layers": [inner], "output_layers": [["i", 0, 0]]}
    for _ in range(6):  # models that call each other 40 times
        calls = [[["i" if i == 0 else "m", max(0, i - 1), 0, {}]] for i in range(40)]
        config = {"name": "m", "layers": [inner, {"class_name": "Functional", "name": "m", "config": config, "inbound_nodes": calls}], "output_layers": [["m", 39, 0]]}
    with h5py.File(path, "a") as f:
        f.attrs["model_config"] = json.dumps({"class_name": "Functional", "config": config})
    refused("models that call each other come to more than")
    with h5py.File(path, "a") as f:
        f.attrs["model_config"] = '{"class_name": "Sequential", "config": [{"class_name": "Lambda", "config": {"name": "own"}}]}'
    refused("'own' (Lambda); a Lambda holds code of Python")
    for change, words in (('{"class_name": "StringLookup", "config": {"name": "own"}}', "'own' (StringLookup); texts do not go into a Keras model here"),
                          ('{"class_name": "IntegerLookup", "config": {"name": "own", "vocabulary": null, "batch_input_shape": [null, 3]}}', "(it was adapted")):
        with h5py.File(path, "a") as f:
            f.attrs["model_config"] = '{"class_name": "Sequential", "config": [%s]}' % change
        refused(words)
    path = os.path.join(work, "bad.keras")
    for size in (1 << 20, 0xfffffff0, 999):
        bomb(path, size)
        refused("")
    net.version = 3
    net.save_keras(path, True)
    whole = open(path, "rb").read()
    for size in (4, 30, len(whole) // 2, len(whole) - 10):
        open(path, "wb").write(whole[:size])
        refused("")


# ---- the tables of the README

KERAS = """Activation ActivityRegularization AdaptiveAveragePooling1D AdaptiveAveragePooling2D AdaptiveAveragePooling3D AdaptiveMaxPooling1D AdaptiveMaxPooling2D
AdaptiveMaxPooling3D Add AdditiveAttention AlphaDropout Attention AugMix AutoContrast Average AveragePooling1D AveragePooling2D AveragePooling3D BatchNormalization
Bidirectional CategoryEncoding CenterCrop Concatenate Conv1D Conv1DTranspose Conv2D Conv2DTranspose Conv3D Conv3DTranspose ConvLSTM1D ConvLSTM2D ConvLSTM3D
Cropping1D Cropping2D Cropping3D CutMix Dense DenseFeatures DepthwiseConv1D DepthwiseConv2D Discretization Dot Dropout EinsumDense ELU Embedding Equalization
Flatten FlaxLayer GRU GRUCell GaussianDropout GaussianNoise GlobalAveragePooling1D GlobalAveragePooling2D GlobalAveragePooling3D GlobalMaxPooling1D
GlobalMaxPooling2D GlobalMaxPooling3D GroupNormalization GroupedQueryAttention HashedCrossing Hashing Identity InputLayer IntegerLookup JaxLayer LSTM LSTMCell
Lambda LayerNormalization LeakyReLU LocallyConnected1D LocallyConnected2D Masking MaxNumBoundingBoxes MaxPooling1D MaxPooling2D MaxPooling3D Maximum MelSpectrogram
Minimum MixUp MultiHeadAttention Multiply Normalization PReLU Permute Pipeline RMSNormalization RNN RandAugment RandomBrightness RandomColorDegeneration
RandomColorJitter RandomContrast RandomCrop RandomElasticTransform RandomErasing RandomFlip RandomFourierFeatures RandomGaussianBlur RandomGrayscale RandomHeight
RandomHue RandomInvert RandomPerspective RandomPosterization RandomRotation RandomSaturation RandomSharpness RandomShear RandomTranslation RandomWidth RandomZoom
ReLU RepeatVector Rescaling Reshape Resizing ReversibleEmbedding STFTSpectrogram SeparableConv1D SeparableConv2D SequenceFeatures SimpleRNN SimpleRNNCell Softmax
Solarization SpatialDropout1D SpatialDropout2D SpatialDropout3D SpectralNormalization StackedRNNCells StringLookup Subtract SyncBatchNormalization TFSMLayer
TextVectorization ThresholdedReLU TimeDistributed TorchModuleWrapper UnitNormalization UpSampling1D UpSampling2D UpSampling3D ZeroPadding1D ZeroPadding2D ZeroPadding3D"""


def tables(vtac, work):
    """Each class of Keras 2 and 3 is in the README: what is taken has its row, what is not gets the reason that stands there."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../compiler/src/keras")
    with open(folder + "/README.md") as f:
        told, refused = f.read().split("## Layers that are not")
    with open(folder + "/layers.def") as f:
        rows = f.read()
    taken = re.findall(r'^KERAS_LAYER\("(\w+)"', rows, re.M) + ["TimeDistributed", "SpectralNormalization"]
    names = re.findall(r"`(\w+)`", told.split("| what |")[1].split("\n\n")[0])
    reasons = {name: line.split("|")[2].strip() for line in refused.split("## Activations")[0].splitlines() for name in re.findall(r"`(\w+)`", line)}
    if sorted(taken) != sorted(names) or reasons != dict(re.findall(r'^KERAS_REFUSED\("(\w+)", "([^"]+)"\)', rows, re.M)):
        sys.exit("the README's layers are not those of layers.def: %s" % (set(taken) ^ set(names)))
    unknown = set(KERAS.split()) - set(taken) - set(reasons)
    if unknown:
        sys.exit("the README says nothing of %s" % unknown)
    path = os.path.join(work, "not.h5")

    def inspect(layer, fails):
        with h5py.File(path, "w") as f:
            f.attrs["model_config"] = json.dumps({"class_name": "Sequential", "config": [layer]})
            f.create_group("model_weights")
        return run(vtac, "inspect", path, fails=fails)
    for name, why in reasons.items():
        line = inspect({"class_name": name, "config": {"name": "own"}}, True)
        if "'own' (%s); %s" % (name, why) not in line:
            sys.exit("%s: %s" % (name, line))
    for name in re.findall(r"`(\w+)`", refused.split("## Activations")[1]):
        inspect({"class_name": "Activation", "config": {"name": "a", "activation": name, "batch_input_shape": [None, 3, 4]}}, name in ("sparsemax", "threshold"))


def stored_otherwise(vtac, work, seed):
    """Weights in pieces, packed, turned, of 16 or 64 bits; texts of either kind; headers of each generation."""
    ways = (("earliest", {"chunks": True, "compression": "gzip", "shuffle": True}), ("latest", {}), ("latest", {"chunks": True, "fletcher32": True}),
            ("v108", {"dtype": ">f8"}), ("earliest", {"dtype": "<f2"}))
    for i, (version, how) in enumerate(ways):
        random = numpy.random.default_rng(seed + i)
        w, b, x = random.standard_normal((5, 3)).astype("f2"), random.standard_normal(3).astype("f2"), random.standard_normal((1, 5)).astype(F32)
        path = os.path.join(work, "stored.h5")
        config = json.dumps({"class_name": "Sequential", "config": [{"class_name": "Dense", "config": {"name": "d", "units": 3, "batch_input_shape": [None, 5]}}]})
        with h5py.File(path, "w", libver=(version, "latest")) as f:
            f.attrs["model_config"] = config if i % 2 else numpy.bytes_(config)
            group = f.create_group("model_weights/d")
            names = ["d/kernel:0", "d/bias:0"]
            group.attrs["weight_names"] = numpy.array(names, dtype=h5py.string_dtype()) if i % 2 else [n.encode() for n in names]
            for name, value in zip(names, (w, b)):
                group.create_dataset(name, data=value if "dtype" in how else value.astype(F32), **how)
        judge_one(vtac, work, path, x, x @ w.astype(float) + b)


def main():
    seed = word_seed.told()
    with tempfile.TemporaryDirectory() as work:
        published(sys.argv[1], work, sys.argv[2])
        made(sys.argv[1], work, seed)
        generations(sys.argv[1], work, seed)
        damaged(sys.argv[1], work)
        tables(sys.argv[1], work)
        stored_otherwise(sys.argv[1], work, seed)


if __name__ == "__main__":
    main()
