#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The catalogue of messages, as Markdown: each sentence that a call of `..._fail` or `..._refuse` in the C sources makes."""
import os
import re

CALL = re.compile(r'\b(?:\w+_)?(?:fail|refuse|fail_at|fail_damaged|fail_misused|fail_with|refuse_code|refuse_pickle|fail_model|misuse)\(')
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
DIRECTIVE = re.compile(r'%[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?(?:hh|ll|[hlzjt])?[a-zA-Z]')
STATUS = re.compile(r'\bVTA_([A-Z]+)\b')
MODULES = ('isa', 'sim', 'driver', 'runtime', 'compiler')


def arguments(text, start):
    """The text between the parentheses that open before `start`."""
    depth = 1
    for match in re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)\'|[()]').finditer(text, start):
        depth += {'(': 1, ')': -1}.get(match[0], 0)
        if depth == 0:
            return text[start:match.start()]
    return ''


def sentence(inside):
    """The format among a call's arguments as a reader sees it, or None: what the run puts in stands as an ellipsis."""
    inside = re.sub(r'%[^"%]*"\s*PRI\w+\s*"', '%d', inside)
    found = re.search(r'"(?:[^"\\]|\\.)*"(?:\s*"(?:[^"\\]|\\.)*")*', inside)
    if found is None:
        return None
    text = ''.join(match[1] for match in STRING.finditer(found[0]))
    text = DIRECTIVE.sub('…', text.replace('%%', '\x01')).replace('\x01', '%')
    return re.sub(r'\\(.)', lambda m: {'n': ' ', 't': ' '}.get(m[1], m[1]), text).strip()


def messages(source):
    """(module, sentence, status, file) of every message, sorted, each once a file."""
    found = set()
    for module in MODULES:
        for folder, _, names in os.walk(os.path.join(source, module)):
            for name in sorted(name for name in names if name.endswith('.c')):
                path = os.path.join(folder, name)
                with open(path, encoding='utf-8') as file:
                    text = file.read()
                for call in CALL.finditer(text):
                    inside = arguments(text, call.end())
                    words = sentence(inside)
                    status = STATUS.search(inside)
                    if words and len(words.replace('…', '').split()) > 1:
                        found.add((module, words, status[1] if status else '', os.path.relpath(path, source)))
    return sorted(found, key=lambda row: (MODULES.index(row[0]), row[3], row[1], row[2]))


def statuses(source):
    """(name, words) of each status."""
    with open(os.path.join(source, 'isa/base/include/vta/status.def'), encoding='utf-8') as file:
        return re.findall(r'^VTA_STATUS\((\w+),\s*"([^"]*)"\)', file.read(), re.M)


def escape(text):
    return text.replace('|', '\\|').replace('`', "'")


def page(source):
    rows = messages(source)
    out = ['# Messages', '',
           f'The {len(rows)} sentences that `vtac` and the libraries say when something fails, with the file that says each. '
           'An ellipsis (…) stands for what the run puts there: a name, a number, a file. A sentence names what was wrong, '
           'and ends with what was expected or what helps. Search this page for the words that you were given.', '',
           '## Why something fails', '',
           'Each failure has a status, which programs test; `vtac` prints the sentence and ends with exit status 1, or 2 '
           'where the command line is wrong.', '', '| status | in words |', '|---|---|']
    out += [f'| `VTA_{name}` | {escape(text)} |' for name, text in statuses(source)]
    where = None
    for module, words, status, path in rows:
        folder = os.path.dirname(path)
        if folder != where:
            where = folder
            out += ['', f'## {folder}', '', '| message | status | said by |', '|---|---|---|']
        out.append(f'| {escape(words)} | {status and f"`{status}`"} | [{os.path.basename(path)}]({path}) |')
    return '\n'.join(out) + '\n'
