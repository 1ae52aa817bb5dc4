#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""export.py VTAC: what `vtac explore --export` writes for SCALE-Sim, Timeloop and ZigZag describes the convolutions of the models,
worked out here from the ONNX files, and the configuration that it names."""
import configparser
import csv
import glob
import json
import os
import subprocess
import sys
import tempfile

import onnx
import yaml

MODELS = (('tiny_kws', 'tiny_ad'), ('tiny_ic',))


def run(*words, status=0):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == status, (words, done.returncode, done.stderr)
    return done.stderr


def layers_of(path):
    """(groups, terms a group, outputs a group, kernel, stride, output size) of each convolution and dense layer."""
    model = onnx.shape_inference.infer_shapes(onnx.load(path))
    weights = {tensor.name: list(tensor.dims) for tensor in model.graph.initializer}
    shapes = {value.name: [axis.dim_value for axis in value.type.tensor_type.shape.dim]
              for value in list(model.graph.value_info) + list(model.graph.output)}
    found = []
    for node in model.graph.node:
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        if node.op_type == 'Conv':
            out, weight = shapes[node.output[0]], weights[node.input[1]]
            groups = attributes.get('group', 1)
            found.append((groups, weight[1], weight[0] // groups, tuple(weight[2:]), tuple(attributes.get('strides', (1, 1))), tuple(out[2:])))
        elif node.op_type in ('Gemm', 'MatMul'):
            sides = weights[node.input[1]]
            terms, outputs = sides if not attributes.get('transB', 0) else sides[::-1]
            found.append((1, terms, outputs, (1, 1), (1, 1), (1, 1)))
    return sorted(found)


def flat(layer):
    """A layer as products of matrices see it: a dense layer may be a window as large as its input."""
    groups, terms, outputs, kernel, stride, size = layer
    return (groups, terms * kernel[0] * kernel[1], outputs, size[0] * size[1])


def of_scalesim(folder, name):
    rows = list(csv.reader(open(f'{folder}/scalesim/{name}.csv', encoding='utf-8'), skipinitialspace=True))[1:]
    layers = {}
    for row in rows:
        height, width, k0, k1, channels, filters, stride = map(int, row[1:8])
        size = ((height - k0) // stride + 1) * ((width - k1) // stride + 1)
        layers.setdefault(row[0].rsplit('_', 1)[0], []).append((channels * k0 * k1, filters, size))
    assert all(len(set(copies)) == 1 for copies in layers.values())
    return sorted((len(copies), *copies[0]) for copies in layers.values())


def of_timeloop(folder, name):
    found = []
    for path in glob.glob(f'{folder}/timeloop/{name}_L*.yaml'):
        text = open(path, encoding='utf-8').read()
        size = yaml.safe_load(text)['problem']['instance']
        groups = int(text.split()[3])
        found.append((groups, size['C'] * size['R'] * size['S'], size['M'], size['P'] * size['Q']))
    return sorted(found)


def of_zigzag(folder, name):
    found = []
    for layer in yaml.safe_load(open(f'{folder}/zigzag/{name}.yaml', encoding='utf-8')):
        size = dict(zip(layer['loop_dims'], layer['loop_sizes']))
        assert len(layer['loop_dims']) == len(layer['loop_sizes'])
        found.append((size.get('G', 1), size['C'] * size['FY'] * size['FX'], size['K'], size['OY'] * size['OX']))
    return sorted(found)


def check_machine(folder):
    config = json.load(open(f'{folder}/best1.json', encoding='utf-8'))
    side_in, side_out = 1 << config['LOG_BLOCK_IN'], 1 << config['LOG_BLOCK_OUT']
    presets = configparser.ConfigParser()
    presets.read(f'{folder}/scalesim/vta.cfg')
    preset = presets['architecture_presets']
    assert (int(preset['ArrayHeight']), int(preset['ArrayWidth'])) == (side_in, side_out)
    assert int(preset['FilterSramSzkB']) * 1024 == 1 << config['LOG_WGT_BUFF_SIZE']
    system = yaml.safe_load(open(f'{folder}/timeloop/arch.yaml', encoding='utf-8'))['architecture']['subtree'][0]
    parts = {part['name']: part['attributes'] for part in system['subtree'][0]['local']}
    assert f'MAC[0..{side_in * side_out - 1}]' in parts
    assert parts['INP']['memory_depth'] * parts['INP']['memory_width'] == 8 << config['LOG_INP_BUFF_SIZE']
    hardware = yaml.safe_load(open(f'{folder}/zigzag/hardware.yaml', encoding='utf-8'))
    assert hardware['operational_array']['sizes'] == [side_out, side_in]
    assert hardware['memories']['acc']['size'] == 8 << config['LOG_ACC_BUFF_SIZE']
    return side_in, side_out


def check_cycles(folder, names, wanted, sides):
    rows = list(csv.DictReader(open(f'{folder}/zigzag/cycles.csv', encoding='utf-8')))
    assert rows == list(csv.DictReader(open(f'{folder}/scalesim/cycles.csv', encoding='utf-8')))
    for name in names:
        macs = sorted(int(row['MACs']) for row in rows if row['network'] == name)
        assert macs == sorted(g * t * o * s for g, t, o, s in wanted[name]), name
    formula = sorted(int(row["cycles by SCALE-Sim's formula"]) for row in rows)
    up = lambda a, b: -(-a // b)
    assert formula == sorted(g * up(t, sides[0]) * up(o, sides[1]) * (2 * sides[0] + sides[1] + s - 2)
                             for name in names for g, t, o, s in wanted[name])


def main(vtac):
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for names in MODELS:
            out = 'out_' + names[0]
            tools = [word for tool in ('scalesim', 'timeloop', 'zigzag') for word in ('--export', tool)]
            run(vtac, 'explore', '--models', ','.join(names), '--limit', '6', '--jobs', '1', '-o', out, *tools)
            sides = check_machine(out)
            wanted = {}
            for name in names:
                run(vtac, 'zoo', name, '-o', f'{name}.onnx')
                wanted[name] = sorted(map(flat, layers_of(f'{name}.onnx')))
                for read in (of_scalesim, of_timeloop, of_zigzag):
                    assert read(out, name) == wanted[name], (read.__name__, name, read(out, name), wanted[name])
            check_cycles(out, names, wanted, sides)
            print(names, sum(map(len, wanted.values())), 'layers')
        said = run(vtac, 'explore', '--models', 'tiny_ad', '-o', 'never', '--export', 'gem5', status=2)
        assert "'--export gem5': expected scalesim, timeloop or zigzag" in said and not os.path.exists('never'), said
        said = run(vtac, 'explore', '--models', 'tiny_ad', '--export', 'zigzag', status=2)
        assert "'--export' writes into the folder that '-o DIR' names" in said, said


if __name__ == '__main__':
    main(os.path.abspath(sys.argv[1]))
