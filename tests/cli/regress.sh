#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh disable=SC2016  # for the inner shell
#
# vtac regress: what passes, what each kind of failure says, the files that it writes, and the snippets for build servers
# and the action, which are parsed and whose commands are run. Arguments: VTAC SOURCE
. "$(dirname "$0")/lib.sh"
snippets=$source/compiler/cli/regress/ci

small_net small.onnx 6 5 1
cat >suite.json <<'X'
{"models": [{"name": "first", "file": "small.onnx"}, {"name": "second", "file": "small.onnx"}],
 "configs": ["tiny"], "devices": ["fsim", "tsim"], "seeds": [3, 4]}
X
cases() { python3 -c 'import json, sys; print(*sorted(c["outcome"] for c in json.load(open("out"))["cases"]))'; }

# ---- a first run makes the baseline, a second is held against it
vtac regress suite.json --baseline cycles.json
refused 1 "cannot open 'cycles.json'"
vtac regress suite.json --baseline cycles.json --update --junit one.xml --history past.jsonl --label one
exits 0
says out "4 passed, 0 failed"
cp cycles.json kept.json
vtac regress suite.json --baseline cycles.json --junit two.xml --html page.html --history past.jsonl --label two --jobs 1 --json
exits 0
holds "all pass, and are counted" test "$(cases)" = "passed passed passed passed"
holds "the same cycles, whatever the number of jobs" python3 - <<'X'
import json
now = {f"{c['model']}/{c['config']}/{c['device']}": c["cycles"] for c in json.load(open("out"))["cases"] if c["cycles"]}
assert now == json.load(open("cycles.json"))["cycles"] and len(now) == 2, now
past = [json.loads(line) for line in open("past.jsonl")]
assert [p["label"] for p in past] == ["one", "two"] and past[0]["cycles"] == past[1]["cycles"] == now, past
X
holds "JUnit's XML parses" python3 - <<'X'
import xml.etree.ElementTree as tree
suite = tree.parse("two.xml").getroot().find("testsuite")
assert suite.get("tests") == "4" and suite.get("failures") == "0" and len(suite.findall("testcase")) == 4
X
holds "the page has every case" sh -c 'grep -cE "\"key\": \"(first|second)" page.html | grep -qx 4'

