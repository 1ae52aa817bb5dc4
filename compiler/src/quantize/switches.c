/* SPDX-License-Identifier: Apache-2.0
 *
 *     activation x     Where(on, Clip(Round(x / scale)) scale, x)
 *     product          Where(on, product by rounded weights, product by weights) + Where(on, bias, bias)
 *
 * Switches and scales are inputs of the model. Layers of one shape so have equal loops, of which the code
 * generator makes one kernel: both products of a layer, and all layers like it, cost one compilation.
 */
#include "switches.h"

#include <string.h>

#include "vta/fail.h"

/* Inputs of an activation, from the first one on; a product has ON and, behind it, its bias. */
enum { ON, SCALE, LOW, HIGH, BIAS = 1 };

typedef struct switch_maker {
    vtac_graph *graph;
    const vtac_quant_plan *plan;
    vtac_quant_switches *out;
    vtac_value_id *now; /* by value: what stands for it, behind the choice of a product */
    vta_diag *diag;
} switch_maker;

static vta_status add_node(const switch_maker *m, vtac_op op, const vtac_value_id *inputs, uint32_t count,
                           vtac_value_id *out)
{
    const vtac_node_spec spec = {
        .op = op, .name = "", .inputs = inputs, .input_count = count, .output_count = 1};
    vtac_node_id node;
    VTA_TRY(vtac_add_node(m->graph, &spec, &node, m->diag));
    *out = m->graph->nodes[node].outputs[0];
    return VTA_OK;
}

static vta_status add_pair(const switch_maker *m, vtac_op op, vtac_value_id a, vtac_value_id b,
                           vtac_value_id *out)
{
    const vtac_value_id inputs[] = {a, b};
    return add_node(m, op, inputs, 2, out);
}

static vta_status add_choice(const switch_maker *m, vtac_value_id on, vtac_value_id a, vtac_value_id b,
                             vtac_value_id *out)
{
    const vtac_value_id inputs[] = {on, a, b};
    return add_node(m, VTAC_OP_WHERE, inputs, 3, out);
}

static vta_status add_input(const switch_maker *m, const vtac_type *type, vtac_value_id *out)
{
    return vtac_add_input(m->graph, "", type, out, m->diag);
}

/* ---- activations */

/* The inputs of one switch. */
typedef struct rounding_inputs {
    vtac_value_id on, scale, low, high;
} rounding_inputs;

static vta_status add_inputs(const switch_maker *m, rounding_inputs *out)
{
    const vtac_type number = {.dtype = VTAC_F32}, truth = {.dtype = VTAC_BOOL};
    VTA_TRY(add_input(m, &truth, &out->on));
    VTA_TRY(add_input(m, &number, &out->scale));
    VTA_TRY(add_input(m, &number, &out->low));
    return add_input(m, &number, &out->high);
}

/* The value as 8 bits have it, where it is on; `x` still goes where it went. */
static vta_status add_rounding(const switch_maker *m, vtac_value_id x, uint32_t *input, vtac_node_id users[2],
                               vtac_value_id *out)
{
    rounding_inputs in;
    vtac_value_id y;
    *input = m->graph->input_count;
    VTA_TRY(add_inputs(m, &in));
    VTA_TRY(add_pair(m, VTAC_OP_DIV, x, in.scale, &y));
    users[0] = m->graph->values[y].node;
    VTA_TRY(add_node(m, VTAC_OP_ROUND, &y, 1, &y));
    VTA_TRY(add_pair(m, VTAC_OP_MAX, y, in.low, &y));
    VTA_TRY(add_pair(m, VTAC_OP_MIN, y, in.high, &y));
    VTA_TRY(add_pair(m, VTAC_OP_MUL, y, in.scale, &y));
    VTA_TRY(add_choice(m, in.on, y, x, out));
    users[1] = m->graph->values[*out].node;
    return VTA_OK;
}

