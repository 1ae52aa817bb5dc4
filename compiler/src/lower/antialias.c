/* SPDX-License-Identifier: Apache-2.0
 *
 * Resize with antialias: where an axis shrinks, the kernel of the interpolation is stretched over all places
 * that one output place stands for. Axis by axis, by tables of places and weights that are worked out here.
 */
#include <math.h>
#include <string.h>

#include "resize.h"
#include "vta/fail.h"

enum { MAX_WEIGHTS = 1 << 24 }; /* of one axis, which a table holds */

typedef struct filter {
    uint32_t axis;
    int64_t from, to, taps;
    vtac_storage_id places, weights; /* [to][taps] */
    vtac_storage_id outside;         /* [to]: 1 where the output place is extrapolated; 0: none is */
} filter;

static double kernel_at(const vtac_node *n, double d)
{
    const double a = vtac_attr_float(n, "cubic_coeff_a", -0.75);
    d = fabs(d);
    if (strcmp(vtac_attr_string(n, "mode", "nearest"), "cubic") != 0) {
        return d < 1.0 ? 1.0 - d : 0.0;
    }
    return d <= 1.0  ? ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0
           : d < 2.0 ? ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a
                     : 0.0;
}

/* Places and weights of one output place whose source coordinate is x. */
static void fill_row(const vtac_node *n, const filter *f, double x, double stretch, int64_t *places,
                     double *weights)
{
    const bool exclude = vtac_attr_int(n, "exclude_outside", 0) != 0;
    const double reach = (double)(f->taps - 1) / 2.0;
    const int64_t first = (int64_t)ceil(x - reach);
    double sum = 0.0;
    for (int64_t t = 0; t < f->taps; t++) {
        const int64_t place = first + t;
        const bool inside = place >= 0 && place < f->from;
        weights[t] = exclude && !inside ? 0.0 : kernel_at(n, ((double)place - x) * stretch);
        places[t] = place < 0 ? 0 : place >= f->from ? f->from - 1 : place;
        sum += weights[t];
    }
    for (int64_t t = 0; t < f->taps && sum != 0.0; t++) {
        weights[t] /= sum;
    }
}

static vta_status fill_filter(vtac_lower *l, const vtac_resize_place *source, vtac_dtype type, filter *f)
{
    const bool cubic = strcmp(vtac_attr_string(l->node, "mode", "nearest"), "cubic") == 0;
    const bool crop =
        strcmp(vtac_attr_string(l->node, "coordinate_transformation_mode", ""), "tf_crop_and_resize") == 0;
    const double stretch = source->scale < 1.0 ? source->scale : 1.0;
    f->taps = 2 * (int64_t)ceil((cubic ? 2.0 : 1.0) / stretch) + 1;
    if (f->to > MAX_WEIGHTS / f->taps) {
        return vtac_unsupported(l, "an axis of more than 2^24 weights is not lowered");
    }
    vta_arena *arena = &l->program->arena;
    const size_t count = (size_t)(f->to * f->taps);
    int64_t *places = vta_arena_array(arena, count, sizeof *places);
    double *weights = vta_arena_array(arena, count, sizeof *weights);
    float *narrow = vta_arena_array(arena, count, sizeof *narrow);
    uint8_t *outside = vta_arena_array(arena, (size_t)f->to, 1);
    if (places == NULL || weights == NULL || narrow == NULL || outside == NULL) {
        return vta_no_memory(l->diag);
    }
    for (int64_t i = 0; i < f->to; i++) {
        const double x = ((double)i + source->before) * source->factor / source->divisor + source->after;
        fill_row(l->node, f, x, stretch, places + i * f->taps, weights + i * f->taps);
        outside[i] = x < 0.0 || x > (double)(f->from - 1);
    }
    for (size_t i = 0; i < count; i++) {
        narrow[i] = (float)weights[i];
    }
    f->places = vtac_constant(l, places, count * sizeof *places);
    f->weights = type == VTAC_F32 ? vtac_constant(l, narrow, count * sizeof *narrow)
                                  : vtac_constant(l, weights, count * sizeof *weights);
    f->outside = crop ? vtac_constant(l, outside, (uint64_t)f->to) : 0;
    return VTA_OK;
}

/* Resizes one axis, from `input` (0: the node's) to `output` (0: the node's); `shape` is the input's and
 * becomes the output's. */