# ---- the same by a shared folder, by ranks of MPI, and where a worker dies
plain() { python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
for c in d["cases"]: c.pop("seconds")
print(json.dumps(d, sort_keys=True))' "$1"; }
plain out >one.plain
by_folder() { # a leader, who waits for whoever joins, and one who does
    "$vtac_program" regress suite.json --baseline cycles.json --folder shared --json >folder.json 2>folder.err &
    leader=$!
    # An earlier leader may have left its end, which whoever joins too early finds.
    until { [ -d shared/results ] && [ ! -e shared/end ]; } || ! kill -0 $leader 2>/dev/null; do sleep 0.05; done
    vtac regress suite.json --baseline cycles.json --join shared
    exits 0
    silent out
    holds "a leader with a helper ends well" wait $leader
    plain folder.json >folder.plain
    holds "a folder's results are those of one process" cmp one.plain folder.plain
}
by_folder
lost=$(basename "$(find shared/results -type f | sort | head -n 1)")
rm "shared/results/$lost" "shared/claims/$lost"
by_folder # goes on from there
sed 's/"seeds": \[3, 4\]/"seeds": [5]/' suite.json >other.json
vtac regress other.json --folder shared
refused 1 "shared"
if command -v mpirun >/dev/null && [ -e "$(dirname "$vtac_program")/../lib/libvtac_mpi.so" ]; then
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ASAN_OPTIONS=detect_leaks=0 mpirun -n 3 --oversubscribe "$vtac_program" regress suite.json --baseline cycles.json --json >ranks.json 2>ranks.err
    status=$?
    holds "ranks end well" test $status -eq 0
    plain ranks.json >ranks.plain
    holds "the results of ranks are those of one process" cmp one.plain ranks.plain
fi
"$vtac_program" regress suite.json --baseline cycles.json --jobs 2 --json >killed.json 2>killed.err &
leader=$!
worker=
until [ -n "$worker" ] || ! kill -0 $leader 2>/dev/null; do
    sleep 0.02
    worker=$(cut -d' ' -f1 "/proc/$leader/task/$leader/children" 2>/dev/null)
done
holds "there is a worker" kill -KILL "$worker"
holds "a worker that dies costs nothing" wait $leader
plain killed.json >killed.plain
holds "and changes nothing" cmp one.plain killed.plain

# ---- slower than the baseline, beyond the tolerance and within it
python3 - <<'X'
import json
kept = json.load(open("kept.json"))
for key in kept["cycles"]:
    kept["cycles"][key] = int(kept["cycles"][key] * (0.99 if "first" in key else 0.998))
json.dump(kept, open("slow.json", "w"))
X
vtac regress suite.json --baseline slow.json --junit slow.xml --json
exits 1
holds "one case is slower" test "$(cases)" = "passed passed passed slower"
holds "JUnit says so" grep -q 'failure type="slower" message="[0-9]* cycles, 1.0. % more' slow.xml

sed 's/"name": "first",/"name": "first", "tolerance": 1.5,/' suite.json >wide.json
vtac regress wide.json --baseline slow.json --json
exits 0
holds "a model has a tolerance of its own" test "$(cases)" = "passed passed passed passed"

# ---- the cycles of other hardware behind the same name
vtac config show tiny --json
sed 's/"LOG_INP_BUFF_SIZE" *: *[0-9]*/"LOG_INP_BUFF_SIZE": 14/' out >hardware.json
sed 's|"tiny"\]|"./hardware.json"]|; s/, {"name": "second"[^}]*}//; s/, "tsim"//' suite.json >moved.json
vtac regress moved.json --baseline moved.cycles --update
exits 0
sed -i 's/"MEM_LATENCY" *: *[0-9]*/"MEM_LATENCY": 65/' hardware.json
vtac regress moved.json --baseline moved.cycles
refused 1 "moved.cycles: its cycles of configuration './hardware.json' are those of other hardware or of another memory"
vtac regress moved.json --baseline moved.cycles --update
exits 0
vtac regress moved.json --baseline moved.cycles
exits 0

# ---- two runs at once add to the same history; what cannot be written is told before the work
for run in 1 2 3 4; do "$vtac_program" regress moved.json --history both.jsonl --label $run >/dev/null 2>&1 & done
wait
holds "each has a line of its own" python3 -c '
import json
assert sorted(json.loads(line)["label"] for line in open("both.jsonl")) == ["1", "2", "3", "4"]'
for option in --junit --html --history; do
    vtac regress suite.json $option nowhere/file
    refused 1 "cannot write 'nowhere/file'"
    silent out
done
vtac regress suite.json --html .
refused 1 "cannot write '.': it is a folder"
sed 's/"fsim", "tsim"/"xsim"/' suite.json >device.json
vtac regress device.json
exits 1
says out "unknown device 'xsim'"
holds "as a sentence" sh -c '! grep -q message out'

# ---- a reference of one's own, right and wrong
vtac zoo tiny_ad --int8 -o mine.onnx
vtac compile mine.onnx -o mine.so
cat >own.json <<'X'
{"models": [{"name": "good", "file": "mine.onnx", "seeds": 1}], "configs": ["tiny"]}
X
vtac regress own.json
refused 1 "own.json: model 'good': unknown key 'seeds'"
vtac inspect mine.onnx
grep -o 'f32\[[0-9,]*\]' out | head -n 1 >shape.txt
python3 - <<'X'
import random
import re
import struct
shape = tuple(int(n) for n in re.findall(r"\d+", open("shape.txt").read().replace("f32", "")))
count = 1
for n in shape:
    count *= n
header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode()
header += b" " * (63 - (len(header) + 10) % 64) + b"\n"
for seed in (1, 2):
    random.seed(seed)
    with open(f"in{seed}.npy", "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
        out.write(struct.pack(f"<{count}f", *(random.uniform(-1, 1) for _ in range(count))))
X
for seed in 1 2; do
    vtac run mine.so --input in$seed.npy --output-dir want$seed
    exits 0
    mv want$seed/*.npy want$seed.npy
done
holds "other inputs, other outputs" sh -c '! cmp -s want1.npy want2.npy'
cat >own.json <<'X'
{"models": [{"name": "good", "file": "mine.onnx", "data": [{"inputs": ["in1.npy"], "outputs": ["want1.npy"]},
                                                             {"inputs": ["in2.npy"], "outputs": ["want2.npy"]}]},
            {"name": "bad", "file": "mine.onnx", "data": [{"inputs": ["in1.npy"], "outputs": ["want1.npy"]},
                                                            {"inputs": ["in2.npy"], "outputs": ["want1.npy"]}]}],
 "configs": ["tiny"], "devices": ["fsim"]}
X
mkdir elsewhere
(cd elsewhere && "$vtac_program" regress ../own.json --json) >out 2>err
status=$?
exits 1
holds "the second set of data is compared, too" test "$(cases)" = "passed wrong"
says out "differs by up to"

# ---- a model that cannot be read, a command that takes too long
echo no >broken.onnx
cat >broken.json <<'X'
{"models": [{"name": "broken", "file": "broken.onnx"}, {"zoo": "tiny_ad", "int8": true}], "configs": ["tiny"], "devices": ["fsim"]}
X
vtac regress broken.json --baseline cycles.json --update --json
exits 1
holds "one is broken, the other passes" test "$(cases)" = "broken passed"
holds "a baseline takes nothing from a broken run" cmp cycles.json kept.json
sed 's/"seeds": \[3, 4\]/"timeout": 0.001/' suite.json >short.json
vtac regress short.json --json
exits 1
holds "none has the time" test "$(cases)" = "broken broken broken broken"
says out "did not end within 0.001 s"

# ---- an interrupt ends its commands and takes its files along
mkdir tmp
echo '{"models": [{"zoo": "tiny_ic", "int8": true}], "configs": ["tiny"], "devices": ["fsim", "tsim"]}' >longer.json
TMPDIR=$work/tmp "$vtac_program" regress longer.json >out 2>err &
pid=$!
tries=0
until [ -n "$(ls tmp)" ] || [ $tries -gt 200 ]; do
    tries=$((tries + 1))
    sleep 0.05
done
kill -TERM $pid
wait $pid
status=$?
exits 130
holds "no file is left" test -z "$(ls tmp)"

# ---- mistakes
printf '{"models": [{"name": "n\351 \303\251 <&>", "file": "n\351.onnx"}], "configs": ["tiny"], "devices": ["fsim"]}' >bytes.json
vtac regress bytes.json --junit bytes.xml
exits 1
holds "JUnit's XML parses whatever bytes a name has" python3 - <<'X'
import xml.etree.ElementTree as tree
assert tree.parse("bytes.xml").getroot().find("testsuite/testcase").get("classname") == "n? \u00e9 <&>"
X
echo '{"models": [' >cut.json
vtac regress cut.json
refused 1 "cut.json:1: this is no JSON"
echo '{"model": []}' >key.json
vtac regress key.json
refused 1 "key.json: unknown key 'model'; is it 'models'?"
echo '{"models": [{"zoo": "tiny_ad"}, {"zoo": "tiny_ad"}]}' >twice.json
vtac regress twice.json
refused 1 "twice.json: model 'tiny_ad': the name is used twice"
echo '{"models": [{"name": "x"}]}' >none.json
vtac regress none.json
refused 1 "none.json: model 'x': needs 'zoo' or 'file', one of them"
vtac regress suite.json --jobs 0
refused 2 "expected a number from 1 to 4096"
vtac regress suite.json --update
refused 2 "'--update' writes the file that '--baseline FILE' names"

# ---- the snippets for build servers: their commands, run here
mkdir bin
ln -s "$vtac_program" bin/vtac
PATH=$work/bin:$PATH
python3 - "$snippets" "$source" <<'X' || wrong "the snippets do not parse"
import json
import os
import re
import sys
import yaml
folder = sys.argv[1]
github = yaml.safe_load(open(f"{folder}/github.yml"))
steps = github["jobs"]["regress"]["steps"]
assert True in github or "on" in github # YAML reads the bare word as a truth
commands = [s["run"] for s in steps if "run" in s and "install" not in s["name"].lower()]
assert len(commands) == 2 and any(s.get("uses", "").startswith("actions/checkout") for s in steps)
got, kept = (next(s for s in steps if s.get("uses", "").startswith(f"actions/cache/{what}@")) for what in ("restore", "save"))
assert "history.jsonl" in kept["with"]["path"] and kept["if"] == "always()" and "run_id" in kept["with"]["key"], kept
assert all(got["with"][k] == kept["with"][k] for k in ("path", "key")) and got["with"]["key"].startswith(got["with"]["restore-keys"])
open("github.sh", "w").write("set -e\n" + "\n".join(commands))
gitlab = yaml.safe_load(open(f"{folder}/gitlab.yml"))["regress"]
assert gitlab["artifacts"]["reports"]["junit"] == "regress.xml"
assert gitlab["cache"]["when"] == "always" and "history.jsonl" in gitlab["cache"]["paths"]
open("gitlab.sh", "w").write("set -e\n" + "\n".join(gitlab["script"]))
where = f"{sys.argv[2]}/.github/actions/regress"
action = yaml.safe_load(open(f"{where}/action.yml"))
steps = action["runs"]["steps"]
assert action["runs"]["using"] == "composite" and all(s["shell"] == "sh" for s in steps)
value = lambda text: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda m: action["inputs"][m.group(1)]["default"], text)
folder = re.search(r'\$GITHUB_ACTION_PATH/([./]+)"', steps[0]["run"]).group(1)
assert os.access(f"{where}/{folder}/run", os.X_OK), folder # what the first step calls
lines = [f"export {name}='{value(given)}'" for s in steps for name, given in s.get("env", {}).items()]
open("action.sh", "w").write("\n".join(["set -e", *lines, *[s["run"] for s in steps[1:]]]))
box = json.load(open(f"{sys.argv[2]}/.devcontainer/devcontainer.json"))
assert box["image"] == "debian:12" and "./run build" in box["postCreateCommand"], box
X
for server in github gitlab action; do
    rm -f regress.xml regress.html
    ran="the commands for $server"
    GITHUB_SHA=abc CI_COMMIT_SHA=abc sh $server.sh >out 2>err
    status=$?
    exits 0
    says out "known answer"
    says out "4 passed, 0 failed"
    holds "$server: results and page are there" test -s regress.xml -a -s regress.html
done
vtac doctor --ci
exits 0
says out "processors"
PATH=$work/bin vtac doctor --ci
exits 1
says out "FAILED  verilator       not in PATH"
finish
