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
    g->history.item_size = sizeof(uint32_t);
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

typedef struct generation {
    vta_generator *g;
    const vta_generate_options *options;
    vta_generate_token *token;
    void *context;
} generation;

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
    return g->context == 0 || count <= g->context
               ? VTA_OK
               : vta_fail(
                     diag, VTA_RANGE,
                     "the prompt has %zu tokens and the model takes %llu: give a shorter one, or compile "
                     "the model for a longer context",
                     count, (unsigned long long)g->context);
}

static bool ends_text(const generation *n, uint32_t id)
{
    for (size_t i = 0; i < n->options->end_count; i++) {
        if (n->options->ends[i] == id) {
            return true;
        }
    }
    return n->g->tokenizer != NULL && vta_tokenizer_is_end(n->g->tokenizer, id) != 0;
}

/* Reports a token with its text; *stop: the caller wants no more. */
static vta_status report_token(const generation *n, uint32_t id, bool *stop, vta_diag *diag)
{
    const char *text = "";
    size_t size = 0;
    if (n->g->stream != NULL) {
        VTA_TRY(vta_text_stream_add(n->g->stream, id, &text, &size, diag));
    }
    *stop = n->token != NULL && n->token(n->context, id, text, size) != 0;
    return VTA_OK;
}

static vta_status report_rest(const generation *n, vta_diag *diag)
{
    const char *text;
    size_t size;
    if (n->g->stream == NULL) {
        return VTA_OK;
    }
    VTA_TRY(vta_text_stream_end(n->g->stream, &text, &size, diag));
    if (size > 0 && n->token != NULL) {
        (void)n->token(n->context, VTA_NO_TOKEN, text, size);
    }
    return VTA_OK;
}

/* Chooses the next token and reports it; *done where it is the last. */
static vta_status choose_token(const generation *n, const float *logits, bool *done, vta_diag *diag)
{
    vta_generator *g = n->g;
    uint32_t id;
    bool stop = false;
    VTA_TRY(vta_sample(&g->sampler, logits, g->vocabulary, &id, diag));
    if (vta_vec_push(&g->history, &id) == NULL) {
        return vta_no_memory(diag);
    }
    g->report.new_tokens++;
    const bool ended = !n->options->ignore_end && ends_text(n, id);
    VTA_TRY(report_token(n, id, &stop, diag));
    const bool counted = n->options->max_tokens != 0 && g->report.new_tokens == n->options->max_tokens;
    const bool full = g->context != 0 && g->history.count > g->context;
    g->report.end = ended ? VTA_END_TEXT : stop ? VTA_END_CALLER : counted ? VTA_END_COUNT : VTA_END_CONTEXT;
    *done = ended || stop || counted || full;
    return VTA_OK;
}

static vta_status generate_tokens(const generation *n, vta_diag *diag)
{
    vta_generator *g = n->g;
    const float *logits;
    bool done = false;
    const double begin = vta_now();
    VTA_TRY(vta_generate_step(g, &logits, diag));
    VTA_TRY(check_tokenizer(g, diag)); /* a model with open sizes knows its vocabulary only now */
    VTA_TRY(choose_token(n, logits, &done, diag));
    const double first = vta_now();
    g->report.prompt_seconds = first - begin;
    while (!done) {
        VTA_TRY(vta_generate_step(g, &logits, diag));
        VTA_TRY(choose_token(n, logits, &done, diag));
        g->report.new_seconds = vta_now() - first;
    }
    return report_rest(n, diag);
}

/* Begins anew: no history, empty caches, the sampler at its seed. */
static vta_status begin_generation(const generation *n, const uint32_t *prompt, size_t count, vta_diag *diag)
{
    vta_generator *g = n->g;
    const char *text;
    size_t size;
    g->report = (vta_generate_report){.prompt_tokens = count};
    g->sampler.temperature = n->options->temperature;
    g->sampler.top_k = n->options->top_k;
    g->sampler.top_p = n->options->top_p;
    g->sampler.state = n->options->seed;
    VTA_TRY(vta_sampler_check(&g->sampler, diag));
    VTA_TRY(check_prompt(g, prompt, count, diag));
    g->history.count = 0;
    uint32_t *items = vta_vec_add(&g->history, count);
    if (items == NULL) {
        return vta_no_memory(diag);
    }
    memcpy(items, prompt, count * sizeof *items);
    VTA_TRY(g->stream == NULL ? VTA_OK : vta_text_stream_end(g->stream, &text, &size, diag));
    return vta_generate_empty(g, diag);
}

vta_status vta_generate(vta_generator *g, const uint32_t *prompt, size_t count,
                        const vta_generate_options *options, vta_generate_token *token, void *context,
                        vta_diag *diag)
{
    vta_generate_options own = {.size = sizeof own};
    if (options != NULL) {
        memcpy(&own, options, options->size < sizeof own ? options->size : sizeof own);
    }
    const generation n = {g, &own, token, context};
    vta_status status = VTA_OK;
    VTA_TRY_OUT(begin_generation(&n, prompt, count, diag));
    VTA_TRY_OUT(generate_tokens(&n, diag));
out:
    g->cancelled = 0;
    vta_model_forget_stops(g->model);
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
