/* SPDX-License-Identifier: Apache-2.0
 *
 * Random legal programs on the interpreter and on every device asked for: the same bytes of DRAM, twice in a
 * row with different data. A failure is shrunk and written out as assembler text with the command that reruns
 * it.
 *
 *   random_test [--seed N] [--count N] [--length N] [--config NAME|FILE]... [--device URI]... [--out DIR]
 *               [--runs N] [--damages N] [--shrink CHANGES] [--same-cycles 1] [-v]
 *
 * Program n of a run has the seed N + n, so `--seed N+n --count 1` repeats it. A device is "interp" (again,
 * in other orders of the units) or a driver's URI without its configuration; "{seed}" in it is replaced.
 * Each program runs --runs times with other data, then --damages damaged copies of it, which all devices must
 * refuse alike. --shrink bounds the changes that are tried on a program that fails. --same-cycles 1: every
 * run takes as many cycles on each device as on the first.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corrupt.h"
#include "interp.h"
#include "rig.h"
#include "rng.h"
#include "seed.h"
#include "shrink.h"

enum {
    MAX_DEVICES = 8,
    MAX_CONFIGS = 32,
    TEXT = 1200,
    REOPEN_EVERY = 40,
    SHRINK_BUDGET = 3000,
    RUNS = 2,
    DAMAGES = 2,
    MAX_TIMES = 1000
};

typedef struct options {
    uint64_t seed;
    uint32_t count, length, shrink;
    uint32_t runs, damages;           /* of a program, with other data; copies of it that are damaged */
    bool same_cycles;                 /* every run takes as many on each device */
    const char *configs[MAX_CONFIGS]; /* in turn; none: all that are shipped */
    uint32_t config_count;
    const char *devices[MAX_DEVICES];
    uint32_t device_count;
    const char *out;
    bool verbose;
    bool seeded;
} options;

/* The devices of one configuration, opened when it first comes up. */
typedef struct bench {
    vta_config config;
    rig_device *devices[MAX_DEVICES];
    uint32_t programs;
} bench;

typedef struct session {
    options options;
    bench benches[MAX_CONFIGS];
    uint32_t bench_count;
    uint64_t features[PROGEN_FEATURE_COUNT], events[INTERP_EVENT_COUNT];
    uint64_t insns;
    uint64_t cycles;     /* of the first device */
    uint64_t errors[32]; /* of damaged programs */
    bool no_device;      /* a device could not be opened */
} session;

/* ---- options ---- */

static bool number(const char *text, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0' && end != text;
}

static bool take_option(options *o, const char *name, const char *value)
{
    uint64_t n = 0;
    if (strcmp(name, "--config") == 0) {
        if (o->config_count < MAX_CONFIGS) {
            o->configs[o->config_count++] = value;
        }
    } else if (strcmp(name, "--out") == 0) {
        o->out = value;
    } else if (strcmp(name, "--device") == 0) {
        if (o->device_count < MAX_DEVICES) {
            o->devices[o->device_count++] = value;
        }
    } else if (!number(value, &n)) {
        return false;
    } else if (strcmp(name, "--seed") == 0) {
        o->seed = n;
        o->seeded = true;
    } else if (strcmp(name, "--count") == 0 && n <= UINT32_MAX) {
        o->count = (uint32_t)n;
    } else if (strcmp(name, "--length") == 0 && n <= 50000) {
        o->length = (uint32_t)n;
    } else if (strcmp(name, "--shrink") == 0 && n <= SHRINK_BUDGET) {
        o->shrink = (uint32_t)n;
    } else if (strcmp(name, "--runs") == 0 && n <= MAX_TIMES) {
        o->runs = (uint32_t)n;
    } else if (strcmp(name, "--damages") == 0 && n <= MAX_TIMES) {
        o->damages = (uint32_t)n;
    } else if (strcmp(name, "--same-cycles") == 0 && n <= 1) {
        o->same_cycles = n == 1;
    } else {
        return false;
    }
    return true;
}

static bool parse(int argc, char **argv, options *o)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-v") == 0) {
            o->verbose = true;
        } else if (i + 1 >= argc || !take_option(o, argv[i], argv[i + 1])) {
            (void)fprintf(stderr, "random_test: unknown or incomplete option '%s'\n", argv[i]);
            return false;
        } else {
            i++;
        }
    }
    return true;
}

