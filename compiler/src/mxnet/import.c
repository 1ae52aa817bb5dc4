/* SPDX-License-Identifier: Apache-2.0
 *
 * MXNet: a symbol, which is JSON, and a file of arrays. A node has its inputs by number and its attributes as
 * texts, under "attrs", "attr" or "param". Nodes without an operator are the arrays of their names, or else
 * inputs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../import/pair.h"
#include "mxnet.h"
#include "vta/fail.h"

enum { MAX_NODES = 1 << 16 };

typedef struct mxnet_kind {
    const char *name, *how;
    uint32_t min, max;
    vtac_mxnet_make_fn *make;
} mxnet_kind;

static const mxnet_kind kinds[] = {
#define VTAC_MXNET_OP(group, name, min, max, fn, how) {name, how, min, max, vtac_mxnet_make_##fn},
#include "operators.def"
};

/* A node that was imported: its values. */
typedef struct mxnet_made {
    vtac_id *values;
    uint32_t count;
    bool wanted; /* some operator needs it */
} mxnet_made;

typedef struct mxnet_graph {
    const cJSON **nodes;
    mxnet_made *made;
    uint32_t count;
} mxnet_graph;

static const mxnet_kind *kind_of(const char *op)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].name, op) == 0) {
            return &kinds[i];
        }
    }
    return NULL;
}

static const char *text_of(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsString(item) ? item->valuestring : "";
}

/* ---- attributes */

const char *vtac_mxnet_text(const vtac_mxnet *x, const char *name)
{
    static const char *const spellings[] = {"attrs", "param", "attr"};
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        const char *text = text_of(cJSON_GetObjectItemCaseSensitive(x->node, spellings[i]), name);
        if (text[0] != '\0') {
            return strcmp(text, "None") == 0 ? NULL : text;
        }
    }
    return NULL;
}

double vtac_mxnet_real(vtac_mxnet *x, const char *name, double otherwise)
{
    const char *text = vtac_mxnet_text(x, name);
    char *end = NULL;
    const double value = text == NULL ? otherwise : strtod(text, &end);
    if (text != NULL && (end == text || *end != '\0')) {
        vtac_make_fail(&x->net.maker, VTA_INVALID, "%s '%.40s' is no number", name, text);
        return otherwise;
    }
    return value;
}

int64_t vtac_mxnet_int(vtac_mxnet *x, const char *name, int64_t otherwise, int64_t min, int64_t max)
{
    const double value = vtac_mxnet_real(x, name, (double)otherwise);
    if (!(value >= (double)min && value <= (double)max) || value != (double)(int64_t)value) {
        vtac_make_fail(&x->net.maker, VTA_RANGE, "%s is %g, expected %lld to %lld", name, value,
                       (long long)min, (long long)max);
        return min;
    }
    return (int64_t)value;
}

bool vtac_mxnet_flag(const vtac_mxnet *x, const char *name, bool otherwise)
{
    const char *text = vtac_mxnet_text(x, name);
    return text == NULL ? otherwise : text[0] == 'T' || text[0] == 't' || text[0] == '1';
}

uint32_t vtac_mxnet_ints(vtac_mxnet *x, const char *name, int64_t *out, uint32_t room)
{
    const char *text = vtac_mxnet_text(x, name);
    const char *at = text == NULL ? "" : text;
    uint32_t count = 0;
    while (at[strspn(at, "()[], L")] != '\0') {
        char *end;
        at += strspn(at, "()[], L");
        const bool none = strncmp(at, "None", 4) == 0;
        const long long value = strtoll(at, &end, 10);
        if (count == room || (end == at && !none) || value > INT32_MAX || value < INT32_MIN) {
            vtac_make_fail(&x->net.maker, VTA_INVALID, "%s '%.60s' is no list of at most %u numbers", name,
                           text, room);
            return 0;
        }
        out[count++] = none ? VTAC_MXNET_NONE : value;
        at = none ? at + 4 : end;
    }
    return count;
}

