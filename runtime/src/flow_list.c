/* SPDX-License-Identifier: Apache-2.0
 *
 * Sequences and what may be absent. A sequence holds tensors by count: one that grows by a tensor costs a
 * list of places, not a copy.
 */
#include <stdlib.h>
#include <string.h>

#include "flow_walk.h"

vta_status vta_flow_sequence_empty(vta_call *call)
{
    return vta_item_sequence(call->flow, 0, &call->out[0], call->diag);
}

vta_status vta_flow_sequence_construct(vta_call *call)
{
    const int64_t count = call->insn->inputs.count;
    VTA_TRY(vta_call_needs(call, count));
    VTA_TRY(vta_item_sequence(call->flow, count, &call->out[0], call->diag));
    for (int64_t i = 0; i < count; i++) {
        call->out[0]->items[i] = vta_item_hold(call->in[i]);
    }
    return VTA_OK;
}

static vta_status sequence_of(const vta_call *call, const vta_item **out)
{
    *out = call->insn->inputs.count > 0 ? call->in[0] : NULL;
    return *out != NULL && (*out)->kind == VTA_FLOW_SEQUENCE
               ? VTA_OK
               : vta_call_refuse(call, "input 0 is no sequence");
}

/* The place that input i names, 0 … most; `otherwise` where it is absent. */
static vta_status place_of(const vta_call *call, int64_t i, int64_t count, int64_t max, int64_t otherwise,
                           int64_t *out)
{
    *out = otherwise;
    if (!vta_call_has(call, i)) {
        return VTA_OK;
    }
    if (call->in[i]->count != 1 || vta_item_is_float(call->in[i])) {
        return vta_call_refuse(call, "the place in the sequence is to be one integer");
    }
    const int64_t given = vta_item_int(call->in[i], 0);
    *out = given < 0 ? given + count : given;
    return *out >= 0 && *out <= max ? VTA_OK
                                    : vta_call_refuse(call, "place %lld is outside of a sequence of %lld",
                                                      (long long)given, (long long)count);
}

/* One more at the end: sequences that grow out of each other share one list with room behind, of which each
 * shows as much as it has. A list is copied when it is full, or when another one has grown there already. */
static vta_status append(vta_call *call, const vta_item *from, vta_item *x)
{
    vta_item *list = from->base;
    if (list == NULL || list->count != from->count || (size_t)list->count == list->bytes) {
        VTA_TRY(vta_item_sequence(call->flow, 2 * from->count + 8, &list, call->diag));
        list->bytes = (size_t)list->count;
        list->count = from->count;
        for (int64_t i = 0; i < from->count; i++) {
            list->items[i] = vta_item_hold(from->items[i]);
        }
    } else {
        (void)vta_item_hold(list);
    }
    if (vta_item_sequence(call->flow, 0, &call->out[0], call->diag) != VTA_OK) {
        vta_item_drop(call->flow, list);
        return VTA_NOMEM;
    }
    free(call->out[0]->items);
    call->out[0]->items = list->items;
    call->out[0]->base = list;
    call->out[0]->count = from->count + 1;
    list->items[list->count++] = vta_item_hold(x);
    return VTA_OK;
}

vta_status vta_flow_sequence_insert(vta_call *call)
{
    const vta_item *from;
    int64_t at;
    VTA_TRY(sequence_of(call, &from));
    VTA_TRY(place_of(call, 2, from->count, from->count, from->count, &at));
    if (!vta_call_has(call, 1)) {
        return vta_call_refuse(call, "input 1 is no tensor");
    }
    if (at == from->count) {
        return append(call, from, call->in[1]);
    }
    VTA_TRY(vta_item_sequence(call->flow, from->count + 1, &call->out[0], call->diag));
    for (int64_t i = 0; i <= from->count; i++) {
        call->out[0]->items[i] = vta_item_hold(i == at ? call->in[1] : from->items[i < at ? i : i - 1]);
    }
    return VTA_OK;
}

