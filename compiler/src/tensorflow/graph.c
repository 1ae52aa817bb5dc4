/* SPDX-License-Identifier: Apache-2.0 */
#include "graph.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "import.h"
#include "vta/fail.h"

vta_status vtac_tf_room(vta_arena *arena, size_t count, size_t size, void *out, vta_diag *diag)
{
    void *room = vta_arena_array(arena, count == 0 ? 1 : count, size);
    if (room == NULL) {
        return vta_no_memory(diag);
    }
    memset(room, 0, (count == 0 ? 1 : count) * size);
    memcpy(out, &room, sizeof room);
    return VTA_OK;
}

vta_status vtac_tf_copy(vta_arena *arena, const void *text, size_t size, const char **out, vta_diag *diag)
{
    char *copy = vta_arena_string(arena, text, size);
    *out = copy;
    for (size_t i = 0; copy != NULL && i < size; i++) {
        copy[i] = isprint((unsigned char)copy[i]) == 0 ? '_' : copy[i];
    }
    return copy == NULL ? vta_no_memory(diag) : VTA_OK;
}

/* ---- types */

static const struct {
    const char *name;
    vtac_dtype dtype;
} types[] = {
    {"DT_INVALID", VTAC_NO_DTYPE},
    {"DT_FLOAT", VTAC_F32},
    {"DT_DOUBLE", VTAC_F64},
    {"DT_INT32", VTAC_I32},
    {"DT_UINT8", VTAC_U8},
    {"DT_INT16", VTAC_I16},
    {"DT_INT8", VTAC_I8},
    {"DT_STRING", VTAC_NO_DTYPE},
    {"DT_COMPLEX64", VTAC_NO_DTYPE},
    {"DT_INT64", VTAC_I64},
    {"DT_BOOL", VTAC_BOOL},
    {"DT_QINT8", VTAC_I8},
    {"DT_QUINT8", VTAC_U8},
    {"DT_QINT32", VTAC_I32},
    {"DT_BFLOAT16", VTAC_BF16},
    {"DT_QINT16", VTAC_I16},
    {"DT_QUINT16", VTAC_U16},
    {"DT_UINT16", VTAC_U16},
    {"DT_COMPLEX128", VTAC_NO_DTYPE},
    {"DT_HALF", VTAC_F16},
    {"DT_RESOURCE", VTAC_NO_DTYPE},
    {"DT_VARIANT", VTAC_NO_DTYPE},
    {"DT_UINT32", VTAC_U32},
    {"DT_UINT64", VTAC_U64},
};

vtac_dtype vtac_tf_dtype(int64_t number)
{
    number -= number > TF_REFERENCE ? TF_REFERENCE : 0;
    return number < 0 || (size_t)number >= sizeof types / sizeof types[0] ? VTAC_NO_DTYPE
                                                                          : types[number].dtype;
}

int64_t vtac_tf_dtype_number(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i].name, name) == 0) {
            return (int64_t)i;
        }
    }
    return 0;
}

/* ---- names */

typedef struct sorted_name {
    const char *name;
    uint32_t node;
} sorted_name;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const sorted_name *)a)->name, ((const sorted_name *)b)->name);
}

static vta_status sort_names(const vtac_tf_graph *g, vtac_tf_function *f, vta_diag *diag)
{
    sorted_name *sorted = calloc(f->node_count == 0 ? 1 : f->node_count, sizeof *sorted);
    vta_status status = vtac_tf_room(g->arena, f->node_count, sizeof *f->by_name, &f->by_name, diag);
    if (status != VTA_OK || sorted == NULL) {
        free(sorted);
        return status == VTA_OK ? vta_no_memory(diag) : status;
    }
    for (uint32_t i = 0; i < f->node_count; i++) {
        sorted[i] = (sorted_name){f->nodes[i].name, i};
    }
    qsort(sorted, f->node_count, sizeof *sorted, by_name);
    for (uint32_t i = 0; i < f->node_count && status == VTA_OK; i++) {
        f->by_name[i] = sorted[i].node;
        if (i > 0 && strcmp(sorted[i].name, sorted[i - 1].name) == 0) {
            status = vta_fail(diag, VTA_INVALID, "two nodes are called '%.100s'", sorted[i].name);
        }
    }
    free(sorted);
    return status;
}

