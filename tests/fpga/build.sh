#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh disable=SC2046,SC2086,SC2154,SC2317  # words; of facts.sh; called by holds
#
# `vtac build`: the folder of each board goes through the stand-in of Vivado (vivado.tcl) by itself, without the source tree; its Verilog,
# parameters and configuration are those of the tree; its simulator counts what `vtac run` counts; promises are what `vtac explain`
# says, and what `vtac doctor` finds beside them corrects `vtac explore`; a failure leaves nothing. Arguments: VTAC SOURCE VTA_PARAMS
params=$3
. "$(dirname "$0")/../cli/lib.sh"
for tool in tclsh dtc fdtget; do
    command -v $tool >/dev/null || { echo "$tool is not installed"; exit 77; }
done
fpga=$source/fpga
. "$fpga/boards.sh"

. "$source/tests/fpga/facts.sh"

# facts_of FOLDER: what the folder's device tree says, for the stand-in.
facts_of() {
    sh "$1/fpga/boot/overlay.sh" "$(basename "$1"/fpga/zynq*)" "$1/config.json" | dtc -q -@ -I dts -O dtb -o overlay.dtbo - || return 1
    mmcm=$overlay/vta-mmcm
    core_facts
    echo "clock_hz $hertz"
    echo "vta_hz $((hertz * $(fdtget -t u -d 1 overlay.dtbo $mmcm clock-mult) / $(fdtget -t u -d 1 overlay.dtbo $mmcm clock-div)))"
    echo "config_hz $(($(sed -n 's/.*"CLOCK_MHZ" *: *\([0-9]*\).*/\1/p' "$1/config.json") * 1000000))"
}

cat >vivado <<END
#!/bin/sh
[ "\$1 \$2 \$3 \$5" = '-mode batch -source -tclargs' ] || exit 9
script=\$4
shift 5
exec tclsh "$source/tests/fpga/vivado.tcl" "$work/facts" "\$script" "\$@"
END
chmod +x vivado
VIVADO=$work/vivado
export VIVADO

for board in $(boards); do
    config=$(board_is "$board" 4)
    vtac build "$config" "made $board" --board "$board"
    exits 0
    facts_of "made $board" >facts
    holds "the folder of $board is built without the tree" sh -c '"$1/bitstream.sh" >log 2>&1 || { tail -n 3 log; exit 1; }' sh "made $board"
    holds "the Verilog of $board is the tree's" diff -r "$source/hw/rtl" "made $board/hw/rtl"
    "$params" plain "$config" | sort >wanted
    holds "the parameters of $board are the configuration's" sh -c '"$1/params" | sort | cmp - wanted' sh "made $board"
    holds "README names the part" grep -q "$(board_is "$board" 3)" "made $board/README.md"
done

# A point that was explored, and what it promises.
vtac explore --models tiny_kws --limit 6 --jobs 1 -o explored
vtac zoo tiny_kws --int8 -o kws.onnx
for config in explored/best1.json tiny; do
    rm -rf point
    vtac build $config point --board pynq --models kws.onnx
    exits 0
    cycles=$("$vtac_program" explain kws.onnx --config point/config.json | sed -n 's/.*about \([0-9]*\) cycles there.*/\1/p')
    holds "$config promises the cycles of explain" grep -q "^| kws | $cycles | " point/README.md
done
# Promises of a board are held against a device, twice with other networks, and the difference corrects the times of explore.
vtac zoo tiny_ad --int8 -o ad.onnx
for model in kws ad; do
    rm -rf point
    vtac build tiny point --board pynq --models $model.onnx,kws.onnx
    exits 0
    vtac doctor --device tsim:tiny --promise point/promise.json --promises records.txt
    exits 0
    counted=$("$vtac_program" run point/networks/1-$model.so --device tsim | sed -n 's/^\([0-9]*\) cycles.*/\1/p')
    says out "$counted cycles, "
    holds "the record of $model has both counts" grep -q "^xc7z020 [0-9]* $counted 100 0 $model on tiny" records.txt
