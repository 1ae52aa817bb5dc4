#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Names of a model that would move the cursor, hide text, turn its direction or forge a line, in every verb that prints
names: nothing of that reaches standard output or standard error, as text or as JSON. A name that a verb prints by itself,
beside cli_print and cli_say, makes the test fail.

usage: names.py VTAC VTA_RUN   (exit status 77: no onnx)
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

HOSTILE = '\x1b]0;t\x07\x1b[31m', '\u009b2J\u0085', '\u202egpj\u2066\u200f', '\nvtac: forged\r', '\x7f\x08\t\ufeff'
DIRECTION = {0x61c, 0x200e, 0x200f, 0xfeff} | set(range(0x2028, 0x202f)) | set(range(0x2066, 0x206a))


def bad(text):
    return [hex(ord(c)) for c in text if c not in '\n\t' and (ord(c) < 32 or 0x7f <= ord(c) < 0xa0 or ord(c) in DIRECTION)]


def run(vtac, *words):
    done = subprocess.run([vtac, *words], capture_output=True, check=False)
    for stream in done.stdout, done.stderr:
        text = stream.decode()  # UTF-8 throughout
        assert not bad(text), (words, bad(text), text)
        assert 'forged' not in text or not any(line.startswith('vtac: forged') for line in text.splitlines()), (words, text)
    if '--json' in words and done.returncode == 0:
        json.loads(done.stdout)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def model(path, quantized):
    """Names of nodes, inputs, outputs, weights and of the graph are all hostile."""
    rng = numpy.random.default_rng(7)
    x, y = 'x' + HOSTILE[0], 'y' + HOSTILE[1]
    shape = [1, 16, 8, 8]
    weights = rng.normal(size=(16, 16, 3, 3)).astype(numpy.float32)
    if quantized:
        values = {'s': numpy.float32(0.05), 'z': numpy.int8(0), 'w': (weights * 40).clip(-127, 127).astype(numpy.int8)}
        stored = [numpy_helper.from_array(numpy.asarray(v), k + HOSTILE[2]) for k, v in values.items()]
        s, z, w = (k + HOSTILE[2] for k in 'szw')
        nodes = [helper.make_node('QLinearConv', [x, s, z, w, s, z, s, z], ['m' + HOSTILE[3]], name='conv' + HOSTILE[3], pads=[1] * 4),
                 helper.make_node('QLinearConv', ['m' + HOSTILE[3], s, z, w, s, z, s, z], [y], name='last' + HOSTILE[4], pads=[1] * 4)]
        kind = onnx.TensorProto.INT8
    else:
        stored = [numpy_helper.from_array(weights, 'w' + HOSTILE[2])]
        nodes = [helper.make_node('Conv', [x, 'w' + HOSTILE[2]], ['m' + HOSTILE[3]], name='conv' + HOSTILE[3], pads=[1] * 4),
                 helper.make_node('Relu', ['m' + HOSTILE[3]], [y], name='relu' + HOSTILE[4])]
        kind = onnx.TensorProto.FLOAT
    graph = helper.make_graph(nodes, 'g' + HOSTILE[0], [helper.make_tensor_value_info(x, kind, shape)],
                              [helper.make_tensor_value_info(y, kind, shape)], stored)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)], ir_version=8), path)


def files_of_outputs(vtac, vta_run):
    """Four outputs whose names are alike as names of files: each has a file with its own numbers."""
    names = 'a/b', 'a_b', 'a:b', 'long' * 60 + '0', 'long' * 60 + '1'
    nodes = [helper.make_node('Mul', ['x', f'c{i}'], [name]) for i, name in enumerate(names)]
    stored = [numpy_helper.from_array(numpy.float32(10 + i), f'c{i}') for i in range(len(names))]
    value = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [3]) for name in ('x', *names)]
    graph = helper.make_graph(nodes, 'g', value[:1], value[1:], stored)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)], ir_version=8), 'alike.onnx')
    assert run(vtac, 'compile', 'alike.onnx', '-o', 'alike.so')[0] == 0
    numpy.save('x.npy', numpy.arange(3, dtype=numpy.float32))
    for folder, words in ('a', [vtac, 'run', 'alike.so', '--input', 'x.npy', '--output-dir', 'a']), \
                         ('b', [vta_run, 'alike.so', '--input', 'x.npy', '--output-dir', 'b']):
        assert run(*words)[0] == 0, words
        files = sorted(os.listdir(folder))
        assert len(files) == len(names), files
        assert {int(numpy.load(f'{folder}/{file}')[1]) for file in files} == {10, 11, 12, 13, 14}, files
        assert numpy.load(f'{folder}/a_b.npy')[1] == 11, files  # the output of that very name


def main(vtac, vta_run):
    files_of_outputs(vtac, vta_run)
    model('q.onnx', True)
    model('f.onnx', False)
    assert run(vtac, 'compile', 'q.onnx', '--target', 'vta', '--config', 'tiny', '--offload', 'all', '-o', 'q.so')[0] == 0
    assert run(vtac, 'compile', 'f.onnx', '-o', 'f.so')[0] == 0
    with open('labels', 'wb') as file:
        file.write(b''.join(name.replace('\n', '').replace('\r', '').encode() + b'\n' for name in HOSTILE) + b'\x9b31m\xff\n' * 2000)
    must = [['run', so, *more, *how] for so in ('q.so', 'f.so') for how in ([], ['--json'])
            for more in ([], ['--steps', '--top', '3'], ['--layers'], ['--top', '5', '--labels', 'labels'])]
    must += [['explain', 'q.onnx', '--config', 'tiny', *how] for how in ([], ['--json'])]
    must += [['inspect', name] for name in ('q.onnx', 'f.onnx')]
    must += [['inspect', 'q.so'], ['quantize', 'f.onnx', '-o', 'made.onnx', '--report'], ['quantize', 'f.onnx', '-o', 'made.onnx', '--json']]
    must += [['bench', 'model', 'f.so'], ['diff', 'q.onnx', '--config', 'tiny', '--a', 'fsim', '--b', 'llvm']]
    statuses = {' '.join(words): run(vtac, *words)[0] for words in must}
    good = sum(status == 0 for status in statuses.values())
    assert good >= len(must) - 3, statuses  # most do print
    for so in 'q.so', 'f.so':
        done = run(vta_run, so, '--device', 'fsim:tiny', '--profile')
        assert done[0] == 0 and 'ms' in done[1], done
    out = run(vtac, 'run', 'f.so')[1]
    assert "output 'y?2J?'" in out, out
    named = json.loads(run(vtac, 'run', 'f.so', '--json')[1])
    assert named['outputs'][0]['name'] == 'y' + HOSTILE[1], named  # JSON loses nothing
    for words in (['run', 'f.so', '--input', 'no such' + HOSTILE[0]], ['compile', 'none' + HOSTILE[1]], ['HOSTILE' + HOSTILE[0]]):
        assert run(vtac, *words)[0] != 0
    print(f'{good} of {len(must)} verbs print names')


if __name__ == '__main__':
    here = [os.path.abspath(path) for path in sys.argv[1:3]]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        main(*here)
