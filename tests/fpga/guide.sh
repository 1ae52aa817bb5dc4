#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# The board guide, typed as it stands: every block of fpga/BOARD.md that is marked `sh`, in order. Vivado is the recording
# stand-in; the board is a folder whose programs run under qemu, behind a stand-in for ssh, with the files that kernel.py
# shows, which makes devices only of an overlay that fits. What the guide promises to be printed is compared.
# Arguments: VTAC SOURCE BUILD
build=$3
. "$(dirname "$0")/../cli/lib.sh"
for tool in tclsh dtc fdtoverlay python3 qemu-arm arm-linux-gnueabihf-gcc; do
    command -v $tool >/dev/null || { echo "$tool is not installed"; exit 77; }
done
guide=$source/fpga/BOARD.md
root=$work/root
mkdir -p bin "$root/etc" "$root/home"
: >"$root/etc/group"
# The RTL behind the virtual board is built once; a board does not wait for a compiler.
vtac exec "$source/isa/programs/matmul.vasm" --device tsim:pynq
exits 0
dtc -q -@ -I dts -O dtb -o base.dtb "$source/tests/fpga/trees/pynq-3.0.dts"
python3 "$source/tests/fpga/kernel.py" "$root" base.dtb zynq7 "$source" "$vtac_program" >kernel.log 2>kernel.err &
kernel=$!
trap 'kill $kernel; pkill -f "board --dir $root"; rm -rf "$work"' EXIT
tries=0
until grep -q ready kernel.log; do
    tries=$((tries + 1))
    [ $tries -le 100 ] || { cat kernel.err; echo "the kernel's stand-in does not start"; exit 1; }
    sleep 0.1
done
PRESET=$(basename "$build")
QEMU_LD_PREFIX=/usr/arm-linux-gnueabihf
HOME=$work
VTA_ROOT=$root
export PRESET QEMU_LD_PREFIX HOME VTA_ROOT
mkdir -p "$build/bitstream/pynq" # what an earlier build leaves

# program NAME: a stand-in from standard input, in front of the real one.
program() {
    { echo '#!/bin/sh'; cat; } >"bin/$1"
    chmod +x "bin/$1"
}
program vivado <<END
printf 'registers 0x43c00000\ninterrupt 29\nport 0\nclock_hz 100000000\nvta_hz 100000000\nconfig_hz 100000000\n' >"$work/facts"
while [ "\$1" != -source ]; do shift; done
script=\$2
shift 3
exec tclsh "$source/tests/fpga/vivado.tcl" "$work/facts" "\$script" "\$@"
END
program sudo <<'END'
exec "$@"
END
program modprobe <<END
echo "\$*" >>"$work/modules"
END
program ssh <<END
while :; do
    case \$1 in
    -o | -p | -l) shift 2 ;;
    -*) shift ;;
    *) break ;;
    esac
done
[ "\${1#*@}" = pynq ] || { echo "ssh: no host '\$1'" >&2; exit 255; }
shift
cd "$root/home"
PATH=$work/board:$work/bin:\$PATH
exec sh -c "\$*"
END
program scp <<END
cp "\$1" "$root/home/"
END
program rmdir <<'END'
exec rm -r "$@"
END
mkdir board
for name in vta-run vta-mem vtac-agent; do
    printf '#!/bin/sh\nexec qemu-arm -cpu cortex-a9 "%s/usr/local/bin/%s" "$@"\n' "$root" $name >board/$name
    chmod +x board/$name
done
ln -s "$root/usr/local/sbin/vta-load" board/vta-load
ln -s "$vtac_program" bin/vtac
PATH=$work/bin:$PATH
VTA_WAIT=120 # a busy machine may take long to make a device
export VTA_WAIT

# The commands, with the card at another place than /mnt and the work outside of the source tree.
awk '/^```sh$/ { on = 1; next } /^```/ { on = 0 } on' "$guide" >commands
holds "the guide has commands" test "$(wc -l <commands)" -ge 8
holds "every block is marked" sh -c "grep -c '^\`\`\`' '$guide' | awk '{ exit \$1 % 2 }'"
number=0
while read -r line; do
    number=$((number + 1))
    line=$(printf '%s\n' "$line" | sed "s| /mnt | '$root' |; s| \./run | '$source/run' |; s|^\./run |'$source/run' |; s| fpga/boot/\([^ ]*\)| '$source/fpga/boot/\1'|; s| build/$PRESET/\([^ ]*\)| '$build/\1'|; s| build/release/\([^ ]*\)| '$build/\1'|")
    case $line in *image.sh*) ran=$line; mkdir -p "$root/usr" ;; esac
    ran="guide: $line"
    # shellcheck disable=SC2086
    sh -c "$line" </dev/null >out 2>err
    status=$?
    exits 0
    cp out out.$number
done <commands

# said TEXT: one of the commands printed it.
said() {
    ran="the guide promises '$1'"
    checks=$((checks + 1))
    grep -qF -- "$1" out.* || wrong "nobody printed it"
}
said 'runtime and driver, stripped: '
said 'needs glibc 2.34'
said 'worst setup slack: '
said "package, overlay, load script and udev rule are in $root"
said 'bitstream: /lib/firmware/vta/vta.bin, FPGA operating'
said 'device tree: /lib/firmware/vta/vta.dtbo'
said 'registers: /dev/uio0'
said 'memory: /dev/udmabuf0, 67108864 bytes'
said 'DMA windows: 67108864 bytes at 0x'
said 'clock: fclk0, 100000000 Hz'
said "accelerator: configuration 'pynq', 1x16x16, hash $("$vtac_program" doctor --device fsim:pynq | sed -n 's/.*hash //p')"
said "on arm, device 'fsim'"
said "configuration 'pynq', 1x16x16, hash $("$vtac_program" doctor --device fsim:pynq | sed -n 's/.*hash //p')"
said '3 products with different data are right'
said ' for pynq, '
for text in "$(grep -hF 'ok      connection' out.*)" "$(grep -hF 'ok      identification' out.*)" \
    "$(grep -hF 'ok      known answer' out.*)" 'FPGA operating' 'registers: /dev/uio0' 'memory: /dev/udmabuf0, 67108864 bytes' "$(grep -h '^clock: ' out.*)" \
    "$(grep -h '^DMA windows: ' out.*)" \
    "$(grep -h '^accelerator: ' out.*)" 'worst setup slack'; do
    holds "'$text' stands in the guide" grep -qF "$text" "$guide"
done
holds "the modules were loaded" grep -q 'uio_pdrv_genirq of_id=generic-uio' modules
holds "the overlay went into the kernel" cmp "$root/sys/kernel/config/device-tree/overlays/vta/dtbo" "$root/lib/firmware/vta/vta.dtbo"
holds "the unit starts with the board" test -e "$root/etc/systemd/system/multi-user.target.wants/vta-load.service"
holds "the udev rule" test -s "$root/etc/udev/rules.d/70-vta.rules"

finish
