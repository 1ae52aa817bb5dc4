/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of a suite. What they misspell is named, with what there is.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "regress.h"
#include "vta/config.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/lines.h"
#include "vta/str.h"
#include "writable.h"

enum { MAX_BYTES = 16 << 20, MAX_CASES = 100000 };

typedef struct suite_reader {
    cli_regress_suite *suite;
    vta_diag *diag;
    const char *where; /* the model that is read, or NULL */
} suite_reader;

__attribute__((format(printf, 2, 3))) static vta_status fail_at(const suite_reader *r, const char *fmt, ...)
{
    char text[512];
    va_list list;
    va_start(list, fmt);
    (void)vsnprintf(text, sizeof text, fmt, list);
    va_end(list);
    return r->where != NULL
               ? vta_fail(r->diag, VTA_SYNTAX, "%s: model '%s': %s", r->suite->path, r->where, text)
               : vta_fail(r->diag, VTA_SYNTAX, "%s: %s", r->suite->path, text);
}

static char *copy_text(suite_reader *r, const char *text)
{
    char *copy = vta_arena_alloc(&r->suite->arena, strlen(text) + 1);
    if (copy != NULL) {
        memcpy(copy, text, strlen(text) + 1);
    }
    return copy;
}

static const char *keep_path(suite_reader *r, const char *path)
{
    char full[4096];
    if (*path == '/') {
        return copy_text(r, path);
    }
    (void)snprintf(full, sizeof full, "%s/%s", r->suite->folder, path);
    return copy_text(r, full);
}

/* Every key of an object is one of `names`. */
static vta_status check_keys(const suite_reader *r, const cJSON *object, const char *const *names,
                             size_t count)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, object)
    {
        bool known = false;
        for (size_t i = 0; i < count; i++) {
            known = known || strcmp(item->string, names[i]) == 0;
        }
        if (!known) {
            const char *nearest = vta_nearest(item->string, names, count);
            return nearest != NULL ? fail_at(r, "unknown key '%s'; is it '%s'?", item->string, nearest)
                                   : fail_at(r, "unknown key '%s'", item->string);
        }
    }
    return VTA_OK;
}

static vta_status read_text(suite_reader *r, const cJSON *object, const char *key, bool is_path,
                            const char **out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (item == NULL) {
        return VTA_OK;
    }
    if (!cJSON_IsString(item) || *item->valuestring == '\0') {
        return fail_at(r, "'%s' must be a text", key);
    }
    *out = is_path ? keep_path(r, item->valuestring) : copy_text(r, item->valuestring);
    return vta_allocated(*out != NULL, r->diag);
}

static vta_status read_flag(const suite_reader *r, const cJSON *object, const char *key, bool *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (item != NULL && !cJSON_IsBool(item)) {
        return fail_at(r, "'%s' must be true or false", key);
    }
    *out = item != NULL ? cJSON_IsTrue(item) : *out;
    return VTA_OK;
}

static vta_status read_figure(const suite_reader *r, const cJSON *object, const char *key, double *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (item != NULL && (!cJSON_IsNumber(item) || !isfinite(item->valuedouble) || item->valuedouble < 0)) {
        return fail_at(r, "'%s' must be a number, 0 or more", key);
    }
    *out = item != NULL ? item->valuedouble : *out;
    return VTA_OK;
}

static vta_status read_names(suite_reader *r, const cJSON *object, const char *key, bool are_paths,
                             cli_regress_names *out)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(object, key);
    const cJSON *item;
    if (list == NULL) {
        return VTA_OK;
    }
    const int count = cJSON_GetArraySize(list);
    if (!cJSON_IsArray(list) || count == 0) {
        return fail_at(r, "'%s' must be a list of texts", key);
    }
    out->items = vta_arena_alloc(&r->suite->arena, (size_t)count * sizeof *out->items);
    if (out->items == NULL) {
        return vta_no_memory(r->diag);
    }
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsString(item) || *item->valuestring == '\0') {
            return fail_at(r, "'%s' must be a list of texts", key);
        }
        out->items[out->count++] =
            are_paths ? keep_path(r, item->valuestring) : copy_text(r, item->valuestring);
    }
    return VTA_OK;
}

