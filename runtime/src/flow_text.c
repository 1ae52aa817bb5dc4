/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts, and parcels (vta/flow.h). An element of a tensor of texts is the number of a text: equal texts have
 * equal numbers, so that whatever only moves or compares elements needs to know nothing about texts.
 */
#include "flow_text.h"

#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"
#include "vta/hash.h"

struct vta_text {
    size_t size;
    char at[];
};

void vta_text_clear(vta_flow *flow)
{
    for (size_t i = 0; i < flow->text_count; i++) {
        flow->used -= flow->texts[i]->size + sizeof(vta_text);
        free(flow->texts[i]);
    }
    flow->used -= flow->text_room * (sizeof(vta_text *) + 2 * sizeof *flow->text_slots);
    free(flow->texts);
    free(flow->text_slots);
    flow->texts = NULL;
    flow->text_slots = NULL;
    flow->text_count = flow->text_room = 0;
}

const char *vta_text_at(const vta_flow *flow, int64_t number, size_t *size)
{
    const bool known = number >= 0 && (uint64_t)number < flow->text_count;
    *size = known ? flow->texts[number]->size : 0;
    return known ? flow->texts[number]->at : "";
}

/* The slot of a text, or the empty one where it belongs. There is always an empty one. */
static size_t slot_of(const vta_flow *flow, const char *at, size_t size)
{
    const size_t mask = 2 * flow->text_room - 1;
    size_t slot = (size_t)vta_hash32_bytes(VTA_HASH32_START, at, size) & mask;
    for (; flow->text_slots[slot] != 0; slot = (slot + 1) & mask) {
        const vta_text *t = flow->texts[flow->text_slots[slot] - 1];
        if (t->size == size && memcmp(t->at, at, size) == 0) {
            break;
        }
    }
    return slot;
}

static vta_status more_room(vta_flow *flow, vta_diag *diag)
{
    const size_t room = flow->text_room == 0 ? 64 : 2 * flow->text_room;
    const size_t each = sizeof(vta_text *) + 2 * sizeof *flow->text_slots;
    VTA_TRY(vta_item_take(flow, (uint64_t)(room - flow->text_room) * each, diag));
    vta_text **texts = realloc(flow->texts, room * sizeof(vta_text *));
    uint32_t *slots = texts != NULL ? calloc(2 * room, sizeof *slots) : NULL;
    flow->texts = texts != NULL ? texts : flow->texts;
    if (slots == NULL) {
        flow->used -= (room - flow->text_room) * each;
        return vta_no_memory(diag);
    }
    free(flow->text_slots);
    flow->text_slots = slots;
    flow->text_room = room;
    for (size_t i = 0; i < flow->text_count; i++) {
        slots[slot_of(flow, texts[i]->at, texts[i]->size)] = (uint32_t)i + 1;
    }
    return VTA_OK;
}

vta_status vta_text_number(vta_flow *flow, const char *at, size_t size, int64_t *out, vta_diag *diag)
{
    if (flow->text_count == 0 && size > 0) { /* the empty text is number 0 */
        VTA_TRY(vta_text_number(flow, "", 0, out, diag));
    }
    if (flow->text_count == flow->text_room) {
        VTA_TRY(more_room(flow, diag));
    }
    const size_t slot = slot_of(flow, at, size);
    if (flow->text_slots[slot] == 0) {
        VTA_TRY(vta_item_take(flow, size + sizeof(vta_text), diag));
        vta_text *t = malloc(sizeof *t + size + 1);
        if (t == NULL) {
            flow->used -= size + sizeof(vta_text);
            return vta_no_memory(diag);
        }
        t->size = size;
        memcpy(t->at, at, size);
        t->at[size] = '\0';
        flow->texts[flow->text_count++] = t;
        flow->text_slots[slot] = (uint32_t)flow->text_count;
    }
    *out = flow->text_slots[slot] - 1;
    return VTA_OK;
}

/* ---- parcels ---- */

typedef struct packing {
    const vta_flow *flow;
    int64_t *at; /* NULL: words are only counted */
    size_t count;
} packing;

static void put_word(packing *p, int64_t word)
{
    if (p->at != NULL) {
        p->at[p->count] = word;
    }
    p->count++;
}

