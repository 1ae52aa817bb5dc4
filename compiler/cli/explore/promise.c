/* SPDX-License-Identifier: Apache-2.0
 *
 * Promises of boards. See promise.h.
 */
#include "promise.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "html.h"
#include "networks.h"
#include "self.h"
#include "stages.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vtac/temporary.h"

enum { PATH = 2 * VTAC_TEMPORARY_PATH, MAX_PROMISE = 1 << 20 };

/* ---- networks */

vta_status cli_compile_network(const cli_args *args, const char *model, const char *config,
                               const char *folder, const char *library, uint64_t *predicted, vta_diag *diag)
{
    char log[PATH], made[PATH];
    vta_status status = VTA_OK;
    (void)snprintf(log, sizeof log, "%s/network.log", folder);
    (void)snprintf(made, sizeof made, "%s/network.onnx", folder);
    if (access(model, F_OK) != 0) { /* of the zoo */
        const char *words[] = {"vtac", "zoo", model, "--int8", "-o", made, NULL};
        VTA_TRY_OUT(cli_run_self(words, log, 0, diag));
        model = made;
    }
    const char *compile[CLI_MAX_SELF_WORDS] = {"vtac",     "compile", model,       "--target", "vta",
                                               "--config", config,    "--offload", "all",      "-o",
                                               library,    "--force", "--report",  "--json"};
    VTA_TRY_OUT(cli_words_of_model(args, compile, 14, diag));
    VTA_TRY_OUT(cli_run_self(compile, log, 0, diag));
    VTA_TRY_OUT(cli_self_cycles(log, predicted, diag));
out:
    (void)unlink(log);
    (void)unlink(made);
    return status;
}

vta_status cli_count_network(const char *library, const char *device, const char *folder, uint64_t *cycles,
                             vta_diag *diag)
{
    char log[PATH];
    (void)snprintf(log, sizeof log, "%s/network.log", folder);
    const char *run[] = {"vtac", "run", library, "--device", device, "--json", NULL};
    vta_status status = VTA_OK;
    VTA_TRY_OUT(cli_run_self(run, log, 0, diag));
    VTA_TRY_OUT(cli_self_cycles(log, cycles, diag));
out:
    (void)unlink(log);
    return status;
}

/* ---- making */

static vta_status add_network(cli_promise *p, const char *name, char *library, uint64_t cycles,
                              vta_diag *diag)
{
    cli_promised *items = realloc(p->items, (p->count + 1) * sizeof *items);
    if (items == NULL || library == NULL) {
        free(library);
        p->items = items != NULL ? items : p->items;
        return vta_no_memory(diag);
    }
    p->items = items;
    items[p->count] = (cli_promised){.library = library, .cycles = cycles};
    (void)snprintf(items[p->count].name, sizeof items[p->count].name, "%s", name);
    p->count++;
    return VTA_OK;
}

static uint32_t count_models(const char *list)
{
    uint32_t count = 0;
    for (; *list != '\0';
         list += list[strcspn(list, ",")] == ',' ? strcspn(list, ",") + 1 : strcspn(list, ",")) {
        count++;
    }
    return count;
}

static vta_status compile_all(const cli_args *args, const char *config, const char *folder, cli_promise *out,
                              vta_diag *diag)
{
    const char *list = cli_value(args, "--models");
    const uint32_t count = count_models(list);
    VTA_TRY(cli_check_networks(list, diag));
    for (uint32_t i = 0; i < count; i++) {
        char model[VTAC_TEMPORARY_PATH], name[64], library[PATH];
        uint64_t cycles = 0;
        (void)snprintf(model, sizeof model, "%.*s", (int)strcspn(list, ","), list);
        list += strcspn(list, ",");
        list += *list == ',';
        cli_network_name(model, name, sizeof name);
        (void)snprintf(library, sizeof library, "%s/networks/%u-%s.so", folder, i + 1, name);
        cli_stage("compiling networks", name, i, count);
        VTA_TRY(cli_compile_network(args, model, config, folder, library, &cycles, diag));
        VTA_TRY(add_network(out, name, strdup(library), cycles, diag));
    }
    return VTA_OK;
}

static vta_status write_promise(const cli_promise *p, const char *folder, vta_diag *diag)
{
    char path[PATH];
    vta_str text = {0};
    vta_str_put(&text, "{\"config\": ");
    cli_put_json(&text, p->config);
    vta_str_put(&text, ", \"part\": ");
    cli_put_json(&text, p->part);
    vta_str_printf(&text, ", \"clock_mhz\": %g,\n \"networks\": [", p->mhz);
    for (uint32_t i = 0; i < p->count; i++) {
        vta_str_put(&text, i > 0 ? ",\n  {\"name\": " : "\n  {\"name\": ");
        cli_put_json(&text, p->items[i].name);
        vta_str_put(&text, ", \"library\": ");
        cli_put_json(&text, p->items[i].library + strlen(folder) + 1);
        vta_str_printf(&text, ", \"cycles\": %" PRIu64 "}", p->items[i].cycles);
    }
    vta_str_put(&text, "]}\n");
    (void)snprintf(path, sizeof path, "%s/promise.json", folder);
    const vta_status status =
        text.failed ? vta_no_memory(diag) : vta_file_write_scratch(path, text.text, text.size, diag);
    vta_str_free(&text);
    return status;
}

