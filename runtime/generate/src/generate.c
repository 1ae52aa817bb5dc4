/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop: a prompt, then a token after the other, each chosen among the logits behind the last.
 */
#include <stdlib.h>
#include <string.h>

#include "generate.h"
#include "vta/clock.h"
#include "vta/fail.h"

/* ---- a generator */

/* States that keep their size lie in one place, which the model reads and writes. */
static vta_status bind_states(vta_generator *g, vta_diag *diag)
{
    g->state_memory = calloc((size_t)g->state_count + 1, sizeof *g->state_memory);
    if (g->state_memory == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t i = 0; i < g->state_count && g->cache == VTA_CACHE_BOUNDED; i++) {
        const vta_tensor_info info = vta_model_input(g->model, g->states[i].input);
        void *memory = vta_model_input_data(g->model, g->states[i].input);
        VTA_TRY(vta_model_bind_output(g->model, g->states[i].output, memory, info.bytes, diag));
        g->state_memory[i] = memory;
    }
    return VTA_OK;
}

static vta_status check_tokenizer(const vta_generator *g, vta_diag *diag)
{
    const uint32_t size = g->tokenizer == NULL ? 0 : vta_tokenizer_size(g->tokenizer);
    return g->vocabulary == 0 || size <= g->vocabulary
               ? VTA_OK
               : vta_fail(diag, VTA_INVALID,
                          "the tokenizer has %u tokens and the model chooses among %u: take the tokenizer "
                          "that belongs to this model",
                          size, g->vocabulary);
}

vta_status vta_generator_create(vta_model *model, const vta_tokenizer *tokenizer, vta_generator **out,
                                vta_diag *diag)
{
    vta_generator *g = calloc(1, sizeof *g);
    *out = NULL;
    if (g == NULL) {
        return vta_no_memory(diag);
    }
    g->model = model;
    g->tokenizer = tokenizer;
    g->history.item_size = g->ends.item_size = sizeof(uint32_t);
    g->states = vta_model_states(model, &g->state_count);
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vta_generate_find_roles(g, diag));
    VTA_TRY_OUT(check_tokenizer(g, diag));
    VTA_TRY_OUT(bind_states(g, diag));
    VTA_TRY_OUT(tokenizer == NULL ? VTA_OK : vta_text_stream_create(tokenizer, &g->stream, diag));
    *out = g;
    return VTA_OK;
out:
    vta_generator_destroy(g);
    return status;
}

void vta_generator_destroy(vta_generator *g)
{
    if (g == NULL) {
        return;
    }
    for (uint32_t i = 0; g->state_memory != NULL && i < g->state_count; i++) {
        if (g->state_memory[i] != NULL) {
            (void)vta_model_bind_output(g->model, g->states[i].output, NULL, 0, NULL);
        }
    }
    vta_text_stream_destroy(g->stream);
    vta_sampler_free(&g->sampler);
    vta_vec_free(&g->history);
    vta_vec_free(&g->ends);
    free(g->state_memory);
    free(g->roles);
    free(g);
}

void vta_generator_cancel(vta_generator *g)
{
    g->cancelled = 1;
    vta_model_interrupt(g->model);
}

vta_generate_report vta_generator_report(const vta_generator *g)
{
    return g->report;
}

uint32_t vta_generator_vocabulary(const vta_generator *g)
{
    return g->vocabulary;
}

uint64_t vta_generator_context(const vta_generator *g)
{
    return g->context;
}

/* ---- a generation */

static vta_status check_prompt(const vta_generator *g, const uint32_t *prompt, size_t count, vta_diag *diag)
{
    if (count == 0) {
        return vta_fail(diag, VTA_INVALID, "the prompt has no tokens; give a text or numbers of tokens");
    }
    for (size_t i = 0; i < count; i++) {
        if (g->vocabulary != 0 && prompt[i] >= g->vocabulary) {
            return vta_fail(diag, VTA_RANGE,
                            "token %u of the prompt is outside of the model's vocabulary, which ends at %u",
                            prompt[i], g->vocabulary - 1);
        }
    }
    const size_t before = g->resumed ? g->history.count : 0;
    return g->context == 0 || before + count <= g->context
               ? VTA_OK
               : vta_fail(
                     diag, VTA_RANGE,
                     "the prompt has %zu tokens%s and the model takes %llu: give a shorter one, or compile "
                     "the model for a longer context",
                     before + count, before > 0 ? " with those in front of it" : "",
                     (unsigned long long)g->context);
}

