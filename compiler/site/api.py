#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reference pages as Markdown, from what the sources of an interface say above their declarations.

`of_source(path, name)` takes C, C++, Java, JavaScript and Go; `of_python(stubs, module)` takes the type stubs, and the
docstrings of the module.
"""
import ast
import re

COMMENT = re.compile(r'[ \t]*(/\*.*?\*/[ \t]*\n|(?://(?!\s*SPDX)[^\n]*\n[ \t]*)+)', re.S)
ACCESS = re.compile(r'\s*(private|protected|public):\s*$')
NOISE = re.compile(r'\s*(#|extern "C"|namespace |package |import |\}|@Override)')
HIDDEN = {
    'h': lambda head: False,
    'hpp': lambda head: False,
    'go': lambda head: not re.match(r'(func (\([^)]*\) )?|type |const |var )?[A-Z(]', head) or
    re.match(r'func (\(\w+ \*?[a-z]\w*\) |[a-z])', head),
    'java': lambda head: not head.lstrip().startswith('public'),
    'mjs': lambda head: not (head.startswith('export') or re.match(r' {4}(async |static |get |set |\*)*[a-z]\w*\(', head)),
}
NAME = re.compile(r'(?:(?:struct|class|enum|type|interface|record)\s+(\w+)|(?:#\s*define\s+(\w+))|([~\w]+)\s*(?:<[^>()]*>)?(?:\[[^\]]*\])?\()')


def words_of(comment):
    """The text of a comment, without what makes it one; indented lines become code."""
    text = re.sub(r'^[ \t]*(/\*\*?|\*/|\*(?!/)|//) ?|\*/\s*$', '', comment, flags=re.M).strip('\n')
    text = re.sub(r'\{@(?:code|link) ([^}]*)\}|</?pre>', lambda m: f'`{m[1].lstrip("#")}`' if m[1] else '', text)
    text = re.sub(r'^SPDX-License-Identifier.*\n+', '', text)
    out, code = [], False
    for line in text.rstrip().split('\n'):
        deep = bool(re.match(r'( {4}|\t)', line)) and (code or not out or not out[-1].strip())
        if deep != code and (deep or line.strip()):
            while code and not out[-1].strip():
                out.pop()
            out.append('```' if deep or code else '')
            code = deep
        out.append(re.sub(r'^( {4}|\t)', '', line) if code else line.strip())
    while out and not out[-1].strip():
        out.pop()
    return '\n'.join(out + ['```'] * code).strip()


def body_end(text, start):
    """Where the braces close that open at `start`."""
    depth = 0
    for match in re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|[{}]', re.S).finditer(text, start):
        depth += {'{': 1, '}': -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    return len(text)


def declaration_at(text, start, kind):
    """(head, end): a declaration with the members of a struct or an enum, or a function's head; `end` is behind it."""
    match = re.compile(r'[;{=]|\n[ \t]*\n|=>').search(text, start)
    if match is None:
        return text[start:].rstrip(), len(text)
    head = text[start:match.start()]
    if match[0] == '{':
        if kind == 'h' and re.search(r'\b(struct|enum|union)\b[^()]*$', head):
            end = body_end(text, match.start())
            end = text.find(';', end) + 1 or end
            return text[start:end], end
        inside = re.search(r'\b(class|struct|enum|interface|namespace|record)\b[^()]*$', head)
        return head.rstrip(), match.end() if inside else body_end(text, match.start())
    if match[0] == '=':
        end = text.find('\n\n', match.end())
        stop = re.compile(r'[;\n]').search(text, match.end())
        return text[start:stop.start() if stop else end].rstrip(), stop.end() if stop else len(text)
    return text[start:match.start()].rstrip() + (';' if match[0] == ';' and kind == 'h' else ''), match.end()