/* ---- models */

static vta_status read_data(suite_reader *r, const cJSON *object, const cJSON *seeds, cli_regress_model *m)
{
    static const char *const keys[] = {"inputs", "outputs"};
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(object, "data");
    const cJSON *from = list != NULL ? list : seeds;
    const cJSON *item;
    const int count = from != NULL ? cJSON_GetArraySize(from) : 2;
    if ((from != NULL && !cJSON_IsArray(from)) || count == 0) {
        return fail_at(r, list != NULL ? "'data' must be a list of inputs and outputs"
                                       : "'seeds' must be a list of numbers");
    }
    m->data = vta_arena_alloc(&r->suite->arena, (size_t)count * sizeof *m->data);
    if (m->data == NULL) {
        return vta_no_memory(r->diag);
    }
    m->data_count = (uint32_t)count;
    for (uint32_t i = 0; i < m->data_count; i++) {
        m->data[i] = (cli_regress_data){.seed = i + 1}; /* two runs in a row, with different data */
        item = from != NULL ? cJSON_GetArrayItem(from, (int)i) : NULL;
        if (list != NULL) {
            VTA_TRY(cJSON_IsObject(item) ? VTA_OK
                                         : fail_at(r, "'data' must be a list of inputs and outputs"));
            VTA_TRY(check_keys(r, item, keys, sizeof keys / sizeof keys[0]));
            VTA_TRY(read_names(r, item, "inputs", true, &m->data[i].inputs));
            VTA_TRY(read_names(r, item, "outputs", true, &m->data[i].outputs));
        } else if (item != NULL) {
            VTA_TRY(cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble < 0x1p53 &&
                            item->valuedouble == floor(item->valuedouble)
                        ? VTA_OK
                        : fail_at(r, "'seeds' must be a list of whole numbers, 0 or more"));
            m->data[i].seed = (uint64_t)item->valuedouble;
        }
    }
    return VTA_OK;
}

static vta_status read_bounds(const suite_reader *r, const cJSON *object, cli_regress_model *m)
{
    VTA_TRY(read_figure(r, object, "tolerance", &m->tolerance));
    VTA_TRY(read_figure(r, object, "rtol", &m->rtol));
    return read_figure(r, object, "atol", &m->atol);
}

/* Reads the keys of a model other than its name. */
static vta_status read_rest(suite_reader *r, const cJSON *object, const cJSON *seeds, cli_regress_model *m)
{
    VTA_TRY(read_text(r, object, "file", true, &m->file));
    VTA_TRY(read_text(r, object, "calib", true, &m->calib));
    VTA_TRY(read_flag(r, object, "int8", &m->int8));
    VTA_TRY(read_flag(r, object, "quantize", &m->quantize));
    VTA_TRY(read_bounds(r, object, m));
    return read_data(r, object, seeds, m);
}

static vta_status read_model(suite_reader *r, const cJSON *object, const cJSON *seeds, cli_regress_model *m)
{
    static const char *const keys[] = {"name",  "zoo",       "file", "int8", "quantize",
                                       "calib", "tolerance", "rtol", "atol", "data"};
    *m = (cli_regress_model){.tolerance = r->suite->tolerance};
    r->where = NULL;
    VTA_TRY(cJSON_IsObject(object) ? VTA_OK : fail_at(r, "'models' must be a list of objects"));
    VTA_TRY(read_text(r, object, "zoo", false, &m->zoo));
    m->name = m->zoo;
    VTA_TRY(read_text(r, object, "name", false, &m->name));
    VTA_TRY(m->name != NULL ? VTA_OK : fail_at(r, "a model has neither 'name' nor 'zoo'"));
    r->where = m->name;
    VTA_TRY(check_keys(r, object, keys, sizeof keys / sizeof keys[0]));
    VTA_TRY(read_rest(r, object, seeds, m));
    if ((m->zoo == NULL) == (m->file == NULL)) {
        return fail_at(r, "needs 'zoo' or 'file', one of them");
    }
    if (m->int8 && m->zoo == NULL) {
        return fail_at(r, "'int8' is for models of the zoo; a file of floats is quantized with 'quantize'");
    }
    return strchr(m->name, '/') == NULL ? VTA_OK : fail_at(r, "a name has no '/'");
}

