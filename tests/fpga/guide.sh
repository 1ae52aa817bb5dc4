#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# The board guide, typed as it stands: every block of fpga/BOARD.md that is marked `sh`, in order. Vivado is the recording
# stand-in; the board is a folder whose programs run under qemu, behind a stand-in for ssh, with the files that a kernel
# would show. What the guide promises to be printed is compared.
# Arguments: VTAC SOURCE BUILD
build=$3
. "$(dirname "$0")/../cli/lib.sh"
for tool in tclsh dtc qemu-arm arm-linux-gnueabihf-gcc; do
    command -v $tool >/dev/null || { echo "$tool is not installed"; exit 77; }
done
guide=$source/fpga/BOARD.md
root=$work/root
mkdir -p bin "$root/etc" "$root/home" "$root/sys/class/fpga_manager/fpga0" "$root/sys/kernel/config/device-tree/overlays" \
    "$root/sys/class/uio/uio0" "$root/sys/class/u-dma-buf/udmabuf0"
: >"$root/etc/group"
echo operating >"$root/sys/class/fpga_manager/fpga0/state"
echo vta >"$root/sys/class/uio/uio0/name"
echo 67108864 >"$root/sys/class/u-dma-buf/udmabuf0/size"
PRESET=$(basename "$build")
QEMU_LD_PREFIX=/usr/arm-linux-gnueabihf
HOME=$work
VTA_ROOT=$root
export PRESET QEMU_LD_PREFIX HOME VTA_ROOT

# program NAME: a stand-in from standard input, in front of the real one.
program() {
    { echo '#!/bin/sh'; cat; } >"bin/$1"
    chmod +x "bin/$1"
}
program vivado <<END
printf 'registers 0x43c00000\ninterrupt 29\nclock_hz 100000000\n' >"$work/facts"
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
mkdir board
for name in vta-run vtac-agent; do
    printf '#!/bin/sh\nexec qemu-arm -cpu cortex-a9 %s/usr/local/bin/%s "$@"\n' "$root" $name >board/$name
    chmod +x board/$name
done
ln -s "$root/usr/local/sbin/vta-load" board/vta-load
ln -s "$vtac_program" bin/vtac
PATH=$work/bin:$PATH

# The commands, with the card at another place than /mnt and the work outside of the source tree.
awk '/^```sh$/ { on = 1; next } /^```/ { on = 0 } on' "$guide" >commands
holds "the guide has commands" test "$(wc -l <commands)" -ge 8
holds "every block is marked" sh -c "grep -c '^\`\`\`' '$guide' | awk '{ exit \$1 % 2 }'"
number=0
while read -r line; do
    number=$((number + 1))
    line=$(printf '%s\n' "$line" | sed "s| /mnt | $root |; s| \./run | $source/run |; s|^\./run |$source/run |; s| fpga/boot/| $source/fpga/boot/|; s| build/$PRESET/| $build/|; s| build/release/| $build/|")
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
said "on arm, device 'fsim'"
said "configuration 'pynq', 1x16x16, hash $("$vtac_program" doctor --device fsim:pynq | sed -n 's/.*hash //p')"
said '3 products with different data are right'
said ' for pynq, '
for text in "$(grep -hF 'ok      connection' out.*)" "$(grep -hF 'ok      identification' out.*)" \
    "$(grep -hF 'ok      known answer' out.*)" 'FPGA operating' 'registers: /dev/uio0' 'memory: /dev/udmabuf0, 67108864 bytes' 'worst setup slack'; do
    holds "'$text' stands in the guide" grep -qF "$text" "$guide"
done
holds "the modules were loaded" grep -q 'uio_pdrv_genirq of_id=generic-uio' modules
holds "the overlay went into the kernel" cmp "$root/sys/kernel/config/device-tree/overlays/vta/dtbo" "$root/lib/firmware/vta/vta.dtbo"
holds "the unit starts with the board" test -e "$root/etc/systemd/system/multi-user.target.wants/vta-load.service"
holds "the udev rule" test -s "$root/etc/udev/rules.d/70-vta.rules"

# Once more, with what a kernel may lack: one line that says so.
refuses() {
    ran="vta-load without $1"
    sh "$root/usr/local/sbin/vta-load" >out 2>err
    status=$?
    exits 1
    says err "$2"
    one_line err
}
rm -r "$root/sys/kernel/config/device-tree/overlays/vta"
echo unknown >"$root/sys/class/fpga_manager/fpga0/state"
refuses 'an FPGA that takes it' "the FPGA is 'unknown' after loading"
echo operating >"$root/sys/class/fpga_manager/fpga0/state"
rm -r "$root/sys/kernel/config/device-tree"
refuses 'overlays' 'takes no device-tree overlays'
rm "$root/lib/firmware/vta/vta.bin"
refuses 'a bitstream' '/lib/firmware/vta/vta.bin is missing'
finish
