/* SPDX-License-Identifier: Apache-2.0
 *
 * The walk over a model's instructions: reading them, control, segments.
 */
#include "flow_text.h"

#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"
#include "vta/room.h"

enum { MAX_DEPTH = 64 };

/* ---- reading ---- */

typedef struct reader {
    const int64_t *at, *end;
    bool failed;
} reader;

static int64_t word(reader *r)
{
    if (r->at >= r->end) {
        r->failed = true;
        return 0;
    }
    return *r->at++;
}

/* A number of things that take at least `least` words each. */
static int64_t count_of(reader *r, int64_t min)
{
    const int64_t count = word(r);
    if (count < 0 || count > (r->end - r->at) / min) {
        r->failed = true;
        return 0;
    }
    return count;
}

static vta_list list_of(reader *r)
{
    const int64_t count = count_of(r, 1);
    const vta_list list = {count, r->at};
    r->at += count;
    return list;
}

static const void *bytes_of(reader *r, int64_t *size)
{
    *size = word(r);
    const void *at = r->at;
    if (*size < 0 || *size / 8 > r->end - r->at || (*size + 7) / 8 > r->end - r->at) {
        r->failed = true;
        *size = 0;
        return at;
    }
    r->at += (*size + 7) / 8;
    return at;
}

static void *room_of(reader *r, int64_t count, size_t size)
{
    void *room = calloc((size_t)count + 1, size);
    r->failed = r->failed || room == NULL;
    return room;
}

/* Fails unless all numbers of a list are 0 … most-1. */
static void check_list(reader *r, const vta_list *list, int64_t max)
{
    for (int64_t i = 0; i < list->count; i++) {
        r->failed = r->failed || list->at[i] < 0 || list->at[i] >= max;
    }
}

static void read_constant(reader *r, vta_flow *f, int64_t i)
{
    vta_item *item = room_of(r, 1, sizeof *item);
    f->constants[i] = item;
    f->constant_slots[i] = word(r);
    const int64_t type = word(r);
    const vta_list dims = list_of(r);
    int64_t bytes;
    const void *data = bytes_of(r, &bytes);
    if (r->failed || dims.count > VTA_FLOW_RANK || f->constant_slots[i] <= 0 ||
        f->constant_slots[i] >= f->slot_count) {
        r->failed = true;
        return;
    }
    union {
        const void *in;
        uint8_t *out;
    } contents = {.in = data}; /* nobody writes to a constant */
    item->refs = 1;
    item->kind = VTA_FLOW_TENSOR;
    item->type = (uint32_t)type;
    item->rank = (uint32_t)dims.count;
    item->count = 1;
    for (int64_t k = 0; k < dims.count; k++) {
        item->dim[k] = dims.at[k];
        r->failed =
            r->failed || dims.at[k] < 0 || __builtin_mul_overflow(item->count, dims.at[k], &item->count);
    }
    item->bytes = (size_t)bytes;
    item->data = contents.out;
    int64_t needed;
    r->failed = r->failed || __builtin_mul_overflow(item->count, (int64_t)vta_item_size(item), &needed) ||
                needed != bytes;
}

static void read_segment(reader *r, const vta_flow *f, vta_segment *s)
{
    s->steps = list_of(r);
    s->inputs = list_of(r);
    s->outputs = list_of(r);
    check_list(r, &s->steps, f->artifact->step_count);
    check_list(r, &s->inputs, f->artifact->input_count);
    check_list(r, &s->outputs, f->artifact->output_count);
}

static void read_insn(reader *r, const vta_flow *f, vta_flow_insn *insn)
{
    int64_t size;
    const int64_t op = word(r);
    insn->name = bytes_of(r, &size);
    insn->name_size = size < 200 ? (int)size : 200;
    insn->inputs = list_of(r);
    insn->outputs = list_of(r);
    insn->words = list_of(r);
    check_list(r, &insn->inputs, f->slot_count);
    check_list(r, &insn->outputs, f->slot_count);
    insn->op = op >= 0 && op < VTA_FLOW_OPS ? (vta_flow_op)op : VTA_FLOW_OPS;
    r->failed = r->failed || insn->op == VTA_FLOW_OPS;
}

static void read_block(reader *r, const vta_flow *f, vta_block *block)
{
    block->inputs = list_of(r);
    block->outputs = list_of(r);
    check_list(r, &block->inputs, f->slot_count);
    check_list(r, &block->outputs, f->slot_count);
    block->count = count_of(r, 5);
    block->insns = room_of(r, block->count, sizeof *block->insns);
    for (int64_t i = 0; !r->failed && i < block->count; i++) {
        read_insn(r, f, &block->insns[i]);
    }
}

