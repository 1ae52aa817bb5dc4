#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# vtac doctor: devices that are well, and each way to be ill that a virtual board can have, with what to do.
# shellcheck source=tests/board/lib.sh
. "$(dirname "$0")/lib.sh"
agent=$3

# A line of the table: outcome and name.
line() {
    checks=$((checks + 1))
    grep -qE "^$1 +$2 " out || wrong "no line '$1 $2'"
}

vtac doctor
exits 0
line ok "known answer"
holds "nothing failed" sh -c '! grep -q FAILED out'
vtac doctor --device tsim:tiny --json
exits 0
good_json out
says out '"name": "verilator", "finding": "ok"'
holds "the clock was seen" python3 -c '
import json
rows = {row["name"]: row["text"] for row in json.load(open("out"))["findings"]}
assert "cycles in" in rows["clock"], rows
'
vtac doctor --device fsim:nowhere
exits 1
line FAILED identification
line skipped "known answer"

# ---- a board that is well, here and through an agent; twice, since the first look may have changed something
board w --config tiny
for device in uio:w uio:w "pipe:'$agent' --stdio?device=uio:$work/w"; do
    vtac doctor --device "$device"
    exits 0
    for name in "device node" permissions memory temperature identification "DMA windows" "known answer" clock; do
        line ok "$name"
    done
    says out "65536 KiB free in one piece"
    says out "MHz: 1000"
    says out "the kernel has set 100 MHz"
    says out "this kernel shows none"
    says out "in force: programs reach the memory that the system has set"
done
line ok connection

# ---- temperatures as the kernel documents them: zones in millidegrees, channels as (raw + offset) * scale, a Zynq's XADC
mkdir -p w/sys/class/thermal/thermal_zone0 w/sys/bus/iio/devices/iio:device0 w/sys/bus/iio/devices/iio:device1
echo cpu-thermal >w/sys/class/thermal/thermal_zone0/type
echo 51250 >w/sys/class/thermal/thermal_zone0/temp
echo xadc >w/sys/bus/iio/devices/iio:device0/name
echo 2596 >w/sys/bus/iio/devices/iio:device0/in_temp0_raw
echo -2219 >w/sys/bus/iio/devices/iio:device0/in_temp0_offset
echo 123.040771484 >w/sys/bus/iio/devices/iio:device0/in_temp0_scale
echo ams >w/sys/bus/iio/devices/iio:device1/name
echo -7500 >w/sys/bus/iio/devices/iio:device1/in_temp7_remote_temp_input
echo 77 >w/sys/bus/iio/devices/iio:device1/in_voltage0_raw
vtac doctor --device uio:w
exits 0
line ok temperature
says out "cpu-thermal 51.2 °C, xadc 46.4 °C, ams -7.5 °C"
echo 3100 >w/sys/bus/iio/devices/iio:device0/in_temp0_raw
for device in uio:w "pipe:'$agent' --stdio?device=uio:$work/w"; do
    vtac doctor --device "$device"
    exits 1
    line FAILED temperature
    says out "at 100 °C and more no part keeps its timing"
    line ok "known answer"
done
rm -r w/sys/class/thermal w/sys/bus/iio

# ---- one that may not be opened
if [ "$(id -u)" = 0 ]; then
    chmod 711 "$work"
    chmod -R a+rX w
    chmod 600 w/dev/uio0
    cp "$vtac_program" "$work/vtac"
    ran="vtac doctor as nobody"
    setpriv --reuid=65534 --regid=65534 --clear-groups "$work/vtac" doctor --device "uio:$work/w" >out 2>err
    status=$?
else
    chmod 0 w/dev/uio0
    vtac doctor --device uio:w
fi
exits 1
line ok "device node"
line FAILED permissions
says out "install the udev rule 70-vta.rules and join the group 'vta'"
line skipped identification
end "$board_pid"
vtac doctor --device uio:w
exits 1
line FAILED "device node"
says out "'vtac board --dir w' makes one"

# ---- what else may be wrong, each at its line, seen from here and through an agent
looks_ill() { # BOARD LINE TEXT
    for device in "uio:$1" "pipe:'$agent' --stdio?device=uio:$work/$1"; do
        vtac doctor --device "$device"
        exits 1
        line FAILED "$2"
        says out "$3"
    done
    line ok connection
}
ill() { # FAULT LINE TEXT
    board "$1" --config tiny --fault "$1"
    looks_ill "$1" "$2" "$3"
    end "$board_pid"
}
ill dead identification "the accelerator is not loaded"
says out "'sudo vta-load' loads the bitstream"
ill hash identification "the hardware was built by another release"
board k --config tiny --fault clock
for device in uio:k "pipe:'$agent' --stdio?device=uio:$work/k"; do
    vtac doctor --device "$device"
    exits 1
    line FAILED "known answer"
    says out "it fails at 100 MHz and is right at 50 MHz: power or clock is at fault"
    holds "the clock is as it was" grep -qx 100000000 k/sys/bus/platform/devices/amba:vta-clock/set_rate
done
end "$board_pid"
ill bus "known answer" "bus error on device 'uio:"
says out "if that does not help, its memory port or its timing is at fault"
ill hang "known answer" "has stopped in the middle of a run"
line skipped clock
board clock --config tiny --fault hang@4 # behind the three products of the answer
vtac doctor --device uio:clock
exits 1
line ok "known answer"
line FAILED clock
says out "has stopped in the middle of a run"
says out "see that its clock is on in the device tree"
end "$board_pid"
board m --config tiny
size=$(cat m/sys/class/u-dma-buf/udmabuf0/size)
echo 4096 >m/sys/class/u-dma-buf/udmabuf0/size
looks_ill m memory "65536 bytes of contiguous memory are needed, 4096 are available in one piece (4096 of 4096 are free)"
says out "load u-dma-buf with a larger udmabuf0=BYTES"
line skipped identification
echo "$size" >m/sys/class/u-dma-buf/udmabuf0/size
vtac doctor --device uio:m
exits 0
rm m/sys/class/u-dma-buf/udmabuf0/size
looks_ill m "device node" "load the kernel module: 'modprobe u-dma-buf"
end "$board_pid"
vtac doctor --device "uio:m?name=x"
exits 1

# ---- DMA windows: a page of the memory, which the program fills; its data are outside. And none of it: the program is, too.
for window in 4:read 0:fetch; do
    board "n${window%:*}" --config tiny --window "${window%:*}"
    for _ in first second; do
        vtac doctor --device "uio:n${window%:*}"
        exits 1
        line FAILED "known answer"
        says out "${window#*:}"
        says out ", outside of the DMA windows that the system has set"
        holds "it says where" grep -q " at 0x2000[0-9a-f]*, outside" out
    done
    end "$board_pid"
done

# ---- tools and lines
ran="vtac doctor without tools"
PATH=/nonexistent "$vtac_program" doctor --device ssh://nobody@127.0.0.1:1 >out 2>err
status=$?
exits 1
line FAILED ld.lld-19
says out "'apt-get install lld-19'"
line FAILED ssh
says out "'apt-get install openssh-client'"
line FAILED connection
PATH=/nonexistent "$vtac_program" doctor --device tsim:tiny >out 2>err
status=$?
exits 1
for tool in verilator g++ make; do
    line FAILED "$(echo "$tool" | sed 's/+/[+]/g')"
    says out "'apt-get install $tool'"
done
vtac doctor --device "pipe:false"
exits 1
line FAILED connection
says out "an agent of this release is there"
vtac doctor x
refused 2 "unexpected 'x'"
finish
