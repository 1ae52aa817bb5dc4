/* SPDX-License-Identifier: Apache-2.0
 *
 * Resize: every axis whose size or scale changes is sampled by one (nearest), two (linear) or four (cubic)
 * places; the weights of several axes multiply. Places beyond the edge are those at the edge.
 */
#include <math.h>
#include <string.h>

#include "point.h"
#include "resize.h"
#include "rows.h"
#include "vta/fail.h"

#define E2(op, a, b) vtac_e2(l->k, VTAC_E_##op, a, b)

enum { MAX_TAPS = 4 };

typedef struct taps {
    uint32_t count;
    const vtac_expr *place[MAX_TAPS];
    const vtac_expr *weight[MAX_TAPS]; /* f64; NULL: 1 */
} taps;

static const vtac_expr *number_of(const vtac_lower *l, double value)
{
    return vtac_e_float(l->k, VTAC_F64, value);
}

/* Index of an axis in the lists (scales, sizes); -1: the lists do not have the axis. */
static int64_t entry_of(const vtac_node *n, uint32_t axis, uint32_t rank)
{
    const vtac_attr *axes = vtac_find_attr(n, "axes");
    for (size_t i = 0; axes != NULL && i < axes->count; i++) {
        if ((axes->ints[i] < 0 ? axes->ints[i] + rank : axes->ints[i]) == (int64_t)axis) {
            return (int64_t)i;
        }
    }
    return axes == NULL ? (int64_t)axis : -1;
}

static double scale_of(const vtac_lower *l, const vtac_node *n, uint32_t axis, int64_t from, int64_t to)
{
    const vtac_tensor *scales = vtac_in_constant(l->graph, n, VTAC_RESIZE_SCALES);
    const int64_t entry = entry_of(n, axis, vtac_in_type(l->graph, n, VTAC_RESIZE_X)->rank);
    if (scales != NULL && vtac_type_elements(&scales->type) > 0 && entry >= 0) {
        return vtac_tensor_float(scales, entry);
    }
    const double ratio = entry >= 0 ? vtac_resize_ratio(l->graph, n) : 0.0;
    return ratio > 0.0 ? ratio : (double)to / (double)from;
}

/* Begin and end of the region of interest on an axis, as shares of it. */
static bool region_of(const vtac_lower *l, const vtac_node *n, uint32_t axis, double *begin, double *end)
{
    const vtac_tensor *roi = vtac_in_constant(l->graph, n, VTAC_RESIZE_ROI);
    const int64_t entry = entry_of(n, axis, vtac_in_type(l->graph, n, VTAC_RESIZE_X)->rank);
    *begin = 0.0;
    *end = 1.0;
    if (roi == NULL) {
        return false;
    }
    const int64_t half = vtac_type_elements(&roi->type) / 2;
    if (entry >= 0 && entry < half) {
        *begin = vtac_tensor_float(roi, entry);
        *end = vtac_tensor_float(roi, entry + half);
    }
    return true;
}

/* The source coordinate of an output place, by the transformation mode; false: a mode that is not known, or a
 * region that is not. */
