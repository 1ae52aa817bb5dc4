/* SPDX-License-Identifier: Apache-2.0
 *
 * The shapes of well-known networks.
 */
#ifndef VTA_TEST_NETS_H
#define VTA_TEST_NETS_H

#include "lab.h"

typedef struct lab_net {
    const char *name;
    void (*build)(lab_region *lab); /* into an initialised one; lab_finish remains to be called */
    uint64_t max_cycles;            /* of the whole network at "pynq" */
} lab_net;

extern const lab_net lab_nets[];
extern const uint32_t lab_net_count;
const lab_net *lab_net_named(const char *name);

#endif
