#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# explore.sh VTAC SOURCE: vtac explore. The front is what a plain search finds, the same by one process, three, ranks and a folder;
# its cycles are those that `vtac compile` predicts; its files are configurations.
. "$(dirname "$0")/../cli/lib.sh"

space='--models tiny_ic,tiny_kws --fix LOG_BLOCK_IN=3,4 --fix LOG_BLOCK_OUT=3,4 --fix LOG_UOP_BUFF_SIZE=13 --fix LOG_INP_BUFF_SIZE=14
       --fix LOG_WGT_BUFF_SIZE=14,15 --fix LOG_ACC_BUFF_SIZE=13,14 --fix ARRAY_PUMP=1,2 --fix LOG_QUEUE_DEPTH=6
       --fix TABLE=1 --fix LOOP_BACK=1 --fix DEPTHWISE_TAPS=9'
# shellcheck disable=SC2086  # words
vtac explore $space --jobs 1 -o one
exits 0
silent err
says out "configurations on xc7z020"
says out "area by a fit to"
says out "ISSCC 2014"
holds "every energy is on the terminal" sh -c 'grep -c " pJ (" out | grep -qx "$(grep -c "^VTAC_ENERGY(" "$1/compiler/src/explore/energy.def")"' sh "$source"
says out "best1 beside pynq, pictures a second: tiny_ic "
says out "mJ a picture: 1.66 W, the mean of 4 measurements of boards with xc7z020 (1.60 to 1.76 W), ± 7 %"
# A DRAM: slower memory, fewer pictures; the configurations have it.
# shellcheck disable=SC2086  # words
vtac explore $space --limit 4 --jobs 1 -o flat
says out "memory: 1470 MB/s for both directions"
# shellcheck disable=SC2086  # words
vtac explore $space --limit 4 --jobs 1 --dram hyperram-400 -o narrow
exits 0
says out "memory: hyperram-400, 400 MB/s at its peak, of which best1 takes"
holds "the configuration has its DRAM" grep -q '"DRAM" : "hyperram-400"' narrow/best1.json
holds "less memory, fewer pictures" python3 -c 'import json
flat, narrow = (json.load(open(f"{x}/front.json"))["points"] for x in ("flat", "narrow"))
assert max(p["fps"] for p in narrow) < max(p["fps"] for p in flat)'
# More configurations than memory is kept for; some of the same space are looked at.
python3 -c 'import json; json.dump({"LOG_%s_BUFF_SIZE" % b: list(range(9, 16)) for b in ("UOP", "INP", "WGT", "ACC")} | {
    "LOG_QUEUE_DEPTH": list(range(3, 10)), "CLOCK_MHZ": list(range(50, 150, 5))}, open("many.json", "w"))'
vtac explore --models tiny_kws --space many.json --part xczu7ev
refused 1 "vtac: more than 200000 configurations fit the part; fix some keys, or look at some of them by '--limit N'"
vtac explore --models tiny_kws --space many.json --part xczu7ev --limit 8
exits 0
vtac explore --models tiny_ic --limit 1 --dram ddr9 -o never
exits 1
says err "no kind of DRAM is called 'ddr9'"
cat >power.py <<'END'
import json, re, sys

d, watts = json.load(open(sys.argv[1])), [float(w) for w in sys.argv[2:]]
mean = sum(watts) / len(watts)
missed = max(abs((sum(watts) - w) / (len(watts) - 1) / w - 1) for w in watts)
assert sorted(m["watts"] for m in d["power"]["measurements"]) == sorted(watts), d["power"]
assert abs(d["power"]["watts"] / mean - 1) < 1e-3 and abs(d["power"]["error"] - missed) < 1e-3, (d["power"], mean, missed)
for p in d["points"] + [s for s in d["shipped"] if s["runs"]]:
    assert abs(p["board_energy"] * p["fps"] / mean - 1) < 1e-3, p["name"]