/* Each set of devices gets programs of its own. */
static uint64_t seed_of(const options *o)
{
    char name[TEXT] = "conformance_random";
    for (uint32_t d = 0; d < o->device_count; d++) {
        const size_t used = strlen(name);
        (void)snprintf(name + used, sizeof name - used, " %s", o->devices[d]);
    }
    return test_seed(name);
}

/* ---- failures ---- */

typedef struct failure {
    rig_device *device; /* NULL: the checker refuses the program */
    uint64_t data_seed;
    vta_error refusal; /* what the checker says */
    char text[TEXT];
} failure;

/* True if the interpreter runs it to the end, whatever the order. */
static bool legal_to_interpreter(const progen_program *program, uint64_t data_seed)
{
    rig_device *again;
    if (rig_open("interp", &program->config, 12345, &again, NULL) != VTA_OK) {
        return false;
    }
    char text[TEXT];
    const bool agree = rig_agree(again, program, data_seed, NULL, text, sizeof text) &&
                       rig_agree(again, program, data_seed, NULL, text, sizeof text);
    rig_close(again);
    return agree;
}

static bool still_fails(void *context, const progen_program *program)
{
    const failure *f = context;
    vta_violation violation = {0};
    char text[TEXT];
    const vta_status checked = rig_check(program, f->data_seed, &violation, NULL);
    if (!legal_to_interpreter(program, f->data_seed)) {
        return false;
    }
    if (f->device == NULL) {
        return checked == VTA_ILLEGAL_PROGRAM && violation.error == f->refusal;
    }
    return checked == VTA_OK && (!rig_agree(f->device, program, f->data_seed, NULL, text, sizeof text) ||
                                 !rig_agree(f->device, program, f->data_seed, NULL, text, sizeof text));
}

/* The contents that the interpreter leaves, as expectations of the text. */
static void expect_results(const progen_program *program, uint64_t data_seed, vta_program *out)
{
    rig_device *reference = NULL;
    uint8_t *arena = malloc(program->arena_size);
    vta_report report;
    if (arena != NULL && rig_open("interp", &program->config, 1, &reference, NULL) == VTA_OK) {
        progen_fill(program, data_seed, arena);
        const vta_status status = rig_run(reference, program, arena, &report, NULL);
        for (uint32_t i = 0; status == VTA_OK && report.error == VTA_ERROR_NONE && i < out->symbol_count;
             i++) {
            vta_symbol *symbol = &out->symbols[i];
            const progen_segment *segment = &program->segments[symbol->segment];
            symbol->expect = segment->style == PROGEN_DATA ? malloc(symbol->size) : NULL;
            if (symbol->expect != NULL) {
                memcpy(symbol->expect, arena + segment->offset, symbol->size);
            }
        }
    }
    rig_close(reference);
    free(arena);
}

static void write_out(const session *s, const failure *f, const progen_program *program)
{
    char path[1024];
    vta_program text_form;
    char *text = NULL;
    (void)snprintf(path, sizeof path, "%s/random-%" PRIu64 ".vasm", s->options.out, program->seed);
    if (progen_export(program, f->data_seed, &text_form) != VTA_OK) {
        return;
    }
    expect_results(program, f->data_seed, &text_form);
    FILE *file = vta_disassemble(&text_form, &text, NULL) == VTA_OK ? fopen(path, "w") : NULL;
    if (file != NULL) {
        (void)fprintf(file,
                      "; %s\n; rerun: random_test --seed %" PRIu64
                      " --count 1 --length %u --config %s --device '%s'\n%s",
                      f->text, program->seed, s->options.length,
                      s->options.config_count > 0
                          ? s->options.configs[program->seed % s->options.config_count]
                          : program->config.name,
                      f->device == NULL ? "interp" : rig_uri(f->device), text);
        (void)fclose(file);
        (void)fprintf(stderr, "written to %s\n", path);
    }
    free(text);
    vta_program_free(&text_form);
}

static void give_account(const session *s, failure *f, progen_program *program)
{
    (void)fprintf(stderr, "seed %" PRIu64 ", configuration %s, %u instructions: %s\n", program->seed,
                  program->config.name, program->insn_count, f->text);
    const uint32_t kept = shrink(program, still_fails, f, s->options.shrink);
    (void)fprintf(stderr, "shrunk to %u instructions in %u changes:\n", program->insn_count, kept);
    for (uint32_t i = 0; i < program->insn_count && i < 40; i++) {
        char line[256];
        vta_insn_print(&program->config, program->insns[i], line, sizeof line);
        (void)fprintf(stderr, "%5u  %s\n", i, line);
    }
    write_out(s, f, program);
}

/* ---- the run ---- */

