#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""editor.py SOURCE VTA_EDITOR: what editors colour in assembler text. In each program of isa/programs every word that is neither a
name of the program nor a configuration is coloured, the first of each statement as an instruction or a directive; Vim's words are
TextMate's."""
import glob
import json
import os
import re
import subprocess
import sys


def classes_at(grammar, line):
    """The class of each character, by the first pattern that matches earliest, as TextMate has it."""
    found, at = [None] * len(line), 0
    while at < len(line):
        hits = [(match.start(), order, match, rule) for order, rule in enumerate(grammar)
                if (match := re.compile(rule['match']).search(line, at)) and match.end() > match.start()]
        if not hits:
            break
        start, _, match, rule = min(hits, key=lambda hit: hit[:2])
        found[start:match.end()] = [rule['name']] * (match.end() - start)
        at = match.end()
    return found


def check(path, grammar):
    begins = {'load', 'store', 'gemm', 'alu', 'requant', 'depthwise', 'finish', '.config', '.data', '.uops', '.set', '.expect'}
    with open(path, encoding='utf-8') as file:
        text = file.read()
    bare = re.sub(r';.*', '', text)
    names = set(re.findall(r'\.(?:set|data|uops) +(\w+)', bare)) | set(re.findall(r'(\w+) in ', bare)) | {'x'}
    names |= set(re.findall(r'\.config +(\w+)', bare)) | set(re.findall(r'"(\w+)"', bare))
    coloured = 0
    for number, line in enumerate(text.splitlines(), 1):
        kinds = classes_at(grammar, line)
        for word in re.finditer(r'[A-Za-z_]\w*', line):
            kind = kinds[word.start()]
            coloured += kind is not None
            assert kind or word[0] in names, f"{path}:{number}: '{word[0]}' has no colour"
        first = re.match(r'\s*(?:\[[^\]]*\]\s*)?(\.[a-z]+|[a-z]+(?=[. ]))', line)
        if first and first[1] in begins:
            assert (kinds[first.start(1)] or '').startswith('keyword'), f"{path}:{number}: '{first[1]}' looks like {kinds[first.start(1)]}"
    return coloured


def main(source, editor):
    textmate = json.loads(subprocess.run([editor, 'textmate'], capture_output=True, text=True, check=True).stdout)
    vim = subprocess.run([editor, 'vim'], capture_output=True, text=True, check=True).stdout
    lists = [set(re.search(r'\(\?:(.*)\)', rule['match'])[1].split('|')) for rule in textmate['patterns'] if 'constant.numeric' not in rule['name']
             and '(?:' in rule['match']]
    theirs = [set(words.split('\\|')) for words in re.findall(r'syntax match vasm\w+ ".*?\\%\((.*)\\\)\\>"', vim) if '0x' not in words]
    assert lists == theirs, (lists, theirs)
    package = json.load(open(os.path.join(source, 'isa/editor/vscode/package.json'), encoding='utf-8'))
    assert package['contributes']['grammars'][0]['scopeName'] == textmate['scopeName']
    assert subprocess.run([editor, 'emacs'], capture_output=True, check=False).returncode == 2
    programs = sorted(glob.glob(os.path.join(source, 'isa/programs/*.vasm')))
    assert len(programs) > 3
    print({os.path.basename(path): check(path, textmate['patterns']) for path in programs})


if __name__ == '__main__':
    main(*sys.argv[1:])