done
holds "two networks twice" test "$(wc -l <records.txt)" -eq 4
one='--models kws.onnx --limit 2 --jobs 1 --part xc7z020 --json'
# shellcheck disable=SC2086  # words
vtac explore $one
cp out plain.json
printf 'xc7z020 1000 1100 100 80 a slow board\nxc7z020 1000 1210 100 80 a slower one\n\n# xc7z010 is another part\nxc7z010 10 90 100 1 other\n' >slow.txt
# shellcheck disable=SC2086  # words
vtac explore $one --promises slow.txt
exits 0
holds "times are those of boards" python3 -c 'import json
plain, slow = (json.load(open(f)) for f in ("plain.json", "out"))
time = (1.1 * 1.21) ** 0.5 / 0.8
assert abs(slow["promises"]["time"] - time) < 1e-4 and slow["promises"]["records"] == 2, slow["promises"]
assert plain["promises"]["time"] == 1
for a, b in zip(plain["points"], slow["points"]):
    assert abs(a["fps"] / b["fps"] - time) < 1e-3, (a["fps"], b["fps"])'
vtac explore --models kws.onnx --limit 2 --jobs 1 --promises slow.txt
says out 'times × 1.442, by 2 records of boards with xc7z020: cycles × 1.154 (1.1 to 1.21), clock × 0.8 (0.8 to 0.8)'
printf 'xc7z020 1000 1100 100\n' >cut.txt
vtac explore --models kws.onnx --promises cut.txt
refused 1 'vtac: cut.txt: line 1: expected a part, cycles promised and counted'
sed 's/"cycles": [0-9]*/"cycles": 7/' point/promise.json >point/false.json
vtac doctor --device tsim:tiny --promise point/false.json
exits 1
says out ' cycles, 7 were promised: '
echo '{}' >point/empty.json
vtac doctor --device tsim:tiny --promise point/empty.json
exits 1
says out "point/empty.json: expected the promise.json of a folder that 'vtac build --models' made"
vtac doctor --promises records.txt
refused 2 "vtac doctor: '--promises' goes with '--promise FILE' (try 'vtac doctor --help')"
vtac build tiny simulated --models ad.onnx
vtac doctor --device tsim:tiny --promise simulated/promise.json --promises records.txt
exits 1
says out "it is a simulator's, and '--promises' keeps what boards do"
rm -rf simulated

vtac build tiny simulated
exits 0
[ ! -e simulated/fpga ] || wrong "a simulator has the scripts of a board"
"$vtac_program" compile kws.onnx --target vta --config tiny -o tiny.so >/dev/null 2>&1
"$vtac_program" run tiny.so --device tsim | sed -n 's/^\([0-9]* cycles\).*/\1/p' >wanted
PATH=$(dirname "$vtac_program"):$PATH simulated/simulate.sh kws.onnx >out 2>err
says out "$(cat wanted)"

vtac build ultra96 large --board pynq
exits 0
says err "vtac build: warning: it does not fit xc7z020: "
holds "README says so, too" grep -q '^\*\*It does not fit xc7z020: ' large/README.md
vtac build pynq other --board breadboard
refused 1 "vtac: '--board breadboard': there is no such board; known are $(boards | sed 's/ /, /g'), sim"
vtac build pynq large
refused 1 "vtac: 'large' is there and not empty; name a new folder"
vtac build pynq nowhere/other
refused 1 "vtac: cannot make a folder beside 'nowhere/other': No such file or directory"
vtac build nothing.json other
refused 1 "vtac: cannot open 'nothing.json': No such file or directory"
vtac build pynq other --models nothing.onnx
refused 1 "vtac: nothing.onnx: neither a file nor a network of the zoo; 'vtac zoo' lists those"
[ -z "$(find . -maxdepth 1 -name '*.new-*' -o -name other)" ] || wrong "something was left: $(ls -d ./*.new-* other)"
finish