static bool source_coordinate(vtac_lower *l, const vtac_node *n, uint32_t axis, int64_t from, int64_t to,
                              vtac_resize_place *out)
{
    const char *mode = vtac_attr_string(n, "coordinate_transformation_mode", "half_pixel");
    const double length =
        out->scale * (double)from; /* of the output, before it was rounded: ONNX counts with it */
    const double last = (double)(from - 1);
    out->before = 0.5;
    out->factor = 1.0;
    out->divisor = out->scale;
    out->after = -0.5;
    if (strcmp(mode, "half_pixel") == 0 || (strcmp(mode, "pytorch_half_pixel") == 0 && to > 1)) {
        return true;
    }
    if (strcmp(mode, "half_pixel_symmetric") == 0) {
        out->after += (double)from / 2.0 * (1.0 - (double)to / length);
        return true;
    }
    out->after = 0.0;
    if (strcmp(mode, "tf_half_pixel_for_nn") == 0) {
        return true;
    }
    out->before = 0.0;
    if (strcmp(mode, "asymmetric") == 0) {
        return true;
    }
    out->factor = to > 1 ? last : 0.0;
    out->divisor = to > 1 ? length - 1.0 : 1.0;
    if (strcmp(mode, "tf_crop_and_resize") == 0) {
        double begin;
        double end;
        const bool known = region_of(l, n, axis, &begin, &end);
        out->factor = to > 1 ? (end - begin) * last / (length - 1.0) : 0.0;
        out->divisor = 1.0;
        out->after = to > 1 ? begin * last : 0.5 * (begin + end) * last;
        return known;
    }
    if (strcmp(mode, "pytorch_half_pixel") == 0) {
        out->factor = 0.0;
        return true;
    }
    return strcmp(mode, "align_corners") == 0;
}

static const vtac_expr *clamp_place(vtac_lower *l, const vtac_expr *place, int64_t size)
{
    return vtac_let(l->k, "place",
                    E2(MAX, vtac_e_index(l->k, 0), E2(MIN, vtac_e_index(l->k, size - 1), place)));
}

static const vtac_expr *nearest_index(vtac_lower *l, const vtac_node *n, const vtac_expr *x)
{
    const char *mode = vtac_attr_string(n, "nearest_mode", "round_prefer_floor");
    if (strcmp(mode, "floor") == 0) {
        return vtac_e1(l->k, VTAC_E_FLOOR, x);
    }
    if (strcmp(mode, "ceil") == 0) {
        return vtac_e1(l->k, VTAC_E_CEIL, x);
    }
    return strcmp(mode, "round_prefer_ceil") == 0 ? vtac_e1(l->k, VTAC_E_FLOOR, E2(ADD, x, number_of(l, 0.5)))
                                                  : vtac_e1(l->k, VTAC_E_CEIL, E2(SUB, x, number_of(l, 0.5)));
}

/* Weight of a place at distance d (0 or more) by the cubic kernel: near for d <= 1, else far. */
static const vtac_expr *cubic_weight(vtac_lower *l, const vtac_expr *d, double a, bool near)
{
    const double c[2][4] = {{a, -5 * a, 8 * a, -4 * a}, {a + 2, -(a + 3), 0, 1}};
    const vtac_expr *y = number_of(l, c[near][0]);
    for (int i = 1; i < 4; i++) {
        y = E2(ADD, E2(MUL, y, d), number_of(l, c[near][i]));
    }
    return vtac_let(l->k, "weight", y);
}

static void set_weights(vtac_lower *l, const vtac_node *n, bool is_cubic, const vtac_expr *rest, taps *t)
{
    const double a = vtac_attr_float(n, "cubic_coeff_a", -0.75);
    const vtac_expr *other = E2(SUB, number_of(l, 1.0), rest);
    if (!is_cubic) {
        t->weight[0] = vtac_let(l->k, "weight", other);
        t->weight[1] = rest;
        return;
    }
    t->weight[0] = cubic_weight(l, vtac_let(l->k, "d", E2(ADD, rest, number_of(l, 1.0))), a, false);
    t->weight[1] = cubic_weight(l, rest, a, true);
    t->weight[2] = cubic_weight(l, vtac_let(l->k, "d", other), a, true);
    t->weight[3] = cubic_weight(l, vtac_let(l->k, "d", E2(ADD, other, number_of(l, 1.0))), a, false);
}

