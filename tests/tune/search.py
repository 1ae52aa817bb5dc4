#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""search.py VTAC SOURCE [TEST...]: the search by halves finds the front of the whole space at a tenth of its cost, the same whoever does the work and however
often it is begun anew; goals keep their limits and name the column of what they do not understand."""
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

VTAC, SOURCE = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
# Two spaces with different networks: one of a small part, one of wide arrays.
SPACES = {
    'small': ['--models', 'tiny_kws', '--part', 'ecp5-85'],
    'wide': ['--models', 'tiny_ad,tiny_kws', '--fix', 'LOG_BLOCK_IN=3,4,5', '--fix', 'LOG_BLOCK_OUT=3,4', '--fix', 'DEPTHWISE_TAPS=0,9',
             '--fix', 'LOG_INP_BUFF_SIZE=13,14,15', '--fix', 'TABLE=1'],
}
SHARE, LEAST = 10, 0.99


def vtac(*words, status=0, env=None, before=()):
    done = subprocess.run([*before, VTAC, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, env=env)
    assert done.returncode == status, (words, done.returncode, done.stderr[-600:])
    return done


def explore(space, folder, *words, **how):
    vtac('explore', *SPACES[space], '-o', folder, *words, **how)
    with open(f'{folder}/front.json', encoding='utf-8') as file:
        return json.load(file)


def figures(front):
    return [(p['fps'], p['share'], p['energy']) for p in front['points'] if p['runs']]


def volume(points, top):
    """What the points are ahead of in speed, share and energy, of a box from nothing to `top`: slices of equal speed."""
    fastest, share_most, energy_most = top
    points = sorted(points, key=lambda p: -p[0])
    total = 0.0
    for i, point in enumerate(points):
        depth = point[0] - (points[i + 1][0] if i + 1 < len(points) else 0)
        area, least = 0.0, energy_most
        for _, share, energy in sorted(points[:i + 1], key=lambda p: (p[1], p[2])):
            if energy < least:
                area, least = area + (share_most - share) * (least - energy), energy
        total += depth * area
    return total / (fastest * share_most * energy_most)


class Front(unittest.TestCase):
    def at_a_tenth(self, space):
        whole, searched = explore(space, f'{space}-whole'), explore(space, f'{space}-searched', '--search', str(SHARE))
        self.assertEqual(whole['timed'], whole['distinct'])
        self.assertGreater(whole['distinct'], 100)
        self.assertLessEqual(searched['timed'], -(-whole['distinct'] * SHARE // 100))
        self.assertEqual(searched['candidates'] + searched['left'], whole['candidates'])
        all_figures = figures(whole)
        top = [max(p[k] for p in all_figures) for k in range(3)]
        reached = volume(figures(searched), top) / volume(all_figures, top)
        print(f"{space}: {searched['timed']} of {whole['distinct']} timed reach {100 * reached:.2f} % of the volume behind the front")
        self.assertGreaterEqual(reached, LEAST)
        self.assertGreaterEqual(max(p['fps'] for p in searched['points']), 0.995 * whole['points'][0]['fps'])
        best = [p for p in searched['points'] if 'compiled' in p['networks'][0]]
        self.assertTrue(len(best) >= 3 and best == searched['points'][:len(best)])
        compiled = [sum(math.log(n['compiled'] / p['config']['clock_mhz']) for n in p['networks']) for p in best]
        self.assertEqual(compiled, sorted(compiled))
        self.assertTrue(all(n['compiled'] <= 1.01 * n['cycles'] for p in best for n in p['networks']))
        known = {json.dumps(p['config'], sort_keys=True): p['networks'] for p in whole['points']}
        for point in searched['points']:  # what was timed has the same figures
            for network in point['networks']:
                network.pop('compiled', None)
            if json.dumps(point['config'], sort_keys=True) in known:
                self.assertEqual(point['networks'], known[json.dumps(point['config'], sort_keys=True)])

    def test_small(self):
        self.at_a_tenth('small')

    def test_wide(self):
        self.at_a_tenth('wide')


class Search(unittest.TestCase):
    def test_same_bytes(self):
        explore('small', 'one', '--search', '10', '--jobs', '1')
        explore('small', 'kept', '--search', '10', '--jobs', '3', '--resume', 'journal.txt')
        with open('journal.txt', encoding='utf-8') as file:
            text = file.read()
        with open('journal.txt', 'w', encoding='utf-8') as file:  # as an interruption leaves it
            file.write(text[:len(text) * 2 // 3])
        explore('small', 'resumed', '--search', '10', '--resume', 'journal.txt')
        with open('journal.txt', encoding='utf-8') as file:
            self.assertEqual(sorted(file.read().split('\n.\n')), sorted(text.split('\n.\n')))
        folders = ['kept', 'resumed']
        if shutil.which('mpirun') and os.path.exists(os.path.join(os.path.dirname(VTAC), '../lib/libvtac_mpi.so')):
            environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1', ASAN_OPTIONS='detect_leaks=0')
            explore('small', 'ranks', '--search', '10', env=environment, before=('mpirun', '-n', '8', '--oversubscribe'))
            folders.append('ranks')
        for folder in folders:
            for name in ('front.json', 'front.html', 'best1.json'):
                with open(f'one/{name}', 'rb') as a, open(f'{folder}/{name}', 'rb') as b:
                    self.assertEqual(a.read(), b.read(), (folder, name))
        self.assertIn('holds the results of other work', vtac('explore', *SPACES['wide'], '--resume', 'journal.txt', status=1).stderr)

    def test_keys(self):
        """Around the best configuration: each key with each other value, as an exploration of all of them finds it."""
        axes = ['LOG_BLOCK_IN=3,4', 'LOG_INP_BUFF_SIZE=13,14', 'LOG_WGT_BUFF_SIZE=15,16', 'LOG_ACC_BUFF_SIZE=14,15', 'DEPTHWISE_TAPS=0,9', 'DRAM=hyperram-400,lpddr4-1066']
        words = [w for a in axes + ['LOG_BLOCK_OUT=3', 'TABLE=1', 'LOOP_BACK=1', 'ARRAY_PUMP=1'] for w in ('--fix', a)]
        vtac('explore', '--models', 'tiny_kws', *words, '-o', 'keys')
        with open('keys/front.json', encoding='utf-8') as file:
            front = json.load(file)
        configs = {p['name']: json.loads(p['json']) for p in front['points'] if p['json']}
        best = front['points'][0]
        self.assertEqual(sorted(row['key'] for row in front['keys']), sorted(a.split('=')[0] for a in axes))
        found = 0
        for row in front['keys']:
            wanted = {**configs[best['name']], row['key']: row['value'] if row['key'] == 'DRAM' else int(row['value'])}
            same = lambda c: {k: v for k, v in c.items() if k not in ('NAME', 'CLOCK_FROM')} == {k: v for k, v in wanted.items() if k not in ('NAME', 'CLOCK_FROM')}
            points = [p for p in front['points'] if p['name'] in configs and same(configs[p['name']])]
            for point in points:
                found += 1
                self.assertAlmostEqual(row['fps'], point['fps'] / best['fps'], 4, row)
                self.assertAlmostEqual(row['energy'], point['energy'] / best['energy'], 4, row)
            self.assertTrue(points or row['why'] or len(configs) < front['candidates'], row)
        self.assertGreater(found, 1)
        dram = next(row for row in front['keys'] if row['key'] == 'DRAM')
        self.assertEqual((dram['value'], dram['fps'] < 1), ('hyperram-400', True))

    def test_parts(self):
        """Several parts, with prices: each as alone, and the best of them by the goal."""
        prices = {'xc7z010': 60, 'xc7z020': 125, 'ecp5-85': 40}
        with open('prices.txt', 'w', encoding='utf-8') as file:
            file.write('# made up\n' + ''.join(f'{part} {price} made up\n' for part, price in prices.items()))
        words = ['--models', 'tiny_kws', '--limit', '400', '--search', '10', '--prices', 'prices.txt', '--objective']
        out = vtac('explore', *words, 'price < 100 and max fps / price', '--part', ','.join(prices), '-o', 'parts').stdout
        fps = {}
        for part in ('xc7z010', 'ecp5-85'):
            with open(f'parts/{part}/front.json', encoding='utf-8') as file:
                fps[part] = json.load(file)['points'][0]['fps']
            vtac('explore', *words, 'price < 100 and max fps / price', '--part', part, '-o', 'alone')
            for name in ('front.json', 'best1.json'):
                with open(f'alone/{name}', 'rb') as a, open(f'parts/{part}/{name}', 'rb') as b:
                    self.assertEqual(a.read(), b.read(), (part, name))
        best = max(fps, key=lambda part: fps[part] / prices[part])
        self.assertIn(f'the best part is {best}', out)
        self.assertRegex(out, "xc7z020 .*no configuration keeps 'price < 100'")
        self.assertIn('the objective reads the price of xck26', vtac('explore', *words, 'price < 100 and fps', '--part', 'xck26', status=1).stderr)

    def test_clock(self):
        """The part's clock beside the netlists that were timed: the rows of clock.def, averaged again."""
        with open(os.path.join(SOURCE, 'compiler/src/explore/clock.def'), encoding='utf-8') as file:
            rows = re.findall(r'^VTAC_CLOCK\("[^"]+", "([^"]+)", \d+, ([\d.]+)\)', file.read(), re.MULTILINE)
        for part in ('xc7z020', 'ecp5-85'):
            ns = [float(n) for p, n in rows if p == part]
            told = vtac('explore', '--models', 'tiny_ad', '--part', part, '--limit', '1', '--search', '1', '--json').stdout
            clock = json.loads(told)['clock']
            self.assertEqual(clock['netlists'], len(ns))
            if len(ns) > 1:
                self.assertAlmostEqual(clock['ns'], sum(ns) / len(ns), 2)
                self.assertAlmostEqual(clock['error'], max(abs((sum(ns) - n) / (len(ns) - 1) / n - 1) for n in ns), 4)
        self.assertGreater(len([r for r in rows if r[0] == 'xc7z020']), 2)

    def test_why(self):
        """Why nothing is faster: what comes with vtac is among the candidates, and for each array the resources that are named
        are what keeps its nearest configuration out: with so much of them it is in, with one less of any it is not."""
        axes = ['LOG_BLOCK_IN=4,5', 'LOG_BLOCK_OUT=4,5', 'LOG_WGT_BUFF_SIZE=16,18', 'DEPTHWISE_TAPS=9', 'LOG_INP_BUFF_SIZE=15,16', 'LOG_ACC_BUFF_SIZE=16,17',
                'TABLE=1', 'LOOP_BACK=1']
        words = ['--models', 'tiny_ad', *(w for a in axes for w in ('--fix', a))]

        def arrays(*more):
            vtac('explore', *words, *more, '-o', 'why')
            with open('why/front.json', encoding='utf-8') as file:
                front = json.load(file)
            self.assertEqual(sum(t['fitting'] for t in front['tiles']), front['candidates'] + front['left'])
            best = front['points'][0]
            for shipped in front['shipped']:
                if shipped['runs'] and not shipped['fits']:
                    clock = best['config']['clock_mhz'] / shipped['config']['clock_mhz']
                    self.assertGreaterEqual(best['fps'] * (1 + 1e-4), shipped['fps'] * min(clock, 1), shipped['name'])
            return front, {(t['block_in'], t['block_out'], t['pump']): t for t in front['tiles']}

        checked = 0
        for part in ('xc7z020', 'xczu3eg'):
            front, tiles = arrays('--part', part)
            if part == 'xc7z020':  # the same space, where a part has no room: those that come with vtac are judged, too
                same = lambda p: {k: v for k, v in p['config'].items() if k != 'clock_mhz'}
                fitting = [p for p in front['shipped'] if p['runs'] and not p['fits'] and not p['config']['rows']]
                self.assertTrue(fitting and all(same(p) in map(same, front['points']) for p in fitting), [p['name'] for p in fitting])
            for array, tile in tiles.items():
                self.assertEqual(tile['fitting'], tile['judged'], tile)  # nothing was left alone
                if tile['fitting'] or ' of ' not in tile['nearest']:
                    continue
                need = {name.lower().replace('36', ''): (int(a), int(b)) for name, a, b in re.findall(r'(LUT|DSP|BRAM36) (\d+) of (\d+)', tile['nearest'])}
                over = [a / b for a, b in need.values()]
                self.assertEqual(over, sorted(over, reverse=True), tile)
                more = {name: a for name, (a, _) in need.items()}
                _, with_more = arrays('--part', part, *(w for name, a in more.items() for w in ('--budget', f'{name}={a}')))
                self.assertGreater(with_more[array]['fitting'], 0, (tile, more))
                if checked < 3:
                    for name in more:
                        less = {**more, name: more[name] - 1}
                        _, with_less = arrays('--part', part, *(w for n, a in less.items() for w in ('--budget', f'{n}={a}')))
                        self.assertEqual(with_less[array]['fitting'], 0, (tile, less))
                checked += 1
        self.assertGreater(checked, 2)

    def test_goals(self):
        few = ['--models', 'tiny_kws,tiny_ad', '--fix', 'LOG_BLOCK_IN=3,4', '--fix', 'LOG_BLOCK_OUT=3,4', '--fix', 'LOG_INP_BUFF_SIZE=14', '--fix',
               'LOG_WGT_BUFF_SIZE=15,16', '--fix', 'LOG_ACC_BUFF_SIZE=14,15', '--fix', 'TABLE=1', '--fix', 'LOOP_BACK=1', '--fix', 'DEPTHWISE_TAPS=9']

        def points(objective):
            vtac('explore', *few, '--objective', objective, '-o', 'goal')
            with open('goal/front.json', encoding='utf-8') as file:
                return json.load(file)['points']

        found = points('fps')
        limit = sorted(p['area']['lut'] for p in found)[len(found) // 2] - 0.5
        kept = points(f'lut < {limit} and fps')
        best = max((p for p in found if p['area']['lut'] < limit), key=lambda p: p['fps'])
        self.assertEqual((kept[0]['fps'], len(kept)), (best['fps'], len(found)))
        self.assertTrue(all(p['meets'] == (p['area']['lut'] < limit) for p in kept))
        self.assertFalse(any(p['front'] and not p['meets'] for p in kept))
        dense = points('max fps / (lut + 100*dsp)')
        self.assertEqual(dense[0]['name'], max(found, key=lambda p: p['fps'] / (p['area']['lut'] + 100 * p['area']['dsp']))['name'])
        of_one = points('tiny_ad.cycles')
        self.assertEqual(of_one[0]['networks'][1]['cycles'], min(p['networks'][1]['cycles'] for p in found))
        in_turn = points('round')
        seconds = lambda p: sum(n['cycles'] for n in p['networks']) / (1e6 * p['config']['clock_mhz'])
        self.assertEqual(seconds(in_turn[0]), min(map(seconds, found)))
        self.assertAlmostEqual(in_turn[0]['round'] / seconds(in_turn[0]), 1, 4)
        nothing = vtac('explore', *few, '--objective', 'latency < 0.000001 and fps', status=1).stderr
        self.assertIn("no configuration keeps 'latency < 0.000001'", nothing)
        for text, says in (('mJ < 2 and foo', "column 12: no measure is called 'foo'"), ('mJ < 2', 'column 7: limits alone'), ('fps and latency', 'column 9: a second'),
                           ('fps / lut', "column 1: say 'max' or 'min'"), ('max', 'column 4: expected a measure'), ('(fps', "column 5: expected ')'"),
                           ('fps < 3 x and lut', "column 9: expected 'and'"), ('tiny_ic.ms', 'column 1: no network'), ('tiny_kws.mJ', 'column 10: a network has'),
                           ('max fps < 3 and lut', "column 1: a limit has no"), ('', 'column 1: expected a measure'), ('fp', "did you mean 'fps'?"), ('1x', 'column 2')):
            error = vtac('explore', *few, '--objective', text, status=2).stderr
            self.assertIn(says, error, text)
            self.assertEqual(error.count('\n'), 1)
        for share in ('0', '101', 'x', '-1'):
            self.assertIn("'--search", vtac('explore', *few, '--search', share, status=2).stderr)


if __name__ == '__main__':
    with tempfile.TemporaryDirectory() as here:
        os.chdir(here)
        unittest.main(argv=sys.argv)
