#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""HTML from the Markdown that our documents are written in: headings, paragraphs, lists, tables, fenced code, pictures, links.

`render(text, link)` returns the HTML, the title, and the sections, each a tuple (level, anchor, heading, plain words).
`link(target, picture)` turns a link's target as written into one of the page.
"""
import html
import re
import urllib.parse

CODE = re.compile(r'(`+)(.+?)\1')
LINK = re.compile(r'(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)')
BOLD = re.compile(r'\*\*(?=\S)(.+?)(?<=\S)\*\*')
ITALIC = re.compile(r'(?<![\w*])\*(?=[^\s*])([^*]+?)(?<=\S)\*(?![\w*])')
ITEM = re.compile(r'(\s*)([-*]|\d+\.) +(.*)')
HEADING = re.compile(r'(#{1,6}) +(.*)')
NAMED = re.compile(r'(?:^|\s)`(\w+\.\w+)`:$|^`(\w+\.\w+)` \S.*:$')  # the line in front of a file's text
HELD = re.compile('\x00(\\d+)\x00')


def anchor_of(heading):
    """The anchor that GitHub gives a heading."""
    return re.sub(r'[^\w\- ]', '', plain(heading).lower()).strip().replace(' ', '-')


def plain(text):
    """The words of inline Markdown."""
    text = LINK.sub(lambda m: m[2], text)
    return re.sub(r'[`*]', '', text)


def inline(text, link):
    """HTML of a line's inside; code is held back meanwhile, so that nothing in it is taken for Markdown."""
    held = []

    def hold(fragment):
        held.append(fragment)
        return f'\x00{len(held) - 1}\x00'

    def make_link(match):
        target = html.escape(link(match[3], match[1] == '!'), quote=True)
        if match[1]:
            return hold(f'<img src="{target}" alt="{html.escape(plain(match[2]), quote=True)}">')
        return hold(f'<a href="{target}">') + match[2] + hold('</a>')

    text = CODE.sub(lambda m: hold(f'<code>{html.escape(m[2].strip(), quote=False)}</code>'), text)
    text = LINK.sub(make_link, LINK.sub(make_link, text))
    text = html.escape(text, quote=False)
    text = ITALIC.sub(r'<em>\1</em>', BOLD.sub(r'<strong>\1</strong>', text))
    while HELD.search(text):
        text = HELD.sub(lambda m: held[int(m[1])], text)
    return text


class Writer:
    """Blocks, one after the other; `at` is the line that comes next."""

    def __init__(self, text, link):
        self.lines, self.at, self.link = text.split('\n'), 0, link
        self.out, self.sections, self.anchors, self.title = [], [], {}, None
        self.before = ''  # the last line of the block in front, if it is a paragraph

    def words(self, text):
        if self.sections:
            self.sections[-1][3].append(plain(text))

    def inline(self, text):
        self.words(text)
        return inline(text, self.link)

    def heading(self, match):
        self.at += 1
        anchor = anchor_of(match[2])
        count = self.anchors[anchor] = self.anchors.get(anchor, -1) + 1
        if count:
            anchor = f'{anchor}-{count}'
        level = len(match[1])
        self.title = self.title or plain(match[2])
        self.sections.append((level, anchor, plain(match[2]), []))
        self.out.append(f'<h{level} id="{anchor}">{inline(match[2], self.link)}'
                        f'<a class="here" href="#{anchor}" aria-label="link to this section">#</a></h{level}>')

    def fence(self):
        language = self.lines[self.at].strip()[3:].strip()
        start = self.at = self.at + 1
        while self.at < len(self.lines) and not self.lines[self.at].startswith('```'):
            self.at += 1
        text = '\n'.join(self.lines[start:self.at])
        self.at += 1
        self.words(text)
        kind = f' class="language-{html.escape(language.split()[0])}"' if language else ''
        named = NAMED.search(self.before)
        if named and language and not language.startswith('sh'):
            data, name = urllib.parse.quote(text + '\n'), named[1] or named[2]
            self.out.append(f'<p class="save"><a download="{name}" href="data:text/plain;charset=utf-8,{data}">save {name}</a></p>')
        self.out.append(f'<pre><code{kind}>{html.escape(text, quote=False)}</code></pre>')

    def row(self, tag):
        cells = re.split(r'(?<!\\)\|', self.lines[self.at].strip().strip('|'))
        self.at += 1
        cells = [self.inline(cell.strip().replace('\\|', '|')) for cell in cells]
        self.out.append('<tr>' + ''.join(f'<{tag}>{cell}</{tag}>' for cell in cells) + '</tr>')

    def table(self):
        self.out.append('<div class="wide"><table><thead>')
        self.row('th')
        self.at += 1
        self.out.append('</thead><tbody>')
        while self.at < len(self.lines) and self.lines[self.at].startswith('|'):
            self.row('td')
        self.out.append('</tbody></table></div>')

    def items(self, indent):
        """A list whose items begin at that column, with the lists inside."""
        ordered = ITEM.match(self.lines[self.at])[2] not in '-*'
        self.out.append('<ol>' if ordered else '<ul>')
        while self.at < len(self.lines):
            match = ITEM.match(self.lines[self.at])
            if not match or len(match[1]) != indent:
                break
            self.at += 1
            text = match[3] + self.more(indent + 1)
            self.out.append(f'<li>{self.inline(text)}')
            inner = self.at < len(self.lines) and ITEM.match(self.lines[self.at])
            if inner and len(inner[1]) > indent:
                self.items(len(inner[1]))
            self.out.append('</li>')
        self.out.append('</ol>' if ordered else '</ul>')

    def more(self, indent=0):
        """The lines that go on with what began: neither empty nor the beginning of another block."""
        text = ''
        while self.at < len(self.lines):
            line = self.lines[self.at]
            block = line.startswith(('```', '|')) or HEADING.match(line) or ITEM.match(line)
            if not line.strip() or block or (indent and not line.startswith(' ')):
                break
            text += ' ' + line.strip()
            self.at += 1
        return text

    def block(self):
        line, paragraph = self.lines[self.at], False
        match = HEADING.match(line)
        following = self.lines[self.at + 1] if self.at + 1 < len(self.lines) else ''
        if match:
            self.heading(match)
        elif line.startswith('```'):
            self.fence()
        elif line.startswith('|') and re.match(r'\|[\s:|-]+$', following):
            self.table()
        elif ITEM.match(line):
            self.items(len(ITEM.match(line)[1]))
        else:
            self.at += 1
            self.out.append(f'<p>{self.inline(line.strip() + self.more())}</p>')
            paragraph = True
        self.before = self.lines[self.at - 1] if paragraph else ''

    def run(self):
        while self.at < len(self.lines):
            if self.lines[self.at].strip():
                self.block()
            else:
                self.at += 1


def render(text, link):
    writer = Writer(text, link)
    writer.run()
    sections = [(level, anchor, heading, ' '.join(words)) for level, anchor, heading, words in writer.sections]
    return '\n'.join(writer.out) + '\n', writer.title or '', sections
