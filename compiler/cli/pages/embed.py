#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""embed.py OUT FILE...: a C file with the lines of files, for assets.h."""
import os
import sys


def quoted(line):
    text = line.replace('\\', '\\\\').replace('"', '\\"').replace('?', '\\?')  # no trigraphs
    return f'    "{text}",\n'


def main(out, files):
    text = '/* SPDX-License-Identifier: Apache-2.0\n * Generated: do not edit. */\n#include "assets.h"\n\n#include <stddef.h>\n'
    names = [os.path.basename(name) for name in files]
    for name, path in zip(names, files):
        with open(path, encoding='utf-8') as file:
            lines = file.read().splitlines()
        text += f'\nstatic const char *const {name.replace(".", "_")}[] = {{\n{"".join(map(quoted, lines))}    NULL}};\n'
    rows = ''.join(f'    {{"{name}", {name.replace(".", "_")}}},\n' for name in names)
    with open(out, 'w', encoding='utf-8') as file:
        file.write(f'{text}\nconst cli_asset cli_assets[] = {{\n{rows}}};\n')


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2:])
