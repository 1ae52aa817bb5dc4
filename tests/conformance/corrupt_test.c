/* SPDX-License-Identifier: Apache-2.0
 *
 * Damaged programs, judged (judge.h): whatever the checker lets through runs alike everywhere, what it
 * refuses is wrong, and nothing crashes or takes for ever.
 *
 *   corrupt_test [--seed N] [--count N] [--config NAME|FILE]... [-v]
 *
 * Without --config: all configurations that are shipped, in turn.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corrupt.h"
#include "judge.h"
#include "seed.h"

enum { DAMAGES = 4, MAX_CONFIGS = 32 };

static const double max_cost = 4e6; /* the interpreter's tenth of a second */

typedef struct tally {
    uint64_t accepted[CORRUPTIONS], refused[CORRUPTIONS], skipped;
    uint64_t errors[32];
    double slowest;
} tally;

typedef struct options {
    uint64_t seed, count;
    bool seeded, verbose;
    const char *configs[MAX_CONFIGS];
    uint32_t config_count;
} options;

static void complain(const progen_program *program, const char *what)
{
    (void)fprintf(stderr, "seed %" PRIu64 " (%s): %s\n", program->seed, program->config.name, what);
    for (uint32_t i = 0; i < program->insn_count; i++) {
        char line[256];
        vta_insn_print(&program->config, program->insns[i], line, sizeof line);
        (void)fprintf(stderr, "%5u  %s\n", i, line);
    }
}

static void count(tally *total, corruption kind, const judgement *j)
{
    (j->checked == VTA_OK ? total->accepted : total->refused)[kind]++;
    total->errors[j->checked == VTA_OK ? 0 : (unsigned)j->violation.error % 32]++;
    total->slowest = j->check_s > total->slowest ? j->check_s : total->slowest;
    total->skipped += j->skipped ? 1 : 0;
}

/* Damages a copy of the program and judges it. */
static bool damage(const progen_program *original, uint8_t *initial, rng *random, tally *total)
{
    progen_program program;
    judgement j;
    if (progen_copy(original, &program) != VTA_OK) {
        return false;
    }
    const corruption kind = (corruption)rng_below(random, CORRUPTIONS);
    const uint32_t times = rng_percent(random, 80) ? 1 : 1 + rng_below(random, 3);
    for (uint32_t n = 0; n < times; n++) {
        corrupt(&program, kind, random);
    }
    progen_fill(&program, program.seed, initial);
    const uint64_t visible =
        rng_percent(random, 5) ? rng_next(random) % program.arena_size : program.arena_size;
    const bool good = judge(&program, initial, visible, max_cost, &j);
    count(total, kind, &j);
    if (!good) {
        complain(&program, j.text);
    }
    progen_free(&program);
    return good;
}

static bool run_seed(const vta_config *config, uint64_t seed, tally *total)
{
    progen_program program;
    vta_diag diag = {0};
    rng random = rng_split(seed, 21);
    const uint32_t length = 1 + rng_below(&random, rng_percent(&random, 80) ? 40 : 150);
    if (progen_make(config, seed, length, &program, &diag) != VTA_OK) {
        (void)fprintf(stderr, "seed %" PRIu64 ": %s\n", seed, diag.text);
        return false;
    }
    uint8_t *initial = malloc(program.arena_size);
    bool good = initial != NULL;
    for (uint32_t n = 0; good && n < DAMAGES; n++) {
        good = damage(&program, initial, &random, total);
    }
    free(initial);
    progen_free(&program);
    return good;
}

static void print_tally(const tally *total)
{
    for (int kind = 0; kind < CORRUPTIONS; kind++) {
        (void)printf("%-10s %8" PRIu64 " accepted %8" PRIu64 " refused\n", corruption_names[kind],
                     total->accepted[kind], total->refused[kind]);
    }
    for (unsigned error = 1; error < 32; error++) {
        if (total->errors[error] > 0) {
            (void)printf("%8" PRIu64 "  %s\n", total->errors[error], vta_error_text((vta_error)error));
        }
    }
    (void)printf("slowest check %.4f s; %" PRIu64 " too long to run\n", total->slowest, total->skipped);
}

static bool parse_options(int argc, char **argv, options *o)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "-v") == 0) {
            o->verbose = true;
            continue;
        }
        if (value != NULL && strcmp(argv[i], "--seed") == 0) {
            o->seed = strtoull(value, NULL, 10);
            o->seeded = true;
        } else if (value != NULL && strcmp(argv[i], "--count") == 0) {
            o->count = strtoull(value, NULL, 10);
        } else if (value != NULL && strcmp(argv[i], "--config") == 0 && o->config_count < MAX_CONFIGS) {
            o->configs[o->config_count++] = value;
        } else {
            (void)fprintf(stderr, "corrupt_test: unknown or incomplete option '%s'\n", argv[i]);
            return false;
        }
        i++;
    }
    return true;
}

int main(int argc, char **argv)
{
    options o = {.count = 500};
    if (!parse_options(argc, argv, &o)) {
        return 2;
    }
    const uint64_t seed = o.seeded ? o.seed : test_seed("conformance_corrupt");
    (void)printf("seed %" PRIu64 ", %" PRIu64 " programs, %d damages each\n", seed, o.count, DAMAGES);
    (void)fflush(stdout);
    uint32_t shipped = 0;
    const char *const *names = vta_config_names(&shipped);
    tally total = {0};
    for (uint64_t n = 0; n < o.count; n++) {
        const char *name =
            o.config_count > 0 ? o.configs[(seed + n) % o.config_count] : names[(seed + n) % shipped];
        vta_config config;
        if (vta_config_load(name, &config, NULL) != VTA_OK || !run_seed(&config, seed + n, &total)) {
            return 1;
        }
    }
    if (o.verbose) {
        print_tally(&total);
    }
    return 0;
}
