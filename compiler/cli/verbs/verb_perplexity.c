/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac perplexity: what language models make of texts that are given, and how often they would go on as the
 * first of them would.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "table.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/generate.h"
#include "vta/vec.h"
#include "vtac/exact.h"

static const cli_option options[] = {
    {"--text", "FILE", CLI_FILE, "texts, a line each; none of them knows of another"},
    {"--tokenizer", "FILE", CLI_FILE, "instead of tokenizer.json beside the first model"},
    {"--threads", "N", CLI_TEXT, "threads of the host"},
    {"--json", NULL, CLI_FLAG, "print JSON"},
};

enum { MAX_MODELS = 16, MAX_THREADS = 1000000, MAX_TEXT = 1 << 30 };

typedef struct given_text {
    uint32_t *ids;
    size_t count;
} given_text;

/* The token that a model takes for the next one, and whether another one is within a tenth of its
 * probability: there the smallest of differences decides. */
typedef struct next_token {
    uint32_t id;
    bool close;
} next_token;

/* The sums over the texts of one model. */
typedef struct model_row {
    const char *name;    /* as given: MODEL.so[@DEVICE] */
    vta_vec next;        /* next_token: at each place behind which there is a token */
    double cost;         /* -log of the probabilities of the tokens that follow, summed */
    uint64_t same;       /* places at which the first model takes the same */
    uint64_t same_clear; /* those of them at which it is clear to the first model */
    uint32_t choice;     /* the size of its vocabulary */
} model_row;

typedef struct text_walk {
    const cli_args *args;
    vta_tokenizer *tokenizer;
    vta_vec texts; /* given_text */
    model_row rows[MAX_MODELS];
    size_t row_count;
    model_row *row;         /* the one that is being filled in */
    const given_text *text; /* where it is */
    vta_status status;      /* of the callback */
    uint32_t threads;
} text_walk;

/* ---- the texts */

static vta_status add_text(text_walk *w, const char *line, size_t size, vta_diag *diag)
{
    given_text text = {0};
    VTA_TRY(vta_tokenizer_encode(w->tokenizer, line, size, 1, &text.ids, &text.count, diag));
    if (text.count >= 2 && vta_vec_push(&w->texts, &text) != NULL) {
        return VTA_OK;
    }
    free(text.ids);
    return text.count >= 2 ? vta_no_memory(diag) : VTA_OK;
}

/* Splits the file into lines; a failure names the line. */
static vta_status split_texts(text_walk *w, const char *path, const char *bytes, size_t size, vta_diag *diag)
{
    vta_diag inner = {0};
    size_t line = 1;
    for (size_t at = 0; at < size; line++) {
        const char *end = memchr(bytes + at, '\n', size - at);
        const size_t length = end == NULL ? size - at : (size_t)(end - (bytes + at));
        const vta_status status = add_text(w, bytes + at, length, &inner);
        if (status != VTA_OK) {
            return vta_fail(diag, status, "%s: line %zu: %s", path, line, inner.text);
        }
        at += length + 1;
    }
    return w->texts.count > 0 ? VTA_OK
                              : vta_fail(diag, VTA_INVALID,
                                         "%s: no line has two tokens, of which one predicts the other", path);
}

static vta_status read_texts(text_walk *w, vta_diag *diag)
{
    const char *path = cli_value(w->args, "--text");
    uint8_t *bytes = NULL;
    size_t size = 0;
    VTA_TRY(vta_file_read(path, MAX_TEXT, &bytes, &size, diag));
    const vta_status status = split_texts(w, path, (const char *)bytes, size, diag);
    free(bytes);
    return status;
}

static vta_status read_tokenizer(text_walk *w, vta_diag *diag)
{
    char path[4096];
    const char *named = cli_value(w->args, "--tokenizer");
    const char *model = w->args->operands[0];
    const char *slash = strrchr(model, '/');
    const int folder = slash == NULL ? 0 : (int)(slash - model + 1);
    (void)snprintf(path, sizeof path, "%.*stokenizer.json", folder, model);
    return vta_tokenizer_load(named != NULL ? named : path, &w->tokenizer, diag);
}

/* ---- one model */

/* By how much a logit is larger than that of a token with nine tenths of the probability. */
static const double a_tenth = 0.10536051565782628;