/* With exclude_outside places beyond the edge count nothing, and the others' weights sum to 1 again. */
static void exclude_outside(vtac_lower *l, int64_t size, const vtac_expr *const *raw, taps *t)
{
    const vtac_expr *sum = number_of(l, 0.0);
    for (uint32_t i = 0; i < t->count; i++) {
        const vtac_expr *low = E2(GE, raw[i], vtac_e_index(l->k, 0));
        const vtac_expr *inside = E2(AND, low, E2(LT, raw[i], vtac_e_index(l->k, size)));
        t->weight[i] =
            vtac_let(l->k, "weight", vtac_e3(l->k, VTAC_E_SELECT, inside, t->weight[i], number_of(l, 0.0)));
        sum = E2(ADD, sum, t->weight[i]);
    }
    sum = vtac_let(l->k, "sum", sum);
    for (uint32_t i = 0; i < t->count; i++) {
        t->weight[i] = vtac_let(l->k, "weight", E2(DIV, t->weight[i], sum));
    }
}

vta_status vtac_resize_source(vtac_lower *l, const vtac_node *n, uint32_t axis, vtac_resize_place *out)
{
    const int64_t from = vtac_in_type(l->graph, n, VTAC_RESIZE_X)->dim[axis];
    const int64_t to = l->graph->values[n->outputs[0]].type.dim[axis];
    out->scale = scale_of(l, n, axis, from, to);
    if (!source_coordinate(l, n, axis, from, to, out)) {
        return vtac_unsupported(
            l, "this coordinate transformation, or a region unknown at compile time, is not lowered");
    }
    const bool same = from == to && out->factor == out->divisor && out->before + out->after == 0.0;
    out->moves = !same && (from != 1 || to != 1); /* one place stays itself, whatever the formula says */
    return VTA_OK;
}

static void sample_axis(vtac_lower *l, const vtac_node *n, const vtac_expr *x, int64_t size, taps *t)
{
    const char *mode = vtac_attr_string(n, "mode", "nearest");
    const bool is_cubic = strcmp(mode, "cubic") == 0;
    const vtac_expr *raw[MAX_TAPS];
    if (strcmp(mode, "nearest") == 0) {
        t->count = 1;
        t->place[0] = clamp_place(l, vtac_e_cast(l->k, VTAC_I64, nearest_index(l, n, x)), size);
        t->weight[0] = NULL;
        return;
    }
    const vtac_expr *floor_x = vtac_let(l->k, "floor", vtac_e1(l->k, VTAC_E_FLOOR, x));
    const vtac_expr *first = vtac_let(l->k, "first", vtac_e_cast(l->k, VTAC_I64, floor_x));
    t->count = is_cubic ? 4 : 2;
    set_weights(l, n, is_cubic, vtac_let(l->k, "rest", E2(SUB, x, floor_x)), t);
    for (uint32_t i = 0; i < t->count; i++) {
        raw[i] = vtac_let(l->k, "raw", vtac_i_addc(l->k, first, (int64_t)i - (is_cubic ? 1 : 0)));
        t->place[i] = clamp_place(l, raw[i], size);
    }
    if (vtac_attr_int(n, "exclude_outside", 0) != 0) {
        exclude_outside(l, size, raw, t);
    }
}

/* The weighted sum over the places of axes `axis` and up. */
static const vtac_expr *gather_taps(vtac_lower *l, const taps *all, uint32_t axis, uint32_t rank,
                                    const vtac_expr **from)
{
    if (axis == rank) {
        return vtac_in_at(l, VTAC_RESIZE_X, from);
    }
    const taps *t = &all[axis];
    if (t->count == 0 || t->weight[0] == NULL) {
        from[axis] = t->count == 0 ? from[axis] : t->place[0];
        return gather_taps(l, all, axis + 1, rank, from);
    }
    const vtac_expr *sum = number_of(l, 0.0);
    for (uint32_t i = 0; i < t->count; i++) {
        from[axis] = t->place[i];
        const vtac_expr *value = vtac_e_cast(l->k, VTAC_F64, gather_taps(l, all, axis + 1, rank, from));
        sum = E2(ADD, sum, E2(MUL, value, t->weight[i]));
    }
    return sum;
}

