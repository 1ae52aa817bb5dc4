/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph as text. One line each: inputs, constants, nodes in execution order, outputs.
 *
 *   graph "mnist"
 *   input  %Input3: f32[1,1,28,28]
 *   const  %Parameter5: f32[8,1,5,5] = sum 5d8f3a10
 *   const  %shape: i64[2] = [1, 256]
 *   %conv: f32[1,8,28,28] = Conv(%Input3, %Parameter5) {auto_pad="SAME_UPPER", kernel_shape=[5, 5]}  #
 * Convolution28 output %Plus214_Output_0
 *
 * Names that are no plain words are quoted. Large constants are named by their checksum.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "vta/str.h"
#include "vtac/graph.h"

static bool is_plain(const char *name)
{
    if (name[0] == '\0') {
        return false;
    }
    for (const char *p = name; *p != '\0'; p++) {
        const bool word = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9');
        if (!word && strchr("_./:-", *p) == NULL) {
            return false;
        }
    }
    return true;
}

static void put_quoted(vta_str *out, const char *text)
{
    vta_str_put(out, "\"");
    for (const char *p = text; *p != '\0'; p++) {
        const unsigned char c = (unsigned char)*p;
        if (c == '"' || c == '\\') {
            vta_str_printf(out, "\\%c", c);
        } else if (c < 0x20 || c == 0x7f) {
            vta_str_printf(out, "\\x%02x", c);
        } else {
            vta_str_append(out, p, 1);
        }
    }
    vta_str_put(out, "\"");
}

static void put_value(vta_str *out, const vtac_graph *graph, vtac_value_id id)
{
    if (id == 0) {
        vta_str_put(out, "_");
        return;
    }
    vta_str_put(out, "%");
    const char *name = graph->values[id].name;
    if (is_plain(name)) {
        vta_str_put(out, name);
    } else {
        put_quoted(out, name);
    }
}

static void put_typed(vta_str *out, const vtac_graph *graph, vtac_value_id id)
{
    char text[200];
    put_value(out, graph, id);
    vta_str_printf(out, ": %s", vtac_type_text(&graph->values[id].type, text, sizeof text));
}

static void put_number(vta_str *out, const vtac_tensor *tensor, int64_t i)
{
    if (vtac_dtype_kind(tensor->type.dtype) == 'f') {
        vta_str_printf(out, "%.17g", vtac_tensor_float(tensor, i));
    } else {
        vta_str_printf(out, "%" PRId64, vtac_tensor_int(tensor, i));
    }
}

static uint32_t checksum(const vtac_tensor *tensor)
{
    uint32_t hash = 2166136261U;
    const unsigned char *bytes = tensor->data;
    for (size_t i = 0; i < tensor->bytes; i++) {
        hash = (hash ^ bytes[i]) * 16777619U;
    }
    return hash;
}

static void put_contents(vta_str *out, const vtac_tensor *tensor, int64_t inline_limit)
{
    const int64_t count = vtac_type_elements(&tensor->type);
    if (count > inline_limit) {
        vta_str_printf(out, "sum %08x", checksum(tensor));
        return;
    }
    vta_str_put(out, "[");
    for (int64_t i = 0; i < count; i++) {
        vta_str_put(out, i == 0 ? "" : ", ");
        put_number(out, tensor, i);
    }
    vta_str_put(out, "]");
}

static void put_attr(vta_str *out, const vtac_attr *attr, int64_t inline_limit)
{
    char text[200];
    vta_str_printf(out, "%s=", attr->name);
    switch (attr->kind) {
    case VTAC_ATTR_INT: vta_str_printf(out, "%" PRId64, attr->i); break;
    case VTAC_ATTR_FLOAT: vta_str_printf(out, "%.9gf", attr->f); break;
    case VTAC_ATTR_STRING: put_quoted(out, attr->s); break;
    case VTAC_ATTR_TENSOR:
        vta_str_printf(out, "%s ", vtac_type_text(&attr->tensor.type, text, sizeof text));
        put_contents(out, &attr->tensor, inline_limit);
        break;
    case VTAC_ATTR_INTS:
    case VTAC_ATTR_FLOATS:
    case VTAC_ATTR_STRINGS:
        vta_str_put(out, "[");
        for (size_t i = 0; i < attr->count; i++) {
            vta_str_put(out, i == 0 ? "" : ", ");
            if (attr->kind == VTAC_ATTR_INTS) {
                vta_str_printf(out, "%" PRId64, attr->ints[i]);
            } else if (attr->kind == VTAC_ATTR_FLOATS) {
                vta_str_printf(out, "%.9gf", attr->floats[i]);
            } else {
                put_quoted(out, attr->strings[i]);
            }
        }
        vta_str_put(out, "]");
        break;
    }
}

static void put_node(vta_str *out, const vtac_graph *graph, const vtac_node *node, int64_t inline_limit)
{
    const vtac_op_info *op = vtac_op_get(node->op);
    for (uint32_t i = 0; i < node->output_count; i++) {
        vta_str_put(out, i == 0 ? "" : ", ");
        put_typed(out, graph, node->outputs[i]);
    }
    vta_str_printf(out, " = %s%s%s(", op->domain, op->domain[0] != '\0' ? "." : "", op->name);
    for (uint32_t i = 0; i < node->input_count; i++) {
        vta_str_put(out, i == 0 ? "" : ", ");
        put_value(out, graph, node->inputs[i]);
    }
    vta_str_put(out, ")");
    for (uint32_t i = 0; i < node->attr_count; i++) {
        vta_str_put(out, i == 0 ? " {" : ", ");
        put_attr(out, &node->attrs[i], inline_limit);
    }
    vta_str_put(out, node->attr_count > 0 ? "}" : "");
    if (node->name[0] != '\0') {
        vta_str_put(out, "  # ");
        put_quoted(out, node->name);
    }
    vta_str_put(out, "\n");
}

char *vtac_graph_print(const vtac_graph *graph, int64_t inline_limit)
{
    vta_str out = {0};
    vta_str_put(&out, "graph ");
    put_quoted(&out, graph->name);
    vta_str_put(&out, "\n");
    for (uint32_t i = 0; i < graph->input_count; i++) {
        vta_str_put(&out, "input  ");
        put_typed(&out, graph, graph->inputs[i]);
        vta_str_put(&out, "\n");
    }
    for (vtac_value_id v = 1; v <= graph->value_count; v++) {
        const vtac_value *value = &graph->values[v];
        if (value->constant != NULL && !value->dead) {
            vta_str_put(&out, "const  ");
            put_typed(&out, graph, v);
            vta_str_put(&out, " = ");
            put_contents(&out, value->constant, inline_limit);
            vta_str_put(&out, "\n");
        }
    }
    for (uint32_t i = 0; i < graph->order_count; i++) {
        put_node(&out, graph, &graph->nodes[graph->order[i]], inline_limit);
    }
    for (uint32_t i = 0; i < graph->output_count; i++) {
        vta_str_put(&out, "output ");
        put_value(&out, graph, graph->outputs[i]);
        vta_str_put(&out, "\n");
    }
    return vta_str_take(&out);
}