static bool ends_text(const vta_generator *g, uint32_t id)
{
    for (size_t i = 0; i < g->ends.count; i++) {
        if (*(uint32_t *)vta_vec_at(&g->ends, i) == id) {
            return true;
        }
    }
    return g->tokenizer != NULL && vta_tokenizer_is_end(g->tokenizer, id) != 0;
}

static vta_status copy_options(vta_generator *g, const vta_generate_options *options, vta_diag *diag)
{
    vta_generate_options own = {.size = sizeof own};
    if (options != NULL) {
        memcpy(&own, options, options->size < sizeof own ? options->size : sizeof own);
    }
    g->options = own;
    g->ends.count = 0;
    for (size_t i = 0; i < own.end_count; i++) {
        if (vta_vec_push(&g->ends, &own.ends[i]) == NULL) {
            return vta_no_memory(diag);
        }
    }
    g->sampler.temperature = own.temperature;
    g->sampler.top_k = own.top_k;
    g->sampler.top_p = own.top_p;
    g->sampler.state = own.seed;
    return vta_sampler_check(&g->sampler, diag);
}

/* The stream begins with the prompt, whose text is not given: what follows may be the rest of a character. */
static vta_status stream_prompt(vta_generator *g, vta_diag *diag)
{
    const char *text;
    size_t size;
    if (g->stream == NULL) {
        return VTA_OK;
    }
    VTA_TRY(vta_text_stream_end(g->stream, &text, &size, diag));
    for (size_t i = 0; i < g->history.count; i++) {
        VTA_TRY(vta_text_stream_add(g->stream, *(uint32_t *)vta_vec_at(&g->history, i), &text, &size, diag));
    }
    return VTA_OK;
}

vta_status vta_generate_begin(vta_generator *g, const uint32_t *prompt, size_t count,
                              const vta_generate_options *options, vta_diag *diag)
{
    g->begun = g->done = false;
    g->report = (vta_generate_report){.prompt_tokens = count};
    VTA_TRY(copy_options(g, options, diag));
    VTA_TRY(check_prompt(g, prompt, count, diag));
    const bool resumed = g->resumed;
    g->resumed = false;
    g->history.count = resumed ? g->history.count : 0;
    /* A model of a fixed context gets the room for all of it, so that no step asks for memory. */
    const size_t all = g->history.count + count;
    uint32_t *items =
        vta_vec_add(&g->history, g->context >= all ? (size_t)g->context + 1 - all + count : count);
    if (items == NULL) {
        return vta_no_memory(diag);
    }
    g->history.count = all;
    memcpy(items, prompt, count * sizeof *items);
    VTA_TRY(stream_prompt(g, diag));
    VTA_TRY(resumed ? VTA_OK : vta_generate_empty(g, diag));
    g->begun = true;
    return VTA_OK;
}

/* Chooses the next token by its logit and puts it behind the others. */
static vta_status choose_token(vta_generator *g, uint32_t *id, vta_diag *diag)
{
    const float *logits;
    const double begin = vta_now();
    VTA_TRY(vta_generate_step(g, &logits, diag));
    VTA_TRY(check_tokenizer(g, diag)); /* a model with open sizes knows its vocabulary only now */
    VTA_TRY(vta_sample(&g->sampler, logits, g->vocabulary, id, diag));
    if (vta_vec_push(&g->history, id) == NULL) {
        return vta_no_memory(diag);
    }
    *(g->report.new_tokens == 0 ? &g->report.prompt_seconds : &g->report.new_seconds) += vta_now() - begin;
    g->report.new_tokens++;
    return VTA_OK;
}

