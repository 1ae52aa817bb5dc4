/* SPDX-License-Identifier: Apache-2.0
 *
 * Einsum: the equation, letter by letter, against the shapes of the operands.
 */
#include <string.h>

#include "infer.h"

enum { LETTERS = 52 };

/* The label of a letter, or -1. */
static int label_of(char c)
{
    return c >= 'a' && c <= 'z' ? c - 'a' : c >= 'A' && c <= 'Z' ? 26 + c - 'A' : -1;
}

static bool ends_term(char c)
{
    return c == '\0' || c == ',' || c == '-';
}

static uint32_t letters_of(const char *term)
{
    uint32_t letters = 0;
    for (; !ends_term(*term); term++) {
        letters += label_of(*term) >= 0;
    }
    return letters;
}

/* Axis `axis` of operand `i` is `label`: sizes of one label agree, or are 1. */
static vta_status name_axis(vtac_einsum *e, const vtac_type *type, uint32_t i, uint32_t axis, uint32_t label,
                            vta_diag *diag)
{
    int64_t *known = &e->size[label];
    const int64_t size = type->dim[axis];
    if (*known >= 0 && *known != 1 && size != 1 && *known != size) {
        return vta_fail(diag, VTA_INVALID, "axis %u of operand %u has %lld places where another has %lld",
                        axis, i, (long long)size, (long long)*known);
    }
    *known = *known < 0 || *known == 1 ? size : *known;
    e->axis[i][axis] = (uint8_t)label;
    return VTA_OK;
}

/* The axes that "..." stands for, from `axis` on. */
static vta_status name_dots(vtac_einsum *e, const vtac_type *type, uint32_t i, uint32_t axis, uint32_t dots,
                            vta_diag *diag)
{
    for (uint32_t k = 0; k < dots && axis + k < type->rank; k++) {
        VTA_TRY(name_axis(e, type, i, axis + k, LETTERS + VTAC_MAX_RANK - dots + k, diag));
    }
    return VTA_OK;
}

static vta_status parse_term(const char **at, const vtac_type *type, uint32_t i, vtac_einsum *e,
                             vta_diag *diag)
{
    const char *s = *at;
    const uint32_t letters = letters_of(s);
    uint32_t axis = 0;
    for (; !ends_term(*s); s++) {
        const int label = label_of(*s);
        if (*s == ' ') {
            continue;
        }
        if (strncmp(s, "...", 3) == 0 && letters <= type->rank) {
            const uint32_t dots = type->rank - letters;
            VTA_TRY(name_dots(e, type, i, axis, dots, diag));
            axis = axis + dots < type->rank ? axis + dots : type->rank;
            s += 2;
        } else if (label < 0 || axis >= type->rank) {
            return vta_fail(diag, VTA_INVALID, "'%c' in the equation does not fit operand %u of rank %u", *s,
                            i, type->rank);
        } else {
            VTA_TRY(name_axis(e, type, i, axis++, (uint32_t)label, diag));
        }
    }
    *at = s;
    return axis == type->rank
               ? VTA_OK
               : vta_fail(diag, VTA_INVALID, "the equation names %u axes of operand %u of rank %u", axis, i,
                          type->rank);
}

static vta_status push_label(vtac_einsum *e, uint32_t label, vta_diag *diag)
{
    if (e->result_rank >= VTAC_MAX_RANK) {
        return vta_fail(diag, VTA_UNSUPPORTED, "the result has more than %d axes", VTAC_MAX_RANK);
    }
    e->result[e->result_rank++] = (uint8_t)label;
    return VTA_OK;
}

static vta_status push_dots(vtac_einsum *e, vta_diag *diag)
{
    for (uint32_t label = LETTERS; label < VTAC_EINSUM_LABELS; label++) {
        if (e->size[label] >= 0) {
            VTA_TRY(push_label(e, label, diag));
        }
    }
    return VTA_OK;
}

/* Reads the labels of the result, given behind the arrow. */
static vta_status given_result(const char *s, vtac_einsum *e, vta_diag *diag)
{
    for (; *s != '\0'; s++) {
        const int label = label_of(*s);
        if (strncmp(s, "...", 3) == 0) {
            VTA_TRY(push_dots(e, diag));
            s += 2;
        } else if (label >= 0 && e->size[label] >= 0 && memchr(e->result, label, e->result_rank) == NULL) {
            VTA_TRY(push_label(e, (uint32_t)label, diag));
        } else if (*s != ' ') {
            return vta_fail(diag, VTA_INVALID, "'%c' of the result occurs twice or in no operand", *s);
        }
    }
    return VTA_OK;
}

/* Without an arrow: the dots, then the letters that occur once, in the order of their codes. */
static vta_status implied_result(const char *equation, vtac_einsum *e, vta_diag *diag)
{
    VTA_TRY(push_dots(e, diag));
    for (int code = 'A'; code <= 'z'; code++) {
        const char c = (char)code;
        const char *first = label_of(c) < 0 ? NULL : strchr(equation, c);
        if (first != NULL && strchr(first + 1, c) == NULL) {
            VTA_TRY(push_label(e, (uint32_t)label_of(c), diag));
        }
    }
    return VTA_OK;
}

vta_status vtac_einsum_parse(const vtac_graph *graph, const vtac_node *node, vtac_einsum *out, vta_diag *diag)
{
    const char *equation = vtac_attr_string(node, "equation", "");
    const char *at = equation;
    *out = (vtac_einsum){.result_rank = 0};
    for (uint32_t i = 0; i < VTAC_EINSUM_LABELS; i++) {
        out->size[i] = -1;
    }
    if (node->input_count > VTAC_EINSUM_OPERANDS) {
        return vta_fail(diag, VTA_UNSUPPORTED, "%u operands, at most %d are supported", node->input_count,
                        VTAC_EINSUM_OPERANDS);
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        const vtac_type *in;
        VTA_TRY(vtac_need_type(graph, node, i, &in, diag));
        VTA_TRY(parse_term(&at, in, i, out, diag));
        if ((*at == ',') == (i + 1 == node->input_count)) {
            return vta_fail(diag, VTA_INVALID, "equation '%s' does not have %u operands", equation,
                            node->input_count);
        }
        at += *at == ',';
    }
    if (*at == '\0') {
        return implied_result(equation, out, diag);
    }
    return at[1] == '>' ? given_result(at + 2, out, diag)
                        : vta_fail(diag, VTA_INVALID, "equation '%s' has a '-' without '>'", equation);
}

vta_status vtac_infer_einsum(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    vtac_einsum e;
    VTA_TRY(vtac_einsum_parse(graph, node, &e, diag));
    out[0] = (vtac_type){.dtype = vtac_in_type(graph, node, 0)->dtype, .rank = e.result_rank};
    for (uint32_t i = 0; i < e.result_rank; i++) {
        out[0].dim[i] = e.size[e.result[i]];
    }
    return VTA_OK;
}