void vtac_mxnet_exactly(vtac_mxnet *x, const char *name, int64_t otherwise, int64_t *out, uint32_t count)
{
    int64_t given[MXNET_MAX_LIST];
    const uint32_t found = vtac_mxnet_ints(x, name, given, MXNET_MAX_LIST);
    if (found != 0 && found != count) {
        vtac_make_fail(&x->net.maker, VTA_INVALID, "%s has %u numbers, expected %u", name, found, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        out[i] = found == count ? given[i] : otherwise;
    }
}

vtac_type vtac_mxnet_type(const vtac_mxnet *x, uint32_t i)
{
    return vtac_made_type(&x->net.maker, i < x->in_count ? x->in[i] : 0);
}

void vtac_mxnet_give(vtac_mxnet *x, vtac_id id)
{
    if (x->out_count < MXNET_MAX_ENDS) {
        x->out[x->out_count++] = id;
    }
}

uint32_t vtac_mxnet_axis(vtac_mxnet *x, const char *name, int64_t otherwise)
{
    return vtac_axis_of(&x->net.maker, x->in[0], vtac_mxnet_int(x, name, otherwise, -8, 8));
}

/* ---- nodes */

/* Number of a node and of its output, of an entry [node, output, …]. */
static vta_status read_entry(const vtac_mxnet *x, const cJSON *entry, uint32_t before, uint32_t at[2])
{
    for (int i = 0; i < 2; i++) {
        const cJSON *item = cJSON_GetArrayItem(entry, i);
        const double value = cJSON_IsNumber(item) ? item->valuedouble : -1.0;
        if (!(value >= 0.0 && value < (i == 0 ? (double)before : (double)MXNET_MAX_ENDS))) {
            return vta_fail(x->net.maker.diag, VTA_INVALID, "an input of another node than the %u before it",
                            before);
        }
        at[i] = (uint32_t)value;
    }
    return VTA_OK;
}

/* Labels of the training are the second input of what ends a network. */
static bool is_label(const char *op, uint32_t input)
{
    return input > 0 &&
           (strcmp(op, "Softmax") == 0 || (strlen(op) > 6 && strcmp(op + strlen(op) - 6, "Output") == 0));
}

/* Marks what a node takes as wanted, but for labels, where it is wanted itself. */
static vta_status mark_inputs(vtac_mxnet *x, mxnet_graph *g, uint32_t number)
{
    const char *op = text_of(g->nodes[number], "op");
    const cJSON *entry;
    uint32_t k = 0;
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(g->nodes[number], "inputs"))
    {
        uint32_t at[2] = {0, 0};
        if (read_entry(x, entry, number, at) != VTA_OK) {
            return vta_context(x->net.maker.diag, "node %u '%.80s'", number,
                               text_of(g->nodes[number], "name"));
        }
        g->made[at[0]].wanted = g->made[at[0]].wanted || (g->made[number].wanted && !is_label(op, k));
        k++;
    }
    return VTA_OK;
}

/* Tells for each node whether a head needs it, and collects what is not supported of those. */
static vta_status check_nodes(vtac_mxnet *x, mxnet_graph *g, const cJSON *heads)
{
    const cJSON *entry;
    cJSON_ArrayForEach(entry, heads)
    {
        uint32_t at[2] = {0, 0};
        VTA_TRY(read_entry(x, entry, g->count, at));
        g->made[at[0]].wanted = true;
    }
    for (uint32_t i = g->count; i-- > 0;) {
        VTA_TRY(mark_inputs(x, g, i));
    }
    for (uint32_t i = 0; i < g->count; i++) {
        const char *op = text_of(g->nodes[i], "op");
        if (g->made[i].wanted && strcmp(op, "null") != 0 && kind_of(op) == NULL) {
            vtac_layered_miss(&x->net, op);
        }
    }
    return vtac_layered_missing(&x->net, "operators");
}

