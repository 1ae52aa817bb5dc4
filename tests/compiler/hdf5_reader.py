#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""hdf5_reader.py DUMP SEED: files that h5py writes, drawn by a seed, in its oldest and newest format: every number, shape and text as
h5py reads it; links out of the file and forms that are not read are refused by a sentence; a file cut anywhere ends without a crash."""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

import h5py
import numpy

DUMP, SEED = os.path.abspath(sys.argv.pop(1)), int(sys.argv.pop(1))
TYPES = ['<f4', '>f4', '<f8', '>f8', '<f2', '>f2', 'i1', 'u1', '<i2', '>u2', '<i4', '>i4', '<u4', '<i8', '>u8']


def dump(path, *what):
    # A process for as many as a command line takes.
    lines = []
    for first in range(0, len(what), 500):
        done = subprocess.run([DUMP, path, *what[first:first + 500]], capture_output=True, text=True, check=False)
        assert done.returncode == 0 and not done.stderr, (done.returncode, done.stdout[:300], done.stderr[-2000:])
        lines += done.stdout.splitlines()
    return [json.loads(line) for line in lines]


def numbers(draw, shape, kind):
    if numpy.dtype(kind).kind == 'f':
        values = draw.normal(size=shape) * 10.0 ** draw.integers(-4, 4)
        flat = values.reshape(-1)
        if flat.size > 4:
            flat[:4] = [0, numpy.inf, -numpy.inf, 1e-41]
        with numpy.errstate(over='ignore'):
            return values.astype(kind)
    info = numpy.iinfo(kind)
    return draw.integers(info.min, info.max, size=shape, endpoint=True, dtype=numpy.dtype(kind).newbyteorder('=')).astype(kind)


class Reader(unittest.TestCase):
    def setUp(self):
        self.draw = numpy.random.default_rng(SEED + sum(map(ord, self.id())))
        self.word = random.Random(SEED)

    def holds(self, path, sets, texts):
        """What is in the file, beside what h5py says of it."""
        with h5py.File(path, 'r') as file:
            wanted = {name: file[name][()] for name in sets}
        for name, got in zip(sets, dump(path, *sets)):
            with numpy.errstate(over='ignore'):
                want = numpy.asarray(wanted[name]).astype(numpy.float32)
            self.assertEqual(got.get('shape'), list(want.shape), (name, got))
            bits = numpy.array(got['bits'], numpy.uint32).reshape(want.shape)
            self.assertTrue(numpy.array_equal(bits.view(numpy.float32), want, equal_nan=True), name)
        for (name, values), got in zip(texts.items(), dump(path, *texts)):
            self.assertEqual([bytes.fromhex(t).decode() for t in got['texts']], values, name)

    def write(self, path, **how):
        """Groups of few and many members, data sets of all layouts, texts of both kinds."""
        sets, texts = [], {}
        with h5py.File(path, 'w', **how) as file:
            latest = how.get('libver') == 'latest'
            for size in (1, 7, 9, int(self.draw.integers(40, 400))):
                group = file.create_group(f'of {size}/inside', track_order=bool(self.draw.integers(2)))
                for i in range(size):
                    name = ''.join(self.word.choice('abcdefghijklmnop_') for _ in range(self.word.randint(1, 30))) + str(i)
                    group[name] = numbers(self.draw, tuple(self.draw.integers(1, 5, size=self.draw.integers(0, 4))), self.word.choice(TYPES))
                    sets.append(group[name].name)
            for i, kind in enumerate(TYPES * 2):
                rank = int(self.draw.integers(1, 5))
                shape = tuple(int(n) for n in self.draw.integers(1, 14, size=rank))
                chunk = tuple(int(self.draw.integers(1, n + 1)) for n in shape)
                if latest:  # the newest format's other indices are refused; see below
                    chunk = shape
                how_stored = [{}, {'chunks': chunk}, {'chunks': chunk, 'compression': 'gzip'},
                              {'chunks': chunk, 'compression': 'gzip', 'shuffle': True},
                              {'chunks': chunk, 'shuffle': True, 'fletcher32': True}, {'chunks': chunk, 'fletcher32': True}][i % 6]
                file.create_dataset(f'set {i}', data=numbers(self.draw, shape, kind), **how_stored)
                sets.append(f'/set {i}')
            partial = file.create_dataset('partial', (50, 9), '<f4', fillvalue=2.5, **({} if latest else {'chunks': (4, 4)}))
            if not latest:
                partial[int(self.draw.integers(50)), :5] = 1
            file.create_dataset('nothing', (0, 3), '<f4')
            file.create_dataset('never written', (3, 3), '<i2')
            large = file.create_dataset('many chunks', (300, 40), '<f8', **({} if latest else {'chunks': (1, 10), 'compression': 'gzip'}))
            large[...] = numbers(self.draw, (300, 40), '<f8')
            sets += ['/partial', '/nothing', '/never written', '/many chunks']
            group = file.create_group('texts')
            for i in range(int(self.draw.integers(10, 60))):
                values = ['äöü "' + 'x' * int(self.draw.integers(0, 90)) for _ in range(int(self.draw.integers(1, 40)))]
                if i % 3 == 0:
                    group.attrs[f'name {i}'] = [v.encode() for v in values]
                elif i % 3 == 1:
                    group.attrs[f'name {i}'] = values
                else:
                    values = values[:1]
                    group.attrs[f'name {i}'] = values[0]
                texts[f'/texts@name {i}'] = values
            long = '{"json": "' + 'y' * 200000 + '"}'
            file.attrs['config'] = long
            texts['/@config'] = [long]
            texts['/@missing'] = []
            texts['/texts@'] = []
        return sets, texts

    def test_earliest(self):
        for _ in range(2):
            self.holds('a.h5', *self.write('a.h5'))

    def test_latest(self):
        for _ in range(2):
            self.holds('b.h5', *self.write('b.h5', libver='latest'))

    def test_refused(self):
        with h5py.File('other.h5', 'w') as file:
            file['x'] = numpy.ones(3, numpy.float32)
        layout = h5py.VirtualLayout((3,), '<f4')
        layout[:] = h5py.VirtualSource('other.h5', 'x', (3,))
        with h5py.File('c.h5', 'w', libver='latest') as file:
            file['x'] = numpy.ones((2, 2), numpy.float32)
            file['soft'] = h5py.SoftLink('/x')
            file['external'] = h5py.ExternalLink('other.h5', 'x')
            file.create_virtual_dataset('virtual', layout)
            file.create_dataset('outside', (3,), '<f4', external=[('raw.bin', 0, 12)])
            file['words'] = 'a word'
            file['truth'] = numpy.array([True, False])
            file['axes'] = numpy.ones((1,) * 12, numpy.float32)
            file.create_dataset('lzf', data=numpy.ones((4, 4), numpy.float32), chunks=(4, 4), compression='lzf')
            file.create_dataset('index', data=numpy.ones((4, 4), numpy.float32), chunks=(2, 2))
            file['x'].attrs['number'] = 3
        for name, says in (('soft', 'link'), ('external', 'link'), ('gone', 'none'), ('x/below', 'none'), ('virtual', 'another file'),
                           ('outside', 'another file'), ('words', 'no numbers'), ('truth', 'no numbers'), ('axes', 'axes'), ('lzf', 'filter 32000'),
                           ('index', 'libver'), ('x@number', "'number' cannot be read")):
            got = dump('c.h5', name)[0]
            self.assertIn(says, json.dumps(got), name)

    def test_wide_chunks(self):
        """Chunks that are wider than their data set are read; where they all are the same bytes, they are not unpacked without end."""
        rows, wide = 100, 1 << 22
        with h5py.File('w.h5', 'w') as file:
            for name, count in (('one', 3), ('many', rows)):
                file.create_dataset(name, (count, 1), '<f4', maxshape=(None, None), chunks=(1, wide), compression='gzip')
            file['one'][...] = numpy.arange(3, dtype=numpy.float32)[:, None]
            packed = zlib.compress(bytes(4 * wide))
            sizes = [len(packed)] + [16 + i for i in range(1, rows)]
            for i, size in enumerate(sizes):
                file['many'].id.write_direct_chunk((i, 0), packed if i == 0 else bytes(size))
        with open('w.h5', 'rb') as file:
            whole = bytearray(file.read())
        places = [whole.index(struct.pack('<IIQQQ', size, 0, i, 0, 0)) for i, size in enumerate(sizes)]
        for place in places[1:]:  # of all the first one's bytes
            whole[place:place + 4] = struct.pack('<I', len(packed))
            whole[place + 32:place + 40] = whole[places[0] + 32:places[0] + 40]
        with open('w.h5', 'wb') as file:
            file.write(whole)
        one, many = dump('w.h5', 'one', 'many')
        self.assertEqual(numpy.array(one['bits'], numpy.uint32).view(numpy.float32).tolist(), [0, 1, 2])
        self.assertIn('cannot be read', json.dumps(many))

    def test_damaged(self):
        """Cut short, and with bytes changed where the structure is: a sentence, other numbers or none, never a crash or a hang."""
        for how in ({}, {'libver': 'latest'}):
            sets, texts = self.write('d.h5', **how)
            with open('d.h5', 'rb') as file:
                whole = file.read()
            names = [*self.word.sample(sets, 20), '/many chunks', '/partial', *list(texts)[:3], '/@config']
            for trial in range(60):
                bad = bytearray(whole)
                if trial % 4 == 0:
                    del bad[self.word.randrange(len(bad)):]
                for _ in range(self.word.randint(1, 40) if trial % 4 else 0):
                    bad[self.word.randrange(len(bad))] = self.word.choice((0, 1, 255, self.word.randrange(256)))
                with open('bad.h5', 'wb') as file:
                    file.write(bad)
                done = subprocess.run([DUMP, 'bad.h5', *names], capture_output=True, text=True, check=False, timeout=60, errors='replace')
                self.assertIn(done.returncode, (0, 1), (trial, done.returncode, done.stderr[-3000:]))


if __name__ == '__main__':
    print('seed', SEED)
    with tempfile.TemporaryDirectory() as here:
        os.chdir(here)
        unittest.main(argv=sys.argv)
