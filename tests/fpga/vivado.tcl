# SPDX-License-Identifier: Apache-2.0
#
# A stand-in for Vivado that records: tclsh vivado.tcl TREE SCRIPT ARGUMENT... runs a project script with these commands
# and fails on a command, option, property, pin or file that is not there, on an input that nothing drives, and on an
# address, interrupt or clock that is not the device tree's. TREE is a file of `key value` lines: registers, interrupt,
# clock_hz. What was done is printed, one call a line.
#
# The properties and pins below are those of the IPs' documentation that our scripts may use, no more: a new one is
# looked up there and written down here.

# ---- what the IPs have: pins and interfaces exist where a property has the value behind them

set ips {
    processing_system7 {
        version 5.5
        properties {
            PCW_FPGA0_PERIPHERAL_FREQMHZ PCW_EN_CLK0_PORT PCW_EN_RST0_PORT PCW_USE_M_AXI_GP0 PCW_USE_S_AXI_HP0
            PCW_S_AXI_HP0_DATA_WIDTH PCW_USE_FABRIC_INTERRUPT PCW_IRQ_F2P_INTR PCW_UIPARAM_DDR_PARTNO
            PCW_UIPARAM_DDR_BUS_WIDTH
        }
        out {FCLK_CLK0 PCW_EN_CLK0_PORT FCLK_RESET0_N PCW_EN_RST0_PORT}
        in {M_AXI_GP0_ACLK PCW_USE_M_AXI_GP0 S_AXI_HP0_ACLK PCW_USE_S_AXI_HP0 IRQ_F2P PCW_IRQ_F2P_INTR}
        master {M_AXI_GP0 PCW_USE_M_AXI_GP0 DDR {} FIXED_IO {}}
        slave {S_AXI_HP0 PCW_USE_S_AXI_HP0}
        segments {S_AXI_HP0/HP0_DDR_LOWOCM PCW_USE_S_AXI_HP0}
        window {0x40000000 0x7fffffff}
        interrupts {IRQ_F2P 29}
        hertz PCW_FPGA0_PERIPHERAL_FREQMHZ
        width PCW_S_AXI_HP0_DATA_WIDTH
        parts {xc7z010* xc7z020*}
    }
    zynq_ultra_ps_e {
        version 3.4
        properties {
            PSU__CRL_APB__PL0_REF_CTRL__FREQMHZ PSU__FPGA_PL0_ENABLE PSU__USE__M_AXI_GP0 PSU__USE__M_AXI_GP1
            PSU__USE__M_AXI_GP2 PSU__MAXIGP0__DATA_WIDTH PSU__USE__S_AXI_GP2 PSU__SAXIGP2__DATA_WIDTH PSU__USE__IRQ0
        }
        out {pl_clk0 PSU__FPGA_PL0_ENABLE pl_resetn0 PSU__FPGA_PL0_ENABLE}
        in {maxihpm0_fpd_aclk PSU__USE__M_AXI_GP0 saxihp0_fpd_aclk PSU__USE__S_AXI_GP2 pl_ps_irq0 PSU__USE__IRQ0}
        master {M_AXI_HPM0_FPD PSU__USE__M_AXI_GP0}
        slave {S_AXI_HP0_FPD PSU__USE__S_AXI_GP2}
        segments {SAXIGP2/HP0_DDR_LOW PSU__USE__S_AXI_GP2 SAXIGP2/HP0_DDR_HIGH PSU__USE__S_AXI_GP2}
        window {0xa0000000 0xafffffff}
        interrupts {pl_ps_irq0 89}
        hertz PSU__CRL_APB__PL0_REF_CTRL__FREQMHZ
        width PSU__SAXIGP2__DATA_WIDTH
        parts {xczu2eg* xczu3eg*}
    }
    proc_sys_reset {
        version 5.0 properties {} master {} slave {} segments {}
        in {slowest_sync_clk {} ext_reset_in {}}
        out {interconnect_aresetn {} peripheral_aresetn {}}
    }
    axi_interconnect {
        version 2.1
        properties {NUM_SI NUM_MI}
        in {ACLK {} ARESETN {} S00_ACLK {} S00_ARESETN {} M00_ACLK {} M00_ARESETN {}}
        out {} slave {S00_AXI {}} master {M00_AXI {}} segments {}
    }
}

# ---- the state, and how it fails

array set kind {}      ;# cell -> IP, or "module"
array set property {}  ;# cell,key -> value
array set net {}       ;# input pin -> what drives it
array set intf_net {}  ;# interface -> the other end
array set made {}      ;# what was created: project, design, runs
set files {}
set include_dirs {}
set assigned {}

proc refuse {text} { error "stand-in: $text" }
proc record {args} { puts [join $args] }
proc unknown {name args} { refuse "unknown command '$name'" }

