#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""snippets.py SOURCE FOLDER SERVER...: what a build server types for the snippets of compiler/cli/regress/ci and for the action,
as shell scripts SERVER.0.sh, SERVER.1.sh, ... in FOLDER: each step of theirs in turn, none left out and none changed. What a server
itself does, checking out, caches and uploads, is no command. SERVER is github, gitlab or action.
"""
import os
import re
import sys

import yaml

WORKSPACE, SOURCE_URL, ACTION = '/workspace', 'file:///vtac.git', '/opt/actions/vtac'


def filled(text, inputs):
    """A string of the file with the server's expressions filled in; one that is not known ends the run."""
    known = {'github.workspace': WORKSPACE, 'vars.VTAC_SOURCE': SOURCE_URL, **{f'inputs.{name}': row['default'] for name, row in inputs.items()}}
    return re.sub(r'\$\{\{ *([\w.]+) *\}\}', lambda found: str(known[found[1]]), text)


def exports(environment, inputs):
    return [f"export {name}='{filled(str(value), inputs)}'" for name, value in environment.items()]


def steps_of(steps, inputs):
    """The lines of each step that has any: a server gives each a shell of its own."""
    asked = [step for step in steps if 'run' in step]
    assert all(step.get('if', "inputs.install == 'true'") == "inputs.install == 'true'" for step in asked), asked
    return [exports(step.get('env', {}), inputs) + [filled(step['run'], inputs)] for step in asked]


def read(path):
    with open(path, encoding='utf-8') as file:
        return yaml.safe_load(file)


def github(source):
    job = read(f'{source}/compiler/cli/regress/ci/github.yml')['jobs']['regress']
    assert job['container'] == 'debian:12', job['container']
    return exports(job['env'], {}) + ['export GITHUB_SHA=abc'], steps_of(job['steps'], {})


def gitlab(source):
    """GitLab types all lines into one shell that ends where one fails."""
    job = read(f'{source}/compiler/cli/regress/ci/gitlab.yml')['regress']
    assert job['image'] == 'debian:12', job['image']
    head = [f'export CI_PROJECT_DIR={WORKSPACE} VTAC_SOURCE={SOURCE_URL} CI_COMMIT_SHA=abc']
    variables = [f'export {name}="{value}"' for name, value in job['variables'].items()]
    return head + variables, [job['before_script'] + job['script']]


def action(source):
    described = read(f'{source}/.github/actions/regress/action.yml')
    head = [f'export GITHUB_ACTION_PATH={ACTION}/.github/actions/regress GITHUB_SHA=abc']
    # The server has git and clones the action before its first step.
    clone = [[f'apt-get update -q && apt-get install -y -q git && git clone -q --depth 1 {SOURCE_URL} {ACTION}']]
    return head, clone + steps_of(described['runs']['steps'], described['inputs'])


def main(source, folder, servers):
    for server in servers:
        head, steps = {'github': github, 'gitlab': gitlab, 'action': action}[server](source)
        for number, lines in enumerate(steps):
            with open(os.path.join(folder, f'{server}.{number}.sh'), 'w', encoding='utf-8') as out:
                out.write('\n'.join([f'cd {WORKSPACE}', *head, *lines]) + '\n')


if __name__ == '__main__':
    if len(sys.argv) < 4:
        sys.exit(__doc__.split('\n', maxsplit=1)[0])
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
