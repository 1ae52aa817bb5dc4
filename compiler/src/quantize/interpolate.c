/* SPDX-License-Identifier: Apache-2.0
 *
 * Interpolation whose places do not repeat: by factors that are not whole, with the corners aligned, or
 * cubic. Along one axis after the other it becomes a sum of products: what a tap reads, gathered, times a
 * weight for each place.
 */
#include <math.h>
#include <string.h>

#include "split.h"
#include "vta/fail.h"

enum { MAX_INTERPOLATION_TAPS = 4 };

typedef struct interpolation {
    const vtac_splitter *s;
    const char *place;
    bool cubic;
    double coefficient;
    uint32_t axis;
    int64_t from, to;
} interpolation;

/* True if a whole factor takes places of the input to those of the output: such a Resize has a form of
 * integers. */
static bool is_whole(const char *place, int64_t from, int64_t to)
{
    const bool aligned = strcmp(place, "align_corners") == 0;
    return from == 1 || (aligned ? to > 1 && (to - 1) % (from - 1) == 0 : to % from == 0);
}

static bool is_known_place(const char *place)
{
    static const char *const places[] = {"align_corners", "asymmetric", "half_pixel", "pytorch_half_pixel"};
    bool known = false;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        known = known || strcmp(place, places[i]) == 0;
    }
    return known;
}

/* True if given scales are what the sizes say. */
static bool agrees_with_scales(const vtac_graph *g, const vtac_node *node, const vtac_type *x,
                               const vtac_type *y)
{
    const vtac_tensor *scales = vtac_in_constant(g, node, VTAC_RESIZE_SCALES);
    bool agrees = vtac_find_attr(node, "axes") == NULL;
    for (uint32_t i = 0; agrees && scales != NULL && i < vtac_type_elements(&scales->type); i++) {
        agrees = i < x->rank && vtac_tensor_float(scales, i) * (double)x->dim[i] == (double)y->dim[i];
    }
    return agrees;
}

bool vtac_is_uneven_resize(const vtac_graph *g, const vtac_node *node)
{
    const vtac_type *x = vtac_in_type(g, node, VTAC_RESIZE_X);
    const char *mode = vtac_attr_string(node, "mode", "nearest");
    const char *place = vtac_attr_string(node, "coordinate_transformation_mode", "half_pixel");
    const bool cubic = strcmp(mode, "cubic") == 0;
    if (node->op != VTAC_OP_RESIZE || x == NULL || x->dtype != VTAC_F32 || x->rank < 3 || x->rank > 4 ||
        (!cubic && strcmp(mode, "linear") != 0) || !is_known_place(place) ||
        vtac_attr_int(node, "antialias", 0) != 0 || vtac_attr_int(node, "exclude_outside", 0) != 0) {
        return false;
    }
    const vtac_type *y = &g->values[node->outputs[0]].type;
    bool even = !cubic;
    for (uint32_t i = 2; i < x->rank; i++) {
        even = even && is_whole(place, x->dim[i], y->dim[i]);
    }
    return !even && x->dim[0] == y->dim[0] && x->dim[1] == y->dim[1] && vtac_type_elements(y) > 0 &&
           agrees_with_scales(g, node, x, y);
}

/* The place of the input, between two pixels, that output place i has. */
static double place_of(const interpolation *p, int64_t i)
{
    const double ratio = (double)p->from / (double)p->to;
    if (strcmp(p->place, "align_corners") == 0) {
        return p->to == 1 ? 0.0 : (double)i * (double)(p->from - 1) / (double)(p->to - 1);
    }
    if (strcmp(p->place, "asymmetric") == 0) {
        return (double)i * ratio;
    }
    const bool first = strcmp(p->place, "pytorch_half_pixel") == 0 && p->to == 1;
    return first ? 0.0 : ((double)i + 0.5) * ratio - 0.5;
}

