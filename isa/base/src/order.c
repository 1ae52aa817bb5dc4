/* SPDX-License-Identifier: Apache-2.0
 *
 * Orders of a tensor's elements.
 */
#include "vta/order.h"

#include <string.h>

void vta_order_rows(const int64_t *dim, uint32_t rank, size_t size, const void *from, void *to)
{
    int64_t at[VTA_ORDER_AXES] = {0};
    int64_t elements = 1;
    for (uint32_t a = 0; a < rank; a++) {
        if (dim[a] == 0) {
            return; /* the product of the others need not fit */
        }
    }
    for (uint32_t a = 0; a < rank; a++) {
        elements *= dim[a];
    }
    for (int64_t i = 0; i < elements; i++) {
        int64_t place = 0;
        for (uint32_t a = 0; a < rank; a++) {
            place = place * dim[a] + at[a];
        }
        memcpy((char *)to + (size_t)place * size, (const char *)from + (size_t)i * size, size);
        for (uint32_t a = 0; a < rank && ++at[a] == dim[a]; a++) {
            at[a] = 0;
        }
    }
}
