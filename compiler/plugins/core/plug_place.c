/* SPDX-License-Identifier: Apache-2.0
 *
 * The region of each node of a model, as `vtac explain` gives it.
 */
#include <cjson/cJSON.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plug_internal.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/lines.h"
#include "vta/str.h"
#include "vtac.h"

enum { PLAN_LIMIT = 1 << 24 };

/* The number of a node by its name, or by a name that the compiler made of it ("n12/part"); `count`: none. */
static uint32_t number_of(const char *name, uint32_t count)
{
    char *end = NULL;
    if (name == NULL || name[0] != 'n' || name[1] < '0' || name[1] > '9') {
        return count;
    }
    const unsigned long number = strtoul(name + 1, &end, 10);
    return number < count ? (uint32_t)number : count;
}

static int32_t region_of(const cJSON *where)
{
    const char *text = cJSON_GetStringValue(where);
    return text != NULL && strncmp(text, "region ", 7) == 0 ? (int32_t)strtol(text + 7, NULL, 10)
                                                            : VTAC_PLUG_STAYS;
}

/* The compiler may have made several nodes of one: the node is of the region that has one of them. */
static void read_rows(const cJSON *rows, int32_t *regions, uint32_t count)
{
    const cJSON *row = NULL;
    cJSON_ArrayForEach(row, rows)
    {
        const uint32_t node = number_of(cJSON_GetStringValue(cJSON_GetObjectItem(row, "name")), count);
        const int32_t region = region_of(cJSON_GetObjectItem(row, "where"));
        if (node < count && region != VTAC_PLUG_STAYS) {
            regions[node] = region;
        }
    }
}

static vta_status explain_file(const vtac_plug *plug, const char *path, int32_t *regions, uint32_t count,
                               vta_diag *diag)
{
    char *answer = NULL;
    const char *const words[] = {"explain",   "--json",
                                 "--config",  plug->config_path,
                                 "--offload", vtac_plug_value(plug, VTAC_PLUG_OFFLOAD),
                                 "--",        path,
                                 NULL};
    const int failed = libvtac_verb(words, NULL, &answer);
    if (failed != LIBVTAC_OK) {
        const vta_status status =
            vta_fail(diag, (vta_status)failed, "%s", answer != NULL ? answer : "out of memory");
        libvtac_free(answer);
        return status;
    }
    cJSON *json = answer != NULL ? cJSON_Parse(answer) : NULL;
    libvtac_free(answer);
    VTA_TRY(vta_allocated(json != NULL, diag));
    read_rows(cJSON_GetObjectItem(json, "nodes"), regions, count);
    cJSON_Delete(json);
    return VTA_OK;
}

/* ---- plans: what was explained once */

static vta_status write_plan(const char *path, const int32_t *regions, uint32_t count, vta_diag *diag)
{
    vta_str text = {0};
    for (uint32_t i = 0; i < count; i++) {
        vta_str_printf(&text, "%d\n", regions[i]);
    }
    vta_status status = vta_allocated(!text.failed, diag);
    if (status == VTA_OK) {
        status = vta_file_write_scratch(path, text.text != NULL ? text.text : "", text.size, diag);
    }
    vta_str_free(&text);
    return status;
}

/* False where there is no such plan, or not one of `count` nodes. */
static bool read_plan(const char *path, int32_t *regions, uint32_t count)
{
    vta_lines lines;
    if (vta_lines_read(path, PLAN_LIMIT, &lines, NULL) != VTA_OK) {
        return false;
    }
    bool good = lines.count == count;
    for (uint32_t i = 0; good && i < count; i++) {
        char *end = NULL;
        const long region = strtol(lines.line[i], &end, 10);
        good = end != lines.line[i] && *end == '\0' && region >= VTAC_PLUG_STAYS && region < (long)count;
        regions[i] = (int32_t)region;
    }
    vta_lines_free(&lines);
    return good;
}

/* Explains the model from a file that this call alone has. */
static vta_status make_plan(const vtac_plug *plug, const vtac_plug_model *model, int32_t *regions,
                            uint32_t count, vta_diag *diag)
{
    static atomic_uint calls;
    vta_str path = {0};
    vta_str_printf(&path, "%s/whole-%ld-%u.%s", plug->folder, (long)getpid(), atomic_fetch_add(&calls, 1),
                   model->kind);
    VTA_TRY(vta_allocated(!path.failed, diag));
    vta_status status = vta_file_write_scratch(path.text, model->bytes, model->size, diag);
    if (status == VTA_OK) {
        status = explain_file(plug, path.text, regions, count, diag);
        (void)unlink(path.text);
    }
    vta_str_free(&path);
    return status;
}

vta_status vtac_plug_place(vtac_plug *plug, const vtac_plug_model *model, int32_t *regions, uint32_t count,
                           vta_diag *diag)
{
    char *plan = vtac_plug_cache_name(plug, model, "plan");
    VTA_TRY(vta_allocated(plan != NULL, diag));
    vta_status status = VTA_OK;
    if (!read_plan(plan, regions, count)) {
        for (uint32_t i = 0; i < count; i++) {
            regions[i] = VTAC_PLUG_STAYS;
        }
        VTA_TRY_OUT(make_plan(plug, model, regions, count, diag));
        VTA_TRY_OUT(write_plan(plan, regions, count, diag));
    }
out:
    free(plan);
    return status;
}