static vta_status switch_activation(const switch_maker *m, vtac_quant_switch *s, vtac_value_id *shown)
{
    const vtac_value_id x = m->now[s->value];
    vtac_node_id users[2];
    VTA_TRY(add_rounding(m, x, &s->input, users, shown));
    vtac_replace_uses(m->graph, x, *shown);
    VTA_TRY(vtac_set_input(m->graph, users[0], VTAC_BINARY_A, x, m->diag));
    return vtac_set_input(m->graph, users[1], VTAC_WHERE_Y, x, m->diag);
}

/* Constants among the operands of a node. */
static vta_status switch_constants(const switch_maker *m, vtac_node_id id)
{
    for (uint32_t i = 0; i < m->graph->nodes[id].input_count; i++) {
        const vtac_value_id x = m->graph->nodes[id].inputs[i];
        if (x == 0 || x >= m->plan->value_room || !m->plan->wanted[x] ||
            m->graph->values[x].constant == NULL) {
            continue;
        }
        vtac_quant_switch *s = &m->out->values[m->out->value_count++];
        vtac_node_id users[2];
        vtac_value_id y;
        *s = (vtac_quant_switch){.value = x, .node = id, .operand = i};
        VTA_TRY(add_rounding(m, x, &s->input, users, &y));
        VTA_TRY(vtac_set_input(m->graph, id, i, y, m->diag));
    }
    return VTA_OK;
}

/* ---- products */

/* [1, channels, 1 …], as the result has its channels. */
static vtac_type bias_type(const vtac_graph *g, const vtac_node *node, int64_t channels)
{
    vtac_type type = {.dtype = VTAC_F32, .rank = g->values[node->outputs[0]].type.rank};
    for (uint32_t i = 0; i < type.rank; i++) {
        type.dim[i] = i == 1 ? channels : 1;
    }
    return type;
}

/* The bias that the switch chooses, added to `y`. */
static vta_status add_bias(const switch_maker *m, const vtac_quant_dual *d, vtac_value_id on, vtac_value_id y,
                           vtac_value_id *out)
{
    const vtac_quant_product *p = &d->product;
    const vtac_type type = bias_type(m->graph, &m->graph->nodes[p->node], p->channels);
    float *real = vta_arena_array(&m->graph->arena, (size_t)p->channels + 1, sizeof *real);
    vtac_value_id floats, rounded, bias;
    if (real == NULL) {
        return vta_no_memory(m->diag);
    }
    for (int64_t c = 0; c < p->channels; c++) {
        real[c] = (float)d->bias[c];
    }
    const vtac_tensor tensor = {.type = type, .data = real, .bytes = (size_t)p->channels * sizeof *real};
    VTA_TRY(add_input(m, &type, &rounded));
    VTA_TRY(vtac_add_constant(m->graph, "", &tensor, &floats, m->diag));
    VTA_TRY(add_choice(m, on, rounded, floats, &bias));
    return add_pair(m, VTAC_OP_ADD, y, bias, out);
}

/* The same product by the weights `w`. */
static vta_status add_twin(const switch_maker *m, vtac_node_id id, vtac_value_id w, vtac_value_id *out)
{
    const vtac_node *node = &m->graph->nodes[id];
    vtac_value_id inputs[VTAC_PRODUCT_INPUTS] = {0};
    for (uint32_t i = 0; i < VTAC_PRODUCT_INPUTS; i++) {
        inputs[i] = i < node->input_count ? node->inputs[i] : 0;
    }
    inputs[VTAC_PRODUCT_WEIGHT] = w;
    const vtac_node_spec spec = {.op = node->op,
                                 .name = "",
                                 .inputs = inputs,
                                 .input_count = node->input_count,
                                 .output_count = 1,
                                 .attrs = node->attrs,
                                 .attr_count = node->attr_count};
    vtac_node_id twin;
    VTA_TRY(vtac_add_node(m->graph, &spec, &twin, m->diag));
    *out = m->graph->nodes[twin].outputs[0];
    return VTA_OK;
}

/* The product by rounded weights or by floats. The second choice changes nothing, but gives each product two
 * readers: neither is joined with what follows, and their loops stay equal. */
