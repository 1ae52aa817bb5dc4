# SPDX-License-Identifier: Apache-2.0
#
# From hw/ to a bitstream, for the board that sourced this: project, block design, constraints, implementation, reports.
# Without a GUI and without Vivado's board files, which a plain installation does not have. Vivado 2020.1 to 2024.x.
#
# `board` is a dictionary:
#   name, part                 what is built, for which part
#   config                     the accelerator's configuration (isa/configs)
#   processor, properties      the IP of the processing system, and how it is set
#   clock, reset               its pins: the clock of everything, and its reset
#   control, control_clock     its master for registers, and that port's clock
#   memory, memory_clock       its slave towards DRAM, and that port's clock
#   interrupt                  its pin for the accelerator's interrupt
#   segments                   the parts of DRAM behind `memory` that the accelerator sees
#   registers                  the address of the register page; the device tree has the same
#   externals                  interfaces of the processing system that are pins of the package
#   xdc                        constraints beside the board's script

# The newest version that this Vivado has of an IP.
proc ip_of {name} {
    set versions [lsort -dictionary [get_ipdefs -all "xilinx.com:ip:$name:*"]]
    if {[llength $versions] == 0} {
        error "this Vivado has no IP '$name'"
    }
    return [lindex $versions end]
}

# The parameters of the configuration as macros, and where the generated ISA header lies.
proc write_header {board build params} {
    set path [file join $build include vta_config.vh]
    file mkdir [file dirname $path]
    set out [open $path w]
    puts $out "// Written by project.tcl for [dict get $board name]."
    foreach line [split [string trim [exec $params plain [dict get $board config]]] "\n"] {
        if {![regexp {^([A-Z_]+)=(\S+)$} $line - name value]} {
            close $out
            error "$params printed '$line'"
        }
        puts $out "`define VTA_$name $value"
    }
    close $out
    return [file dirname $path]
}

# The clock that the configuration was made for, in MHz.
proc clock_of {root config} {
    set in [open [expr {[file isfile $config] ? $config : [file join $root isa configs $config.json]}]]
    set text [read $in]
    close $in
    if {![regexp {"CLOCK_MHZ"\s*:\s*(\d+)} $text - mhz]} {
        error "$config.json has no CLOCK_MHZ"
    }
    return $mhz
}