END
holds "a board's energy is its watts times the time" python3 power.py one/front.json 1.62 1.67 1.76 1.60
printf '# at the plug\n\nxc7z020 2.5 our board, networks all day\r\necp5-85 0.9 another\n' >watts.txt
# shellcheck disable=SC2086  # words
vtac explore $space --limit 4 --jobs 1 --power watts.txt -o metered
exits 0
says out "2.50 W: our board, networks all day"
holds "a meter's watts count with the others" python3 power.py metered/front.json 1.62 1.67 1.76 1.60 2.5
vtac explore --models tiny_ic --part ecp5-85 --limit 1 --jobs 1 --power watts.txt
says out "mJ a picture: 0.90 W, one measurement of a board with ecp5-85: its error is unknown"
vtac explore --models tiny_ic --part ecp5-85 --limit 1 --jobs 1
says out "mJ a picture: nobody has measured a board with ecp5-85"
for line in 'xc7z020' 'xc7z020 watts mine' 'xc7z020 -1 mine' 'xc7z020 1.7' 'xc7z999 1.7 mine' 'xc7z020 nan mine'; do
    printf '# fine\n%s\n' "$line" >bad.txt
    vtac explore --models tiny_ic --limit 1 --power bad.txt -o never
    exits 1
    says err "bad.txt: line 2: expected a part"
done
holds "nothing was written" test ! -e never
# The energy of a run by explain: watts times the time of the accelerator and of the host.
vtac zoo tiny_ic --int8 -o ic.onnx
vtac explain ic.onnx --json
cp out explained.json
holds "the energy of a run" python3 -c 'import json
e = json.load(open("explained.json"))
b = e["board"]
stays = sum(n["host_cycles"] for n in e["nodes"] if n["where"] == "host")
assert b["part"] == "xc7z020" and b["measurements"] == 4 and abs(e["host_stays_cycles"] - stays) <= len(e["nodes"])
assert abs(b["joules"] / ((e["cycles"] + stays) / 100e6 * b["watts"]) - 1) < 1e-3'
# Changed keys: each row is what explain says of such a configuration.
vtac explain ic.onnx --json --what-if LOG_BLOCK_IN=3,5 --what-if "LOG_INP_BUFF_SIZE=14 LOG_ACC_BUFF_SIZE=16" --what-if LOG_BLOCK_OUT=5
cp out changed.json
cat >changed.py <<'END'
import json, subprocess, sys

vtac, shipped = sys.argv[1:]
d, base = json.load(open("changed.json")), json.load(open(shipped))
rows = d["what_if"]
assert [r["change"] for r in rows] == ["", "LOG_BLOCK_IN=3", "LOG_BLOCK_IN=5", "LOG_INP_BUFF_SIZE=14 LOG_ACC_BUFF_SIZE=16", "LOG_BLOCK_OUT=5"], rows
assert rows[0]["cycles"] == d["cycles"] and rows[0]["note"] == "" and abs(rows[0]["joules"] / d["board"]["joules"] - 1) < 1e-3
assert not rows[1]["legal"] and rows[1]["note"].startswith("keys 'LOG_ACC_BUFF_SIZE' 17"), rows[1]
assert rows[2]["note"].split(", ")[0] == "DSP %.0f of 200" % rows[2]["dsp"] and rows[2]["lut"] > rows[0]["lut"]
for row in rows:
    if row["legal"]:
        changed = dict(base, **{k: int(v) for k, v in (word.split("=") for word in row["change"].split())})
        json.dump(changed, open("changed-config.json", "w"))
        alone = json.loads(subprocess.run([vtac, "explain", "ic.onnx", "--json", "--config", "./changed-config.json"], stdout=subprocess.PIPE, check=True).stdout)
        assert (alone["cycles"], alone["host_stays_cycles"]) == (row["cycles"], row["host_cycles"]), (row, alone["cycles"])
assert len({r["cycles"] for r in rows if r["legal"]}) > 2
END
holds "what if a key were another" python3 changed.py "$vtac_program" "$source/isa/configs/pynq.json"
vtac explain ic.onnx --what-if TABLE=0
says out "TABLE=0"
# A network whose nodes are legalized for the configuration: no row sees what was made for another one.
vtac zoo transformer --int8 -o rows.onnx
cp "$source/tests/lib/configs/rows_pynq.json" rows.json
sed 's/"ROWS" *: *1/"ROWS" : 0/' rows.json >norows.json
vtac explain rows.onnx --config ./rows.json --what-if ROWS=0 --json
cp out changed.json
vtac explain rows.onnx --config ./norows.json --json
holds "a changed key that legalizes otherwise" python3 -c 'import json
d, alone = json.load(open("changed.json")), json.load(open("out"))
a, b = d["what_if"]
assert (a["cycles"], a["host_cycles"]) == (d["cycles"], d["host_stays_cycles"]), a
assert (b["cycles"], b["host_cycles"], b["regions"]) == (alone["cycles"], alone["host_stays_cycles"], alone["regions"]), b
assert a["regions"] < b["regions"] and a["lut"] > b["lut"] > 0, (a, b)'
for bad in FOO=1 '' LOG_BLOCK_IN LOG_BLOCK_IN=9 'CLOCK_MHZ=1x'; do
    vtac explain ic.onnx --what-if "$bad"
    exits 2
