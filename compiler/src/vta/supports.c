/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules that keep a layer off the accelerator, each with a sentence for the person whose model it is.
 */
#include <inttypes.h>

#include "sched.h"
#include "vta/number.h"

/* The range of Σ (x - zx)·w for channel o, and Σ |w|. */
static void sum_range(const vtac_vta_layer *layer, int32_t zero_in, int64_t row, int64_t o, int64_t range[2],
                      int64_t *size)
{
    const int64_t low = INT8_MIN - zero_in, high = INT8_MAX - zero_in;
    const int64_t zero = layer->weight_zero != NULL ? layer->weight_zero[o] : 0;
    range[0] = range[1] = *size = 0;
    for (int64_t k = 0; k < row; k++) {
        const int64_t w = layer->weights[o * row + k] - zero;
        range[0] += w * (w > 0 ? low : high);
        range[1] += w * (w > 0 ? high : low);
        *size += w > 0 ? w : -w;
    }
}

/* Checks that |Σ (x - zx)·w| and the bias stay inside int32 for every x. */
static vta_status rule_sum(const vtac_vta_layer *layer, const vtac_vta_tensor *in, const vtac_vta_tensor *to,
                           vta_diag *diag)
{
    const int64_t groups = layer->kind == VTAC_VTA_CONV ? layer->groups : in->c;
    const int64_t row = in->c / groups * layer->window.kernel[0] * layer->window.kernel[1];
    const int64_t weight = layer->weight_zero != NULL || layer->planes > 1 ? 255 : 128;
    if (row > INT32_MAX / 128 / weight / 2) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "each output is a sum of %" PRId64 " products, which can exceed 32 bits; %" PRId64
                        " are the most",
                        row, INT32_MAX / 128 / weight / 2);
    }
    const bool weighs = layer->kind == VTAC_VTA_CONV; /* biases of means are small */
    for (int64_t o = 0; weighs && layer->bias != NULL && o < to->c; o++) {
        const int64_t bias = layer->bias[o];
        int64_t range[2], size;
        if ((bias < 0 ? -bias : bias) <= INT32_MAX / 2) {
            continue;
        }
        sum_range(layer, in->zero, row, o, range, &size);
        const int64_t smallest = bias - 128 * size, largest = bias + 128 * size;
        if (vta_min(range[0] + bias, smallest) < INT32_MIN || vta_max(range[1] + bias, largest) > INT32_MAX) {
            return vta_fail(diag, VTA_UNSUPPORTED,
                            "bias %" PRId64 " of channel %" PRId64
                            " leaves no room for a sum in 32 bits, and its result changes with the input; "
                            "quantize that channel's weights with a larger scale",
                            bias, o);
        }
    }
    return VTA_OK;
}

/* Checks weights that are an image: entries of WGT must lie in it as they are loaded. */
static vta_status rule_image(const machine *m, const vtac_vta_tensor *image, vta_diag *diag)
{
    if (m->block_in != m->block_out || image->h * image->w % m->block != 0) {
        return vta_fail(
            diag, VTA_UNSUPPORTED,
            "its second factor is an image of %" PRId64 " pixels, and this machine has blocks of %" PRId64
            "x%" PRId64
            "; use a configuration with LOG_BLOCK_IN equal to LOG_BLOCK_OUT, and pad the image to "
            "a multiple of them",
            image->h * image->w, m->block_in, m->block_out);
    }
    return VTA_OK;
}

vta_status vtac_vta_rule_conv(const machine *m, const vtac_vta_region *region, uint32_t number,
                              vta_diag *diag)
{
    const vtac_vta_layer *layer = &region->layers[number];
    const vtac_vta_tensor *in = &region->tensors[layer->inputs[0]], *to = &region->tensors[layer->output];
    if (layer->kind == VTAC_VTA_CONV && layer->weights == NULL && m->batch > 1) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "both its factors change with the input, and this machine takes %" PRId64
                        " images at a time; use a configuration with LOG_BATCH 0",
                        m->batch);
    }
    VTA_TRY(layer->image ? rule_image(m, &region->tensors[layer->inputs[1]], diag) : VTA_OK);
    return rule_sum(layer, in, to, diag);
}

vta_status vtac_vta_rule_average(const machine *m, const vtac_vta_region *region, uint32_t number,
                                 vta_diag *diag)
{
    const vtac_vta_layer *layer = &region->layers[number];
    for (uint32_t i = 0; i < layer->divisor_count; i++) {
        if (layer->divisors[i] == 0) {
            return vta_fail(diag, VTA_UNSUPPORTED,
                            "windows at its border lie in the padding altogether; make the padding smaller "
                            "than the kernel");
        }
    }
    return vtac_vta_rule_conv(m, region, number, diag);
}

vta_status vtac_vta_rule_move(const machine *m, const vtac_vta_region *region, uint32_t number,
                              vta_diag *diag)
{
    return region->layers[number].across && m->batch > 1
               ? vta_fail(diag, VTA_UNSUPPORTED,
                          "it moves numbers from image to image, and this machine takes %" PRId64
                          " images at a time; use a configuration with LOG_BATCH 0",
                          m->batch)
               : VTA_OK;
}

static const vtac_vta_tensor *tensor_of(const vtac_vta_region *region, uint32_t index)
{
    return &region->tensors[index];
}

/* Rows of pixels are contiguous, so only the number of pixels counts. */
static bool same_image(const vtac_vta_tensor *a, const vtac_vta_tensor *b)
{
    return a->n == b->n && a->h * a->w == b->h * b->w;
}