static vta_status read_models(suite_reader *r, const cJSON *root)
{
    cli_regress_suite *s = r->suite;
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "models");
    const cJSON *seeds = cJSON_GetObjectItemCaseSensitive(root, "seeds");
    const cJSON *item;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) == 0) {
        return fail_at(r,
                       "'models' must be a list of objects such as {\"zoo\": \"resnet18\", \"int8\": true}");
    }
    s->models = vta_arena_alloc(&s->arena, (size_t)cJSON_GetArraySize(list) * sizeof *s->models);
    if (s->models == NULL) {
        return vta_no_memory(r->diag);
    }
    cJSON_ArrayForEach(item, list)
    {
        cli_regress_model *m = &s->models[s->model_count];
        VTA_TRY(read_model(r, item, seeds, m));
        for (uint32_t i = 0; i < s->model_count; i++) {
            VTA_TRY(strcmp(s->models[i].name, m->name) != 0 ? VTA_OK : fail_at(r, "the name is used twice"));
        }
        s->model_count++;
    }
    r->where = NULL;
    return VTA_OK;
}

static vta_status make_cases(const suite_reader *r)
{
    cli_regress_suite *s = r->suite;
    const uint64_t count = (uint64_t)s->model_count * s->configs.count * s->devices.count;
    if (count > MAX_CASES) {
        return fail_at(r, "%llu cases are more than %d", (unsigned long long)count, MAX_CASES);
    }
    s->cases = vta_arena_alloc(&s->arena, (size_t)count * sizeof *s->cases);
    if (s->cases == NULL) {
        return vta_no_memory(r->diag);
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t pair = s->configs.count * s->devices.count;
        s->cases[i] = (cli_regress_case){.model = &s->models[i / pair],
                                         .config = s->configs.items[i % pair / s->devices.count],
                                         .device = s->devices.items[i % s->devices.count]};
    }
    s->case_count = (uint32_t)count;
    return VTA_OK;
}

static vta_status read_root(suite_reader *r, const cJSON *root)
{
    static const char *const keys[] = {"models", "configs", "devices", "seeds", "tolerance", "timeout"};
    static const char *standard[] = {"pynq", "fsim", "tsim"};
    cli_regress_suite *s = r->suite;
    VTA_TRY(cJSON_IsObject(root) ? VTA_OK : fail_at(r, "expected a JSON object with 'models'"));
    VTA_TRY(check_keys(r, root, keys, sizeof keys / sizeof keys[0]));
    VTA_TRY(read_figure(r, root, "tolerance", &s->tolerance));
    VTA_TRY(read_models(r, root));
    VTA_TRY(read_names(r, root, "configs", false, &s->configs));
    VTA_TRY(read_names(r, root, "devices", false, &s->devices));
    VTA_TRY(read_figure(r, root, "timeout", &s->timeout_s));
    if (s->configs.count == 0) {
        s->configs = (cli_regress_names){&standard[0], 1};
    }
    if (s->devices.count == 0) {
        s->devices = (cli_regress_names){&standard[1], 2};
    }
    return make_cases(r);
}

/* The JSON of a file; where it cannot be read, the line is named. */
static vta_status parse_file(const char *path, cJSON **out, vta_diag *diag)
{
    char *text;
    const char *end = NULL;
    VTA_TRY(vta_text_read(path, MAX_BYTES, &text, diag));
    *out = cJSON_ParseWithOpts(text, &end, 0);
    vta_status status = VTA_OK;
    if (*out == NULL) {
        unsigned line = 1;
        while (end != NULL && end > text && *end == '\0' && end[-1] == '\n') {
            end--; /* what is missing at the end is missing in the last line */
        }
        for (const char *c = text; end != NULL && c < end; c++) {
            line += *c == '\n';
        }
        status = vta_fail(diag, VTA_SYNTAX, "%s:%u: this is no JSON", path, line);
    }
    free(text);
    return status;
}

