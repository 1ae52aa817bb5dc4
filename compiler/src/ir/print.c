/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph as text. One line each: inputs, constants, nodes in execution order, outputs.
 *
 *   graph "mnist"
 *   input  %Input3: f32[1,1,28,28]
 *   const  %Parameter5: f32[8,1,5,5] = sum 5d8f3a10
 *   const  %shape: i64[2] = [1, 256]
 *   const  %w: i8[64] = base64 "AAEC..."
 *   %conv: f32[1,8,28,28] = Conv(%Input3, %Parameter5, _) {auto_pad="VALID", strides=[1, 1]}  # "conv1" @0
 *   output %conv
 *
 * Names that are no plain words are quoted. Large constants are named by their checksum, for reading, or
 * written in base64 (little endian, row-major), for reading back. `_` is an absent input. Attributes tell
 * their kind by how they are written: 1, 1.5f, "text", [1, 2], [1.5f], ["a"], i64[1] [7]; empty lists [],
 * []f, []s. A node ends with its name and its place in the model. A line that begins with # is a comment.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "vta/hash.h"
#include "vta/str.h"
#include "vtac/graph.h"

/* State of a printer, with the limit of elements that are written out of a tensor. */
typedef struct printer {
    vta_str out;
    const vtac_graph *graph;
    int64_t inline_limit;
    bool whole; /* what is above the limit in base64, otherwise its checksum */
} printer;

