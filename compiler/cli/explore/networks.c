/* SPDX-License-Identifier: Apache-2.0
 *
 * Networks. See networks.h.
 */
#include "networks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calib.h"
#include "passes.h"
#include "stages.h"
#include "temporary.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/hash.h"
#include "vtac/zoo.h"

enum { PASS_LEVEL = 3, ZOO_SEED = 1, ZOO_SAMPLES = 4, MAX_FILE = 1 << 30 };

static bool in_zoo(const char *name)
{
    uint32_t count;
    const vtac_zoo_entry *entries = vtac_zoo_list(&count);
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(entries[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static vta_status quantize_zoo(vtac_graph *graph, vta_diag *diag)
{
    const vtac_quantize_options how = {
        .method = VTAC_RANGE_DEFAULT, .per_channel = true, .progress = cli_stages()};
    const vtac_sample_range range = {-1.0, 1.0};
    vta_arena arena = {0};
    vtac_samples samples;
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vtac_generate_samples(graph, &range, ZOO_SAMPLES, ZOO_SEED, &arena, &samples, diag));
    VTA_TRY_OUT(vtac_quantize(graph, &samples, &how, NULL, diag));
out:
    vta_arena_free(&arena);
    return status;
}

static vta_status load_zoo(const cli_args *args, const char *name, const cli_shapes *shapes, vtac_graph **out,
                           vta_diag *diag)
{
    char path[VTAC_TEMPORARY_PATH];
    VTA_TRY(cli_temporary_file("zoo", path, diag));
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vtac_zoo_write(name, ZOO_SEED, NULL, path, diag));
    VTA_TRY_OUT(cli_load_graph(args, path, shapes, out, diag));
out:
    cli_temporary_remove(path);
    return status == VTA_OK ? quantize_zoo(*out, diag) : status;
}

/* Hashes the graph that is left to schedule, with checksums of its constants. File, shapes and ranges only
 * count by their effect on the graph. */
static vta_status hash_of(cli_networks *all, const vtac_graph *graph, vta_diag *diag)
{
    char *text = vtac_graph_print(graph, 0);
    if (text == NULL) {
        return vta_no_memory(diag);
    }
    all->hash = vta_hash_text(all->hash, text);
    free(text);
    return VTA_OK;
}

void cli_network_name(const char *path, char *name, size_t size)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    (void)snprintf(name, size, "%.*s", (int)(dot != NULL && dot > base ? (size_t)(dot - base) : strlen(base)),
                   base);
}

static vta_status load_one(const cli_args *args, const char *path, const vta_config *config,
                           const cli_shapes *shapes, cli_network *n, vta_diag *diag)
{
    const bool zoo = access(path, F_OK) != 0;
    const vtac_pass_options passes = {.level = PASS_LEVEL, .progress = cli_stages()};
    const vtac_partition_options how = {
        .config = config, .schedule = {.progress = cli_stages()}, .always = true, .look = true};
    cli_network_name(path, n->name, sizeof n->name);
    VTA_TRY(zoo ? load_zoo(args, path, shapes, &n->graph, diag)
                : cli_load_graph(args, path, shapes, &n->graph, diag));
    const char *operands[] = {path};
    cli_args named = *args; /* warnings name the model by the first operand */
    named.operands = operands;
    VTA_TRY(zoo ? VTA_OK : cli_quantize_float(&named, n->graph, NULL, diag));
    VTA_TRY(vtac_run_passes(n->graph, &passes, diag));
    VTA_TRY(vtac_partition_graph(n->graph, &how, &n->partition, diag));
    if (n->partition->region_count == 0) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "nothing of it runs on the accelerator; 'vtac explain' says why");
    }
    return VTA_OK;
}

static void describe_network(const cli_network *n, vtac_explored *out)
{
    const vtac_partition *p = n->partition;
    *out = (vtac_explored){.name = n->name,
                           .regions = p->regions,
                           .region_count = p->region_count,
                           .host_cycles = vtac_partition_cycles(n->graph, p).host};
}

/* The first name of the list, into `path`; what is behind it. */
static const char *next_name(const char *list, char path[4096])
{
    const size_t size = strcspn(list, ",");
    (void)snprintf(path, 4096, "%.*s", size < 4096 ? (int)size : 0, list);
    return list + size + (list[size] == ',');
}

/* All names, before any network is read, which takes its time. */
vta_status cli_check_networks(const char *list, vta_diag *diag)
{
    uint32_t count = 0;
    while (*list != '\0') {
        char path[4096];
        const char *next = next_name(list, path);
        if (path[0] == '\0') {
            return vta_fail(diag, VTA_INVALID, "'%s': expected models with commas between", list);
        }
        if (++count > VTAC_MAX_NETWORKS) {
            return vta_fail(diag, VTA_RANGE, "more than %d models", VTAC_MAX_NETWORKS);
        }
        if (access(path, F_OK) != 0 && !in_zoo(path)) {
            return vta_fail(diag, VTA_IO,
                            "%s: neither a file nor a network of the zoo; 'vtac zoo' lists those", path);
        }
        list = next;
    }
    return count > 0 ? VTA_OK : vta_fail(diag, VTA_INVALID, "expected at least one model");
}

vta_status cli_load_networks(const cli_args *args, const char *list, const vta_config *config,
                             const cli_shapes *shapes, cli_networks *out, vta_diag *diag)
{
    *out = (cli_networks){.hash = VTA_HASH_START};
    out->items = calloc(VTAC_MAX_NETWORKS, sizeof *out->items);
    if (out->items == NULL) {
        return vta_no_memory(diag);
    }
    VTA_TRY(cli_check_networks(list, diag));
    while (*list != '\0') {
        char path[4096];
        list = next_name(list, path);
        cli_network *n = &out->items[out->count++];
        if (load_one(args, path, config, shapes, n, diag) != VTA_OK) {
            return strstr(diag->text, path) != NULL ? diag->code : vta_context(diag, "%s", path);
        }
        VTA_TRY(hash_of(out, n->graph, diag));
        describe_network(n, &out->explored[out->count - 1]);
    }
    return VTA_OK;
}

void cli_free_networks(cli_networks *networks)
{
    for (uint32_t i = 0; i < networks->count; i++) {
        vtac_partition_free(networks->items[i].partition);
        vtac_graph_destroy(networks->items[i].graph);
    }
    free(networks->items);
    *networks = (cli_networks){0};
}
