/* SPDX-License-Identifier: Apache-2.0
 *
 * Einsum of tensors of any size: the equation's letters against the axes that the operands have now. Floats
 * of every width are summed in double, integers in 64 bits.
 */
#include <string.h>

#include "flow_walk.h"

enum { LETTERS = 52, LABELS = LETTERS + VTA_FLOW_RANK, MAX_OPERANDS = 16 };

/* Labels are the letters, then the axes that "..." stands for, aligned at the last. */
typedef struct einsum {
    vta_call *call;
    const int64_t *text, *end; /* the equation, a character each */
    int64_t size[LABELS];      /* -1: there is none */
    int64_t stride[MAX_OPERANDS][LABELS];
    uint32_t result[VTA_FLOW_RANK], summed[LABELS];
    uint32_t rank, summed_count;
    bool in_result[LABELS];
} einsum;

static int label_of(int64_t c)
{
    return c >= 'a' && c <= 'z' ? (int)c - 'a' : c >= 'A' && c <= 'Z' ? 26 + (int)c - 'A' : -1;
}

static bool ends_term(const einsum *e, const int64_t *at)
{
    return at == e->end || *at == ',' || *at == '-';
}

static bool is_dots(const einsum *e, const int64_t *at)
{
    return e->end - at >= 3 && at[0] == '.' && at[1] == '.' && at[2] == '.';
}

static vta_status wrong(const einsum *e)
{
    return vta_call_refuse(e->call, "its equation does not fit the axes of its operands");
}

/* ---- reading the equation */

/* Sizes of one label agree, or are 1, which broadcasts. */
static vta_status name_axis(einsum *e, uint32_t operand, int64_t size, int64_t stride, uint32_t label)
{
    int64_t *known = &e->size[label];
    if (*known >= 0 && *known != 1 && size != 1 && *known != size) {
        return vta_call_refuse(e->call, "operand %u has %lld places on an axis where another has %lld",
                               operand, (long long)size, (long long)*known);
    }
    *known = *known < 0 || *known == 1 ? size : *known;
    e->stride[operand][label] += size == 1 ? 0 : stride;
    return VTA_OK;
}

/* Names the axes that "..." stands for: `dots` of them, `first` and those behind it. */
static vta_status name_dots(einsum *e, uint32_t operand, uint32_t dots, const int64_t *stride, uint32_t first)
{
    const int64_t *dim = &e->call->in[operand]->dim[first];
    for (uint32_t i = 0; i < dots; i++) {
        VTA_TRY(name_axis(e, operand, dim[i], stride[i], LABELS - dots + i));
    }
    return VTA_OK;
}

static vta_status read_term(einsum *e, uint32_t operand)
{
    const vta_item *t = e->call->in[operand];
    int64_t stride[VTA_FLOW_RANK];
    uint32_t letters = 0;
    uint32_t axis = 0;
    vta_row_strides(t->dim, t->rank, stride);
    for (const int64_t *at = e->text; !ends_term(e, at); at++) {
        letters += label_of(*at) >= 0;
    }
    for (; !ends_term(e, e->text); e->text++) {
        const int label = label_of(*e->text);
        if (is_dots(e, e->text) && letters <= t->rank && axis + t->rank - letters <= t->rank) {
            VTA_TRY(name_dots(e, operand, t->rank - letters, &stride[axis], axis));
            axis += t->rank - letters;
            e->text += 2;
        } else if (label >= 0 && axis < t->rank) {
            VTA_TRY(name_axis(e, operand, t->dim[axis], stride[axis], (uint32_t)label));
            axis++;
        } else if (*e->text != ' ') {
            return wrong(e);
        }
    }
    return axis == t->rank ? VTA_OK : wrong(e);
}

static vta_status give_axis(einsum *e, uint32_t label)
{
    if (e->size[label] < 0 || e->in_result[label] || e->rank == VTA_FLOW_RANK) {
        return wrong(e);
    }
    e->in_result[label] = true;
    e->result[e->rank++] = label;
    return VTA_OK;
}

static vta_status give_dots(einsum *e)
{
    for (uint32_t label = LETTERS; label < LABELS; label++) {
        VTA_TRY(e->size[label] >= 0 ? give_axis(e, label) : VTA_OK);
    }
    return VTA_OK;
}

/* Reads the term behind the arrow. */
static vta_status given_result(einsum *e)
{
    for (e->text += 2; e->text < e->end; e->text++) {
        const int label = label_of(*e->text);
        if (is_dots(e, e->text)) {
            VTA_TRY(give_dots(e));
            e->text += 2;
        } else if (label >= 0) {
            VTA_TRY(give_axis(e, (uint32_t)label));
        } else if (*e->text != ' ') {
            return wrong(e);
        }
    }
    return VTA_OK;
}