static void read_ends(reader *r, const vta_flow *f, int64_t *count, vta_flow_end **ends)
{
    *count = count_of(r, 5);
    *ends = room_of(r, *count, sizeof **ends);
    for (int64_t i = 0; !r->failed && i < *count; i++) {
        vta_flow_end *e = &(*ends)[i];
        e->slot = word(r);
        e->kind = word(r);
        e->type = word(r);
        e->rank = word(r);
        int64_t size;
        e->dim = r->at;
        for (int64_t k = 0; k < e->rank; k++) {
            (void)word(r);
        }
        e->name = bytes_of(r, &size);
        e->name_size = (int)size;
        r->failed =
            r->failed || e->slot < 0 || e->slot >= f->slot_count || e->rank > VTA_FLOW_RANK || size > 1 << 20;
    }
}

/* Reads the head: the number of rows of the table that the instructions need. */
static int64_t read_head(reader *r)
{
    r->failed = word(r) != VTA_FLOW_MAGIC;
    const int64_t rows = word(r);
    r->failed = r->failed || rows < 0;
    return r->failed ? 0 : rows;
}

static void read_all(reader *r, vta_flow *f)
{
    f->slot_count = word(r);
    r->failed = r->failed || f->slot_count < 1 || f->slot_count > 1 << 28;
    f->slots = room_of(r, r->failed ? 0 : f->slot_count, sizeof(vta_item *));
    f->constant_count = count_of(r, 4);
    f->constants = room_of(r, f->constant_count, sizeof(vta_item *));
    f->constant_slots = room_of(r, f->constant_count, sizeof *f->constant_slots);
    for (int64_t i = 0; !r->failed && i < f->constant_count; i++) {
        read_constant(r, f, i);
    }
    f->segment_count = count_of(r, 3);
    f->segments = room_of(r, f->segment_count, sizeof *f->segments);
    for (int64_t i = 0; !r->failed && i < f->segment_count; i++) {
        read_segment(r, f, &f->segments[i]);
    }
    f->block_count = count_of(r, 3);
    f->blocks = room_of(r, f->block_count, sizeof *f->blocks);
    for (int64_t i = 0; !r->failed && i < f->block_count; i++) {
        read_block(r, f, &f->blocks[i]);
    }
    read_ends(r, f, &f->input_count, &f->inputs);
    read_ends(r, f, &f->output_count, &f->outputs);
    r->failed = r->failed || f->block_count < 1 || r->at != r->end;
}

/* Half of what the machine has left, or what VTAC_MEMORY says. */
static uint64_t max_bytes(void)
{
    const char *text = getenv("VTAC_MEMORY");
    const unsigned long long asked = text != NULL ? strtoull(text, NULL, 10) : 0;
    return asked > 0 && asked < UINT64_MAX >> 20 ? asked << 20 : vta_room_available() / 2;
}

vta_status vta_flow_open(const vta_artifact *artifact, vta_flow *out, vta_diag *diag)
{
    *out = (vta_flow){.artifact = artifact, .max = max_bytes()};
    if (artifact->flow_bytes % 8 != 0 || artifact->flow == NULL) {
        return vta_fail(diag, VTA_SYNTAX, "its instructions are damaged");
    }
    reader r = {.at = artifact->flow};
    r.end = r.at + artifact->flow_bytes / 8;
    const int64_t rows = read_head(&r);
    if (rows > VTA_FLOW_OPS) {
        return vta_fail(
            diag, VTA_UNSUPPORTED,
            "its instructions are of %lld kinds, this runtime is older and knows %d; take a newer "
            "one, or compile with its vtac",
            (long long)rows, VTA_FLOW_OPS);
    }
    read_all(&r, out);
    out->input_places = calloc((size_t)artifact->input_count + 1, sizeof *out->input_places);
    out->output_places = calloc((size_t)artifact->output_count + 1, sizeof *out->output_places);
    if (out->input_places == NULL || out->output_places == NULL) {
        return vta_no_memory(diag);
    }
    return r.failed ? vta_fail(diag, VTA_SYNTAX, "its instructions are damaged") : VTA_OK;
}

static void put(vta_flow *f, int64_t slot, vta_item *item)
{
    vta_item *old = f->slots[slot];
    f->slots[slot] = item;
    vta_item_drop(f, old);
}

void vta_flow_clear(vta_flow *f)
{
    for (int64_t i = 0; f->slots != NULL && i < f->slot_count; i++) {
        put(f, i, NULL);
    }
    vta_text_clear(f);
}

