/* SPDX-License-Identifier: Apache-2.0
 *
 * The values of nodes, in both their forms.
 */
#include <stdio.h>
#include <string.h>

#include "import.h"

static const int64_t to_planes[] = {0, 3, 1, 2};
static const int64_t to_plain[] = {0, 2, 3, 1};

static vtac_tf_value *input(vtac_tf *im, uint32_t i)
{
    static vtac_tf_value none; /* never written: it has neither form */
    if (i >= im->in_count) {
        vtac_make_fail(&im->maker, VTA_INVALID, "it has no input %u", i);
        return &none;
    }
    return im->in[i];
}

vtac_id vtac_tf_plain_of(vtac_tf *im, vtac_tf_value *v)
{
    if (im->maker.status != VTA_OK) {
        return 0;
    }
    if (v->plain == 0 && v->planes != 0) {
        v->plain = vtac_make_transpose(&im->maker, v->planes, to_plain, 4);
    }
    if (v->plain == 0) {
        vtac_make_fail(&im->maker, VTA_UNSUPPORTED,
                       "an input is no tensor of numbers (a text, a variable, a list)");
    }
    return v->plain;
}

vtac_id vtac_tf_plain(vtac_tf *im, uint32_t i)
{
    return vtac_tf_plain_of(im, input(im, i));
}

vtac_id vtac_tf_planes(vtac_tf *im, uint32_t i)
{
    vtac_tf_value *v = input(im, i);
    if (v->planes == 0 && im->maker.status == VTA_OK) {
        v->planes = vtac_make_transpose(&im->maker, vtac_tf_plain_of(im, v), to_planes, 4);
    }
    return v->planes;
}

bool vtac_tf_in_planes(const vtac_tf *im, uint32_t i)
{
    return i < im->in_count && im->in[i]->planes != 0 && im->in[i]->plain == 0;
}

vtac_id vtac_tf_either(vtac_tf *im, uint32_t i, bool *planes)
{
    *planes = vtac_tf_in_planes(im, i);
    return *planes ? vtac_tf_planes(im, i) : vtac_tf_plain(im, i);
}

vtac_type vtac_tf_type(vtac_tf *im, uint32_t i)
{
    const vtac_tf_value *v = input(im, i);
    if (v->plain == 0 && v->planes != 0) {
        vtac_type type = vtac_made_type(&im->maker, v->planes);
        const int64_t channels = type.dim[1];
        memmove(&type.dim[1], &type.dim[2], 2 * sizeof type.dim[0]);
        type.dim[3] = channels;
        return type;
    }
    return vtac_made_type(&im->maker, vtac_tf_plain(im, i));
}

uint32_t vtac_tf_axis(vtac_tf *im, int64_t axis, uint32_t rank, bool planes)
{
    const int64_t at = axis < 0 ? axis + (int64_t)rank : axis;
    if (at < 0 || at >= (int64_t)rank) {
        vtac_make_fail(&im->maker, VTA_INVALID, "axis %lld of %u", (long long)axis, rank);
        return 0;
    }
    return !planes || at == 0 ? (uint32_t)at : at == 3 ? 1 : (uint32_t)at + 1;
}

vtac_id vtac_tf_over_planes(vtac_tf *im, uint32_t i)
{
    const vtac_type type = vtac_tf_type(im, i);
    if (type.rank == 4) {
        return vtac_tf_planes(im, i);
    }
    const vtac_id x = vtac_tf_plain(im, i);
    if (type.rank < 2) {
        return type.rank == 0 ? x : vtac_make_reshape(&im->maker, x, (int64_t[]){type.dim[0], 1, 1}, 3);
    }
    int64_t dims[4] = {1, 1, 1, 1};
    memcpy(dims + 4 - type.rank, type.dim, type.rank * sizeof dims[0]);
    return vtac_make_transpose(&im->maker, vtac_make_reshape(&im->maker, x, dims, 4), to_planes, 4);
}

/* ---- contents that are known */