static const vtac_expr *place_of(vtac_lower *l, const vtac_resize_place *source, const vtac_expr *i)
{
    const vtac_expr *x = vtac_e_cast(l->k, VTAC_F64, i);
    x = source->before != 0.0 ? E2(ADD, x, number_of(l, source->before)) : x;
    x = source->factor != 1.0 ? E2(MUL, x, number_of(l, source->factor)) : x;
    x = source->divisor != 1.0 ? E2(DIV, x, number_of(l, source->divisor)) : x;
    return source->after != 0.0 ? E2(ADD, x, number_of(l, source->after)) : x;
}

static const vtac_expr *sample_element(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_type *x = vtac_in_type(l->graph, n, VTAC_RESIZE_X);
    const bool crop =
        strcmp(vtac_attr_string(n, "coordinate_transformation_mode", ""), "tf_crop_and_resize") == 0;
    taps all[VTAC_MAX_RANK] = {{0}};
    const vtac_expr *from[VTAC_MAX_RANK];
    const vtac_expr *inside = NULL;
    memcpy(from, at, sizeof from);
    for (uint32_t axis = 0; axis < x->rank; axis++) {
        vtac_resize_place source = {0};
        if (vtac_resize_source(l, n, axis, &source) != VTA_OK) {
            return NULL;
        }
        if (!source.moves) {
            continue;
        }
        const vtac_expr *place = vtac_let(l->k, "x", place_of(l, &source, at[axis]));
        sample_axis(l, n, place, x->dim[axis], &all[axis]);
        const vtac_expr *low = E2(GE, place, number_of(l, 0.0));
        const vtac_expr *both = E2(AND, low, E2(LE, place, number_of(l, (double)(x->dim[axis] - 1))));
        inside = inside == NULL ? both : E2(AND, inside, both);
    }
    const vtac_dtype type = vtac_compute_type(x->dtype);
    const vtac_expr *value = vtac_e_cast(l->k, type, gather_taps(l, all, 0, x->rank, from));
    if (!crop || inside == NULL) {
        return value;
    }
    return vtac_e3(l->k, VTAC_E_SELECT, inside, value,
                   vtac_e_float(l->k, type, vtac_attr_float(n, "extrapolation_value", 0.0)));
}

/* Source coordinate of a known place. */
static double source_of(const vtac_resize_place *source, int64_t i)
{
    double x = (double)i;
    x = source->before != 0.0 ? x + source->before : x;
    x = source->factor != 1.0 ? x * source->factor : x;
    x = source->divisor != 1.0 ? x / source->divisor : x;
    return source->after != 0.0 ? x + source->after : x;
}

/* ---- linear interpolation axis by axis, the last first, by tables: the same sums in the same order */

typedef struct resize_line {
    uint32_t axis;
    int64_t to;
    vtac_storage_id places, weights; /* [2][to]: i64, f64 */
} resize_line;

static vta_status fill_line(vtac_lower *l, const vtac_resize_place *source, int64_t from, resize_line *f)
{
    const size_t count = 2 * (size_t)f->to;
    int64_t *places = vta_arena_array(&l->program->arena, count, sizeof *places);
    double *weights = vta_arena_array(&l->program->arena, count, sizeof *weights);
    if (places == NULL || weights == NULL) {
        return vta_no_memory(l->diag);
    }
    for (int64_t i = 0; i < f->to; i++) {
        const double x = source_of(source, i);
        const double first = floor(x);
        weights[i] = 1.0 - (x - first);
        weights[f->to + i] = x - first;
        for (int t = 0; t < 2; t++) {
            const double place = fmax(0.0, fmin((double)(from - 1), first + t));
            places[t * f->to + i] = (int64_t)place;
        }
    }
    f->places = vtac_constant(l, places, count * sizeof *places);
    f->weights = vtac_constant(l, weights, count * sizeof *weights);
    return VTA_OK;
}

