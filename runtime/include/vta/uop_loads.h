/* SPDX-License-Identifier: Apache-2.0
 *
 * How LOADs of micro-ops are cut: by what the runtime does (kernel.c), and the compiler's timing model
 * expects of it (vta/uops.c).
 */
#ifndef VTA_UOP_LOADS_H
#define VTA_UOP_LOADS_H

enum {
    /* Micro-ops that one LOAD brings for several kernels: more would delay the first of them. */
    VTA_UOP_LOAD_LIMIT = 64,
    /* The first of all is shorter: the stream begins with it. */
    VTA_UOP_FIRST_LIMIT = 32,
    /* Of the scratchpad, at least so small a part is given up at a time. */
    VTA_UOP_WINDOW_SHARE = 32,
};

#endif
