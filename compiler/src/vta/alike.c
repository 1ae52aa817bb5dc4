/* SPDX-License-Identifier: Apache-2.0
 *
 * Stages that are alike: they have the same candidates, and so have their neighbours. Networks repeat blocks
 * of layers; where layers run concurrently the search looks at the first block, and the others follow it.
 */
#include <stdlib.h>

#include "schedule.h"
#include "vta/hash.h"
#include "vta/number.h"

/* Takes in words byte by byte, the lowest first: the same hash on every host. */
static uint64_t hash_of_words(uint64_t hash, const uint64_t *words, size_t count)
{
    for (size_t i = 0; i < 8 * count; i++) {
        hash = vta_hash_word(hash, words[i / 8] >> i % 8 * 8 & 0xff);
    }
    return hash;
}

static uint64_t hash_of_tiling(uint64_t hash, const tiling *t)
{
    const int64_t all[] = {t->rows, t->cols, t->group, t->part, t->part_rows, t->part_cols, t->tiles_outside};
    return hash_of_words(hash, (const uint64_t *)all, sizeof all / sizeof all[0]);
}

static uint64_t hash_of_units(uint64_t hash, const load_of_units *u)
{
    const uint64_t all[] = {u->array, u->alu, u->load, u->store, u->bytes_read, u->bytes_written};
    return hash_of_words(hash, all, sizeof all / sizeof all[0]);
}

/* Hashes each stage by itself: its work and, in any order, its candidates. */
static void hash_stages(scheduler *s, uint64_t *own)
{
    for (size_t i = 0; i < s->stages.count; i++) {
        const stage *of = vtac_vta_stage_at(s, i);
        const uint64_t what = (uint64_t)s->region->layers[of->number].kind * 2 + (of->joined >= 0);
        own[i] = hash_of_units(vta_hash_word(VTA_HASH_START, what), &of->options[0].units);
        own[i] = vta_hash_word(own[i], of->member_count);
    }
    for (size_t w = 0; w < s->candidates.count; w++) {
        const candidate *one = vta_vec_at(&s->candidates, w);
        const bool grouped = vtac_vta_stage_at(s, one->stage)->options[one->option].grouped;
        own[one->stage] += grouped ? w + 1 : hash_of_tiling(one->option + 1, &one->tiling);
    }
}

static uint64_t hash_around(const uint64_t *own, size_t count, size_t i)
{
    uint64_t hash = VTA_HASH_START;
    for (size_t k = i > BESIDE ? i - BESIDE : 0; k < count && k <= i + BESIDE; k++) {
        hash = vta_hash_word(hash, own[k]);
    }
    return vta_hash_word(hash, own[i]);
}

bool vtac_vta_alike_find(scheduler *s)
{
    const size_t count = s->stages.count;
    uint64_t *own = calloc(2 * count + 1, sizeof *own), *around = own != NULL ? own + count : NULL;
    for (size_t i = 0; i < count; i++) {
        vtac_vta_stage_at(s, i)->like = i;
    }
    if (own == NULL || !s->concurrent) {
        free(own);
        return !s->concurrent;
    }
    hash_stages(s, own);
    for (size_t i = 0; i < count; i++) {
        around[i] = hash_around(own, count, i);
        for (size_t k = 0; k < i && vtac_vta_stage_at(s, i)->like == i; k++) {
            vtac_vta_stage_at(s, i)->like = around[k] == around[i] ? k : i;
        }
    }
    free(own);
    return true;
}

size_t vtac_vta_alike_count(scheduler *s, size_t from)
{
    size_t count = 0;
    for (size_t i = from; i < s->stages.count; i++) {
        count += vtac_vta_stage_at(s, i)->like == i;
    }
    return count;
}

void vtac_vta_alike_follow(scheduler *s)
{
    for (size_t i = 0; i < s->stages.count; i++) {
        stage *of = vtac_vta_stage_at(s, i);
        const stage *first = vtac_vta_stage_at(s, of->like);
        if (of != first && vtac_vta_plan_has_tilings(&of->options[0])) {
            const candidate one = vtac_vta_plan_candidate(&first->options[first->chosen]);
            of->chosen = first->chosen;
            vtac_vta_plan_apply(&of->options[of->chosen], &one);
        }
    }
}
