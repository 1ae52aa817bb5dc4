#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016,SC2154  # for the inner shell; of lib.sh
#
# The driver and the board's package on a kernel that none of us wrote: Debian's for ARM, under qemu, with its UIO driver,
# its /dev/uio0, interrupts and mmap. The accelerator is the RTL: `vtac board` serves the page and the memory that the machine
# has (kernel/machine.py). Arguments: VTAC SOURCE AGENT MODEL.so PROGRAM MODEL.onnx BUILD.
onnx=$6
build=$7
kernel=$build/kernel
tools=arm-linux-gnueabihf
[ -e "$kernel/ready" ] || { echo "no kernel here: './run kernel' fetches Debian's"; exit 77; }
for tool in qemu-system-arm qemu-arm $tools-gcc dtc fdtoverlay; do
    command -v "$tool" >/dev/null || { echo "$tool is not installed"; exit 77; }
done
# shellcheck source=tests/board/lib.sh
. "$(dirname "$0")/lib.sh"
seed=$("$source/tests/lib/seed.sh" board_kernel)
echo "seed $seed, kernel $(cat "$kernel/ready")"

"$source/fpga/cross/package.sh" pynq "$build/cross" >package.out 2>&1 || { cat package.out; exit 1; }
tar -xzf "$build/cross/vta-pynq.tar.gz"
mkdir -p root/bin root/lib root/proc root/sys root/dev root/tmp root/etc
cp vta-pynq/bin/* "$kernel/busybox" root/bin/
cp "$kernel"/*.ko root/lib/
for library in ld-linux-armhf.so.3 libc.so.6 libm.so.6 libpthread.so.0 libdl.so.2; do
    cp -L "/usr/$tools/lib/$library" root/lib/
done
cp "$here/kernel/init" root/init
printf 'root:x:0:0::/:/bin/sh\nmember:x:1000:987::/:/bin/sh\nstranger:x:1001:1001::/:/bin/sh\n' >root/etc/passwd

# Two inputs that the network tells apart; what its program for ARM makes of them on fsim is the reference.
vtac compile "$onnx" --target vta --config tiny --offload all -o here.so
exits 0
vtac compile "$onnx" --target vta --config tiny --offload all --host pynq -o root/net.so
exits 0
holds "two inputs" /usr/bin/python3 "$source/tests/cross/inputs.py" "$seed" -2 2 "1 1 49 10" \
    "$vtac_program" run here.so --device fsim --input 'in{}.npy' --output-dir 'here{}'
cp in1.npy in2.npy root/
for run in 1 2; do
    holds "the reference for input $run" qemu-arm -L "/usr/$tools" vta-pynq/bin/vta-run root/net.so --device fsim --input "in$run.npy" \
        --output-dir "ref$run"
done

board b --config tiny --plain --memory 16 --address 0x50001000
holds "the machine runs and goes off" python3 "$here/kernel/machine.py" b "$kernel" root console
end "$board_pid"
tr -d '\r' <console >lines
grep -v ^FILE lines | tail -n 60
holds "it came to its end" grep -q '^END$' lines
holds "nothing failed in it" sh -c '! grep ^FAIL lines'
holds "all was tried" test "$(grep -c ^PASS lines)" -ge 20
grep '^FILE ' lines | while read -r _ place bytes; do echo "$bytes" | base64 -d >"got.$(basename "$place")"; done
for pair in got1:1 got2:2 again:2 both1:1 both2:2 after:1 member:1 back:2; do
    holds "the bytes of ${pair%:*} are fsim's" sh -c "cmp got.${pair%:*} ref${pair#*:}/*.npy"
done
finish
