/* SPDX-License-Identifier: Apache-2.0
 *
 * Small graphs from text, compiled and run: what tests of passes work with. In the texts of tests a line
 *
 *     random %w: i8[8,4,3,3] -90 90
 *
 * stands for a constant with random contents; with floats the bounds are in hundredths.
 */
#ifndef VTAC_TEST_RUN_GRAPH_H
#define VTAC_TEST_RUN_GRAPH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "seed.h"
#include "temporary.h"
#include "vta/model.h"
#include "vta/str.h"
#include "vtac/codegen.h"
#include "vtac/pass.h"

/* Everything ends up in the caller's fail_msg. */
#define GRAPH_CHECK(expr, diag)                                                                              \
    do {                                                                                                     \
        if ((expr) != VTA_OK) {                                                                              \
            fail_msg("%s", (diag).text);                                                                     \
        }                                                                                                    \
    } while (0)

/* One "random" line as a constant. */
static inline void graph_random(vta_str *out, const char *line, rng *r)
{
    char head[200];
    char dtype[8];
    char dims[100];
    long low;
    long high;
    assert_int_equal(
        sscanf(line, "random %199[^:]: %7[a-z0-9][%99[0-9,]] %ld %ld", head, dtype, dims, &low, &high), 5);
    long count = 1;
    for (char *p = dims; *p != '\0';) {
        count *= strtol(p, &p, 10);
        p += *p == ',';
    }
    vta_str_printf(out, "const %s: %s[%s] = [", head, dtype, dims);
    for (long i = 0; i < count; i++) {
        const long value = (long)rng_between(r, low, high);
        vta_str_put(out, i == 0 ? "" : ", ");
        if (dtype[0] == 'f') {
            vta_str_printf(out, "%.9g", (double)value / 100);
        } else {
            vta_str_printf(out, "%ld", value);
        }
    }
    vta_str_put(out, "]\n");
}

static inline vtac_graph *graph_parse(const char *text, uint64_t seed)
{
    rng r = {seed};
    vta_str full = {0};
    vtac_graph *graph = NULL;
    vta_diag diag = {0};
    for (const char *line = text; *line != '\0';) {
        const size_t size = strcspn(line, "\n") + 1;
        if (strncmp(line, "random", 6) == 0) {
            graph_random(&full, line, &r);
        } else {
            vta_str_append(&full, line, size);
        }
        line += size;
    }
    assert_false(full.failed);
    GRAPH_CHECK(vtac_graph_parse(full.text, full.size, "test", &graph, &diag), diag);
    GRAPH_CHECK(vtac_graph_verify(graph, &diag), diag);
    vta_str_free(&full);
    return graph;
}

/* The operators in execution order: "Conv Relu". Owned. */
static inline char *graph_ops(const vtac_graph *graph)
{
    vta_str out = {0};
    for (uint32_t i = 0; i < graph->order_count; i++) {
        vta_str_printf(&out, "%s%s", i == 0 ? "" : " ", vtac_op_get(graph->nodes[graph->order[i]].op)->name);
    }
    vta_str_put(&out, "");
    return vta_str_take(&out);
}

static inline vta_model *graph_load(const vtac_graph *graph, int level)
{
    char library[TEMPORARY_PATH];
    assert_true(temporary_file(library, ".so"));
    vtac_target target;
    vtac_artifact_image image;
    vta_model *model = NULL;
    vta_diag diag = {0};
    GRAPH_CHECK(vtac_target_find("host", &target, &diag), diag);
    const vtac_compile_options options = {.level = level, .target = &target};
    const vta_model_options model_options = {.threads = 2};
    GRAPH_CHECK(vtac_compile(graph, &options, &image, &diag), diag);
    GRAPH_CHECK(vtac_link(&image, library, &diag), diag);
    GRAPH_CHECK(vta_model_load(library, &model_options, &model, &diag), diag);
    vtac_artifact_image_free(&image);
    (void)unlink(library);
    return model;
}

/* Fills all inputs with floats in [low, high), or with any bytes where they are integers. */
static inline void graph_fill(vta_model *model, uint64_t seed, double low, double high)
{
    rng r = {seed};
    for (uint32_t i = 0; i < vta_model_input_count(model); i++) {
        const vta_tensor_info info = vta_model_input(model, i);
        unsigned char *data = vta_model_input_data(model, i);
        const size_t item = info.dtype_bits / 8U;
        for (size_t at = 0; at < info.bytes; at += item) {
            const uint64_t bits = rng_next(&r);
            const float value = (float)(low + (high - low) * ((double)(bits >> 11) * 0x1p-53));
            memcpy(data + at, info.dtype_code == 2 ? (const void *)&value : (const void *)&bits,
                   item < sizeof value || info.dtype_code != 2 ? item : sizeof value);
        }
    }
}

static inline void graph_run(vta_model *model)
{
    vta_diag diag = {0};
    GRAPH_CHECK(vta_model_run(model, &diag), diag);
}

/* Element i of an output, as double. */
static inline double graph_output(const vta_model *model, uint32_t which, size_t i)
{
    const vta_tensor_info info = vta_model_output(model, which);
    const char *data = vta_model_output_data(model, which);
    const size_t item = info.dtype_bits / 8U;
    int64_t whole = 0;
    float real;
    if (info.dtype_code == 2) {
        assert_int_equal(item, sizeof real);
        memcpy(&real, data + i * item, sizeof real);
        return (double)real;
    }
    memcpy(&whole, data + i * item, item);
    const unsigned spare = (unsigned)(64 - 8 * item);
    return info.dtype_code == 0 ? (double)((int64_t)((uint64_t)whole << spare) >> spare) : (double)whole;
}

static inline size_t graph_elements(const vta_model *model, uint32_t which)
{
    const vta_tensor_info info = vta_model_output(model, which);
    return info.bytes / (info.dtype_bits / 8U);
}

#endif
