#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Language models in Go and in Java: what a small model of the demo says there, greedy and drawn, behind several prompts, is what vtac says; what
cannot be is one sentence, and the generator speaks behind it as before (speak.go, Speak.java).

usage: speakers.py VTAC TALES BUILD SOURCE LANGUAGE     (exit status 77: the language is not there)
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

VTAC, TALES, BUILD, SOURCE = map(os.path.abspath, sys.argv[1:5])
LANGUAGE = sys.argv[5]
sys.path.insert(0, os.path.join(SOURCE, "tests/compiler"))
import word_seed  # noqa: E402

LIBRARIES = os.path.join(BUILD, "lib")
PROMPTS = ["Tom has a red ball.", "Mia", "Who has the lamp?", "Zoe goes to the park. Where is"]
TOKENS = 16


def run(words, **how):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=280, **how)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.stdout}")
    return done.stdout


def go():
    """The program's words, and its environment: cgo finds the libraries of the build by a pkg-config file of its own."""
    bindings = os.path.join(SOURCE, "runtime/bindings/go")
    headers = ["isa/include", "isa/base/include", "driver/include", "runtime/include", "runtime/generate/include"]
    os.mkdir("go")
    shutil.copy(os.path.join(SOURCE, "tests/bindings/speak.go"), "go/speak.go")
    os.mkdir("pc")
    with open("pc/vta.pc", "w", encoding="utf-8") as file:
        file.write("Name: vta\nDescription: of the build\nVersion: 1.0.0\n"
                   f"Cflags: {' '.join('-I' + os.path.join(SOURCE, name) for name in headers)}\nLibs: -L{LIBRARIES} -lvta\n")
    with open("go/go.mod", "w", encoding="utf-8") as file:
        file.write(f'module speak\n\ngo 1.19\n\nrequire vtac.invalid/vta v1.0.0\n\nreplace vtac.invalid/vta => "{bindings}"\n')
    environment = {**os.environ, "PKG_CONFIG_PATH": os.path.abspath("pc"), "GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOSUMDB": "off",
                   "GOCACHE": os.path.join(BUILD, "go"), "GOPATH": os.path.abspath("gopath"), "LD_LIBRARY_PATH": LIBRARIES}
    wrong = run(["gofmt", "-l", bindings, "go"])
    if wrong:
        sys.exit(f"gofmt writes it otherwise: {wrong}")
    run(["go", "vet", "."], cwd="go", env=environment)
    run(["go", "build", "-o", "../speak", "."], cwd="go", env=environment)
    return [os.path.abspath("speak")], {**environment, "GODEBUG": "cgocheck=2"}


def java():
    jar = os.path.join(LIBRARIES, "vta.jar")
    run(["javac", "-Xlint:all", "-Werror", "--release", "17", "-d", "java", "-cp", jar, os.path.join(SOURCE, "tests/bindings/Speak.java")])
    return ["java", "-Xcheck:jni", f"-Djava.library.path={LIBRARIES}", "-cp", f"{jar}:{os.path.abspath('java')}", "Speak"], {**os.environ, "LD_LIBRARY_PATH": LIBRARIES}


def main():
    if shutil.which({"go": "go", "java": "javac"}[LANGUAGE]) is None:
        print(f"no {LANGUAGE}")
        return 77
    rng = random.Random(word_seed.told())
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as work:
        os.chdir(work)
        run([TALES, "train", "--steps", "20", "-o", "tale.onnx"])
        run([VTAC, "compile", "tale.onnx", "--context", "64", "-o", "step.so"])
        program, environment = {"go": go, "java": java}[LANGUAGE]()
        for temperature, k, p in (("0", "0", "0"), ("1.2", "7", "0.8")):
            seed, prompts = str(rng.randint(1, 1000000)), rng.sample(PROMPTS, 2)
            said = run(program + ["step.so", temperature, k, p, seed, str(TOKENS)] + prompts, env=environment).splitlines()
            for prompt, line in zip(prompts, said):
                want = json.loads(run([VTAC, "run", "step.so", "--generate", str(TOKENS), "--prompt", prompt, "--ignore-end", "--json", "--seed", seed,
                                       "--temperature", temperature, "--top-k", k, "--top-p", p]))
                ids, text = line.split("|")
                if [int(word) for word in ids.split()] != want["ids"] or bytes.fromhex(text).decode() != want["text"]:
                    sys.exit(f"{LANGUAGE}, seed {seed}, '{prompt}': {line}, expected {want}")
            if len(said) != len(prompts):
                sys.exit(f"{LANGUAGE}: {said}")
        os.chdir("/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