vta_status cli_regress_suite_read(const char *path, cli_regress_suite *out, vta_diag *diag)
{
    cJSON *root = NULL;
    *out = (cli_regress_suite){.path = path, .tolerance = 0.5, .timeout_s = 1800};
    suite_reader r = {.suite = out, .diag = diag};
    char *folder = copy_text(&r, strrchr(path, '/') != NULL ? path : "./");
    out->folder = folder;
    if (folder != NULL) {
        *strrchr(folder, '/') = '\0';
    }
    vta_status status = VTA_OK;
    VTA_TRY_OUT(out->folder != NULL ? parse_file(path, &root, diag) : vta_no_memory(diag));
    VTA_TRY_OUT(read_root(&r, root));
out:
    cJSON_Delete(root);
    if (status != VTA_OK) {
        cli_regress_suite_free(out);
    }
    return status;
}

void cli_regress_suite_free(cli_regress_suite *s)
{
    vta_arena_free(&s->arena);
    *s = (cli_regress_suite){0};
}

/* ---- cycles of earlier runs */

void cli_regress_key(const cli_regress_case *c, char *key, size_t size)
{
    (void)snprintf(key, size, "%s/%s/%s", c->model->name, c->config, c->device);
}

/* Writes the key of a configuration's cycles: its hardware, and the memory of the simulators. False: there is
 * no such configuration. */
static bool hardware_of(const char *config, char *text, size_t size)
{
    vta_config c;
    if (vta_config_load(config, &c, NULL) != VTA_OK) {
        return false;
    }
    (void)snprintf(text, size, "%016" PRIx64 " %" PRIu32 " %" PRIu32 " %" PRIu32 "%s%s", c.hash,
                   c.mem_latency, c.mem_bandwidth, c.mem_shared, c.dram[0] != '\0' ? " " : "", c.dram);
    return true;
}

/* A file without that part is older than it, and believed. */
static vta_status check_hardware(const char *path, const cJSON *root, const cli_regress_suite *s,
                                 vta_diag *diag)
{
    const cJSON *configs = cJSON_GetObjectItemCaseSensitive(root, "hardware");
    for (uint32_t i = 0; i < s->configs.count; i++) {
        const cJSON *then = cJSON_GetObjectItemCaseSensitive(configs, s->configs.items[i]);
        char now[96];
        if (cJSON_IsString(then) && hardware_of(s->configs.items[i], now, sizeof now) &&
            strcmp(then->valuestring, now) != 0) {
            return vta_fail(diag, VTA_CONFIG_MISMATCH,
                            "%s: its cycles of configuration '%s' are those of other hardware or of another "
                            "memory ('%s', now '%s'); "
                            "record them anew with '--update'",
                            path, s->configs.items[i], then->valuestring, now);
        }
    }
    return VTA_OK;
}

vta_status cli_regress_baseline_read(const char *path, cli_regress_suite *s, bool updates, vta_diag *diag)
{
    cJSON *root = NULL;
    VTA_TRY(parse_file(path, &root, diag));
    const cJSON *cycles = cJSON_GetObjectItemCaseSensitive(root, "cycles");
    vta_status status = cJSON_IsObject(cycles) ? VTA_OK
                                               : vta_fail(diag, VTA_SYNTAX,
                                                          "%s: expected a JSON object with 'cycles'; "
                                                          "'vtac regress --update' writes one",
                                                          path);
    status = status == VTA_OK && !updates ? check_hardware(path, root, s, diag) : status;
    for (uint32_t i = 0; status == VTA_OK && i < s->case_count; i++) {
        char key[1024];
        cli_regress_key(&s->cases[i], key, sizeof key);
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(cycles, key);
        if (item != NULL && (!cJSON_IsNumber(item) || item->valuedouble < 1 || item->valuedouble >= 0x1p53)) {
            status = vta_fail(diag, VTA_SYNTAX, "%s: the cycles of '%s' must be a number above 0", path, key);
        } else if (item != NULL) {
            s->cases[i].baseline = (uint64_t)item->valuedouble;
        }
    }
    cJSON_Delete(root);
    return status;
}

