# SPDX-License-Identifier: Apache-2.0
#
# Ultra96 (V1 and V2): vivado -mode batch -source fpga/ultra96/build.tcl -tclargs BUILD HEADERS PARAMS
# (./run bitstream BOARD passes them). Registers on HPM0 of the full-power domain, DRAM through HP0, everything on PL clock 0.
set here [file dirname [file normalize [info script]]]
set root [file normalize [file join $here .. ..]]
source [file join $root fpga vivado project.tcl]

build_board [dict create \
    name ultra96 \
    part xczu3eg-sbva484-1-i \
    config ultra96 \
    processor zynq_ultra_ps_e \
    properties {
        CONFIG.PSU__CRL_APB__PL0_REF_CTRL__FREQMHZ @MHZ@
        CONFIG.PSU__FPGA_PL0_ENABLE 1
        CONFIG.PSU__USE__M_AXI_GP0 1
        CONFIG.PSU__USE__M_AXI_GP1 0
        CONFIG.PSU__USE__M_AXI_GP2 0
        CONFIG.PSU__MAXIGP0__DATA_WIDTH 32
        CONFIG.PSU__USE__S_AXI_GP2 1
        CONFIG.PSU__SAXIGP2__DATA_WIDTH 128
        CONFIG.PSU__USE__IRQ0 1
    } \
    clock pl_clk0 \
    reset pl_resetn0 \
    source 100 \
    doubled dividers \
    control M_AXI_HPM0_FPD \
    control_clock maxihpm0_fpd_aclk \
    memory S_AXI_HP0_FPD \
    memory_clock saxihp0_fpd_aclk \
    interrupt pl_ps_irq0 \
    segments {SAXIGP2/HP0_DDR_LOW SAXIGP2/HP0_DDR_HIGH} \
    registers 0xA0000000 \
    externals {} \
    xdc [file join $here vta.xdc]] $root $argv
