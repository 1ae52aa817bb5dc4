/* SPDX-License-Identifier: Apache-2.0
 *
 * Prices: a step that few items can share, as a loop whose rounds follow each other, takes long on a GPU,
 * whose single item is slow. Such a step runs on the host where that pays by much: all is waited for, its
 * buffers come, and what it has written goes back. The numbers are those of common cards and of one core.
 */
#include <string.h>

#include "bind.h"

static const double item_s = 20e-9, core_s = 1e-9; /* of a statement, of a vector of them */
static const double by_much = 4;

/* Statements that are done, those of vectors counted once for each lane or once for all. */
static double count_done(const vtac_stmt *s, bool by_lane)
{
    double count = 0;
    for (; s != NULL; s = s->next) {
        const bool vector = s->kind == VTAC_S_FOR && s->loop == VTAC_LOOP_VECTOR;
        const double rounds = s->kind == VTAC_S_FOR && (by_lane || !vector) ? (double)s->extent : 1;
        count += s->body != NULL ? rounds * count_done(s->body, by_lane) : 1;
    }
    return count;
}

/* Bytes of the buffers that move: constants are on both sides. */
static double bytes_moved(const vtac_bound *bound)
{
    double bytes = 0;
    for (size_t i = 0; i < bound->kernel.buffer_count; i++) {
        const vtac_buffer *b = bound->kernel.buffers[i];
        const bool held = b->number < 64 && (bound->held >> b->number & 1) != 0;
        if (b->space == VTAC_BUFFER_ARGUMENT && !held) {
            bytes += (double)b->elements * (double)vtac_dtype_bytes(b->dtype) * (b->written ? 2 : 1);
        }
    }
    return bytes;
}

vtac_gpu_price vtac_gpu_price_of(const vtac_kernel *nest, const vtac_bound *bound,
                                 const vtac_gpu_transfer *transfer)
{
    const double all = count_done(bound->kernel.body, true);
    const double items = bound->items > 1 ? (double)bound->items : 1;
    return (vtac_gpu_price){.device_s = item_s * all / items,
                            .host_s = core_s * count_done(nest->body, false),
                            .transfer_s = 2 * transfer->wait_s + bytes_moved(bound) / transfer->bytes_per_s};
}

bool vtac_gpu_price_stays(const vtac_gpu_price *price)
{
    return price->device_s > by_much * (price->host_s + price->transfer_s);
}