/* Finds out whether a token is the last, and why. */
static void find_end(vta_generator *g, uint32_t id)
{
    const bool ended = !g->options.ignore_end && ends_text(g, id);
    const bool counted = g->options.max_tokens != 0 && g->report.new_tokens == g->options.max_tokens;
    const bool full = g->context != 0 && g->history.count > g->context;
    g->report.end = ended ? VTA_END_TEXT : counted ? VTA_END_COUNT : VTA_END_CONTEXT;
    g->done = ended || counted || full;
}

static vta_status next_token(vta_generator *g, uint32_t *id, const char **text, size_t *size, vta_diag *diag)
{
    *id = VTA_NO_TOKEN;
    *text = "";
    *size = 0;
    if (g->begun && !g->done) {
        uint32_t chosen;
        VTA_TRY(choose_token(g, &chosen, diag));
        VTA_TRY(g->stream == NULL ? VTA_OK : vta_text_stream_add(g->stream, chosen, text, size, diag));
        find_end(g, chosen);
        *id = chosen;
        return VTA_OK;
    }
    const bool rest = g->begun && g->stream != NULL;
    g->begun = false;
    return rest ? vta_text_stream_end(g->stream, text, size, diag) : VTA_OK;
}

/* A generation that is over leaves no interruption behind. */
static void end_generation(vta_generator *g)
{
    g->begun = false;
    g->cancelled = 0;
    vta_model_forget_stops(g->model);
}

vta_status vta_generate_next(vta_generator *g, uint32_t *id, const char **text, size_t *size, vta_diag *diag)
{
    const vta_status status = next_token(g, id, text, size, diag);
    if (status != VTA_OK || *id == VTA_NO_TOKEN) {
        end_generation(g);
    }
    return status;
}

vta_status vta_generate(vta_generator *g, const uint32_t *prompt, size_t count,
                        const vta_generate_options *options, vta_generate_token *token, void *context,
                        vta_diag *diag)
{
    uint32_t id = 0;
    vta_status status = vta_generate_begin(g, prompt, count, options, diag);
    while (status == VTA_OK && id != VTA_NO_TOKEN) {
        const char *text;
        size_t size;
        status = vta_generate_next(g, &id, &text, &size, diag);
        const bool given = status == VTA_OK && token != NULL && (id != VTA_NO_TOKEN || size > 0);
        if (given && token(context, id, text, size) != 0 && !g->done) {
            g->report.end = VTA_END_CALLER;
            g->done = true;
        }
    }
    end_generation(g);
    return status;
}

vta_status vta_generate_text(vta_generator *g, const char *prompt, size_t size,
                             const vta_generate_options *options, vta_generate_token *token, void *context,
                             vta_diag *diag)
{
    uint32_t *ids = NULL;
    size_t count;
    if (g->tokenizer == NULL) {
        return vta_fail(diag, VTA_INVALID, "a text needs a tokenizer; without one a prompt is tokens");
    }
    VTA_TRY(vta_tokenizer_encode(g->tokenizer, prompt, size, 1, &ids, &count, diag));
    const vta_status status = vta_generate(g, ids, count, options, token, context, diag);
    free(ids);
    return status;
}

/* ---- a text that is given */

/* The tokens up to `place`, of which the model has seen all but the last. */
static vta_status walk_to(vta_generator *g, const uint32_t *ids, size_t place, const float **logits,
                          vta_diag *diag)
{
    g->history.count = place + 1;
    VTA_TRY(vta_generate_step(g, logits, diag));
    return place > 0 ? VTA_OK : check_prompt(g, ids, g->report.prompt_tokens, diag);
}

vta_status vta_generate_logits(vta_generator *g, const uint32_t *ids, size_t count, vta_generate_place *place,
                               void *context, vta_diag *diag)
{
    bool more = true;
    g->resumed = false;
    vta_status status = vta_generate_begin(g, ids, count, NULL, diag);
    for (size_t i = 0; i < count && more && status == VTA_OK; i++) {
        const float *logits;
        status = walk_to(g, ids, i, &logits, diag);
        more = status == VTA_OK && place(context, i, logits, g->vocabulary) == 0;
    }
    end_generation(g);
    return status;
}
