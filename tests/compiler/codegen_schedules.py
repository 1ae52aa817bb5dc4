#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whatever schedules the finished nests of networks have, the results are the same to the bit:
codegen_schedules.py BIN ROUNDS NETWORK...

For each network of the zoo, ROUNDS times: a random one of the legal schedules for each kernel whose space is its finished nest
(schedule_spaces lists them) goes into a log, `vtac compile --tuned` takes it, and the outputs for two inputs are those of the
standard schedules. VTAC_SEED draws others.
"""
import json
import os
import random
import subprocess
import sys
import tempfile


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


def spaces(bin_folder, model, host):
    """(shape, standard point, all points) of each nest; the release and the target's text first."""
    version, target, *lines = run(f"{bin_folder}/schedule_spaces", model, host).splitlines()
    found, kind = [], None
    for line in lines:
        if not line.startswith("\t"):
            kind, shape, standard = line.split("\t")
            found += [(shape, int(standard), [])] if kind == "nest" else []
        elif kind == "nest" and not line.startswith("\t\t"):
            found[-1][2].append(line.split("\t")[2])
    return version, target, found


def outputs(bin_folder, library, seed, folder):
    """The bytes of each output, by its file's name."""
    os.makedirs(folder, exist_ok=True)
    run(f"{bin_folder}/vtac", "run", library, "--seed", str(seed), "--output-dir", folder)
    return {name: open(os.path.join(folder, name), "rb").read() for name in sorted(os.listdir(folder))}


def check(bin_folder, name, rounds, draw, work):
    model = f"{work}/{name}.onnx"
    run(f"{bin_folder}/vtac", "zoo", name, "-o", model)
    version, target, found = spaces(bin_folder, model, "x86-64-v3" if os.uname().machine == "x86_64" else "host")
    host = ["--host", "x86-64-v3"] if os.uname().machine == "x86_64" else []
    run(f"{bin_folder}/vtac", "compile", model, *host, "--no-records", "-o", f"{work}/plain.so")
    plain = [outputs(bin_folder, f"{work}/plain.so", seed, f"{work}/plain{seed}") for seed in (1, 2)]
    taken = 0
    for _ in range(rounds):
        with open(f"{work}/log.jsonl", "w", encoding="utf-8") as log:
            for shape, standard, points in found:
                point = draw.choice(points)
                taken += point != points[standard]
                log.write(json.dumps({"kernel": "nest", "shape": shape, "target": target, "version": version, "point": point,
                                      "cost": 1.0}) + "\n")
        text = run(f"{bin_folder}/vtac", "compile", model, *host, "--no-records", "--tuned", f"{work}/log.jsonl", "--json", "-o",
                   f"{work}/drawn.so")
        assert '"tuned": ' in text, text
        for seed in (1, 2):
            drawn = outputs(bin_folder, f"{work}/drawn.so", seed, f"{work}/drawn{seed}")
            assert drawn == plain[seed - 1], (name, [n for n in drawn if drawn[n] != plain[seed - 1].get(n)])
    return len(found), taken


def main():
    bin_folder, rounds, *names = sys.argv[1:]
    here = os.path.dirname(os.path.abspath(__file__))
    seed = int(run("sh", f"{here}/../lib/seed.sh", "codegen_schedules"))
    print("seed", seed)
    draw = random.Random(seed)
    total = 0
    with tempfile.TemporaryDirectory() as work:
        for name in names:
            count, taken = check(bin_folder, name, int(rounds), draw, work)
            print(f"{name}: {count} nests with a choice, {taken} times another schedule", flush=True)
            total += taken
    assert total > 0


main()
