# SPDX-License-Identifier: Apache-2.0
"""The type stubs of the compiler's verbs against the verbs: each option of `vtac VERB --help` is a keyword of its function in
__init__.pyi, a flag as `bool`, and there is no other keyword. Fails when a verb gets or loses an option and the stub does not.
Arguments: VTAC STUB"""
import ast
import re
import subprocess
import sys

vtac, stub = sys.argv[1:]
# Options that a function always gives itself, or takes by another name.
OWN = {"compile": {"o", "json"}, "quantize": {"o", "json"}, "tune": set(), "verify": {"json"}}
OTHER = {"compile": {"output"}, "quantize": {"output"}, "tune": set(), "verify": set()}
COMMON = {"model", "progress", "notes"}
# Options that print texts in place of the answer.
PRINTS = {"compile": {"list_passes"}}


def options(verb):
    """name → whether it is a flag, from the verb's help"""
    found = {}
    for line in subprocess.run([vtac, verb, "--help"], check=True, capture_output=True, text=True).stdout.splitlines():
        match = re.match(r"  --?([A-Za-z][a-z-]*)(?: ([A-Z][A-Za-z0-9|:=.]*|[a-z]+\|[a-z]+))?  +\S", line)
        if match:
            found[match[1].replace("-", "_")] = match[2] is None
    return found


functions = {node.name: node for node in ast.parse(open(stub, encoding="utf-8").read()).body if isinstance(node, ast.FunctionDef)}
wrong = []
for verb in OWN:
    told = options(verb)
    assert len(told) > 5, (verb, told)
    arguments = functions[verb].args
    named = {a.arg: ast.unparse(a.annotation) for a in arguments.args + arguments.kwonlyargs}
    wanted = set(told) - OWN[verb] - PRINTS.get(verb, set())
    wrong += ["%s: the stub lacks '%s'" % (verb, name) for name in sorted(wanted - set(named))]
    wrong += ["%s: vtac has no '%s'" % (verb, name) for name in sorted(set(named) - wanted - COMMON - OTHER[verb])]
    wrong += ["%s: '%s' is %sa flag in vtac" % (verb, name, "" if told[name] else "not ") for name in sorted(wanted & set(named))
              if told[name] != (named[name] == "bool")]
    assert arguments.kwarg is None, "%s takes any keyword" % verb
for line in wrong:
    print(line)
sys.exit(1 if wrong else 0)
