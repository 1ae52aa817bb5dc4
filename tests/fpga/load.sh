#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh disable=SC2154  # status is set by the library
#
# vta-load on the device trees that images have (trees/), with kernel.py for the kernel: it makes devices of a tree as Linux
# would, and a virtual board answers behind them. Each board is loaded twice; then what an image may lack, one at a time.
# Arguments: VTAC SOURCE BIN: BIN has vta-run and vta-mem.
bin=$3
. "$(dirname "$0")/../cli/lib.sh"
for tool in dtc fdtoverlay python3; do
    command -v $tool >/dev/null || { echo "$tool is not installed"; exit 77; }
done
# The RTL behind the virtual board is built once; a board does not wait for a compiler.
vtac exec "$source/isa/programs/tiny.vasm" --device tsim:tiny
exits 0
kernel=
end_kernel() {
    [ -z "$kernel" ] || { kill "$kernel"; wait "$kernel"; } 2>/dev/null
    pkill -f "board --dir $work/" 2>/dev/null
    kernel=
}
trap 'end_kernel; rm -rf "$work"' EXIT
mkdir bin
printf '#!/bin/sh\necho "$*" >>"%s/modules"\n' "$work" >bin/modprobe
# A folder of configfs goes with what is in it.
printf '#!/bin/sh\nexec rm -r "$@"\n' >bin/rmdir
chmod +x bin/*
PATH=$work/bin:$bin:$PATH
KERNEL_CONFIG=tiny
export KERNEL_CONFIG
# A busy machine may take long to make a device; where none comes, nothing is gained by waiting.
VTA_WAIT=120
export VTA_WAIT

# One core, or as many as the configuration has that LOAD_CONFIG names, in the overlay.
LOAD_CONFIG=$source/isa/configs/tiny.json
"$vtac_program" config show tiny | sed 's/"CLOCK_MHZ"/"CORES" : 2,\n  "CLOCK_MHZ"/' >two.json

# boot TREE [LACK...]: a board with that device tree and all that the recipe puts on it, in $VTA_ROOT.
boot() {
    end_kernel
    tree=$1
    shift
    case $tree in pynq*) family=zynq7 ;; *) family=zynqmp ;; esac
    VTA_ROOT=$work/root
    export VTA_ROOT
    rm -rf "$VTA_ROOT"
    mkdir -p "$VTA_ROOT/lib/firmware/vta"
    dtc -q -@ -I dts -O dtb -o base.dtb "$source/tests/fpga/trees/$tree.dts"
    "$source/fpga/boot/overlay.sh" $family "$LOAD_CONFIG" >vta.dts
    dtc -q -@ -I dts -O dtb -o "$VTA_ROOT/lib/firmware/vta/vta.dtbo" vta.dts
    sed 's/&amba/\&axi/' vta.dts | dtc -q -@ -I dts -O dtb -o "$VTA_ROOT/lib/firmware/vta/vta-axi.dtbo" -
    sed 's|target = <&amba>|target-path = "/"|' vta.dts | dtc -q -@ -I dts -O dtb -o "$VTA_ROOT/lib/firmware/vta/vta-root.dtbo" -
    cp "$source/fpga/$family/vta.board" "$VTA_ROOT/lib/firmware/vta/"
    echo bits >"$VTA_ROOT/lib/firmware/vta/vta.bin"
    rm -f kernel.log
    python3 "$source/tests/fpga/kernel.py" "$VTA_ROOT" base.dtb "$family" "$source" "$vtac_program" "$@" >kernel.log 2>kernel.err &
    kernel=$!
    tries=0
    until grep -q ready kernel.log 2>/dev/null; do
        tries=$((tries + 1))
        [ $tries -le 1200 ] || { cp kernel.err err; wrong "the kernel's stand-in does not start"; return; }
        sleep 0.1
    done
}
load() {
    ran="vta-load on $tree"
    sh "$source/fpga/boot/vta-load" >out 2>err
    status=$?
}
# refuses TEXT: it ends with 1 and says why; nothing claims to be there.
refuses() {
    load
    exits 1
    says err "$1"
}

for tree in pynq-2.7 pynq-3.0 pynq-3.1 pynq-axi pynq-mainline pynq-petalinux ultra96-2.7 ultra96-3.0 ultra96-kria; do
    boot $tree
    for run in first second; do
        load
        exits 0
        says out "registers: /dev/uio0"
        says out "accelerator: configuration 'tiny'"
        says out "memory: /dev/udmabuf0, 67108864 bytes"
        case $tree in *-petalinux) below=/ ;; *-2.7) below=/amba ;; *) below=/axi ;; esac
        holds "the $run run: the bus is the one that is one" grep -q "device tree: .*, below $below\$" out
    done
    says out "device tree: the old overlay is gone"
    says out "DMA windows: 67108864 bytes at 0x"
    case $tree in ultra96*) page=0xa0001000 ;; *) page=0x43c01000 ;; esac
    holds "the DMA windows are the memory" sh -c "
        [ \$((\$(vta-mem $page) & 1)) = 1 ] &&
        [ \$((\$(vta-mem $((page + 16))))) = \$((\$(cat '$VTA_ROOT'/sys/class/u-dma-buf/udmabuf0/phys_addr))) ] &&
        [ \$((\$(vta-mem $((page + 24))) - \$(vta-mem $((page + 16))))) = 67108864 ] &&
        [ \$((\$(vta-mem $((page + 20))) + \$(vta-mem $((page + 28))))) = 0 ]"
    case $tree in
    ultra96*)
        says out "clock: pl0_ref, "
        holds "the ports have their widths" sh -c '[ $(($(vta-mem 0xfd615000) & 0x300)) = 0 ] && [ $(($(vta-mem 0xfd380014) & 3)) = 0 ]'
        [ "$tree" = ultra96-kria ] ||
            holds "PYNQ's own device has given its registers" grep -q . "$VTA_ROOT"/sys/devices/*.fabric/driver/unbind
        ;;
    pynq*)
        says out "clock: fclk0, "
        holds "the ports have their widths" sh -c '[ $(($(vta-mem 0xf8008000) & 1)) = 0 ] && [ $(($(vta-mem 0xf8008014) & 1)) = 0 ]'
        ;;
    esac
done
holds "the modules were loaded" grep -q 'uio_pdrv_genirq of_id=generic-uio' modules

# ---- a kernel without a driver for the ports: they are set and read back all the same
boot ultra96-3.0 afi
load
exits 0
holds "the ports have their widths" sh -c '[ $(($(vta-mem 0xfd615000) & 0x300)) = 0 ] && [ $(($(vta-mem 0xfd380000) & 3)) = 0 ]'
# ---- two accelerators: both pages, interrupts, ports and windows, on either family
LOAD_CONFIG=$work/two.json
KERNEL_CONFIG=$work/two.json
for tree in pynq-3.0 ultra96-kria; do
    boot $tree
    echo 'cores 2' >>"$VTA_ROOT/lib/firmware/vta/vta.board"
    for run in first second; do
        load
        exits 0
        says out "registers: /dev/uio0"
        says out "registers: /dev/uio1"
        says out "cores: 2"
    done
    case $tree in
    ultra96*) pages='0xa0001000 0xa0003000' ports='0xfd380000 0xfd380014 0xfd390000 0xfd390014' mask=3 ;;
    *) pages='0x43c01000 0x43c03000' ports='0xf8008000 0xf8008014 0xf8009000 0xf8009014' mask=1 ;;
    esac
    for page in $pages; do
        holds "the DMA windows of $page are the memory" sh -c "
            [ \$((\$(vta-mem $page) & 1)) = 1 ] && [ \$((\$(vta-mem $((page + 24))) - \$(vta-mem $((page + 16))))) = 67108864 ]"
    done
    for port in $ports; do
        holds "$tree: the port at $port has its width" sh -c "[ \$((\$(vta-mem $port) & $mask)) = 0 ]"
    done
done
# The overlay of one core for a bitstream of two, and the other way round.
LOAD_CONFIG=$source/isa/configs/tiny.json
boot ultra96-kria
echo 'cores 2' >>"$VTA_ROOT/lib/firmware/vta/vta.board"
VTA_WAIT=1
refuses "no UIO device 'vta1' has appeared"
VTA_WAIT=120
LOAD_CONFIG=$work/two.json
KERNEL_CONFIG=tiny
boot ultra96-kria
echo 'cores 2' >>"$VTA_ROOT/lib/firmware/vta/vta.board"
refuses "the accelerator does not answer as it should"
LOAD_CONFIG=$source/isa/configs/tiny.json

# ---- contiguous memory of other programs: it is passed over, and two of ours are one too many for one pair of windows
boot pynq-3.0
for node in camera udmabuf1; do
    mkdir -p "$VTA_ROOT/sys/class/u-dma-buf/$node"
    echo 4096 >"$VTA_ROOT/sys/class/u-dma-buf/$node/size"
    echo 0x1000 >"$VTA_ROOT/sys/class/u-dma-buf/$node/phys_addr"
    if [ $node = camera ]; then
        load
        exits 0
        says out "memory: /dev/udmabuf0, 67108864 bytes"
    else
        refuses "there are several contiguous memories (udmabuf0 udmabuf1 )"
        one_line err
    fi
done
# ---- nodes that take their time
boot pynq-3.1 slow
load
exits 0

# ---- what an image may lack
boot pynq-3.0 fclk
refuses "the clock fclk0 is off"
boot pynq-3.0 dma
VTA_WAIT=1
refuses "has appeared"
VTA_WAIT=soon
refuses "VTA_WAIT is 'soon'"
VTA_WAIT=120
boot pynq-3.0
sed -i 's/0x43c00000 0x1000/0x43c10000 0x1000/; s/43c00000/43c10000/' "$VTA_ROOT/lib/firmware/vta/vta.board"
sed 's/43c00000/43c10000/' "$source/fpga/zynq7/vta.dts" | dtc -q -@ -I dts -O dtb -o "$VTA_ROOT/lib/firmware/vta/vta.dtbo" -
refuses "the accelerator does not answer as it should"
boot pynq-3.0
sed 's/&amba/\&nobody/' "$source/fpga/zynq7/vta.dts" | dtc -q -@ -I dts -O dtb -o "$VTA_ROOT/lib/firmware/vta/vta.dtbo" -
VTA_WAIT=1
refuses "the kernel has refused the device tree"
one_line err
# The overlay of the first releases: below /amba, which is no bus on this image.
boot pynq-3.0
sed 's|target = <&amba>|target-path = "/amba"|' "$source/fpga/zynq7/vta.dts" | dtc -q -@ -I dts -O dtb -o "$VTA_ROOT/lib/firmware/vta/vta.dtbo" -
load
exits 1
boot pynq-3.0
rm -r "$VTA_ROOT/proc/device-tree/__symbols__"
refuses "has no labels (__symbols__)"
one_line err
boot pynq-3.0
rm "$VTA_ROOT/proc/device-tree/__symbols__/clkc"
refuses "has no label 'clkc'"
one_line err
boot pynq-axi
rm "$VTA_ROOT/lib/firmware/vta/vta-axi.dtbo"
refuses "vta-axi.dtbo is missing"
boot pynq-3.0
echo unknown >"$VTA_ROOT/sys/class/fpga_manager/fpga0/state"
refuses "the FPGA is 'unknown' after loading"
one_line err
boot pynq-3.0
rm -r "$VTA_ROOT/sys/kernel/config/device-tree"
refuses "takes no device-tree overlays"
one_line err
for file in vta.bin vta.board; do
    boot pynq-3.0
    rm "$VTA_ROOT/lib/firmware/vta/$file"
    refuses "/lib/firmware/vta/$file is missing"
    one_line err
done

# ---- vta-mem and its mistakes
ran="vta-mem"
vta-mem 0x100 0xff0 0xabc >out 2>err
status=$?
exits 0
says out "0x00000ab0"
vta-mem 0x102 >out 2>err
status=$?
exits 2
says err "not a multiple of 4"
vta-mem 0x1000000000000000000 >out 2>err
status=$?
exits 2
says err "is not a number that fits"
finish
