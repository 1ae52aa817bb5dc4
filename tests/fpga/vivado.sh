#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh disable=SC2046,SC2086,SC2094,SC2154,SC2317  # words; 'facts' is a function and a file; called by holds
#
# The boards' Vivado scripts against a stand-in of its commands (vivado.tcl), with the facts of the compiled device tree;
# the sources that they collect are complete for a Verilog tool; and each kind of mistake is found, once put in.
# Arguments: VTA_PARAMS SOURCE HEADERS
params=$1
headers=$3
. "$(dirname "$0")/../cli/lib.sh"
for tool in tclsh dtc fdtget verilator iverilog; do
    command -v $tool >/dev/null || { echo "$tool is not installed"; exit 77; }
done
standin=$source/tests/fpga/vivado.tcl
fpga=$source/fpga
. "$fpga/boards.sh"
family_of() { board_is "$1" 2; }

# tree FOLDER: a copy of what the scripts need.
tree() {
    mkdir -p "$1/isa"
    cp -r "$source/fpga" "$source/hw" "$1/"
    cp -r "$source/isa/configs" "$1/isa/"
}

. "$source/tests/fpga/facts.sh"

# facts TREE BOARD: what the board's device tree says, for the stand-in.
facts() {
    config=${VTA_CONFIG:-$1/isa/configs/$(board_is "$2" 4).json}
    "$1/fpga/boot/overlay.sh" "$(family_of "$2")" "$config" | dtc -q -@ -I dts -O dtb -o overlay.dtbo - || return 1
    mhz=$(sed -n 's/.*"CLOCK_MHZ" *: *\([0-9]*\).*/\1/p' "$config")
    core_facts
    mmcm=$overlay/vta-mmcm
    echo "clock_hz $hertz"
    echo "vta_hz $((hertz * $(fdtget -t u -d 1 overlay.dtbo $mmcm clock-mult) / $(fdtget -t u -d 1 overlay.dtbo $mmcm clock-div)))"
    echo "config_hz $((mhz * 1000000))"
}

# build TREE BOARD: runs the board's script of a source tree; its output in `log`, its last line in `error`.
build() {
    rm -rf out
    facts "$1" "$2" >facts || return 1
    tclsh "$standin" facts "$1/fpga/$(family_of "$2")/build.tcl" "$2" "$PWD/out" "$headers" "$params" >log 2>error
}

# A configuration of one's own: its parameters, and its clock, which must be the device tree's.
sed 's/"LOG_WGT_BUFF_SIZE" : 18/"LOG_WGT_BUFF_SIZE" : 17/' "$source/isa/configs/pynq.json" >own.json
VTA_CONFIG=$PWD/own.json
export VTA_CONFIG
tree 'a tree'
holds "the script takes another configuration, at a path with a blank" build "$PWD/a tree" pynq
rm -r 'a tree'
# The code below parts words at blanks.
case $source in *[[:space:]]*) tree tree && source=$PWD/tree ;; esac
case $headers in *[[:space:]]*) cp -r "$headers" headers && headers=$PWD/headers ;; esac
holds "the script takes another configuration" build "$source" pynq
header=$(sed -n 's/^include //p' log | tr ' ' '\n' | sed 's|$|/vta_config.vh|' | xargs ls 2>/dev/null)
"$params" plain "$VTA_CONFIG" | sed 's/\(.*\)=\(.*\)/`define VTA_\1 \2/' | sort >wanted
holds "and its parameters" sh -c "grep -v '^//' '$header' | sort | cmp - wanted"
sed 's/"CLOCK_MHZ" : [0-9]*/"CLOCK_MHZ" : 77/' "$source/isa/configs/pynq.json" >own.json
build "$source" pynq
holds "another clock than the device tree's is told" grep -qF "_hz is 77" error
unset VTA_CONFIG

for family in zynq7 zynqmp; do
    holds "the device tree of $family compiles without a warning" \
        sh -c "dtc -@ -I dts -O dtb -o /dev/null '$source/fpga/$family/vta.dts' 2>warnings && test ! -s warnings"