/* One axis, from `input` (0: the node's) to `output` (0: the node's), doubles between; `shape` is the input's
 * and becomes the output's. */
static vta_status blend_axis(vtac_lower *l, const resize_line *f, vtac_type *shape, vtac_storage_id input,
                             vtac_storage_id output)
{
    static const char *const names[] = {".0", ".1", ".2", ".3", ".4", ".5", ".6", ".7"};
    VTA_TRY(vtac_begin(l, output == 0 ? "" : names[f->axis]));
    vtac_kernel *k = l->k;
    const vtac_type from = *shape;
    shape->dim[f->axis] = f->to;
    const vtac_expr *at[VTAC_MAX_RANK];
    const vtac_expr *source[VTAC_MAX_RANK];
    vtac_buffer *x = input == 0 ? NULL : vtac_use(l, input, "x", VTAC_F64, vtac_type_elements(&from));
    vtac_buffer *places = vtac_use(l, f->places, "places", VTAC_I64, 2 * f->to);
    vtac_buffer *weights = vtac_use(l, f->weights, "weights", VTAC_F64, 2 * f->to);
    const uint32_t loops = vtac_open(l, shape, at, 1);
    memcpy(source, at, sizeof source);
    const vtac_expr *sum = number_of(l, 0.0);
    for (int t = 0; t < 2; t++) {
        const vtac_expr *entry = vtac_i_addc(k, at[f->axis], t * f->to);
        source[f->axis] = vtac_let(k, "place", vtac_e_load(k, places, entry));
        const vtac_expr *value =
            x == NULL ? vtac_in_at(l, VTAC_RESIZE_X, source) : vtac_e_load(k, x, vtac_flat(l, &from, source));
        sum = E2(ADD, sum, E2(MUL, vtac_e_cast(k, VTAC_F64, value), vtac_e_load(k, weights, entry)));
    }
    if (output == 0) {
        vtac_out_at(l, 0, at, vtac_e_cast(k, vtac_compute_type(vtac_type_in(l, VTAC_RESIZE_X)->dtype), sum));
    } else {
        vtac_store(k, vtac_use(l, output, "y", VTAC_F64, vtac_type_elements(shape)), vtac_flat(l, shape, at),
                   sum);
    }
    vtac_close(l, loops);
    return l->diag->code;
}

/* True if the interpolation is linear without exceptions at the edges, and no intermediate tensor is much
 * larger than input and output. */
static bool by_lines(const vtac_lower *l, const vtac_resize_place *sources)
{
    const vtac_type *x = vtac_type_in(l, VTAC_RESIZE_X);
    const vtac_type *y = vtac_type_out(l, 0);
    const int64_t ends = vtac_type_elements(x) + vtac_type_elements(y);
    vtac_type between = *x;
    bool moves = false;
    for (uint32_t axis = x->rank; axis-- > 0;) {
        between.dim[axis] = y->dim[axis];
        moves = moves || sources[axis].moves;
        if (vtac_type_elements(&between) > ends || y->dim[axis] > 1 << 24) {
            return false;
        }
    }
    return moves && ends > 0 && vtac_type_elements(x) > 0 &&
           strcmp(vtac_attr_string(l->node, "mode", "nearest"), "linear") == 0 &&
           vtac_attr_int(l->node, "exclude_outside", 0) == 0 &&
           strcmp(vtac_attr_string(l->node, "coordinate_transformation_mode", ""), "tf_crop_and_resize") != 0;
}

