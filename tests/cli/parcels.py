#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""vtac run on models whose outputs are texts, and sequences of tensors and of texts: what is printed, as JSON, too, and the files of
--output-dir, which onnx reads back, and which the next model is given.

usage: parcels.py VTAC   (exit status 77: no numpy or no onnx)
"""
import json
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

F = onnx.TensorProto.FLOAT
PARTS = [numpy.arange(6, dtype=numpy.float32).reshape(2, 3), -numpy.ones((1, 3), numpy.float32), numpy.zeros((0, 3), numpy.float32)]
WORDS = ['eins', '', 'drei "Wörter" hier', 'vier', 'fünf']


def save(path, nodes, outputs, inputs=()):
    model = helper.make_model(helper.make_graph(nodes, 'g', list(inputs), outputs), opset_imports=[helper.make_opsetid('', 15)])
    onnx.save(model, path)


def constant(array, name):
    if array.dtype == object:
        tensor = helper.make_tensor(name, onnx.TensorProto.STRING, array.shape, [str(word).encode() for word in array.ravel()])
    else:
        tensor = numpy_helper.from_array(array, name)
    return helper.make_node('Constant', [], [name], value=tensor)


def run(vtac, *words):
    return subprocess.run([vtac, *words], capture_output=True, text=True, check=False)


def need(what, is_so, *shown):
    if not is_so:
        sys.exit(f'does not hold: {what}\n' + '\n'.join(str(word) for word in shown))


def good(vtac, *words):
    done = run(vtac, *words)
    need('it runs: ' + ' '.join(words), done.returncode == 0, done.stdout, done.stderr)
    return done.stdout


def read(kind, path):
    proto = kind()
    with open(path, 'rb') as file:
        proto.ParseFromString(file.read())
    return proto


def told(words):
    return f'text[{len(words)}] ' + ' '.join(f"'{word}'" for word in words)


def texts_and_sequences(vtac):
    words = numpy.array(WORDS, dtype=object)
    sequence = helper.make_tensor_sequence_value_info
    nodes = [constant(part, f'p{i}') for i, part in enumerate(PARTS)] + [constant(words, 'w'), constant(words[:2], 'v')]
    nodes += [helper.make_node('SequenceConstruct', ['p0', 'p1', 'p2'], ['numbers']),
              helper.make_node('SequenceConstruct', ['w', 'v'], ['texts']), helper.make_node('Identity', ['w'], ['words'])]
    save('m.onnx', nodes, [sequence('numbers', F, None), sequence('texts', onnx.TensorProto.STRING, None),
                           helper.make_tensor_value_info('words', onnx.TensorProto.STRING, [len(WORDS)])])
    good(vtac, 'compile', 'm.onnx', '-o', 'm.so')
    said = good(vtac, 'run', 'm.so', '--output-dir', 'out')
    shown = {name: next((line for line in said.splitlines() if line.startswith(f"output '{name}':")), '') for name in
             ('numbers', 'texts', 'words')}
    for name, line in (('numbers', 'sequence of 3: f32[2,3], f32[1,3], f32[0,3]'),
                       ('texts', f'sequence of 2: {told(WORDS)}, {told(WORDS[:2])}'), ('words', told(WORDS))):
        need(f"the line of '{name}'", shown[name] == f"output '{name}': {line}", said)
    found = {row['name']: row for row in json.loads(good(vtac, 'run', 'm.so', '--json'))['outputs']}
    for name, line in shown.items():
        need(f"JSON says of '{name}' what the line says", line == f"output '{name}': {found[name]['type']}", line, found)
    numbers = read(onnx.SequenceProto, 'out/numbers.pb')
    need('a sequence of tensors', numbers.elem_type == onnx.SequenceProto.TENSOR, numbers)
    arrays = [numpy_helper.to_array(tensor) for tensor in numbers.tensor_values]
    need('its tensors', len(arrays) == 3 and all(a.dtype == b.dtype and a.shape == b.shape and (a == b).all()
                                                 for a, b in zip(arrays, PARTS)), numbers)
    texts = read(onnx.SequenceProto, 'out/texts.pb')
    need('its texts', [[word.decode() for word in tensor.string_data] for tensor in texts.tensor_values] == [WORDS, WORDS[:2]], texts)
    alone = read(onnx.TensorProto, 'out/words.pb')
    need('texts alone', list(alone.dims) == [len(WORDS)] and [word.decode() for word in alone.string_data] == WORDS, alone)


def the_other_way(vtac):
    """What was written is given to the next model, which takes a part of it."""
    save('next.onnx', [helper.make_node('SequenceAt', ['s', 'at'], ['y'])], [helper.make_tensor_value_info('y', F, [None, None])],
         [helper.make_tensor_sequence_value_info('s', F, None), helper.make_tensor_value_info('at', onnx.TensorProto.INT64, [])])
    good(vtac, 'compile', 'next.onnx', '-o', 'next.so')
    for i, part in enumerate(PARTS):
        numpy.save('at.npy', numpy.array(i, numpy.int64))
        good(vtac, 'run', 'next.so', '--input', 's=out/numbers.pb', '--input', 'at=at.npy', '--output-dir', 'part')
        found = numpy.load('part/y.npy')
        need(f'part {i}', found.shape == part.shape and (found == part).all(), found)


def main(vtac):
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        texts_and_sequences(vtac)
        the_other_way(vtac)
        os.chdir('/')


if __name__ == '__main__':
    main(os.path.realpath(sys.argv[1]))