static bool open_devices(session *s, bench *b, uint64_t seed)
{
    for (uint32_t d = 0; d < s->options.device_count; d++) {
        vta_diag diag = {0};
        rig_close(b->devices[d]);
        b->devices[d] = NULL;
        if (rig_open(s->options.devices[d], &b->config, seed + d, &b->devices[d], &diag) != VTA_OK) {
            (void)fprintf(stderr, "device '%s' (%s): %s\n", s->options.devices[d], b->config.name, diag.text);
            s->no_device = true;
            return false;
        }
    }
    return true;
}

static bool prepare(session *s)
{
    uint32_t shipped = 0;
    const char *const *names = vta_config_names(&shipped);
    const bool given = s->options.config_count > 0;
    s->bench_count = given ? s->options.config_count : shipped < MAX_CONFIGS ? shipped : MAX_CONFIGS;
    for (uint32_t i = 0; i < s->bench_count; i++) {
        vta_diag diag = {0};
        if (vta_config_load(given ? s->options.configs[i] : names[i], &s->benches[i].config, &diag) !=
            VTA_OK) {
            (void)fprintf(stderr, "%s\n", diag.text);
            return false;
        }
    }
    return true;
}

/* An instruction that has gone to another unit leaves two faults: what it does there, and what is missing
 * here. */
static bool same_units(const progen_program *a, const progen_program *b)
{
    for (uint32_t i = 0; i < a->insn_count && i < b->insn_count; i++) {
        vta_insn x;
        vta_insn y;
        if (vta_insn_decode_raw(&a->config, a->insns[i], &x) != VTA_ERROR_OPCODE &&
            vta_insn_decode_raw(&b->config, b->insns[i], &y) != VTA_ERROR_OPCODE &&
            vta_insn_unit(&x) != vta_insn_unit(&y)) {
            return false;
        }
    }
    return true;
}

/* A copy of the program with one fault, if one is found quickly that shows in the same way everywhere. */
static bool run_damaged(session *s, bench *b, const progen_program *original)
{
    rng random = rng_split(original->seed, 31);
    bool good = true;
    for (uint32_t attempt = 0; good && attempt < s->options.damages; attempt++) {
        progen_program program;
        vta_report expected;
        char text[TEXT];
        if (progen_copy(original, &program) != VTA_OK) {
            return false;
        }
        corrupt(&program, (corruption)rng_below(&random, CORRUPTIONS), &random);
        const bool sure =
            same_units(original, &program) && rig_fails_surely(&program, program.seed, &expected);
        s->errors[sure ? (unsigned)expected.error % 32 : 0]++;
        for (uint32_t d = 0; sure && good && d < s->options.device_count; d++) {
            good = rig_fails_alike(b->devices[d], &program, program.seed, &expected, text, sizeof text);
        }
        if (!good) {
            char line[256];
            vta_insn_print(&program.config, program.insns[expected.insn], line, sizeof line);
            (void)fprintf(stderr, "seed %" PRIu64 ", configuration %s, damaged: %s\n%5u  %s\n", program.seed,
                          program.config.name, text, expected.insn, line);
        }
        progen_free(&program);
    }
    return good;
}

/* After a run on all devices: whether each took as many cycles as the first, where that is asked for. */
static bool same_cycles(session *s, const bench *b, failure *f)
{
    const uint64_t first = rig_cycles(b->devices[0]);
    s->cycles += first;
    for (uint32_t d = 1; s->options.same_cycles && d < s->options.device_count; d++) {
        const uint64_t cycles = rig_cycles(b->devices[d]);
        if (cycles != first) {
            (void)snprintf(f->text, sizeof f->text, "%" PRIu64 " cycles on '%s', %" PRIu64 " on '%s'", first,
                           rig_uri(b->devices[0]), cycles, rig_uri(b->devices[d]));
            return false;
        }
    }
    return true;
}

/* Program n: checked, then run on every device with two sets of data. */
static bool run_program(session *s, bench *b, progen_program *program)
{
    failure f = {.data_seed = program->seed};
    vta_violation violation = {0};
    vta_diag diag = {0};
    if (rig_check(program, program->seed, &violation, &diag) != VTA_OK) {
        (void)snprintf(f.text, sizeof f.text, "the checker refuses a legal program: %s", diag.text);
        f.refusal = violation.error;
        give_account(s, &f, program);
        return false;
    }
    for (uint32_t run = 0; run < s->options.runs; run++) {
        for (uint32_t d = 0; d < s->options.device_count; d++) {
            f.device = b->devices[d];
            f.data_seed = program->seed + run * UINT64_C(1000003);
            if (!rig_agree(f.device, program, f.data_seed, d == 0 ? s->events : NULL, f.text,
                           sizeof f.text)) {
                give_account(s, &f, program);
                return false;
            }
        }
        if (!same_cycles(s, b, &f)) {
            (void)fprintf(stderr, "seed %" PRIu64 ", configuration %s: %s\n", program->seed,
                          program->config.name, f.text);
            write_out(s, &f, program);
            return false;
        }
    }
    return run_damaged(s, b, program);
}