static vta_status lower_lines(vtac_lower *l, const vtac_resize_place *sources)
{
    const vtac_type *x = vtac_type_in(l, VTAC_RESIZE_X);
    vtac_type shape = *x;
    vtac_storage_id input = 0;
    uint32_t last = 0;
    while (!sources[last].moves) {
        last++;
    }
    for (uint32_t axis = x->rank; axis-- > last;) {
        resize_line f = {.axis = axis, .to = vtac_type_out(l, 0)->dim[axis]};
        vtac_type next = shape;
        next.dim[axis] = f.to;
        if (sources[axis].moves) {
            const vtac_storage_id output =
                axis == last ? 0 : vtac_temp(l, VTAC_F64, vtac_type_elements(&next));
            VTA_TRY(fill_line(l, &sources[axis], x->dim[axis], &f));
            VTA_TRY(blend_axis(l, &f, &shape, input, output));
            input = output;
        }
    }
    return VTA_OK;
}

/* ---- nearest places by tables; on the last axis, where they repeat or go in steps, by vectors */

typedef struct places {
    int64_t *at;         /* of each output place */
    int64_t size;        /* how many there are */
    int64_t repeat;      /* place i is i / repeat, a power of two; 0: not so */
    int64_t first, step; /* place i is first + i * step; step 0: not so */
    vtac_storage_id table;
} places;

static vta_status find_places(vtac_lower *l, const vtac_resize_place *source, uint32_t axis, places *p)
{
    const int64_t from = vtac_type_in(l, VTAC_RESIZE_X)->dim[axis];
    const char *mode = vtac_attr_string(l->node, "nearest_mode", "round_prefer_floor");
    p->size = vtac_type_out(l, 0)->dim[axis];
    p->at = vta_arena_array(&l->program->arena, (size_t)p->size, sizeof *p->at);
    if (p->at == NULL) {
        return vta_no_memory(l->diag);
    }
    for (int64_t i = 0; i < p->size; i++) {
        const double x = source->moves ? vtac_resize_nearest(mode, source_of(source, i)) : (double)i;
        p->at[i] = (int64_t)fmax(0.0, fmin((double)(from - 1), x));
    }
    p->repeat = p->size / from;
    p->repeat = p->repeat > 1 && p->size % from == 0 && (p->repeat & (p->repeat - 1)) == 0 ? p->repeat : 0;
    p->first = p->at[0];
    p->step = p->size > 1 ? p->at[1] - p->at[0] : 1;
    for (int64_t i = 0; i < p->size; i++) {
        p->repeat = p->repeat != 0 && p->at[i] == i / p->repeat ? p->repeat : 0;
        p->step = p->at[i] == p->first + i * p->step ? p->step : 0;
    }
    p->table = source->moves ? vtac_constant(l, p->at, (uint64_t)p->size * sizeof *p->at) : 0;
    return VTA_OK;
}

/* Neighbours of the last axis from place `first` on: a vector, or one. */
static void copy_nearest(vtac_lower *l, const places *last, const vtac_expr **at, const vtac_expr **from,
                         const vtac_expr *first, int64_t lanes)
{
    vtac_kernel *k = l->k;
    const uint32_t axis = vtac_type_in(l, VTAC_RESIZE_X)->rank - 1;
    first = vtac_let(k, "first", first);
    const vtac_expr *source = first;
    if (last->repeat != 0) {
        source = vtac_let(k, "source", vtac_i_divc(k, first, last->repeat));
    }
    const vtac_expr *lane = vtac_lane_loop(l, lanes);
    at[axis] = vtac_i_add(k, first, lane);
    if (last->repeat != 0) {
        from[axis] = vtac_i_add(k, source, vtac_i_divc(k, lane, last->repeat));
    } else if (last->step != 0) {
        from[axis] = vtac_i_addc(k, vtac_i_mulc(k, at[axis], last->step), last->first);
    } else {
        const vtac_buffer *table = vtac_use(l, last->table, "columns", VTAC_I64, last->size);
        from[axis] = vtac_let(k, "place", vtac_e_load(k, table, at[axis]));
    }
    vtac_out_at(l, 0, at, vtac_in_at(l, VTAC_RESIZE_X, from));
    vtac_close(l, lanes == 1 ? 0 : 1);
}