void vta_flow_close(vta_flow *f)
{
    vta_flow_clear(f);
    for (int64_t i = 0; f->blocks != NULL && i < f->block_count; i++) {
        free(f->blocks[i].insns);
    }
    for (int64_t i = 0; f->constants != NULL && i < f->constant_count; i++) {
        free(f->constants[i]);
    }
    free(f->slots);
    free(f->constants);
    free(f->constant_slots);
    free(f->segments);
    free(f->blocks);
    free(f->inputs);
    free(f->outputs);
    free(f->input_places);
    free(f->output_places);
    *f = (vta_flow){.artifact = NULL};
}

/* ---- segments ---- */

static uint32_t type_of(const vta_artifact_tensor *t)
{
    uint64_t elements = 1;
    for (uint32_t i = 0; i < t->rank; i++) {
        elements *= (uint64_t)t->dim[i];
    }
    const uint64_t size = elements > 0 ? t->bytes / elements : (t->dtype_bits + 7) / 8;
    return t->dtype_code | t->dtype_bits << 8 | (uint32_t)size << 16;
}

static bool is_like(const vta_item *item, const vta_artifact_tensor *t)
{
    return item != NULL && item->kind == VTA_FLOW_TENSOR && item->rank == t->rank &&
           item->bytes == t->bytes && (item->type & 0xffff) == (t->dtype_code | t->dtype_bits << 8) &&
           memcmp(item->dim, t->dim, t->rank * sizeof t->dim[0]) == 0;
}

static vta_status segment_of(const vta_call *call, const vta_segment **out)
{
    const int64_t number = vta_call_word(call, 0);
    if (number < 0 || number >= call->flow->segment_count) {
        return vta_fail(call->diag, VTA_SYNTAX, "its instructions are damaged");
    }
    *out = &call->flow->segments[number];
    return call->insn->inputs.count == (*out)->inputs.count &&
                   call->insn->outputs.count == (*out)->outputs.count
               ? VTA_OK
               : vta_fail(call->diag, VTA_SYNTAX, "its instructions are damaged");
}

vta_status vta_flow_run(vta_call *call)
{
    vta_flow *f = call->flow;
    const vta_segment *s = NULL;
    VTA_TRY(segment_of(call, &s));
    for (int64_t i = 0; i < s->inputs.count; i++) {
        if (!is_like(call->in[i], &f->artifact->inputs[s->inputs.at[i]])) {
            return vta_call_refuse(call, "the tensor '%s' has not the shape or type that it has in the model",
                                   f->artifact->inputs[s->inputs.at[i]].name);
        }
        f->input_places[s->inputs.at[i]] = call->in[i]->data;
    }
    for (int64_t i = 0; i < s->outputs.count; i++) {
        const vta_artifact_tensor *t = &f->artifact->outputs[s->outputs.at[i]];
        VTA_TRY(vta_item_tensor(f, type_of(t), t->rank, t->dim, &call->out[i], call->diag));
        f->output_places[s->outputs.at[i]] = call->out[i]->data;
    }
    return f->run_steps(f->self, s->steps.at, s->steps.count, call->diag);
}

/* One operator on tensors of any size, a piece at a time: the segment takes `piece` elements. Inputs that are
 * marked are whole, and the same for every piece. The rest behind the last whole piece is done on copies
 * that repeat its last element.
 *
 * words: segment, piece, rank that the output has at least, a mark for each input */
typedef struct mapping {
    vta_call *call;
    const vta_segment *s;
    int64_t piece, count;
    uint32_t rank;
    int64_t dim[VTA_FLOW_RANK];
    vta_item **wide; /* inputs as they broadcast */
    vta_item **rest; /* inputs, then outputs, of a last piece */
} mapping;

static bool is_whole(const mapping *m, int64_t i)
{
    return vta_call_word(m->call, 3 + i) != 0;
}

static vta_status widen(mapping *m)
{
    vta_call *call = m->call;
    for (int64_t i = 0; i < m->s->inputs.count; i++) {
        VTA_TRY(is_whole(m, i)
                    ? VTA_OK
                    : vta_item_broadcast(call->flow, call->in[i], m->rank, m->dim, &m->wide[i], call->diag));
    }
    for (int64_t i = 0; i < m->s->outputs.count; i++) {
        const vta_artifact_tensor *t = &call->flow->artifact->outputs[m->s->outputs.at[i]];
        VTA_TRY(vta_item_tensor(call->flow, type_of(t), m->rank, m->dim, &call->out[i], call->diag));
    }
    m->count = m->rank == 0 ? 1 : call->out[0]->count;
    return VTA_OK;
}

