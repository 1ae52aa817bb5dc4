# SPDX-License-Identifier: Apache-2.0
#
# No pin of the package is the design's own: memory and the processor's are placed by its IP, which brings its clock's
# constraint, too. What remains: the bitstream's size, and no unplaced pin may be taken silently.
set_property BITSTREAM.GENERAL.COMPRESS TRUE [current_design]
set_property SEVERITY {Error} [get_drc_checks UCIO-1]
set_property SEVERITY {Error} [get_drc_checks NSTD-1]
