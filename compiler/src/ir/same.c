/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of two graphs that are the same.
 */
#include <string.h>

#include "vtac/graph.h"

bool vtac_same_tensor(const vtac_tensor *a, const vtac_tensor *b)
{
    return vtac_type_equal(&a->type, &b->type) && memcmp(a->data, b->data, a->bytes) == 0;
}

static bool same_list(const vtac_attr *a, const vtac_attr *b)
{
    for (size_t i = 0; i < a->count; i++) {
        const bool same = a->kind == VTAC_ATTR_INTS     ? a->ints[i] == b->ints[i]
                          : a->kind == VTAC_ATTR_FLOATS ? a->floats[i] == b->floats[i]
                                                        : strcmp(a->strings[i], b->strings[i]) == 0;
        if (!same) {
            return false;
        }
    }
    return true;
}

static bool same_attr(const vtac_attr *a, const vtac_attr *b)
{
    if (strcmp(a->name, b->name) != 0 || a->kind != b->kind) {
        return false;
    }
    switch (a->kind) {
    case VTAC_ATTR_INT: return a->i == b->i;
    case VTAC_ATTR_FLOAT: return a->f == b->f;
    case VTAC_ATTR_STRING: return strcmp(a->s, b->s) == 0;
    case VTAC_ATTR_TENSOR: return vtac_same_tensor(&a->tensor, &b->tensor);
    case VTAC_ATTR_INTS:
    case VTAC_ATTR_FLOATS:
    case VTAC_ATTR_STRINGS: return a->count == b->count && same_list(a, b);
    }
    return false;
}

bool vtac_same_form(const vtac_node *a, const vtac_node *b)
{
    bool same = a->op == b->op && a->input_count == b->input_count && a->output_count == b->output_count &&
                a->attr_count == b->attr_count;
    for (uint32_t i = 0; same && i < a->attr_count; i++) {
        same = same_attr(&a->attrs[i], &b->attrs[i]);
    }
    return same;
}
