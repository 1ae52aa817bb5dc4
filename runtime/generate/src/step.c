/* SPDX-License-Identifier: Apache-2.0
 *
 * One run of the model: its inputs from the tokens so far, its states from the last run.
 */
#include <string.h>

#include "generate.h"
#include "vta/fail.h"

static const uint32_t *history_of(const vta_generator *g)
{
    return g->history.items;
}

/* ---- numbers into inputs */

static void put_whole(void *at, uint32_t bits, size_t index, uint64_t value)
{
    const uint64_t little = value;
    memcpy((uint8_t *)at + index * (bits / 8), &little, bits / 8);
}

/* Checks that a number of a token fits the input's elements. */
static vta_status check_fits(const vta_tensor_info *info, uint64_t value, vta_diag *diag)
{
    const uint32_t bits = info->dtype_bits - (info->dtype_code == 0 ? 1U : 0U);
    return bits >= 63 || value >> bits == 0
               ? VTA_OK
               : vta_fail(diag, VTA_RANGE, "%llu does not fit the %u bits of input '%s'",
                          (unsigned long long)value, info->dtype_bits, info->name);
}

typedef struct run_plan {
    uint64_t first, count; /* tokens of the history that this run takes */
    uint64_t places;       /* tokens that the input has room for: the others are 0 */
} run_plan;

static vta_status fill_ids(vta_generator *g, const run_plan *p, vta_diag *diag)
{
    VTA_TRY(vta_generate_shape(g, g->ids, vta_model_input(g->model, g->ids).rank - 1, p->places, diag));
    const vta_tensor_info info = vta_model_input(g->model, g->ids);
    void *at = vta_model_input_data(g->model, g->ids);
    for (uint64_t i = 0; i < p->places; i++) {
        const uint32_t id = i < p->count ? history_of(g)[p->first + i] : 0;
        VTA_TRY(check_fits(&info, id, diag));
        put_whole(at, info.dtype_bits, i, id);
    }
    return VTA_OK;
}

/* 1 for the tokens in the cache and for those of this run. A mask of a fixed size has as many places as the
 * cache, or as the run. */
static vta_status fill_mask(vta_generator *g, uint32_t input, const run_plan *p, vta_diag *diag)
{
    const uint32_t axis = vta_model_input(g->model, input).rank - 1;
    const uint64_t seen = p->first + p->count;
    if (g->open || g->cache == VTA_CACHE_GROWS) {
        VTA_TRY(vta_generate_shape(g, input, axis, g->past + p->places, diag));
    }
    const vta_tensor_info info = vta_model_input(g->model, input);
    const uint64_t places = info.bytes / (info.dtype_bits < 8 ? 1 : info.dtype_bits / 8);
    void *at = vta_model_input_data(g->model, input);
    for (uint64_t i = 0; i < places; i++) {
        put_whole(at, info.dtype_bits < 8 ? 8 : info.dtype_bits, i,
                  places == p->places ? i < p->count : i < seen);
    }
    return VTA_OK;
}

static vta_status fill_positions(vta_generator *g, uint32_t input, const run_plan *p, vta_diag *diag)
{
    vta_tensor_info info = vta_model_input(g->model, input);
    if (g->open && info.rank > 0) {
        VTA_TRY(vta_generate_shape(g, input, info.rank - 1, p->places, diag));
        info = vta_model_input(g->model, input);
    }
    const uint64_t places = info.bytes / (info.dtype_bits / 8);
    VTA_TRY(check_fits(&info, p->first + places, diag));
    for (uint64_t i = 0; i < places; i++) {
        put_whole(vta_model_input_data(g->model, input), info.dtype_bits, i, p->first + i);
    }
    return VTA_OK;
}

static vta_status fill_zeros(vta_generator *g, uint32_t input, const run_plan *p, vta_diag *diag)
{
    if (g->open) {
        VTA_TRY(vta_generate_shape(g, input, vta_model_input(g->model, input).rank - 1, p->places, diag));
    }
    memset(vta_model_input_data(g->model, input), 0, vta_model_input(g->model, input).bytes);
    return VTA_OK;
}