/* An array of the file of weights, or an input. */
static vtac_id make_variable(vtac_mxnet *x, const char *name)
{
    const vtac_id array = vtac_mxnet_array_of(x, name);
    vtac_type type = {.dtype = VTAC_F32};
    if (array != 0 || x->net.maker.status != VTA_OK) {
        return array;
    }
    type.rank = vtac_mxnet_ints(x, "__shape__", type.dim, VTAC_MAX_RANK);
    for (uint32_t a = 0; a < type.rank; a++) {
        type.dim[a] = type.dim[a] < 1 ? -1 : type.dim[a]; /* 0: open */
    }
    return vtac_layered_input(&x->net, name, &type);
}

/* The operator's inputs, as far as they are no labels. */
static vta_status read_inputs(vtac_mxnet *x, const mxnet_graph *g, uint32_t number, const mxnet_kind *kind)
{
    const cJSON *entry;
    uint32_t k = 0;
    x->in_count = x->out_count = 0;
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(x->node, "inputs"))
    {
        uint32_t at[2] = {0, 0};
        VTA_TRY(read_entry(x, entry, number, at));
        if (is_label(kind->name, k++)) {
            continue;
        }
        const mxnet_made *from = &g->made[at[0]];
        if (at[1] >= from->count || x->in_count == MXNET_MAX_ENDS) {
            return vta_fail(x->net.maker.diag, VTA_INVALID, "input %u is output %u of node %u, which has %u",
                            k - 1, at[1], at[0], from->count);
        }
        x->in[x->in_count++] = from->values[at[1]];
    }
    return x->in_count >= kind->min && x->in_count <= kind->max
               ? VTA_OK
               : vta_fail(x->net.maker.diag, VTA_INVALID, "%u inputs, expected %u to %u", x->in_count,
                          kind->min, kind->max);
}

/* The values of a node keep its name; several are told apart by a number. */
static vta_status keep_outputs(vtac_mxnet *x, mxnet_made *made, const char *name)
{
    vtac_import_builder *m = &x->net.maker;
    made->values = vtac_make_room(m, x->out_count, sizeof *made->values);
    for (uint32_t i = 0; i < x->out_count && m->status == VTA_OK; i++) {
        char own[256];
        (void)snprintf(own, sizeof own, x->out_count == 1 ? "%.200s" : "%.200s_output%u", name, i);
        made->values[i] = x->out[i];
        vtac_layered_set(&x->net, own, x->out[i]);
    }
    made->count = x->out_count;
    return m->status;
}

/* The value of a node without an operator, where some operator needs it. */
static vta_status import_variable(vtac_mxnet *x, mxnet_made *made, const char *name)
{
    if (!made->wanted) {
        return VTA_OK;
    }
    const vtac_id id = make_variable(x, name);
    made->values = vtac_make_room(&x->net.maker, 1, sizeof id);
    if (made->values != NULL) {
        made->values[0] = id;
        made->count = 1;
    }
    return x->net.maker.status;
}

static vta_status import_operator(vtac_mxnet *x, mxnet_graph *g, uint32_t number, const mxnet_kind *kind,
                                  const char *name)
{
    VTA_TRY(read_inputs(x, g, number, kind));
    kind->make(x, kind->how);
    VTA_TRY(x->net.maker.status);
    return keep_outputs(x, &g->made[number], name);
}

static vta_status import_node(vtac_mxnet *x, mxnet_graph *g, uint32_t number)
{
    vta_diag *diag = x->net.maker.diag;
    x->node = g->nodes[number];
    const char *op = text_of(x->node, "op");
    const char *given = text_of(x->node, "name");
    const char *name = vtac_layered_text(&x->net, given, strlen(given));
    VTA_TRY(x->net.maker.status);
    vtac_layered_at(&x->net, name, number);
    if (strcmp(op, "null") == 0) {
        const vta_status status = import_variable(x, &g->made[number], name);
        return status == VTA_OK ? VTA_OK : vta_context(diag, "node %u '%.80s'", number, name);
    }
    if (!g->made[number].wanted) {
        return VTA_OK;
    }
    const vta_status status = import_operator(x, g, number, kind_of(op), name);
    return status == VTA_OK ? VTA_OK : vta_context(diag, "node %u '%.80s' (%.40s)", number, name, op);
}

