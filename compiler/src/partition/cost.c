/* SPDX-License-Identifier: Apache-2.0
 *
 * The cost of a node on the host. The reference is the processor beside the accelerator: one core of a
 * Cortex-A9, times the speed of the target host; not the machine that compiles. The numbers are rough: they
 * need to tell a convolution from a reshape.
 */
#include "partition.h"

#include "vtac/codegen.h"

/* Work in a nanosecond. */
static const double dense_macs = 1.0;
static const double depthwise_macs = 0.3;
static const double elements = 0.2;
/* Bytes of weights from memory in a nanosecond: all weights together do not stay in the
 * caches between inferences. */
static const double weights = 0.8;

/* Bytes that a row of the host is copied at in a nanosecond, out of memory and into a cache: vectors of 16
 * bytes, by llvm-mca 3.5 cycles of 650 MHz each. */
static const double copied = 3.0;
/* Floats that are made of bytes in a nanosecond: by llvm-mca 31 cycles for 16. */
static const double floats_of_bytes = 0.33;
/* Bytes that are made of floats by one scale, without a division: 39 cycles for 16. */
static const double bytes_of_floats = 0.26;

static double elements_of(const vtac_graph *graph, vtac_value_id value)
{
    return value == 0 ? 0.0 : (double)vtac_type_elements(&graph->values[value].type);
}

static bool is_recurrence(const vtac_node *node)
{
    return node->op == VTAC_OP_RECURRENCE || node->op == VTAC_OP_VTA_RECURRENCE;
}

static double weights_of(const vtac_graph *graph, const vtac_node *node)
{
    return is_recurrence(node)
               ? (double)vtac_type_elements(vtac_in_type(graph, node, VTAC_RECURRENCE_W)) +
                     (double)vtac_type_elements(vtac_in_type(graph, node, VTAC_RECURRENCE_R))
               : (double)vtac_type_elements(vtac_in_type(graph, node, VTAC_QLINEAR_PRODUCT_WEIGHT));
}

/* The multiplications for one element of the output, by the weights' shape. */
static double terms_of(const vtac_graph *graph, const vtac_node *node)
{
    const vtac_type *w = vtac_in_type(graph, node, VTAC_QLINEAR_PRODUCT_WEIGHT);
    const vtac_type *y = &graph->values[node->outputs[0]].type;
    if (node->op == VTAC_OP_QLINEAR_CONV) {
        return (double)vtac_type_elements(w) / (double)w->dim[0];
    }
    if (node->op == VTAC_OP_QLINEAR_MATMUL || node->op == VTAC_OP_QGEMM) {
        return (double)vtac_type_elements(w) / (double)(y->rank > 0 ? y->dim[y->rank - 1] : 1);
    }
    if (node->op == VTAC_OP_VTA_PRODUCT || node->op == VTAC_OP_VTA_SUMS) {
        return (double)vtac_attr_int(node, "products", 0) / (double)vtac_type_elements(y);
    }
    return is_recurrence(node)
               ? weights_of(graph, node) / (double)vtac_in_type(graph, node, VTAC_RECURRENCE_R)->dim[1]
               : 0.0;
}

static bool is_floats(const vtac_type *type)
{
    return type != NULL && type->dtype == VTAC_F32;
}

/* True for floats that are joined or taken apart in rows that fill a vector or more, which are copied. */
static bool copies_floats(const vtac_graph *graph, const vtac_node *node)
{
    enum { VECTOR = 4 };
    const vtac_type *x = node->input_count > 0 ? vtac_in_type(graph, node, 0) : NULL;
    const vtac_type *y = &graph->values[node->outputs[0]].type;
    const bool joins = node->op == VTAC_OP_CONCAT;
    if (!is_floats(x) || (!joins && node->op != VTAC_OP_SLICE && node->op != VTAC_OP_SPLIT)) {
        return false;
    }
    const vtac_type *part = joins ? x : y;
    int64_t row = 1;
    for (uint32_t d = part->rank; d-- > 0;) {
        row *= part->dim[d];
        if (x->dim[d] != y->dim[d]) {
            break;
        }
    }
    return row >= VECTOR;
}