static vta_status fill_inputs(vta_generator *g, const run_plan *p, vta_diag *diag)
{
    for (uint32_t i = 0; i < vta_model_input_count(g->model); i++) {
        switch (g->roles[i]) {
        case VTA_ROLE_IDS: VTA_TRY(fill_ids(g, p, diag)); break;
        case VTA_ROLE_MASK: VTA_TRY(fill_mask(g, i, p, diag)); break;
        case VTA_ROLE_POSITION: VTA_TRY(fill_positions(g, i, p, diag)); break;
        case VTA_ROLE_ZERO: VTA_TRY(fill_zeros(g, i, p, diag)); break;
        case VTA_ROLE_STATE: break;
        }
    }
    return VTA_OK;
}

/* ---- states */

/* A state's input becomes what the last run has put out, of whatever size that is. */
static vta_status carry_state(vta_generator *g, const vta_state *s, vta_diag *diag)
{
    const vta_tensor_info from = vta_model_output(g->model, s->output);
    VTA_TRY(vta_model_set_input_shape(g->model, s->input, from.dim, from.rank, diag));
    return vta_model_set_input(g->model, s->input, vta_model_output_data(g->model, s->output), from.bytes,
                               diag);
}

static vta_status carry_states(vta_generator *g, vta_diag *diag)
{
    for (uint32_t i = 0; i < g->state_count && g->state_memory[i] == NULL; i++) {
        VTA_TRY(carry_state(g, &g->states[i], diag));
    }
    return VTA_OK;
}

vta_status vta_generate_empty(vta_generator *g, vta_diag *diag)
{
    g->past = 0;
    for (uint32_t i = 0; i < g->state_count; i++) {
        const uint32_t input = g->states[i].input;
        vta_tensor_info info = vta_model_input(g->model, input);
        if (g->cache == VTA_CACHE_GROWS) {
            VTA_TRY(vta_generate_shape(g, input, info.rank - 2, 0, diag));
            continue;
        }
        memset(vta_model_input_data(g->model, input), 0, info.bytes);
    }
    return VTA_OK;
}

/* ---- runs */

static run_plan plan_run(const vta_generator *g)
{
    run_plan p = {.first = g->cache == VTA_CACHE_NONE ? 0 : g->past};
    const uint64_t left = g->history.count - p.first;
    p.places = g->open ? left : g->width;
    p.count = left < p.places ? left : p.places;
    return p;
}

/* The logits behind the last token of the run. An output with a row for each token has a row for each place;
 * otherwise its only row is the last place's. */
static vta_status last_logits(vta_generator *g, const run_plan *p, const float **logits, vta_diag *diag)
{
    const vta_tensor_info info = vta_model_output(g->model, g->logits);
    const uint64_t rows = g->vocabulary == 0 ? 0 : info.bytes / sizeof(float) / g->vocabulary;
    if (rows != p->places && (rows != 1 || p->count != p->places)) {
        return vta_fail(diag, VTA_INVALID,
                        "output '%s' has %llu rows for %llu tokens; a row for each token, or the number of "
                        "tokens left open when the model is compiled, is needed",
                        info.name, (unsigned long long)rows, (unsigned long long)p->places);
    }
    *logits = (const float *)vta_model_output_data(g->model, g->logits) +
              (rows == 1 ? 0 : p->count - 1) * g->vocabulary;
    return VTA_OK;
}

static vta_status run_once(vta_generator *g, const run_plan *p, vta_diag *diag)
{
    VTA_TRY(fill_inputs(g, p, diag));
    if (g->cancelled) {
        return vta_fail(diag, VTA_INTERRUPTED, "interrupted behind %llu tokens",
                        (unsigned long long)p->first);
    }
    VTA_TRY(vta_model_run(g->model, diag));
    const vta_tensor_info logits = vta_model_output(g->model, g->logits);
    g->vocabulary = g->vocabulary == 0 ? (uint32_t)logits.dim[logits.rank - 1] : g->vocabulary;
    g->past = p->first + p->count;
    return carry_states(g, diag);
}

vta_status vta_generate_step(vta_generator *g, const float **logits, vta_diag *diag)
{
    run_plan p;
    do {
        p = plan_run(g);
        VTA_TRY(run_once(g, &p, diag));
    } while (g->past < g->history.count);
    return last_logits(g, &p, logits, diag);
}