uint32_t vtac_tf_known_ints(vtac_tf *im, uint32_t i, const char *what, int64_t *out, uint32_t max)
{
    const vtac_id id = vtac_tf_plain(im, i);
    const vtac_tensor *known = vtac_made_constant(&im->maker, id);
    if (id == 0) {
        return 0;
    }
    const int64_t count = known == NULL ? 0 : vtac_type_elements(&known->type);
    if (known == NULL || vtac_dtype_kind(known->type.dtype) == 'f' || count > (int64_t)max) {
        vtac_make_refuse(&im->maker, "%s (input %u) must be at most %u whole numbers that the graph knows",
                         what, i, max);
        return 0;
    }
    for (int64_t k = 0; k < count; k++) {
        out[k] = vtac_tensor_int(known, k);
    }
    return (uint32_t)count;
}

int64_t vtac_tf_known_int(vtac_tf *im, uint32_t i, const char *what)
{
    int64_t value = 0;
    if (vtac_tf_known_ints(im, i, what, &value, 1) != 1 && im->maker.status == VTA_OK) {
        vtac_make_fail(&im->maker, VTA_INVALID, "%s (input %u) is empty", what, i);
    }
    return value;
}

bool vtac_tf_known_real(vtac_tf *im, uint32_t i, double *out)
{
    const vtac_tensor *known = vtac_made_constant(&im->maker, vtac_tf_plain(im, i));
    const bool is_known = known != NULL && vtac_type_elements(&known->type) > 0;
    *out = is_known ? vtac_tensor_float(known, 0) : 0.0;
    return is_known;
}

/* ---- outputs */

vtac_tf_value *vtac_tf_out(vtac_tf *im, uint32_t i)
{
    static vtac_tf_value none;
    vtac_tf_result *r = im->result;
    if (i >= r->count) {
        vtac_tf_value *more = vtac_make_room(&im->maker, (int64_t)i + 1, sizeof *more);
        if (more == NULL) {
            none = (vtac_tf_value){0};
            return &none;
        }
        if (r->count > 0) {
            memcpy(more, r->out, r->count * sizeof *more);
        }
        r->out = more;
        r->count = i + 1;
    }
    return &r->out[i];
}

/* A value is called after the first node that made it; in functions, of which there may be several calls, no
 * value has a name. */
static void name_value(vtac_tf *im, vtac_id id, uint32_t i)
{
    vtac_graph *g = im->maker.graph;
    char name[300];
    if (im->maker.status != VTA_OK || id == 0 || im->depth > 0 || !g->values[id].nameless ||
        (g->values[id].node == 0 && g->values[id].constant == NULL)) {
        return;
    }
    (void)snprintf(name, sizeof name, i == 0 ? "%.250s" : "%.250s:%u", im->node->name, i);
    im->maker.status = vtac_rename_value(g, id, name, im->maker.diag);
}

void vtac_tf_set_either(vtac_tf *im, uint32_t i, vtac_id value, bool planes)
{
    vtac_tf_value *out = vtac_tf_out(im, i);
    if (im->maker.status == VTA_OK) {
        *(planes ? &out->planes : &out->plain) = value;
        name_value(im, value, i);
    }
}

void vtac_tf_set(vtac_tf *im, uint32_t i, vtac_id value)
{
    vtac_tf_set_either(im, i, value, false);
}

void vtac_tf_set_planes(vtac_tf *im, uint32_t i, vtac_id value)
{
    vtac_tf_set_either(im, i, value, true);
}

bool vtac_tf_channels_first(const vtac_tf *im)
{
    return strncmp(vtac_tf_text(im->node, "data_format", "NHWC"), "NC", 2) == 0;
}

/* Of rank 5, or 3, there is one form: it is turned each time. */
vtac_id vtac_tf_window_input(vtac_tf *im, uint32_t i)
{
    const uint32_t rank = vtac_tf_type(im, i).rank;
    if (vtac_tf_channels_first(im)) {
        return vtac_tf_plain(im, i);
    }
    return rank == 5 ? vtac_make_transpose(&im->maker, vtac_tf_plain(im, i), (int64_t[]){0, 4, 1, 2, 3}, 5)
                     : vtac_tf_planes(im, i);
}

void vtac_tf_set_window(vtac_tf *im, vtac_id y)
{
    if (!vtac_tf_channels_first(im) && vtac_made_type(&im->maker, y).rank == 5) {
        y = vtac_make_transpose(&im->maker, y, (int64_t[]){0, 2, 3, 4, 1}, 5);
        vtac_tf_set(im, 0, y);
        return;
    }
    vtac_tf_set_either(im, 0, y, !vtac_tf_channels_first(im));
}
