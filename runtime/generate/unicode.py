#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes Unicode's tables as this Python has them, for C: general categories as ranges of code points, combining classes,
decompositions and compositions.

usage: unicode.py OUTPUT
"""
import sys
import unicodedata

CATEGORIES = ('Cc Cf Cn Co Cs Ll Lm Lo Lt Lu Mc Me Mn Nd Nl No Pc Pd Pe Pf Pi Po Ps Sc Sk Sm So Zl Zp Zs').split()
HANGUL = range(0xAC00, 0xD7A4)  # composed by arithmetic
END = 0x110000


def ranges(values):
    """Rows (first, last, value) of the code points as C, without those whose value is None."""
    first, rows = 0, []
    for point in range(1, END + 1):
        if point == END or values[point] != values[first]:
            if values[first] is not None:
                rows.append(f'{{{first}, {point - 1}, {values[first]}}}')
            first = point
    return ', '.join(rows)


def decompositions():
    """point: (compatible, points), one step of each."""
    out = {}
    for point in range(END):
        words = unicodedata.decomposition(chr(point)).split()
        if words and point not in HANGUL:
            compatible = words[0].startswith('<')
            out[point] = (compatible, [int(word, 16) for word in words[compatible:]])
    return out


def main(path):
    categories = [CATEGORIES.index(unicodedata.category(chr(point))) for point in range(END)]
    classes = [unicodedata.combining(chr(point)) or None for point in range(END)]
    apart = decompositions()
    pairs = sorted((points[0], points[1], point) for point, (compatible, points) in apart.items()
                   if not compatible and len(points) == 2
                   and unicodedata.normalize('NFC', chr(points[0]) + chr(points[1])) == chr(point))
    text = [f'/* Unicode {unicodedata.unidata_version} */',
            'static const char category_names[][3] = {' + ', '.join(f'"{name}"' for name in CATEGORIES) + '};',
            'static const unicode_range categories[] = {' + ranges(categories) + '};',
            'static const unicode_range combining[] = {' + ranges(classes) + '};']
    points, rows = [], []
    for point, (compatible, parts) in sorted(apart.items()):
        rows.append(f'{{{point}, {len(points)}, {len(parts)}, {int(compatible)}}}')
        points += parts
    text += ['static const uint32_t decomposed[] = {' + ', '.join(map(str, points)) + '};',
             'static const unicode_parts decompositions[] = {' + ', '.join(rows) + '};',
             'static const unicode_pair compositions[] = {' + ', '.join('{%d, %d, %d}' % pair for pair in pairs) + '};']
    with open(path, 'w', encoding='utf-8') as file:
        file.write('\n'.join(text) + '\n')


if __name__ == '__main__':
    main(sys.argv[1])
