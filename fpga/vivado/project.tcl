# SPDX-License-Identifier: Apache-2.0
#
# From hw/ to a bitstream, for the board that sourced this: project, block design, constraints, implementation, reports.
# Without a GUI and without Vivado's board files, which a plain installation does not have. Vivado 2020.1 to 2024.x.
#
# `board` is a dictionary:
#   name, part, config, memory the board's row of fpga/boards.txt
#   processor, properties      the IP of the processing system, and how it is set
#   clock, reset               its pins: the clock of everything, and its reset
#   source                     MHz of the processing system's clock that an MMCM makes the others from, where an array wants one at twice
#                              the rate; else that clock is the accelerator's
#   doubled                    how a clock at twice the rate is made, for an array that wants one: `outputs` are two of an MMCM,
#                              `dividers` are two buffers behind one, of which one divides: less skew, where a part has such buffers
#   control, control_clock     its master for registers, and that port's clock
#   memory, memory_clock       its slave towards DRAM, and that port's clock. A configuration of several cores (CORES) has as many
#                              accelerators, and each has a port: @PORT@ stands for its number, @GP@ for that of its S_AXI_GP
#   port_properties            how the processing system is set for each of these ports
#   interrupt                  its pin for the accelerators' interrupts, core by core
#   segments                   the parts of DRAM behind `memory` that the accelerator sees
#   registers                  the address of the first core's register page, those of the others 8 KiB apart; the device tree has the same
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

# The row of boards.txt that the first of a script's arguments names: a dictionary.
proc row_of {root arguments} {
    set name [lindex $arguments 0]
    set in [open [file join $root fpga boards.txt]]
    set rows [split [read $in] "\n"]
    close $in
    foreach row $rows {
        if {[regexp {^([a-z0-9-]+)\s+(\w+)\s+(\S+)\s+(\w+)\s+(\d+)\s} $row - board - part config memory] && $board eq $name} {
            return [dict create name $name part $part config $config memory $memory]
        }
    }
    error "boards.txt has no board '$name'"
}

# The parameters of the configuration: a dictionary.
proc parameters_of {board params} {
    set found {}
    foreach line [split [string trim [exec $params plain [dict get $board config]]] "\n"] {
        if {![regexp {^([A-Z][A-Z0-9_]*)=(\S+)$} $line - name value]} {
            error "$params printed '$line'"
        }
        dict set found $name $value
    }
    return $found
}

# The same as macros, and where they lie.
proc write_header {board build} {
    set path [file join $build include vta_config.vh]
    file mkdir [file dirname $path]
    set out [open $path w]
    puts $out "// Written by project.tcl for [dict get $board name]."
    dict for {name value} [dict get $board parameters] {
        puts $out "`define VTA_$name $value"
    }
    close $out
    return [file dirname $path]
}

# True where the array wants a clock at twice the rate.
proc doubles {board} {
    return [expr {[dict get $board parameters PUMP] == 2}]
}

# A pattern of cycles.txt as one of cells: what ends in .* is an instance, what does not a register.
proc cells_of {pattern} {
    if {[string match {*.\*} $pattern]} {
        return "[string range $pattern 0 end-2]/*"
    }
    return "${pattern}_reg*"
}

