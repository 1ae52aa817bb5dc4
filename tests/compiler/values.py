#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Values of constants that make a model wrong: scales that are 0, below 0, infinite or no number, indices out of range,
integers divided by 0. Each is refused by one line that names the node; the same model with a good value compiles. What is
known only as the model runs has the results that compiler/README.md states. A demand that is missing from a row of
ops.def, or from a function that infers types, makes the test fail.

usage: values.py VTAC   (exit status 77: no numpy or no onnx)
"""
import os
import subprocess
import sys
import tempfile

try:
    import numpy
    import onnx
    from onnx import helper, numpy_helper
except ImportError:
    sys.exit(77)

F, U8, I8, I32, I64 = (getattr(onnx.TensorProto, name) for name in ('FLOAT', 'UINT8', 'INT8', 'INT32', 'INT64'))
INF, NAN = float('inf'), float('nan')
BAD_SCALES = 0.0, -0.25, INF, -INF, NAN
BOTH = {'': 21, 'com.microsoft': 1}


def vtac(*words):
    return subprocess.run([sys.argv[1], *words], capture_output=True, text=True, check=False)


def compiled(op, inputs, constants, output, domain='', **attributes):
    """What compiling a model of one node says: its inputs are (name, type, shape), its constants arrays by name; "": it compiles."""
    order = sorted(set(inputs) | set(constants), key=lambda name: int(name[1:]))
    last = int(order[-1][1:]) + 1
    names = [f'i{k}' if f'i{k}' in order else '' for k in range(last)]
    node = helper.make_node(op, names, ['y'], name='the node', domain=domain, **attributes)
    values = [helper.make_tensor_value_info(name, *what) for name, what in inputs.items()]
    stored = [numpy_helper.from_array(numpy.asarray(array), name) for name, array in constants.items()]
    graph = helper.make_graph([node], 'g', values, [helper.make_tensor_value_info('y', *output)], stored)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid(*d) for d in BOTH.items()], ir_version=10), 'm.onnx')
    done = vtac('compile', 'm.onnx', '-o', 'm.so')
    assert (done.returncode == 0) == (done.stderr == ''), (done.returncode, done.stderr)
    assert done.returncode == 0 or not os.path.exists('m.so'), 'a refused model leaves a file'
    if done.returncode == 0:
        os.remove('m.so')
    return done.stderr


def refused(said, why, *what):
    assert said.count('\n') == 1 and "'the node'" in said and why in said, (said, why, *what)


def f32(value):
    return numpy.float32(value)


def scales():
    """Each scale of each operator in turn is bad, while the others are good."""
    u8, image, weights = numpy.uint8(3), (1, 2, 4, 4), numpy.ones((3, 2, 1, 1), numpy.uint8)
    square = numpy.ones((4, 4), numpy.uint8)
    rows = [
        ('QuantizeLinear', {'i0': (F, [6])}, {'i1': f32(.5), 'i2': u8}, (U8, [6]), '', ('i1',)),
        ('QuantizeLinear', {'i0': (F, [6])}, {'i1': numpy.full(6, .5, numpy.float32)}, (U8, [6]), '', ('i1',)),
        ('DequantizeLinear', {'i0': (U8, [6])}, {'i1': f32(.5), 'i2': u8}, (F, [6]), '', ('i1',)),
        ('DequantizeLinear', {'i0': (U8, [6])}, {'i1': numpy.full(6, .5, numpy.float32)}, (F, [6]), '', ('i1',)),
        ('QLinearConv', {'i0': (U8, image)}, {'i1': f32(.5), 'i2': u8, 'i3': weights, 'i4': f32(.5), 'i5': u8, 'i6': f32(.5), 'i7': u8},
         (U8, [1, 3, 4, 4]), '', ('i1', 'i4', 'i6')),
        ('QLinearMatMul', {'i0': (U8, [4, 4])}, {'i1': f32(.5), 'i2': u8, 'i3': square, 'i4': f32(.5), 'i5': u8, 'i6': f32(.5), 'i7': u8},
         (U8, [4, 4]), '', ('i1', 'i4', 'i6')),
    ]
    for op in 'QLinearAdd', 'QLinearMul':
        rows.append((op, {'i0': (U8, [4, 4])}, {'i1': f32(.5), 'i2': u8, 'i3': square, 'i4': f32(.5), 'i5': u8, 'i6': f32(.5), 'i7': u8},
                     (U8, [4, 4]), 'com.microsoft', ('i1', 'i4', 'i6')))
    rows.append(('QLinearSigmoid', {'i0': (U8, [4])}, {'i1': f32(.5), 'i2': u8, 'i3': f32(.5), 'i4': u8}, (U8, [4]), 'com.microsoft',
                 ('i1', 'i3')))
    rows.append(('QLinearLeakyRelu', {'i0': (U8, [4])}, {'i1': f32(.5), 'i2': u8, 'i3': f32(.5), 'i4': u8}, (U8, [4]), 'com.microsoft',
                 ('i1', 'i3')))
    rows.append(('QLinearConcat', {'i2': (U8, [1, 4])},
                 {'i0': f32(.5), 'i1': u8, 'i3': f32(.5), 'i4': u8, 'i5': numpy.ones((1, 4), numpy.uint8), 'i6': f32(.5), 'i7': u8},
                 (U8, [2, 4]), 'com.microsoft', ('i0', 'i3', 'i6')))
    count = 0
    for op, inputs, constants, output, domain, names in rows:
        attributes = {'axis': 0} if op in ('QLinearConcat',) or constants.get('i1', f32(1)).shape else {}
        attributes = attributes if op in ('QuantizeLinear', 'DequantizeLinear', 'QLinearConcat') else {}
        assert compiled(op, inputs, constants, output, domain, **attributes) == '', op
        for name in names:
            for bad in BAD_SCALES:
                spoiled = dict(constants)
                spoiled[name] = numpy.array(constants[name], copy=True)
                spoiled[name].reshape(-1)[-1] = bad
                refused(compiled(op, inputs, spoiled, output, domain, **attributes), 'a scale must be finite and above 0', op, name, bad)
                count += 1
    return count


def indices():
    """The first and the last place are taken, those beside them are not."""
    data = {'i0': (F, [3, 5])}
    rows = [
        ('Gather', lambda k: {'i1': numpy.array([0, k])}, (F, [2, 5]), 3, {'axis': 0}),
        ('Gather', lambda k: {'i1': numpy.array([[k]])}, (F, [3, 1, 1]), 5, {'axis': 1}),
        ('GatherElements', lambda k: {'i1': numpy.array([[0, k]])}, (F, [1, 2]), 5, {'axis': 1}),
        ('GatherND', lambda k: {'i1': numpy.array([[1, k]])}, (F, [1]), 5, {}),
        ('GatherND', lambda k: {'i1': numpy.array([[k]])}, (F, [1, 5]), 3, {}),
        ('ScatterElements', lambda k: {'i1': numpy.array([[k]]), 'i2': numpy.ones((1, 1), numpy.float32)}, (F, [3, 5]), 5, {'axis': 1}),
        ('ScatterND', lambda k: {'i1': numpy.array([[2, k]]), 'i2': numpy.ones(1, numpy.float32)}, (F, [3, 5]), 5, {}),
    ]
    count = 0
    for op, constants, output, places, attributes in rows:
        for index in (0, places - 1, -1, -places):
            said = compiled(op, data, constants(index), output, **attributes)
            assert said == '', (op, index, said)
        for index in (places, -places - 1, 1 << 40, -1 << 62):
            refused(compiled(op, data, constants(index), output, **attributes), f'index {index} ', op, index)
            count += 1
    return count


def divisions():
    count = 0
    for op in 'Div', 'Mod':
        for kind, dtype in (I32, numpy.int32), (I64, numpy.int64), (U8, numpy.uint8):
            for good, bad in (numpy.array(3, dtype), numpy.array(0, dtype)), (numpy.array([1, 2, 3], dtype), numpy.array([1, 0, 3], dtype)):
                assert compiled(op, {'i0': (kind, [3])}, {'i1': good}, (kind, [3])) == '', op
                refused(compiled(op, {'i0': (kind, [3])}, {'i1': bad}, (kind, [3])), 'it divides integers by 0', op, bad)
                count += 1
    assert compiled('Div', {'i0': (F, [3])}, {'i1': numpy.zeros(3, numpy.float32)}, (F, [3])) == ''  # IEEE 754 says what comes
    return count


def words():
    """A limit that is broken is in the sentence."""
    weights = numpy.ones((1, 1, 1, 1), numpy.float32)
    for pads, kernel in ([0, 1 << 62, 0, 0], 1), ([0, 0, -1, 0], 1):
        said = compiled('Conv', {'i0': (F, [1, 1, 4, 4])}, {'i1': weights}, (F, [1, 1, 4, 4]), pads=pads)
        refused(said, 'each must be 0 to 2147483647', pads, kernel)
    said = compiled('MaxPool', {'i0': (F, [1, 1, 4, 4])}, {}, (F, [1, 1, 4, 4]), kernel_shape=[1, 1 << 40])
    refused(said, 'each must be 1 to 2147483647')


def results_at_run_time():
    """x / 0 is x and x mod 0 is 0 for integers; an index that is out of range is that of the nearest place."""
    for op, kind, dtype in [(op, *t) for op in ('Div', 'Mod') for t in ((I32, numpy.int32), (I64, numpy.int64), (U8, numpy.uint8), (I8, numpy.int8))]:
        values = [helper.make_tensor_value_info(name, kind, [40]) for name in 'xyz']
        graph = helper.make_graph([helper.make_node(op, ['x', 'y'], ['z'])], 'g', values[:2], values[2:])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)], ir_version=8), 'd.onnx')
        assert vtac('compile', 'd.onnx', '-o', 'd.so').returncode == 0
        for seed in 1, 2:
            rng = numpy.random.default_rng(seed)
            info = numpy.iinfo(dtype)
            x, y = (rng.integers(info.min, info.max, 40, dtype, endpoint=True) for _ in range(2))
            y[::3] = 0
            x[:2] = info.min, info.max
            numpy.save('x.npy', x)
            numpy.save('y.npy', y)
            assert vtac('run', 'd.so', '--input', 'x.npy', '--input', 'y.npy', '--output-dir', 'out').returncode == 0
            z = numpy.load('out/z.npy')
            assert (z[::3] == (x[::3] if op == 'Div' else 0)).all(), (op, dtype, x[::3], z[::3])
    values = [helper.make_tensor_value_info('x', F, [4]), helper.make_tensor_value_info('i', I64, [6]), helper.make_tensor_value_info('z', F, [6])]
    graph = helper.make_graph([helper.make_node('Gather', ['x', 'i'], ['z'])], 'g', values[:2], values[2:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)], ir_version=8), 'g.onnx')
    assert vtac('compile', 'g.onnx', '-o', 'g.so').returncode == 0
    numpy.save('x.npy', numpy.array([10, 11, 12, 13], numpy.float32))
    numpy.save('i.npy', numpy.array([0, 3, -1, 4, 1 << 60, -(1 << 60)]))
    assert vtac('run', 'g.so', '--input', 'x.npy', '--input', 'i.npy', '--output-dir', 'out').returncode == 0
    found = numpy.load('out/z.npy').tolist()
    assert found == [10, 13, 13, 13, 13, 10], found


if __name__ == '__main__':
    sys.argv[1] = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        print(f'{scales()} scales, {indices()} indices and {divisions()} divisors are refused')
        words()
        results_at_run_time()
