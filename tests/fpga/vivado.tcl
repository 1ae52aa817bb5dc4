# SPDX-License-Identifier: Apache-2.0
#
# A stand-in for Vivado that records: tclsh vivado.tcl TREE SCRIPT ARGUMENT... runs a project script with these commands
# and fails on a command, option, property, pin or file that is not there, on an input that nothing drives, and on an
# address, interrupt or clock that is not the device tree's. TREE is a file of `key value` lines: registers, interrupt,
# those of further cores with the core's number behind; port: the HP port that the tree sets the width of, core by core; clock_hz (the processing system's), vta_hz (the accelerator's), config_hz (that of its configuration). What was done is printed, one call a line.
#
# The properties and pins below are those of the IPs' documentation that our scripts may use, no more: a new one is
# looked up there and written down here.

# ---- what the IPs have: pins and interfaces exist where a property has the value behind them: {} is any, KEY is 1, else KEY=VALUE
# or KEY!=VALUE or KEY>VALUE; several are joined by &

set ips {
    processing_system7 {
        version 5.5
        properties {
            PCW_FPGA0_PERIPHERAL_FREQMHZ PCW_EN_CLK0_PORT PCW_EN_RST0_PORT PCW_USE_M_AXI_GP0
            PCW_USE_S_AXI_HP0 PCW_USE_S_AXI_HP1 PCW_USE_S_AXI_HP2 PCW_USE_S_AXI_HP3
            PCW_S_AXI_HP0_DATA_WIDTH PCW_S_AXI_HP1_DATA_WIDTH PCW_S_AXI_HP2_DATA_WIDTH PCW_S_AXI_HP3_DATA_WIDTH
            PCW_USE_FABRIC_INTERRUPT PCW_IRQ_F2P_INTR PCW_UIPARAM_DDR_PARTNO
            PCW_UIPARAM_DDR_BUS_WIDTH
        }
        out {FCLK_CLK0 PCW_EN_CLK0_PORT FCLK_RESET0_N PCW_EN_RST0_PORT}
        in {M_AXI_GP0_ACLK PCW_USE_M_AXI_GP0 S_AXI_HP0_ACLK PCW_USE_S_AXI_HP0 S_AXI_HP1_ACLK PCW_USE_S_AXI_HP1 S_AXI_HP2_ACLK PCW_USE_S_AXI_HP2 S_AXI_HP3_ACLK PCW_USE_S_AXI_HP3 IRQ_F2P PCW_IRQ_F2P_INTR}
        master {M_AXI_GP0 PCW_USE_M_AXI_GP0 DDR {} FIXED_IO {}}
        slave {S_AXI_HP0 PCW_USE_S_AXI_HP0 S_AXI_HP1 PCW_USE_S_AXI_HP1 S_AXI_HP2 PCW_USE_S_AXI_HP2 S_AXI_HP3 PCW_USE_S_AXI_HP3}
        segments {S_AXI_HP0/HP0_DDR_LOWOCM PCW_USE_S_AXI_HP0 S_AXI_HP1/HP1_DDR_LOWOCM PCW_USE_S_AXI_HP1 S_AXI_HP2/HP2_DDR_LOWOCM PCW_USE_S_AXI_HP2 S_AXI_HP3/HP3_DDR_LOWOCM PCW_USE_S_AXI_HP3}
        window {0x40000000 0x7fffffff}
        interrupts {IRQ_F2P 29}
        hertz PCW_FPGA0_PERIPHERAL_FREQMHZ
        width PCW_S_AXI_HP@PORT@_DATA_WIDTH
        parts {xc7z010* xc7z020*}
    }
    zynq_ultra_ps_e {
        version 3.4
        properties {
            PSU__CRL_APB__PL0_REF_CTRL__FREQMHZ PSU__FPGA_PL0_ENABLE PSU__USE__M_AXI_GP0 PSU__USE__M_AXI_GP1
            PSU__USE__M_AXI_GP2 PSU__MAXIGP0__DATA_WIDTH PSU__USE__S_AXI_GP2 PSU__USE__S_AXI_GP3 PSU__USE__S_AXI_GP4 PSU__USE__S_AXI_GP5
            PSU__SAXIGP2__DATA_WIDTH PSU__SAXIGP3__DATA_WIDTH PSU__SAXIGP4__DATA_WIDTH PSU__SAXIGP5__DATA_WIDTH PSU__USE__IRQ0
            PSU__HIGH_ADDRESS__ENABLE
        }
        out {pl_clk0 PSU__FPGA_PL0_ENABLE pl_resetn0 PSU__FPGA_PL0_ENABLE}
        in {maxihpm0_fpd_aclk PSU__USE__M_AXI_GP0 saxihp0_fpd_aclk PSU__USE__S_AXI_GP2 saxihp1_fpd_aclk PSU__USE__S_AXI_GP3 saxihp2_fpd_aclk PSU__USE__S_AXI_GP4 saxihp3_fpd_aclk PSU__USE__S_AXI_GP5 pl_ps_irq0 PSU__USE__IRQ0}
        master {M_AXI_HPM0_FPD PSU__USE__M_AXI_GP0}
        slave {S_AXI_HP0_FPD PSU__USE__S_AXI_GP2 S_AXI_HP1_FPD PSU__USE__S_AXI_GP3 S_AXI_HP2_FPD PSU__USE__S_AXI_GP4 S_AXI_HP3_FPD PSU__USE__S_AXI_GP5}
        segments {
            SAXIGP2/HP0_DDR_LOW PSU__USE__S_AXI_GP2 SAXIGP2/HP0_DDR_HIGH PSU__USE__S_AXI_GP2&PSU__HIGH_ADDRESS__ENABLE
            SAXIGP3/HP1_DDR_LOW PSU__USE__S_AXI_GP3 SAXIGP3/HP1_DDR_HIGH PSU__USE__S_AXI_GP3&PSU__HIGH_ADDRESS__ENABLE
            SAXIGP4/HP2_DDR_LOW PSU__USE__S_AXI_GP4 SAXIGP4/HP2_DDR_HIGH PSU__USE__S_AXI_GP4&PSU__HIGH_ADDRESS__ENABLE
            SAXIGP5/HP3_DDR_LOW PSU__USE__S_AXI_GP5 SAXIGP5/HP3_DDR_HIGH PSU__USE__S_AXI_GP5&PSU__HIGH_ADDRESS__ENABLE
        }
        window {0xa0000000 0xafffffff}
        interrupts {pl_ps_irq0 89}
        hertz PSU__CRL_APB__PL0_REF_CTRL__FREQMHZ
        width PSU__SAXIGP@GP@__DATA_WIDTH
        parts {xczu2eg* xczu3eg* xczu7ev* xck26*}
    }
    proc_sys_reset {
        version 5.0 properties {} master {} slave {} segments {}
        in {slowest_sync_clk {} ext_reset_in {} dcm_locked {}}
        optional {dcm_locked}
        out {interconnect_aresetn {} peripheral_aresetn {}}
    }
    clk_wiz {
        version 6.0
        properties {
            PRIMITIVE PRIM_SOURCE PRIM_IN_FREQ USE_RESET USE_LOCKED NUM_OUT_CLKS CLKOUT2_USED CLKOUT1_REQUESTED_OUT_FREQ
            CLKOUT2_REQUESTED_OUT_FREQ CLKOUT1_DRIVES CLKOUT2_DRIVES
        }
        in {clk_in1 {} reset USE_RESET!=false}
        out {clk_out1 {} clk_out2 CLKOUT2_USED=true locked USE_LOCKED!=false}
        master {} slave {} segments {}
    }
    util_ds_buf {
        version 2.2
        properties {C_BUF_TYPE C_BUFGCE_DIV}
        in {BUFGCE_I C_BUF_TYPE=BUFGCE_DIV BUFGCE_CE C_BUF_TYPE=BUFGCE_DIV BUFGCE_CLR C_BUF_TYPE=BUFGCE_DIV}
        out {BUFGCE_O C_BUF_TYPE=BUFGCE_DIV}
        master {} slave {} segments {}
        parts {xczu* xck26*}
    }
    xlconstant {
        version 1.1 properties {CONST_WIDTH CONST_VAL} master {} slave {} segments {}
        in {} out {dout {}}
    }
    xlconcat {
        version 2.1 properties {NUM_PORTS} master {} slave {} segments {}
        in {In0 NUM_PORTS>0 In1 NUM_PORTS>1 In2 NUM_PORTS>2 In3 NUM_PORTS>3} out {dout {}}
    }
    axi_interconnect {
        version 2.1
        properties {NUM_SI NUM_MI}
        in {
            ACLK {} ARESETN {} S00_ACLK {} S00_ARESETN {} M00_ACLK {} M00_ARESETN {}
            M01_ACLK NUM_MI>1 M01_ARESETN NUM_MI>1 M02_ACLK NUM_MI>2 M02_ARESETN NUM_MI>2 M03_ACLK NUM_MI>3 M03_ARESETN NUM_MI>3
        }
        out {} slave {S00_AXI {}} master {M00_AXI {} M01_AXI NUM_MI>1 M02_AXI NUM_MI>2 M03_AXI NUM_MI>3} segments {}
    }
}