proc must_be {path} {
    if {![file exists $path]} { refuse "no file '$path'" }
}
proc must_be_made {what} {
    if {![info exists ::made($what)]} { refuse "there is no $what yet" }
}

# Takes options from a list of words: flags alone, options with a value; returns the rest. `into` names an array.
proc options {into words flags valued} {
    upvar $into got
    set rest {}
    while {[llength $words] > 0} {
        set words [lassign $words word]
        if {$word in $flags} {
            set got($word) 1
        } elseif {$word in $valued} {
            if {[llength $words] == 0} { refuse "$word has no value" }
            set words [lassign $words got($word)]
        } elseif {[string match -* $word]} {
            refuse "unknown option '$word'"
        } else {
            lappend rest $word
        }
    }
    return $rest
}

# ---- cells and their pins

# A cell's pins of one direction, in its present state.
proc pins_of {cell direction} {
    if {![info exists ::kind($cell)]} { refuse "no cell '$cell'" }
    if {$::kind($cell) eq "module"} { return $::module($direction) }
    set pins {}
    foreach {pin key} [dict get $::ips $::kind($cell) $direction] {
        if {$key eq {} || ([info exists ::property($cell,$key)] && $::property($cell,$key) eq 1)} { lappend pins $pin }
    }
    return $pins
}

proc find_pin {path directions what} {
    lassign [split $path /] cell pin
    foreach direction $directions {
        if {$pin in [pins_of $cell $direction]} { return $direction }
    }
    refuse "no $what '$path'"
}

# The ports of a module of the added files, from its Verilog; those of an interface count as the interface.
proc read_module {name} {
    foreach file $::files {
        if {[file extension $file] ne ".v"} continue
        set in [open $file]
        set text [read $in]
        close $in
        if {![regexp "\\mmodule\\s+$name\\s*\\((.*?)\\);" $text - ports]} continue
        array set ::module {in {} out {} master {} slave {}}
        set interface {}
        foreach line [split $ports "\n"] {
            regexp {X_INTERFACE_INFO = "xilinx.com:(\w+):(\w+):1.0 (\w+) (\w+)"} $line - library type interface signal
            if {![regexp {^\s*(input|output)\s+wire\s+(\[.*\]\s+)?(\w+),?\s*$} $line - direction - port]} continue
            if {$interface eq {}} { refuse "port '$port' of $name has no X_INTERFACE_INFO" }
            if {$library eq "interface"} {
                if {[string tolower "${interface}_$signal"] ne $port} { refuse "port '$port' is called $interface $signal" }
                set end [expr {$signal ne "AWVALID" && $signal ne "ARVALID" ? {} : $direction eq "output" ? "master" : "slave"}]
                if {$end ne {} && $interface ni $::module($end)} { lappend ::module($end) $interface }
            } else {
                lappend ::module([expr {$direction eq "input" ? "in" : "out"}]) $port
            }
            set interface {}
        }
        return
    }
    refuse "no file defines module '$name'"
}

# ---- Vivado's commands: project and files

proc create_project {args} {
    set rest [options got $args -force -part]
    if {[llength $rest] != 2} { refuse "create_project NAME FOLDER" }
    set ::made(project) [lindex $rest 1]
    set ::part $got(-part)
    record create_project {*}$rest $::part
}
proc add_files {args} {
    must_be_made project
    foreach path [join [options got $args -norecurse -fileset]] {
        if {[file extension $path] ne ".vhd" && ![string match *_wrapper.v $path]} { must_be $path }
        if {[info exists got(-fileset)] && $got(-fileset) eq "constrs_1"} {
            record constraints $path
            uplevel #0 [list source $path]
        } else {
            lappend ::files $path
            record source $path
        }
    }
}
proc get_filesets {name} {
    if {$name ni {sources_1 constrs_1 sim_1}} { refuse "no file set '$name'" }
    return fileset/$name
}
proc current_fileset {} { return fileset/sources_1 }
proc current_design {} { return design/current }
proc get_drc_checks {name} {
    if {$name ni {UCIO-1 NSTD-1}} { refuse "no check '$name'" }
    return check/$name
}
proc update_compile_order {args} { options got $args {} -fileset }

proc get_files {name} {
    must_be_made $name
    return $name
}

# ---- properties

