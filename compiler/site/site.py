#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""site.py SOURCE OUT [VTAC]: the static pages of the documentation, made from the tree's documents, headers and tables.

VTAC is a built `vtac`, whose verbs get a page; without it that page is left out. A link that leads nowhere ends the run
with one line that names the page.
"""
import html
import json
import os
import posixpath
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import api  # noqa: E402
import errors  # noqa: E402
import markdown  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TUTORIALS = 'compiler/site/tutorials'
HEADERS = [('runtime/include/vta/model.h', 'vta/model.h'), ('runtime/include/vta/runtime.h', 'vta/runtime.h'),
           ('driver/include/vta/driver.h', 'vta/driver.h'), ('compiler/include/vtac.h', 'vtac.h')]
BINDINGS = [('runtime/bindings/cpp/vta.hpp', 'C++: vta.hpp'), ('runtime/bindings/go/vta.go', 'Go: package vta'),
            ('runtime/bindings/java/vta/Model.java', 'Java: vta.Model'), ('runtime/bindings/java/vta/Device.java', 'Java: vta.Device'),
            ('runtime/bindings/java/vta/Options.java', 'Java: vta.Options'), ('runtime/bindings/java/vta/Tensor.java', 'Java: vta.Tensor'),
            ('runtime/wasm/vta.mjs', 'JavaScript: vta.mjs')]
# The groups of the contents, by the beginning of a document's path; the first that fits takes it.
GROUPS = [('Tutorials', TUTORIALS), ('Machine', 'isa/'), ('Machine', 'hw/'), ('Machine', 'sim/'), ('Machine', 'fpga/'),
          ('Driver and runtime', 'driver/'), ('Driver and runtime', 'runtime/'), ('Models that are not ONNX', 'compiler/src/'),
          ('Compiler', 'compiler/'), ('Project', '')]
IMPORTERS = {'caffe', 'caffe2', 'coreml', 'keras', 'mxnet', 'tensorflow', 'tflite', 'torch'}
ORDER = ['Start', 'Tutorials', 'Compiler', 'Models that are not ONNX', 'Driver and runtime', 'Machine', 'Reference', 'Project']
TEXT_LIMIT = 400_000


class Page:
    """One page: `source` is the path of the document that links in it are relative to, `name` the file that is written."""

    def __init__(self, group, source, name, text):
        self.group, self.source, self.name, self.text = group, source, name, text
        self.body, self.title, self.sections, self.links = '', '', [], []

    def short(self):
        """The title as the contents show it: without the folder's name in front and what follows a comma or a colon."""
        return re.split(r'[:,(]', self.title)[0].strip().rstrip('/') if self.group != 'Reference' else self.title