static vta_status run_piece(mapping *m, int64_t at, bool is_rest)
{
    vta_flow *f = m->call->flow;
    const vta_segment *s = m->s;
    for (int64_t i = 0; i < s->inputs.count; i++) {
        const vta_item *t = is_whole(m, i) ? m->call->in[i] : is_rest ? m->rest[i] : m->wide[i];
        f->input_places[s->inputs.at[i]] =
            t->data + (is_whole(m, i) || is_rest ? 0 : at * (int64_t)vta_item_size(t));
    }
    for (int64_t i = 0; i < s->outputs.count; i++) {
        const vta_item *t = is_rest ? m->rest[s->inputs.count + i] : m->call->out[i];
        f->output_places[s->outputs.at[i]] = t->data + (is_rest ? 0 : at * (int64_t)vta_item_size(t));
    }
    return f->run_steps(f->self, s->steps.at, s->steps.count, m->call->diag);
}

static vta_status run_rest(mapping *m, int64_t at)
{
    vta_call *call = m->call;
    const vta_segment *s = m->s;
    const int64_t left = m->count - at;
    for (int64_t i = 0; i < s->inputs.count; i++) {
        if (is_whole(m, i)) {
            continue;
        }
        const size_t size = vta_item_size(m->wide[i]);
        VTA_TRY(vta_item_tensor(call->flow, m->wide[i]->type, 1, &m->piece, &m->rest[i], call->diag));
        memcpy(m->rest[i]->data, m->wide[i]->data + (size_t)at * size, (size_t)left * size);
        for (int64_t k = left; k < m->piece; k++) {
            memcpy(m->rest[i]->data + (size_t)k * size, m->wide[i]->data + (size_t)(m->count - 1) * size,
                   size);
        }
    }
    vta_item **outs = m->rest + s->inputs.count;
    for (int64_t i = 0; i < s->outputs.count; i++) {
        VTA_TRY(vta_item_tensor(call->flow, call->out[i]->type, 1, &m->piece, &outs[i], call->diag));
    }
    VTA_TRY(run_piece(m, at, true));
    for (int64_t i = 0; i < s->outputs.count; i++) {
        const size_t size = vta_item_size(outs[i]);
        memcpy(call->out[i]->data + (size_t)at * size, outs[i]->data, (size_t)left * size);
    }
    return VTA_OK;
}

static vta_status map_pieces(mapping *m)
{
    int64_t at = 0;
    VTA_TRY(widen(m));
    for (; m->count - at >= m->piece; at += m->piece) {
        VTA_TRY(run_piece(m, at, false));
    }
    return at < m->count ? run_rest(m, at) : VTA_OK;
}

vta_status vta_flow_map(vta_call *call)
{
    mapping m = {.call = call, .piece = vta_call_word(call, 1)};
    VTA_TRY(segment_of(call, &m.s));
    const int64_t inputs = m.s->inputs.count;
    const int64_t outputs = m.s->outputs.count;
    VTA_TRY(vta_call_needs(call, inputs));
    vta_item *store[2 * 32] = {NULL};
    vta_item *rest[32] = {NULL};
    if (inputs + outputs > 32 || outputs < 1 || m.piece < 1) {
        return vta_fail(call->diag, VTA_SYNTAX, "its instructions are damaged");
    }
    m.wide = store;
    m.rest = rest;
    vta_item *shaping[32];
    for (int64_t i = 0; i < inputs; i++) {
        const vta_artifact_tensor *t = &call->flow->artifact->inputs[m.s->inputs.at[i]];
        shaping[i] = is_whole(&m, i) ? NULL : call->in[i];
        if ((call->in[i]->type & 0xffff) != (t->dtype_code | t->dtype_bits << 8) ||
            (is_whole(&m, i) && call->in[i]->bytes != t->bytes)) {
            return vta_call_refuse(call, "input %lld has not the type or size that it has in the model",
                                   (long long)i);
        }
    }
    int64_t rank;
    VTA_TRY(vta_broadcast_dims(call, shaping, inputs, vta_call_word(call, 2), &rank, m.dim));
    m.rank = (uint32_t)rank;
    const vta_status status = map_pieces(&m);
    for (int64_t i = 0; i < 32; i++) {
        vta_item_drop(call->flow, store[i]);
        vta_item_drop(call->flow, rest[i]);
    }
    return status;
}

/* ---- control ---- */

/* Does an instruction whose operation has been checked. A table of pointers would need a relocation for each
 * row, which takes three times the room of this switch. */