# ---- the state, and how it fails

array set kind {}      ;# cell -> IP, or "module"
array set property {}  ;# cell,key -> value
array set net {}       ;# input pin -> what drives it
array set intf_net {}  ;# interface -> the other end
array set made {}      ;# what was created: project, design, runs
set files {}
set constraints {}
set multicycles {}     ;# set_multicycle_path: {setup or hold, cycles, from}
set include_dirs {}
set assigned {}
set spaces {}          ;# of addresses: {space, segment}

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

# True where a cell has the property that stands before a condition.
proc is_there {cell condition} {
    foreach part [split $condition &] {
        if {![regexp {^(\w+?)(!?=|>)(\w+)$} $part - key equal value]} { lassign [list $part = 1] key equal value }
        set known [info exists ::property($cell,$key)]
        set same [expr {$known && $::property($cell,$key) eq $value}]
        if {![expr {$equal eq "=" ? $same : $equal eq "!=" ? !$same : $known && $::property($cell,$key) > $value}]} { return 0 }
    }
    return 1
}

# A cell's pins of one direction, in its present state.
proc pins_of {cell direction} {
    if {![info exists ::kind($cell)]} { refuse "no cell '$cell'" }
    if {$::kind($cell) eq "module"} { return $::module($direction) }
    set pins {}
    foreach {pin key} [dict get $::ips $::kind($cell) $direction] {
        if {[is_there $cell $key]} { lappend pins $pin }
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
            lappend ::constraints $path
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
    if {$name in $::constraints} { return file/$name }
    must_be_made $name
    return $name
}

# ---- constraints: what they name is looked for in the added files

# True where an added file has a line that matches.
proc in_sources {pattern} {
    foreach file $::files {
        if {[file extension $file] ne ".v" || ![file exists $file]} continue
        set in [open $file]
        set text [read $in]
        close $in
        if {[regexp -line $pattern $text]} { return 1 }
    }
    return 0
}
proc filtered {what words} {
    options got $words -hierarchical -filter
    if {![info exists got(-hierarchical)] || ![regexp {^NAME =~ (\S+)$} $got(-filter) - name]} { refuse "$what: expected -hierarchical and a filter of names" }
    return $name
}
proc get_cells {args} {
    set name [filtered get_cells $args]
    if {[regexp {^\*\.(.+\.)?(\w+)_reg\*$} $name - scope register]} {
        if {![in_sources "\\mreg\\M.*\\m$register\\M"]} { refuse "no register '$register' in the RTL" }
    } elseif {[regexp {^\*\.(\w+)\.(\w+)/\*$} $name - scope instance]} {
        if {![in_sources "begin : $scope\\M"]} { refuse "no block '$scope' in the RTL" }
        if {![in_sources "^\\s*vta_\\w+ (#\\(.*\\) )?$instance \\("]} { refuse "no instance '$instance' in the RTL" }
    } else {
        refuse "no cell '$name'"
    }
    return cells/$name
}
proc get_pins {args} {
    set name [filtered get_pins $args]
    if {![regexp {^\*/vta/(\w+)$} $name - port] || ![in_sources "^\\s*(in|out)put +wire +$port,"]} { refuse "no pin '$name'" }
    return pin/$port
}
proc get_clocks {args} {
    options got $args {} -of_objects
    return clock/$got(-of_objects)
}
proc set_multicycle_path {args} {
    options got $args -end {-setup -hold -from -to}
    if {![info exists got(-end)]} { refuse "set_multicycle_path without -end counts cycles of the slow clock" }
    foreach kind {setup hold} {
        if {[info exists got(-$kind)]} { lappend ::multicycles [list $kind $got(-$kind) $got(-from) $got(-to)] }
    }
    record multicycle {*}$args
}

# The paths that have a whole slow cycle are told, each with its hold: a cycle less.
proc check_multicycles {} {
    if {[llength $::multicycles] == 0} { refuse "no set_multicycle_path, though the array has two clocks" }
    foreach path $::multicycles {
        lassign $path kind cycles from to
        if {$kind eq "setup" && [list hold [expr {$cycles - 1}] $from $to] ni $::multicycles} { refuse "-setup $cycles from $from has no -hold [expr {$cycles - 1}]" }
    }
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
        file/* { if {$key ni {used_in_synthesis processing_order}} { refuse "a file has no property '$key'" } }
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
        run/* { return [dict get [list PROGRESS 100% DIRECTORY . STATS.TPWS [slack pulse]] $key] }
        path/* { return [dict get [list SLACK [slack [string range $object 5 end]]] $key] }
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
    lappend ::spaces [list $got(-target_address_space) $segment]
    record address $segment {*}[array get got]
    if {[info exists got(-offset)]} {
        agree registers[number_of [lindex [split $segment /] 0]] [expr {$got(-offset)}]
        if {$got(-range) ne "8K"} { refuse "the registers of a core take 8K, not $got(-range)" }
        lassign [dict get $::ips $::kind(ps) window] low high
        if {$got(-offset) < $low || $got(-offset) > $high} { refuse "$got(-offset) is outside the master's window" }
    }
}

proc validate_bd_design {} {
    foreach cell [array names ::kind] {
        foreach pin [pins_of $cell in] {
            if {![info exists ::net($cell/$pin)] && !($::kind($cell) eq "proc_sys_reset" && $pin in [dict get $::ips proc_sys_reset optional])} {
                refuse "nothing drives '$cell/$pin'"
            }
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
    set macros [macros]
    check_clocks $macros
    foreach cell [modules] { check_core $cell $macros }
    set ::made(valid) 1
    record validate
}

# The accelerators: cells vta, vta1 and so on.
proc modules {} {
    return [lsort [lmap cell [array names ::kind] {expr {$::kind($cell) eq "module" ? $cell : [continue]}}]]
}
proc number_of {cell} {
    if {![regexp {^vta([1-3]?)$} $cell - number]} { refuse "'$cell' is no core: vta, vta1 to vta3" }
    return $number
}

# A core's way to DRAM ends at a port of its own, as wide as its bus, whose segments its master sees; its interrupt is the bit of its number.
proc check_core {cell macros} {
    set number [number_of $cell]
    set ps [dict get $::ips $::kind(ps)]
    foreach slave $::module(slave) {
        if {"$cell/$slave/reg0" ni $::assigned} { refuse "'$cell/$slave' has no address" }
    }
    set end [dict get [array get ::intf_net] [lindex [split $::intf_net($cell/M_AXI) /] 0]/M00_AXI]
    if {![regexp {^ps/S_AXI_HP(\d)} $end - port]} { refuse "'$cell/M_AXI' ends at '$end'" }
    agree port$number $port
    set width [string map [list @PORT@ $port @GP@ [expr {2 + $port}]] [dict get $ps width]]
    if {$::property(ps,$width) != 8 << [dict get $macros VTA_LOG_BUS_BYTES]} {
        refuse "the memory port has $::property(ps,$width) bits, the accelerator [expr {8 << [dict get $macros VTA_LOG_BUS_BYTES]}]"
    }
    foreach segment [pins_of ps segments] {
        if {[string match */HP${port}_* $segment] && [list $cell/M_AXI ps/$segment] ni $::spaces} { refuse "'$cell' does not see 'ps/$segment'" }
    }
    agree interrupt$number [interrupt_of $cell]
}

