/* SPDX-License-Identifier: Apache-2.0
 *
 * Every layer of a quantized model against the formula that ONNX gives, saturate(round_half_even(acc · s) +
 * zp), computed here in plain loops and doubles from the integers that the layer really read. At least 99.99
 * % of a model's integers must be equal, none off by more than 1; on the host and on a device.
 *
 *     layers DEVICE CONFIG MODEL.onnx...     the first must be there
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graphs.h"
#include "vtac/onnx.h"
#include "vtac/pass.h"

enum { LEVEL = 1 };

/* A value of the graph with the integers that it has. */
typedef struct integers {
    const uint8_t *bytes;
    const vtac_type *type;
} integers;

typedef struct tally {
    uint64_t layers, elements, off_by_one, worse;
} tally;

typedef struct job {
    const vtac_graph *graph; /* to read; the model was made of another one like it */
    vta_model *model;
    tally *sum;
} job;

static integers integers_of(const job *j, vtac_value_id id)
{
    const vtac_value *value = &j->graph->values[id];
    integers found = {.type = &value->type};
    if (value->constant != NULL) {
        found.bytes = value->constant->data;
    } else if (value->node == 0) {
        for (uint32_t i = 0; i < vta_model_input_count(j->model); i++) {
            found.bytes = strcmp(vta_model_input(j->model, i).name, value->name) == 0
                              ? vta_model_input_data(j->model, i)
                              : found.bytes;
        }
    }
    for (uint32_t i = 0; found.bytes == NULL && i < vta_model_output_count(j->model); i++) {
        found.bytes = strcmp(vta_model_output(j->model, i).name, value->name) == 0
                          ? vta_model_output_data(j->model, i)
                          : NULL;
    }
    return found;
}

static int64_t at(integers v, int64_t i)
{
    return v.type->dtype == VTAC_U8 ? v.bytes[i] : (int8_t)v.bytes[i];
}

static double scale(const job *j, const vtac_node *node, uint32_t input, int64_t i)
{
    const vtac_tensor *t = vtac_in_constant(j->graph, node, input);
    return vtac_tensor_float(t, vtac_type_elements(&t->type) > 1 ? i : 0);
}

static int64_t zero(const job *j, const vtac_node *node, uint32_t input, int64_t i)
{
    const vtac_tensor *t = vtac_in_constant(j->graph, node, input);
    return t == NULL ? 0 : vtac_tensor_int(t, vtac_type_elements(&t->type) > 1 ? i : 0);
}

/* Compares one integer with round(real) + zp, saturated. */
static void judge(const job *j, integers y, int64_t i, double real, int64_t zp)
{
    const bool is_unsigned = y.type->dtype == VTAC_U8;
    const double q = nearbyint(real) + (double)zp;
    const double want = fmin(fmax(q, is_unsigned ? 0.0 : -128.0), is_unsigned ? 255.0 : 127.0);
    const double off = fabs(want - (double)at(y, i));
    j->sum->elements++;
    j->sum->off_by_one += off == 1.0;
    j->sum->worse += off > 1.0;
}

/* The sum of one output of a convolution. */
static int64_t window_sum(const job *j, const vtac_node *node, integers x, integers w, const int64_t place[4])
{
    const vtac_attr *strides = vtac_find_attr(node, "strides");
    const vtac_attr *dilations = vtac_find_attr(node, "dilations");
    const vtac_attr *pads = vtac_find_attr(node, "pads");
    const int64_t *wd = w.type->dim;
    const int64_t *xd = x.type->dim;
    const int64_t first = place[1] / (wd[0] / vtac_attr_int(node, "group", 1)) * wd[1];
    const int64_t zx = zero(j, node, 2, 0);
    const int64_t zw = zero(j, node, 5, place[1]);
    int64_t sum = 0;
    for (int64_t c = 0; c < wd[1]; c++) {
        for (int64_t ky = 0; ky < wd[2]; ky++) {
            for (int64_t kx = 0; kx < wd[3]; kx++) {
                const int64_t row = place[2] * (strides != NULL ? strides->ints[0] : 1) +
                                    ky * (dilations != NULL ? dilations->ints[0] : 1) -
                                    (pads != NULL ? pads->ints[0] : 0);
                const int64_t column = place[3] * (strides != NULL ? strides->ints[1] : 1) +
                                       kx * (dilations != NULL ? dilations->ints[1] : 1) -
                                       (pads != NULL ? pads->ints[1] : 0);
                if (row >= 0 && row < xd[2] && column >= 0 && column < xd[3]) {
                    sum += (at(x, ((place[0] * xd[1] + first + c) * xd[2] + row) * xd[3] + column) - zx) *
                           (at(w, ((place[1] * wd[1] + c) * wd[2] + ky) * wd[3] + kx) - zw);
                }
            }
        }
    }
    return sum;
}