// NOLINTNEXTLINE(readability-function-size): a case for each row of the table
static vta_status do_operation(vta_flow_op op, vta_call *call)
{
    switch (op) {
#define X(id, function, ...)                                                                                 \
    case VTA_FLOW_##id: return vta_flow_##function(call);
        VTA_FLOW_TABLE(X)
#undef X
    case VTA_FLOW_OPS: break;
    }
    return VTA_INVALID;
}

static vta_status do_insn(vta_flow *f, const vta_flow_insn *insn, vta_diag *diag)
{
    enum { FEW = 24 };
    vta_item *few[2 * FEW] = {NULL};
    const size_t needed = (size_t)(insn->inputs.count + insn->outputs.count);
    vta_item **items = needed <= 2 * FEW ? few : calloc(needed, sizeof(vta_item *));
    if (items == NULL) {
        return vta_no_memory(diag);
    }
    vta_call call = {f, insn, items, items + insn->inputs.count, diag};
    for (int64_t i = 0; i < insn->inputs.count; i++) {
        vta_item *in = f->slots[insn->inputs.at[i]];
        call.in[i] = in != NULL ? vta_item_hold(in) : NULL;
    }
    vta_status status = do_operation((vta_flow_op)insn->op, &call);
    for (int64_t i = 0; i < insn->inputs.count; i++) {
        vta_item_drop(f, call.in[i]);
    }
    for (int64_t i = 0; i < insn->outputs.count; i++) {
        if (status == VTA_OK && insn->outputs.at[i] != 0) {
            put(f, insn->outputs.at[i], call.out[i]);
        } else {
            vta_item_drop(f, call.out[i]);
        }
    }
    if (items != few) {
        free(items);
    }
    if (status != VTA_OK && status != VTA_INTERRUPTED && insn->name_size > 0 &&
        strncmp(diag->text, "node ", 5) != 0) {
        (void)vta_context(diag, "node '%.*s'", insn->name_size, insn->name);
    }
    return status;
}

static vta_status do_block(vta_flow *f, int64_t number, vta_diag *diag)
{
    if (number < 0 || number >= f->block_count || f->depth >= MAX_DEPTH) {
        return vta_fail(diag, VTA_SYNTAX, "its instructions are damaged");
    }
    const vta_block *block = &f->blocks[number];
    vta_status status = VTA_OK;
    f->depth++;
    for (int64_t i = 0; status == VTA_OK && i < block->count; i++) {
        if (vta_stop_take(f->stop)) {
            status = vta_fail(diag, VTA_INTERRUPTED, "interrupted before instruction %lld '%.*s'",
                              (long long)i, block->insns[i].name_size, block->insns[i].name);
            break;
        }
        status = do_insn(f, &block->insns[i], diag);
    }
    f->depth--;
    return status;
}

/* The items that a block left in its outputs. */
static vta_item *result(vta_flow *f, const vta_block *block, int64_t i)
{
    vta_item *item = i < block->outputs.count ? f->slots[block->outputs.at[i]] : NULL;
    return item != NULL ? vta_item_hold(item) : NULL;
}

static vta_status is_true(const vta_call *call, const vta_item *t, const char *what, bool *out)
{
    if (t == NULL || t->kind != VTA_FLOW_TENSOR || t->count != 1) {
        return vta_call_refuse(call, "%s is to be one element", what);
    }
    *out = vta_item_int(t, 0) != 0;
    return VTA_OK;
}

/* words: block if true, block if false */
vta_status vta_flow_if(vta_call *call)
{
    bool which = false;
    VTA_TRY(is_true(call, call->insn->inputs.count > 0 ? call->in[0] : NULL, "the condition", &which));
    const int64_t number = vta_call_word(call, which ? 0 : 1);
    VTA_TRY(do_block(call->flow, number, call->diag));
    for (int64_t i = 0; i < call->insn->outputs.count; i++) {
        call->out[i] = result(call->flow, &call->flow->blocks[number], i);
    }
    return VTA_OK;
}

vta_status vta_flow_move(vta_call *call)
{
    call->out[0] = call->in[0] != NULL ? vta_item_hold(call->in[0]) : NULL;
    return VTA_OK;
}

/* Results of a loop's turns, gathered for each output. */
typedef struct gathered {
    vta_item **items;
    int64_t count;
    size_t room;
} gathered;

static vta_status gather(const vta_call *call, gathered *g, vta_item *item)
{
    if (item == NULL || item->kind != VTA_FLOW_TENSOR) {
        vta_item_drop(call->flow, item);
        return vta_call_refuse(call, "what is gathered of the turns is no tensor");
    }
    if ((size_t)g->count == g->room) {
        const size_t room = g->room == 0 ? 64 : 2 * g->room;
        vta_item **more = realloc(g->items, room * sizeof(vta_item *));
        if (more == NULL) {
            vta_item_drop(call->flow, item);
            return vta_no_memory(call->diag);
        }
        g->items = more;
        g->room = room;
    }
    g->items[g->count++] = item;
    return VTA_OK;
}