vta_status cli_make_promise(const cli_args *args, const vta_config *config, const char *part,
                            const char *folder, cli_promise *out, vta_diag *diag)
{
    char path[PATH];
    char *json = vta_config_to_json(config);
    vta_status status = VTA_OK;
    *out = (cli_promise){.mhz = config->clock_mhz};
    (void)snprintf(out->config, sizeof out->config, "%s", config->name);
    (void)snprintf(out->part, sizeof out->part, "%s", part);
    VTA_TRY_OUT(vta_allocated(json != NULL, diag));
    (void)snprintf(path, sizeof path, "%s/networks", folder);
    VTA_TRY_OUT(vta_folder_make(path, 0777, diag));
    (void)snprintf(path, sizeof path, "%s/config.json", folder);
    VTA_TRY_OUT(vta_file_write_scratch(path, json, strlen(json), diag));
    VTA_TRY_OUT(compile_all(args, path, folder, out, diag));
    VTA_TRY_OUT(write_promise(out, folder, diag));
out:
    free(json);
    return status;
}

/* ---- reading */

/* Whoever runs the networks loads what lies beside the promise, and nothing else. */
static bool lies_beside(const char *library)
{
    const size_t size = strlen(library);
    return size > 0 && library[0] != '/' && strncmp(library, "../", 3) != 0 && strcmp(library, "..") != 0 &&
           strstr(library, "/../") == NULL && (size < 3 || strcmp(library + size - 3, "/..") != 0);
}

static vta_status read_network(const char *path, const cJSON *row, cli_promise *out, vta_diag *diag)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(row, "name");
    const cJSON *library = cJSON_GetObjectItemCaseSensitive(row, "library");
    const cJSON *cycles = cJSON_GetObjectItemCaseSensitive(row, "cycles");
    if (!cJSON_IsString(name) || !cJSON_IsString(library) || !cJSON_IsNumber(cycles) ||
        !(cycles->valuedouble >= 1) || !(cycles->valuedouble < 1e15)) {
        return vta_fail(diag, VTA_SYNTAX, "%s: a network needs its name, its library, and its cycles", path);
    }
    if (!lies_beside(library->valuestring)) {
        return vta_fail(diag, VTA_INVALID, "%s: library '%s' does not lie below the folder of the promise",
                        path, library->valuestring);
    }
    const char *slash = strrchr(path, '/');
    vta_str file = {0};
    vta_str_printf(&file, "%.*s%s", slash != NULL ? (int)(slash - path) + 1 : 0, path, library->valuestring);
    if (file.failed) {
        vta_str_free(&file);
        return vta_no_memory(diag);
    }
    return add_network(out, name->valuestring, file.text, (uint64_t)cycles->valuedouble, diag);
}

static vta_status read_all(const char *path, const cJSON *root, cli_promise *out, vta_diag *diag)
{
    const cJSON *config = cJSON_GetObjectItemCaseSensitive(root, "config");
    const cJSON *part = cJSON_GetObjectItemCaseSensitive(root, "part");
    const cJSON *mhz = cJSON_GetObjectItemCaseSensitive(root, "clock_mhz");
    const cJSON *networks = cJSON_GetObjectItemCaseSensitive(root, "networks");
    const cJSON *row;
    if (!cJSON_IsString(config) || !cJSON_IsString(part) || !cJSON_IsNumber(mhz) || !(mhz->valuedouble > 0) ||
        !(mhz->valuedouble < 1e6) || !cJSON_IsArray(networks)) {
        return vta_fail(diag, VTA_SYNTAX,
                        "%s: expected the promise.json of a folder that 'vtac build --models' made", path);
    }
    (void)snprintf(out->config, sizeof out->config, "%s", config->valuestring);
    (void)snprintf(out->part, sizeof out->part, "%s", part->valuestring);
    out->mhz = mhz->valuedouble;
    cJSON_ArrayForEach(row, networks)
    {
        VTA_TRY(read_network(path, row, out, diag));
    }
    return VTA_OK;
}

vta_status cli_read_promise(const char *path, cli_promise *out, vta_diag *diag)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    *out = (cli_promise){0};
    VTA_TRY(vta_file_read(path, MAX_PROMISE, &bytes, &size, diag));
    cJSON *root = cJSON_ParseWithLength((const char *)bytes, size);
    const vta_status status = read_all(path, root, out, diag);
    cJSON_Delete(root);
    free(bytes);
    return status;
}

void cli_free_promise(cli_promise *promise)
{
    for (uint32_t i = 0; i < promise->count; i++) {
        free(promise->items[i].library);
    }
    free(promise->items);
    *promise = (cli_promise){0};
}