static bool is_plain(const char *name)
{
    if (name[0] == '\0') {
        return false;
    }
    for (const char *p = name; *p != '\0'; p++) {
        const bool word = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9');
        if (!word && strchr("_./-", *p) == NULL) {
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

static void put_name(vta_str *out, const char *name)
{
    if (is_plain(name)) {
        vta_str_put(out, name);
    } else {
        put_quoted(out, name);
    }
}

static void put_value(vta_str *out, const vtac_graph *graph, vtac_value_id id)
{
    if (id == 0) {
        vta_str_put(out, "_");
        return;
    }
    vta_str_put(out, "%");
    put_name(out, graph->values[id].name);
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
        vta_str_printf(out, "%.*g", tensor->type.dtype == VTAC_F64 ? 17 : 9, vtac_tensor_float(tensor, i));
    } else if (vtac_dtype_kind(tensor->type.dtype) == 'n') { /* the byte that codes it */
        vta_str_printf(out, "%u", ((const uint8_t *)tensor->data)[i]);
    } else {
        vta_str_printf(out, "%" PRId64, vtac_tensor_int(tensor, i));
    }
}

/* Three bytes as four digits; fewer at the end. */
static void encode_base64(const unsigned char *bytes, size_t left, char *to)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint32_t group = (uint32_t)bytes[0] << 16 | (left > 1 ? (uint32_t)bytes[1] << 8 : 0U) |
                           (left > 2 ? (uint32_t)bytes[2] : 0U);
    to[0] = digits[group >> 18];
    to[1] = digits[group >> 12 & 63];
    to[2] = (char)(left > 1 ? digits[group >> 6 & 63] : '=');
    to[3] = (char)(left > 2 ? digits[group & 63] : '=');
}

static void put_base64(vta_str *out, const unsigned char *bytes, size_t size)
{
    char text[4096];
    size_t used = 0;
    vta_str_put(out, "base64 \"");
    for (size_t i = 0; i < size; i += 3) {
        encode_base64(bytes + i, size - i, text + used);
        used += 4;
        if (used == sizeof text) {
            vta_str_append(out, text, used);
            used = 0;
        }
    }
    vta_str_append(out, text, used);
    vta_str_put(out, "\"");
}

static void put_contents(printer *p, const vtac_tensor *tensor)
{
    const int64_t count = vtac_type_elements(&tensor->type);
    if (count > p->inline_limit && p->whole) {
        put_base64(&p->out, tensor->data, tensor->bytes);
        return;
    }
    if (count > p->inline_limit) {
        vta_str_printf(&p->out, "sum %08x", vta_hash32_bytes(VTA_HASH32_START, tensor->data, tensor->bytes));
        return;
    }
    vta_str_put(&p->out, "[");
    for (int64_t i = 0; i < count; i++) {
        vta_str_put(&p->out, i == 0 ? "" : ", ");
        put_number(&p->out, tensor, i);
    }
    vta_str_put(&p->out, "]");
}

static void put_list(vta_str *out, const vtac_attr *attr)
{
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
    if (attr->count == 0 && attr->kind != VTAC_ATTR_INTS) {
        vta_str_put(out, attr->kind == VTAC_ATTR_FLOATS ? "f" : "s");
    }
}

static void put_attr(printer *p, const vtac_attr *attr)
{
    char text[200];
    put_name(&p->out, attr->name);
    vta_str_put(&p->out, "=");
    switch (attr->kind) {
    case VTAC_ATTR_INT: vta_str_printf(&p->out, "%" PRId64, attr->i); break;
    case VTAC_ATTR_FLOAT: vta_str_printf(&p->out, "%.9gf", attr->f); break;
    case VTAC_ATTR_STRING: put_quoted(&p->out, attr->s); break;
    case VTAC_ATTR_TENSOR:
        vta_str_printf(&p->out, "%s ", vtac_type_text(&attr->tensor.type, text, sizeof text));
        put_contents(p, &attr->tensor);
        break;
    case VTAC_ATTR_INTS:
    case VTAC_ATTR_FLOATS:
    case VTAC_ATTR_STRINGS: put_list(&p->out, attr); break;
    }
}

static void put_node(printer *p, const vtac_node *node)
{
    const vtac_op_info *op = vtac_op_get(node->op);
    for (uint32_t i = 0; i < node->output_count; i++) {
        vta_str_put(&p->out, i == 0 ? "" : ", ");
        put_typed(&p->out, p->graph, node->outputs[i]);
    }
    vta_str_printf(&p->out, " = %s%s%s(", op->domain, op->domain[0] != '\0' ? "." : "", op->name);
    for (uint32_t i = 0; i < node->input_count; i++) {
        vta_str_put(&p->out, i == 0 ? "" : ", ");
        put_value(&p->out, p->graph, node->inputs[i]);
    }
    vta_str_put(&p->out, ")");
    for (uint32_t i = 0; i < node->attr_count; i++) {
        vta_str_put(&p->out, i == 0 ? " {" : ", ");
        put_attr(p, &node->attrs[i]);
    }
    vta_str_put(&p->out, node->attr_count > 0 ? "}  # " : "  # ");
    put_quoted(&p->out, node->name);
    vta_str_printf(&p->out, " @%u\n", node->origin);
}

static char *print_graph(const vtac_graph *graph, int64_t inline_limit, bool whole)
{
    printer p = {.graph = graph, .inline_limit = inline_limit, .whole = whole};
    vta_str_put(&p.out, "graph ");
    put_quoted(&p.out, graph->name);
    vta_str_put(&p.out, "\n");
    for (uint32_t i = 0; i < graph->input_count; i++) {
        vta_str_put(&p.out, "input  ");
        put_typed(&p.out, graph, graph->inputs[i]);
        vta_str_put(&p.out, "\n");
    }
    for (vtac_value_id v = 1; v <= graph->value_count; v++) {
        const vtac_value *value = &graph->values[v];
        if (value->constant != NULL && !value->dead) {
            vta_str_put(&p.out, "const  ");
            put_typed(&p.out, graph, v);
            vta_str_put(&p.out, " = ");
            put_contents(&p, value->constant);
            vta_str_put(&p.out, "\n");
        }
    }
    for (uint32_t i = 0; i < graph->order_count; i++) {
        put_node(&p, &graph->nodes[graph->order[i]]);
    }
    for (uint32_t i = 0; i < graph->output_count; i++) {
        vta_str_put(&p.out, "output ");
        put_value(&p.out, graph, graph->outputs[i]);
        vta_str_put(&p.out, "\n");
    }
    return vta_str_take(&p.out);
}

char *vtac_graph_print(const vtac_graph *graph, int64_t inline_limit)
{
    return print_graph(graph, inline_limit, false);
}

char *vtac_graph_write(const vtac_graph *graph, int64_t inline_limit)
{
    return print_graph(graph, inline_limit, true);
}
