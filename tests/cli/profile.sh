#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# vtac run --profile: the page, its data, the trace. All three hold what `run --layers --json` says of the same model; every
# cycle is in one class of one layer. Where there is a chromium, the page draws all of it.
. "$(dirname "$0")/lib.sh"

"$vtac_program" zoo tiny_ic --int8 -o net.onnx >/dev/null && "$vtac_program" compile net.onnx --target vta -o net.so >/dev/null &&
    "$vtac_program" compile net.onnx --target vta --config tiny -o tiny.so >/dev/null &&
    "$vtac_program" compile net.onnx -o host.so >/dev/null || exit 1
cat >judge.py <<'END'
import json, re, sys
kind, table = sys.argv[1], json.load(open('table.json'))
page = open('p.html', encoding='utf-8').read()
assert not re.search(r'https?://(?!www\.w3\.org/2000/svg)|<link|<img|src=|@import|url\(', page), 'the page refers to something outside'
assert page.count('<script') == page.count('</script>') == 2
data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))
same = json.load(open('p.json'))
assert data == same, 'the page and the JSON differ'
assert [s['name'] for s in data['steps']] == [s['name'] for s in table['steps']]
assert all(s['us'] > 0 for s in data['steps'])
names = [c['name'] for c in data['classes']]
assert [l['name'] for l in data['layers']] == [l['name'] for l in table['layers']], 'other layers'
assert [l['predicted'] for l in data['layers']] == [l['predicted'] for l in table['layers']], 'other predictions'
assert sum(l['predicted'] for l in data['layers']) == data['predicted']
trace = json.load(open('p.trace.json'))['traceEvents']
slices = [e for e in trace if e['ph'] == 'X']
host = [e for e in slices if e['pid'] == 1]
assert [e['name'] for e in host] == [s['name'] for s in data['steps']]
assert all(abs(a['ts'] + a['dur'] - b['ts']) < 1e-3 for a, b in zip(host, host[1:])), 'host steps have gaps'
spans = data['timeline']['spans']
if kind == 'host':
    assert not data['layers'] and not spans and data['cycles'] == 0 and data['config'] is None and len(slices) == len(host)
else:
    assert data['config']['name'] == ('tiny' if kind == 'systemc' else 'pynq') and data['predicted'] > 1000 and data['macs'] > 1e6
if kind == 'fsim':
    assert data['cycles'] == 0 and not spans and not any(any(l['split']) for l in data['layers'])
if kind in ('tsim', 'systemc'):
    assert data['cycles'] == table['cycles'] > data['predicted'] / 2, 'cycles are missing'
    insns = [(s[0], s[4]) for s in spans]
    assert len(insns) == len(set(insns)) == data['memory']['program'] / 16, 'the timeline lacks instructions'
    assert sorted(i for u, i in insns) == list(range(len(insns)))
    assert max(s[2] + s[3] for s in spans) <= data['cycles'] + 16 and min(s[2] for s in spans) >= 0
    assert {s[5] for s in spans if s[5] < len(data['layers']) - 1} == {i for i, l in enumerate(data['layers'][:-1]) if not l['joined']}
    assert sum('insn' in e.get('args', {}) for e in slices) == len(spans), 'the trace lacks instructions'
    launch = next(e for e, s in zip(host, data['steps']) if s['on_accelerator'])
    layers = [e for e in slices if e['pid'] == 2 and e['tid'] == 0]
    assert all(launch['ts'] - 1e-3 <= e['ts'] <= launch['ts'] + launch['dur'] + 1 for e in layers), 'layers outside their launch'
if kind == 'tsim':
    assert data['cycles'] == sum(l['cycles'] for l in data['layers']), 'cycles are missing'
    for l, t in zip(data['layers'], table['layers']):
        assert sum(l['split']) == l['cycles'] == t['cycles'], l
        assert dict(zip(names, l['split'])) == t['split'], l
    assert [e['name'] for e in layers] == [l['name'] for l in data['layers'] if l['cycles']]
    assert abs(sum(e['dur'] for e in layers) * data['config']['clock_mhz'] - data['cycles']) < 1