static void put_bytes(packing *p, const void *data, size_t size)
{
    const size_t words = (size + 7) / 8;
    if (p->at != NULL && size > 0) {
        p->at[p->count + words - 1] = 0;
        memcpy(p->at + p->count, data, size);
    }
    p->count += words;
}

static void put_item(packing *p, const vta_item *t)
{
    const int64_t kind = t == NULL ? VTA_FLOW_NOTHING : t->kind;
    put_word(p, kind);
    if (kind == VTA_FLOW_SEQUENCE) {
        put_word(p, t->count);
        for (int64_t i = 0; i < t->count; i++) {
            put_item(p, t->items[i]);
        }
    } else if (kind == VTA_FLOW_TENSOR) {
        put_word(p, t->type);
        put_word(p, t->rank);
        for (uint32_t i = 0; i < t->rank; i++) {
            put_word(p, t->dim[i]);
        }
        for (int64_t i = 0; t->type == VTA_FLOW_TEXT && i < t->count; i++) {
            size_t size;
            const char *text = vta_text_at(p->flow, vta_item_int(t, i), &size);
            put_word(p, (int64_t)size);
            put_bytes(p, text, size);
        }
        if (t->type != VTA_FLOW_TEXT) {
            put_bytes(p, t->data, t->bytes);
        }
    }
}

vta_status vta_flow_pack(vta_call *call)
{
    packing p = {.flow = call->flow};
    const vta_item *from = call->insn->inputs.count > 0 ? call->in[0] : NULL;
    put_item(&p, from);
    const int64_t words = (int64_t)p.count;
    VTA_TRY(vta_item_tensor(call->flow, VTA_FLOW_TEXT, 1, &words, &call->out[0], call->diag));
    p = (packing){.flow = call->flow, .at = (int64_t *)(void *)call->out[0]->data};
    put_item(&p, from);
    return VTA_OK;
}

enum { MAX_DEPTH = 4 };

typedef struct parcel {
    const vta_call *call;
    const int64_t *at, *end;
} parcel;

static vta_status cut_off(const parcel *p)
{
    return vta_call_refuse(p->call, "what was given for it is no parcel: it is damaged or cut off");
}

static int64_t next_word(parcel *p)
{
    return p->at < p->end ? *p->at++ : -1;
}

static vta_status take_texts(parcel *p, vta_item *t)
{
    for (int64_t i = 0; i < t->count; i++) {
        const int64_t size = next_word(p);
        int64_t number;
        if (size < 0 || size / 8 + (size % 8 != 0) > p->end - p->at) {
            return cut_off(p);
        }
        VTA_TRY(vta_text_number(p->call->flow, (const char *)p->at, (size_t)size, &number, p->call->diag));
        vta_item_set_int(t, i, number);
        p->at += (size + 7) / 8;
    }
    return VTA_OK;
}

static vta_status take_tensor(parcel *p, vta_item **out)
{
    int64_t dim[VTA_FLOW_RANK];
    const int64_t type = next_word(p);
    const int64_t rank = next_word(p);
    int64_t bytes = type == VTA_FLOW_TEXT ? 8 : type >> 16;
    if (rank < 0 || rank > VTA_FLOW_RANK || bytes < 1 || bytes > 8) {
        return cut_off(p);
    }
    for (int64_t i = 0; i < rank; i++) {
        dim[i] = next_word(p);
        if (dim[i] < 0 || __builtin_mul_overflow(bytes, dim[i], &bytes)) {
            return cut_off(p);
        }
    }
    if (bytes / 8 + (bytes % 8 != 0) > p->end - p->at) { /* of a text there is its size at least */
        return cut_off(p);
    }
    VTA_TRY(vta_item_tensor(p->call->flow, (uint32_t)type, (uint32_t)rank, dim, out, p->call->diag));
    if (type == VTA_FLOW_TEXT) {
        return take_texts(p, *out);
    }
    memcpy((*out)->data, p->at, (size_t)bytes);
    p->at += (bytes + 7) / 8;
    return VTA_OK;
}