static void drop_gathered(vta_flow *f, gathered *g, int64_t count)
{
    for (int64_t i = 0; g != NULL && i < count; i++) {
        for (int64_t k = 0; k < g[i].count; k++) {
            vta_item_drop(f, g[i].items[k]);
        }
        free(g[i].items);
    }
    free(g);
}

/* Gathered outputs as one, along a new axis. Of no turn at all, as the model says it: type, rank, sizes. */
static vta_status join_turns(const vta_call *call, gathered *g, const int64_t *of_none, int64_t axis,
                             bool backwards, vta_item **out)
{
    for (int64_t i = 0; backwards && i < g->count / 2; i++) {
        vta_item *other = g->items[i];
        g->items[i] = g->items[g->count - 1 - i];
        g->items[g->count - 1 - i] = other;
    }
    if (g->count > 0) {
        return vta_join(call, g->items, g->count, axis, true, out);
    }
    int64_t dim[VTA_FLOW_RANK] = {0};
    const int64_t rank = of_none[1] >= 0 && of_none[1] < VTA_FLOW_RANK ? of_none[1] : 0;
    memcpy(dim + 1, of_none + 2, (size_t)rank * sizeof *dim);
    for (int64_t i = 0; i < axis && i < rank; i++) { /* the new axis goes to its place */
        dim[i] = dim[i + 1];
        dim[i + 1] = 0;
    }
    return vta_item_tensor(call->flow, (uint32_t)of_none[0], (uint32_t)rank + 1, dim, out, call->diag);
}

static vta_status number_item(const vta_call *call, uint32_t type, int64_t value, vta_item **out)
{
    VTA_TRY(vta_item_tensor(call->flow, type, 0, NULL, out, call->diag));
    vta_item_set_int(*out, 0, value);
    return VTA_OK;
}

enum { NONE_WORDS = 2 + VTA_FLOW_RANK };

/* words: body, how many are carried, then for each gathered output what it is of no turn.
 * inputs: most turns, condition, the carried; the body's: turn, condition, the carried; its outputs:
 * condition, the carried, the gathered */
typedef struct looping {
    vta_call *call;
    const vta_block *body;
    int64_t carried, scans;
    vta_item **state;
    gathered *scanned;
} looping;

static vta_status one_turn(looping *l, int64_t turn, bool *more)
{
    vta_call *call = l->call;
    vta_flow *f = call->flow;
    vta_item *item;
    VTA_TRY(number_item(call, VTA_FLOW_I64, turn, &item));
    put(f, l->body->inputs.at[0], item);
    VTA_TRY(number_item(call, VTA_FLOW_BOOL, 1, &item));
    put(f, l->body->inputs.at[1], item);
    for (int64_t i = 0; i < l->carried; i++) {
        put(f, l->body->inputs.at[2 + i], l->state[i]);
        l->state[i] = NULL;
    }
    VTA_TRY(do_block(f, vta_call_word(call, 0), call->diag));
    for (int64_t i = 0; i < l->carried; i++) {
        l->state[i] = result(f, l->body, 1 + i);
    }
    for (int64_t i = 0; i < l->scans; i++) {
        VTA_TRY(gather(call, &l->scanned[i], result(f, l->body, 1 + l->carried + i)));
    }
    return is_true(call, f->slots[l->body->outputs.at[0]], "the condition of the next turn", more);
}

static vta_status all_turns(looping *l)
{
    vta_call *call = l->call;
    int64_t max = INT64_MAX;
    bool more = true;
    if (call->in[0] != NULL) {
        if (!vta_call_has(call, 0) || call->in[0]->count != 1 || vta_item_is_float(call->in[0])) {
            return vta_call_refuse(call, "the trip count is to be one integer");
        }
        max = vta_item_int(call->in[0], 0);
    }
    if (call->in[1] != NULL) {
        VTA_TRY(is_true(call, call->in[1], "the condition", &more));
    }
    for (int64_t i = 0; i < l->carried; i++) {
        l->state[i] = call->in[2 + i] != NULL ? vta_item_hold(call->in[2 + i]) : NULL;
        vta_item_drop(call->flow, call->in[2 + i]); /* the state alone holds it: written in place */
        call->in[2 + i] = NULL;
    }
    for (int64_t turn = 0; more && turn < max; turn++) {
        VTA_TRY(one_turn(l, turn, &more));
    }
    for (int64_t i = 0; i < l->carried; i++) {
        call->out[i] = l->state[i];
        l->state[i] = NULL;
    }
    for (int64_t i = 0; i < l->scans; i++) {
        VTA_TRY(join_turns(call, &l->scanned[i], call->insn->words.at + 2 + i * NONE_WORDS, 0, false,
                           &call->out[l->carried + i]));
    }
    return VTA_OK;
}

