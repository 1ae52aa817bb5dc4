/* SPDX-License-Identifier: Apache-2.0
 *
 * The work of a suite as commands of this program. A piece is a case: its model is made ready, unless that
 * was done before in the same folder, then it is compiled, run on its data, and compared. A command that
 * takes too long is ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "regress.h"
#include "self.h"
#include "tensors.h"
#include "vta/clock.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/hash.h"
#include "vta/kernels.h"
#include "vta/model.h"

enum { WORDS = 64, PATH = 4096, MAX_BYTES = 1 << 26 };

/* Names fit: a path that does not is no file, and a sentence may end early. */
__attribute__((format(printf, 3, 4))) static void format_name(char *text, size_t size, const char *fmt, ...)
{
    va_list list;
    va_start(list, fmt);
    (void)vsnprintf(text, size, fmt, list);
    va_end(list);
}

typedef struct piece_command {
    char *words[WORDS];
    uint32_t count;
    char text[WORDS * PATH / 4];
    size_t used;
    bool overflows;
} piece_command;

__attribute__((format(printf, 2, 3))) static void add_word(piece_command *c, const char *fmt, ...)
{
    va_list list;
    va_start(list, fmt);
    const size_t left = sizeof c->text - c->used;
    const int size = vsnprintf(c->text + c->used, left, fmt, list);
    va_end(list);
    if (c->count + 1 >= WORDS || size < 0 || (size_t)size >= left) {
        c->overflows = true;
        return;
    }
    c->words[c->count++] = c->text + c->used;
    c->used += (size_t)size + 1;
}

/* ---- one command */

/* Last line of a file, without the verb's name in front. */
static void last_line(const char *path, char *why, size_t size)
{
    uint8_t *bytes = NULL;
    size_t count = 0;
    why[0] = '\0';
    if (vta_file_read(path, MAX_BYTES, &bytes, &count, NULL) != VTA_OK) {
        return;
    }
    while (count > 0 && bytes[count - 1] == '\n') {
        count--;
    }
    size_t begin = count;
    while (begin > 0 && bytes[begin - 1] != '\n') {
        begin--;
    }
    cJSON *told =
        cJSON_ParseWithLength((const char *)bytes + begin, count - begin); /* as `--json` tells it */
    const cJSON *message =
        cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(told, "error"), "message");
    if (cJSON_IsString(message)) {
        format_name(why, size, "%s", message->valuestring);
    } else {
        format_name(why, size, "%.*s", (int)(count - begin < size ? count - begin : size - 1),
                    (const char *)bytes + begin);
    }
    cJSON_Delete(told);
    free(bytes);
}

/* Waits for a child, for so long; its status, or -1 where it had to be ended. */
static int wait_for(pid_t pid, double timeout_s)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    const double end = vta_now() + timeout_s;
    int status = 0;
    for (;;) {
        const pid_t got = waitpid(pid, &status, WNOHANG);
        if (got == pid) {
            return status;
        }
        if ((got < 0 && errno != EINTR) || vta_now() > end) {
            break;
        }
        (void)nanosleep(&pause, NULL);
    }
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return -1;
}

/* Runs a command of this program with its output in LOG.out and LOG.err; false: `why` says what came of it.
 */