vta_status vtac_vta_rule_shapes(const machine *m, const vtac_vta_region *region, uint32_t number,
                                vta_diag *diag)
{
    (void)m;
    const vtac_vta_layer *layer = &region->layers[number];
    const vtac_vta_tensor *to = tensor_of(region, layer->output);
    const bool channels = layer->kind != VTAC_VTA_CONCAT;
    for (uint32_t k = 0; k < layer->input_count; k++) {
        const vtac_vta_tensor *in = tensor_of(region, layer->inputs[k]);
        const bool one = layer->kind == VTAC_VTA_MUL && k == 1 && in->h == 1 && in->w == 1 && in->n == to->n;
        if ((!same_image(in, to) && !one) || (channels && in->c != to->c)) {
            return vta_fail(diag, VTA_UNSUPPORTED,
                            "input %" PRIu32
                            " is broadcast; only the second factor of a product may be, over "
                            "rows and columns",
                            k);
        }
    }
    return VTA_OK;
}

vta_status vtac_vta_rule_concat(const machine *m, const vtac_vta_region *region, uint32_t number,
                                vta_diag *diag)
{
    const vtac_vta_layer *layer = &region->layers[number];
    const vtac_vta_tensor *to = tensor_of(region, layer->output);
    int64_t pixels = 0;
    bool alike = true;
    for (uint32_t k = 0; k < layer->input_count; k++) {
        const vtac_vta_tensor *in = tensor_of(region, layer->inputs[k]);
        alike = alike && in->n == to->n && in->c == to->c;
        pixels += in->h * in->w;
    }
    if (!layer->by_pixels) {
        return vtac_vta_rule_shapes(m, region, number, diag);
    }
    return alike && pixels == to->h * to->w
               ? VTA_OK
               : vta_fail(diag, VTA_UNSUPPORTED,
                          "its inputs do not have all channels of the output, or other pixels than it has");
}

vta_status vtac_vta_rule_none(const machine *m, const vtac_vta_region *region, uint32_t number,
                              vta_diag *diag)
{
    (void)m;
    (void)region;
    (void)number;
    (void)diag;
    return VTA_OK;
}

/* Checks the parts that a configuration may leave out, where nothing else can replace them. */
static vta_status rule_built(const vta_config *config, const vtac_vta_layer *layer, vta_diag *diag)
{
    if (config->table == 0 && (layer->table != NULL || layer->behind != NULL)) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "it needs a table, and configuration '%s' has none; use one with TABLE 1",
                        config->name);
    }
    if (layer->kind == VTAC_VTA_ADD && layer->table != NULL && layer->behind != NULL) {
        return vta_fail(diag, VTA_UNSUPPORTED, "a sum looks up one table, not two");
    }
    return VTA_OK;
}

vta_status vtac_vta_supports(const vta_config *config, const vtac_vta_region *region, uint32_t layer,
                             vta_diag *diag)
{
    machine m;
    plan p;
    const kind_of_layer *kind = &vtac_vta_layer_kinds[region->layers[layer].kind];
    VTA_TRY(rule_built(config, &region->layers[layer], diag));
    VTA_TRY(vtac_vta_machine_of(config, &m, diag));
    VTA_TRY(kind->rule(&m, region, layer, diag));
    return kind->plan(&m, region, layer, &p, diag);
}

static const char *bound_of(const load_of_units *units, uint64_t cycles)
{
    const struct {
        const char *name;
        uint64_t cycles;
    } all[] = {{"array", units->array}, {"alu", units->alu}, {"load", units->load}, {"store", units->store}};
    const char *name = "latency";
    uint64_t largest = cycles / 2; /* a unit that works less than half of the time is not the bound */
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        name = all[i].cycles > largest ? all[i].name : name;
        largest = all[i].cycles > largest ? all[i].cycles : largest;
    }
    return name;
}

static uint64_t macs_of(const plan *p)
{
    if (p->layer->products > 0) {
        return p->layer->products;
    }
    if (p->layer->kind == VTAC_VTA_RECURRENT) {
        return vtac_vta_recurrent_macs(p->layer, p->recurrent.batch);
    }
    const vtac_vta_tensor *in = &p->region->tensors[p->layer->inputs[0]],
                          *to = &p->region->tensors[p->layer->output];
    const vtac_vta_window *w = &p->layer->window;
    const int64_t each =
        p->layer->kind != VTAC_VTA_CONV ? 0 : in->c / p->layer->groups * w->kernel[0] * w->kernel[1];
    return (uint64_t)(to->n * to->c * to->h * to->w * each);
}

void vtac_vta_plan_cost(const plan *p, vtac_vta_cost *out)
{
    *out = (vtac_vta_cost){.cycles = p->cycles,
                           .array = p->units.array,
                           .alu = p->units.alu,
                           .load = p->units.load,
                           .store = p->units.store,
                           .bytes_read = p->units.bytes_read,
                           .bytes_written = p->units.bytes_written,
                           .macs = macs_of(p),
                           .bound = bound_of(&p->units, p->cycles)};
}

vta_status vtac_vta_estimate(const vta_config *config, const vtac_vta_region *region, uint32_t layer,
                             vtac_vta_cost *out, vta_diag *diag)
{
    machine m;
    plan p;
    const vtac_vta_layer *l = &region->layers[layer];
    VTA_TRY(vtac_vta_machine_of(config, &m, diag));
    VTA_TRY(vtac_vta_layer_kinds[l->kind].rule(&m, region, layer, diag));
    VTA_TRY(vtac_vta_layer_kinds[l->kind].plan(&m, region, layer, &p, diag));
    vtac_vta_plan_cost(&p, out);
    return VTA_OK;
}
