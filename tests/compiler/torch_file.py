# SPDX-License-Identifier: Apache-2.0
#
# PyTorch's files without PyTorch: pickles of protocol 2, TorchScript archives and programs of torch.export in both layouts.
import io
import json
import struct
import zipfile

STORAGES = {"f4": "Float", "f8": "Double", "f2": "Half", "i8": "Long", "i4": "Int", "i2": "Short", "i1": "Char", "u1": "Byte", "b1": "Bool"}
CODES = {"u1": 1, "i1": 2, "i2": 3, "i4": 4, "i8": 5, "f2": 6, "f4": 7, "f8": 8, "b1": 12}  # of torch.export


class Object:
    """An object of a class of the archive: attributes, or a state that its class understands."""

    def __init__(self, name, state):
        self.name, self.state = name, state


class Quantized:
    """Integers with a scale, or with one for each place of an axis."""

    def __init__(self, data, scale, zero, axis=None):
        self.data, self.scale, self.zero, self.axis = data, scale, zero, axis


class Name(str):
    """A global of the pickle."""


class Pickler:
    """Pickles a value; the contents of tensors are gathered in `data`, by their numbers."""

    def __init__(self, swapped=False):
        self.out, self.data, self.swapped = bytearray(b"\x80\x02"), [], swapped

    def name(self, module, name):
        self.out += b"c" + module.encode() + b"\n" + name.encode() + b"\n"

    def storage(self, array, quantized=False):
        kind = ("QUInt8" if array.dtype.kind == "u" else "QInt8") if quantized else STORAGES[array.dtype.str[1:]]
        plain = array.base if array.base is not None and array.base.dtype == array.dtype else array
        self.out += b"("
        self.put("storage")
        self.name("torch", kind + "Storage")
        self.put(str(len(self.data)))
        self.put("cpu")
        self.put(int(plain.size))
        self.out += b"tQ"
        whole = plain.astype(plain.dtype.newbyteorder(">")) if self.swapped else plain
        self.data.append(whole.tobytes(order="K"))
        offset = (array.__array_interface__["data"][0] - plain.__array_interface__["data"][0]) // array.itemsize
        self.put(int(offset))
        self.put(tuple(int(n) for n in array.shape))
        self.put(tuple(int(s) // array.itemsize for s in array.strides))

    def tensor(self, array):
        self.name("torch._utils", "_rebuild_tensor_v2")
        self.out += b"("
        self.storage(array)
        self.put(False)
        self.name("collections", "OrderedDict")
        self.out += b")RtR"

    def quantized(self, q):
        self.name("torch._utils", "_rebuild_qtensor")
        self.out += b"("
        self.storage(q.data, True)
        self.out += b"("
        self.name("torch", "per_channel_affine" if q.axis is not None else "per_tensor_affine")
        self.put(q.scale)
        self.put(q.zero)
        if q.axis is not None:
            self.put(q.axis)
        self.out += b"t"
        self.put(False)
        self.name("collections", "OrderedDict")
        self.out += b")RtR"

    def put(self, v):
        if v is None or v is True or v is False:
            self.out += {None: b"N", True: b"\x88", False: b"\x89"}[v]
        elif isinstance(v, Name):
            self.name(*v.rsplit(".", 1))
        elif isinstance(v, int):
            self.out += b"J" + struct.pack("<i", v) if -1 << 31 <= v < 1 << 31 else b"\x8a\x08" + struct.pack("<q", v)
        elif isinstance(v, float):
            self.out += b"G" + struct.pack(">d", v)
        elif isinstance(v, str):
            self.out += b"X" + struct.pack("<I", len(v.encode())) + v.encode()
        elif isinstance(v, (list, tuple)):
            self.out += b"(" if isinstance(v, tuple) else b"]("
            for item in v:
                self.put(item)
            self.out += b"t" if isinstance(v, tuple) else b"e"
        elif isinstance(v, dict):
            self.out += b"}("
            for k, item in v.items():
                self.put(k)
                self.put(item)
            self.out += b"u"
        elif isinstance(v, Object):
            self.name(*v.name.rsplit(".", 1))
            self.out += b")\x81"
            self.put(v.state)
            self.out += b"b"
        elif isinstance(v, Quantized):
            self.quantized(v)
        else:
            self.tensor(v)
        return self


def archive(members, method=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        for name, data in members.items():
            z.writestr(name, data)
    return out.getvalue()


def saved(value, root="archive", swapped=False):
    """What torch.save makes of a value."""
    p = Pickler(swapped).put(value)
    members = {root + "/data.pkl": bytes(p.out) + b".", root + "/version": "3\n", root + "/byteorder": "big" if swapped else "little"}
    members.update({"%s/data/%d" % (root, i): d for i, d in enumerate(p.data)})
    return archive(members)


def script(code, root_object, constants=(), root="net", swapped=False):
    """What torch.jit.save makes; code: text by module."""
    p, c = Pickler(swapped).put(root_object), Pickler(swapped).put(tuple(constants))
    members = {root + "/data.pkl": bytes(p.out) + b".", root + "/constants.pkl": bytes(c.out) + b".", root + "/version": "3\n",
               root + "/byteorder": "big" if swapped else "little"}
    members.update({"%s/code/%s.py" % (root, module.replace(".", "/")): text for module, text in code.items()})
    members.update({"%s/data/%d" % (root, i): d for i, d in enumerate(p.data)})
    members.update({"%s/constants/%d" % (root, i): d for i, d in enumerate(c.data)})
    return archive(members)


def forward(lines, results, parameters="x: Tensor", attributes=None):
    """The code and the root of a module whose forward has these lines and returns these names."""
    text = "class Net(Module):\n  __parameters__ = []\n  training : bool\n  def forward(self: __torch__.Net,\n    %s) -> Tensor:\n" % parameters
    text += "".join("    %s\n" % line for line in lines) + "    return %s\n" % (results if isinstance(results, str) else "(%s,)" % ", ".join(results))
    return {"__torch__": text}, Object("__torch__.Net", {"training": False, **(attributes or {})})


# ---- torch.export

def sizes(numbers):
    return [{"as_int": int(n)} for n in numbers]


def meta(array):
    return {"dtype": CODES[array.dtype.str[1:]], "sizes": sizes(array.shape), "strides": sizes(s // array.itemsize for s in array.strides),
            "requires_grad": False, "device": {"type": "cpu", "index": None}, "storage_offset": {"as_int": 0}, "layout": 7}


def argument(v):
    if v is None:
        return {"as_none": True}
    if isinstance(v, dict):
        return v
    if isinstance(v, str):
        return {"as_tensor": {"name": v}}
    for kind, word in ((bool, "bool"), (int, "int"), (float, "float")):
        if isinstance(v, kind):
            return {"as_" + word: v}
        if isinstance(v, list) and v and all(isinstance(i, kind) for i in v):
            return {"as_%ss" % word: v}
    return {"as_tensors": [{"name": i} for i in v]}


def node(target, outputs, **inputs):
    """Outputs: names; a list in the list is one result of several tensors."""
    outs = [{"as_tensors": [{"name": n} for n in o]} if isinstance(o, list) else {"as_tensor": {"name": o}} for o in outputs]
    named = [{"name": k.rstrip("_"), "arg": argument(v), "kind": 1} for k, v in inputs.items()]
    return {"target": target, "inputs": named, "outputs": outs, "metadata": {}}


def program(nodes, inputs, weights, outputs, open_sizes=None):
    """The JSON: inputs and weights are arrays by name, outputs names. A weight w.x is named p_w_x in the graph."""
    values = {name: meta(a) for name, a in inputs.items()}
    for (name, axis), symbol in (open_sizes or {}).items():
        hint = values[name]["sizes"][axis]["as_int"]
        values[name]["sizes"][axis] = {"as_expr": {"expr_str": symbol, "hint": {"as_int": hint}}}
    specs = [{"parameter": {"arg": {"name": "p_" + k.replace(".", "_")}, "parameter_name": k}} for k in weights]
    specs += [{"user_input": {"arg": {"as_tensor": {"name": k}}}} for k in inputs]
    graph = {"inputs": [], "outputs": [], "nodes": nodes, "tensor_values": values, "sym_int_values": {}, "sym_bool_values": {}}
    return json.dumps({"graph_module": {"graph": graph, "signature": {
        "input_specs": specs, "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": o}}}} for o in outputs]},
        "module_call_graph": []}, "opset_version": {"aten": 10}, "range_constraints": {}, "schema_version": {"major": 8, "minor": 2}})


def exported(text, weights, layout):
    """layout: "old" (2.6), "file" (one archive of weights in data/weights), "raw" (a member for each tensor)."""
    if layout == "old":
        return archive({"version": "8.2", "serialized_exported_program.json": text, "serialized_state_dict.pt": saved(weights),
                        "serialized_constants.pt": saved({})})
    members = {"net/archive_format": "pt2", "net/archive_version": "0", "net/byteorder": "little", "net/models/model.json": text}
    if layout == "file":
        members["net/data/weights/model.pt"] = saved(weights)
        return archive(members)
    config = {k: {"path_name": "weight_%d" % i, "is_param": True, "use_pickle": False, "tensor_meta": meta(a)} for i, (k, a) in enumerate(weights.items())}
    members["net/data/weights/model_weights_config.json"] = json.dumps({"config": config})
    members.update({"net/data/weights/weight_%d" % i: a.tobytes() for i, a in enumerate(weights.values())})
    members["net/data/constants/model_constants_config.json"] = json.dumps({"config": {}})
    return archive(members)
