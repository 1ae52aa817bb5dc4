/* SPDX-License-Identifier: Apache-2.0 */
#include "vtac/flow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"

vtac_flow *vtac_flow_create(void)
{
    vtac_flow *flow = calloc(1, sizeof *flow);
    if (flow != NULL) {
        flow->slot_count = 1;
        flow->constants.item_size = sizeof(vtac_flow_constant);
        flow->segments.item_size = sizeof(vtac_flow_segment);
        flow->blocks.item_size = sizeof(vtac_flow_block);
        flow->inputs.item_size = flow->outputs.item_size = sizeof(vtac_flow_end);
    }
    return flow;
}

void vtac_flow_destroy(vtac_flow *flow)
{
    if (flow == NULL) {
        return;
    }
    for (size_t i = 0; i < flow->segments.count; i++) {
        vtac_flow_segment *s = vta_vec_at(&flow->segments, i);
        vta_vec_free(&s->inputs);
        vta_vec_free(&s->outputs);
    }
    for (size_t i = 0; i < flow->blocks.count; i++) {
        vta_vec_free(&((vtac_flow_block *)vta_vec_at(&flow->blocks, i))->insns);
    }
    vta_vec_free(&flow->constants);
    vta_vec_free(&flow->segments);
    vta_vec_free(&flow->blocks);
    vta_vec_free(&flow->inputs);
    vta_vec_free(&flow->outputs);
    free(flow);
}

/* ---- instructions */

void *vtac_flow_keep(vtac_graph *graph, const void *items, size_t bytes)
{
    void *copy = vta_arena_alloc(&graph->arena, bytes + 1);
    if (copy != NULL && bytes > 0) {
        memcpy(copy, items, bytes);
    }
    return copy;
}

vta_status vtac_flow_add_block(vtac_graph *graph, uint32_t *number, vta_diag *diag)
{
    const vtac_flow_block block = {.insns = {.item_size = sizeof(vtac_flow_insn)}};
    *number = (uint32_t)graph->flow->blocks.count;
    return vta_allocated(vta_vec_push(&graph->flow->blocks, &block) != NULL, diag);
}

vta_status vtac_flow_append(vtac_graph *graph, uint32_t block, vta_flow_op op, const char *name,
                            const vtac_flow_draft *d, vta_diag *diag)
{
    const vtac_flow_insn insn = {
        .op = op,
        .name = vta_arena_string(&graph->arena, name, strlen(name)),
        .input_count = (uint32_t)d->inputs.count,
        .output_count = (uint32_t)d->outputs.count,
        .word_count = (uint32_t)d->words.count,
        .inputs = vtac_flow_keep(graph, d->inputs.items, d->inputs.count * sizeof(uint32_t)),
        .outputs = vtac_flow_keep(graph, d->outputs.items, d->outputs.count * sizeof(uint32_t)),
        .words = vtac_flow_keep(graph, d->words.items, d->words.count * sizeof(int64_t)),
    };
    vtac_flow_block *to = vta_vec_at(&graph->flow->blocks, block);
    return vta_allocated(insn.name != NULL && insn.inputs != NULL && insn.outputs != NULL &&
                             insn.words != NULL && vta_vec_push(&to->insns, &insn) != NULL,
                         diag);
}

vta_status vtac_flow_put_number(vta_vec *vec, uint32_t number, vta_diag *diag)
{
    return vta_vec_push(vec, &number) != NULL ? VTA_OK : vta_no_memory(diag);
}

vta_status vtac_flow_put_word(vta_vec *vec, int64_t word, vta_diag *diag)
{
    return vta_vec_push(vec, &word) != NULL ? VTA_OK : vta_no_memory(diag);
}

void vtac_flow_free_draft(vtac_flow_draft *d)
{
    vta_vec_free(&d->inputs);
    vta_vec_free(&d->outputs);
    vta_vec_free(&d->words);
}

