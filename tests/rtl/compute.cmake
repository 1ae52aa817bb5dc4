# SPDX-License-Identifier: Apache-2.0
#
# Benches of the compute unit's modules.

# hw_unit(NAME BENCH "PARAMETERS" [PLUSARGS ...])
function(hw_unit name bench parameters)
    add_test(NAME rtl_unit_${name}
        COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/bench.sh ${bench} ${VTA_VERILOG_HEADERS} "${parameters}" ${ARGN})
    set_tests_properties(rtl_unit_${name} PROPERTIES TIMEOUT 300)
endfunction()

hw_unit(nest vta_nest_tb "")
hw_unit(alu_lane vta_alu_lane_tb "")
hw_unit(alu_lane_2 vta_alu_lane_tb "DSPS=2" +count=15000)
hw_unit(alu_lane_rows vta_alu_lane_tb "ROWS=1")
hw_unit(alu_lane_rows_2 vta_alu_lane_tb "ROWS=1 DSPS=2" +count=15000)
hw_unit(row_unit vta_row_unit_tb "")
hw_unit(mul_pair vta_mul_pair_tb "")
hw_unit(mul_quad vta_mul_quad_tb "")
hw_unit(parts vta_parts_tb "")
hw_unit(parts_one_port vta_parts_tb "" +one_port)
hw_unit(order vta_order_tb "")
hw_unit(acc vta_acc_tb "")
hw_unit(acc_two_banks vta_acc_tb "LOG_DEPTH=3 LOG_BANK=1 LOG_LANES=0")
hw_unit(array_tiny vta_array_tb "LOG_BLOCK_IN=2 LOG_BLOCK_OUT=2")
hw_unit(array_batch2 vta_array_tb "LOG_BATCH=1 LOG_BLOCK_IN=3 LOG_BLOCK_OUT=3")
hw_unit(array_pynq vta_array_tb "")
hw_unit(array_512 vta_array_tb "LOG_BLOCK_IN=5" +count=60)
hw_unit(array_1024 vta_array_tb "LOG_BLOCK_IN=5 LOG_BLOCK_OUT=5" +count=40)
hw_unit(array_batch_512 vta_array_tb "LOG_BATCH=1 LOG_BLOCK_IN=4 LOG_BLOCK_OUT=3" +count=60)
# Rows of a batch and of a window at once, at twice the clock.
hw_unit(array_batch_rows vta_array_tb "LOG_BATCH=1 LOG_BLOCK_IN=5 LOG_BLOCK_OUT=4" +count=30)
hw_unit(window_tiny vta_window_tb "LOG_BLOCK_IN=2 LOG_BLOCK_OUT=2")
hw_unit(window_batch2 vta_window_tb "LOG_BATCH=1 LOG_BLOCK_IN=3 LOG_BLOCK_OUT=3")
hw_unit(window_groups vta_window_tb "LOG_BATCH=1 LOG_BLOCK_IN=5 LOG_BLOCK_OUT=3")
hw_unit(window_pynq vta_window_tb "")
hw_unit(window_built vta_window_tb "" +built)
hw_unit(window_tiny_built vta_window_tb "LOG_BLOCK_IN=2 LOG_BLOCK_OUT=2" +built)
hw_unit(window_groups_built vta_window_tb "LOG_BATCH=1 LOG_BLOCK_IN=5 LOG_BLOCK_OUT=3" +built +count=100)
hw_unit(window_512 vta_window_tb "LOG_BLOCK_IN=5" +count=100)

# The unit as a whole, by tile shape: square, two groups of depthwise lanes and a batch, more lanes than inputs.
hw_unit(compute vta_compute_tb "")
hw_unit(compute_groups vta_compute_tb "LOG_BATCH=1 LOG_BLOCK_IN=3 LOG_BUS_BYTES=4" +runs=10)
hw_unit(compute_two_banks vta_compute_tb "LOG_INP_DEPTH=10 LOG_ACC_DEPTH=9 LANE_DSPS=2" +runs=10)
hw_unit(compute_lanes vta_compute_tb "LOG_BLOCK_IN=3 LOG_BLOCK_OUT=4" +runs=10)

# Parts that a configuration may leave out.
hw_unit(compute_lean vta_compute_tb "TABLE=0 LOOP_BACK=0 DEPTHWISE_TAPS=0" +runs=25)
hw_unit(compute_three_taps vta_compute_tb "LOG_BLOCK_IN=5 DEPTHWISE_TAPS=3 TABLE=0" +runs=10)
hw_unit(compute_one_tap vta_compute_tb "DEPTHWISE_TAPS=1 LOOP_BACK=0" +runs=12)

# With functions on rows.
hw_unit(compute_rows vta_compute_tb "ROWS=1" +runs=25)
hw_unit(compute_rows_batch vta_compute_tb "LOG_BATCH=1 LOG_BLOCK_IN=3 LOG_BUS_BYTES=4 ROWS=1" +runs=20)
hw_unit(compute_rows_lanes vta_compute_tb "LOG_BLOCK_IN=3 LOG_BLOCK_OUT=4 LANE_DSPS=2 ROWS=1" +runs=6)
hw_unit(compute_rows_built vta_compute_tb "LOG_BLOCK_IN=3 LOG_BLOCK_OUT=3 TABLE=0 LOOP_BACK=0 DEPTHWISE_TAPS=0 ROWS=1" +runs=12 +built)

# The same as it is built: sliced RAMs, multipliers in DSPs at the clock and at twice the clock.
hw_unit(compute_built vta_compute_tb "" +runs=12 +built)
hw_unit(compute_lanes_built vta_compute_tb "LOG_BLOCK_IN=3 LOG_BLOCK_OUT=4" +runs=4 +built)
hw_unit(compute_lean_built vta_compute_tb "LOG_BLOCK_IN=3 LOG_BLOCK_OUT=3 TABLE=0 LOOP_BACK=0 DEPTHWISE_TAPS=0" +runs=12 +built)
hw_unit(compute_three_taps_built vta_compute_tb "LOG_BLOCK_IN=3 LOG_BLOCK_OUT=4 DEPTHWISE_TAPS=3" +runs=4 +built)
hw_unit(compute_one_tap_built vta_compute_tb "LOG_BLOCK_IN=4 LOG_BLOCK_OUT=2 DEPTHWISE_TAPS=1" +runs=4 +built)
hw_unit(compute_one_tap_pumped vta_compute_tb "LOG_BLOCK_IN=3 LOG_BLOCK_OUT=4 PUMP=2 DEPTHWISE_TAPS=1" +runs=2 +built)
hw_unit(compute_pumped vta_compute_tb "LOG_BLOCK_IN=3 LOG_BLOCK_OUT=4 PUMP=2" +runs=4 +built)
hw_unit(compute_pumped_rows vta_compute_tb "LOG_BLOCK_IN=5 LOG_BLOCK_OUT=4 PUMP=2" +runs=1 +built)
