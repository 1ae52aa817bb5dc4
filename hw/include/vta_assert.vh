// SPDX-License-Identifier: Apache-2.0
//
// Checks that cost nothing in hardware: $fatal in simulation, assert in a formal run, nothing in synthesis; with VTA_CHECKED also
// where what is synthesized is simulated.
// They use clk and rst of the enclosing module.
`ifndef VTA_ASSERT_VH
`define VTA_ASSERT_VH
`ifdef SYNTHESIS
 `ifndef VTA_CHECKED
  `define VTA_UNCHECKED
 `endif
`endif
`ifdef FORMAL
 `define VTA_FORMAL_RESET initial assume (rst);
 `define VTA_ASSERT(name, cond) \
    always @(posedge clk) if (!rst) assert (cond);
 `define VTA_PARAM_CHECK(cond)
`elsif VTA_UNCHECKED
 `define VTA_FORMAL_RESET
 `define VTA_ASSERT(name, cond)
 `define VTA_PARAM_CHECK(cond)
`else
 `define VTA_FORMAL_RESET
 `define VTA_ASSERT(name, cond) \
    always @(posedge clk) if (!rst && !(cond)) $fatal(1, "%m: name");
 `define VTA_PARAM_CHECK(cond) \
    initial if (!(cond)) $fatal(1, "%m: bad parameter");
`endif
`endif