static vta_status add_choices(const switch_maker *m, vtac_quant_dual *d, vtac_value_id w)
{
    const vtac_type truth = {.dtype = VTAC_BOOL};
    const vtac_value_id y = m->graph->nodes[d->product.node].outputs[0];
    vtac_value_id on, floats, first, second, result;
    VTA_TRY(add_twin(m, d->product.node, w, &floats));
    d->input = m->graph->input_count;
    VTA_TRY(add_input(m, &truth, &on));
    VTA_TRY(add_choice(m, on, y, floats, &first));
    VTA_TRY(add_choice(m, on, first, floats, &second));
    result = second;
    if (d->bias != NULL) {
        VTA_TRY(add_bias(m, d, on, second, &result));
    }
    vtac_replace_uses(m->graph, y, result);
    m->now[y] = result;
    return vtac_set_input(m->graph, m->graph->values[first].node, VTAC_WHERE_X, y, m->diag);
}

static vta_status switch_product(const switch_maker *m, vtac_node_id id, const vtac_quant_width *width)
{
    vtac_quant_dual *d = &m->out->products[m->out->product_count++];
    const vtac_value_id w = m->graph->nodes[id].inputs[VTAC_PRODUCT_WEIGHT];
    bool usable = false;
    *d = (vtac_quant_dual){.product = {.node = id},
                           .w = m->graph->values[w].constant->data,
                           .group = vtac_attr_int(&m->graph->nodes[id], "group", 1),
                           .share = vtac_quant_tap_share(m->graph, &m->graph->nodes[id])};
    const vtac_value_id bias = m->graph->nodes[id].input_count > VTAC_PRODUCT_BIAS
                                   ? m->graph->nodes[id].inputs[VTAC_PRODUCT_BIAS]
                                   : 0;
    VTA_TRY(vtac_quant_round_product(m->plan, 1.0F, width, NULL, NULL, &d->product, m->diag));
    if (bias != 0) { /* in float again */
        VTA_TRY(vtac_set_input(m->graph, id, VTAC_PRODUCT_BIAS, bias, m->diag));
    }
    double *numbers = vtac_quant_read_bias(m->plan, &m->graph->nodes[id], &d->product, &usable);
    d->rounded = vta_arena_array(m->plan->arena, (size_t)d->product.channels + 1, sizeof *d->rounded);
    if (numbers == NULL || d->rounded == NULL) {
        return vta_no_memory(m->diag);
    }
    d->bias = usable ? numbers : NULL;
    if (usable && bias != 0) {
        VTA_TRY(vtac_set_input(m->graph, id, VTAC_PRODUCT_BIAS, 0, m->diag));
    }
    return add_choices(m, d, w);
}

/* ---- the whole */

static uint32_t count_constants(const vtac_quant_plan *plan)
{
    uint32_t count = 0;
    for (vtac_node_id n = 1; n < plan->node_room; n++) {
        count += plan->active[n] ? plan->graph->nodes[n].input_count : 0;
    }
    return count;
}

static vta_status make_room(switch_maker *m, uint32_t count)
{
    vta_arena *arena = m->plan->arena;
    m->out->values =
        vta_arena_array(arena, count + (size_t)count_constants(m->plan) + 1, sizeof *m->out->values);
    m->out->products = vta_arena_array(arena, m->plan->node_room, sizeof *m->out->products);
    m->now = vta_arena_array(arena, m->plan->value_room, sizeof *m->now);
    if (m->out->values == NULL || m->out->products == NULL || m->now == NULL) {
        return vta_no_memory(m->diag);
    }
    for (vtac_value_id v = 0; v < m->plan->value_room; v++) {
        m->now[v] = v;
    }
    return VTA_OK;
}