static vta_status add_heads(vtac_mxnet *x, const mxnet_graph *g, const cJSON *heads)
{
    const cJSON *entry;
    cJSON_ArrayForEach(entry, heads)
    {
        uint32_t at[2] = {0, 0};
        VTA_TRY(read_entry(x, entry, g->count, at));
        const mxnet_made *made = &g->made[at[0]];
        if (at[1] >= made->count) {
            return vta_fail(x->net.maker.diag, VTA_INVALID, "a head is output %u of node %u, which has %u",
                            at[1], at[0], made->count);
        }
        char own[256];
        const char *name = text_of(g->nodes[at[0]], "name");
        (void)snprintf(own, sizeof own, made->count == 1 ? "%.200s" : "%.200s_output%u", name, at[1]);
        vtac_layered_add_output(&x->net, own, made->values[at[1]]);
        VTA_TRY(x->net.maker.status);
    }
    return vtac_layered_outputs(&x->net, "a symbol without heads");
}

static vta_status import_symbol(vtac_mxnet *x, const cJSON *symbol)
{
    vta_arena *arena = &x->net.maker.graph->arena;
    const cJSON *nodes = cJSON_GetObjectItemCaseSensitive(symbol, "nodes");
    const int count = cJSON_GetArraySize(nodes);
    mxnet_graph g = {.nodes = vta_arena_array(arena, (size_t)count, sizeof *g.nodes),
                     .made = vta_arena_array(arena, (size_t)count, sizeof *g.made)};
    const cJSON *node;
    if (!cJSON_IsArray(nodes) || count < 1 || count > MAX_NODES) {
        return vta_fail(x->net.maker.diag, VTA_INVALID, "its \"nodes\" are %d, expected 1 to %d", count,
                        MAX_NODES);
    }
    VTA_TRY(vta_allocated(g.nodes != NULL && g.made != NULL, x->net.maker.diag));
    cJSON_ArrayForEach(node, nodes)
    {
        g.made[g.count] = (mxnet_made){.count = 0};
        g.nodes[g.count++] = node;
    }
    const cJSON *heads = cJSON_GetObjectItemCaseSensitive(symbol, "heads");
    VTA_TRY(check_nodes(x, &g, heads));
    for (uint32_t i = 0; i < g.count; i++) {
        VTA_TRY(import_node(x, &g, i));
    }
    return add_heads(x, &g, heads);
}

vta_status vtac_mxnet_parse(const vtac_model_file *file, const uint8_t *params, size_t size,
                            const vtac_import_options *options, vtac_graph **out, vta_diag *diag)
{
    vtac_mxnet x = {.next = 0};
    cJSON *symbol = NULL;
    VTA_TRY(vtac_layered_begin(&x.net, "mxnet", options, diag));
    vta_status status = VTA_OK;
    symbol = cJSON_ParseWithLength((const char *)file->bytes, file->size);
    if (symbol == NULL) {
        status = vta_fail(diag, VTA_SYNTAX, "it is no whole file of JSON");
        goto out;
    }
    VTA_TRY_OUT(vtac_mxnet_read_params(&x, params, size));
    VTA_TRY_OUT(import_symbol(&x, symbol));
out:
    cJSON_Delete(symbol);
    return vtac_layered_end(&x.net, status, file->path, out);
}

vta_status vtac_load_mxnet(const vtac_model_file *file, const vtac_import_options *options, vtac_graph **out,
                           vta_diag *diag)
{
    static const vtac_file_pair params_of = {false, "its weights", "-symbol.json", ".params", "-", true};
    return vtac_load_pair(file, &params_of, vtac_mxnet_parse, options, out, diag);
}

vta_status vtac_load_mxnet_params(const vtac_model_file *file, const vtac_import_options *options,
                                  vtac_graph **out, vta_diag *diag)
{
    static const vtac_file_pair symbol_of = {true, "its symbol", ".params", "-symbol.json", "-", true};
    return vtac_load_pair(file, &symbol_of, vtac_mxnet_parse, options, out, diag);
}
