/* SPDX-License-Identifier: Apache-2.0
 *
 * tales: a small language model that tells tales and answers questions about them. `tales` alone lists what
 * it does.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tale_export.h"
#include "tale_text.h"
#include "tale_train.h"

enum { OK = 0, FAILED = 1, MISUSED = 2, SEED_NEW = 2, SCORED = 320 };

typedef struct tale_words {
    uint32_t steps, tales;
    uint64_t seed;
    const char *output;
} tale_words;

static int fail_with(const vta_diag *diag)
{
    (void)fprintf(stderr, "tales: %s\n", diag->text);
    return FAILED;
}

static int fail_misused(const char *what, const char *word)
{
    (void)fprintf(stderr, "tales: %s '%s'; 'tales' alone lists the verbs\n", what, word);
    return MISUSED;
}

static void print_step(void *context, uint32_t step, float loss)
{
    const tale_words *w = context;
    (void)printf("step %5" PRIu32 " of %" PRIu32 "  loss %.3f\n", step, w->steps, (double)loss);
    (void)fflush(stdout);
}

/* "DIR/tokenizer.json" beside the model; a model's path that is too long is cut, and refused by the system.
 */
static void path_beside(const char *model, char *out, size_t size)
{
    const char *slash = strrchr(model, '/');
    const int folder = slash == NULL ? 0 : (int)(slash - model + 1);
    (void)snprintf(out, size, "%.*stokenizer.json", folder, model);
}

static int run_train(const tale_words *w)
{
    char tokenizer[4096];
    tale_words told = *w;
    const tale_options options = {.steps = w->steps, .seed = w->seed, .report = print_step, .context = &told};
    vta_diag diag = {0};
    tale_net n;
    const clock_t begin = clock();
    if (demo_tale_train(&options, &n, &diag) != VTA_OK) {
        return fail_with(&diag);
    }
    (void)printf("%zu weights %016" PRIx64 ", %.0f s of the processor\n", n.parameter_count,
                 demo_tale_fingerprint(&n), (double)(clock() - begin) / CLOCKS_PER_SEC);
    (void)printf("%.1f %% of the questions in new tales are answered right\n",
                 100.0 * (double)demo_tale_score(&n, SEED_NEW, SCORED));
    path_beside(w->output, tokenizer, sizeof tokenizer);
    vta_status status = demo_tale_export(&n, w->output, &diag);
    if (status == VTA_OK) {
        status = demo_tale_export_tokenizer(tokenizer, &diag);
    }
    demo_tale_free(&n);
    return status == VTA_OK ? OK : fail_with(&diag);
}

static int print_tales(const tale_words *w)
{
    tale t;
    for (uint32_t i = 0; i < w->tales; i++) {
        demo_tale_draw(w->seed, i, &t);
        for (uint32_t k = 1; k + 1 < t.count; k++) {
            bool mark;
            const char *word = demo_tale_word(t.tokens[k], &mark);
            (void)printf("%s%s", k == 1 || mark ? "" : " ", word);
        }
        (void)printf("\n");
    }
    return OK;
}

static int print_help(void)
{
    (void)printf(
        "usage: tales VERB\n\n"
        "  train [--steps N] [--seed N] -o FILE.onnx   train a model; tokenizer.json is written beside it\n"
        "  tell [--tales N] [--seed N]                 tales, a line each, as the model learns from\n");
    return OK;
}

/* A number of decimal digits, 1 … max. */
static bool read_number(const char *text, uint64_t max, uint64_t *out)
{
    char *end;
    *out = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && *out >= 1 && *out <= max;
}

static int read_words(int argc, char **argv, tale_words *w)
{
    for (int i = 0; i < argc; i += 2) {
        uint64_t number = 0;
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "-o") == 0 && value[0] != '\0') {
            w->output = value;
            continue;
        }
        if (!read_number(value, 1000000, &number)) {
            return fail_misused("expected a number up to a million after", argv[i]);
        }
        if (strcmp(argv[i], "--seed") == 0) {
            w->seed = number;
        } else if (strcmp(argv[i], "--steps") == 0) {
            w->steps = (uint32_t)number;
        } else if (strcmp(argv[i], "--tales") == 0) {
            w->tales = (uint32_t)number;
        } else {
            return fail_misused("unknown option", argv[i]);
        }
    }
    return OK;
}

int main(int argc, char **argv)
{
    tale_words w = {.steps = 1500, .tales = 10, .seed = 1};
    if (argc < 2 || strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0) {
        return argc < 2 ? (void)print_help(), MISUSED : print_help();
    }
    const bool trains = strcmp(argv[1], "train") == 0;
    if (!trains && strcmp(argv[1], "tell") != 0) {
        return fail_misused("unknown verb", argv[1]);
    }
    if (read_words(argc - 2, argv + 2, &w) != OK) {
        return MISUSED;
    }
    if (trains != (w.output != NULL)) {
        return fail_misused(trains ? "-o FILE.onnx is missing after" : "-o means nothing to", argv[1]);
    }
    const int status = (trains ? run_train : print_tales)(&w);
    return fflush(stdout) != 0 && status == OK ? FAILED : status;
}