static vta_status make_switches(const switch_maker *m, const vtac_value_id *values, uint32_t count,
                                const vtac_quant_width *width, vtac_value_id *shown)
{
    uint32_t axis;
    for (vtac_node_id n = 1; n < m->plan->node_room; n++) {
        if (m->plan->active[n] && vtac_quant_is_product(m->graph, &m->graph->nodes[n], &axis)) {
            VTA_TRY(switch_product(m, n, width));
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        m->out->values[i] = (vtac_quant_switch){.value = values[i]};
        VTA_TRY(switch_activation(m, &m->out->values[i], &shown[i]));
    }
    m->out->value_count = m->out->observed = count;
    for (vtac_node_id n = 1; n < m->plan->node_room; n++) {
        if (m->plan->active[n] && m->plan->island[n] == 0) {
            VTA_TRY(switch_constants(m, n));
        }
    }
    return vtac_graph_sort(m->graph, m->diag);
}

vta_status vtac_quant_switches_open(const vtac_quant_plan *plan, const vtac_value_id *values, uint32_t count,
                                    const vtac_quant_width *width, vtac_quant_switches *out, vta_diag *diag)
{
    *out = (vtac_quant_switches){0};
    switch_maker m = {.graph = plan->graph, .plan = plan, .out = out, .diag = diag};
    vtac_value_id *shown = vta_arena_array(plan->arena, count + (size_t)1, sizeof *shown);
    vtac_quant_probe *pair[2];
    if (shown == NULL) {
        return vta_no_memory(diag);
    }
    VTA_TRY(make_room(&m, count));
    VTA_TRY(make_switches(&m, values, count, width, shown));
    VTA_TRY(vtac_quant_probe_open_pair(plan->graph, shown, count, pair, diag));
    out->floats = pair[0];
    out->probe = pair[1];
    return VTA_OK;
}

void vtac_quant_switches_close(vtac_quant_switches *s)
{
    vtac_quant_probe_close(s->floats);
    vtac_quant_probe_close(s->probe);
    s->floats = s->probe = NULL;
}

/* ---- switching */

static vta_status set_number(vtac_quant_probe *probe, uint32_t input, float number, vta_diag *diag)
{
    return vtac_quant_probe_set(probe, input, &number, sizeof number, diag);
}

static vta_status set_on(vtac_quant_probe *probe, uint32_t input, bool on, vta_diag *diag)
{
    const uint8_t truth = on;
    return vtac_quant_probe_set(probe, input, &truth, sizeof truth, diag);
}

vta_status vtac_quant_switch_value(const vtac_quant_switches *s, uint32_t i, vtac_dtype dtype, float scale,
                                   int32_t zero, vta_diag *diag)
{
    const uint32_t input = s->values[i].input;
    const int32_t low = dtype == VTAC_I8 ? INT8_MIN : 0;
    VTA_TRY(set_on(s->probe, input + ON, true, diag));
    VTA_TRY(set_number(s->probe, input + SCALE, scale, diag));
    VTA_TRY(set_number(s->probe, input + LOW, (float)(low - zero), diag));
    return set_number(s->probe, input + HIGH, (float)(low + UINT8_MAX - zero), diag);
}

vta_status vtac_quant_switch_product(const vtac_quant_switches *s, uint32_t i, float x_scale, vta_diag *diag)
{
    const vtac_quant_dual *d = &s->products[i];
    const vtac_quant_product *p = &d->product;
    VTA_TRY(set_on(s->probe, d->input + ON, true, diag));
    if (d->bias == NULL) {
        return VTA_OK;
    }
    for (int64_t c = 0; c < p->channels; c++) {
        const float unit = x_scale * p->scales[c];
        d->rounded[c] = (float)vtac_quant_bias_integer(d->bias[c], unit) * unit;
    }
    return vtac_quant_probe_set(s->probe, d->input + BIAS, d->rounded,
                                (size_t)p->channels * sizeof *d->rounded, diag);
}

static vta_status switch_off(const vtac_quant_switches *s, vtac_quant_probe *probe, vta_diag *diag)
{
    for (uint32_t i = 0; i < s->value_count; i++) {
        VTA_TRY(set_on(probe, s->values[i].input + ON, false, diag));
        VTA_TRY(set_number(probe, s->values[i].input + SCALE, 1.0F, diag));
    }
    for (uint32_t i = 0; i < s->product_count; i++) {
        VTA_TRY(set_on(probe, s->products[i].input + ON, false, diag));
    }
    return VTA_OK;
}

vta_status vtac_quant_switch_off(const vtac_quant_switches *s, vta_diag *diag)
{
    VTA_TRY(switch_off(s, s->floats, diag));
    return switch_off(s, s->probe, diag);
}