static vta_status body_of(const vta_call *call, int64_t inputs, int64_t outputs, const vta_block **body)
{
    const int64_t number = vta_call_word(call, 0);
    if (number < 0 || number >= call->flow->block_count || inputs < 0 || outputs < 0 ||
        call->flow->blocks[number].inputs.count != inputs ||
        call->flow->blocks[number].outputs.count != outputs) {
        return vta_fail(call->diag, VTA_SYNTAX, "its instructions are damaged");
    }
    *body = &call->flow->blocks[number];
    return VTA_OK;
}

vta_status vta_flow_loop(vta_call *call)
{
    const vta_flow_insn *insn = call->insn;
    looping l = {.call = call, .carried = vta_call_word(call, 1)};
    VTA_TRY(body_of(call, insn->inputs.count, insn->outputs.count + 1, &l.body));
    l.scans = insn->outputs.count - l.carried;
    if (insn->inputs.count < 2 || l.carried != insn->inputs.count - 2 || l.scans < 0 ||
        insn->words.count != 2 + l.scans * NONE_WORDS) {
        return vta_fail(call->diag, VTA_SYNTAX, "its instructions are damaged");
    }
    l.state = calloc((size_t)l.carried + 1, sizeof(vta_item *));
    l.scanned = calloc((size_t)l.scans + 1, sizeof *l.scanned);
    vta_status status = l.state != NULL && l.scanned != NULL ? all_turns(&l) : vta_no_memory(call->diag);
    for (int64_t i = 0; l.state != NULL && i < l.carried; i++) {
        vta_item_drop(call->flow, l.state[i]);
    }
    free(l.state);
    drop_gathered(call->flow, l.scanned, l.scans);
    return status;
}

/* words: body, scanned inputs n, then n axes and n directions, k axes and k directions of the gathered
 * outputs, and for each of these what it is of no turn. inputs: the state, what is scanned; outputs: the
 * state, what is gathered */
typedef struct scanning {
    vta_call *call;
    const vta_block *body;
    int64_t states, scanned, outputs, turns;
    const int64_t
        *words; /* axes of the inputs, their directions, axes of the outputs, their directions, of none */
    vta_item **state;
    gathered *got;
} scanning;

/* Part `at` of an input along its axis. */
static vta_status part_of(const vta_call *call, const vta_item *t, int64_t axis, int64_t at, vta_item **out)
{
    int64_t dim[VTA_FLOW_RANK];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < t->rank; i++) {
        if (i != axis) {
            dim[rank++] = t->dim[i];
        }
    }
    VTA_TRY(vta_item_tensor(call->flow, t->type, rank, dim, out, call->diag));
    const int64_t outer = vta_dims_product(t, 0, axis);
    const size_t inner = (size_t)vta_dims_product(t, axis + 1, t->rank) * vta_item_size(t);
    for (int64_t i = 0; i < outer; i++) {
        memcpy((*out)->data + (size_t)i * inner, t->data + (size_t)(i * t->dim[axis] + at) * inner, inner);
    }
    return VTA_OK;
}

static vta_status scan_turn(scanning *s, int64_t turn)
{
    vta_call *call = s->call;
    for (int64_t i = 0; i < s->states; i++) {
        put(call->flow, s->body->inputs.at[i], s->state[i]);
        s->state[i] = NULL;
    }
    for (int64_t i = 0; i < s->scanned; i++) {
        const vta_item *t = call->in[s->states + i];
        vta_item *part;
        int64_t axis;
        VTA_TRY(vta_call_axis(call, s->words[i], t->rank, &axis));
        VTA_TRY(part_of(call, t, axis, s->words[s->scanned + i] != 0 ? s->turns - 1 - turn : turn, &part));
        put(call->flow, s->body->inputs.at[s->states + i], part);
    }
    VTA_TRY(do_block(call->flow, vta_call_word(call, 0), call->diag));
    for (int64_t i = 0; i < s->states; i++) {
        s->state[i] = result(call->flow, s->body, i);
    }
    for (int64_t i = 0; i < s->outputs; i++) {
        VTA_TRY(gather(call, &s->got[i], result(call->flow, s->body, s->states + i)));
    }
    return VTA_OK;
}

