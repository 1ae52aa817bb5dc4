# SPDX-License-Identifier: Apache-2.0
#
# The RTL by itself: lint, benches of modules, proofs, area.
set(hw_params $<TARGET_FILE:vta-params>)

foreach(tool verilator built icarus yosys)
    add_test(NAME rtl_lint_${tool} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/lint.sh ${tool} ${hw_params} ${VTA_VERILOG_HEADERS})
    set_tests_properties(rtl_lint_${tool} PROPERTIES TIMEOUT 900)
endforeach()
foreach(tool verilator built)
    add_test(NAME rtl_lint_${tool}_shipped COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/lint.sh ${tool} ${hw_params} ${VTA_VERILOG_HEADERS} shipped)
    set_tests_properties(rtl_lint_${tool}_shipped PROPERTIES TIMEOUT 900)
endforeach()

# No module without a bench or a proof.
add_test(NAME rtl_benched COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/benched.sh)

# No mutation of tests/rtl/mutations.txt without the text that it changes, and no module without one: mutate.sh itself takes hours.
add_test(NAME rtl_mutations COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/mutate.sh ${CMAKE_BINARY_DIR} --stale)

# hw_bench(NAME BENCH "PARAMETERS" [PLUSARGS ...])
function(hw_bench name bench parameters)
    add_test(NAME rtl_tb_${name}
        COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/bench.sh ${bench} ${VTA_VERILOG_HEADERS} "${parameters}" ${ARGN})
    set_tests_properties(rtl_tb_${name} PROPERTIES TIMEOUT 1200)
endfunction()

# The memory side as a whole, by tile shape, bus width and address width: elements narrower and wider than the bus, and equal to it.
function(hw_top name batch in out uop inp wgt acc bus addr)
    hw_bench(${name} vta_top_tb "LOG_BATCH=${batch} LOG_BLOCK_IN=${in} LOG_BLOCK_OUT=${out} LOG_UOP_DEPTH=${uop} \
LOG_INP_DEPTH=${inp} LOG_WGT_DEPTH=${wgt} LOG_ACC_DEPTH=${acc} LOG_BUS_BYTES=${bus} ADDR_BITS=${addr}" ${ARGN})
endfunction()
hw_top(top_tiny 0 2 2 8 8 7 7 3 40 +runs=2)
hw_top(top_batch2 1 3 3 8 8 7 7 4 33 +runs=2)
hw_top(top_rect 0 3 4 8 8 7 8 5 32 +runs=5 +clean) # errors and resets do not know the shape of a tile: two of them, and the form that is built
hw_top(top_wide 0 5 5 8 7 5 7 6 63 +runs=5 +clean)
hw_top(top_built 0 2 2 8 8 7 7 3 32 +runs=1 +built)
# a PYNQ's point, and speed
hw_bench(top_speed vta_top_tb "LOG_BLOCK_IN=4 LOG_BLOCK_OUT=4 LOG_UOP_DEPTH=13 LOG_INP_DEPTH=11 LOG_WGT_DEPTH=10 LOG_ACC_DEPTH=11 \
LOG_BUS_BYTES=3 ADDR_BITS=32 WGT4=1" +runs=1 +speed)
hw_bench(top_wgt4 vta_top_tb "WGT4=1" +runs=2 +clean)

# The INP scratchpad, simulated as one piece and built of banks, down to the smallest that has three rows.
hw_bench(inp vta_inp_tb "")
hw_bench(inp_built vta_inp_tb "" +built)
hw_bench(inp_four_built vta_inp_tb "LOG_DEPTH=2" +built)
hw_bench(inp_single_built vta_inp_tb "ROWS=1" +built)

# The load engine with a stalling write port, in both its roles, by bus width.
foreach(bus 3 4 5 6)
    hw_bench(tload_compute_${bus} vta_tload_tb "LOG_BUS_BYTES=${bus} COMPUTE=1")
    hw_bench(tload_load_${bus} vta_tload_tb "LOG_BUS_BYTES=${bus} COMPUTE=0 LOG_BLOCK_IN=4 LOG_BLOCK_OUT=3" +runs=2)