static next_token next_of(const float *logits, uint32_t count)
{
    next_token next = {0, false};
    for (uint32_t i = 1; i < count; i++) {
        next.id = logits[i] > logits[next.id] ? i : next.id;
    }
    for (uint32_t i = 0; i < count && !next.close; i++) {
        next.close = i != next.id && (double)logits[next.id] - (double)logits[i] < a_tenth;
    }
    return next;
}

/* -log of the probability of a token. */
static double cost_of(const float *logits, uint32_t count, uint32_t top, uint32_t id)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        sum += vtac_exp((double)logits[i] - (double)logits[top]);
    }
    return vtac_log(sum) + (double)logits[top] - (double)logits[id];
}

static void compare_next(const text_walk *w, model_row *row, next_token next)
{
    const vta_vec *first = &w->rows[0].next;
    const next_token *of_first = row->next.count < first->count ? vta_vec_at(first, row->next.count) : &next;
    const bool same = of_first->id == next.id;
    row->same += same;
    row->same_clear += same && !of_first->close;
}

/* Counts what the logits at a place say about the next token. */
static int count_place(void *context, size_t place, const float *logits, uint32_t vocabulary)
{
    text_walk *w = context;
    model_row *row = w->row;
    if (place + 1 == w->text->count) {
        return 0;
    }
    const next_token next = next_of(logits, vocabulary);
    row->choice = vocabulary;
    row->cost += cost_of(logits, vocabulary, next.id, w->text->ids[place + 1]);
    compare_next(w, row, next);
    w->status = vta_vec_push(&row->next, &next) == NULL ? VTA_NOMEM : VTA_OK;
    return w->status != VTA_OK;
}

static vta_status walk_texts(text_walk *w, vta_generator *generator, vta_diag *diag)
{
    for (size_t i = 0; i < w->texts.count; i++) {
        w->text = vta_vec_at(&w->texts, i);
        VTA_TRY(vta_generate_logits(generator, w->text->ids, w->text->count, count_place, w, diag));
        VTA_TRY(w->status == VTA_OK ? VTA_OK : vta_no_memory(diag));
    }
    return VTA_OK;
}

static void stop_generator(void *generator)
{
    vta_generator_cancel(generator);
}

static vta_status run_model(text_walk *w, const char *path, const vta_model_options *how, vta_diag *diag)
{
    vta_model *model = NULL;
    vta_generator *generator = NULL;
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vta_model_load(path, how, &model, diag));
    VTA_TRY_OUT(vta_generator_create(model, w->tokenizer, &generator, diag));
    cli_catch_signals(stop_generator, generator);
    status = walk_texts(w, generator, diag);
    cli_catch_signals(NULL, NULL);
out:
    vta_generator_destroy(generator);
    vta_model_destroy(model);
    return status;
}

/* MODEL.so, or MODEL.so@DEVICE. */
static vta_status run_named(text_walk *w, const char *name, vta_diag *diag)
{
    char path[4096];
    vta_diag inner = {0};
    const char *at = strrchr(name, '@');
    const size_t length = at == NULL ? strlen(name) : (size_t)(at - name);
    const vta_model_options how = {
        .device = at == NULL ? NULL : at + 1, .threads = w->threads, .progress = cli_progress()};
    w->row = &w->rows[w->row_count++];
    *w->row = (model_row){.name = name, .next.item_size = sizeof(next_token)};
    if (length >= sizeof path) {
        return vta_fail(diag, VTA_RANGE, "%s: the name is too long", name);
    }
    (void)snprintf(path, sizeof path, "%.*s", (int)length, name);
    const vta_status status = run_model(w, path, &how, &inner);
    const bool named = strncmp(inner.text, path, length) == 0;
    return status == VTA_OK
               ? VTA_OK
               : vta_fail(diag, status, "%s%s%s", named ? "" : name, named ? "" : ": ", inner.text);
}

/* ---- results */

static double perplexity_of(const model_row *row)
{
    return vtac_exp(row->cost / (double)row->next.count);
}

static double share_of(uint64_t part, uint64_t of)
{
    return of == 0 ? 100.0 : 100.0 * (double)part / (double)of;
}

static double change_of(const text_walk *w, const model_row *row)
{
    return 100.0 * (perplexity_of(row) / perplexity_of(&w->rows[0]) - 1.0);
}

