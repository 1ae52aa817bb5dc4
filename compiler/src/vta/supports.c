/* SPDX-License-Identifier: Apache-2.0
 *
 * What the accelerator cannot do, each rule with a sentence for the person whose model it is.
 */
#include <inttypes.h>

#include "sched.h"

/* A convolution by itself, as if nothing were decided about its tensors yet. */
typedef struct alone {
    vtac_vta_tensor tensors[2];
    vtac_vta_layer layer;
    vtac_vta_region region;
} alone;

static void alone_of(const vtac_vta_region *region, uint32_t number, alone *out)
{
    static const uint32_t first = 0;
    out->layer = region->layers[number];
    out->tensors[0] = region->tensors[out->layer.inputs[0]];
    out->tensors[1] = region->tensors[out->layer.output];
    out->layer.inputs = &first;
    out->layer.output = 1;
    out->region = (vtac_vta_region){.name = region->name,
                                    .tensors = out->tensors,
                                    .tensor_count = 2,
                                    .layers = &out->layer,
                                    .layer_count = 1};
    vtac_vta_tensor *in = &out->tensors[0];
    in->folded = false;
    in->stored_c = in->c;
    in->stored_h = in->h;
    in->stored_w = in->w;
}

/* LOAD pads by at most this many entries on each side of a row. */
enum { MOST_COLUMN_PAD = 15 };

static vta_status rule_none(const machine *m, const vtac_vta_region *region, uint32_t number, vta_diag *diag)
{
    (void)m;
    return vta_fail(diag, VTA_UNSUPPORTED, "'%s' has no schedule for the accelerator yet",
                    region->layers[number].op);
}

static vta_status rule_padding(const machine *m, const vtac_vta_layer *layer, const vtac_vta_tensor *in,
                               const vtac_vta_tensor *to, vta_diag *diag)
{
    const vtac_vta_window *w = &layer->window;
    const int64_t right =
        (to->w - 1) * w->stride[1] + (w->kernel[1] - 1) * w->dilation[1] + 1 - w->before[1] - in->w;
    const int64_t widest = most(w->before[1], right);
    if (widest * m->ri > MOST_COLUMN_PAD) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "%" PRId64 " columns of padding; a LOAD pads by %" PRId64 " at most: pad in a layer "
                        "of its own, or make the window smaller",
                        widest, MOST_COLUMN_PAD / m->ri);
    }
    return VTA_OK;
}

/* |Σ (x - zx)·w| and the bias must stay inside int32 whatever x is. */
static vta_status rule_sum(const vtac_vta_layer *layer, const vtac_vta_tensor *in, const vtac_vta_tensor *to,
                           vta_diag *diag)
{
    const int64_t row = in->c / layer->groups * layer->window.kernel[0] * layer->window.kernel[1];
    const int64_t weight = layer->weight_zero != NULL ? 255 : 128;
    if (row > INT32_MAX / 128 / weight / 2) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "each output is a sum of %" PRId64 " products, which can exceed 32 bits; %" PRId64
                        " are the most",
                        row, INT32_MAX / 128 / weight / 2);
    }
    for (int64_t o = 0; layer->bias != NULL && o < to->c; o++) {
        const int64_t bias = layer->bias[o];
        if ((bias < 0 ? -bias : bias) > INT32_MAX / 2) {
            return vta_fail(diag, VTA_UNSUPPORTED,
                            "bias %" PRId64 " of channel %" PRId64 " leaves no room for a sum in 32 bits",
                            bias, o);
        }
    }
    return VTA_OK;
}

static vta_status rule_conv(const machine *m, const vtac_vta_region *region, uint32_t number, vta_diag *diag)
{
    const vtac_vta_layer *layer = &region->layers[number];
    const vtac_vta_tensor *in = &region->tensors[layer->inputs[0]], *to = &region->tensors[layer->output];
    VTA_TRY(rule_padding(m, layer, in, to, diag));
    VTA_TRY(rule_sum(layer, in, to, diag));
    alone one;
    conv c;
    tiling t;
    alone_of(region, number, &one);
    conv_of(m, &one.region, 0, &c);
    return tiling_choose(&c, &t, diag);
}

typedef vta_status rule(const machine *m, const vtac_vta_region *region, uint32_t number, vta_diag *diag);

static const struct {
    const char *name;
    rule *rule;
} kinds[VTAC_VTA_KINDS] = {
#define VTAC_VTA_KIND(id, name, rule) [VTAC_VTA_##id] = {name, rule},
#include "kinds.def"
#undef VTAC_VTA_KIND
};

vta_status vtac_vta_supports(const vta_config *config, const vtac_vta_region *region, uint32_t layer,
                             vta_diag *diag)
{
    machine m;
    VTA_TRY(machine_of(config, &m, diag));
    return kinds[region->layers[layer].kind].rule(&m, region, layer, diag);
}

static const char *bound_of(const load_of_units *units, uint64_t cycles)
{
    const struct {
        const char *name;
        uint64_t cycles;
    } all[] = {{"array", units->array}, {"alu", units->alu}, {"load", units->load}, {"store", units->store}};
    const char *name = "latency";
    uint64_t largest = cycles / 2; /* below that no unit is to blame */
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        name = all[i].cycles > largest ? all[i].name : name;
        largest = all[i].cycles > largest ? all[i].cycles : largest;
    }
    return name;
}

vta_status vtac_vta_estimate(const vta_config *config, const vtac_vta_region *region, uint32_t layer,
                             vtac_vta_cost *out, vta_diag *diag)
{
    machine m;
    alone one;
    conv c;
    tiling t;
    load_of_units units;
    VTA_TRY(vtac_vta_supports(config, region, layer, diag));
    VTA_TRY(machine_of(config, &m, diag));
    alone_of(region, layer, &one);
    conv_of(&m, &one.region, 0, &c);
    VTA_TRY(tiling_choose(&c, &t, diag));
    const uint64_t cycles = tiling_estimate(&c, &t, &units);
    *out = (vtac_vta_cost){.cycles = cycles,
                           .array = units.array,
                           .alu = units.alu,
                           .load = units.load,
                           .store = units.store,
                           .bytes_read = units.bytes_read,
                           .bytes_written = units.bytes_written,
                           .macs = (uint64_t)(one.tensors[0].n * c.oh * c.ow * c.c_out * (c.c_in / c.groups) *
                                              c.window.kernel[0] * c.window.kernel[1]),
                           .bound = bound_of(&units, cycles)};
    return VTA_OK;
}