/* Without an arrow: the dots, then the letters that occur once, in the order of their codes. */
static vta_status implied_result(einsum *e, const vta_list *equation)
{
    VTA_TRY(give_dots(e));
    for (int64_t code = 'A'; code <= 'z'; code++) {
        int64_t times = 0;
        for (int64_t i = 0; i < equation->count; i++) {
            times += equation->at[i] == code;
        }
        VTA_TRY(times == 1 && label_of(code) >= 0 ? give_axis(e, (uint32_t)label_of(code)) : VTA_OK);
    }
    return VTA_OK;
}

static vta_status read_equation(einsum *e, const vta_list *equation)
{
    const int64_t operands = e->call->insn->inputs.count;
    for (uint32_t i = 0; i < LABELS; i++) {
        e->size[i] = -1;
    }
    for (uint32_t i = 0; i < operands; i++) {
        VTA_TRY(read_term(e, i));
        const bool more = e->text < e->end && *e->text == ',';
        if (more == (i + 1 == operands)) {
            return vta_call_refuse(e->call, "its equation is not one of %lld operands", (long long)operands);
        }
        e->text += more;
    }
    if (e->text == e->end) {
        VTA_TRY(implied_result(e, equation));
    } else if (e->end - e->text < 2 || e->text[1] != '>') {
        return wrong(e);
    } else {
        VTA_TRY(given_result(e));
    }
    for (uint32_t label = 0; label < LABELS; label++) {
        if (e->size[label] >= 0 && !e->in_result[label]) {
            e->summed[e->summed_count++] = label;
        }
    }
    return VTA_OK;
}

/* ---- sums of products */

/* One place on along the last of the labels that has one left; false: all have been seen. */
static bool step(const einsum *e, const uint32_t *labels, uint32_t count, int64_t *place, int64_t *at)
{
    const int64_t operands = e->call->insn->inputs.count;
    while (count-- > 0) {
        const uint32_t label = labels[count];
        const bool wraps = ++place[label] == e->size[label];
        for (int64_t i = 0; i < operands; i++) {
            at[i] += wraps ? -e->stride[i][label] * (e->size[label] - 1) : e->stride[i][label];
        }
        if (!wraps) {
            return true;
        }
        place[label] = 0;
    }
    return false;
}

static void sum_place(const einsum *e, int64_t *place, const int64_t *first, vta_item *y, int64_t to)
{
    vta_item *const *in = e->call->in;
    const int64_t operands = e->call->insn->inputs.count;
    const bool real = vta_item_is_float(y);
    int64_t at[MAX_OPERANDS];
    double sum = 0;
    uint64_t whole = 0;
    memcpy(at, first, sizeof at);
    do {
        double product = real ? vta_item_float(in[0], at[0]) : 0;
        uint64_t whole_product = real ? 0 : (uint64_t)vta_item_int(in[0], at[0]);
        for (int64_t i = 1; i < operands; i++) {
            product *= real ? vta_item_float(in[i], at[i]) : 0;
            whole_product *= real ? 0 : (uint64_t)vta_item_int(in[i], at[i]);
        }
        sum += product;
        whole += whole_product;
    } while (step(e, e->summed, e->summed_count, place, at));
    if (real) {
        vta_item_set_float(y, to, sum);
    } else {
        vta_item_set_int(y, to, (int64_t)whole);
    }
}

static vta_status sum_all(const einsum *e, vta_item *y)
{
    int64_t place[LABELS] = {0};
    int64_t at[MAX_OPERANDS] = {0};
    bool nothing = false; /* to sum */
    for (uint32_t i = 0; i < e->summed_count; i++) {
        nothing = nothing || e->size[e->summed[i]] == 0;
    }
    if (nothing) {
        memset(y->data, 0, y->bytes);
        return VTA_OK;
    }
    for (int64_t i = 0; i < y->count; i++) {
        if (vta_stop_take(e->call->flow->stop)) {
            return vta_fail(e->call->diag, VTA_INTERRUPTED, "interrupted in the node '%.*s'",
                            e->call->insn->name_size, e->call->insn->name);
        }
        sum_place(e, place, at, y, i);
        (void)step(e, e->result, e->rank, place, at);
    }
    return VTA_OK;
}

vta_status vta_flow_einsum(vta_call *call)
{
    const vta_list equation = vta_call_list(call, 0, NULL);
    const int64_t operands = call->insn->inputs.count;
    einsum e = {.call = call, .text = equation.at};
    int64_t dim[VTA_FLOW_RANK];
    if (operands < 1 || operands > MAX_OPERANDS || equation.count < 0) {
        return vta_call_refuse(call, "an equation and 1 to %d operands are expected", MAX_OPERANDS);
    }
    VTA_TRY(vta_call_needs(call, operands));
    for (int64_t i = 1; i < operands; i++) {
        if (call->in[i]->type != call->in[0]->type) {
            return vta_call_refuse(call, "its operands are not of one type");
        }
    }
    e.end = e.text + equation.count;
    VTA_TRY(read_equation(&e, &equation));
    for (uint32_t i = 0; i < e.rank; i++) {
        dim[i] = e.size[e.result[i]];
    }
    VTA_TRY(vta_item_tensor(call->flow, call->in[0]->type, e.rank, dim, &call->out[0], call->diag));
    return sum_all(&e, call->out[0]);
}
