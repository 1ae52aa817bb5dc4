/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists whose length only the run finds (WHERE, UNIQUE), and what is done with them: instructions behind the
 * graph (vtac/flow.h). All that is static is one segment, which runs first.
 */
#include <string.h>

#include "operators.h"
#include "vta/fail.h"
#include "vtac/flow.h"

enum { MAX_REST = 1 << 10, MAX_PARTS = 16, MAX_WORDS = 4 + VTAC_MAX_RANK };

typedef struct rest_insn {
    vta_flow_op op;
    const char *name;
    uint32_t in[MAX_PARTS], out[3];
    uint32_t in_count, out_count, word_count;
    int64_t words[MAX_WORDS];
} rest_insn;

/* A slot that the segment fills, or a constant. */
typedef struct rest_value {
    vtac_id id;
    uint32_t slot;
} rest_value;

struct vtac_tflite_rest {
    rest_insn insns[MAX_REST];
    rest_value values[MAX_REST];
    uint32_t insn_count, value_count, slot_count;
};

static bool has_rest(vtac_tflite *im)
{
    if (im->maker.status == VTA_OK && im->depth > 0) {
        vtac_make_refuse(&im->maker, "a list whose length the run finds, in a graph that an operator calls");
    }
    if (im->rest == NULL && im->maker.status == VTA_OK) {
        im->rest = vtac_make_room(&im->maker, 1, sizeof *im->rest);
        if (im->rest != NULL) {
            im->rest->slot_count = 1;
        }
    }
    if (im->maker.status == VTA_OK &&
        (im->rest->insn_count + 3 > MAX_REST || im->rest->value_count + MAX_PARTS + 2 > MAX_REST)) {
        vtac_make_refuse(&im->maker, "more than %d operators on lists whose length the run finds",
                         MAX_REST / 3);
    }
    return im->maker.status == VTA_OK;
}

static uint32_t slot_of_value(vtac_tflite *im, vtac_id id)
{
    struct vtac_tflite_rest *r = im->rest;
    for (uint32_t i = 0; i < r->value_count; i++) {
        if (r->values[i].id == id) {
            return r->values[i].slot;
        }
    }
    r->values[r->value_count++] = (rest_value){id, r->slot_count};
    return r->slot_count++;
}

static uint32_t slot_of(vtac_tflite *im, vtac_tflite_tensor *t)
{
    if (t->slot != 0) {
        return t->slot;
    }
    const vtac_id id = vtac_tflite_value(im, t);
    return im->maker.status == VTA_OK ? slot_of_value(im, id) : 0;
}

/* A new instruction of one output. */
static rest_insn *add_instruction(vtac_tflite *im, vta_flow_op op, const uint32_t *in, uint32_t count,
                                  const int64_t *words, uint32_t word_count)
{
    struct vtac_tflite_rest *r = im->rest;
    rest_insn *insn = &r->insns[r->insn_count++];
    *insn = (rest_insn){
        .op = op, .name = im->maker.name, .in_count = count, .out_count = 1, .word_count = word_count};
    memcpy(insn->in, in, count * sizeof *in);
    for (uint32_t i = 0; i < word_count; i++) { /* there may be none, and nothing to copy them from */
        insn->words[i] = words[i];
    }
    insn->out[0] = r->slot_count++;
    return insn;
}

void vtac_tflite_rest_where(vtac_tflite *im)
{
    if (!has_rest(im)) {
        return;
    }
    const vtac_type x = vtac_tflite_type(im, 0);
    const uint32_t from = slot_of(im, vtac_tflite_in(im, 0));
    if (x.rank == 0 || vtac_tflite_out(im, 0)->type.dtype != VTAC_I64) {
        vtac_make_refuse(&im->maker, "the place of one number, or places that are not of i64");
        return;
    }
    const rest_insn *places = add_instruction(im, VTA_FLOW_NON_ZERO, &from, 1, NULL, 0);
    vtac_tflite_out(im, 0)->slot =
        add_instruction(im, VTA_FLOW_TRANSPOSE, places->out, 1, (int64_t[]){-1}, 1)->out[0];
}