static bool run_command(const cli_regress_run *p, piece_command *c, const char *log, char *why)
{
    char out[PATH + 8];
    char err[PATH + 8];
    posix_spawn_file_actions_t actions;
    pid_t pid = 0;
    char temporary[PATH + 8]; /* what a command leaves behind that is ended goes with the folder */
    char **environment = cli_environment_of_no_rank();
    if (environment == NULL || c->overflows || posix_spawn_file_actions_init(&actions) != 0) {
        format_name(why, REGRESS_WHY,
                    environment == NULL ? "out of memory" : "too many words for one command");
        free(environment);
        return false;
    }
    format_name(temporary, sizeof temporary, "TMPDIR=%s", p->work);
    size_t last = 0;
    for (; environment[last] != NULL; last++) {
        if (strncmp(environment[last], "TMPDIR=", 7) == 0) {
            break;
        }
    }
    environment[last] = temporary; /* there is room behind the last one */
    format_name(out, sizeof out, "%s.out", log);
    format_name(err, sizeof err, "%s.err", log);
    (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    (void)posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    c->words[c->count] = NULL;
    const int error = posix_spawn(&pid, p->program, &actions, NULL, c->words, environment);
    (void)posix_spawn_file_actions_destroy(&actions);
    free(environment);
    if (error != 0) {
        format_name(why, REGRESS_WHY, "cannot run '%s': %s", p->program, strerror(error));
        return false;
    }
    const int status = wait_for(pid, p->suite->timeout_s);
    if (status == -1) {
        format_name(why, REGRESS_WHY, "'vtac %s' did not end within %g s", c->words[1], p->suite->timeout_s);
    } else if (WIFSIGNALED(status)) {
        format_name(why, REGRESS_WHY, "'vtac %s' was ended by signal %d", c->words[1], WTERMSIG(status));
    } else if (WEXITSTATUS(status) != 0) {
        last_line(err, why, REGRESS_WHY);
    }
    return status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* ---- models */

static uint32_t model_index(const cli_regress_run *p, const cli_regress_model *m)
{
    return (uint32_t)(m - p->suite->models);
}

/* Runs a compiled model on its data; outputs go to FOLDER/D. */
static bool run_data(const cli_regress_run *p, const cli_regress_model *m, uint32_t d, const char *library,
                     const char *device, const char *folder, char *why)
{
    char log[PATH + 64];
    piece_command *c = calloc(1, sizeof *c);
    if (c == NULL) {
        format_name(why, REGRESS_WHY, "out of memory");
        return false;
    }
    add_word(c, "vtac");
    add_word(c, "run");
    add_word(c, "%s", library);
    add_word(c, "--json");
    add_word(c, "--output-dir");
    add_word(c, "%s/%" PRIu32, folder, d);
    if (device != NULL) {
        add_word(c, "--device");
        add_word(c, "%s", device);
    }
    if (m->data[d].inputs.count == 0) {
        add_word(c, "--seed");
        add_word(c, "%" PRIu64, m->data[d].seed);
    }
    for (uint32_t i = 0; i < m->data[d].inputs.count; i++) {
        add_word(c, "--input");
        add_word(c, "%s", m->data[d].inputs.items[i]);
    }
    format_name(log, sizeof log, "%s/run%" PRIu32, folder, d);
    const bool good = run_command(p, c, log, why);
    free(c);
    return good;
}

/* For a device that runs kernels there is no configuration. */
static bool compile_model(const cli_regress_run *p, const cli_regress_model *m, const char *config,
                          const char *device, const char *library, char *why)
{
    const char *language = device != NULL ? vta_kernels_language(device) : NULL;
    piece_command *c = calloc(1, sizeof *c);
    if (c == NULL) {
        format_name(why, REGRESS_WHY, "out of memory");
        return false;
    }
    add_word(c, "vtac");
    add_word(c, "compile");
    add_word(c, "%s", m->path);
    add_word(c, "-o");
    add_word(c, "%s", library);
    add_word(c, "--target");
    add_word(c, "%s", language != NULL ? language : config != NULL ? "vta" : "llvm");
    if (config != NULL && language == NULL) {
        add_word(c, "--config");
        add_word(c, "%s", config);
    }
    const bool good = run_command(p, c, library, why);
    free(c);
    return good;
}

/* The model's file: made by the zoo, quantized, or as it is. */
static bool make_file(const cli_regress_run *p, cli_regress_model *m, const char *folder)
{
    piece_command *c = calloc(1, sizeof *c);
    char log[PATH + 64];
    if (c == NULL) {
        format_name(m->why, sizeof m->why, "out of memory");
        return false;
    }
    if (m->file != NULL && !m->quantize) {
        free(c);
        return true;
    }
    add_word(c, "vtac");
    add_word(c, "%s", m->file != NULL ? "quantize" : "zoo");
    add_word(c, "%s", m->file != NULL ? m->file : m->zoo);
    add_word(c, "-o");
    add_word(c, "%s", m->path);
    if (m->int8) {
        add_word(c, "--int8");
    }
    if (m->file != NULL && m->calib != NULL) {
        add_word(c, "--calib");
        add_word(c, "%s", m->calib);
    }
    format_name(log, sizeof log, "%s/make", folder);
    const bool good = run_command(p, c, log, m->why);
    free(c);
    return good;
}

static void folder_of(const cli_regress_run *p, char *path, const char *kind, uint32_t index)
{
    format_name(path, PATH, "%s/%s%" PRIu32, p->work, kind, index);
    (void)mkdir(path, 0777);
}

/* The file, and what the host makes of data that has no outputs of its own. */
static void make_ready(const cli_regress_run *p, cli_regress_model *m, const char *folder)
{
    char library[PATH + 16];
    format_name(library, sizeof library, "%s/host.so", folder);
    bool needs_host = false;
    for (uint32_t d = 0; d < m->data_count; d++) {
        needs_host = needs_host || m->data[d].outputs.count == 0;
    }
    m->is_ready =
        make_file(p, m, folder) && (!needs_host || compile_model(p, m, NULL, NULL, library, m->why));
    for (uint32_t d = 0; d < m->data_count && m->is_ready; d++) {
        m->is_ready = m->data[d].outputs.count > 0 || run_data(p, m, d, library, NULL, folder, m->why);
    }
}

/* Once for all workers that share the folder: what came of it is in FOLDER/ready, '+' or '-' and the reason.
 */
static void prepare_model(const cli_regress_run *p, cli_regress_model *m)
{
    char folder[PATH];
    char lock[PATH + 16];
    char ready[PATH + 16];
    uint8_t *bytes = NULL;
    size_t size = 0;
    if (m->is_ready || m->why[0] != '\0') {
        return;
    }
    folder_of(p, folder, "model", model_index(p, m));
    format_name(lock, sizeof lock, "%s/lock", folder);
    format_name(ready, sizeof ready, "%s/ready", folder);
    if (m->file != NULL && !m->quantize) {
        format_name(m->path, sizeof m->path, "%s", m->file);
    } else {
        format_name(m->path, sizeof m->path, "%s/model.onnx", folder);
    }
    const int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    while (fd >= 0 && flock(fd, LOCK_EX) != 0 && errno == EINTR) {
    }
    if (vta_file_read(ready, MAX_BYTES, &bytes, &size, NULL) == VTA_OK && size > 0) {
        m->is_ready = bytes[0] == '+';
        format_name(m->why, sizeof m->why, "%.*s", (int)(size - 1), (const char *)bytes + 1);
    } else {
        char text[REGRESS_WHY + 1];
        make_ready(p, m, folder);
        format_name(text, sizeof text, "%c%s", m->is_ready ? '+' : '-', m->is_ready ? "" : m->why);
        (void)vta_file_write(ready, text, strlen(text), NULL); /* else the next worker does it anew */
    }
    free(bytes);
    if (fd >= 0) {
        (void)close(fd);
    }
}

/* ---- comparing */

/* A device that runs kernels has elementary functions of its own: `rtol` and `atol` are no less than that
 * allows. */
static const double near_rtol = 1e-3, near_atol = 1e-4;

static bool compare_files(const cli_regress_model *m, bool near, const char *got, const char *expected,
                          char *why)
{
    vta_arena arena = {0};
    vta_diag diag = {0};
    vtac_tensor a;
    vtac_tensor b;
    bool good = cli_read_tensor(got, &arena, &a, &diag) == VTA_OK &&
                cli_read_tensor(expected, &arena, &b, &diag) == VTA_OK;
    if (!good) {
        format_name(why, REGRESS_WHY, "%s", diag.text);
    } else {
        const char *name = strrchr(got, '/') + 1;
        const bool same_type =
            vtac_type_elements(&a.type) == vtac_type_elements(&b.type) && a.type.dtype == b.type.dtype;
        const cli_difference d = same_type
                                     ? cli_compare_tensors(&a, &b, near ? fmax(m->rtol, near_rtol) : m->rtol,
                                                           near ? fmax(m->atol, near_atol) : m->atol)
                                     : (cli_difference){0};
        good = same_type && d.equal;
        if (!same_type) {
            format_name(why, REGRESS_WHY, "output '%s' is of another type or size than the reference", name);
        } else if (!good) {
            format_name(why, REGRESS_WHY, "output '%s' differs by up to %g; element %lld is %g, not %g", name,
                        d.worst, (long long)d.at, d.got, d.expected);
        }
    }
    vta_arena_free(&arena);
    return good;
}

/* The name of the file that `vtac run` gives an output. */
static void file_of(const char *folder, uint32_t d, const char *output, char *path, size_t size)
{
    const int used = snprintf(path, size, "%s/%" PRIu32 "/%s.npy", folder, d, output);
    const size_t begin = strlen(folder);
    for (size_t i = begin + 1, slashes = 0; used > 0 && (size_t)used < size && path[i] != '\0'; i++) {
        slashes += path[i] == '/' && slashes == 0;
        if (slashes == 1 && path[i] == '/') {
            slashes = 2;
        } else if (path[i] == '/' || path[i] == ':') {
            path[i] = '_';
        }
    }
}

/* Evaluates the output of a run: its cycles, and its outputs in order, each against the reference. */
static bool evaluate_run(const cli_regress_run *p, cli_regress_case *c, uint32_t d, const char *folder)
{
    char log[PATH + 64];
    char reference[PATH];
    uint8_t *bytes = NULL;
    size_t size = 0;
    vta_diag diag = {0};
    format_name(log, sizeof log, "%s/run%" PRIu32 ".out", folder, d);
    format_name(reference, sizeof reference, "%s/model%" PRIu32, p->work, model_index(p, c->model));
    if (vta_file_read(log, MAX_BYTES, &bytes, &size, &diag) != VTA_OK) {
        format_name(c->why, sizeof c->why, "%s", diag.text);
        return false;
    }
    cJSON *root = cJSON_ParseWithLength((const char *)bytes, size);
    free(bytes);
    const cJSON *cycles = cJSON_GetObjectItemCaseSensitive(root, "cycles");
    const cJSON *outputs = cJSON_GetObjectItemCaseSensitive(root, "outputs");
    const cli_regress_names *expected = &c->model->data[d].outputs;
    bool good = cJSON_IsNumber(cycles) && cJSON_IsArray(outputs) && cJSON_GetArraySize(outputs) > 0;
    if (!good) {
        format_name(c->why, sizeof c->why, "'vtac run' has printed something else than its results");
    } else if (expected->count > (uint32_t)cJSON_GetArraySize(outputs)) {
        good = false;
        format_name(c->why, sizeof c->why, "the model has %d outputs, the suite %" PRIu32 " files for them",
                    cJSON_GetArraySize(outputs), expected->count);
    } else {
        c->cycles = (uint64_t)cycles->valuedouble > c->cycles ? (uint64_t)cycles->valuedouble : c->cycles;
    }
    const int max = good && expected->count > 0 ? (int)expected->count : cJSON_GetArraySize(outputs);
    for (int i = 0; good && i < max; i++) {
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(outputs, i), "name");
        char got[PATH + 512];
        char want[PATH + 512];
        const char *text = cJSON_IsString(name) ? name->valuestring : "";
        file_of(folder, d, text, got, sizeof got);
        file_of(reference, d, text, want, sizeof want);
        good = compare_files(c->model, vta_kernels_is(c->device), got,
                             expected->count > 0 ? expected->items[i] : want, c->why);
    }
    cJSON_Delete(root);
    return good;
}

static void compare_cycles(cli_regress_case *c)
{
    c->outcome = REGRESS_PASSED;
    if (c->baseline == 0 || c->cycles == 0) {
        return;
    }
    c->change = 100.0 * ((double)c->cycles - (double)c->baseline) / (double)c->baseline;
    if (c->change > c->model->tolerance) {
        c->outcome = REGRESS_SLOWER;
        format_name(c->why, sizeof c->why, "%" PRIu64 " cycles, %.2f %% more than the baseline's %" PRIu64,
                    c->cycles, c->change, c->baseline);
    }
}

static void run_case(const cli_regress_run *p, cli_regress_case *c)
{
    char folder[PATH];
    char library[PATH + 16];
    const double begin = vta_now();
    folder_of(p, folder, "case", (uint32_t)(c - p->suite->cases));
    format_name(library, sizeof library, "%s/model.so", folder);
    c->outcome = REGRESS_BROKEN;
    prepare_model(p, c->model);
    if (!c->model->is_ready) {
        format_name(c->why, sizeof c->why, "%s", c->model->why);
        return;
    }
    bool runs = compile_model(p, c->model, c->config, c->device, library, c->why);
    for (uint32_t d = 0; d < c->model->data_count && runs; d++) {
        runs = run_data(p, c->model, d, library, c->device, folder, c->why);
        if (runs && !evaluate_run(p, c, d, folder)) {
            c->outcome = REGRESS_WRONG;
            runs = false;
        }
    }
    c->outcome = runs ? REGRESS_PASSED : c->outcome;
    c->seconds = vta_now() - begin;
}

/* ---- all of it */

/* The cases so that neighbours are of different models: workers do not wait for one another's. */
static uint32_t case_of(const cli_regress_suite *s, uint32_t piece)
{
    const uint32_t each = s->case_count / s->model_count;
    return piece % s->model_count * each + piece / s->model_count;
}

vta_status cli_regress_piece(void *context, const char *piece, vta_str *result, vta_diag *diag)
{
    const cli_regress_run *p = context;
    char *end;
    const unsigned long number = strtoul(piece, &end, 10);
    if (end == piece || *end != '\0' || number >= p->suite->case_count) {
        return vta_fail(diag, VTA_INVALID, "'%s' is no case of the suite", piece);
    }
    cli_regress_case *c = &p->suite->cases[number];
    run_case(p, c);
    vta_str_printf(result, "%d %" PRIu64 " %.3f %s", (int)c->outcome, c->cycles, c->seconds, c->why);
    return vta_allocated(!result->failed, diag);
}

typedef struct telling {
    const cli_regress_run *run;
    uint32_t finished;
} telling;

/* A worker's answer: outcome, cycles, seconds, and why. */
static bool read_answer(const char *result, cli_regress_case *c)
{
    char *end;
    const long outcome = strtol(result, &end, 10);
    if (end == result || *end != ' ' || outcome <= REGRESS_WAITING || outcome > REGRESS_BROKEN) {
        return false;
    }
    const char *cycles = end + 1;
    c->cycles = strtoull(cycles, &end, 10);
    if (end == cycles || *end != ' ') {
        return false;
    }
    const char *seconds = end + 1;
    c->seconds = strtod(seconds, &end);
    if (end == seconds || *end != ' ') {
        return false;
    }
    c->outcome = (cli_regress_outcome)outcome;
    format_name(c->why, sizeof c->why, "%s", end + 1);
    return true;
}

static void record_piece(void *context, uint32_t number, const char *result, const char *why, double seconds)
{
    telling *t = context;
    cli_regress_suite *s = t->run->suite;
    cli_regress_case *c = &s->cases[case_of(s, number)];
    c->seconds = seconds;
    if (result == NULL || !read_answer(result, c)) {
        c->outcome = REGRESS_BROKEN;
        format_name(c->why, sizeof c->why, "%s", why != NULL ? why : "a worker's answer makes no sense");
    }
    if (c->outcome == REGRESS_PASSED) {
        compare_cycles(c);
    }
    t->finished++;
    if (t->run->done != NULL) {
        t->run->done(t->run->context, c, t->finished);
    }
}

vta_status cli_regress_go(const cli_regress_run *run, vtac_work *work, vta_diag *diag)
{
    enum { NUMBER = 12 };
    const uint32_t count = run->suite->case_count;
    char(*texts)[NUMBER] = calloc((size_t)count + 1, sizeof *texts);
    const char **pieces = calloc((size_t)count + 1, sizeof *pieces);
    telling t = {.run = run};
    for (uint32_t i = 0; texts != NULL && pieces != NULL && i < count; i++) {
        format_name(texts[i], sizeof texts[i], "%" PRIu32, case_of(run->suite, i));
        pieces[i] = texts[i];
    }
    const vta_status status = texts != NULL && pieces != NULL
                                  ? vtac_work_run(work, pieces, count, record_piece, &t, diag)
                                  : vta_no_memory(diag);
    free(texts);
    free(pieces);
    return status;
}

static uint64_t hash_file(uint64_t hash, const char *path)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    if (path != NULL && vta_file_read(path, SIZE_MAX / 2, &bytes, &size, NULL) == VTA_OK) {
        hash = vta_hash_word(hash, vta_artifact_hash(bytes, size));
    }
    free(bytes);
    return hash;
}

uint64_t cli_regress_hash(const cli_regress_suite *s)
{
    uint64_t hash = hash_file(VTA_HASH_START, s->path);
    for (uint32_t i = 0; i < s->model_count; i++) {
        const cli_regress_model *m = &s->models[i];
        hash = hash_file(hash, m->file);
        for (uint32_t d = 0; d < m->data_count; d++) {
            for (uint32_t k = 0; k < m->data[d].inputs.count; k++) {
                hash = hash_file(hash, m->data[d].inputs.items[k]);
            }
            for (uint32_t k = 0; k < m->data[d].outputs.count; k++) {
                hash = hash_file(hash, m->data[d].outputs.items[k]);
            }
        }
    }
    return hash;
}