done
vtac explain ic.onnx --what-if LOG_BUS=4
refused 2 "a configuration has no key 'LOG_BUS'; did you mean 'LOG_BUS_WIDTH'? 'vtac config schema' lists them"
vtac explain ic.onnx
says out "as a chip in "
holds "its last sentences fit two lines of a terminal each" sh -c 'test "$(tail -n 3 out | wc -L)" -le 160'
vtac explain ic.onnx --config ultra96 --power watts.txt
says out "8.20 W, the mean of 4 measurements of boards with xczu3eg"
vtac explain ic.onnx --config tiny
exits 0
holds "a configuration for no board has no energy" sh -c '! grep -q " mJ: " out'
cat >front.py <<'END'
import json, sys

d = json.load(open(sys.argv[1]))
points = d["points"]
assert len(points) > 4, len(points)
assert d["space"] == 32 and d["space"] == d["illegal"] + d["too_large"] + d["candidates"]
assert [p["fps"] for p in points] == sorted((p["fps"] for p in points), reverse=True)
key = lambda p: (-p["fps"], p["share"], p["energy"])
for p in points:  # the front, by its definition
    better = [q for q in points if all(a <= b for a, b in zip(key(q), key(p))) and key(q) != key(p)]
    assert p["front"] == (not better) or any(key(q) == key(p) and q is not p for q in points), p["name"]
    mean = 1.0
    for n in p["networks"]:
        mean *= p["config"]["clock_mhz"] * 1e6 / n["cycles"]
    assert abs(p["fps"] / mean ** (1 / len(p["networks"])) - 1) < 1e-4
    assert p["area"]["lut"] <= d["most"]["lut"] and p["area"]["dsp"] <= d["most"]["dsp"]
    assert ("file" in p) == (p["front"] or points.index(p) < 16) and all(len(n["busy"]) == 4 for n in p["networks"])
detailed = [p for p in points if p.get("layers")]
assert points[0] in detailed
for p in detailed:
    for n, network in enumerate(p["networks"]):
        cycles = sum(l[2] for l in p["layers"] if l[0] == n)
        assert network["cycles"] * 0.9 < cycles <= network["cycles"], (p["name"], cycles)
tiles = {(t["block_in"], t["block_out"], t["pump"]): t for t in d["tiles"]}
assert len(tiles) == len(d["tiles"]) and sum(t["judged"] for t in d["tiles"]) == d["candidates"]
tile = lambda p: (p["config"]["block_in"], p["config"]["block_out"], p["config"]["pump"])
for k, t in tiles.items():
    own = [p["fps"] for p in points if tile(p) == k]
    assert (t["fps"] == max(own)) if own else (t["fps"] == 0 and " of " in t["nearest"]), t
sizes = [t["block_in"] * t["block_out"] for t in d["tiles"]]
assert sizes == sorted(sizes) and sum(t["nearest"] != "" for t in d["tiles"]) > 0 if d["too_large"] else True
print(points[0]["networks"][0]["cycles"])
END
holds "the front is that of a plain search" python3 front.py one/front.json
cycles=$(python3 front.py one/front.json)
holds "the page has its data" grep -q '"points": \[' one/front.html
# A click on a point that has no file and no layers: its own JSON, which is a configuration.
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || chromium=
if [ -n "$chromium" ]; then
    sed 's|</html>|<script>d.points[d.points.length - 1].json = ""; choose(d.points[d.points.length - 1])</script></html>|' one/front.html >click.html
    HOME=$work timeout 300 "$chromium" --headless --no-sandbox --disable-gpu --virtual-time-budget=2000 --dump-dom "file://$work/click.html" >dom 2>browser.log
    holds "a point's JSON is on the page" python3 -c 'import html, json, re