proc add_sources {board root build headers params} {
    set files [concat [glob -directory [file join $root hw rtl] */*.v] [list [file join $root fpga vivado vta_board.v]]]
    add_files -norecurse [lsort $files]
    add_files -fileset constrs_1 -norecurse [dict get $board xdc]
    set dirs [list [write_header $board $build $params] $headers [file join $root hw include]]
    foreach dir [glob -directory [file join $root hw rtl] -type d *] {
        lappend dirs $dir
    }
    set_property include_dirs $dirs [get_filesets sources_1]
    set_property verilog_define SYNTHESIS=1 [get_filesets sources_1]
    update_compile_order -fileset sources_1
}

# One clock drives all: the processing system makes it, and a reset that is synchronous to it.
proc connect_clock {board} {
    set sinks [list vta/aclk control/ACLK control/S00_ACLK control/M00_ACLK memory/ACLK memory/S00_ACLK memory/M00_ACLK \
        reset/slowest_sync_clk ps/[dict get $board control_clock] ps/[dict get $board memory_clock]]
    foreach sink $sinks {
        connect_bd_net [get_bd_pins ps/[dict get $board clock]] [get_bd_pins $sink]
    }
    connect_bd_net [get_bd_pins ps/[dict get $board reset]] [get_bd_pins reset/ext_reset_in]
    foreach sink {control/ARESETN memory/ARESETN} {
        connect_bd_net [get_bd_pins reset/interconnect_aresetn] [get_bd_pins $sink]
    }
    foreach sink {control/S00_ARESETN control/M00_ARESETN memory/S00_ARESETN memory/M00_ARESETN vta/aresetn} {
        connect_bd_net [get_bd_pins reset/peripheral_aresetn] [get_bd_pins $sink]
    }
}

proc create_design {board} {
    create_bd_design system
    create_bd_cell -type ip -vlnv [ip_of [dict get $board processor]] ps
    set_property -dict [dict get $board properties] [get_bd_cells ps]
    foreach interface [dict get $board externals] {
        make_bd_intf_pins_external -name $interface [get_bd_intf_pins ps/$interface]
    }
    create_bd_cell -type module -reference vta_board vta
    create_bd_cell -type ip -vlnv [ip_of proc_sys_reset] reset
    foreach cell {control memory} { # protocols and widths are converted in there
        create_bd_cell -type ip -vlnv [ip_of axi_interconnect] $cell
        set_property -dict {CONFIG.NUM_SI 1 CONFIG.NUM_MI 1} [get_bd_cells $cell]
    }
    connect_bd_intf_net [get_bd_intf_pins ps/[dict get $board control]] [get_bd_intf_pins control/S00_AXI]
    connect_bd_intf_net [get_bd_intf_pins control/M00_AXI] [get_bd_intf_pins vta/S_AXI]
    connect_bd_intf_net [get_bd_intf_pins vta/M_AXI] [get_bd_intf_pins memory/S00_AXI]
    connect_bd_intf_net [get_bd_intf_pins memory/M00_AXI] [get_bd_intf_pins ps/[dict get $board memory]]
    connect_clock $board
    connect_bd_net [get_bd_pins vta/irq] [get_bd_pins ps/[dict get $board interrupt]]

    assign_bd_address -offset [dict get $board registers] -range 8K \
        -target_address_space [get_bd_addr_spaces ps/Data] [get_bd_addr_segs vta/S_AXI/reg0]
    foreach segment [dict get $board segments] {
        assign_bd_address -target_address_space [get_bd_addr_spaces vta/M_AXI] [get_bd_addr_segs ps/$segment]
    }
    validate_bd_design
    save_bd_design
    set wrapper [make_wrapper -files [get_files system.bd] -top]
    add_files -norecurse $wrapper
    set_property top system_wrapper [current_fileset]
}

proc run_to_the_end {run args} {
    launch_runs $run -jobs 4 {*}$args
    wait_on_run $run
    if {[get_property PROGRESS [get_runs $run]] ne "100%"} {
        error "$run failed; its log is [file join [get_property DIRECTORY [get_runs $run]] runme.log]"
    }
}

# Reports, the bitstream and the form of it that the kernel's FPGA manager takes. A design that misses its clock gives none.
proc finish {board build} {
    set out [file join $build out]
    file mkdir $out
    open_run impl_1
    report_timing_summary -file [file join $out timing.rpt]
    report_utilization -hierarchical -file [file join $out utilization.rpt]
    report_power -file [file join $out power.rpt]
    set slack [get_property SLACK [get_timing_paths -max_paths 1 -setup]]
    puts "worst setup slack: $slack ns"
    if {$slack < 0} {
        error "the design misses its clock by [expr {-$slack}] ns; see $out/timing.rpt"
    }
    set name vta-[dict get $board name]
    write_bitstream -force [file join $out $name.bit]
    write_cfgmem -force -format BIN -interface SMAPx32 -disablebitswap \
        -loadbit "up 0x0 [file join $out $name.bit]" [file join $out $name.bin]
    write_hw_platform -fixed -force -include_bit [file join $out $name.xsa]
    puts "bitstream: [file join $out $name.bit], for the FPGA manager: [file join $out $name.bin]"
}

# -tclargs BUILD HEADERS PARAMS: the folder to work in, that of vta_isa.vh, and the program vta-params. VTA_CONFIG in the
# environment is the file of another configuration than the board's own.
proc build_board {board root arguments} {
    if {[llength $arguments] != 3} {
        error "usage: vivado -mode batch -source build.tcl -tclargs BUILD HEADERS PARAMS"
    }
    lassign $arguments build headers params
    if {[info exists ::env(VTA_CONFIG)] && $::env(VTA_CONFIG) ne ""} {
        dict set board config $::env(VTA_CONFIG)
    }
    set mhz [clock_of $root [dict get $board config]]
    dict set board properties [string map [list @MHZ@ $mhz] [dict get $board properties]]
    create_project -force vta [file join $build project] -part [dict get $board part]
    add_sources $board $root $build $headers $params
    create_design $board
    run_to_the_end synth_1
    run_to_the_end impl_1 -to_step route_design
    finish $board $build
}
