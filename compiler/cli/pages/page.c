/* SPDX-License-Identifier: Apache-2.0
 *
 * The HTML page of a graph. See page.h. All text of the model goes through put_html or cli_put_json: a model
 * cannot put anything into the page but words.
 */
#include "page.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "html.h"

enum { MAX_SHOWN = 8, MAX_LABEL = 24 };

typedef struct page {
    vta_str out;
    const vtac_graph *graph;
    const vtac_placement *runs; /* by node id, or NULL */
    cli_place *places;
    uint32_t folded;
} page;

static void put_html(vta_str *out, const char *text, size_t max)
{
    const size_t size = strlen(text);
    for (size_t i = 0; i < size && i < max; i++) {
        const char c = text[i];
        if (c == '<' || c == '>' || c == '&' || c == '"') {
            vta_str_printf(out, "&#%d;", c);
        } else if ((unsigned char)c >= 0x20) {
            vta_str_append(out, &c, 1);
        }
    }
    vta_str_put(out, size > max ? "…" : "");
}

static void put_type(vta_str *out, const vtac_type *type)
{
    char text[200];
    vta_str_printf(out, "\"%s\"", vtac_type_text(type, text, sizeof text));
}

/* ---- what a click shows */

static void put_number(vta_str *out, double value)
{
    if (isfinite(value)) {
        vta_str_printf(out, "%.6g", value);
    } else {
        vta_str_printf(out, "\"%f\"", value);
    }
}

static void put_range(vta_str *out, const vtac_tensor *tensor)
{
    const int64_t count = vtac_type_elements(&tensor->type);
    double low = count > 0 ? vtac_tensor_float(tensor, 0) : 0.0;
    double high = low;
    double sum = 0.0;
    for (int64_t i = 0; i < count; i++) {
        const double value = vtac_tensor_float(tensor, i);
        low = value < low ? value : low;
        high = value > high ? value : high;
        sum += value;
    }
    vta_str_put(out, ", \"low\": ");
    put_number(out, low);
    vta_str_put(out, ", \"high\": ");
    put_number(out, high);
    vta_str_put(out, ", \"mean\": ");
    put_number(out, count > 0 ? sum / (double)count : 0.0);
    if (count <= MAX_SHOWN) {
        vta_str_put(out, ", \"values\": [");
        for (int64_t i = 0; i < count; i++) {
            vta_str_put(out, i == 0 ? "" : ", ");
            put_number(out, vtac_tensor_float(tensor, i));
        }
        vta_str_put(out, "]");
    }
}

static void put_value(page *p, vtac_value_id id)
{
    const vtac_value *value = &p->graph->values[id];
    if (id == 0) {
        vta_str_put(&p->out, "{\"name\": \"\", \"type\": \"absent\"}");
        return;
    }
    vta_str_put(&p->out, "{\"name\": ");
    cli_put_json(&p->out, value->name);
    vta_str_put(&p->out, ", \"type\": ");
    put_type(&p->out, &value->type);
    if (value->constant != NULL) {
        put_range(&p->out, value->constant);
    }
    vta_str_put(&p->out, "}");
}

static void put_list(page *p, const char *key, const vtac_value_id *ids, uint32_t count)
{
    vta_str_printf(&p->out, ", \"%s\": [", key);
    for (uint32_t i = 0; i < count; i++) {
        vta_str_put(&p->out, i == 0 ? "" : ", ");
        put_value(p, ids[i]);
    }
    vta_str_put(&p->out, "]");
}

static void attr_text(vta_str *text, const vtac_attr *attr)
{
    const bool list =
        attr->kind == VTAC_ATTR_INTS || attr->kind == VTAC_ATTR_FLOATS || attr->kind == VTAC_ATTR_STRINGS;
    for (size_t i = 0; i < (list ? attr->count : 1); i++) {
        vta_str_put(text, i == 0 ? "" : ", ");
        switch (attr->kind) {
        case VTAC_ATTR_INT: vta_str_printf(text, "%" PRId64, attr->i); break;
        case VTAC_ATTR_FLOAT: vta_str_printf(text, "%.6g", attr->f); break;
        case VTAC_ATTR_STRING: vta_str_put(text, attr->s); break;
        case VTAC_ATTR_INTS: vta_str_printf(text, "%" PRId64, attr->ints[i]); break;
        case VTAC_ATTR_FLOATS: vta_str_printf(text, "%.6g", attr->floats[i]); break;
        case VTAC_ATTR_STRINGS: vta_str_put(text, attr->strings[i]); break;
        case VTAC_ATTR_TENSOR: {
            char type[200];
            vta_str_put(text, vtac_type_text(&attr->tensor.type, type, sizeof type));
            break;
        }
        }
    }
}

static void put_attrs(page *p, const vtac_node *node)
{
    vta_str_put(&p->out, ", \"attrs\": {");
    for (uint32_t i = 0; i < node->attr_count; i++) {
        vta_str text = {0};
        attr_text(&text, &node->attrs[i]);
        vta_str_put(&p->out, i == 0 ? "" : ", ");
        cli_put_json(&p->out, node->attrs[i].name);
        vta_str_put(&p->out, ": ");
        cli_put_json(&p->out, text.text == NULL ? "" : text.text);
        vta_str_free(&text);
    }
    vta_str_put(&p->out, "}");
}

