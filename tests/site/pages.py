#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pages.py FOLDER: every page's elements close in order, and every link, picture and script of it is there, with its anchor."""
import html.parser
import os
import posixpath
import sys
import urllib.parse

ALONE = {'meta', 'link', 'input', 'img', 'br', 'hr'}


class Page(html.parser.HTMLParser):
    def __init__(self, name):
        super().__init__()
        self.name, self.open, self.anchors, self.targets, self.wrong = name, [], set(), [], []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag not in ALONE:
            self.open.append(tag)
        if 'id' in values:
            if values['id'] in self.anchors:
                self.wrong.append(f"two elements are '{values['id']}'")
            self.anchors.add(values['id'])
        if tag == 'img' and not values.get('alt'):
            self.wrong.append(f"the picture '{values.get('src')}' says nothing to those who cannot see it")
        self.targets += [values[key] for key in ('href', 'src') if key in values]

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f'</{tag}> at line {self.getpos()[0]} closes nothing')


def read(folder):
    pages = {}
    for place, _, names in os.walk(folder):
        for name in names:
            if name.endswith('.html'):
                path = os.path.join(place, name)
                page = Page(os.path.relpath(path, folder))
                with open(path, encoding='utf-8') as file:
                    page.feed(file.read())
                page.wrong += [f'<{tag}> stays open' for tag in page.open]
                pages[page.name] = page
    return pages


def judge(page, pages, folder):
    for target in page.targets:
        to, _, anchor = target.partition('#')
        if urllib.parse.urlsplit(target).scheme:
            continue
        name = posixpath.normpath(posixpath.join(posixpath.dirname(page.name), to)) if to else page.name
        if not os.path.exists(os.path.join(folder, name)):
            page.wrong.append(f"'{target}' leads nowhere")
        elif anchor and name in pages and anchor not in pages[name].anchors:
            page.wrong.append(f"'{target}' names no element")


def main(folder):
    pages = read(folder)
    for page in pages.values():
        judge(page, pages, folder)
    wrong = [f'{page.name}: {line}' for page in pages.values() for line in page.wrong]
    print('\n'.join(wrong) or f'{len(pages)} pages, {sum(len(page.targets) for page in pages.values())} links')
    sys.exit(1 if wrong else 0)


if __name__ == '__main__':
    main(sys.argv[1])