# The shared interrupt of a core: that of the processing system's pin, or of a bit of it.
proc interrupt_of {cell} {
    set pins [dict get $::ips $::kind(ps) interrupts]
    foreach {to from} [array get ::net] {
        if {$from ne "$cell/irq"} continue
        lassign [split $to /] sink pin
        if {$sink eq "ps" && [dict exists $pins $pin]} { return [dict get $pins $pin] }
        if {$::kind($sink) ne "xlconcat" || ![regexp {^In(\d)$} $pin - bit]} { refuse "'$cell/irq' ends at '$to'" }
        foreach {to from} [array get ::net] {
            lassign [split $to /] end pin
            if {$from eq "$sink/dout" && $end eq "ps" && [dict exists $pins $pin]} { return [expr {[dict get $pins $pin] + $bit}] }
        }
    }
    refuse "'$cell/irq' goes to no interrupt"
}
# The clock at a pin: what makes it (the MMCM, or the processing system), and its rate. An MMCM's input is what it was set for.
proc clock_at {pin} {
    set from $::net($pin)
    lassign [split $from /] cell out
    switch $::kind($cell) {
        clk_wiz {
            set in [lindex [clock_at $cell/clk_in1] 1]
            if {$in != $::property($cell,PRIM_IN_FREQ) * 1000000} { refuse "the MMCM is set for $::property($cell,PRIM_IN_FREQ) MHz and gets $in Hz" }
            if {![regexp {^clk_out(\d)$} $out - number]} { refuse "'$from' is no clock" }
            return [list $cell [expr {$::property($cell,CLKOUT${number}_REQUESTED_OUT_FREQ) * 1000000}]]
        }
        util_ds_buf {
            lassign [clock_at $cell/BUFGCE_I] source hertz
            foreach {pin value} {BUFGCE_CE 1 BUFGCE_CLR 0} {
                set constant [lindex [split $::net($cell/$pin) /] 0]
                if {$::kind($constant) ne "xlconstant" || $::property($constant,CONST_VAL) ne $value} { refuse "'$cell/$pin' is not $value" }
            }
            return [list $source [expr {$hertz / $::property($cell,C_BUFGCE_DIV)}]]
        }
        module - proc_sys_reset - xlconstant - xlconcat - axi_interconnect { refuse "'$from' is no clock" }
        default {
            if {$out ne [lindex [dict get $::ips $::kind($cell) out] 0]} { refuse "'$from' is no clock" }
            return [list $cell [expr {$::property($cell,[dict get $::ips $::kind($cell) hertz]) * 1000000}]]
        }
    }
}

