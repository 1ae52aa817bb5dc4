/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of schedules: lines of JSON. Files of them are merged by `cat`.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vta/hash.h"
#include "vta/lines.h"
#include "vta/str.h"
#include "vtac/tune.h"

enum { MAX_FILE = 1 << 30 };

extern const char *const vtac_shipped_records[]; /* generated from compiler/records; the last is NULL */

static const char *copy_text(vtac_records *r, const cJSON *root, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, name);
    return cJSON_IsString(item) ? vta_arena_string(&r->arena, item->valuestring, strlen(item->valuestring))
                                : NULL;
}

/* False: it is no record. */
static bool read_line(vtac_records *r, const char *line, size_t size)
{
    cJSON *root = cJSON_ParseWithLength(line, size);
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(root, "version");
    const cJSON *cost = cJSON_GetObjectItemCaseSensitive(root, "cost");
    bool good = cJSON_IsObject(root) && cJSON_IsString(version);
    if (good && strcmp(version->valuestring, vta_version()) != 0) {
        r->other++;
        r->other_version = copy_text(r, root, "version");
    } else if (good) {
        const vtac_record record = {.kernel = copy_text(r, root, "kernel"),
                                    .shape = copy_text(r, root, "shape"),
                                    .target = copy_text(r, root, "target"),
                                    .point = copy_text(r, root, "point"),
                                    .cost = cJSON_IsNumber(cost) ? cost->valuedouble : HUGE_VAL,
                                    .proved = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(root, "proved"))};
        good = record.kernel != NULL && record.shape != NULL && record.target != NULL &&
               record.point != NULL && cost != NULL && !(record.cost <= 0.0) &&
               vta_vec_push(&r->items, &record) != NULL;
    }
    cJSON_Delete(root);
    return good;
}

/* A line of a log; or what a cut has left of one, which is passed over, with or without a whole one glued to
 * it by `cat`. */
static bool read_cut_line(vtac_records *r, const char *line, size_t size)
{
    static const char head[] = "{\"kernel\": ";
    const size_t head_size = sizeof head - 1;
    if (read_line(r, line, size)) {
        return true;
    }
    for (size_t at = 1; at + head_size < size; at++) {
        if (memcmp(line + at, head, head_size) == 0 && read_line(r, line + at, size - at)) {
            return true;
        }
    }
    return memcmp(line, head, size < head_size ? size : head_size) == 0 && line[size - 1] != '}';
}

vta_status vtac_records_read(const char *path, vtac_records *records, vta_diag *diag)
{
    vta_lines lines;
    records->items.item_size = sizeof(vtac_record);
    VTA_TRY(vta_lines_read(path, MAX_FILE, &lines, diag));
    vta_status status = VTA_OK;
    for (size_t i = 0; i < lines.count && status == VTA_OK; i++) {
        const char *line = lines.line[i];
        const bool cut = lines.open && i + 1 == lines.count;
        if (*line != '\0' && !read_cut_line(records, line, strlen(line)) && !cut) {
            status = vta_fail(diag, VTA_SYNTAX,
                              "%s: line %zu is no record of a schedule; expected what 'vtac tune' writes",
                              path, i + 1);
        }
    }
    vta_lines_free(&lines);
    return status;
}

vta_status vtac_records_shipped(vtac_records *records, vta_diag *diag)
{
    records->items.item_size = sizeof(vtac_record);
    for (const char *const *line = vtac_shipped_records; *line != NULL; line++) {
        if (!read_line(records, *line, strlen(*line))) {
            return vta_fail(diag, VTA_SYNTAX, "a record that comes with this vtac is none: %s", *line);
        }
    }
    return VTA_OK;
}

void vtac_records_free(vtac_records *records)
{
    vta_vec_free(&records->items);
    vta_arena_free(&records->arena);
    *records = (vtac_records){0};
}

bool vtac_records_any(const vtac_records *records, const char *target)
{
    bool any = false;
    for (size_t i = 0; i < records->items.count && !any; i++) {
        any = strcmp(((const vtac_record *)vta_vec_at(&records->items, i))->target, target) == 0;
    }
    return any;
}

bool vtac_records_find(const vtac_records *records, const char *target, const vtac_kernel_space *space,
                       uint32_t *point)
{
    double min = HUGE_VAL;
    bool proved = false;
    bool found = false;
    for (size_t i = 0; i < records->items.count; i++) {
        const vtac_record *r = vta_vec_at(&records->items, i);
        if ((r->cost >= min && r->proved == proved) || (proved && !r->proved) ||
            strcmp(r->kernel, space->kernel) != 0 || strcmp(r->shape, space->shape) != 0 ||
            strcmp(r->target, target) != 0) {
            continue;
        }
        for (uint32_t p = 0; p < space->count; p++) {
            if (strcmp(space->points[p], r->point) == 0) {
                *point = p;
                min = r->cost;
                proved = r->proved;
                found = true;
            }
        }
    }
    return found;
}

static void put_field(vta_str *out, const char *name, const char *text)
{
    vta_str_printf(out, "\"%s\": \"", name);
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '"' || *p == '\\' || (unsigned char)*p < ' ') {
            vta_str_printf(out, "\\u%04x", (unsigned)(unsigned char)*p);
        } else {
            vta_str_append(out, p, 1);
        }
    }
    vta_str_put(out, "\", ");
}

vta_status vtac_record_append(const char *path, const vtac_record *record, vta_diag *diag)
{
    vta_str line = {0};
    char last = '\n';
    const int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0) {
        return vta_fail(diag, VTA_IO, "cannot write '%s': %s", path, strerror(errno));
    }
    const off_t end = lseek(fd, 0, SEEK_END);
    if (end > 0 && pread(fd, &last, 1, end - 1) != 1) {
        last = '\n';
    }
    vta_str_put(&line, last == '\n' ? "{" : "\n{");
    put_field(&line, "kernel", record->kernel);
    put_field(&line, "shape", record->shape);
    put_field(&line, "target", record->target);
    put_field(&line, "version", vta_version());
    put_field(&line, "point", record->point);
    if (isfinite(record->cost)) {
        vta_str_printf(&line, "\"cost\": %.9g", record->cost);
    } else {
        vta_str_put(&line, "\"cost\": null");
    }
    vta_str_put(&line, record->proved ? ", \"proved\": true}\n" : "}\n");
    const ssize_t written = line.failed ? -1 : write(fd, line.text, line.size);
    const int cause = line.failed   ? ENOMEM
                      : written < 0 ? errno
                                    : ENOSPC; /* a part: there was no room for the rest */
    const bool good = written == (ssize_t)line.size && written > 0;
    vta_str_free(&line);
    if (close(fd) != 0 && good) {
        return vta_fail(diag, VTA_IO, "cannot write '%s': %s", path, strerror(errno));
    }
    return good ? VTA_OK : vta_fail(diag, VTA_IO, "cannot write '%s': %s", path, strerror(cause));
}

void vtac_target_text(const vtac_target *target, char *text, size_t size)
{
    const uint64_t hash = vta_hash_text(VTA_HASH_START, target->features);
    (void)snprintf(text, size, "%s %s %016" PRIx64, target->triple, target->cpu, hash);
}

void vtac_vta_target_text(const vta_config *config, char *text, size_t size)
{
    (void)snprintf(text, size, "vta %016" PRIx64 " %u %u %u%s%s", config->hash, config->mem_latency,
                   config->mem_bandwidth, config->mem_shared > 0 ? config->mem_shared / config->clock_mhz : 0,
                   config->dram[0] != '\0' ? " " : "", config->dram);
}
