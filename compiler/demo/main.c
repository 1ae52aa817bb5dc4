/* SPDX-License-Identifier: Apache-2.0
 *
 * shapes: draws pictures of ten shapes, trains a classifier on them, and judges compiled classifiers. Exit
 * status as vtac's: 0 done, 1 failed, 2 misused.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "draw.h"
#include "export.h"
#include "outline.h"
#include "panel.h"
#include "train.h"
#include "vta/fail.h"

enum { OK = 0, FAILED = 1, MISUSED = 2 };
enum { MAX_WORDS = 64, SHEET_COLUMNS = 10, SHEET_ZOOM = 2, MAX_PICTURES = 1000000, MAX_SHEET = 1000 };

typedef struct arguments {
    const char *verb, *output;
    uint32_t pictures, steps;
    uint64_t seed;
    bool json, vision;
    const char *words[MAX_WORDS];
    uint32_t word_count;
} arguments;

static int fail_misused(const char *what, const char *word)
{
    (void)fprintf(stderr, "shapes: %s '%s' (try 'shapes help')\n", what, word);
    return MISUSED;
}

static int fail_with(const vta_diag *diag)
{
    (void)fprintf(stderr, "shapes: %s\n", diag->text);
    return FAILED;
}

/* ---- what draws */

static int run_draw(const arguments *a)
{
    vta_diag diag = {0};
    picture p;
    char path[4096];
    if (mkdir(a->output, 0777) != 0 && errno != EEXIST) {
        (void)fprintf(stderr, "shapes: %s: %s\n", a->output, strerror(errno));
        return FAILED;
    }
    for (uint32_t i = 0; i < a->pictures; i++) {
        demo_draw_picture(a->seed, i, &p);
        const uint32_t round = i / demo_class_count;
        (void)snprintf(path, sizeof path, "%s/%s_%u.png", a->output, demo_class_name(p.which), round + 1);
        if (demo_picture_write(&p, 1, 1, 1, path, &diag) != VTA_OK) {
            return fail_with(&diag);
        }
    }
    return OK;
}

static int run_sheet(const arguments *a)
{
    const uint32_t count = a->pictures < MAX_SHEET ? a->pictures : MAX_SHEET;
    vta_diag diag = {0};
    picture *all = calloc(count, sizeof *all);
    vta_status status = vta_allocated(all != NULL, &diag);
    for (uint32_t i = 0; i < count && status == VTA_OK; i++) {
        demo_draw_picture(a->seed, i, &all[i]);
    }
    const uint32_t columns = count < SHEET_COLUMNS ? count : SHEET_COLUMNS;
    status =
        status == VTA_OK ? demo_picture_write(all, count, columns, SHEET_ZOOM, a->output, &diag) : status;
    free(all);
    return status == VTA_OK ? OK : fail_with(&diag);
}

static int print_names(const arguments *a)
{
    (void)a;
    for (uint32_t i = 0; i < demo_class_count; i++) {
        (void)printf("%s\n", demo_class_name(i));
    }
    return OK;
}

/* ---- what learns and judges */

typedef struct watch {
    time_t begin;
    uint32_t steps;
} watch;

static void print_step(void *context, uint32_t step, float loss, float right)
{
    const watch *w = context;
    (void)printf("step %5u of %u  loss %.3f  %5.1f %% right", step, w->steps, (double)loss,
                 100.0 * (double)right);
    if (isatty(STDOUT_FILENO)) {
        const double passed = difftime(time(NULL), w->begin);
        (void)printf("  %.0f s left", passed * (w->steps - step) / step);
    }
    (void)printf("\n");
    (void)fflush(stdout);
}

static int run_train(const arguments *a)
{
    vta_diag diag = {0};
    watch w = {time(NULL), a->steps};
    const train_options options = {.form = a->vision ? NET_VISION : NET_CONVOLUTIONS,
                                   .steps = a->steps,
                                   .seed = a->seed,
                                   .report = print_step,
                                   .context = &w};
    net n;
    if (demo_train(&options, &n, &diag) != VTA_OK) {
        return fail_with(&diag);
    }
    (void)printf("weights %016" PRIx64 "\n", demo_net_fingerprint(&n));
    const vta_status status = demo_net_export(&n, a->output, &diag);
    demo_net_free(&n);
    return status == VTA_OK ? OK : fail_with(&diag);
}

static int run_score(const arguments *a)
{
    vta_diag diag = {0};
    const panel_options options = {a->words, a->word_count, a->json};
    return demo_panel_score(&options, a->pictures, a->seed, &diag) == VTA_OK ? OK : fail_with(&diag);
}

static bool is_picture(const char *word)
{
    const size_t length = strlen(word);
    return length > 4 && strcmp(word + length - 4, ".png") == 0;
}