page, points = open("dom").read(), json.load(open("one/front.json"))["points"]
text = html.unescape(re.search(r"<pre id=\"config\">(.*?)</pre>", page, re.S)[1])
open("clicked.json", "w").write(text[:text.index("}") + 1])
mine, last = json.load(open("clicked.json")), json.load(open("one/best1.json"))
c = points[-1]["config"]
assert mine["NAME"] == points[-1]["name"] and 1 << mine["LOG_BLOCK_IN"] == c["block_in"] and mine["LOG_WGT_BUFF_SIZE"] == c["wgt"]
assert set(mine) == set(last) and "./run bitstream pynq" in text and "circle" in page'
    vtac config show clicked.json
    exits 0
fi

# The same bytes, whoever did it: no time is in them.
# shellcheck disable=SC2086  # words
vtac explore $space --jobs 3 -o three
exits 0
holds "three processes find what one finds" cmp one/front.json three/front.json
holds "and draw the same page" cmp one/front.html three/front.html
holds "and write the same configurations" cmp one/best1.json three/best1.json
# shellcheck disable=SC2086  # words
"$vtac_program" explore $space --join shared >join.out 2>&1 &
helper=$!
# shellcheck disable=SC2086  # words
vtac explore $space --folder shared -o folder
exits 0
says err "vtac explore: the work in 'shared' is done by whoever runs this command with '--join shared' in the place of '--folder'"
ran="vtac explore --join shared"
wait $helper
status=$?
exits 0
holds "a folder finds what one process finds" cmp one/front.json folder/front.json
# Whoever waits says for what; nobody waits for a leader in what is no folder.
# shellcheck disable=SC2086  # words
"$vtac_program" explore $space --join nowhere >nowhere.out 2>&1 &
helper=$!
tries=0
while [ ! -s nowhere.out ] && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
kill -INT $helper 2>/dev/null || true
wait $helper || true
holds "a worker without a leader says so" grep -q "^vtac explore: no work is in 'nowhere' yet; waiting up to 120 s for the one who leads it$" nowhere.out
# shellcheck disable=SC2086  # words
vtac explore $space --join nowhere.out
refused 1 "vtac: '--join nowhere.out': expected a folder, and it is none"
vtac explore --models tiny_ic --fix LOG_BLOCK_IN=4 --folder shared
refused 1 "vtac: 'shared' holds the results of other work; name another folder, or remove it"
# The same file with another shape is other work, too.
cat >open.cfg <<'END'
[net]
width=16
height=16
channels=16
[convolutional]
filters=16
size=3
stride=1
pad=1
activation=relu
END
python3 -c 'import struct, sys; sys.stdout.buffer.write(struct.pack("<iiiq", 0, 2, 0, 0) + struct.pack("<2320f", *([0.25] * 16 + [((i * 37) % 64 - 32) / 64 for i in range(2304)])))' >open.weights
one='--fix LOG_BLOCK_IN=4 --fix LOG_BLOCK_OUT=4 --fix LOG_INP_BUFF_SIZE=14 --fix LOG_WGT_BUFF_SIZE=15 --fix LOG_ACC_BUFF_SIZE=14 --fix ARRAY_PUMP=1
     --fix TABLE=1 --fix LOOP_BACK=1 --fix DEPTHWISE_TAPS=9'
# shellcheck disable=SC2086  # words
{
    "$vtac_program" explore --models open.cfg $one --join other >/dev/null 2>&1 &
    vtac explore --models open.cfg $one --folder other
    exits 0
    wait
    vtac explore --models open.cfg $one --shape data=1x16x8x8 --folder other
}
exits 1
says err "vtac: 'other' holds the results of other work; name another folder, or remove it"
if command -v mpirun >/dev/null && [ -e "$(dirname "$vtac_program")/../lib/libvtac_mpi.so" ]; then
    ran="mpirun -n 4 vtac explore"
    # shellcheck disable=SC2086  # words
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ASAN_OPTIONS=detect_leaks=0 timeout 200 mpirun -n 4 --oversubscribe "$vtac_program" explore $space -o ranks >out 2>err
    status=$?
    exits 0
    holds "ranks find what one process finds" cmp one/front.json ranks/front.json
fi