# The paths of fpga/timing/cycles.txt as constraints: from the slow clock to the fast registers a whole slow cycle, two fast ones, but
# not from the registers that are excepted. Holds stay at the edge where both clocks have one.
proc write_cycles {root build} {
    set in [open [file join $root fpga timing cycles.txt]]
    set rows [split [read $in] "\n"]
    close $in
    file mkdir $build
    set path [file join $build cycles.xdc]
    set out [open $path w]
    puts $out "# Written by project.tcl from cycles.txt."
    foreach row $rows {
        if {![regexp {^whole (\S+) but (.+)$} $row - cells registers]} continue
        set to "\[get_cells -hierarchical -filter {NAME =~ [cells_of $cells]}\]"
        set from "\[get_clocks -of_objects \[get_pins -hierarchical -filter {NAME =~ */vta/aclk}\]\]"
        puts $out "set_multicycle_path -setup 2 -end -from $from -to $to"
        puts $out "set_multicycle_path -hold 1 -end -from $from -to $to"
        foreach register $registers {
            set from "\[get_cells -hierarchical -filter {NAME =~ [cells_of $register]}\]"
            puts $out "set_multicycle_path -setup 1 -end -from $from -to $to"
            puts $out "set_multicycle_path -hold 0 -end -from $from -to $to"
        }
    }
    close $out
    return $path
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

# The number of accelerators beside each other.
proc cores_of {root config} {
    set in [open [expr {[file isfile $config] ? $config : [file join $root isa configs $config.json]}]]
    set text [read $in]
    close $in
    return [expr {[regexp {"CORES"\s*:\s*(\d+)} $text - cores] ? $cores : 1}]
}

# The name of a cell that each core has: the first one's has no number.
proc cell_of {name core} {
    return [expr {$core == 0 ? $name : "$name$core"}]
}

# A value of `board` for the port of a core.
proc of_port {board key core} {
    return [string map [list @PORT@ $core @GP@ [expr {2 + $core}]] [dict get $board $key]]
}

# The numbers of all cores.
proc numbers {board} {
    set all {}
    for {set core 0} {$core < [dict get $board cores]} {incr core} { lappend all $core }
    return $all
}

proc add_sources {board root build headers} {
    set files [concat [glob -directory [file join $root hw rtl] */*.v] [list [file join $root fpga vivado vta_board.v]]]
    add_files -norecurse [lsort $files]
    add_files -fileset constrs_1 -norecurse [list [dict get $board xdc]]
    if {[doubles $board]} { # of cells that are there, and clocks that have names, once all is put together
        set cycles [write_cycles $root $build]
        add_files -fileset constrs_1 -norecurse [list $cycles]
        set_property used_in_synthesis false [get_files $cycles]
        set_property processing_order LATE [get_files $cycles]
    }
    set dirs [list [write_header $board $build] $headers [file join $root hw include]]
    foreach dir [glob -directory [file join $root hw rtl] -type d *] {
        lappend dirs $dir
    }
    set_property include_dirs $dirs [get_filesets sources_1]
    set_property verilog_define SYNTHESIS=1 [get_filesets sources_1]
    update_compile_order -fileset sources_1
}

proc buffer_of_clock {name source divide} {
    create_bd_cell -type ip -vlnv [ip_of util_ds_buf] $name
    set_property -dict [list CONFIG.C_BUF_TYPE BUFGCE_DIV CONFIG.C_BUFGCE_DIV $divide] [get_bd_cells $name]
    connect_bd_net [get_bd_pins $source] [get_bd_pins $name/BUFGCE_I]
    connect_bd_net [get_bd_pins one/dout] [get_bd_pins $name/BUFGCE_CE]
    connect_bd_net [get_bd_pins zero/dout] [get_bd_pins $name/BUFGCE_CLR]
    return $name/BUFGCE_O
}

# Two clocks, edges in line, from that of the processing system, by an MMCM, which makes rates that the processing system does not: {the slow one, the fast one}. The reset waits for its lock.
proc make_doubled {board} {
    set mhz [dict get $board mhz]
    create_bd_cell -type ip -vlnv [ip_of clk_wiz] clocks
    set common [list CONFIG.PRIMITIVE MMCM CONFIG.PRIM_SOURCE No_buffer CONFIG.PRIM_IN_FREQ [dict get $board source] CONFIG.USE_RESET false CONFIG.USE_LOCKED true]
    if {[dict get $board doubled] eq "dividers"} {
        set_property -dict [concat $common [list CONFIG.NUM_OUT_CLKS 1 \
            CONFIG.CLKOUT1_REQUESTED_OUT_FREQ [expr {2 * $mhz}] CONFIG.CLKOUT1_DRIVES No_buffer]] [get_bd_cells clocks]
        foreach {name value} {zero 0 one 1} {
            create_bd_cell -type ip -vlnv [ip_of xlconstant] $name
            set_property -dict [list CONFIG.CONST_WIDTH 1 CONFIG.CONST_VAL $value] [get_bd_cells $name]
        }
        set pair [list [buffer_of_clock halved clocks/clk_out1 2] [buffer_of_clock whole clocks/clk_out1 1]]
    } else {
        set_property -dict [concat $common [list CONFIG.NUM_OUT_CLKS 2 CONFIG.CLKOUT2_USED true \
            CONFIG.CLKOUT1_REQUESTED_OUT_FREQ $mhz CONFIG.CLKOUT2_REQUESTED_OUT_FREQ [expr {2 * $mhz}]]] [get_bd_cells clocks]
        set pair {clocks/clk_out1 clocks/clk_out2}
    }
    connect_bd_net [get_bd_pins ps/[dict get $board clock]] [get_bd_pins clocks/clk_in1]
    connect_bd_net [get_bd_pins clocks/locked] [get_bd_pins reset/dcm_locked]
    return $pair
}

# One clock drives all but the multipliers of some arrays, and a reset that is synchronous to it. The processing system makes it.
proc connect_clock {board} {
    if {[doubles $board]} {
        lassign [make_doubled $board] clock doubled
    } else {
        set clock ps/[dict get $board clock]
        set doubled $clock
    }
    foreach sink [list control/ACLK control/S00_ACLK reset/slowest_sync_clk ps/[dict get $board control_clock]] {
        connect_bd_net [get_bd_pins $clock] [get_bd_pins $sink]
    }
    connect_bd_net [get_bd_pins ps/[dict get $board reset]] [get_bd_pins reset/ext_reset_in]
    connect_bd_net [get_bd_pins reset/interconnect_aresetn] [get_bd_pins control/ARESETN]
    connect_bd_net [get_bd_pins reset/peripheral_aresetn] [get_bd_pins control/S00_ARESETN]
    foreach core [numbers $board] {
        connect_core_clock $board $core $clock $doubled
    }
}

# The same for a core and its ways to the processing system.
proc connect_core_clock {board core clock doubled} {
    set vta [cell_of vta $core]
    set memory [cell_of memory $core]
    connect_bd_net [get_bd_pins $doubled] [get_bd_pins $vta/aclk2x]
    foreach sink [list $vta/aclk control/M0${core}_ACLK $memory/ACLK $memory/S00_ACLK $memory/M00_ACLK \
        ps/[of_port $board memory_clock $core]] {
        connect_bd_net [get_bd_pins $clock] [get_bd_pins $sink]
    }
    connect_bd_net [get_bd_pins reset/interconnect_aresetn] [get_bd_pins $memory/ARESETN]
    foreach sink [list control/M0${core}_ARESETN $memory/S00_ARESETN $memory/M00_ARESETN $vta/aresetn] {
        connect_bd_net [get_bd_pins reset/peripheral_aresetn] [get_bd_pins $sink]
    }
}

# An interconnect converts protocols and widths.
proc create_interconnect {name masters} {
    create_bd_cell -type ip -vlnv [ip_of axi_interconnect] $name
    set_property -dict [list CONFIG.NUM_SI 1 CONFIG.NUM_MI $masters] [get_bd_cells $name]
}

# An accelerator, with its registers behind `control` and its port towards DRAM.
proc create_core {board core} {
    set vta [cell_of vta $core]
    set memory [cell_of memory $core]
    create_bd_cell -type module -reference vta_board $vta
    create_interconnect $memory 1
    connect_bd_intf_net [get_bd_intf_pins control/M0${core}_AXI] [get_bd_intf_pins $vta/S_AXI]
    connect_bd_intf_net [get_bd_intf_pins $vta/M_AXI] [get_bd_intf_pins $memory/S00_AXI]
    connect_bd_intf_net [get_bd_intf_pins $memory/M00_AXI] [get_bd_intf_pins ps/[of_port $board memory $core]]
}

proc assign_core {board core} {
    set vta [cell_of vta $core]
    assign_bd_address -offset [format 0x%08X [expr {[dict get $board registers] + 0x2000 * $core}]] -range 8K \
        -target_address_space [get_bd_addr_spaces ps/Data] [get_bd_addr_segs $vta/S_AXI/reg0]
    foreach segment [of_port $board segments $core] {
        assign_bd_address -target_address_space [get_bd_addr_spaces $vta/M_AXI] [get_bd_addr_segs ps/$segment]
    }
}

# One interrupt is the pin's, several are its bits.
proc connect_interrupts {board} {
    set pin ps/[dict get $board interrupt]
    if {[dict get $board cores] == 1} {
        connect_bd_net [get_bd_pins vta/irq] [get_bd_pins $pin]
        return
    }
    create_bd_cell -type ip -vlnv [ip_of xlconcat] interrupts
    set_property -dict [list CONFIG.NUM_PORTS [dict get $board cores]] [get_bd_cells interrupts]
    foreach core [numbers $board] {
        connect_bd_net [get_bd_pins [cell_of vta $core]/irq] [get_bd_pins interrupts/In$core]
    }
    connect_bd_net [get_bd_pins interrupts/dout] [get_bd_pins $pin]
}

proc create_design {board} {
    create_bd_design system
    create_bd_cell -type ip -vlnv [ip_of [dict get $board processor]] ps
    set_property -dict [dict get $board properties] [get_bd_cells ps]
    foreach interface [dict get $board externals] {
        make_bd_intf_pins_external -name $interface [get_bd_intf_pins ps/$interface]
    }
    create_bd_cell -type ip -vlnv [ip_of proc_sys_reset] reset
    create_interconnect control [dict get $board cores]
    connect_bd_intf_net [get_bd_intf_pins ps/[dict get $board control]] [get_bd_intf_pins control/S00_AXI]
    foreach core [numbers $board] {
        create_core $board $core
    }
    connect_clock $board
    connect_interrupts $board
    foreach core [numbers $board] {
        assign_core $board $core
    }
    validate_bd_design
    save_bd_design
    set wrapper [make_wrapper -files [get_files system.bd] -top]
    add_files -norecurse [list $wrapper]
    set_property top system_wrapper [current_fileset]
}

proc run_to_the_end {run args} {
    launch_runs $run -jobs 4 {*}$args
    wait_on_run $run
    if {[get_property PROGRESS [get_runs $run]] ne "100%"} {
        error "$run failed; its log is [file join [get_property DIRECTORY [get_runs $run]] runme.log]"
    }
}

# The least slack in ns of one kind of check: a path's end is late (setup), early (hold), or a clock's pulse is too short for a cell.
proc slack_of {kind} {
    if {$kind eq "pulse"} {
        return [get_property STATS.TPWS [get_runs impl_1]]
    }
    return [get_property SLACK [get_timing_paths -max_paths 1 -$kind]]
}

# A design that misses its clock in any way gives no bitstream.
proc check_timing_met {out} {
    foreach {kind what} {setup "misses its clock" hold "holds too short" pulse "has clock pulses that are too short,"} {
        set slack [slack_of $kind]
        puts "worst $kind slack: $slack ns"
        if {$slack < 0} {
            error "the design $what by [expr {-$slack}] ns; see $out/timing.rpt"
        }
    }
}

# Reports, the bitstream and the form of it that the kernel's FPGA manager takes.
proc finish {board build} {
    set out [file join $build out]
    file mkdir $out
    open_run impl_1
    report_timing_summary -file [file join $out timing.rpt]
    report_utilization -hierarchical -file [file join $out utilization.rpt]
    report_power -file [file join $out power.rpt]
    report_pulse_width -file [file join $out pulse_width.rpt]
    report_cdc -details -file [file join $out cdc.rpt]
    report_methodology -file [file join $out methodology.rpt]
    check_timing_met $out
    set name vta-[dict get $board name]
    write_bitstream -force [file join $out $name.bit]
    write_cfgmem -force -format BIN -interface SMAPx32 -disablebitswap \
        -loadbit [list up 0x0 [file join $out $name.bit]] [file join $out $name.bin]
    write_hw_platform -fixed -force -include_bit [file join $out $name.xsa]
    puts "bitstream: [file join $out $name.bit], for the FPGA manager: [file join $out $name.bin]"
}

# -tclargs BOARD BUILD HEADERS PARAMS: the board's name, the folder to work in, that of vta_isa.vh, and the program vta-params. VTA_CONFIG in the
# environment is the file of another configuration than the board's own.
proc build_board {board root arguments} {
    if {[llength $arguments] != 4} {
        error "usage: vivado -mode batch -source build.tcl -tclargs BOARD BUILD HEADERS PARAMS"
    }
    lassign $arguments - build headers params
    if {[info exists ::env(VTA_CONFIG)] && $::env(VTA_CONFIG) ne ""} {
        dict set board config $::env(VTA_CONFIG)
    }
    dict set board parameters [parameters_of $board $params]
    dict set board mhz [clock_of $root [dict get $board config]]
    dict set board cores [cores_of $root [dict get $board config]]
    foreach core [numbers $board] {
        dict lappend board properties {*}[of_port $board port_properties $core]
    }
    set made [expr {[doubles $board] ? [dict get $board source] : [dict get $board mhz]}]
    dict set board properties [string map [list @MHZ@ $made] [dict get $board properties]]
    create_project -force vta [file join $build project] -part [dict get $board part]
    add_sources $board $root $build $headers
    create_design $board
    run_to_the_end synth_1
    run_to_the_end impl_1 -to_step route_design
    finish $board $build
}