void vtac_tflite_rest_unique(vtac_tflite *im)
{
    if (!has_rest(im)) {
        return;
    }
    const vtac_type x = vtac_tflite_type(im, 0);
    vtac_tflite_tensor *which = vtac_tflite_out(im, 1);
    const vtac_dtype dtype = which->type.dtype;
    if (im->maker.status != VTA_OK || x.rank != 1 || (dtype != VTAC_I32 && dtype != VTAC_I64)) {
        vtac_make_fail(&im->maker, VTA_INVALID, "a list has rank 1, its places are i32 or i64");
        return;
    }
    const uint32_t from = slot_of(im, vtac_tflite_in(im, 0));
    rest_insn *insn = add_instruction(im, VTA_FLOW_UNIQUE, &from, 1, (int64_t[]){VTA_FLOW_ABSENT, 0}, 2);
    insn->out_count = 3; /* the elements, -, which of them each is */
    insn->out[2] = im->rest->slot_count++;
    vtac_tflite_out(im, 0)->slot = insn->out[0];
    which->slot = insn->out[2];
    if (dtype == VTAC_I32) { /* a place in 0, 1, … */
        int32_t *numbers = vtac_make_room(&im->maker, x.dim[0] + 1, sizeof *numbers);
        for (int64_t i = 0; numbers != NULL && i < x.dim[0]; i++) {
            numbers[i] = (int32_t)i;
        }
        const vtac_id all =
            numbers == NULL ? 0
                            : vtac_make_borrowed(&im->maker, &(vtac_type){VTAC_I32, 1, {x.dim[0]}}, numbers);
        if (im->maker.status == VTA_OK) {
            const uint32_t in[] = {slot_of_value(im, all), which->slot};
            which->slot = add_instruction(im, VTA_FLOW_GATHER, in, 2, (int64_t[]){0}, 1)->out[0];
        }
    }
}

/* True if the operator gets a list whose length only the run finds. */
bool vtac_tflite_takes_rest(const vtac_tflite *im)
{
    for (uint32_t i = 0; i < im->op->input_count; i++) {
        if (im->op->inputs[i] >= 0 && im->graph->tensors[im->op->inputs[i]].slot != 0) {
            return true;
        }
    }
    return false;
}

static uint32_t put_list(int64_t *words, const int64_t *list, uint32_t count)
{
    words[0] = count;
    memcpy(words + 1, list, count * sizeof *list);
    return count + 1;
}

/* An operator on such a list, as the same operator of ONNX; false: none. */
static bool as_instruction(vtac_tflite *im, vta_flow_op *op, uint32_t *inputs, int64_t *words,
                           uint32_t *count)
{
    int64_t list[VTAC_MAX_RANK] = {0};
    *inputs = 1;
    *count = 0;
    switch (im->op->code) {
    case 2: /* CONCATENATION */
        *op = VTA_FLOW_CONCAT;
        *inputs = im->op->input_count;
        words[(*count)++] = vtac_tflite_option(im, 0, 4, 0);
        return vtac_tflite_option(im, 1, 1, 0) == TFL_NONE && !vtac_tflite_quantized(vtac_tflite_out(im, 0));
    case 22: /* RESHAPE */
        *op = VTA_FLOW_RESHAPE;
        words[(*count)++] = 1;
        *count += put_list(words + 1, list, vtac_tflite_known_ints(im, 1, "shape", list, VTAC_MAX_RANK));
        return im->op->input_count == 2;
    case 36: /* GATHER */
        *op = VTA_FLOW_GATHER;
        *inputs = 2;
        words[(*count)++] = vtac_tflite_option(im, 0, 4, 0);
        return vtac_tflite_option(im, 1, 4, 0) == 0;
    case 39: /* TRANSPOSE */
        *op = VTA_FLOW_TRANSPOSE;
        *count = vtac_tflite_known_ints(im, 1, "order", list, VTAC_MAX_RANK);
        *count = put_list(words, list, *count);
        return true;
    case 40: /* MEAN */
    case 74: /* SUM */
    case 82: /* REDUCE_MAX */
    case 89: /* REDUCE_MIN */
        *op = im->op->code == 40   ? VTA_FLOW_REDUCE_MEAN
              : im->op->code == 74 ? VTA_FLOW_REDUCE_SUM
              : im->op->code == 82 ? VTA_FLOW_REDUCE_MAX
                                   : VTA_FLOW_REDUCE_MIN;
        *count = vtac_tflite_known_ints(im, 1, "axes", list, VTAC_MAX_RANK);
        *count = put_list(words, list, *count);
        words[(*count)++] = vtac_tflite_option(im, 0, 1, 0) != 0;
        words[(*count)++] = 0;
        return !vtac_tflite_quantized(vtac_tflite_in(im, 0)) &&
               (im->op->code != 40 || vtac_tflite_is_float(vtac_tflite_in(im, 0)));
    case 43: { /* SQUEEZE */
        const vtac_flat_vector axes = vtac_flat_list(&im->model.flat, im->op->options, 0, 4);
        const uint32_t max = axes.count < VTAC_MAX_RANK ? axes.count : VTAC_MAX_RANK;
        for (uint32_t i = 0; i < max; i++) {
            list[i] = vtac_flat_int_at(&im->model.flat, axes, i, 4);
        }
        *op = VTA_FLOW_SQUEEZE;
        *count = put_list(words, list, max);
        words[0] = max == 0 ? -1 : words[0]; /* all that are 1 */
        return axes.count <= VTAC_MAX_RANK;
    }
    case 70: /* EXPAND_DIMS */
        *op = VTA_FLOW_UNSQUEEZE;
        *count = put_list(words, list, vtac_tflite_known_ints(im, 1, "axis", list, 1));
        return *count == 2;
    case 107: /* GATHER_ND */
        *op = VTA_FLOW_GATHER_ND;
        *inputs = 2;
        words[(*count)++] = 0;
        return true;
    default: return false;
    }
}

