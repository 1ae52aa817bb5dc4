/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread pool for loops: `run` splits 0 … extent-1 into pieces and returns when all are done. The calling
 * thread works, too.
 */
#ifndef VTA_POOL_H
#define VTA_POOL_H

#include <stdint.h>

#include "vta/status.h"

typedef struct vta_pool vta_pool;

/* Does iterations begin … end-1 as worker `worker` (0 … threads-1). */
typedef void vta_pool_task(void *context, int64_t begin, int64_t end, uint32_t worker);

/* `threads` workers, the caller among them; at least 1. */
vta_status vta_pool_create(uint32_t threads, vta_pool **out, vta_diag *diag);
void vta_pool_destroy(vta_pool *pool);
uint32_t vta_pool_threads(const vta_pool *pool);

void vta_pool_run(vta_pool *pool, int64_t extent, vta_pool_task *task, void *context);

/* VTAC_THREADS, or the number of cores this process may use; at least 1. */
uint32_t vta_pool_default_threads(void);

#endif