proc set_property {args} {
    if {[lindex $args 0] eq "-dict"} {
        lassign $args - pairs object
    } else {
        lassign $args key value object
        set pairs [list $key $value]
    }
    if {$object eq {}} { refuse "set_property: no object" }
    foreach {key value} $pairs { set_one $key $value $object }
}
proc set_one {key value object} {
    record set $key $value $object
    switch -glob $object {
        fileset/* {
            if {$key eq "include_dirs"} {
                foreach dir $value { must_be $dir }
                set ::include_dirs $value
            } elseif {$key eq "top"} {
                must_be_made wrapper
            } elseif {$key ni {verilog_define}} { refuse "a file set has no property '$key'" }
        }
        design/* { if {$key ne "BITSTREAM.GENERAL.COMPRESS"} { refuse "a design has no property '$key'" } }
        check/* { if {$key ne "SEVERITY"} { refuse "a check has no property '$key'" } }
        cell/* {
            set cell [string range $object 5 end]
            if {![regexp {^CONFIG\.(\w+)$} $key - name] || $::kind($cell) eq "module" ||
                $name ni [dict get $::ips $::kind($cell) properties]} {
                refuse "cell '$cell' has no property '$key'"
            }
            set ::property($cell,$name) $value
        }
        default { refuse "nothing has property '$key' on '$object'" }
    }
}
proc get_property {key object} {
    switch -glob $object {
        run/* { return [dict get {PROGRESS 100% DIRECTORY .} $key] }
        path/* { return [dict get {SLACK 0.123} $key] }
        default { refuse "nothing to get of '$object'" }
    }
}

# ---- the block design

proc get_ipdefs {args} {
    set pattern [options got $args -all {}]
    set found {}
    dict for {name ip} $::ips {
        set vlnv xilinx.com:ip:$name:[dict get $ip version]
        if {[string match $pattern $vlnv]} { lappend found $vlnv }
    }
    return $found
}
proc create_bd_design {name} {
    must_be_made project
    set ::made(design) $name
    set ::made($name.bd) 1
    record create_bd_design $name
}
proc create_bd_cell {args} {
    must_be_made design
    set cell [options got $args {} {-type -vlnv -reference}]
    if {[info exists ::kind($cell)]} { refuse "there is a cell '$cell' already" }
    if {$got(-type) eq "module"} {
        read_module $got(-reference)
        set ::kind($cell) module
    } else {
        set name [lindex [split $got(-vlnv) :] 2]
        if {![dict exists $::ips $name]} { refuse "no IP '$got(-vlnv)'" }
        set ::kind($cell) $name
        if {[dict exists $::ips $name parts] &&
            ![regexp [join [string map {* .*} [dict get $::ips $name parts]] |] $::part]} {
            refuse "$name is not in part '$::part'"
        }
    }
    record cell $cell {*}[array get got]
}
proc get_bd_cells {cell} {
    if {![info exists ::kind($cell)]} { refuse "no cell '$cell'" }
    return cell/$cell
}
proc get_bd_pins {path} {
    find_pin $path {in out} pin
    return $path
}
proc get_bd_intf_pins {path} {
    find_pin $path {master slave} interface
    return $path
}
proc make_bd_intf_pins_external {args} {
    set pin [options got $args {} -name]
    set ::intf_net($pin) external
    record external $pin
}
proc connect_bd_net {from to} {
    if {[find_pin $from {in out} pin] ne "out"} { refuse "'$from' drives nothing" }
    if {[find_pin $to {in out} pin] ne "in"} { refuse "'$to' is an output" }
    if {[info exists ::net($to)]} { refuse "'$to' has a driver already" }
    set ::net($to) $from
    record connect $from $to
    lassign [split $to /] cell pin
    if {$::kind($cell) ne "module" && [dict exists $::ips $::kind($cell) interrupts $pin]} {
        agree interrupt [dict get $::ips $::kind($cell) interrupts $pin]
    }
}
proc connect_bd_intf_net {from to} {
    if {[find_pin $from {master slave} interface] ne "master"} { refuse "'$from' is no master" }
    if {[find_pin $to {master slave} interface] ne "slave"} { refuse "'$to' is no slave" }
    foreach end [list $from $to] {
        if {[info exists ::intf_net($end)]} { refuse "'$end' is connected already" }
    }
    set ::intf_net($from) $to
    set ::intf_net($to) $from
    record connect $from $to
}

proc get_bd_addr_spaces {path} {
    lassign [split $path /] cell space
    if {!($::kind($cell) eq "module" ? $space in $::module(master) : $space eq "Data")} { refuse "no space '$path'" }
    return $path
}
proc get_bd_addr_segs {path} {
    set cell [lindex [split $path /] 0]
    set segment [join [lrange [split $path /] 1 end] /]
    set there [expr {$::kind($cell) eq "module" ? [lmap s $::module(slave) {string cat $s /reg0}] : [pins_of $cell segments]}]
    if {$segment ni $there} { refuse "no segment '$path'" }
    return $path
}
proc assign_bd_address {args} {
    set segment [options got $args {} {-offset -range -target_address_space}]
    lappend ::assigned $segment
    record address $segment {*}[array get got]
    if {[info exists got(-offset)]} {
        agree registers [expr {$got(-offset)}]
        lassign [dict get $::ips $::kind(ps) window] low high
        if {$got(-offset) < $low || $got(-offset) > $high} { refuse "$got(-offset) is outside the master's window" }
    }
}

proc validate_bd_design {} {
    foreach cell [array names ::kind] {
        foreach pin [pins_of $cell in] {
            if {![info exists ::net($cell/$pin)]} { refuse "nothing drives '$cell/$pin'" }
        }
        foreach pin [concat [pins_of $cell master] [pins_of $cell slave]] {
            if {![info exists ::intf_net($cell/$pin)]} { refuse "'$cell/$pin' is not connected" }
        }
        if {$::kind($cell) ne "module"} {
            foreach segment [pins_of $cell segments] {
                if {"$cell/$segment" ni $::assigned} { refuse "'$cell/$segment' has no address" }
            }
        }
    }
    foreach slave $::module(slave) {
        if {"vta/$slave/reg0" ni $::assigned} { refuse "'vta/$slave' has no address" }
    }
    set ps [dict get $::ips $::kind(ps)]
    agree clock_hz [expr {$::property(ps,[dict get $ps hertz]) * 1000000}]
    set macros [macros]
    if {$::property(ps,[dict get $ps width]) != 8 << [dict get $macros VTA_LOG_BUS_BYTES]} {
        refuse "the memory port has $::property(ps,[dict get $ps width]) bits, the accelerator [expr {8 << [dict get $macros VTA_LOG_BUS_BYTES]}]"
    }
    set ::made(valid) 1
    record validate
}
# What the project wrote for the Verilog.
proc macros {} {
    set found {}
    foreach dir $::include_dirs {
        if {[file exists $dir/vta_config.vh]} {
            set in [open $dir/vta_config.vh]
            foreach {- name value} [regexp -all -inline {`define (\w+) (\S+)} [read $in]] { dict set found $name $value }
            close $in
        }
    }
    if {[dict size $found] == 0} { refuse "no vta_config.vh in include_dirs" }
    return $found
}
proc save_bd_design {} { must_be_made valid }
proc make_wrapper {args} {
    must_be_made valid
    options got $args -top -files
    set ::made(wrapper) 1
    return system_wrapper.v
}

# ---- runs and results

proc launch_runs {run args} {
    must_be_made wrapper
    options got $args {} {-jobs -to_step}
    if {$run eq "impl_1"} { must_be_made synth_1 }
    set ::made($run) 1
    record run $run
}
proc wait_on_run {run} { must_be_made $run }
proc get_runs {run} {
    must_be_made $run
    return run/$run
}
proc open_run {run} {
    must_be_made $run
    set ::made(open) 1
}
proc get_timing_paths {args} {
    must_be_made open
    options got $args -setup -max_paths
    return path/worst
}
proc writes {command args} {
    must_be_made open
    set path [lindex $args end]
    if {![file isdirectory [file dirname $path]]} { refuse "$command: no folder for '$path'" }
    set out [open $path w]
    puts $out "the stand-in's"
    close $out
    record $command {*}$args
}
proc report_timing_summary {args} { options got $args {} -file; writes report_timing_summary $got(-file) }
proc report_utilization {args} { options got $args -hierarchical -file; writes report_utilization $got(-file) }
proc report_power {args} { options got $args {} -file; writes report_power $got(-file) }
proc write_bitstream {args} { writes write_bitstream [options got $args -force {}] }
proc write_hw_platform {args} { writes write_hw_platform [options got $args {-fixed -force -include_bit} {}] }
proc write_cfgmem {args} {
    set path [options got $args {-force -disablebitswap} {-format -interface -loadbit}]
    must_be [lindex $got(-loadbit) 2]
    writes write_cfgmem $path
}

# ---- the device tree

proc agree {key value} {
    if {![dict exists $::tree $key]} { refuse "the device tree has no $key" }
    if {[dict get $::tree $key] != $value} {
        refuse "$key is $value, the device tree has [dict get $::tree $key]"
    }
    dict set ::agreed $key 1
}

set argv [lassign $argv tree_file script]
set in [open $tree_file]
set tree [read $in]
close $in
set agreed {}
if {[catch {source $script} message]} {
    puts stderr [lindex [split $message "\n"] 0]
    exit 1
}
dict for {key value} $tree {
    if {![dict exists $agreed $key]} {
        puts stderr "stand-in: the script says nothing of the device tree's $key"
        exit 1
    }
}
if {![info exists made(open)]} {
    puts stderr "stand-in: the script ended without a result"
    exit 1
}
puts "include [join $include_dirs]"