static vta_status resize_axis(vtac_lower *l, const filter *f, vtac_dtype type, vtac_type *shape,
                              vtac_storage_id input, vtac_storage_id output)
{
    static const char *const names[] = {".0", ".1", ".2", ".3", ".4", ".5", ".6", ".7"};
    VTA_TRY(vtac_begin(l, output == 0 ? "" : names[f->axis]));
    vtac_kernel *k = l->k;
    const vtac_type from = *shape;
    shape->dim[f->axis] = f->to;
    const int64_t count = f->to * f->taps;
    const vtac_expr *zero = vtac_e_index(k, 0);
    const vtac_expr *at[VTAC_MAX_RANK];
    const vtac_expr *source[VTAC_MAX_RANK];
    vtac_buffer *x =
        input == 0 ? vtac_in(l, VTAC_RESIZE_X) : vtac_use(l, input, "x", type, vtac_type_elements(&from));
    vtac_buffer *places = vtac_use(l, f->places, "places", VTAC_I64, count);
    vtac_buffer *weights = vtac_use(l, f->weights, "weights", type, count);
    vtac_buffer *sum = vtac_local(l, "sum", type, 1);
    const uint32_t loops = vtac_open(l, shape, at, 1);
    memcpy(source, at, sizeof source);
    vtac_store(k, sum, zero, vtac_e_int(k, type, 0));
    const vtac_expr *tap = vtac_for(k, VTAC_LOOP_SERIAL, f->taps, "tap");
    const vtac_expr *row = vtac_let(k, "row", vtac_i_add(k, vtac_i_mulc(k, at[f->axis], f->taps), tap));
    source[f->axis] = vtac_let(k, "place", vtac_e_load(k, places, row));
    const vtac_expr *value = vtac_e_cast(k, type, vtac_e_load(k, x, vtac_flat(l, &from, source)));
    vtac_store(k, sum, zero,
               vtac_e3(k, VTAC_E_FMA, value, vtac_e_load(k, weights, row), vtac_e_load(k, sum, zero)));
    vtac_end(k);
    const vtac_expr *y = vtac_e_load(k, sum, zero);
    if (f->outside != 0) {
        vtac_buffer *outside = vtac_use(l, f->outside, "outside", VTAC_BOOL, f->to);
        const double fill = vtac_attr_float(l->node, "extrapolation_value", 0.0);
        y = vtac_e3(k, VTAC_E_SELECT, vtac_e_load(k, outside, at[f->axis]), vtac_e_float(k, type, fill), y);
    }
    if (output == 0) {
        vtac_out_at(l, 0, at, vtac_e_cast(k, vtac_type_out(l, 0)->dtype, y));
    } else {
        vtac_store(k, vtac_use(l, output, "y", type, vtac_type_elements(shape)), vtac_flat(l, shape, at), y);
    }
    vtac_close(l, loops);
    return l->diag->code;
}

vta_status vtac_lower_antialias(vtac_lower *l)
{
    const vtac_type *x = vtac_type_in(l, VTAC_RESIZE_X);
    const vtac_dtype type = vtac_compute_type(x->dtype) == VTAC_F64 ? VTAC_F64 : VTAC_F32;
    vtac_resize_place sources[VTAC_MAX_RANK];
    uint32_t last = VTAC_MAX_RANK;
    vtac_type shape = *x;
    vtac_storage_id input = 0;
    for (uint32_t axis = 0; axis < x->rank; axis++) {
        VTA_TRY(vtac_resize_source(l, l->node, axis, &sources[axis]));
        last = sources[axis].moves ? axis : last;
    }
    for (uint32_t axis = 0; axis < x->rank; axis++) {
        if (!sources[axis].moves && !(last == VTAC_MAX_RANK && axis + 1 == x->rank)) {
            continue; /* nothing to do, unless the output would not be written at all */
        }
        filter f = {.axis = axis, .from = x->dim[axis], .to = vtac_type_out(l, 0)->dim[axis]};
        vtac_type next = shape;
        next.dim[axis] = f.to;
        const bool final = axis == last || last == VTAC_MAX_RANK;
        const vtac_storage_id output = final ? 0 : vtac_temp(l, type, vtac_type_elements(&next));
        VTA_TRY(fill_filter(l, &sources[axis], type, &f));
        VTA_TRY(resize_axis(l, &f, type, &shape, input, output));
        input = output;
    }
    return VTA_OK;
}