/* Mostly around the length asked for, with very short and long ones among them. */
static uint32_t length_of(const options *o, uint64_t seed)
{
    rng random = rng_split(seed, 11);
    const uint32_t kind = rng_below(&random, 10);
    return kind == 0   ? rng_below(&random, 8)
           : kind == 1 ? 4 * o->length
                       : 1 + rng_below(&random, 2 * o->length);
}

static bool run_one(session *s, uint64_t seed)
{
    bench *b = &s->benches[seed % s->bench_count];
    if (b->programs++ % REOPEN_EVERY == 0 && !open_devices(s, b, seed)) {
        return false;
    }
    progen_program program;
    vta_diag diag = {0};
    if (progen_make(&b->config, seed, length_of(&s->options, seed), &program, &diag) != VTA_OK) {
        (void)fprintf(stderr, "seed %" PRIu64 ": %s\n", seed, diag.text);
        return false;
    }
    progen_features(&program, s->features);
    s->insns += program.insn_count;
    const bool good = run_program(s, b, &program);
    progen_free(&program);
    return good;
}

static void print_counts(const session *s)
{
    for (int i = 0; i < PROGEN_FEATURE_COUNT; i++) {
        (void)printf("%12" PRIu64 "  %s\n", s->features[i], progen_feature_names[i]);
    }
    for (int i = 0; i < INTERP_EVENT_COUNT; i++) {
        (void)printf("%12" PRIu64 "  %s\n", s->events[i], interp_event_names[i]);
    }
    for (unsigned error = 1; error < 32; error++) {
        if (s->errors[error] > 0) {
            (void)printf("%12" PRIu64 "  failed with: %s\n", s->errors[error],
                         vta_error_text((vta_error)error));
        }
    }
}

static void print_progress(const session *s, uint32_t done)
{
    if (s->options.count >= 5000 && done % 1000 == 0) {
        (void)printf("%u of %u programs agree\n", done, s->options.count);
        (void)fflush(stdout);
    }
}

static bool run_all(session *s)
{
    (void)printf("seed %" PRIu64 ", %u programs, devices:", s->options.seed, s->options.count);
    for (uint32_t d = 0; d < s->options.device_count; d++) {
        (void)printf(" %s", s->options.devices[d]);
    }
    (void)printf("\n");
    (void)fflush(stdout);
    for (uint32_t n = 0; n < s->options.count; n++) {
        if (!run_one(s, s->options.seed + n)) {
            return false;
        }
        print_progress(s, n + 1);
    }
    (void)printf("%u programs, %" PRIu64 " instructions, %u runs each on %u devices: all agree\n",
                 s->options.count, s->insns, s->options.runs, s->options.device_count);
    if (s->options.same_cycles) {
        (void)printf("%" PRIu64 " cycles, the same on each\n", s->cycles);
    }
    return true;
}

int main(int argc, char **argv)
{
    static session s;
    (void)setenv("VTA_CHECK", "0", 1); /* devices are judged by themselves, on damaged programs, too */
    s.options = (options){
        .count = 300, .length = 60, .shrink = SHRINK_BUDGET, .runs = RUNS, .damages = DAMAGES, .out = "."};
    if (!parse(argc, argv, &s.options)) {
        return 2;
    }
    if (s.options.device_count == 0) {
        s.options.devices[s.options.device_count++] = "interp";
        s.options.devices[s.options.device_count++] = "fsim";
        s.options.devices[s.options.device_count++] = "fsim?strict=1";
    }
    if (!s.options.seeded) {
        s.options.seed = seed_of(&s.options);
    }
    const bool good = prepare(&s) && run_all(&s);
    if (s.options.verbose) {
        print_counts(&s);
    }
    for (uint32_t b = 0; b < s.bench_count; b++) {
        for (uint32_t d = 0; d < MAX_DEVICES; d++) {
            rig_close(s.benches[b].devices[d]);
        }
    }
    return good ? 0 : s.no_device ? 3 : 1;
}
