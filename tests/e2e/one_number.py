#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""one_number.py VTAC NAME:CONFIG...: networks of the zoo in int8; explain, the page of `inspect --html` and `compile --report` say the
same cycles, of the whole and of each layer; `run` on fsim carries them. Prints them beside each other."""
import json
import os
import re
import subprocess
import sys
import tempfile

VTAC = os.path.abspath(sys.argv[1])


def vtac(*words):
    return subprocess.run([VTAC, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True).stdout


def page_of(config):
    """The cycles of the nodes that the page says run on the accelerator."""
    vtac('inspect', 'net.onnx', '--html', 'page.html', '--config', config)
    with open('page.html', encoding='utf-8') as file:
        nodes = json.loads(re.search(r'id="data">(.*?)</script>', file.read(), re.S)[1])
    nodes = nodes['nodes'] if isinstance(nodes, dict) else nodes
    return {n['name']: n['there'] for n in nodes if n.get('runs', '').startswith('accelerator')}


def numbers(config):
    explained = json.loads(vtac('explain', 'net.onnx', '--config', config, '--json'))
    compiled = json.loads(vtac('compile', 'net.onnx', '--target', 'vta', '--config', config, '--report', '--json', '-o', 'net.so'))
    nodes = {n['name']: n['cycles'] for n in explained['nodes'] if n['where'].startswith('region')}
    layers = {n['name']: n['cycles'] for n in compiled['layers']}
    page = page_of(config)
    run = json.loads(vtac('run', 'net.so', '--device', f'fsim:{config}', '--layers', '--json'))
    ran = {n['name']: n['predicted'] for n in run['layers'] if n['op']}
    told = explained['cycles'], sum(page.values()), compiled['cycles'], sum(ran.values())
    assert len(set(told)) == 1 and told[0] > 0, told
    for name, cycles in layers.items():
        assert nodes[name] == page[name] == cycles == ran[name], (name, nodes[name], page[name], cycles, ran[name])
    assert sum(nodes.values()) == sum(layers.values()) == told[0], told
    return told, len(layers)


print(f"{'network':16} {'config':7} {'explain':>10} {'page':>10} {'report':>10} {'run':>10}")
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for word in sys.argv[2:]:
        network, _, hardware = word.partition(':')
        vtac('zoo', network, '--int8', '-o', 'net.onnx')
        cycles_told, count = numbers(hardware)
        print(f'{network:16} {hardware:7}' + ''.join(f' {c:10}' for c in cycles_told) + f'  {count} layers', flush=True)