endforeach()
hw_bench(tload_wgt4 vta_tload_tb "LOG_BUS_BYTES=3 COMPUTE=0 WGT4=1 LOG_BLOCK_IN=4 LOG_BLOCK_OUT=3" +runs=2)
hw_bench(tload_batch vta_tload_tb "LOG_BATCH=2 LOG_BLOCK_OUT=3 COMPUTE=1" +runs=2)

# Units and bus masters each by itself, at a narrow bus and at one wider than some elements.
hw_bench(axi vta_axi_tb "LOG_BUS_BYTES=3")
hw_bench(axi_wide vta_axi_tb "LOG_BUS_BYTES=6" +runs=2)
hw_bench(fetch vta_fetch_tb "LOG_BUS_BYTES=3")
hw_bench(fetch_wide vta_fetch_tb "LOG_BUS_BYTES=6 WGT4=1" +runs=20)
hw_bench(load vta_load_tb "LOG_BUS_BYTES=3")
hw_bench(load_wide vta_load_tb "LOG_BUS_BYTES=5 LOG_BATCH=1 LOG_BLOCK_OUT=3" +runs=30)
hw_bench(load_rows vta_load_tb "LOG_BUS_BYTES=3 LOG_BLOCK_IN=4 LOG_BLOCK_OUT=4" +runs=6)
hw_bench(load_parts vta_load_tb "LOG_BUS_BYTES=3 LOG_BATCH=1 LOG_BLOCK_IN=3" +runs=12)
hw_bench(load_rows_built vta_load_tb "LOG_BUS_BYTES=3 LOG_BLOCK_IN=4 LOG_BLOCK_OUT=4" +runs=5 +built)
hw_bench(load_whole vta_load_tb "LOG_BUS_BYTES=3 LOG_WGT_DEPTH=13" +runs=2)
# Weights of four bits: a tile of two slices, of many, of one, and of less than one.
hw_bench(load_wgt4 vta_load_tb "LOG_BUS_BYTES=3 WGT4=1")
hw_bench(load_wgt4_many vta_load_tb "LOG_BUS_BYTES=3 WGT4=1 LOG_BLOCK_IN=4 LOG_BLOCK_OUT=3" +runs=20)
hw_bench(load_wgt4_one vta_load_tb "LOG_BUS_BYTES=4 WGT4=1" +runs=30)
hw_bench(load_wgt4_less vta_load_tb "LOG_BUS_BYTES=6 WGT4=1" +runs=30)
hw_bench(load_wgt4_built vta_load_tb "LOG_BUS_BYTES=3 WGT4=1" +runs=20 +built)
hw_bench(store vta_store_tb "LOG_BUS_BYTES=3")
hw_bench(store_wide vta_store_tb "LOG_BUS_BYTES=3 LOG_BATCH=1 LOG_BLOCK_OUT=4" +runs=20)
hw_bench(control vta_control_tb "")
hw_bench(lib vta_lib_tb "LOG_DEPTH=3")
hw_bench(lib_least vta_lib_tb "LOG_DEPTH=1")
hw_bench(lib_built vta_lib_tb "LOG_DEPTH=3" +built)
foreach(bits 32 33 40 63)
    hw_bench(regs_${bits} vta_regs_tb "ADDR_BITS=${bits}")
endforeach()

# Area takes minutes, `tiny` two of them: targets of the build, `./run synth`; so does the smallest accelerator of all, on an iCE40.
# The tests by Yosys: the whole design elaborated (rtl_lint_yosys), units mapped and timed (timing_pynq), and routed (fpga_ice40).
foreach(config tiny pynq pynq512 pynq_lm ultra96 ultra96_lm kv260 ${PROJECT_SOURCE_DIR}/fpga/ice40/smallest.json)
    set(given ${config})
    cmake_path(GET config STEM config)
    add_custom_target(synth_${config}
        COMMAND ${PROJECT_SOURCE_DIR}/fpga/synth/synth.sh ${given} ${hw_params} ${VTA_VERILOG_HEADERS}
                ${CMAKE_BINARY_DIR}/synth/${config}
        DEPENDS vta-params vta_verilog_headers USES_TERMINAL VERBATIM)
endforeach()

add_test(NAME formal COMMAND ${PROJECT_SOURCE_DIR}/hw/formal/prove.sh ${VTA_VERILOG_HEADERS})
set_tests_properties(formal PROPERTIES TIMEOUT 400)
