/* SPDX-License-Identifier: Apache-2.0
 *
 * Where random tests get their seeds: from the word in VTAC_SEED and the test's own name. `./run test` takes
 * the word from the content of the commit, so that each commit explores other cases, and the same commit
 * always the same. seed.sh is the same for scripts.
 */
#ifndef VTA_TEST_SEED_H
#define VTA_TEST_SEED_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "rng.h"

static inline uint64_t test_hash(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++) {
        hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/* The seed of the random test `name`, short enough to type; printed. Seeds that follow it are other cases. */
static inline uint64_t test_seed(const char *name)
{
    const char *word = getenv("VTAC_SEED");
    rng r = rng_split(test_hash(test_hash(UINT64_C(0xcbf29ce484222325), word == NULL ? "" : word), name), 0);
    const uint64_t seed = rng_next(&r) % UINT64_C(1000000000000);
    (void)printf("%s: seed %" PRIu64 "\n", name, seed);
    (void)fflush(stdout);
    return seed;
}

#endif