vta_status vtac_flow_same_size(vtac_graph *graph, uint32_t block, const char *name,
                               const vtac_flow_axis *first, const vtac_flow_axis *second, vta_diag *diag)
{
    char text[256];
    vtac_flow_draft d = VTAC_FLOW_DRAFT;
    (void)snprintf(text, sizeof text,
                   "inputs '%.50s' and '%.50s' differ in the dimension '%.50s', which they share",
                   first->input, second->input, name);
    const int64_t words[] = {first->axis, second->axis, (int64_t)strlen(text)};
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vtac_flow_put_number(&d.inputs, first->slot, diag));
    VTA_TRY_OUT(vtac_flow_put_number(&d.inputs, second->slot, diag));
    for (size_t i = 0; i < 3; i++) {
        VTA_TRY_OUT(vtac_flow_put_word(&d.words, words[i], diag));
    }
    for (size_t i = 0; text[i] != '\0'; i++) {
        VTA_TRY_OUT(vtac_flow_put_word(&d.words, text[i], diag));
    }
    VTA_TRY_OUT(vtac_flow_append(graph, block, VTA_FLOW_SAME_SIZE, "", &d, diag));
out:
    vtac_flow_free_draft(&d);
    return status;
}

int64_t vtac_flow_type(vtac_dtype dtype)
{
    return vtac_dtype_code(dtype) | vtac_dtype_bits(dtype) << 8 | (int64_t)vtac_dtype_bytes(dtype) << 16;
}

/* ---- which segment a value belongs to */

static uint32_t segment_of_inputs(const vtac_graph *graph, const vtac_node *node, const uint32_t *of_value)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        const vtac_value *value = &graph->values[node->inputs[i]];
        if (node->inputs[i] != 0 && value->constant == NULL && of_value[node->inputs[i]] != 0) {
            return of_value[node->inputs[i]];
        }
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (of_value[node->outputs[i]] != 0) {
            return of_value[node->outputs[i]];
        }
    }
    return 0;
}

static bool spread_constant(const vtac_graph *graph, const vtac_node *node, uint32_t *of_value)
{
    const uint32_t segment = segment_of_inputs(graph, node, of_value);
    bool changed = false;
    for (uint32_t i = 0; segment != 0 && i < node->input_count + node->output_count; i++) {
        const vtac_value_id id =
            i < node->input_count ? node->inputs[i] : node->outputs[i - node->input_count];
        if (id != 0 && of_value[id] == 0 && graph->values[id].constant == NULL) {
            of_value[id] = segment;
            changed = true;
        }
    }
    return changed;
}

void vtac_flow_segments(const vtac_graph *graph, uint32_t *of_value)
{
    const vtac_flow *flow = graph->flow;
    memset(of_value, 0, ((size_t)graph->value_count + 1) * sizeof *of_value);
    for (uint32_t s = 0; s < flow->segments.count; s++) {
        const vtac_flow_segment *segment = vta_vec_at(&flow->segments, s);
        for (size_t i = 0; i < segment->inputs.count; i++) {
            of_value[graph->inputs[*(uint32_t *)vta_vec_at(&segment->inputs, i)]] = s + 1;
        }
        for (size_t i = 0; i < segment->outputs.count; i++) {
            const vtac_value_id id = graph->outputs[*(uint32_t *)vta_vec_at(&segment->outputs, i)];
            of_value[id] = graph->values[id].constant == NULL ? s + 1 : 0;
        }
    }
    for (bool changed = true; changed;) { /* there and back: twice, but for what hangs on constants alone */
        changed = false;
        for (uint32_t i = 0; i < graph->order_count; i++) {
            changed = spread_constant(graph, &graph->nodes[graph->order[i]], of_value) || changed;
        }
        for (uint32_t i = graph->order_count; i-- > 0;) {
            changed = spread_constant(graph, &graph->nodes[graph->order[i]], of_value) || changed;
        }
    }
}

/* ---- as numbers */

static void put_word(vta_str *out, int64_t word)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)((uint64_t)word >> 8 * i);
    }
    vta_str_append(out, bytes, sizeof bytes);
}

static void put_bytes(vta_str *out, const void *data, size_t size)
{
    static const uint8_t zeros[8] = {0};
    put_word(out, (int64_t)size);
    vta_str_append(out, data, size);
    vta_str_append(out, zeros, (8 - size % 8) % 8);
}

static void put_slots(vta_str *out, const uint32_t *slots, uint32_t count)
{
    put_word(out, count);
    for (uint32_t i = 0; i < count; i++) {
        put_word(out, slots[i]);
    }
}