static int run_classify(const arguments *a)
{
    vta_diag diag = {0};
    panel_options options = {a->words, 0, a->json};
    while (options.count < a->word_count && !is_picture(a->words[options.count])) {
        options.count++;
    }
    const uint32_t files = a->word_count - options.count;
    if (options.count == 0 || files == 0) {
        return fail_misused("expected models, then pictures (.png), after", "classify");
    }
    for (uint32_t i = options.count; i < a->word_count; i++) {
        if (!is_picture(a->words[i])) {
            return fail_misused("expected a picture (.png), not", a->words[i]);
        }
    }
    return demo_panel_classify(&options, a->words + options.count, files, &diag) == VTA_OK ? OK
                                                                                           : fail_with(&diag);
}

/* ---- the verbs */

typedef struct verb {
    const char *name, *usage, *doc;
    int (*run)(const arguments *a);
    bool writes; /* -o is needed */
    bool judges; /* words are */
    uint32_t pictures;
    uint64_t seed;
} verb;

static const verb verbs[] = {
    {"draw", "-o FOLDER", "pictures, a PNG file each", run_draw, true, false, 10, SEED_SHOW},
    {"sheet", "-o FILE.png", "the same on one sheet", run_sheet, true, false, 20, SEED_SHOW},
    {"names", "", "the classes in order, for 'vtac run --labels'", print_names, false, false, 0, 0},
    {"train", "-o FILE.onnx", "train a classifier (--steps; --vision: a transformer)", run_train, true, false,
     0, SEED_TRAIN},
    {"score", "MODEL.so[@DEVICE]...", "how many new pictures each gets right", run_score, false, true, 2000,
     SEED_HELD_OUT},
    {"classify", "MODEL.so[@DEVICE]... FILE.png...", "what each makes of each file", run_classify, false,
     true, 0, 0},
};

static int print_help(void)
{
    (void)printf("usage: shapes VERB [--pictures N] [--seed N] [--steps N] [--vision] [--json]\n\n");
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        (void)printf("  %-8s %-32s %s\n", verbs[i].name, verbs[i].usage, verbs[i].doc);
    }
    return OK;
}

static bool read_number(const char *text, uint64_t max, uint64_t *out)
{
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    *out = value;
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 && value <= max;
}

/* One option with its value; words are collected. Returns how many words it took, 0: misused, -1: its value
 * is. */
static int take_option(arguments *a, const char *word, const char *value)
{
    uint64_t n = 0;
    if (strcmp(word, "--json") == 0) {
        a->json = true;
        return 1;
    }
    if (strcmp(word, "--vision") == 0) {
        a->vision = true;
        return 1;
    }
    if (word[0] != '-') {
        if (a->word_count == MAX_WORDS) {
            return 0;
        }
        a->words[a->word_count++] = word;
        return 1;
    }
    if (value == NULL) {
        return 0;
    }
    if (strcmp(word, "-o") == 0) {
        a->output = value;
        return 2;
    }
    if (strcmp(word, "--seed") == 0) {
        return read_number(value, UINT64_MAX, &a->seed) ? 2 : -1;
    }
    uint32_t *count = strcmp(word, "--pictures") == 0 ? &a->pictures
                      : strcmp(word, "--steps") == 0  ? &a->steps
                                                      : NULL;
    if (count == NULL) {
        return 0;
    }
    if (!read_number(value, MAX_PICTURES, &n) || n == 0) {
        return -1;
    }
    *count = (uint32_t)n;
    return 2;
}

static int run_verb(const verb *v, int argc, char **argv)
{
    arguments a = {.verb = v->name, .pictures = v->pictures, .steps = 5000, .seed = v->seed};
    for (int i = 0; i < argc;) {
        const int taken = take_option(&a, argv[i], i + 1 < argc ? argv[i + 1] : NULL);
        if (taken <= 0) {
            return taken == 0 ? fail_misused("cannot make sense of", argv[i])
                              : fail_misused("expected a number up to a million, not", argv[i + 1]);
        }
        i += taken;
    }
    if (v->writes != (a.output != NULL)) {
        return fail_misused(v->writes ? "-o is missing after" : "-o means nothing to", v->name);
    }
    if (a.vision && v->run != run_train) {
        return fail_misused("--vision means nothing to", v->name);
    }
    if (v->judges != (a.word_count > 0)) {
        return v->judges ? fail_misused("expected models after", v->name)
                         : fail_misused("unexpected", a.words[0]);
    }
    const int status = v->run(&a);
    return fflush(stdout) != 0 && status == OK ? FAILED : status;
}

int main(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0) {
        return argc < 2 ? (void)print_help(), MISUSED : print_help();
    }
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(verbs[i].name, argv[1]) == 0) {
            return run_verb(&verbs[i], argc - 2, argv + 2);
        }
    }
    return fail_misused("unknown verb", argv[1]);
}
