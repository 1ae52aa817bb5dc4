/* SPDX-License-Identifier: Apache-2.0
 *
 * From instructions to layers: each carries the number of its layer as a tag.
 */
#include "layers.h"

#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"

static uint32_t rows_of(const vta_artifact_step *step)
{
    return step->region != NULL ? step->region->layer_count + 1 : 0;
}

static void fill(vta_layer_profile *rows, const vta_artifact_step *step, uint32_t number)
{
    for (uint32_t i = 0; i < step->region->layer_count; i++) {
        const vta_artifact_layer *layer = &step->region->layers[i];
        rows[i] = (vta_layer_profile){.name = layer->name,
                                      .op = layer->op,
                                      .schedule = layer->schedule,
                                      .bound = layer->bound,
                                      .step = number,
                                      .node = layer->node,
                                      .joined = layer->joined != 0,
                                      .macs = layer->macs,
                                      .predicted = layer->cycles,
                                      .bytes_read = layer->bytes_read,
                                      .bytes_written = layer->bytes_written};
    }
    rows[step->region->layer_count] = (vta_layer_profile){.name = step->name,
                                                          .op = "",
                                                          .schedule = "beginning and end of the launch",
                                                          .bound = "",
                                                          .step = number,
                                                          .node = step->node};
}

vta_status vta_layers_create(const vta_artifact *a, vta_layers *out, vta_diag *diag)
{
    *out = (vta_layers){.first = calloc((size_t)a->step_count + 1, sizeof *out->first)};
    for (uint32_t i = 0; i < a->step_count; i++) {
        out->count += rows_of(&a->steps[i]);
    }
    out->rows = calloc((size_t)out->count + 1, sizeof *out->rows);
    if (out->first == NULL || out->rows == NULL) {
        return vta_no_memory(diag);
    }
    uint32_t at = 0;
    for (uint32_t i = 0; i < a->step_count; i++) {
        out->first[i] = at;
        if (a->steps[i].region != NULL) {
            fill(&out->rows[at], &a->steps[i], i);
        }
        at += rows_of(&a->steps[i]);
    }
    return VTA_OK;
}

void vta_layers_free(vta_layers *layers)
{
    free(layers->rows);
    free(layers->first);
    *layers = (vta_layers){0};
}

/* The device counts from its start to the end of its last store; the account may begin a cycle early, with
 * the host's write that starts it, or end before. The difference is part of the launch. */
static void settle(vta_layer_profile *rows, uint32_t count, uint64_t told, uint64_t cycles)
{
    uint64_t more = told > cycles ? told - cycles : 0;
    for (uint32_t i = 0; i < count && more > 0; i++) {
        uint64_t *launch = &rows[i].split[VTA_CYCLES_LAUNCH];
        const uint64_t taken = *launch < more ? *launch : more;
        *launch -= taken;
        rows[i].cycles -= taken;
        more -= taken;
    }
    const uint64_t less = cycles > told ? cycles - told : 0;
    rows[count - 1].split[VTA_CYCLES_LAUNCH] += less;
    rows[count - 1].cycles += less;
}

void vta_layers_record(vta_layers *layers, const vta_artifact *a, uint32_t step, const vta_code *code,
                       const uint64_t *account, uint32_t insn_count, const vta_report *report)
{
    const uint32_t count = rows_of(&a->steps[step]);
    vta_layer_profile *rows = &layers->rows[layers->first[step]];
    const uint32_t *tags = vta_code_tags(code);
    vta_code_info info;
    vta_code_describe(code, &info);
    for (uint32_t i = 0; i < count; i++) {
        rows[i].cycles = 0;
        memset(rows[i].split, 0, sizeof rows[i].split);
    }
    if (account == NULL || insn_count != info.insn_count) {
        return;
    }
    uint64_t told = 0;
    for (uint32_t i = 0; i < insn_count; i++) {
        vta_layer_profile *row = &rows[tags[i] > 0 && tags[i] < count ? tags[i] - 1 : count - 1];
        for (uint32_t c = 0; c < VTA_CYCLE_CLASSES; c++) {
            const uint64_t cycles = account[(size_t)i * VTA_CYCLE_CLASSES + c];
            row->split[c] += cycles;
            row->cycles += cycles;
            told += cycles;
        }
    }
    settle(rows, count, told, report->counters.cycles);
}