/* Writes the node's device, its cost on the host and on the accelerator, and the reason for the host. */
static void put_runs(page *p, vtac_node_id id)
{
    const vtac_placement *place = p->runs == NULL ? NULL : &p->runs[id];
    if (place == NULL) {
        return;
    }
    vta_str_put(&p->out, ", \"runs\": ");
    if (place->kind == VTAC_PLACE_ACCELERATOR) {
        vta_str_printf(&p->out, "\"accelerator, region %u\"", place->region);
    } else {
        cli_put_json(&p->out,
                     place->kind == VTAC_PLACE_HOST ? "host" : "nowhere: it only renames what another reads");
    }
    vta_str_put(&p->out, ", \"why\": ");
    cli_put_json(&p->out, place->reason == NULL ? "" : place->reason);
    if (place->has_cost) {
        vta_str_printf(&p->out, ", \"there\": %llu", (unsigned long long)place->cost.cycles);
    }
    vta_str_printf(&p->out, ", \"here\": %.0f", place->host_cycles);
}

/* One object for each item: the nodes in order, then inputs, then outputs. */
static void put_data(page *p)
{
    const vtac_graph *g = p->graph;
    vta_str_put(&p->out, "<script type=\"application/json\" id=\"data\">[\n");
    for (uint32_t i = 0; i < g->order_count; i++) {
        const vtac_node *node = &g->nodes[g->order[i]];
        const vtac_op_info *op = vtac_op_get(node->op);
        vta_str_printf(&p->out, "%s{\"op\": \"%s%s%s\", \"name\": ", i == 0 ? "" : ",\n", op->domain,
                       op->domain[0] != '\0' ? "." : "", op->name);
        cli_put_json(&p->out, node->name);
        put_attrs(p, node);
        put_list(p, "inputs", node->inputs, node->input_count);
        put_list(p, "outputs", node->outputs, node->output_count);
        put_runs(p, g->order[i]);
        vta_str_put(&p->out, "}");
    }
    for (uint32_t i = 0; i < g->input_count + g->output_count; i++) {
        const bool input = i < g->input_count;
        const vtac_value_id id = input ? g->inputs[i] : g->outputs[i - g->input_count];
        vta_str_printf(&p->out, "%s{\"op\": \"%s\", \"name\": ", g->order_count + i == 0 ? "" : ",\n",
                       input ? "input" : "output");
        cli_put_json(&p->out, g->values[id].name);
        vta_str_put(&p->out, ", \"attrs\": {}");
        put_list(p, "inputs", &id, input ? 0 : 1);
        put_list(p, "outputs", &id, input ? 1 : 0);
        vta_str_put(&p->out, "}");
    }
    vta_str_put(&p->out, "\n]</script>\n");
}

/* ---- the drawing */

/* Colours by what an operator does. */
static const char *family_of(const vtac_node *node)
{
    const char *name = vtac_op_get(node->op)->name;
    static const struct {
        const char *part, *family;
    } families[] = {
        {"Conv", "matrix"},    {"Gemm", "matrix"},    {"MatMul", "matrix"},    {"Pool", "pool"},
        {"Reduce", "pool"},    {"Quantize", "scale"}, {"Dequantize", "scale"}, {"Reshape", "move"},
        {"Transpose", "move"}, {"Concat", "move"},    {"Split", "move"},       {"Slice", "move"},
        {"Gather", "move"},    {"Flatten", "move"},   {"queeze", "move"},      {"Pad", "move"},
        {"Softmax", "norm"},   {"Normaliz", "norm"},  {"LSTM", "matrix"},      {"GRU", "matrix"},
    };
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        if (strstr(name, families[i].part) != NULL) {
            return families[i].family;
        }
    }
    return "element";
}

static void put_item(page *p, uint32_t item, const char *family, bool accelerated, const char *title,
                     const char *below)
{
    const cli_place *at = &p->places[item];
    vta_str_printf(&p->out,
                   "<g class=\"n %s\" data-i=\"%u\" transform=\"translate(%.0f %.0f)\" tabindex=\"0\">"
                   "<rect x=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\"/><text y=\"17\">",
                   family, item, at->x, at->y, -CLI_NODE_WIDTH / 2, CLI_NODE_WIDTH, CLI_NODE_HEIGHT);
    put_html(&p->out, title, MAX_LABEL);
    vta_str_put(&p->out, "</text><text y=\"33\" class=\"s\">");
    put_html(&p->out, below, MAX_LABEL + 4);
    vta_str_put(&p->out, "</text>");
    if (accelerated) {
        vta_str_printf(&p->out, "<circle cx=\"%d\" cy=\"1\" r=\"4\"/>", CLI_NODE_WIDTH / 2 - 1);
    }
    vta_str_put(&p->out, "</g>\n");
}