# A configuration that was written can be read: its cycles are those of the compiler.
vtac zoo tiny_ic --int8 -o ic.onnx
exits 0
vtac compile ic.onnx --target vta --config one/best1.json --offload all -O 0 --report --json -o ic.so
exits 0
holds "the compiler predicts the same cycles" python3 -c "
import json, sys
mine, theirs = $cycles, json.load(open('out'))['cycles']
sys.exit(abs(mine / theirs - 1) > 0.02)"

# Tiles of four input blocks to one of outputs, which DEPTHWISE does not reach: the same results as the host's.
vtac explore --models tiny_kws --fix LOG_BLOCK_IN=4 --fix LOG_BLOCK_OUT=2 --fix LOG_INP_BUFF_SIZE=14 --fix LOG_WGT_BUFF_SIZE=14 --fix LOG_ACC_BUFF_SIZE=13 \
    --fix ARRAY_PUMP=1 --fix TABLE=1 --fix LOOP_BACK=1 --fix DEPTHWISE_TAPS=9 --jobs 1 -o four
exits 0
vtac zoo tiny_kws --int8 -o kws.onnx
vtac compile kws.onnx --target vta --config four/best1.json --offload all -o four.so
exits 0
vtac compile kws.onnx -o host.so
exits 0
vtac run four.so --output-dir four.out
exits 0
vtac run host.so --output-dir host.out
exits 0
holds "four blocks to one give the host's integers" diff -r four.out host.out

# Weights of networks in the means; a command's count for a finalist, which is `pynq` here, whose simulator other tests have, stands beside the fit.
cat >count.sh <<'END'
grep -q '"TARGET" : "pynq"' "$1" && echo 'total 40000 2 186 40.5' && exit 1
END
vtac explore --models tiny_ad,tiny_kws --weigh 3,1 --fix LOG_BLOCK_IN=4 --fix LOG_BLOCK_OUT=4 --fix LOG_INP_BUFF_SIZE=15 --fix LOG_WGT_BUFF_SIZE=18 \
    --fix LOG_ACC_BUFF_SIZE=17 --fix ARRAY_PUMP=1 --fix LOG_QUEUE_DEPTH=9 --fix TABLE=1 --fix LOOP_BACK=1 --fix DEPTHWISE_TAPS=9 --finalists 1 --count 'sh count.sh' --jobs 1 -o counted
exits 0
says out "best1 on tsim, compiled with more care than for the ranking: tiny_ad "
says out "best1 by Yosys: LUT 30000 (by the fit "
holds "a network counts three times, and tsim is within 2 % of what was foretold" python3 -c 'import json
p = json.load(open("counted/front.json"))["points"][0]
assert p["counted"] == {"lut": 30000, "ff": 2, "dsp": 186, "bram": 40.5}
a, b = (p["config"]["clock_mhz"] * 1e6 / n["cycles"] for n in p["networks"])
assert abs(p["fps"] / (a ** 0.75 * b ** 0.25) - 1) < 1e-4
assert all(abs(n["foretold"] / n["tsim"] - 1) < 0.02 for n in p["networks"])'

