# SPDX-License-Identifier: Apache-2.0
#
# Benches of the compute unit's modules.

# hw_unit(NAME BENCH "PARAMETERS" [PLUSARGS ...])
function(hw_unit name bench parameters)
    add_test(NAME rtl_unit_${name}
        COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/unit.sh ${bench} ${VTA_VERILOG_HEADERS} "${parameters}" ${ARGN})
    set_tests_properties(rtl_unit_${name} PROPERTIES TIMEOUT 300)
endfunction()

hw_unit(nest vta_nest_tb "")
hw_unit(alu_lane vta_alu_lane_tb "")
hw_unit(mul_pair vta_mul_pair_tb "")
hw_unit(array_tiny vta_array_tb "LOG_BLOCK_IN=2 LOG_BLOCK_OUT=2")
hw_unit(array_batch2 vta_array_tb "LOG_BATCH=1 LOG_BLOCK_IN=3 LOG_BLOCK_OUT=3")
hw_unit(array_pynq vta_array_tb "")
hw_unit(window_tiny vta_window_tb "LOG_BLOCK_IN=2 LOG_BLOCK_OUT=2")
hw_unit(window_batch2 vta_window_tb "LOG_BATCH=1 LOG_BLOCK_IN=3 LOG_BLOCK_OUT=3")
hw_unit(window_groups vta_window_tb "LOG_BATCH=1 LOG_BLOCK_IN=5 LOG_BLOCK_OUT=3")
hw_unit(window_pynq vta_window_tb "")
