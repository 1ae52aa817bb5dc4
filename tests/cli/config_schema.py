# SPDX-License-Identifier: Apache-2.0
"""Configurations with one or two keys changed at random, judged by the schema that vtac prints (through Debian's jsonschema) and
by vtac itself: what the schema refuses, vtac refuses, and what vtac refuses for one key's sake, the schema refuses. Then the
shipped ones. Arguments: SEED VTAC CONFIGS"""
import glob
import json
import random
import subprocess
import sys

import jsonschema

seed, vtac, folder = sys.argv[1:]
chance = random.Random(seed)
schema = json.loads(subprocess.run([vtac, "config", "schema"], check=True, capture_output=True).stdout)
jsonschema.Draft202012Validator.check_schema(schema)
judge = jsonschema.Draft202012Validator(schema)
OF_ONE_KEY = ("out of range", "it must be", "unknown key", "illegal character", "characters (1 to", "set the same value")


def changed(config):
    config, keys = dict(config), list(schema["properties"])
    for _ in range(chance.randint(1, 2)):
        key = chance.choice(keys + ["LOG_BLOCK", "LOG_BLOK"])
        rule = schema["properties"].get(key, {})
        edges = [rule.get(edge, 0) + by for edge in ("minimum", "maximum") for by in (-1, 0, 1)]
        config[key] = chance.choice(edges + [2.5, 4.0, True, None, "", "x", "a b", 'say "it"', "back\\slash", "n\u00e4me", "y" * 63, "z" * 64, [1], {}])
    return config


shipped = [json.load(open(path)) for path in sorted(glob.glob(folder + "/*.json"))]
assert len(shipped) > 4 and all(judge.is_valid(config) for config in shipped)
drawn = refused = accepted = 0
while drawn < 100 or refused <= 25 or accepted <= 5:  # most draws are refused: go on until both kinds were judged
    assert drawn < 2000, (refused, accepted)
    config = changed(chance.choice(shipped))
    with open("random.json", "w") as file:
        json.dump(config, file)
    done = subprocess.run([vtac, "config", "check", "./random.json"], capture_output=True, text=True)
    valid = judge.is_valid(config)
    said = done.stderr
    assert valid or done.returncode == 1, (config, list(judge.iter_errors(config)), done.stdout)
    assert not valid or not any(words in said for words in OF_ONE_KEY), (config, said)
    drawn, refused, accepted = drawn + 1, refused + (not valid), accepted + (done.returncode == 0)
print("%d of %d refused by the schema, %d accepted by vtac" % (refused, drawn, accepted))