static void put_items(page *p)
{
    const vtac_graph *g = p->graph;
    char type[200];
    for (uint32_t i = 0; i < g->order_count; i++) {
        const vtac_node *node = &g->nodes[g->order[i]];
        const bool there = p->runs != NULL && p->runs[g->order[i]].kind == VTAC_PLACE_ACCELERATOR;
        put_item(p, i, family_of(node), there, vtac_op_get(node->op)->name,
                 vtac_type_text(&g->values[node->outputs[0]].type, type, sizeof type));
    }
    for (uint32_t i = 0; i < g->input_count + g->output_count; i++) {
        const vtac_value_id id = i < g->input_count ? g->inputs[i] : g->outputs[i - g->input_count];
        put_item(p, g->order_count + i, "end", false, g->values[id].name,
                 vtac_type_text(&g->values[id].type, type, sizeof type));
    }
}

/* Draws an edge from the bottom of an item to the top of another; edges over several layers bow out past
 * the items between. */
static void put_edge(page *p, uint32_t from, uint32_t to)
{
    const cli_place *a = &p->places[from];
    const cli_place *b = &p->places[to];
    const double y0 = a->y + CLI_NODE_HEIGHT;
    const double bend = fmin(0.5 * (b->y - y0), 60.0);
    const double bow =
        b->layer > a->layer + 1 && fabs(a->x - b->x) < CLI_NODE_WIDTH ? 0.75 * CLI_NODE_WIDTH : 0.0;
    vta_str_printf(
        &p->out, "<path data-a=\"%u\" data-b=\"%u\" d=\"M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f\"/>\n", from,
        to, a->x, y0, a->x + 1.33 * bow, y0 + bend, b->x + 1.33 * bow, b->y - bend, b->x, b->y);
}

static bool put_edges(page *p)
{
    const vtac_graph *g = p->graph;
    uint32_t *maker = malloc(((size_t)g->value_count + 1) * sizeof *maker);
    if (maker == NULL) {
        return false;
    }
    memset(maker, 0xff, ((size_t)g->value_count + 1) * sizeof *maker);
    for (uint32_t i = 0; i < g->input_count; i++) {
        maker[g->inputs[i]] = g->order_count + i;
    }
    for (uint32_t i = 0; i < g->order_count; i++) {
        const vtac_node *node = &g->nodes[g->order[i]];
        for (uint32_t k = 0; k < node->input_count; k++) {
            if (maker[node->inputs[k]] != UINT32_MAX) {
                put_edge(p, maker[node->inputs[k]], i);
            }
        }
        for (uint32_t k = 0; k < node->output_count; k++) {
            maker[node->outputs[k]] = i;
        }
    }
    for (uint32_t i = 0; i < g->output_count; i++) {
        if (maker[g->outputs[i]] != UINT32_MAX) {
            put_edge(p, maker[g->outputs[i]], g->order_count + g->input_count + i);
        }
    }
    free(maker);
    return true;
}

static void put_head(page *p)
{
    const vtac_graph *g = p->graph;
    uint64_t bytes = 0;
    for (vtac_value_id v = 1; v <= g->value_count; v++) {
        bytes += g->values[v].constant != NULL && !g->values[v].dead ? g->values[v].constant->bytes : 0;
    }
    cli_put_page_head(&p->out, "graph", g->name);
    vta_str_put(&p->out, "<header><b>");
    put_html(&p->out, g->name, 80);
    vta_str_printf(&p->out, "</b> <span>%u nodes · %.2f MB of constants", p->graph->order_count,
                   (double)bytes / 1e6);
    if (p->folded > 0) {
        vta_str_printf(&p->out, " · %u nodes of quantization folded into edges", p->folded);
    }
    vta_str_printf(&p->out,
                   "</span>"
                   "<input id=\"find\" type=\"search\" placeholder=\"find operator or name ( / )\" "
                   "aria-label=\"find\"><span id=\"found\"></span>"
                   "%s<button id=\"fit\" title=\"all of it (f)\">fit</button></header>\n",
                   p->runs == NULL ? "" : "<span class=\"key\">on the accelerator</span>");
}

char *cli_graph_page(const vtac_graph *graph, const vtac_placement *places, uint32_t folded)
{
    page p = {.graph = graph, .runs = places, .folded = folded};
    double width = 0.0;
    double height = 0.0;
    p.places = cli_place_graph(graph, &width, &height);
    if (p.places == NULL) {
        return NULL;
    }
    put_head(&p);
    vta_str_printf(
        &p.out,
        "<main><svg id=\"view\" data-w=\"%.0f\" data-h=\"%.0f\"><defs><marker id=\"tip\" viewBox=\"0 0 8 "
        "8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 "
        "0L8 4L0 8z\"/></marker></defs><g id=\"all\"><g id=\"edges\">\n",
        width, height);
    const bool ok = put_edges(&p);
    vta_str_put(&p.out, "</g>\n");
    put_items(&p);
    vta_str_put(&p.out, "</g></svg><aside id=\"side\"><p>Drag to move, wheel to zoom, click a node.</p>"
                        "</aside></main>\n");
    put_data(&p);
    cli_put_page_script(&p.out, "graph");
    free(p.places);
    if (!ok) {
        vta_str_free(&p.out);
        return NULL;
    }
    return vta_str_take(&p.out);
}