void vtac_tflite_rest_operator(vtac_tflite *im)
{
    vta_flow_op op = VTA_FLOW_OPS;
    uint32_t inputs;
    uint32_t count;
    uint32_t in[MAX_PARTS];
    int64_t words[MAX_WORDS];
    if (!has_rest(im)) {
        return;
    }
    const bool taken = as_instruction(im, &op, &inputs, words, &count);
    for (uint32_t i = 0; i < im->op->input_count; i++) {
        if (im->maker.status == VTA_OK &&
            (!taken || inputs > MAX_PARTS || (i >= inputs && vtac_tflite_in(im, i)->slot != 0))) {
            vtac_make_refuse(
                &im->maker,
                "how long its input is depends on the network's inputs; over such go GATHER, GATHER_ND, "
                "CONCATENATION, RESHAPE, SQUEEZE, EXPAND_DIMS and TRANSPOSE, and over numbers without a "
                "scale SUM, MEAN, "
                "REDUCE_MAX and REDUCE_MIN");
        }
    }
    for (uint32_t i = 0; i < inputs && im->maker.status == VTA_OK; i++) {
        in[i] = slot_of(im, vtac_tflite_in(im, i));
    }
    if (im->maker.status == VTA_OK) {
        vtac_tflite_out(im, 0)->slot = add_instruction(im, op, in, inputs, words, count)->out[0];
    }
}

/* ---- the model's flow */

static vta_status add_end(vta_vec *ends, const char *name, uint32_t slot, const vtac_type *type, bool known,
                          vta_diag *diag)
{
    vtac_flow_end end = {
        .name = name, .slot = slot, .kind = VTA_FLOW_TENSOR, .dtype = type->dtype, .rank = -1};
    if (known) {
        end.rank = (int32_t)type->rank;
        memcpy(end.dim, type->dim, sizeof end.dim);
    }
    return vta_allocated(vta_vec_push(ends, &end) != NULL, diag);
}

static vta_status add_insn(vtac_graph *g, vtac_flow_block *block, const rest_insn *from, vta_diag *diag)
{
    uint32_t *slots = vta_arena_array(&g->arena, (size_t)from->in_count + from->out_count + 1, sizeof *slots);
    int64_t *words = vta_arena_array(&g->arena, (size_t)from->word_count + 1, sizeof *words);
    if (slots == NULL || words == NULL) {
        return vta_no_memory(diag);
    }
    memcpy(slots, from->in, from->in_count * sizeof *slots);
    memcpy(slots + from->in_count, from->out, from->out_count * sizeof *slots);
    memcpy(words, from->words, from->word_count * sizeof *words);
    const vtac_flow_insn insn = {.op = from->op,
                                 .name = from->name,
                                 .input_count = from->in_count,
                                 .output_count = from->out_count,
                                 .word_count = from->word_count,
                                 .inputs = slots,
                                 .outputs = slots + from->in_count,
                                 .words = words};
    return vta_allocated(vta_vec_push(&block->insns, &insn) != NULL, diag);
}