dots = sum(l['macs'] > 0 and l['bytes_read'] + l['bytes_written'] > 0 and (l['cycles'] if kind == 'tsim' else l['predicted']) > 0 for l in data['layers'])
print(f"{len(data['layers'])} layers, {len(data['steps'])} steps, {len(spans)} instructions, {dots} dots")
END

chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || chromium=
browse() { HOME=$work timeout 120 "$chromium" --headless --no-sandbox --disable-gpu --window-size=1400,1600 "$@" 2>browser.log; }

# look KIND DEVICE MODEL: each with two inputs.
look() {
    for seed in 1 2; do
        # shellcheck disable=SC2086
        vtac run "$3" $2 --seed $seed --layers --steps --json --profile p.html --profile p.json --profile p.trace.json
        exits 0
        good_json out
        cp out table.json
        holds "the profile of $1, seed $seed" python3 judge.py "$1"
        python3 judge.py "$1" >drawn 2>/dev/null
    done
    [ -n "$chromium" ] || return 0
    browse --virtual-time-budget=3000 --dump-dom "file://$work/p.html" >dom
    holds "chromium draws the page of $1: $(cat drawn)" grep -q "data-drawn=\"$(cat drawn)\"" dom
    browse --screenshot="$work/shot.png" "file://$work/p.html" >/dev/null
    holds "the picture of $1 is not blank" test "$(wc -c <shot.png)" -gt 20000
}
look tsim '--device tsim' net.so
look fsim '--device fsim' net.so
look systemc '--device systemc:tiny' tiny.so # the simulator of other tests
look host '' host.so
[ -n "$chromium" ] || echo 'no chromium here: the pages were not drawn'

# Inferences a second are a board's: the accelerator's cycles and what explain says of the processor beside it, not this machine's.
"$vtac_program" zoo tiny_ad --int8 -o ad.onnx >/dev/null && "$vtac_program" compile ad.onnx --target vta -o ad.so >/dev/null || exit 1
one_board() { # MODEL.onnx MODEL.so CONFIG
    vtac explain "$1" --config "$3" --json
    exits 0
    cp out explained.json
    for device in fsim tsim; do
        vtac run "$2" --device $device:"$3" --profile p.json
        exits 0
        holds "a board's inferences a second: $1 on $device:$3" python3 -c '
import json
told, profile = (json.load(open(name)) for name in ("explained.json", "p.json"))
clock = 1e6 * profile["config"]["clock_mhz"]
cycles = profile["cycles"] or profile["predicted"]
assert profile["simulated"] and profile["processor"] == "pynq" and told["cycles"] == profile["predicted"], profile["processor"]
assert told["host_stays_cycles"] > 0 and abs(profile["host_estimate_s"] * clock - told["host_stays_cycles"]) <= 0.5, told["host_stays_cycles"]
assert abs(profile["inferences_per_s"] * (cycles / clock + profile["host_estimate_s"]) - 1) < 1e-3, profile["inferences_per_s"]'
    done
}
one_board net.onnx net.so pynq
one_board net.onnx tiny.so tiny
one_board ad.onnx ad.so pynq
vtac run ad.so --device "pipe:$(dirname "$vtac_program")/vtac-agent --stdio?device=fsim" --profile p.json
holds "through an agent neither clock nor estimate are known, and no rate is said" python3 -c '
import json
profile = json.load(open("p.json"))
assert (profile["processor"], profile["host_estimate_s"], profile["inferences_per_s"]) == ("", 0, 0) and profile["simulated"], profile'

mkdir tmp
export TMPDIR="$work/tmp"

# The last of several runs; the simulator's own timeline stays possible.
vtac run net.so --device tsim --repeat 3 --json --layers --steps --profile p.html --profile p.json --profile p.trace.json
cp out table.json
holds "the third of three runs" python3 judge.py tsim
vtac run net.so --device 'tsim?timeline=mine.json' --profile p.json
refused 1 "--profile has the timeline in it; leave it out of 'tsim?timeline=mine.json'"
vtac run net.so --profile p.txt
refused 2 "--profile takes one model and a file .html, .json or trace.json"
vtac run net.so host.so --profile p.json
refused 2 "--profile takes one model"
rm -f p.json
vtac run net.so --device tsim --profile nowhere/p.json
exits 1
says err "nowhere/p.json"
holds "no timeline is left behind" [ -z "$(ls -A "$TMPDIR")" ]
finish