/* Reads one item. After a failure, too, `out` is its owner's to drop. */
static vta_status take_item(parcel *p, int depth, vta_item **out)
{
    const int64_t kind = next_word(p);
    if (kind == VTA_FLOW_TENSOR) {
        return take_tensor(p, out);
    }
    const int64_t count = kind == VTA_FLOW_SEQUENCE ? next_word(p) : 0;
    if ((kind != VTA_FLOW_SEQUENCE && kind != VTA_FLOW_NOTHING) || count < 0 || count > p->end - p->at ||
        depth >= MAX_DEPTH) {
        return cut_off(p);
    }
    VTA_TRY(vta_item_sequence(p->call->flow, count, out, p->call->diag));
    (*out)->kind = (char)kind;
    for (int64_t i = 0; i < count; i++) {
        VTA_TRY(take_item(p, depth + 1, &(*out)->items[i]));
    }
    return VTA_OK;
}

/* words: kind, element type, whether it may be absent, rank or -1, sizes (-1: any) */
static bool is_wanted(const vta_call *call, const vta_item *t)
{
    bool good = t->type == (uint32_t)vta_call_word(call, 1);
    const vta_list dims = vta_call_list(call, 3, NULL);
    for (int64_t i = 0; i < t->count && t->kind == VTA_FLOW_SEQUENCE; i++) {
        good = i == 0 || good;
        good = good && t->items[i]->kind == VTA_FLOW_TENSOR &&
               t->items[i]->type == (uint32_t)vta_call_word(call, 1);
    }
    good = good || (t->kind == VTA_FLOW_SEQUENCE && t->count == 0);
    if (t->kind == VTA_FLOW_TENSOR && dims.count >= 0) {
        good = good && dims.count == t->rank;
        for (int64_t i = 0; good && i < dims.count; i++) {
            good = dims.at[i] < 0 || dims.at[i] == t->dim[i];
        }
    }
    return good && t->kind == vta_call_word(call, 0);
}

/* ONNX writes an optional as a list of one thing or none. */
static void unwrap(vta_call *call)
{
    vta_item *list = call->out[0];
    const bool one = list->kind == VTA_FLOW_SEQUENCE && list->count == 1 &&
                     (vta_call_word(call, 0) == VTA_FLOW_TENSOR || list->items[0]->kind == VTA_FLOW_SEQUENCE);
    if (one) {
        call->out[0] = vta_item_hold(list->items[0]);
        vta_item_drop(call->flow, list);
    } else if (list->kind == VTA_FLOW_SEQUENCE && list->count == 0 &&
               vta_call_word(call, 0) == VTA_FLOW_TENSOR) {
        list->kind = VTA_FLOW_NOTHING;
    }
}

vta_status vta_flow_unpack(vta_call *call)
{
    VTA_TRY(vta_call_needs(call, 1));
    parcel p = {.call = call, .at = (const int64_t *)(const void *)call->in[0]->data};
    p.end = p.at + call->in[0]->bytes / 8;
    VTA_TRY(take_item(&p, 0, &call->out[0]));
    const bool may_be_absent = vta_call_word(call, 2) != 0;
    if (may_be_absent) {
        unwrap(call);
    }
    if (p.at == p.end &&
        ((may_be_absent && call->out[0]->kind == VTA_FLOW_NOTHING) || is_wanted(call, call->out[0]))) {
        return VTA_OK;
    }
    return vta_call_refuse(call, "what was given is not of the kind, the element type or the sizes that the "
                                 "model says");
}

/* ---- what operators on texts ask for */

vta_status vta_texts_needed(const vta_call *call, int64_t count)
{
    VTA_TRY(vta_call_needs(call, count));
    for (int64_t i = 0; i < count; i++) {
        if (call->in[i]->type != VTA_FLOW_TEXT) {
            return vta_call_refuse(call, "input %lld is to be texts", (long long)i);
        }
    }
    return VTA_OK;
}

char *vta_text_word(const vta_call *call, int64_t i, size_t *size)
{
    const vta_list list = vta_call_list(call, i, NULL);
    *size = list.count > 0 ? (size_t)list.count : 0;
    char *text = calloc(*size + 1, 1);
    for (size_t k = 0; text != NULL && k < *size; k++) {
        text[k] = (char)list.at[k];
    }
    return text;
}