/* The weight of a pixel at a distance. */
static double weight_at(const interpolation *p, double distance)
{
    const double a = p->coefficient;
    const double d = fabs(distance);
    if (!p->cubic) {
        return d < 1.0 ? 1.0 - d : 0.0;
    }
    return d <= 1.0  ? ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0
           : d < 2.0 ? ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a
                     : 0.0;
}

/* Adds the term of a tap: the elements that the tap reads, times its weights. */
static vta_status add_term(const interpolation *p, int64_t tap, vtac_value_id x, vtac_value_id *out)
{
    vtac_graph *g = p->s->graph;
    const uint32_t rank = g->values[x].type.rank;
    int64_t *places = vta_arena_array(&g->arena, (size_t)p->to, sizeof *places);
    float *weights = vta_arena_array(&g->arena, (size_t)p->to, sizeof *weights);
    if (places == NULL || weights == NULL) {
        return vta_no_memory(p->s->diag);
    }
    for (int64_t i = 0; i < p->to; i++) {
        const double place = place_of(p, i);
        const int64_t at = (int64_t)floor(place) + tap;
        weights[i] = (float)weight_at(p, place - (double)at);
        places[i] = at < 0 ? 0 : at >= p->from ? p->from - 1 : at;
    }
    vtac_tensor read = {.type = {.dtype = VTAC_I64, .rank = 1, .dim = {p->to}},
                        .data = places,
                        .bytes = (size_t)p->to * sizeof *places};
    vtac_tensor weigh = {.type = {.dtype = VTAC_F32, .rank = rank, .dim = {1, 1, 1, 1}},
                         .data = weights,
                         .bytes = (size_t)p->to * sizeof *weights};
    weigh.type.dim[p->axis] = p->to;
    vtac_value_id gather[] = {x, 0};
    vtac_value_id product[2];
    const vtac_attr axis = {.name = "axis", .kind = VTAC_ATTR_INT, .i = p->axis};
    VTA_TRY(vtac_add_constant(g, "", &read, &gather[1], p->s->diag));
    VTA_TRY(vtac_split_add(p->s, VTAC_OP_GATHER, gather, 2, &axis, 1, &product[0]));
    VTA_TRY(vtac_add_constant(g, "", &weigh, &product[1], p->s->diag));
    return vtac_split_add(p->s, VTAC_OP_MUL, product, 2, NULL, 0, out);
}

static vta_status interpolate_axis(const interpolation *p, vtac_value_id *x)
{
    const int64_t first = p->cubic ? -1 : 0;
    const int64_t taps = p->cubic ? MAX_INTERPOLATION_TAPS : 2;
    vtac_value_id sum = 0;
    for (int64_t tap = first; tap < first + taps; tap++) {
        vtac_value_id pair[] = {sum, 0};
        VTA_TRY(add_term(p, tap, *x, &pair[1]));
        sum = pair[1];
        VTA_TRY(pair[0] != 0 ? vtac_split_add(p->s, VTAC_OP_ADD, pair, 2, NULL, 0, &sum) : VTA_OK);
    }
    *x = sum;
    return VTA_OK;
}

vta_status vtac_split_resize(const vtac_splitter *s)
{
    const vtac_type x = *vtac_in_type(s->graph, &s->like, VTAC_RESIZE_X);
    const vtac_type y = s->graph->values[s->like.outputs[0]].type;
    interpolation p = {
        .s = s,
        .place = vtac_attr_string(&s->like, "coordinate_transformation_mode", "half_pixel"),
        .cubic = strcmp(vtac_attr_string(&s->like, "mode", ""), "cubic") == 0,
        .coefficient = vtac_attr_float(&s->like, "cubic_coeff_a", -0.75),
    };
    vtac_value_id value = s->like.inputs[VTAC_RESIZE_X];
    for (p.axis = 2; p.axis < x.rank; p.axis++) {
        p.from = x.dim[p.axis];
        p.to = y.dim[p.axis];
        VTA_TRY(p.from != p.to ? interpolate_axis(&p, &value) : VTA_OK);
    }
    vtac_split_replace(s, value);
    return VTA_OK;
}