def declarations(text, kind):
    """(words, heads) for each comment and the declarations that follow it without an empty line between."""
    at, hidden = 0, False
    while at < len(text):
        line = text[at:text.find('\n', at) + 1 or len(text)]
        access = ACCESS.match(line)
        comment = COMMENT.match(text, at)
        if access:
            hidden = access[1] != 'public'
        if comment and not NOISE.match(text, comment.end()):
            at, heads = comment.end(), []
            while at < len(text) and text[at:at + 1] not in ('\n', '}') and not COMMENT.match(text, at):
                head, at = declaration_at(text, at, kind)
                at = text.find('\n', at) + 1 or len(text)
                if head.strip() and not NOISE.match(head):
                    heads.append(head)
            if heads and not hidden and not HIDDEN[kind](heads[0]):
                yield words_of(comment[1]), heads
        elif kind == 'h' and re.match(r'[a-z]', line) and not NOISE.match(line):
            head, at = declaration_at(text, at, kind)
            yield '', [head]
        else:
            at += len(line)


def names_in(heads):
    """The names that a group of declarations declares, as a heading."""
    return ', '.join(dict.fromkeys(f'`{name_in(head)}`' for head in heads))


def name_in(head):
    match = NAME.search(head)
    if match is None:
        words = re.findall(r'\w+', head)
        return words[-1] if words else head
    return next(group for group in match.groups() if group)


def dedent(head):
    indent = re.match(r'[ \t]*', head)[0]
    return '\n'.join(line[len(indent):] if line.startswith(indent) else line for line in head.split('\n'))


def of_source(path, name):
    with open(path, encoding='utf-8') as file:
        text = file.read()
    kind = path.rsplit('.', 1)[1]
    first = re.compile(r'\s*(/\*.*?\*/|(?://[^\n]*\n)+(\n(?://[^\n]*\n)+)?)', re.S).match(text)
    out = [f'# {name}', '', words_of(first[1]) if first else '', '']
    rest = text[first.end() if first else 0:]
    if kind == 'go':  # C code stands in the comment of `import "C"`
        rest = rest[rest.find('import "C"'):]
    if kind == 'java':
        whole = re.search(r'/\*\*.*?\*/', rest, re.S)
        out += [words_of(whole[0]), ''] if whole else []
        rest = rest[whole.end():] if whole else rest
    language = {'h': 'c', 'hpp': 'cpp', 'mjs': 'js'}.get(kind, kind)
    for words, heads in declarations(rest, kind):
        code = '\n'.join(dedent(head).strip() for head in heads)
        out += [f'### {names_in(heads)}', '', words, '', f'```{language}', code, '```', '']
    return '\n'.join(out)


def docstrings(tree, prefix=''):
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            yield prefix + node.name, ast.get_docstring(node) or ''
            if isinstance(node, ast.ClassDef):
                yield from docstrings(node, node.name + '.')


def heads_of(node):
    """A class or a function of the stubs without what is inside."""
    if isinstance(node, ast.FunctionDef):
        decorators = ''.join(f'@{ast.unparse(decorator)}\n' for decorator in node.decorator_list)
        returns = f' -> {ast.unparse(node.returns)}' if node.returns else ''
        return f'{decorators}def {node.name}({ast.unparse(node.args)}){returns}'
    bases = ', '.join(ast.unparse(base) for base in node.bases)
    fields = [f'    {ast.unparse(field)}' for field in node.body if isinstance(field, ast.AnnAssign)]
    return '\n'.join([f'class {node.name}({bases}):' if bases else f'class {node.name}:'] + (fields or ['    ...']))


def of_python(stubs, module):
    with open(stubs, encoding='utf-8') as file:
        tree = ast.parse(file.read())
    texts = {}
    for path in module:
        with open(path, encoding='utf-8') as file:
            source = ast.parse(file.read())
        texts.update({name: text for name, text in docstrings(source) if text})
        texts.setdefault('', ast.get_docstring(source) or '')
    out = ['# Python: the module vta', '', words_of(texts['']), '']

    def put(node, prefix, level):
        name = prefix + node.name
        if node.name.startswith('_'):
            return
        out.extend([f'{level} `{name}`', '', words_of(texts.get(name, '')), '', '```python', heads_of(node), '```', ''])
        for inner in node.body if isinstance(node, ast.ClassDef) else []:
            if isinstance(inner, ast.FunctionDef):
                put(inner, node.name + '.', '####')

    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            put(node, '', '###')
    return '\n'.join(out)
