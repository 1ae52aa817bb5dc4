# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2046  # for the scripts that source this; words
#
# Sourced by scripts that compare a compiled overlay, overlay.dtbo, with what the stand-in of Vivado (vivado.tcl) was told to build.
overlay=/fragment@0/__overlay__

# sets_port CORE: the tree sets the widths of the core's port towards DRAM.
sets_port() {
    case $(fdtget -t x -d none overlay.dtbo $overlay/vta-ports config-afi) in
    none)
        afi=$overlay/afi@f800$(printf %x $((8 + $1)))000
        [ "$(fdtget overlay.dtbo "$afi" compatible 2>/dev/null)" = xlnx,afi-fpga ] && [ "$(fdtget -d okay overlay.dtbo "$afi" status)" = okay ]
        ;;
    *) fdtget -t u overlay.dtbo $overlay/vta-ports config-afi |
        awk -v read=$((4 + 2 * $1)) '{ for (i = 1; i < NF; i += 2) if ($i == read || $i == read + 1) set += $(i + 1) == 0 } END { exit set != 2 }' ;;
    esac
}

# core_facts: registers, interrupt and port of each core that is switched on; `hertz` is the rate of the first one's clock.
core_facts() {
    for node in $(fdtget -l overlay.dtbo $overlay | grep '^vta@'); do
        node=$overlay/$node
        [ "$(fdtget -d okay overlay.dtbo "$node" status)" = okay ] || continue
        name=$(fdtget overlay.dtbo "$node" linux,uio-name)
        core=${name#vta}
        echo "registers$core 0x$(fdtget -t x overlay.dtbo "$node" reg | awk '{ print $(NF / 2) }')" # the address' low word, of one cell or two
        echo "interrupt$core $(fdtget -t u overlay.dtbo "$node" interrupts | awk '{ print $2 }')"
        ! sets_port "${core:-0}" || echo "port$core ${core:-0}"
    done
    hertz=$(fdtget -t u overlay.dtbo "$overlay/$(fdtget -l overlay.dtbo $overlay | grep -m 1 '^vta@')" assigned-clock-rates)
}