done
seen=
for board in $(boards); do
    for run in first second; do
        holds "the script of $board runs, $run time" build "$source" "$board"
        cat error
    done
    holds "$board: a bitstream and the kernel's form of it" grep -q "^write_cfgmem .*vta-$board.bin" log
    grep -q "^create_project .* $(board_is "$board" 3)\$" log || wrong "$board: not for its part"
    # DRAM beyond 2 GiB is a segment of its own, and none is asked for where there is none.
    high=0
    cores=$(sed -n 's/.*"CORES" *: *\([0-9]*\).*/\1/p' "$source/isa/configs/$(board_is "$board" 4).json")
    [ "$(family_of "$board")" = zynq7 ] || [ "$(board_is "$board" 5)" -le 2048 ] || high=${cores:-1}
    holds "$board: its cores" test "$(grep -c '^cell vta' log)" = "${cores:-1}"
    holds "$board: the segments of its DRAM" test "$(grep -c '^address .*HP[0-3]_DDR_HIGH' log)" = $high
    # The checks below depend on the configuration alone.
    config=$(board_is "$board" 4)
    case " $seen " in *" $config "*) continue ;; esac
    seen="$seen $config"
    # A tool that reads Verilog finds all modules and headers in what was collected, and nothing to say.
    sed -n 's/^source //p' log | grep '\.v$' | grep -v wrapper >sources
    includes=$(sed -n 's/^include //p' log | tr ' ' '\n' | sed 's/^/-I/' | tr '\n' ' ')
    # shellcheck disable=SC2086,SC2046
    holds "$board: the sources are complete" verilator --lint-only -Wall --top-module vta_board $includes \
        $(cat sources)
    # No module refuses the board's parameters, as they are checked when a simulation begins; values next to them are refused.
    header=$(sed -n 's/^include //p' log | tr ' ' '\n' | sed 's|$|/vta_config.vh|' | xargs ls 2>/dev/null)
    "$params" plain "$config" | sed 's/\(.*\)=\(.*\)/`define VTA_\1 \2/' | sort >wanted
    holds "$board: its parameters are those of the configuration" sh -c "grep -v '^//' '$header' | sort | cmp - wanted"
    cat >begins <<END
#!/bin/sh
iverilog -g2005 -s vta_board -o board.vvp -I"\$1" $includes $(tr '\n' ' ' <sources) && vvp -N board.vvp
END
    chmod +x begins
    mkdir -p refused
    holds "$board: no parameter is refused" ./begins refused
    for value in 'ADDR_BITS 31' 'ADDR_BITS 64' 'LOG_BUS_BYTES 2'; do
        sed "s/VTA_${value% *} .*/VTA_$value/" "$header" >refused/vta_config.vh
        holds "$board: $value is refused" sh -c '! ./begins refused' # by a check, or since it cannot be elaborated
    done
    rm -r refused
done