static void put_constants(const vtac_flow *flow, vta_str *out)
{
    put_word(out, (int64_t)flow->constants.count);
    for (size_t i = 0; i < flow->constants.count; i++) {
        const vtac_flow_constant *c = vta_vec_at(&flow->constants, i);
        const vtac_tensor *t = &c->tensor;
        put_word(out, c->slot);
        put_word(out, vtac_flow_type(t->type.dtype));
        put_word(out, t->type.rank);
        for (uint32_t k = 0; k < t->type.rank; k++) {
            put_word(out, t->type.dim[k]);
        }
        put_bytes(out, t->data, t->bytes);
    }
}

static void put_segments(const vtac_flow *flow, const uint32_t *steps, uint32_t step_count, vta_str *out)
{
    put_word(out, (int64_t)flow->segments.count);
    for (size_t s = 0; s < flow->segments.count; s++) {
        const vtac_flow_segment *segment = vta_vec_at(&flow->segments, s);
        int64_t count = 0;
        for (uint32_t i = 0; i < step_count; i++) {
            count += steps[i] == s + 1;
        }
        put_word(out, count);
        for (uint32_t i = 0; i < step_count; i++) {
            if (steps[i] == s + 1) {
                put_word(out, i);
            }
        }
        put_slots(out, segment->inputs.items, (uint32_t)segment->inputs.count);
        put_slots(out, segment->outputs.items, (uint32_t)segment->outputs.count);
    }
}

static void put_block(const vtac_flow_block *block, vta_str *out)
{
    put_slots(out, block->inputs, block->input_count);
    put_slots(out, block->outputs, block->output_count);
    put_word(out, (int64_t)block->insns.count);
    for (size_t i = 0; i < block->insns.count; i++) {
        const vtac_flow_insn *insn = vta_vec_at(&block->insns, i);
        put_word(out, insn->op);
        put_bytes(out, insn->name, strlen(insn->name));
        put_slots(out, insn->inputs, insn->input_count);
        put_slots(out, insn->outputs, insn->output_count);
        put_word(out, insn->word_count);
        for (uint32_t k = 0; k < insn->word_count; k++) {
            put_word(out, insn->words[k]);
        }
    }
}

static void put_ends(const vta_vec *ends, vta_str *out)
{
    put_word(out, (int64_t)ends->count);
    for (size_t i = 0; i < ends->count; i++) {
        const vtac_flow_end *end = vta_vec_at(ends, i);
        put_word(out, end->slot);
        put_word(out, end->kind);
        put_word(out, vtac_flow_type(end->dtype));
        put_word(out, end->rank);
        for (int32_t k = 0; k < end->rank; k++) {
            put_word(out, end->dim[k]);
        }
        put_bytes(out, end->name, strlen(end->name));
    }
}

/* Rows of the table up to the last that is used: an older runtime that has them runs the model, too. */
static int64_t rows_needed(const vtac_flow *flow)
{
    int64_t rows = 0;
    for (size_t i = 0; i < flow->blocks.count; i++) {
        const vtac_flow_block *block = vta_vec_at(&flow->blocks, i);
        for (size_t k = 0; k < block->insns.count; k++) {
            const vtac_flow_insn *insn = vta_vec_at(&block->insns, k);
            rows = (int64_t)insn->op >= rows ? (int64_t)insn->op + 1 : rows;
        }
    }
    return rows;
}

vta_status vtac_flow_encode(const vtac_graph *graph, const uint32_t *steps, uint32_t step_count, vta_str *out,
                            vta_diag *diag)
{
    const vtac_flow *flow = graph->flow;
    put_word(out, VTA_FLOW_MAGIC);
    put_word(out, rows_needed(flow));
    put_word(out, flow->slot_count);
    put_constants(flow, out);
    put_segments(flow, steps, step_count, out);
    put_word(out, (int64_t)flow->blocks.count);
    for (size_t i = 0; i < flow->blocks.count; i++) {
        put_block(vta_vec_at(&flow->blocks, i), out);
    }
    put_ends(&flow->inputs, out);
    put_ends(&flow->outputs, out);
    return vta_allocated(!out->failed, diag);
}