static void check_conv(const job *j, const vtac_node *node, integers x, integers y)
{
    const integers w = integers_of(j, node->inputs[3]);
    const vtac_tensor *bias = vtac_in_constant(j->graph, node, 8);
    const int64_t *d = y.type->dim;
    for (int64_t i = 0; i < vtac_type_elements(y.type); i++) {
        const int64_t place[] = {i / (d[1] * d[2] * d[3]), i / (d[2] * d[3]) % d[1], i / d[3] % d[2],
                                 i % d[3]};
        const int64_t sum =
            window_sum(j, node, x, w, place) + (bias != NULL ? vtac_tensor_int(bias, place[1]) : 0);
        judge(j, y, i,
              (double)sum * (scale(j, node, 1, 0) * scale(j, node, 4, place[1]) / scale(j, node, 6, 0)),
              zero(j, node, 7, 0));
    }
}

static void check_dense(const job *j, const vtac_node *node, integers x, integers y)
{
    const bool gemm = node->op == VTAC_OP_QGEMM;
    const bool turned = gemm && vtac_attr_int(node, "transB", 0) != 0;
    const integers w = integers_of(j, node->inputs[3]);
    const vtac_tensor *bias = gemm ? vtac_in_constant(j->graph, node, 6) : NULL;
    const int64_t outputs = y.type->dim[y.type->rank - 1];
    const int64_t terms = vtac_type_elements(w.type) / outputs;
    for (int64_t i = 0; i < vtac_type_elements(y.type); i++) {
        const int64_t o = i % outputs;
        int64_t sum = bias != NULL ? vtac_tensor_int(bias, o) : 0;
        for (int64_t k = 0; k < terms; k++) {
            sum += (at(x, i / outputs * terms + k) - zero(j, node, 2, 0)) *
                   (at(w, turned ? o * terms + k : k * outputs + o) - zero(j, node, 5, o));
        }
        judge(j, y, i,
              (double)sum * (scale(j, node, 1, 0) * scale(j, node, 4, o) / scale(j, node, gemm ? 7 : 6, 0)),
              zero(j, node, gemm ? 8 : 7, 0));
    }
}

static void check_add(const job *j, const vtac_node *node, integers x, integers y)
{
    const integers b = integers_of(j, node->inputs[3]);
    const double s = scale(j, node, 6, 0);
    for (int64_t i = 0; i < vtac_type_elements(y.type); i++) {
        const double real = (double)(at(x, i) - zero(j, node, 2, 0)) * scale(j, node, 1, 0) +
                            (double)(at(b, i) - zero(j, node, 5, 0)) * scale(j, node, 4, 0);
        judge(j, y, i, real / s, zero(j, node, 7, 0));
    }
}

static void check_mean(const job *j, const vtac_node *node, integers x, integers y)
{
    const int64_t places = x.type->dim[2] * x.type->dim[3];
    for (int64_t i = 0; i < vtac_type_elements(y.type); i++) {
        int64_t sum = 0;
        for (int64_t k = 0; k < places; k++) {
            sum += at(x, i * places + k) - zero(j, node, 2, 0);
        }
        judge(j, y, i, (double)sum * scale(j, node, 1, 0) / ((double)places * scale(j, node, 3, 0)),
              zero(j, node, 4, 0));
    }
}

