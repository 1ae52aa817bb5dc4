/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of recurrent cells by name, with the parameters that attributes give them.
 */
#include <string.h>

#include "point.h"
#include "recurrent.h"

/* Most are operators of their own; Affine and ScaledTanh are not. */
static const struct {
    const char *name;
    vtac_op op; /* VTAC_OP_COUNT: composed below */
    bool has_alpha, has_beta;
} functions[] = {
    {"Affine", VTAC_OP_COUNT, true, true},
    {"Elu", VTAC_OP_ELU, true, false},
    {"HardSigmoid", VTAC_OP_HARD_SIGMOID, true, true},
    {"LeakyRelu", VTAC_OP_LEAKY_RELU, true, false},
    {"Relu", VTAC_OP_RELU, false, false},
    {"ScaledTanh", VTAC_OP_COUNT, true, true},
    {"Sigmoid", VTAC_OP_SIGMOID, false, false},
    {"Softplus", VTAC_OP_SOFTPLUS, false, false},
    {"Softsign", VTAC_OP_SOFTSIGN, false, false},
    {"Tanh", VTAC_OP_TANH, false, false},
    {"ThresholdedRelu", VTAC_OP_THRESHOLDED_RELU, true, false},
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

static size_t function_by(const char *name)
{
    size_t i = 0;
    while (i < FUNCTIONS && strcmp(functions[i].name, name) != 0) {
        i++;
    }
    return i;
}

/* The next of a list of parameters; they are used up in the order of the functions that take one. */
static bool next_parameter(const vtac_node *n, const char *name, size_t *used, double *out)
{
    const vtac_attr *list = vtac_find_attr(n, name);
    if (list == NULL || list->kind != VTAC_ATTR_FLOATS || *used >= list->count) {
        return false;
    }
    *out = list->floats[(*used)++];
    return true;
}

vta_status vtac_gates_of(vtac_lower *l, const vtac_recurrence *r, vtac_cell *cell)
{
    static const char *const usual[][3] = {{"Tanh"}, {"Sigmoid", "Tanh"}, {"Sigmoid", "Tanh", "Tanh"}};
    const uint32_t each = l->node->op == VTAC_OP_RNN ? 1 : l->node->op == VTAC_OP_GRU ? 2 : 3;
    const vtac_attr *names = vtac_find_attr(l->node, "activations");
    const bool given = names != NULL && names->kind == VTAC_ATTR_STRINGS && names->count > 0;
    size_t alphas = 0;
    size_t betas = 0;
    if (given && names->count != each * (size_t)r->directions) {
        return vta_fail(l->diag, VTA_INVALID, "%zu activations, expected %u for each of %lld directions",
                        names->count, each, (long long)r->directions);
    }
    for (uint32_t i = 0; i < each * (uint32_t)r->directions; i++) {
        vtac_gate_function gate = {.name = given ? names->strings[i] : usual[each - 1][i % each]};
        const size_t which = function_by(gate.name);
        if (which == FUNCTIONS) {
            return vta_fail(l->diag, VTA_UNSUPPORTED, "the activation '%.64s' is not known", gate.name);
        }
        gate.has_alpha =
            functions[which].has_alpha && next_parameter(l->node, "activation_alpha", &alphas, &gate.alpha);
        gate.has_beta =
            functions[which].has_beta && next_parameter(l->node, "activation_beta", &betas, &gate.beta);
        if (i / each == (uint32_t)cell->direction) {
            cell->gate[i % each] = gate;
        }
    }
    cell->clip = vtac_attr_float(l->node, "clip", 0.0);
    return VTA_OK;
}

/* alpha * x + beta, alpha * tanh(beta * x) */
static const vtac_expr *compose_gate(vtac_lower *l, const vtac_gate_function *gate, const vtac_expr *x)
{
    const bool affine = gate->name[0] == 'A';
    const vtac_dtype type = x == NULL ? VTAC_F32 : x->type;
    const vtac_expr *alpha = vtac_e_float(l->k, type, gate->has_alpha ? gate->alpha : 1.0);
    const vtac_expr *beta = vtac_e_float(l->k, type, gate->has_beta ? gate->beta : affine ? 0.0 : 1.0);
    if (affine) {
        return vtac_e2(l->k, VTAC_E_ADD, vtac_e2(l->k, VTAC_E_MUL, alpha, x), beta);
    }
    const vtac_expr *inner = vtac_e1(l->k, VTAC_E_TANH, vtac_e2(l->k, VTAC_E_MUL, beta, x));
    return vtac_e2(l->k, VTAC_E_MUL, alpha, inner);
}

const vtac_expr *vtac_gate(const vtac_cell *cell, uint32_t which, const vtac_expr *sum)
{
    vtac_lower *l = cell->l;
    const vtac_gate_function *gate = &cell->gate[which];
    const size_t function = function_by(gate->name);
    if (cell->clip > 0.0) {
        const vtac_dtype type = sum == NULL ? VTAC_F32 : sum->type;
        sum = vtac_e2(l->k, VTAC_E_MAX, vtac_e_float(l->k, type, -cell->clip), sum);
        sum = vtac_e2(l->k, VTAC_E_MIN, vtac_e_float(l->k, type, cell->clip), sum);
    }
    const vtac_expr *x = vtac_let(l->k, "gate", sum);
    if (functions[function].op == VTAC_OP_COUNT) {
        return compose_gate(l, gate, x);
    }
    vtac_attr attrs[2];
    uint32_t count = 0;
    if (gate->has_alpha) {
        attrs[count++] = (vtac_attr){.name = "alpha", .kind = VTAC_ATTR_FLOAT, .f = gate->alpha};
    }
    if (gate->has_beta) {
        attrs[count++] = (vtac_attr){.name = "beta", .kind = VTAC_ATTR_FLOAT, .f = gate->beta};
    }
    const vtac_node node = {.op = functions[function].op, .attrs = attrs, .attr_count = count};
    return vtac_unary(l, &node, x);
}