/* Adds the cycles of every case that has some to an object. */
static bool put_cycles(cJSON *cycles, const cli_regress_suite *s)
{
    bool good = true;
    for (uint32_t i = 0; i < s->case_count; i++) {
        char key[1024];
        cli_regress_key(&s->cases[i], key, sizeof key);
        if (s->cases[i].cycles > 0) {
            cJSON_DeleteItemFromObjectCaseSensitive(cycles, key);
            good = cJSON_AddNumberToObject(cycles, key, (double)s->cases[i].cycles) != NULL && good;
        }
    }
    return good;
}

static bool put_hardware(cJSON *root, const cli_regress_suite *s)
{
    cJSON *configs = cJSON_GetObjectItemCaseSensitive(root, "hardware");
    configs = configs != NULL ? configs : cJSON_AddObjectToObject(root, "hardware");
    bool good = configs != NULL;
    for (uint32_t i = 0; good && i < s->configs.count; i++) {
        char now[96];
        cJSON_DeleteItemFromObjectCaseSensitive(configs, s->configs.items[i]);
        if (hardware_of(s->configs.items[i], now, sizeof now)) {
            good = cJSON_AddStringToObject(configs, s->configs.items[i], now) != NULL;
        }
    }
    return good;
}

/* Two runs at once add to a file one after the other: the folder's lock, until it is closed. */
static int lock_folder_of(const char *path)
{
    char folder[4096];
    cli_folder_of(path, folder, sizeof folder);
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (fd >= 0 && flock(fd, LOCK_EX) != 0 && errno == EINTR) {
    }
    return fd;
}

static void unlock_file(int fd)
{
    if (fd >= 0) {
        (void)close(fd);
    }
}

/* Cases that this suite does not have stay as they are: several suites may share the file. */
static vta_status add_to_baseline(const char *path, const cli_regress_suite *s, vta_diag *diag)
{
    cJSON *root = NULL;
    vta_diag none = {0};
    if (parse_file(path, &root, &none) != VTA_OK && none.code != VTA_IO) {
        return vta_fail(diag, none.code, "%s", none.text); /* damaged: it is not ours to throw away */
    }
    root = root != NULL ? root : cJSON_CreateObject();
    cJSON *cycles = cJSON_GetObjectItemCaseSensitive(root, "cycles");
    cycles = cycles != NULL ? cycles : cJSON_AddObjectToObject(root, "cycles");
    char *text = cycles != NULL && put_cycles(cycles, s) && put_hardware(root, s) ? cJSON_Print(root) : NULL;
    vta_str out = {0};
    vta_str_printf(&out, "%s\n", text != NULL ? text : "");
    const vta_status status =
        text != NULL && !out.failed ? vta_file_write(path, out.text, out.size, diag) : vta_no_memory(diag);
    vta_str_free(&out);
    cJSON_free(text);
    cJSON_Delete(root);
    return status;
}

vta_status cli_regress_baseline_write(const char *path, const cli_regress_suite *s, vta_diag *diag)
{
    const int lock = lock_folder_of(path);
    const vta_status status = add_to_baseline(path, s, diag);
    unlock_file(lock);
    return status;
}

vta_status cli_regress_history(const char *path, const cli_regress_suite *s, const char *label,
                               vta_diag *diag)
{
    cJSON *line = cJSON_CreateObject();
    cJSON *cycles = cJSON_AddObjectToObject(line, "cycles");
    const bool good =
        cJSON_AddStringToObject(line, "label", label) != NULL && cycles != NULL && put_cycles(cycles, s);
    char *text = good ? cJSON_PrintUnformatted(line) : NULL;
    cJSON_Delete(line);
    const int lock = lock_folder_of(path);
    FILE *file = text != NULL ? fopen(path, "a") : NULL;
    const bool written = file != NULL && fprintf(file, "%s\n", text) > 0;
    const bool closed = file != NULL && fclose(file) == 0;
    unlock_file(lock);
    cJSON_free(text);
    return written && closed ? VTA_OK
                             : vta_fail(diag, VTA_IO, "cannot write '%s': %s", path, strerror(errno));
}