static void check_node(const job *j, const vtac_node *node)
{
    const integers y = integers_of(j, node->outputs[0]);
    const integers x = node->inputs[0] != 0 ? integers_of(j, node->inputs[0]) : (integers){0};
    const bool same = node->op != VTAC_OP_QLINEAR_ADD ||
                      vtac_type_equal(vtac_in_type(j->graph, node, 0), vtac_in_type(j->graph, node, 3));
    if (x.bytes == NULL || y.bytes == NULL || !same || vtac_find_attr(node, "clip_low") != NULL) {
        return;
    }
    j->sum->layers++;
    switch ((int)node->op) {
    case VTAC_OP_QLINEAR_CONV: check_conv(j, node, x, y); break;
    case VTAC_OP_QLINEAR_MATMUL:
    case VTAC_OP_QGEMM: check_dense(j, node, x, y); break;
    case VTAC_OP_QLINEAR_ADD: check_add(j, node, x, y); break;
    case VTAC_OP_QLINEAR_GLOBAL_AVERAGE_POOL: check_mean(j, node, x, y); break;
    default: j->sum->layers--; break;
    }
}

/* The model with all integers of nodes among its outputs. */
static vta_status load(const char *path, vtac_graph **out, vta_diag *diag)
{
    const vtac_import_options import = {0};
    VTA_TRY(vtac_onnx_load(path, &import, out, diag));
    VTA_TRY(vtac_run_passes(*out, &(vtac_pass_options){.level = LEVEL}, diag));
    for (uint32_t i = 0; i < (*out)->order_count; i++) {
        const vtac_value_id id = (*out)->nodes[(*out)->order[i]].outputs[0];
        const vtac_dtype dtype = (*out)->values[id].type.dtype;
        if ((dtype == VTAC_I8 || dtype == VTAC_U8) && !vtac_is_output(*out, id)) {
            VTA_TRY(vtac_add_output(*out, id, diag));
        }
    }
    return VTA_OK;
}

static bool check_model(const char *path, const graph_way *way)
{
    vta_diag diag = {0};
    vtac_graph *reading = NULL;
    vtac_graph *graph = NULL;
    graph_model m = {0};
    tally sum = {0};
    vta_status status = load(path, &reading, &diag);
    status = status == VTA_OK ? load(path, &graph, &diag) : status;
    status = status == VTA_OK ? graph_compile(graph, way, &m, &diag) : status;
    for (uint64_t run = 0; run < 2 && status == VTA_OK; run++) {
        graph_fill(m.model, run);
        status = vta_model_run(m.model, &diag);
        for (uint32_t i = 0; i < reading->order_count && status == VTA_OK; i++) {
            const job j = {.graph = reading, .model = m.model, .sum = &sum};
            check_node(&j, &reading->nodes[reading->order[i]]);
        }
    }
    graph_model_free(&m);
    vtac_graph_destroy(reading);
    const bool good = status == VTA_OK && sum.layers > 4 && sum.worse == 0 &&
                      (double)sum.off_by_one <= 1e-4 * (double)sum.elements;
    (void)printf("%s %s on %s: %llu layers, %llu integers, %llu off by one, %llu by more %s\n",
                 good ? "ok  " : "FAIL", strrchr(path, '/') + 1,
                 way->device != NULL ? way->device : "the host", (unsigned long long)sum.layers,
                 (unsigned long long)sum.elements, (unsigned long long)sum.off_by_one,
                 (unsigned long long)sum.worse, diag.text);
    (void)fflush(stdout);
    return good;
}

int main(int argc, char **argv)
{
    vta_config config;
    vta_diag diag = {0};
    bool good = true;
    if (argc < 4 || vta_config_load(argv[2], &config, &diag) != VTA_OK) {
        (void)fprintf(stderr, "usage: %s DEVICE CONFIG MODEL.onnx... %s\n", argv[0], diag.text);
        return 2;
    }
    for (int i = 3; i < argc; i++) {
        if (access(argv[i], R_OK) != 0) {
            (void)printf("%s is not there\n", argv[i]);
            good = good && i > 3;
            continue;
        }
        good = check_model(argv[i], &(graph_way){.level = LEVEL}) && good;
        good =
            check_model(argv[i], &(graph_way){.device = argv[1], .config = &config, .level = LEVEL}) && good;
    }
    return !good;
}