/* True for a new shape of floats, which lie where they were. */
static bool names_floats(const vtac_graph *graph, const vtac_node *node)
{
    return vtac_is_reshaping(node) && node->op != VTAC_OP_TRANSPOSE &&
           is_floats(vtac_in_type(graph, node, 0));
}

double vtac_host_cycles(const vtac_graph *graph, const vtac_node *node, const vtac_partition_options *options)
{
    double read = 0.0;
    const double speed = vtac_host_speed(options->host);
    const double written = elements_of(graph, node->outputs[0]);
    for (uint32_t i = 0; i < node->input_count; i++) {
        read += vtac_in_constant(graph, node, i) == NULL ? elements_of(graph, node->inputs[i]) : 0.0;
    }
    if (vtac_is_view(graph, node) || vtac_is_held(graph, node) || names_floats(graph, node)) {
        return 0.0;
    }
    if (copies_floats(graph, node)) {
        return 2.0 * sizeof(float) * written / copied / speed * options->config->clock_mhz / 1000.0;
    }
    if (node->op == VTAC_OP_VTA_APPEND) { /* rows in the place of a cache */
        return 2.0 * elements_of(graph, node->inputs[VTAC_TENSOR_SCATTER_UPDATE]) / elements / speed *
               options->config->clock_mhz / 1000.0;
    }
    const double terms = terms_of(graph, node);
    const bool depthwise = node->op == VTAC_OP_QLINEAR_CONV && vtac_attr_int(node, "group", 1) > 1;
    const double ns = terms * written / (depthwise ? depthwise_macs : dense_macs) +
                      (read + written) / elements + (terms > 0.0 ? weights_of(graph, node) / weights : 0.0);
    return ns / speed * options->config->clock_mhz / 1000.0;
}

/* True for QuantizeLinear of floats to bytes by one scale, in rows that fill vectors. */
static bool quantizes_quickly(const vtac_graph *graph, const vtac_node *node)
{
    enum { VECTOR = 16 };
    const vtac_type *x = vtac_in_type(graph, node, VTAC_QDQ_X);
    const vtac_tensor *scale = vtac_in_constant(graph, node, VTAC_QDQ_SCALE);
    return node->op == VTAC_OP_QUANTIZE_LINEAR && x->dtype == VTAC_F32 && scale != NULL &&
           vtac_type_elements(&scale->type) == 1 && x->rank > 0 && x->dim[x->rank - 1] >= VECTOR &&
           vtac_dtype_bits(graph->values[node->outputs[0]].type.dtype) == 8;
}

/* True for rows of a table that are looked up, each long enough for vectors. */
static bool looks_up_rows(const vtac_graph *graph, const vtac_node *node)
{
    enum { VECTOR = 16 };
    const vtac_type *table = node->op == VTAC_OP_GATHER ? vtac_in_type(graph, node, VTAC_GATHER_DATA) : NULL;
    return table != NULL && table->rank > 1 && vtac_attr_int(node, "axis", 0) == 0 &&
           table->dim[table->rank - 1] >= VECTOR;
}

double vtac_staying_cycles(const vtac_graph *graph, const vtac_node *node, double cycles,
                           const vtac_partition_options *options)
{
    const vtac_type *x = node->input_count > 0 ? vtac_in_type(graph, node, 0) : NULL;
    const double speed = vtac_host_speed(options->host);
    const double count = elements_of(graph, node->outputs[0]);
    if (cycles > 0.0 && x != NULL && quantizes_quickly(graph, node)) {
        return count / bytes_of_floats / speed * options->config->clock_mhz / 1000.0;
    }
    const bool copies = node->op == VTAC_OP_RESHAPE || looks_up_rows(graph, node);
    if (cycles == 0.0 || x == NULL || vtac_dtype_bits(x->dtype) != 8 ||
        (!copies && node->op != VTAC_OP_DEQUANTIZE_LINEAR)) {
        return cycles;
    }
    const double ns = copies ? count / weights + count / copied : count / floats_of_bytes;
    return ns / speed * options->config->clock_mhz / 1000.0;
}