/* The one segment: all inputs, and what instructions and outputs read of it. */
static vta_status add_segment(vtac_tflite *im, vtac_flow_insn *run, vta_diag *diag)
{
    vtac_graph *g = im->maker.graph;
    const struct vtac_tflite_rest *r = im->rest;
    vtac_flow_segment s = {.inputs = {.item_size = sizeof(uint32_t)},
                           .outputs = {.item_size = sizeof(uint32_t)}};
    uint32_t *slots = vta_arena_array(&g->arena, (size_t)g->input_count + r->value_count + 1, sizeof *slots);
    vta_status status = vta_allocated(slots != NULL, diag);
    uint32_t used = 0;
    for (uint32_t i = 0; status == VTA_OK && i < g->input_count; i++) {
        slots[used++] = ((vtac_flow_end *)vta_vec_at(&g->flow->inputs, i))->slot;
        status = vta_allocated(vta_vec_push(&s.inputs, &i) != NULL, diag);
    }
    for (uint32_t i = 0; status == VTA_OK && i < r->value_count; i++) {
        vtac_id id = r->values[i].id;
        if (vtac_made_constant(&im->maker, id) != NULL) {
            const vtac_flow_constant c = {r->values[i].slot, *vtac_made_constant(&im->maker, id)};
            status = vta_allocated(vta_vec_push(&g->flow->constants, &c) != NULL, diag);
            continue;
        }
        if (g->values[id].node == 0 || vtac_is_output(g, id)) {
            id = vtac_make1(&im->maker, VTAC_OP_IDENTITY, id);
        }
        const uint32_t number = g->output_count;
        slots[used++] = r->values[i].slot;
        status = im->maker.status == VTA_OK ? vtac_add_output(g, id, diag) : im->maker.status;
        status = status == VTA_OK && vta_vec_push(&s.outputs, &number) == NULL ? vta_no_memory(diag) : status;
    }
    if (status == VTA_OK && vta_vec_push(&g->flow->segments, &s) == NULL) {
        status = vta_no_memory(diag);
    }
    if (status != VTA_OK) {
        vta_vec_free(&s.inputs);
        vta_vec_free(&s.outputs);
        return status;
    }
    static const int64_t first = 0;
    *run = (vtac_flow_insn){.op = VTA_FLOW_RUN,
                            .name = "",
                            .input_count = g->input_count,
                            .output_count = used - g->input_count,
                            .word_count = 1,
                            .inputs = slots,
                            .outputs = slots + g->input_count,
                            .words = &first};
    return VTA_OK;
}

static vta_status add_output(vtac_tflite *im, uint32_t i, vta_diag *diag)
{
    vtac_tflite_tensor *t = &im->graph->tensors[im->graph->outputs[i]];
    const char *name = im->model.output_names != NULL ? im->model.output_names[i] : t->name;
    if (im->rest->value_count + 1 >= MAX_REST) {
        return vta_fail(diag, VTA_UNSUPPORTED, "so many outputs beside lists whose length the run finds");
    }
    const uint32_t slot = t->type.dtype == VTAC_NO_DTYPE ? 0 : slot_of(im, t);
    VTA_TRY(im->maker.status);
    if (slot == 0) {
        return vta_fail(diag, VTA_INVALID, "output '%s' is made by no operator", t->name);
    }
    const vtac_type type = t->slot != 0 ? t->type : vtac_made_type(&im->maker, vtac_tflite_value(im, t));
    return add_end(&im->maker.graph->flow->outputs, name, slot, &type, t->slot == 0, diag);
}

vta_status vtac_tflite_finish_rest(vtac_tflite *im, vta_diag *diag)
{
    vtac_graph *g = im->maker.graph;
    struct vtac_tflite_rest *r = im->rest;
    const vtac_tflite_graph *graph = im->graph;
    const vtac_flow_block empty = {.insns = {.item_size = sizeof(vtac_flow_insn)}};
    if (im->state_count > 0) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "states from run to run beside lists whose length the run finds");
    }
    g->flow = vtac_flow_create();
    if (g->flow == NULL || vta_vec_push(&g->flow->blocks, &empty) == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t i = 0; i < g->input_count; i++) {
        const vtac_value *v = &g->values[g->inputs[i]];
        VTA_TRY(add_end(&g->flow->inputs, v->name, r->slot_count++, &v->type, true, diag));
    }
    for (uint32_t i = 0; i < graph->output_count; i++) {
        VTA_TRY(add_output(im, i, diag));
    }
    vtac_flow_insn run;
    VTA_TRY(add_segment(im, &run, diag));
    vtac_flow_block *block = vta_vec_at(&g->flow->blocks, 0);
    if (run.output_count > 0 && vta_vec_push(&block->insns, &run) == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t i = 0; i < r->insn_count; i++) {
        VTA_TRY(add_insn(g, block, &r->insns[i], diag));
    }
    g->flow->slot_count = r->slot_count;
    return VTA_OK;
}
