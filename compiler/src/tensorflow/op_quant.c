/* SPDX-License-Identifier: Apache-2.0
 *
 * FakeQuant: what training for 8 bits leaves in a graph, as QuantizeLinear and DequantizeLinear.
 */
#include <math.h>

#include "import.h"

typedef struct quant_range {
    int64_t count;
    float *scale;
    int64_t *zero;
    float *low; /* the lowest number of each range */
} quant_range;

/* TensorFlow moves a range a little, so that 0 is one of its numbers. */
static bool place_range(vtac_tf *im, int64_t i, double min, double max, int64_t bits, bool narrow,
                        quant_range *r)
{
    const float bottom = narrow ? 1.0F : 0.0F;
    const float top = (float)((1 << bits) - 1);
    const float scale = (float)(max - min) / (top - bottom);
    if (!(max > min) || min > 0.0 || max < 0.0 || !isfinite(scale)) {
        vtac_make_refuse(&im->maker, "a range of %g to %g, which must have 0 in it", min, max);
        return false;
    }
    const float zero = fminf(top, fmaxf(bottom, roundf(bottom - (float)min / scale)));
    r->scale[i] = scale;
    r->zero[i] = (int64_t)zero;
    r->low[i] = (bottom - zero) * scale;
    return true;
}

/* The numbers of a constant input, or of an attribute. */
static const vtac_tensor *range_input(vtac_tf *im, uint32_t i)
{
    const vtac_tensor *known = vtac_made_constant(&im->maker, vtac_tf_plain(im, i));
    if (known == NULL) {
        vtac_make_refuse(&im->maker, "a range that the run works out (input %u)", i);
    }
    return known;
}

static bool read_ranges(vtac_tf *im, quant_range *r)
{
    const int64_t bits = vtac_tf_int(im->node, "num_bits", 8);
    const bool narrow = vtac_tf_int(im->node, "narrow_range", 0) != 0;
    const bool inputs = im->how != TF_ARGS;
    const vtac_tensor *min = inputs ? range_input(im, 1) : NULL;
    const vtac_tensor *max = inputs ? range_input(im, 2) : NULL;
    r->count = min == NULL ? 1 : vtac_type_elements(&min->type);
    r->scale = vtac_make_room(&im->maker, r->count, sizeof *r->scale);
    r->zero = vtac_make_room(&im->maker, r->count, sizeof *r->zero);
    r->low = vtac_make_room(&im->maker, r->count, sizeof *r->low);
    if (im->maker.status != VTA_OK || (max != NULL && vtac_type_elements(&max->type) != r->count)) {
        vtac_make_fail(&im->maker, VTA_INVALID, "ranges of different lengths");
        return false;
    }
    if (bits != 8) {
        vtac_make_refuse(&im->maker, "%lld bits; 8 are taken", (long long)bits);
        return false;
    }
    for (int64_t i = 0; i < r->count; i++) {
        const double low = min == NULL ? vtac_tf_real(im->node, "min", -6.0) : vtac_tensor_float(min, i);
        const double high = max == NULL ? vtac_tf_real(im->node, "max", 6.0) : vtac_tensor_float(max, i);
        if (!place_range(im, i, low, high, bits, narrow, r)) {
            return false;
        }
    }
    return true;
}

/* One range, or one for each of the last axis. A narrow range leaves the lowest of 256 numbers out: x is cut
 * there first. */
void vtac_tf_import_fake_quant(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    bool planes;
    vtac_id x = vtac_tf_either(im, 0, &planes);
    const uint32_t rank = vtac_tf_type(im, 0).rank;
    quant_range r;
    if (!read_ranges(im, &r)) {
        return;
    }
    const bool several = im->how == TF_CHANNELS;
    const bool narrow = vtac_tf_int(im->node, "narrow_range", 0) != 0;
    const vtac_attr axis = vtac_attr_of_int("axis", several ? vtac_tf_axis(im, -1, rank, planes) : 0);
    const vtac_type type = {VTAC_F32, several ? 1 : 0, {r.count}};
    const vtac_id scale = vtac_make_borrowed(m, &type, r.scale);
    const vtac_id wide = vtac_make_borrowed(m, &(vtac_type){VTAC_I64, type.rank, {r.count}}, r.zero);
    const vtac_id zero = vtac_make_cast(m, wide, VTAC_U8);
    if (narrow) {
        const vtac_id low = vtac_make_borrowed(m, &type, r.low);
        const bool spread = several && planes;
        x = vtac_make2(m, VTAC_OP_MAX, x,
                       spread ? vtac_make_reshape(m, low, (int64_t[]){r.count, 1, 1}, 3) : low);
    }
    const vtac_id q = vtac_make(m, VTAC_OP_QUANTIZE_LINEAR, (vtac_id[]){x, scale, zero}, 3, &axis, 1);
    vtac_tf_set_either(
        im, 0, vtac_make(m, VTAC_OP_DEQUANTIZE_LINEAR, (vtac_id[]){q, scale, zero}, 3, &axis, 1), planes);
}