# The board's program reads the clock back: the device tree must know it. All interfaces have the accelerator's
# clock; one at twice its rate comes from the same MMCM, whose lock the reset waits for.
proc check_clocks {macros} {
    set slow [clock_at vta/aclk]
    set fast [clock_at vta/aclk2x]
    foreach pin [array names ::net] {
        if {[regexp {(ACLK|[_/]aclk|slowest_sync_clk)$} $pin] && $::net($pin) ne $::net(vta/aclk)} { refuse "'$pin' has another clock than vta/aclk" }
        if {[regexp {/aclk2x$} $pin] && $::net($pin) ne $::net(vta/aclk2x)} { refuse "'$pin' has another clock than vta/aclk2x" }
    }
    if {[dict get $macros VTA_PUMP] == 2} {
        if {[lindex $fast 1] != 2 * [lindex $slow 1]} { refuse "vta/aclk2x has [lindex $fast 1] Hz, vta/aclk [lindex $slow 1]: expected 2 to 1" }
        if {[lindex $fast 0] ne [lindex $slow 0] || $::kind([lindex $slow 0]) ne "clk_wiz"} { refuse "vta/aclk and vta/aclk2x are not of one MMCM" }
        if {![info exists ::net(reset/dcm_locked)] || $::net(reset/dcm_locked) ne "[lindex $slow 0]/locked"} {
            refuse "the reset does not wait for the MMCM's lock"
        }
        check_multicycles
    }
    agree clock_hz [expr {$::property(ps,[dict get $::ips $::kind(ps) hertz]) * 1000000}]
    agree vta_hz [lindex $slow 1]
    agree config_hz [lindex $slow 1]
    foreach name [dict keys $macros] {
        if {![in_sources "`$name\\M"]} { refuse "vta_board takes no $name" }
    }
}
# Macros that the project wrote for the Verilog.
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
    options got $args {-setup -hold} -max_paths
    return path/[expr {[info exists got(-hold)] ? "hold" : "setup"}]
}
# The slack of a check: STANDIN_LATE in the environment names one that fails.
proc slack {check} {
    return [expr {[info exists ::env(STANDIN_LATE)] && $::env(STANDIN_LATE) eq $check ? -0.25 : 0.123}]
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
proc report_pulse_width {args} { options got $args {} -file; writes report_pulse_width $got(-file) }
proc report_cdc {args} { options got $args -details -file; writes report_cdc $got(-file) }
proc report_methodology {args} { options got $args {} -file; writes report_methodology $got(-file) }
proc report_power {args} { options got $args {} -file; writes report_power $got(-file) }
proc write_bitstream {args} { writes write_bitstream {*}[options got $args -force {}] }
proc write_hw_platform {args} { writes write_hw_platform {*}[options got $args {-fixed -force -include_bit} {}] }
proc write_cfgmem {args} {
    set path [options got $args {-force -disablebitswap} {-format -interface -loadbit}]
    must_be [lindex $got(-loadbit) 2]
    writes write_cfgmem {*}$path
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