/* Finds the number of turns: the length of the scanned inputs, which must all be equally long. */
static vta_status find_turns(scanning *s)
{
    vta_call *call = s->call;
    for (int64_t i = 0; i < s->scanned; i++) {
        const vta_item *t = call->in[s->states + i];
        int64_t axis;
        if (!vta_call_has(call, s->states + i)) {
            return vta_call_refuse(call, "what is scanned is no tensor");
        }
        VTA_TRY(vta_call_axis(call, s->words[i], t->rank, &axis));
        if (i > 0 && t->dim[axis] != s->turns) {
            return vta_call_refuse(call, "its inputs are %lld and %lld long", (long long)s->turns,
                                   (long long)t->dim[axis]);
        }
        s->turns = t->dim[axis];
    }
    return VTA_OK;
}

/* The outputs, each of what its turns gave. */
static vta_status join_outputs(scanning *s)
{
    vta_call *call = s->call;
    const int64_t *axes = s->words + 2 * s->scanned;
    const int64_t *none = axes + 2 * s->outputs;
    for (int64_t i = 0; i < s->outputs; i++) {
        const int64_t rank = s->got[i].count > 0 ? s->got[i].items[0]->rank : none[i * NONE_WORDS + 1];
        int64_t axis;
        VTA_TRY(vta_call_axis(call, axes[i], rank < 0 ? 1 : rank + 1, &axis));
        VTA_TRY(join_turns(call, &s->got[i], none + i * NONE_WORDS, axis, axes[s->outputs + i] != 0,
                           &call->out[s->states + i]));
    }
    return VTA_OK;
}

static vta_status scan_all(scanning *s)
{
    vta_call *call = s->call;
    VTA_TRY(find_turns(s));
    for (int64_t i = 0; i < s->states; i++) {
        s->state[i] = call->in[i] != NULL ? vta_item_hold(call->in[i]) : NULL;
    }
    for (int64_t turn = 0; turn < s->turns; turn++) {
        VTA_TRY(scan_turn(s, turn));
    }
    for (int64_t i = 0; i < s->states; i++) {
        call->out[i] = s->state[i];
        s->state[i] = NULL;
    }
    return join_outputs(s);
}

vta_status vta_flow_scan(vta_call *call)
{
    const vta_flow_insn *insn = call->insn;
    scanning s = {.call = call, .scanned = vta_call_word(call, 1)};
    VTA_TRY(body_of(call, insn->inputs.count, insn->outputs.count, &s.body));
    s.states = insn->inputs.count - s.scanned;
    s.outputs = insn->outputs.count - s.states;
    if (s.scanned < 1 || s.states < 0 || s.outputs < 0 ||
        insn->words.count != 2 + 2 * s.scanned + (2 + NONE_WORDS) * s.outputs) {
        return vta_fail(call->diag, VTA_SYNTAX, "its instructions are damaged");
    }
    s.words = insn->words.at + 2;
    s.state = calloc((size_t)s.states + 1, sizeof(vta_item *));
    s.got = calloc((size_t)s.outputs + 1, sizeof *s.got);
    vta_status status = s.state != NULL && s.got != NULL ? scan_all(&s) : vta_no_memory(call->diag);
    for (int64_t i = 0; s.state != NULL && i < s.states; i++) {
        vta_item_drop(call->flow, s.state[i]);
    }
    free(s.state);
    drop_gathered(call->flow, s.got, s.outputs);
    return status;
}

/* ---- a run ---- */

vta_status vta_flow_go(vta_flow *f, vta_item *inputs, vta_diag *diag)
{
    vta_diag own = {0};
    diag = diag != NULL ? diag : &own;
    vta_flow_clear(f);
    for (int64_t i = 0; i < f->constant_count; i++) {
        put(f, f->constant_slots[i], vta_item_hold(f->constants[i]));
    }
    for (int64_t i = 0; i < f->input_count; i++) {
        if (f->inputs[i].slot != 0) {
            put(f, f->inputs[i].slot, vta_item_hold(&inputs[i]));
        }
    }
    const vta_status status = do_block(f, 0, diag);
    for (int64_t i = 0; i < f->output_count && status == VTA_OK; i++) {
        if (f->slots[f->outputs[i].slot] == NULL) {
            return vta_fail(diag, VTA_INVALID, "output '%.*s' was never computed", f->outputs[i].name_size,
                            f->outputs[i].name);
        }
    }
    return status;
}

const vta_item *vta_flow_output(const vta_flow *f, int64_t i)
{
    return f->slots[f->outputs[i].slot];
}