# Sixteen networks are as many as there may be; each has its column.
many=tiny_ad$(printf ',tiny_ad%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
# shellcheck disable=SC2086  # words
vtac explore --models "$many" $one --jobs 1
exits 0
holds "each network has a column" sh -c 'head -1 out | grep -o tiny_ad | wc -l | grep -qx 16'
vtac explore --models "$many,tiny_ad"
refused 1 "vtac: more than 16 models"

# A configuration that does not fit says which budget it breaks.
vtac explore --models tiny_ic --fix LOG_BLOCK_IN=6 --fix LOG_BLOCK_OUT=6 --budget bram=40
exits 1
one_line err
says err "fits xc7z020 within the budget: what is nearest to it takes "
says err "; name a larger '--part' or '--budget', or fix smaller values"
# Nearest is what is least too large: with LUTs for all, and one block RAM, the smallest buffers.
vtac explore --models tiny_ic --fix LOG_BLOCK_IN=3 --fix LOG_BLOCK_OUT=3 --fix LOG_INP_BUFF_SIZE=13,14 --fix LOG_WGT_BUFF_SIZE=14,15 \
    --fix LOG_ACC_BUFF_SIZE=13,14 --fix LOG_UOP_BUFF_SIZE=13 --fix TABLE=0,1 --budget bram=1
exits 1
one_line err
blocks=$(sed 's/.* takes BRAM36 \([0-9]*\) of 1;.*/\1/' err)
vtac explore --models tiny_ic --fix LOG_BLOCK_IN=3 --fix LOG_BLOCK_OUT=3 --fix LOG_INP_BUFF_SIZE=13 --fix LOG_WGT_BUFF_SIZE=14 \
    --fix LOG_ACC_BUFF_SIZE=13 --fix LOG_UOP_BUFF_SIZE=13 --fix TABLE=0 --budget "bram=$blocks" --limit 1 --json
exits 0
holds "the smallest fits what was told" python3 -c 'import json; assert json.load(open("out"))["too_large"] == 0'
vtac explore --models tiny_ic --fix LOG_WGT_BUFF_SIZE=6 --fix LOG_INP_BUFF_SIZE=6
exits 1
one_line err
says err " is legal; the first of them: "
# Properties that no part has, whatever the size.
for key in LOG_BUS_WIDTH=7 ALU_DSPS=2; do
    vtac explore --models tiny_ic --fix LOG_BLOCK_IN=3 --fix LOG_BLOCK_OUT=3 --fix $key
    exits 1
    one_line err
    says err "fits xc7z020 within the budget: what is nearest to it takes ${key%%=*} "
done
vtac explore --models tiny_ic --part xc7z02
refused 1 "vtac: there is no part 'xc7z02'; there are xc7z010, xc7z020, xczu3eg, xczu7ev, xck26, ecp5-85"
small='--models tiny_kws --fix LOG_BLOCK_IN=2,3 --fix LOG_BLOCK_OUT=2 --fix LOG_INP_BUFF_SIZE=13 --fix LOG_WGT_BUFF_SIZE=14
       --fix LOG_ACC_BUFF_SIZE=13 --fix ARRAY_PUMP=1 --fix LOG_QUEUE_DEPTH=6 --fix TABLE=1 --fix LOOP_BACK=1 --fix DEPTHWISE_TAPS=0,3'
# shellcheck disable=SC2086  # words
vtac explore $small --jobs 1 -o xc7
exits 0
# shellcheck disable=SC2086  # words
vtac explore $small --part ecp5-85 --jobs 1 -o ecp5
exits 0
says out "configurations on ecp5-85"
says out "on an ECP5 a LUT counts as"
holds "an ECP5's LUTs and multipliers are more than those of an xc7" python3 -c 'import json
a, b = (json.load(open(p + "/front.json"))["points"] for p in ("xc7", "ecp5"))
tile = lambda p: (p["config"]["block_in"], p["config"]["depthwise_taps"])
mine = {tile(p): p["area"] for p in b}
both = [(p["area"], mine[tile(p)]) for p in a if tile(p) in mine]
assert len(both) == 4 and all(y["lut"] > 2 * x["lut"] and y["dsp"] == 2 * x["dsp"] and y["bram"] == x["bram"] for x, y in both)'
# A tile of four lanes has no windows of three columns that outputs share, but of two.
cat >two.cfg <<'END'
[net]
width=16
height=16
channels=16
[convolutional]
filters=16
groups=16
size=2
stride=1
pad=0
activation=relu
END
python3 -c 'import struct, sys; sys.stdout.buffer.write(struct.pack("<iiiq", 0, 2, 0, 0) + struct.pack("<80f", *([0.25] * 16 + [(i % 13 - 6) / 6 for i in range(64)])))' >two.weights
vtac explore --models two.cfg --fix LOG_BLOCK_IN=2 --fix LOG_BLOCK_OUT=2 --fix LOG_INP_BUFF_SIZE=13 --fix LOG_WGT_BUFF_SIZE=13 --fix LOG_ACC_BUFF_SIZE=13 --fix ARRAY_PUMP=1 \
    --fix TABLE=1 --fix LOOP_BACK=1 --fix DEPTHWISE_TAPS=1,3 --jobs 1 --json
exits 0
holds "two taps beside each other are not those of one" python3 -c 'import json
points = json.load(open("out"))["points"]
assert len({p["networks"][0]["cycles"] for p in points}) == len(points) == 2'
# Each part's own space has something for it.
for part in xc7z010 xczu7ev xck26 ecp5-85; do
    vtac explore --models tiny_ad --part $part --limit 200 --jobs 1 -o $part
    exits 0
    holds "$part is no board's" grep -q '"bitstream": ""' $part/front.json
    holds "and what is for it says so" grep -q "\"TARGET\" : \"$part\"" $part/best1.json
done
# Optional units are in the space: missing taps cost cycles, missing tables that no layer uses make no difference.
vtac explore --models tiny_kws --fix LOG_BLOCK_IN=4 --fix LOG_BLOCK_OUT=4 --fix LOG_INP_BUFF_SIZE=14 --fix LOG_WGT_BUFF_SIZE=15 \
    --fix LOG_ACC_BUFF_SIZE=14 --fix ARRAY_PUMP=1 --fix DEPTHWISE_TAPS=0,1,3,9 --jobs 1 -o leftout
exits 0
holds "what is left out shows" python3 -c 'import json
points = json.load(open("leftout/front.json"))["points"]
at = {(p["config"]["table"], p["config"]["loop_back"], p["config"]["depthwise_taps"]): p for p in points}
assert len(at) == 16
cycles = lambda *k: at[k]["networks"][0]["cycles"]
lut = lambda *k: at[k]["area"]["lut"]
assert all(lut(0, *k) < lut(1, *k) for k in ((0, 3), (1, 9))) and lut(1, 0, 3) < lut(1, 1, 3) and lut(1, 1, 0) < lut(1, 1, 3)
assert all(cycles(0, l, t) == cycles(1, l, t) for l in (0, 1) for t in (0, 1, 3, 9))
assert all(min(cycles(1, l, 0), cycles(1, l, 1)) > cycles(1, l, 3) > cycles(1, l, 9) for l in (0, 1))
assert cycles(1, 0, 9) != cycles(1, 1, 9)
assert at[0, 1, 9]["area"]["bram"] < at[1, 1, 9]["area"]["bram"]'
# The space of a part has what is shipped for it, or better.
vtac explore --models tiny_ad --jobs 1 -o whole
exits 0
holds "no shipped configuration that fits is ahead" python3 -c 'import json
d = json.load(open("whole/front.json"))
most = d["most"]
fits = [p["fps"] for p in d["shipped"] if all(p["area"][k] <= most[k] for k in ("lut", "dsp", "bram"))]
assert len(fits) > 1 and max(p["fps"] for p in d["points"]) >= max(fits)'
# However few configurations of the space are looked at, those that come with vtac and their neighbours are among them, each once.
for limit in 1 20; do
    vtac explore --models tiny_ad --limit $limit --jobs 1 -o few
    exits 0
    holds "nor with a limit of $limit" python3 -c 'import json, sys
d = json.load(open("few/front.json"))
most = d["most"]
fits = [p["fps"] for p in d["shipped"] if all(p["area"][k] <= most[k] for k in ("lut", "dsp", "bram"))]
assert len(fits) > 1 and max(p["fps"] for p in d["points"]) >= max(fits)
assert d["space"] == int(sys.argv[1]) + d["around"] == d["illegal"] + d["too_large"] + d["candidates"] and d["around"] > 20, d["around"]
built = [json.dumps({k: v for k, v in p["config"].items() if k not in ("NAME", "CLOCK_FROM")}, sort_keys=True) for p in d["points"]]
assert len(built) == len(set(built)), sorted(built)' $limit
done
# Areas of the shipped ones are what `./run timing` found in their flat netlists, which the fit has not seen: tests/results/timing.json.
vtac explore --models tiny_ad --part xczu3eg --fix LOG_BLOCK_IN=5 --fix LOG_BLOCK_OUT=5 --limit 60 --jobs 1 -o up
exits 0
holds "and that of ultra96, with two DSPs a lane" python3 -c 'import json, re, sys
a = [p for p in json.load(open("up/front.json"))["shipped"] if p["name"] == "ultra96"]
timed = json.load(open(sys.argv[1]))["rows"]["ultra96"]
dsp, bram, ff, lut = (timed[key] for key in ("DSP", "BRAM36", "FF", "LUT in pairs"))
area = a[0]["area"]
assert a[0]["fits"] == "" and area["dsp"] == dsp and abs(area["lut"] / lut - 1) < 0.03, (area, lut)
assert abs(area["bram"] / bram - 1) < 0.05 and abs(area["ff"] / ff - 1) < 0.08, (area, bram, ff)' "$source/tests/results/timing.json"
holds "areas of netlists are predicted" python3 - "$source/tests/results/timing.json" <<'END'
import json, sys
shipped = {p["name"]: p["area"] for p in json.load(open("whole/front.json"))["shipped"]}
for name in ("pynq", "pynq512", "pynq_lm"):  # the last with functions on rows
    timed = json.load(open(sys.argv[1]))["rows"][name]
    lut, ff, dsp, bram = counts = [timed[key] for key in ("LUT in pairs", "FF", "DSP", "BRAM36")]
    a = shipped[name]
    print(name, a, counts)
    assert abs(a["lut"] / lut - 1) < 0.03 and abs(a["ff"] / ff - 1) < 0.05, name
    assert abs(a["dsp"] - dsp) < 1 and abs(a["bram"] - bram) < 1.5, name
END
vtac explore --models tiny_ic --fix LOG_BLOCKIN=4
refused 1 "vtac: a configuration has no key 'LOG_BLOCKIN'; did you mean 'LOG_BLOCK_IN'?"
vtac explore --models tiny_ic --fix LOG_BLOCK_IN=99
refused 1 "vtac: key 'LOG_BLOCK_IN': 99 is not a whole number from 2 to 6"
vtac explore
refused 2 "vtac explore: expected --models A,B,..."
vtac explore --models tiny_ic,tiny_kws --weigh 3
refused 2 "vtac explore: '--weigh 3': expected a number above 0 for each of the 2 models: 3,1,..."
vtac explore --models tiny_ic,tiny_kws --weights 3,1
refused 2 "vtac explore: '--weights 3,1': there is no such file; how much each model counts is '--weigh 3,1,...'"
vtac explore --models tiny_ic --count './run area'
refused 2 "vtac explore: '--count' goes with '--finalists N'"
vtac explore --models tiny_ic --budget cheese=3
refused 2 "vtac explore: '--budget cheese=3': expected lut=N, dsp=N or bram=N"
echo '{"LOG_BLOCK_IN": "wide"}' >space.json
vtac explore --models tiny_ic --space space.json
refused 1 "vtac: space.json: key 'LOG_BLOCK_IN': expected a number, or an array of numbers"
echo '{"LOG_BLOCK_IN": 3, "TABLE": 1, "LOG_BLOCK_IN": [4, 5]}' >space.json
vtac explore --models tiny_ic --space space.json
refused 1 "vtac: space.json: key 'LOG_BLOCK_IN' is there twice; its values go into one array"
# A key is fixed once, whether the values differ or not; a file's values may be replaced.
for again in LOG_BLOCK_IN=4 LOG_BLOCK_IN=3 LOG_BLOCK_IN=3,4; do
    vtac explore --models tiny_ic --fix LOG_BLOCK_IN=3 --fix TABLE=1 --fix $again
    refused 1 "vtac: '$again': 'LOG_BLOCK_IN' is fixed already; several values go behind one '=': LOG_BLOCK_IN=3,4"
done
echo '{"LOG_BLOCK_IN": [3, 4, 5], "LOG_BLOCK_OUT": 3, "LOG_INP_BUFF_SIZE": 13, "LOG_WGT_BUFF_SIZE": 14, "LOG_ACC_BUFF_SIZE": 13, "ARRAY_PUMP": 1, "TABLE": 1,
       "LOOP_BACK": 1, "DEPTHWISE_TAPS": 9}' >space.json
vtac explore --models tiny_kws --space space.json --fix LOG_BLOCK_IN=3
exits 0
says out "1 configurations on xc7z020"
vtac explore --models tiny_ic --budget lut=30000 --budget bram=9 --budget lut=20000
refused 2 "vtac explore: '--budget lut=20000': its limit is set already"
# A name that is none is told before a network is read, wherever it stands; a file that is none by its name, once.
for models in nothing.onnx tiny_ic,nothing.onnx,tiny_kws resnet18,nothing.onnx; do
    vtac explore --models $models
    refused 1 "vtac: nothing.onnx: neither a file nor a network of the zoo; 'vtac zoo' lists those"
done
vtac explore --models tiny_ic,,tiny_kws
refused 1 "vtac: ',tiny_kws': expected models with commas between"
echo nonsense >broken.onnx
vtac explore --models tiny_kws,broken.onnx
refused 1 "vtac: broken.onnx: not an ONNX model, or damaged (9 bytes)"
finish
