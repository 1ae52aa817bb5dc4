/* SPDX-License-Identifier: Apache-2.0
 *
 * Made-up inputs. Pictures have most of their energy in slow changes: white noise would leave the deeper
 * layers of a network almost silent. So each channel is a sum of waves, few of them fast, and a little noise.
 *
 * What range a model was trained on, it does not say. The weights suggest it: with the right amplitude, the
 * first layer answers with numbers of the order of 1.
 */
#include <math.h>

#include "plan.h"
#include "vtac/quantize.h"

enum { WAVES = 6 };

/* xorshift64*: in [0, 1), the same on every machine. */
static double uniform(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (double)((*state * 0x2545f4914f6cdd1dULL) >> 11) * 0x1p-53;
}

/* Root of the mean over output channels of the sum of their squared weights: by how much the first product
 * behind an input makes noise louder; 0: there is none. */
static double gain(const vtac_graph *g, vtac_value_id input)
{
    for (uint32_t i = 0; i < g->order_count; i++) {
        const vtac_node *node = &g->nodes[g->order[i]];
        uint32_t axis;
        if (node->inputs[0] == input && quant_is_product(g, node, &axis)) {
            const vtac_tensor *w = vtac_in_constant(g, node, 1);
            double sum = 0.0;
            for (int64_t k = 0; k < vtac_type_elements(&w->type); k++) {
                const double v = vtac_tensor_float(w, k);
                sum += v * v;
            }
            return sqrt(sum / (double)w->type.dim[axis]);
        }
    }
    return 0.0;
}

/* Of the amplitudes that models are trained on: 0 … 1, normalized, 0 … 255 without its mean. */
static double amplitude(const vtac_graph *g, vtac_value_id input)
{
    static const double usual[] = {1.0, 2.5, 128.0};
    const double by = gain(g, input);
    double best = 2.5;
    for (size_t i = 0; by > 0.0 && i < sizeof usual / sizeof usual[0]; i++) {
        best = fabs(log(usual[i] * by)) < fabs(log(best * by)) ? usual[i] : best;
    }
    return best;
}

/* One plane of `height` by `width`, within -most … most. */
static void draw(float *to, int64_t height, int64_t width, double most, uint64_t *state)
{
    double wave[WAVES][4];
    double total = 1.0;
    for (int k = 0; k < WAVES; k++) {
        wave[k][0] = 1.0 / (1 + k);                                  /* height */
        wave[k][1] = (2.0 * uniform(state) - 1.0) * (1 << k) * 3.14; /* periods down and across */
        wave[k][2] = (2.0 * uniform(state) - 1.0) * (1 << k) * 3.14;
        wave[k][3] = 6.28 * uniform(state);
        total += wave[k][0];
    }
    for (int64_t y = 0; y < height; y++) {
        for (int64_t x = 0; x < width; x++) {
            double sum = 2.0 * uniform(state) - 1.0;
            for (int k = 0; k < WAVES; k++) {
                sum += wave[k][0] * sin(wave[k][1] * (double)y / (double)height +
                                        wave[k][2] * (double)x / (double)width + wave[k][3]);
            }
            /* waves seldom meet: twice as high, then cut */
            const double value = 2.0 * sum / total;
            to[y * width + x] = (float)(most * (value > 1.0 ? 1.0 : value < -1.0 ? -1.0 : value));
        }
    }
}

static vta_status make(const vtac_graph *g, vtac_value_id input, uint64_t *state, vta_arena *arena,
                       vtac_tensor *out, vta_diag *diag)
{
    const vtac_type *type = &g->values[input].type;
    const int64_t count = vtac_type_elements(type);
    if (type->dtype != VTAC_F32 || count <= 0) {
        return vta_fail(diag, VTA_UNSUPPORTED, "input '%s' is not of float32: give calibration inputs",
                        g->values[input].name);
    }
    float *data = vta_arena_array(arena, (size_t)count, sizeof *data);
    if (data == NULL) {
        return vta_fail(diag, VTA_NOMEM, "out of memory");
    }
    const int64_t width = type->rank == 0 ? 1 : type->dim[type->rank - 1];
    const int64_t height = type->rank < 3 ? 1 : type->dim[type->rank - 2];
    const double most = amplitude(g, input);
    for (int64_t at = 0; at < count; at += width * height) {
        draw(data + at, height, width, most, state);
    }
    *out = (vtac_tensor){.type = *type, .data = data, .bytes = (size_t)count * sizeof *data};
    return VTA_OK;
}

vta_status vtac_generate_samples(const vtac_graph *graph, uint32_t count, uint64_t seed, vta_arena *arena,
                                 vtac_samples *out, vta_diag *diag)
{
    uint64_t state = seed * 0x9e3779b97f4a7c15ULL + 1;
    const size_t total = (size_t)count * graph->input_count;
    vtac_tensor *tensors = vta_arena_array(arena, total + 1, sizeof *tensors);
    state = state == 0 ? 1 : state;
    if (tensors == NULL) {
        return vta_fail(diag, VTA_NOMEM, "out of memory");
    }
    for (size_t i = 0; i < total; i++) {
        VTA_TRY(make(graph, graph->inputs[i % graph->input_count], &state, arena, &tensors[i], diag));
    }
    *out = (vtac_samples){.tensors = tensors, .count = count, .inputs = graph->input_count};
    return VTA_OK;
}
