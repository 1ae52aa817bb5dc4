# SPDX-License-Identifier: Apache-2.0
#
# Boards with a Zynq UltraScale+: vivado -mode batch -source fpga/zynqmp/build.tcl -tclargs BOARD BUILD HEADERS PARAMS
# (./run bitstream BOARD passes them). Registers on HPM0 of the full-power domain, DRAM of core N through HPN, everything on PL clock 0. DRAM beyond
# 2 GiB lies above 32 GiB, and is an address segment of its own.
set here [file dirname [file normalize [info script]]]
set root [file normalize [file join $here .. ..]]
source [file join $root fpga vivado project.tcl]

set row [row_of $root $argv]
set high [expr {[dict get $row memory] > 2048}]
build_board [dict merge $row [dict create \
    processor zynq_ultra_ps_e \
    properties [string map [list @HIGH@ $high] {
        CONFIG.PSU__CRL_APB__PL0_REF_CTRL__FREQMHZ @MHZ@
        CONFIG.PSU__FPGA_PL0_ENABLE 1
        CONFIG.PSU__USE__M_AXI_GP0 1
        CONFIG.PSU__USE__M_AXI_GP1 0
        CONFIG.PSU__USE__M_AXI_GP2 0
        CONFIG.PSU__MAXIGP0__DATA_WIDTH 32
        CONFIG.PSU__USE__IRQ0 1
        CONFIG.PSU__HIGH_ADDRESS__ENABLE @HIGH@
    }] \
    clock pl_clk0 \
    reset pl_resetn0 \
    source 100 \
    doubled dividers \
    control M_AXI_HPM0_FPD \
    control_clock maxihpm0_fpd_aclk \
    port_properties {CONFIG.PSU__USE__S_AXI_GP@GP@ 1 CONFIG.PSU__SAXIGP@GP@__DATA_WIDTH 128} \
    memory S_AXI_HP@PORT@_FPD \
    memory_clock saxihp@PORT@_fpd_aclk \
    interrupt pl_ps_irq0 \
    segments [expr {$high ? {SAXIGP@GP@/HP@PORT@_DDR_LOW SAXIGP@GP@/HP@PORT@_DDR_HIGH} : {SAXIGP@GP@/HP@PORT@_DDR_LOW}}] \
    registers 0xA0000000 \
    externals {} \
    xdc [file join $here vta.xdc]]] $root $argv