/* Outputs that are not the first of their node, by the name that functions call them by. */
static uint32_t place_of_output(const char *name, size_t length)
{
    static const struct {
        const char *name;
        uint32_t place;
    } places[] = {{"batch_mean", 1},
                  {"batch_variance", 2},
                  {"reserve_space_1", 3},
                  {"reserve_space_2", 4},
                  {"reserve_space_3", 5},
                  {"indices", 1},
                  {"argmax", 1},
                  {"output_true", 1},
                  {"value_index", 1},
                  {"output_max", 2},
                  {"output_min", 1},
                  {"idx", 1},
                  {"flow", 1}};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (strlen(places[i].name) == length && strncmp(places[i].name, name, length) == 0) {
            return places[i].place;
        }
    }
    return 0;
}

static int compare_name(const char *text, size_t length, const char *name)
{
    const int order = strncmp(text, name, length);
    return order != 0 ? order : name[length] == '\0' ? 0 : -1;
}

static int32_t find_node(const vtac_tf_function *f, const char *text, size_t length)
{
    uint32_t low = 0;
    uint32_t high = f->node_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const int order = compare_name(text, length, f->nodes[f->by_name[middle]].name);
        if (order == 0) {
            return (int32_t)f->by_name[middle];
        }
        low = order > 0 ? middle + 1 : low;
        high = order > 0 ? high : middle;
    }
    for (uint32_t i = 0; i < f->arg_count; i++) {
        if (compare_name(text, length, f->args[i]) == 0) {
            return -1 - (int32_t)i;
        }
    }
    return TF_NOWHERE;
}

vtac_tf_ref vtac_tf_find(const vtac_tf_function *f, const char *text)
{
    const size_t length = strcspn(text, ":");
    vtac_tf_ref ref = {.node = find_node(f, text, length), .text = text};
    const char *rest = text[length] == ':' ? text + length + 1 : "0";
    const char *colon = strchr(rest, ':');
    char *end = NULL;
    const unsigned long place = strtoul(colon == NULL ? rest : colon + 1, &end, 10);
    ref.out = (colon == NULL ? 0 : place_of_output(rest, (size_t)(colon - rest))) + (uint32_t)place;
    ref.node = *end != '\0' || place > UINT16_MAX ? TF_NOWHERE : ref.node;
    return ref;
}

vta_status vtac_tf_resolve(const vtac_tf_graph *g, vtac_tf_function *f, vta_diag *diag)
{
    VTA_TRY(sort_names(g, f, diag));
    for (uint32_t i = 0; i < f->node_count; i++) {
        vtac_tf_node *node = &f->nodes[i];
        node->row = vtac_tf_operator_find(node->op);
        for (uint32_t k = 0; k < node->input_count; k++) {
            node->inputs[k] = vtac_tf_find(f, node->inputs[k].text);
        }
    }
    for (uint32_t i = 0; i < f->out_count; i++) {
        f->results[i] = vtac_tf_find(f, f->results[i].text);
    }
    return VTA_OK;
}

const vtac_tf_function *vtac_tf_function_find(const vtac_tf_graph *g, const char *name)
{
    for (uint32_t i = 0; i < g->library_count; i++) {
        if (strcmp(g->library[i].name, name) == 0) {
            return &g->library[i];
        }
    }
    return NULL;
}

/* ---- attributes */

const vtac_tf_attr *vtac_tf_attr_find(const vtac_tf_node *node, const char *name)
{
    for (uint32_t i = 0; i < node->attr_count; i++) {
        if (strcmp(node->attrs[i].name, name) == 0) {
            return &node->attrs[i];
        }
    }
    return NULL;
}

int64_t vtac_tf_int(const vtac_tf_node *node, const char *name, int64_t otherwise)
{
    const vtac_tf_attr *attr = vtac_tf_attr_find(node, name);
    return attr == NULL ? otherwise : attr->number;
}

double vtac_tf_real(const vtac_tf_node *node, const char *name, double otherwise)
{
    const vtac_tf_attr *attr = vtac_tf_attr_find(node, name);
    return attr == NULL ? otherwise : attr->real;
}

const char *vtac_tf_text(const vtac_tf_node *node, const char *name, const char *otherwise)
{
    const vtac_tf_attr *attr = vtac_tf_attr_find(node, name);
    return attr == NULL || attr->text == NULL || attr->text[0] == '\0' ? otherwise : attr->text;
}