static void print_json(const text_walk *w)
{
    const uint64_t clear = w->rows[0].same_clear;
    cli_print("{\"texts\": %zu, \"tokens\": %zu, \"clear\": %llu, \"models\": [", w->texts.count,
              w->rows[0].next.count, (unsigned long long)clear);
    for (size_t i = 0; i < w->row_count; i++) {
        const model_row *row = &w->rows[i];
        cli_print("%s\n {\"model\": ", i > 0 ? "," : "");
        cli_json_string(row->name);
        cli_print(", \"vocabulary\": %u, \"perplexity\": %.6g, \"change\": %.4f, \"same\": %.4f, "
                  "\"same_clear\": %.4f}",
                  row->choice, perplexity_of(row), change_of(w, row), share_of(row->same, row->next.count),
                  share_of(row->same_clear, clear));
    }
    cli_print("]}\n");
}

static void fill_row(const void *context, uint32_t i, cli_cell *cells)
{
    const text_walk *w = context;
    const model_row *row = &w->rows[i];
    cells[0].text = row->name;
    cli_cell_print(&cells[1], "%.5g", perplexity_of(row));
    if (i > 0) {
        cli_cell_print(&cells[2], "%+.2f %%", change_of(w, row));
        cli_cell_print(&cells[3], "%.2f %%", share_of(row->same, row->next.count));
        cli_cell_print(&cells[4], "%.2f %%", share_of(row->same_clear, w->rows[0].same_clear));
    }
}

static void print_text(const text_walk *w)
{
    static const cli_column columns[] = {{"model", CLI_NAME},
                                         {"perplexity", CLI_FIGURE},
                                         {"change", CLI_FIGURE},
                                         {"same token", CLI_FIGURE},
                                         {"where clear", CLI_FIGURE}};
    cli_print("%zu tokens of %zu texts are predicted, each by those in front of it; at %llu the first model\n"
              "prefers its token clearly: no other has nine tenths of its probability\n",
              w->rows[0].next.count, w->texts.count, (unsigned long long)w->rows[0].same_clear);
    cli_table(columns, sizeof columns / sizeof columns[0], (uint32_t)w->row_count, fill_row, w);
}

static void free_walk(text_walk *w)
{
    for (size_t i = 0; i < w->texts.count; i++) {
        free(((given_text *)vta_vec_at(&w->texts, i))->ids);
    }
    for (size_t i = 0; i < w->row_count; i++) {
        vta_vec_free(&w->rows[i].next);
    }
    vta_vec_free(&w->texts);
    vta_tokenizer_destroy(w->tokenizer);
}

static vta_status walk_models(text_walk *w, vta_diag *diag)
{
    VTA_TRY(read_tokenizer(w, diag));
    VTA_TRY(read_texts(w, diag));
    for (size_t i = 0; i < w->args->operand_count; i++) {
        VTA_TRY(run_named(w, w->args->operands[i], diag));
    }
    return VTA_OK;
}

static int run_perplexity(const cli_args *args)
{
    vta_diag diag = {0};
    text_walk w = {.args = args, .texts.item_size = sizeof(given_text)};
    uint64_t threads = 0;
    const char *number = cli_value(args, "--threads");
    if (cli_value(args, "--text") == NULL) {
        return cli_usage(args, "--text FILE is missing: what the models are to predict");
    }
    if (number != NULL && (!cli_number(number, &threads) || threads == 0 || threads > MAX_THREADS)) {
        return cli_usage(args, "--threads takes a number up to %d, not '%s'", MAX_THREADS, number);
    }
    w.threads = (uint32_t)threads;
    cli_die_tidily();
    const vta_status status = walk_models(&w, &diag);
    if (status == VTA_OK) {
        (cli_flag(args, "--json") ? print_json : print_text)(&w);
    }
    free_walk(&w);
    return status == VTA_OK ? cli_done(args) : cli_fail(args, &diag);
}

const cli_verb cli_verb_perplexity = {
    .name = "perplexity",
    .operands = "MODEL.so[@DEVICE]... --text FILE",
    .summary = "how well language models predict texts, beside the first",
    .more = "Example: vtac perplexity float.so int8.so@fsim --text tales.txt\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .min = 1,
    .max = MAX_MODELS,
    .run = run_perplexity,
};