vta_status vta_flow_sequence_erase(vta_call *call)
{
    const vta_item *from;
    int64_t at;
    VTA_TRY(sequence_of(call, &from));
    VTA_TRY(place_of(call, 1, from->count, from->count - 1, from->count - 1, &at));
    if (from->count == 0) {
        return vta_call_refuse(call, "the sequence is empty");
    }
    VTA_TRY(vta_item_sequence(call->flow, from->count - 1, &call->out[0], call->diag));
    for (int64_t i = 0; i < from->count - 1; i++) {
        call->out[0]->items[i] = vta_item_hold(from->items[i < at ? i : i + 1]);
    }
    return VTA_OK;
}

vta_status vta_flow_sequence_at(vta_call *call)
{
    const vta_item *from;
    int64_t at;
    VTA_TRY(sequence_of(call, &from));
    VTA_TRY(place_of(call, 1, from->count, from->count - 1, -1, &at));
    if (at < 0) {
        return vta_call_refuse(call, "the place in the sequence is absent");
    }
    call->out[0] = vta_item_hold(from->items[at]);
    return VTA_OK;
}

vta_status vta_flow_sequence_length(vta_call *call)
{
    const vta_item *from;
    VTA_TRY(sequence_of(call, &from));
    VTA_TRY(vta_item_tensor(call->flow, VTA_FLOW_I64, 0, NULL, &call->out[0], call->diag));
    vta_item_set_int(call->out[0], 0, from->count);
    return VTA_OK;
}

vta_status vta_flow_concat_from_sequence(vta_call *call)
{
    const vta_item *from;
    VTA_TRY(sequence_of(call, &from));
    return from->count > 0 ? vta_join(call, from->items, from->count, vta_call_word(call, 0),
                                      vta_call_word(call, 1) != 0, &call->out[0])
                           : vta_call_refuse(call, "the sequence is empty");
}

static vta_status nothing(const vta_call *call, vta_item **out)
{
    VTA_TRY(vta_item_sequence(call->flow, 0, out, call->diag));
    (*out)->kind = VTA_FLOW_NOTHING;
    return VTA_OK;
}

/* The optional of a value is the value. */
vta_status vta_flow_optional(vta_call *call)
{
    if (call->insn->inputs.count == 0 || call->in[0] == NULL) {
        return nothing(call, &call->out[0]);
    }
    call->out[0] = vta_item_hold(call->in[0]);
    return VTA_OK;
}

vta_status vta_flow_optional_has_element(vta_call *call)
{
    const bool has =
        call->insn->inputs.count > 0 && call->in[0] != NULL && call->in[0]->kind != VTA_FLOW_NOTHING;
    VTA_TRY(vta_item_tensor(call->flow, VTA_FLOW_BOOL, 0, NULL, &call->out[0], call->diag));
    vta_item_set_int(call->out[0], 0, has);
    return VTA_OK;
}

vta_status vta_flow_optional_get_element(vta_call *call)
{
    if (call->insn->inputs.count == 0 || call->in[0] == NULL || call->in[0]->kind == VTA_FLOW_NOTHING) {
        return vta_call_refuse(call, "there is no element to get");
    }
    call->out[0] = vta_item_hold(call->in[0]);
    return VTA_OK;
}

/* Outside of training what is there passes, and the mask is all true. */
vta_status vta_flow_dropout(vta_call *call)
{
    VTA_TRY(vta_call_needs(call, 1));
    vta_item *x = call->in[0];
    if (vta_call_has(call, 2) && (call->in[2]->count != 1 || vta_item_int(call->in[2], 0) != 0)) {
        return vta_call_refuse(call, "training mode on sizes that are known only at run time");
    }
    call->out[0] = vta_item_hold(x);
    if (call->insn->outputs.count > 1) {
        VTA_TRY(vta_item_tensor(call->flow, VTA_FLOW_BOOL, x->rank, x->dim, &call->out[1], call->diag));
        memset(call->out[1]->data, 1, call->out[1]->bytes);
    }
    return VTA_OK;
}