# mistake NAME FILE EXPRESSION MESSAGE [BOARD]: with the sed expression applied to a file of a copy, the script must fail so.
mistake() {
    rm -rf copy
    tree copy
    sed "$3" "$source/$2" >"copy/$2"
    if cmp -s "$source/$2" "copy/$2"; then
        ran=$1
        wrong "the mistake changes nothing: it wants new words"
        return
    fi
    board=${5:-pynq}
    case $2 in */zynqmp/*) board=${5:-ultra96} ;; esac
    holds "$1 is noticed" sh -c '! "$@"' sh tclsh_of copy "$board" "$(family_of "$board")"
    holds "$1 is told" grep -qF -- "$4" error
}
# (a shell function cannot be called by another shell: the call, spelled out)
cat >tclsh_of <<END
#!/bin/sh
rm -rf out
exec tclsh "$standin" facts "\$1/fpga/\$3/build.tcl" "\$2" "\$PWD/out" "$headers" "$params" >log 2>error
END
chmod +x tclsh_of
PATH=$PWD:$PATH

facts "$source" pynq >facts
project=fpga/vivado/project.tcl
mistake 'an unknown command' $project 's/create_bd_design system/create_bd_desing system/' "unknown command 'create_bd_desing'"
mistake 'an unknown option' $project 's/-target_address_space/-address_space/' "unknown option '-address_space'"
mistake 'a missing source' $project 's/vta_board\.v/vta_bord.v/' "no file"
mistake 'missing constraints' fpga/zynq7/build.tcl 's/vta\.xdc/pins.xdc/' "no file"
mistake 'a pin that the RTL lacks' $project 's|get_bd_pins vta/irq|get_bd_pins vta/interrupt|' "no pin 'vta/interrupt'"
mistake 'a port renamed in the RTL' fpga/vivado/vta_board.v 's/output wire                 irq/output wire intr/' "no pin 'vta/irq'"
mistake 'an interface renamed in the RTL' fpga/vivado/vta_board.v 's/ M_AXI \([AWRB]\)/ DRAM \1/' "is called DRAM"
mistake 'a port without its interface' fpga/vivado/vta_board.v '/1.0 M_AXI RLAST"/d' "port 'm_axi_rlast' of vta_board has no"
mistake 'another address' fpga/zynq7/build.tcl 's/0x43C00000/0x43C10000/' "registers is 1136721920, the device tree has"
mistake 'another clock' fpga/zynq7/build.tcl 's/@MHZ@/50/' "clock_hz is 50000000, the device tree has 100000000"
mistake 'an unknown property' fpga/zynq7/build.tcl 's/PCW_EN_CLK0_PORT/PCW_EN_CLOCK0_PORT/' "has no property 'CONFIG.PCW_EN_CLOCK0_PORT'"
mistake 'a port that is switched off' fpga/zynq7/build.tcl 's/PCW_USE_S_AXI_HP@PORT@ 1/PCW_USE_S_AXI_HP@PORT@ 0/' "no interface 'ps/S_AXI_HP0'"
mistake 'a narrower port' fpga/zynq7/build.tcl 's/HP@PORT@_DATA_WIDTH 64/HP@PORT@_DATA_WIDTH 32/' "the memory port has 32 bits"
mistake 'a clock that is not connected' $project 's| $memory/M00_ACLK||' "nothing drives 'memory/M00_ACLK'"
mistake 'DRAM without an address' fpga/zynq7/build.tcl 's|segments {S_AXI_HP@PORT@/HP@PORT@_DDR_LOWOCM}|segments {}|' "has no address"
mistake 'another part' fpga/boards.txt 's/^\(pynq  *zynq7  *\)xc7z020clg400-1/\1xczu3eg-sbva484-1-i/' "is not in part"
mistake 'a board that the table lacks' fpga/boards.txt '/^pynq /d' "boards.txt has no board 'pynq'"
mistake 'a step left out' $project 's/run_to_the_end synth_1/puts none/' "there is no synth_1 yet"
facts "$source" ultra96 >facts
mistake 'another address' fpga/zynqmp/build.tcl 's/0xA0000000/0xA0010000/' "the device tree has"
mistake 'an unknown property' fpga/zynqmp/build.tcl 's/PSU__USE__IRQ0/PSU__USE_IRQ0/' "has no property"
mistake 'high DRAM that is switched off' fpga/zynqmp/build.tcl 's/ENABLE @HIGH@/ENABLE 0/' "HP0_DDR_HIGH" kv260
mistake 'an interface that is switched off' fpga/zynqmp/build.tcl 's/PSU__USE__S_AXI_GP@GP@ 1/PSU__USE__S_AXI_GP@GP@ 0/' "no interface"

# Several cores: kv260 has two; four of them, and a family with other names.
own=own.json
VTA_CONFIG=$PWD/$own
export VTA_CONFIG
for pair in pynq/arty-z7/2 pynq/zybo-z7/4 ultra96/ultra96/4 ultra96/kv260/1; do
    board=${pair#*/}
    cores=${board#*/}
    board=${board%/*}
    sed "s/\"CLOCK_MHZ\"/\"CORES\" : $cores,\n  \"CLOCK_MHZ\"/" "$source/isa/configs/${pair%%/*}.json" >$own
    holds "$cores cores on $board" build "$source" "$board"
    cat error
    holds "$board has $cores cells" test "$(grep -c '^cell vta' log)" = "$cores"
    holds "and as many ways to memory" test "$(grep -c '^connect memory[0-9]*/M00_AXI ps/S_AXI_HP' log)" = "$cores"
done
unset VTA_CONFIG
facts "$source" kv260 >facts
mistake 'two cores at one port' $project 's|ps/\[of_port \$board memory \$core\]|ps/[of_port $board memory 0]|' "is connected already" kv260
mistake 'ports that are exchanged' $project 's/list @PORT@ \$core @GP@ \[expr {2 + \$core}\]/list @PORT@ [expr {1 - $core}] @GP@ [expr {3 - $core}]/' \
    "port is 1, the device tree has 0" kv260
mistake 'the DRAM of another port' $project 's/assign_bd_address -target_address_space \[get_bd_addr_spaces \$vta/assign_bd_address -target_address_space [get_bd_addr_spaces vta/' \
    "'vta1' does not see 'ps/SAXIGP3/HP1_DDR_LOW'" kv260
mistake 'registers on each other' $project 's/0x2000 \* \$core/0x1000 * $core/' "registers1 is 2684358656, the device tree has" kv260
mistake 'a page for each core' $project 's/-range 8K/-range 4K/' "take 8K, not 4K" kv260
mistake 'interrupts that are exchanged' $project 's|get_bd_pins interrupts/In\$core|get_bd_pins interrupts/In[expr {1 - $core}]|' "is 90, the device tree has 89" kv260
mistake 'interrupts that go nowhere' $project '/interrupts\/dout/d' "nothing drives 'ps/pl_ps_irq0'" kv260
mistake 'a port without a clock' $project 's|^        ps/\[of_port \$board memory_clock \$core\]|        ps/[of_port $board memory_clock 0]|' "has a driver already" kv260
mistake 'one core of two' $project 's/return \[expr {\[regexp {"CORES"/return 1; &/' "says nothing of the device tree's" kv260
mistake 'a core whose multipliers have the slow clock' $project 's|\[get_bd_pins \$doubled\] \[get_bd_pins \$vta/aclk2x\]|[get_bd_pins [expr {$core ? $clock : $doubled}]] [get_bd_pins $vta/aclk2x]|' \
    "'vta1/aclk2x' has another clock" kv260
tree narrow
sed 's/<6 0>, <7 0>, //' "$source/fpga/zynqmp/vta.dts" >narrow/fpga/zynqmp/vta.dts
if build narrow kv260; then wrong "a device tree that leaves the second port's width goes unnoticed"; fi
holds "a device tree without the second port is told" grep -qF "the device tree has no port1" error
facts "$source" ultra96 >facts

# A clock at twice the rate: of two buffers on Ultra96, of two outputs with PYNQ's larger array.
mistake 'no twice the rate' $project 's/DIV \$divide/DIV 1/' "expected 2 to 1" ultra96
mistake 'a clock at four times the rate' $project 's/FREQ \[expr {2 \* \$mhz}\] CONFIG.CLKOUT1_DRIVES/FREQ [expr {4 * $mhz}] CONFIG.CLKOUT1_DRIVES/; s/clk_out1 2\]/clk_out1 4]/' \
    "expected 2 to 1" ultra96
mistake 'a clock of another source' $project 's|set pair \[list \[buffer_of_clock halved clocks/clk_out1 2\]|set pair [list ps/pl_clk0|; s/\[dict get $board source\]/200/' \
    "are not of one MMCM" ultra96
mistake 'an MMCM set for another clock' $project 's/PRIM_IN_FREQ \[dict get $board source\]/PRIM_IN_FREQ 33/' "the MMCM is set for 33 MHz" ultra96
mistake 'a reset before the lock' $project '/dcm_locked/d' "does not wait for the MMCM's lock" ultra96
mistake 'a buffer without an enable' $project '/BUFGCE_CE\]/d' "nothing drives 'halved/BUFGCE_CE'" ultra96
mistake 'a buffer that is switched off' $project 's/{zero 0 one 1}/{zero 0 one 0}/' "'halved/BUFGCE_CE' is not 1" ultra96
mistake 'an interface with the other clock' $project 's|\[get_bd_pins \$clock\] \[get_bd_pins \$sink\]|[get_bd_pins ps/[dict get $board clock]] [get_bd_pins $sink]|; s/\[dict get $board source\]/200/' \
    "vta/aclk2x are not of one MMCM" ultra96
mistake 'a parameter that the board leaves out' fpga/vivado/vta_board.v 's/(`VTA_PUMP)/(2)/' "vta_board takes no VTA_PUMP" ultra96
mistake 'no constraints between the clocks' $project 's/if {\[doubles \$board\]} { # of/if {0} { # of/' "no set_multicycle_path" ultra96
mistake 'a constraint without its hold' $project '/-hold 1 -end/d' "has no -hold 1" ultra96
mistake 'cycles of the wrong clock' $project 's/-hold 0 -end/-hold 0/' "counts cycles of the slow clock" ultra96
mistake 'an excepted register renamed in the RTL' hw/rtl/compute/vta_array_dsp.v 's/\bfar_q\b/distant_q/g' "no register 'far_q'" ultra96
mistake 'the multipliers renamed in the RTL' hw/rtl/compute/vta_array_dsp.v 's/vta_mul_\([a-z]*\) mul (/vta_mul_\1 product (/' \
    "no instance 'mul'" ultra96
VTA_CONFIG=$source/isa/configs/pynq512.json
export VTA_CONFIG
if build "$source" pynq; then wrong "the device tree's clock is taken for the larger array's"; fi
holds "the clock of the larger array is not the device tree's" grep -qF "vta_hz is 112000000, the device tree has 100000000" error
# Its MMCM in the device tree, as fpga/BOARD.md says.
mkdir -p own/isa
cp -r "$source/fpga" "$source/hw" own/ && cp -r "$source/isa/configs" own/isa/
awk '/vta-clock \{/ { clock = 1; print "vta_mmcm: vta-mmcm { compatible = \"fixed-factor-clock\"; #clock-cells = <0>; clocks = <&clkc 15>; clock-mult = <28>; clock-div = <25>; };" }
    clock && /clocks/ { sub(/<.*>/, "<\\&vta_mmcm>"); clock = 0 } { print }' "$source/fpga/zynq7/vta.dts" >own/fpga/zynq7/vta.dts
holds "the array at twice the clock on PYNQ" build own pynq
cat error
holds "has one MMCM with two outputs" grep -qx 'connect clocks/clk_out2 vta/aclk2x' log
mistake 'one output for both clocks' $project 's|{clocks/clk_out1 clocks/clk_out2}|{clocks/clk_out1 clocks/clk_out1}|' "expected 2 to 1"
mistake 'an output that is switched off' $project 's/CLKOUT2_USED true/CLKOUT2_USED false/' "no pin 'clocks/clk_out2'"
mistake 'a buffer that the part lacks' fpga/zynq7/build.tcl 's/doubled outputs/doubled dividers/' "util_ds_buf is not in part"
unset VTA_CONFIG

# A design that is late, early or short of a pulse gives no bitstream, and its reports are there all the same.
facts "$source" pynq >facts
for late in setup hold pulse; do
    STANDIN_LATE=$late
    export STANDIN_LATE
    holds "a design that fails $late is refused" sh -c '! "$@"' sh tclsh_of "$source" pynq zynq7
    holds "and told" grep -q "by 0.25 ns; see .*timing.rpt" error
    holds "has its reports" sh -c 'grep -q "^report_cdc" log && grep -q "^report_methodology" log && ! grep -q "^write_bitstream" log'
done
unset STANDIN_LATE

# The device tree alone changes: the script must see it, too.
facts "$source" pynq | sed 's/^interrupt .*/interrupt 30/' >facts
holds "another interrupt is noticed" sh -c '! "$@"' sh tclsh_of "$source" pynq zynq7
holds "another interrupt is told" grep -qF 'interrupt is 29, the device tree has 30' error
finish