class Site:
    def __init__(self, source, out):
        self.source, self.out = source, out
        self.pages, self.files, self.pictures, self.mistakes = {}, {}, set(), []
        self.tutorials = self.read(TUTORIALS + '/README.md')

    def read(self, path):
        with open(os.path.join(self.source, path), encoding='utf-8') as file:
            return file.read()

    def add(self, group, source, name, text):
        self.pages[name] = Page(group, source, name, text)

    def add_documents(self):
        listed = subprocess.run(['git', '-C', self.source, 'ls-files', '--cached', '--others', '--exclude-standard', '*.md'],
                                capture_output=True, text=True, check=False).stdout.split()
        for path in sorted(listed) or walk(self.source):
            if path.startswith('tests/fpga/trees') or not os.path.exists(os.path.join(self.source, path)):
                continue
            self.add(group_of(path), path, page_name(path), self.read(path))

    def add_references(self, vtac):
        for path, name in HEADERS:
            self.add('Reference', path, f'api/{name.replace("/", "_")}.html', api.of_source(os.path.join(self.source, path), f'C: {name}'))
        for path, name in BINDINGS:
            self.add('Reference', path, f'api/{os.path.basename(path)}.html', api.of_source(os.path.join(self.source, path), name))
        python = os.path.join(self.source, 'runtime/bindings/python/vta')
        module = [os.path.join(python, name) for name in ('__init__.py', '_compiler.py')]
        self.add('Reference', 'runtime/bindings/python/vta/__init__.py', 'api/python.html',
                 api.of_python(os.path.join(python, '__init__.pyi'), module))
        self.add('Reference', 'README.md', 'messages.html', errors.page(self.source))
        if vtac:
            self.add('Reference', 'README.md', 'verbs.html', verbs_page(vtac))

    def target(self, page, written, picture):
        """Where a link of a page leads, relative to the page."""
        if re.match(r'[a-z]+:', written):
            return written
        path, _, anchor = written.partition('#')
        if not path:
            page.links.append((page.name, anchor, written))
            return written
        wanted = posixpath.normpath(posixpath.join(posixpath.dirname(page.source), path))
        real = os.path.join(self.source, wanted)
        if not os.path.exists(real) or wanted.startswith('..'):
            self.mistakes.append(f"{page.source}: the link '{written}' leads to '{wanted}', which is not there")
            return written
        if picture or wanted.endswith(('.png', '.svg')):
            self.pictures.add(wanted)
            name = 'files/' + wanted
        elif page_name(wanted) in self.pages and wanted.endswith('.md'):
            name = page_name(wanted)
            page.links.append((name, anchor, written))
        elif os.path.isdir(real) and os.path.exists(os.path.join(real, 'README.md')):
            name = page_name(wanted + '/README.md')
        else:
            name = f'files/{wanted}.html'
            self.files[wanted] = name
        return posixpath.relpath(name, posixpath.dirname(page.name) or '.') + (f'#{anchor}' if anchor else '')

    def render(self):
        for page in self.pages.values():
            page.body, page.title, page.sections = markdown.render(page.text, lambda to, picture, page=page: self.target(page, to, picture))
        for page in self.pages.values():
            for name, anchor, written in page.links:
                if anchor and anchor not in [section[1] for section in self.pages[name].sections]:
                    self.mistakes.append(f"{page.source}: '{written}' names a section that is not there")

    def contents(self, current):
        out = []
        for group in ORDER:
            pages = [page for page in self.pages.values() if page.group == group]
            if not pages:
                continue
            if group == 'Tutorials':
                pages.sort(key=lambda page: self.tutorials.find(f'({posixpath.basename(page.source)})'))
            inside = any(page is current for page in pages)
            out.append(f'<details{" open" if inside or group in ("Start", "Tutorials") else ""}><summary>{group}</summary><ul>')
            for page in pages:
                to = posixpath.relpath(page.name, posixpath.dirname(current.name) or '.')
                mark = ' aria-current="page"' if page is current else ''
                out.append(f'<li><a href="{to}"{mark}>{html.escape(page.short())}</a></li>')
            out.append('</ul></details>')
        return '\n'.join(out)

    def write(self, name, text):
        path = os.path.join(self.out, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)

    def write_page(self, page, template):
        inside = [(level, anchor, heading) for level, anchor, heading, _ in page.sections if level == 2]
        here = ''.join(f'<li><a href="#{anchor}">{html.escape(heading)}</a></li>' for _, anchor, heading in inside)
        title, _, rest = page.body.partition('</h1>\n')
        values = {'title': html.escape(page.title), 'root': posixpath.relpath('.', posixpath.dirname(page.name) or '.'),
                  'contents': self.contents(page), 'heading': title + '</h1>', 'body': rest,
                  'here': f'<nav class="sections" aria-label="on this page"><ul>{here}</ul></nav>' if len(inside) > 1 else '',
                  'source': html.escape(page.source)}
        self.write(page.name, re.sub(r'\{\{(\w+)\}\}', lambda match: values[match[1]], template))

    def write_files(self, template):
        """The files of the tree that a document links to, as text."""
        for path, name in sorted(self.files.items()):
            real = os.path.join(self.source, path)
            if os.path.isdir(real):
                text = '\n'.join(sorted(os.listdir(real)))
            else:
                with open(real, encoding='utf-8', errors='replace') as file:
                    text = file.read(TEXT_LIMIT)
            page = Page('', path, name, '')
            page.title = path
            page.body = f'<h1>{html.escape(path)}</h1>\n<pre><code>{html.escape(text, quote=False)}</code></pre>'
            self.write_page(page, template)

    def write_search(self):
        rows = [[page.name, anchor, page.title, heading, re.sub(r'\s+', ' ', words)[:4000]]
                for page in self.pages.values() for _, anchor, heading, words in page.sections]
        self.write('index.js', 'const pages = ' + json.dumps(rows, ensure_ascii=False, separators=(',', ':')).replace('</', '<\\/') + ';\n')

    def write_all(self):
        with open(os.path.join(HERE, 'page.html'), encoding='utf-8') as file:
            template = file.read()
        for page in self.pages.values():
            self.write_page(page, template)
        self.write_files(template)
        self.write_search()
        for name in ('style.css', 'search.js'):
            shutil.copyfile(os.path.join(HERE, name), os.path.join(self.out, name))
        for path in sorted(self.pictures):
            to = os.path.join(self.out, 'files', path)
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copyfile(os.path.join(self.source, path), to)


def walk(source):
    """The documents of a tree that git does not know."""
    for folder, folders, names in os.walk(source, followlinks=True):
        folders[:] = sorted(name for name in folders if name != 'build' and not name.startswith('.'))
        for name in sorted(names):
            if name.endswith('.md'):
                yield os.path.relpath(os.path.join(folder, name), source)


def page_name(path):
    path = posixpath.normpath(path)
    if path == 'README.md':
        return 'index.html'
    if path == TUTORIALS + '/README.md':
        return 'tutorials.html'
    if path.startswith(TUTORIALS + '/'):
        return 'tutorials/' + posixpath.basename(path)[:-3] + '.html'
    return re.sub(r'/README\.md$', '.html', path) if path.endswith('/README.md') else re.sub(r'\.md$', '.html', path)


def group_of(path):
    if path == 'README.md':
        return 'Start'
    if path == 'compiler/OPERATORS.md':
        return 'Reference'
    if path.startswith('compiler/src/') and path.split('/')[2] not in IMPORTERS:
        return 'Compiler'
    return next(group for group, beginning in GROUPS if path.startswith(beginning))


def verbs_page(vtac):
    """What every verb says when it is asked for help."""
    def say(*words):
        return subprocess.run([vtac, *words], capture_output=True, text=True, check=True).stdout

    listing = say('--help')
    names = re.findall(r'^  ([a-z]+)  ', listing, re.M)
    out = ['# vtac: all verbs', '', '```', listing.rstrip(), '```', '']
    for name in names:
        out += [f'## vtac {name}', '', '```', say(name, '--help').rstrip() if name != 'help' else say('help').rstrip(), '```', '']
    return '\n'.join(out)


def main(arguments):
    if len(arguments) not in (2, 3):
        sys.exit(__doc__.split('\n', maxsplit=1)[0])
    site = Site(arguments[0], arguments[1])
    site.add_documents()
    site.add_references(arguments[2] if len(arguments) == 3 else None)
    site.render()
    if site.mistakes:
        sys.exit('\n'.join(sorted(set(site.mistakes))))
    site.write_all()
    print(f'{len(site.pages)} pages, {len(site.files)} files of the sources: {os.path.join(site.out, "index.html")}')


if __name__ == '__main__':
    main(sys.argv[1:])
