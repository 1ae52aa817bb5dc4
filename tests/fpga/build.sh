#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh disable=SC2046,SC2317  # words; called by holds
#
# `vtac build`: the folder of each board goes through the stand-in of Vivado (vivado.tcl) by itself, without the source tree; its Verilog,
# parameters and configuration are those of the tree; its simulator counts what `vtac run` counts; promises are what `vtac explain`
# says; a failure leaves nothing. Arguments: VTAC SOURCE VTA_PARAMS
params=$3
. "$(dirname "$0")/../cli/lib.sh"
for tool in tclsh dtc fdtget; do
    command -v $tool >/dev/null || { echo "$tool is not installed"; exit 77; }
done
fpga=$source/fpga
. "$fpga/boards.sh"

# facts_of FOLDER: what the folder's device tree says, for the stand-in.
facts_of() {
    dtc -q -@ -I dts -O dtb -o overlay.dtbo "$1"/fpga/zynq*/vta.dts || return 1
    node=/fragment@0/__overlay__/$(fdtget -l overlay.dtbo /fragment@0/__overlay__ | grep '^vta@')
    mmcm=/fragment@0/__overlay__/vta-mmcm
    hertz=$(fdtget -t u overlay.dtbo "$node" assigned-clock-rates)
    echo "registers 0x$(fdtget -t x overlay.dtbo "$node" reg | awk '{ print $(NF / 2) }')"
    echo "interrupt $(fdtget -t u overlay.dtbo "$node" interrupts | awk '{ print $2 }')"
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