/* Lanes of a vector along the last axis; 1: one by one. */
static int64_t nearest_lanes(const vtac_lower *l, const places *last)
{
    int64_t lanes =
        (int64_t)(l->program->target->vector_bytes / vtac_dtype_bytes(vtac_type_out(l, 0)->dtype));
    while (lanes > last->size) {
        lanes /= 2;
    }
    const bool apart = last->repeat == 0 && (last->step < 1 || last->step > 2);
    return l->program->level == 0 || lanes < 4 || lanes <= last->repeat || apart ? 1 : lanes;
}

/* True if each value is one of the input's, at places that tables can hold. */
static bool by_places(const vtac_lower *l)
{
    const vtac_type *x = vtac_type_in(l, VTAC_RESIZE_X);
    const vtac_type *y = vtac_type_out(l, 0);
    for (uint32_t axis = 0; axis < x->rank; axis++) {
        if (y->dim[axis] > 1 << 24) {
            return false;
        }
    }
    return x->rank > 0 && vtac_type_elements(x) > 0 && vtac_type_elements(y) > 0 &&
           strcmp(vtac_attr_string(l->node, "coordinate_transformation_mode", ""), "tf_crop_and_resize") != 0;
}

static vta_status lower_places(vtac_lower *l, const vtac_resize_place *sources)
{
    static const char *const names[] = {"at0", "at1", "at2", "at3", "at4", "at5", "at6", "at7"};
    const vtac_type *y = vtac_type_out(l, 0);
    const uint32_t last = y->rank - 1;
    places all[VTAC_MAX_RANK];
    const vtac_expr *at[VTAC_MAX_RANK];
    const vtac_expr *from[VTAC_MAX_RANK];
    VTA_TRY(vtac_begin(l, ""));
    for (uint32_t axis = 0; axis <= last; axis++) {
        VTA_TRY(find_places(l, &sources[axis], axis, &all[axis]));
    }
    vtac_kernel *k = l->k;
    bool marks[VTAC_MAX_RANK] = {false};
    marks[last] = true;
    vtac_open_others(l, y, marks, at);
    for (uint32_t axis = 0; axis < last; axis++) {
        from[axis] = at[axis];
        if (sources[axis].moves) {
            const vtac_buffer *table = vtac_use(l, all[axis].table, names[axis], VTAC_I64, y->dim[axis]);
            from[axis] = vtac_let(k, "place", vtac_e_load(k, table, at[axis]));
        }
    }
    const int64_t lanes = nearest_lanes(l, &all[last]);
    const vtac_expr *i = vtac_for(k, VTAC_LOOP_SERIAL, y->dim[last] / lanes, "i");
    copy_nearest(l, &all[last], at, from, vtac_i_mulc(k, i, lanes), lanes);
    vtac_end(k);
    if (y->dim[last] % lanes != 0) { /* a whole one again: some are done twice */
        copy_nearest(l, &all[last], at, from, vtac_e_index(k, y->dim[last] - lanes), lanes);
    }
    vtac_end(k);
    return l->diag->code;
}

vta_status vtac_lower_resize(vtac_lower *l)
{
    const bool nearest_place = strcmp(vtac_attr_string(l->node, "mode", "nearest"), "nearest") == 0;
    vtac_resize_place sources[VTAC_MAX_RANK];
    if (vtac_attr_int(l->node, "antialias", 0) != 0 && !nearest_place) {
        return vtac_lower_antialias(l);
    }
    for (uint32_t axis = 0; axis < vtac_type_in(l, VTAC_RESIZE_X)->rank; axis++) {
        VTA_TRY(vtac_resize_source(l, l->node, axis, &sources[axis]));
    }
    if (nearest_place && by_places(l)) {
        return lower_places(l, sources);
    }
    return by_lines(l, sources) ? lower_lines(l, sources) : vtac_lower_mapped(l, sample_element);
}
