# SPDX-License-Identifier: Apache-2.0
#
# Boards with a Zynq-7000: vivado -mode batch -source fpga/zynq7/build.tcl -tclargs BOARD BUILD HEADERS PARAMS
# (./run bitstream BOARD passes them). Registers on GP0, DRAM of core N through HPN, everything on FCLK0. The width of DRAM tells how much of it a
# port reaches; the boot loader has set all else of it.
set here [file dirname [file normalize [info script]]]
set root [file normalize [file join $here .. ..]]
source [file join $root fpga vivado project.tcl]

set row [row_of $root $argv]
set width [expr {[dict get $row memory] > 512 ? 32 : 16}]
build_board [dict merge $row [dict create \
    processor processing_system7 \
    properties [string map [list @WIDTH@ $width] {
        CONFIG.PCW_FPGA0_PERIPHERAL_FREQMHZ @MHZ@
        CONFIG.PCW_EN_CLK0_PORT 1
        CONFIG.PCW_EN_RST0_PORT 1
        CONFIG.PCW_USE_M_AXI_GP0 1
        CONFIG.PCW_USE_FABRIC_INTERRUPT 1
        CONFIG.PCW_IRQ_F2P_INTR 1
        CONFIG.PCW_UIPARAM_DDR_PARTNO {MT41K256M16 RE-125}
        CONFIG.PCW_UIPARAM_DDR_BUS_WIDTH {@WIDTH@ Bit}
    }] \
    clock FCLK_CLK0 \
    reset FCLK_RESET0_N \
    source 100 \
    doubled outputs \
    control M_AXI_GP0 \
    control_clock M_AXI_GP0_ACLK \
    port_properties {CONFIG.PCW_USE_S_AXI_HP@PORT@ 1 CONFIG.PCW_S_AXI_HP@PORT@_DATA_WIDTH 64} \
    memory S_AXI_HP@PORT@ \
    memory_clock S_AXI_HP@PORT@_ACLK \
    interrupt IRQ_F2P \
    segments {S_AXI_HP@PORT@/HP@PORT@_DDR_LOWOCM} \
    registers 0x43C00000 \
    externals {DDR FIXED_IO} \
    xdc [file join $here vta.xdc]]] $root $argv
