/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators that move numbers: shapes, slices, borders, order.
 */
#include <math.h>
#include <string.h>

#include "operators.h"

/* Border of a padded tensor: the output's zero point. Operators that move numbers also move integers;
 * TensorFlow Lite asks for no scales here. */
static vtac_id border_value(vtac_tflite *im)
{
    const vtac_tflite_tensor *out = vtac_tflite_out(im, 0);
    return vtac_make_number(&im->maker, vtac_tflite_in(im, 0)->type.dtype,
                            vtac_tflite_quantized(out) ? (double)out->zero[0] : 0.0);
}

/* x as an output of the file's shape with `dims`; over planes of one place nothing needs to move. */
static void reshape_to(vtac_tflite *im, const int64_t *dims, uint32_t rank)
{
    vtac_tflite_set(im, 0, vtac_make_reshape(&im->maker, vtac_tflite_plain(im, 0), dims, rank));
}

/* The shape of a RESHAPE whose file gives none for what is more than one number: the output's in the file,
 * or, where the file leaves that empty as well, a vector, which is the same whatever the ones among the
 * sizes. */
static uint32_t infer_shape(vtac_tflite *im, const vtac_type *x, int64_t *dims)
{
    const vtac_tflite_tensor *out = vtac_tflite_out(im, 0);
    const int64_t count = vtac_type_elements(x);
    uint32_t longer = 0;
    for (uint32_t i = 0; i < x->rank; i++) {
        longer += x->dim[i] != 1;
    }
    memcpy(dims, out->type.dim, sizeof out->type.dim);
    if (out->type.rank == 0 && longer == 1) {
        dims[0] = count;
        return 1;
    }
    for (uint32_t i = 0; i < out->type.rank; i++) {
        dims[i] = out->open[i] ? -1 : dims[i];
    }
    return out->type.rank;
}

void vtac_tflite_import_reshape(vtac_tflite *im)
{
    int64_t dims[VTAC_MAX_RANK];
    uint32_t rank = 0;
    const vtac_flat_vector option = vtac_flat_list(&im->model.flat, im->op->options, 0, 4);
    const vtac_type x = vtac_tflite_type(im, 0);
    if (vtac_tflite_has(im, 1) && vtac_made_constant(&im->maker, vtac_tflite_plain(im, 1)) != NULL) {
        rank = vtac_tflite_known_ints(im, 1, "shape", dims, VTAC_MAX_RANK);
    } else if (im->op->options.at != 0 && option.count <= VTAC_MAX_RANK &&
               (option.count > 0 || !vtac_tflite_has(im, 1))) {
        rank = option.count;
        for (uint32_t i = 0; i < rank; i++) {
            dims[i] = vtac_flat_int_at(&im->model.flat, option, i, 4);
        }
    } else {
        const vtac_tflite_tensor *out = vtac_tflite_out(im, 0);
        rank = out->type.rank;
        memcpy(dims, out->type.dim, sizeof dims);
    }
    if (rank == 1 && dims[0] == 0 && vtac_type_elements(&x) == 1) {
        rank = 0; /* how old files say "a number" */
    }
    if (rank == 0 && vtac_type_elements(&x) != 1) {
        rank = infer_shape(im, &x, dims);
    }
    int64_t known = 1;
    int open = -1;
    for (uint32_t i = 0; i < rank; i++) {
        if (dims[i] == -1 && open < 0) {
            open = (int)i;
        } else if (dims[i] < 0 || (dims[i] > 0 && known > INT64_MAX / dims[i])) {
            vtac_make_fail(&im->maker, VTA_INVALID, "a shape with a size of %lld", (long long)dims[i]);
            return;
        } else {
            known *= dims[i];
        }
    }
    if (open >= 0) {
        dims[open] = known == 0 ? 0 : vtac_type_elements(&x) / known;
    }
    reshape_to(im, dims, rank);
}

void vtac_tflite_import_squeeze(vtac_tflite *im)
{
    const vtac_flat_vector option = vtac_flat_list(&im->model.flat, im->op->options, 0, 4);
    const vtac_type x = vtac_tflite_type(im, 0);
    bool gone[VTAC_MAX_RANK] = {false};
    for (uint32_t i = 0; i < option.count && i < VTAC_MAX_RANK; i++) {
        gone[vtac_tflite_wrap(im, vtac_flat_int_at(&im->model.flat, option, i, 4), x.rank)] = true;
    }
    int64_t dims[VTAC_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < x.rank; i++) {
        const bool out = option.count == 0 ? x.dim[i] == 1 : gone[i];
        if (!out) {
            dims[rank++] = x.dim[i];
        }
    }
    reshape_to(im, dims, rank);
}

void vtac_tflite_import_expand_dims(vtac_tflite *im)
{
    int64_t axis = 0;
    const vtac_type x = vtac_tflite_type(im, 0);
    if (vtac_tflite_known_ints(im, 1, "axis", &axis, 1) != 1 || x.rank >= VTAC_MAX_RANK) {
        vtac_make_fail(&im->maker, VTA_INVALID, "an axis more than %u", x.rank);
        return;
    }
    const uint32_t at = vtac_tflite_wrap(im, axis, x.rank + 1);
    int64_t dims[VTAC_MAX_RANK];
    for (uint32_t i = 0; i <= x.rank; i++) {
        dims[i] = i < at ? x.dim[i] : i == at ? 1 : x.dim[i - 1];
    }
    reshape_to(im, dims, x.rank + 1);
}

void vtac_tflite_import_transpose(vtac_tflite *im)
{
    int64_t order[VTAC_MAX_RANK];
    const vtac_type x = vtac_tflite_type(im, 0);
    if (vtac_tflite_known_ints(im, 1, "order of axes", order, VTAC_MAX_RANK) != x.rank) {
        vtac_make_fail(&im->maker, VTA_INVALID, "an order of axes for rank %u", x.rank);
        return;
    }
    for (uint32_t i = 0; i < x.rank; i++) {
        order[i] = vtac_tflite_wrap(im, order[i], x.rank);
    }
    vtac_tflite_set(im, 0, vtac_make_transpose(&im->maker, vtac_tflite_plain(im, 0), order, x.rank));
}

/* ---- borders: x, [rank][2], and for PADV2 what they hold */

static void make_pad(vtac_tflite *im, const char *mode)
{
    vtac_import_builder *m = &im->maker;
    int64_t given[2 * VTAC_MAX_RANK];
    int64_t pads[2 * VTAC_MAX_RANK];
    const vtac_tflite_tensor *in = vtac_tflite_in(im, 0);
    const vtac_type x = vtac_tflite_type(im, 0);
    if (vtac_tflite_known_ints(im, 1, "border", given, 2 * VTAC_MAX_RANK) != 2 * x.rank) {
        vtac_make_fail(m, VTA_INVALID, "a border for rank %u", x.rank);
        return;
    }
    bool planes;
    const vtac_id value = vtac_tflite_either(im, 0, &planes);
    for (uint32_t i = 0; i < x.rank; i++) {
        const uint32_t at = vtac_tflite_axis(i, x.rank, planes);
        pads[at] = given[2 * i];
        pads[at + x.rank] = given[2 * i + 1];
        if (given[2 * i] < 0 || given[2 * i + 1] < 0) {
            vtac_make_fail(m, VTA_INVALID, "a border of %lld and %lld", (long long)given[2 * i],
                           (long long)given[2 * i + 1]);
        }
    }
    vtac_id filler = 0;
    if (vtac_tflite_has(im, 2) && im->how != 0) {
        filler = vtac_make_reshape(m, vtac_tflite_plain(im, 2), NULL, 0);
    } else if (vtac_tflite_quantized(in)) {
        filler = border_value(im);
    }
    const vtac_attr attr = vtac_attr_of_string("mode", mode);
    const vtac_id inputs[] = {value, vtac_make_ints(m, pads, 2 * x.rank),
                              strcmp(mode, "constant") == 0 ? filler : 0};
    vtac_tflite_set_either(im, 0, vtac_make(m, VTAC_OP_PAD, inputs, 3, &attr, 1), planes);
}

void vtac_tflite_import_pad(vtac_tflite *im)
{
    make_pad(im, "constant");
}

/* Symmetric borders repeat the edge: on each axis, the edge first, then a reflection of the rest. */
static void pad_symmetric(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    int64_t given[2 * VTAC_MAX_RANK];
    const vtac_type x = vtac_tflite_type(im, 0);
    if (vtac_tflite_known_ints(im, 1, "border", given, 2 * VTAC_MAX_RANK) != 2 * x.rank) {
        vtac_make_fail(m, VTA_INVALID, "a border for rank %u", x.rank);
        return;
    }
    vtac_id value = vtac_tflite_plain(im, 0);
    for (uint32_t a = 0; a < x.rank && m->status == VTA_OK; a++) {
        const int64_t size = x.dim[a];
        const int64_t before = given[2 * a];
        const int64_t after = given[2 * a + 1];
        if (before == 0 && after == 0) {
            continue;
        }
        if (before < 0 || after < 0 || before > size || after > size) {
            vtac_make_fail(m, VTA_INVALID, "a mirrored border of %lld and %lld on %lld", (long long)before,
                           (long long)after, (long long)size);
            return;
        }
        int64_t *places = vtac_make_room(m, before + size + after, sizeof *places);
        for (int64_t i = 0; places != NULL && i < before + size + after; i++) {
            places[i] = i < before          ? before - 1 - i
                        : i < before + size ? i - before
                                            : 2 * size - 1 - (i - before);
        }
        const vtac_type type = {VTAC_I64, 1, {before + size + after}};
        const vtac_attr axis = vtac_attr_of_int("axis", a);
        const vtac_id in[] = {value, vtac_make_borrowed(m, &type, places)};
        value = vtac_make(m, VTAC_OP_GATHER, in, 2, &axis, 1);
    }
    vtac_tflite_set(im, 0, value);
}

/* options: mode */
void vtac_tflite_import_mirror_pad(vtac_tflite *im)
{
    if (vtac_tflite_option(im, 0, 1, 0) != 0) {
        pad_symmetric(im);
    } else {
        make_pad(im, "reflect");
    }
}

/* ---- slices */

static vtac_id make_slice(vtac_tflite *im, vtac_id x, const int64_t *begin, const int64_t *end,
                          const int64_t *step, uint32_t rank)
{
    vtac_import_builder *m = &im->maker;
    int64_t axes[VTAC_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++) {
        axes[i] = i;
    }
    const vtac_id in[] = {x, vtac_make_ints(m, begin, rank), vtac_make_ints(m, end, rank),
                          vtac_make_ints(m, axes, rank), vtac_make_ints(m, step, rank)};
    return vtac_make(m, VTAC_OP_SLICE, in, 5, NULL, 0);
}

/* x, begin, size */
void vtac_tflite_import_slice(vtac_tflite *im)
{
    int64_t begin[VTAC_MAX_RANK];
    int64_t size[VTAC_MAX_RANK];
    int64_t first[VTAC_MAX_RANK];
    int64_t end[VTAC_MAX_RANK];
    int64_t step[VTAC_MAX_RANK];
    const vtac_type x = vtac_tflite_type(im, 0);
    if (!vtac_tflite_known(im, 1)) {
        vtac_tflite_slice_at_run(im);
        return;
    }
    if (vtac_tflite_known_ints(im, 1, "begin", begin, VTAC_MAX_RANK) != x.rank ||
        vtac_tflite_known_ints(im, 2, "size", size, VTAC_MAX_RANK) != x.rank) {
        vtac_make_fail(&im->maker, VTA_INVALID, "begin and size for rank %u", x.rank);
        return;
    }
    bool planes;
    const vtac_id value = vtac_tflite_either(im, 0, &planes);
    for (uint32_t i = 0; i < x.rank; i++) {
        const uint32_t at = vtac_tflite_axis(i, x.rank, planes);
        if (begin[i] < 0 || begin[i] > x.dim[i] || size[i] < -1 || size[i] > x.dim[i] - begin[i]) {
            vtac_make_fail(&im->maker, VTA_INVALID, "%lld from %lld of %lld", (long long)size[i],
                           (long long)begin[i], (long long)x.dim[i]);
            return;
        }
        first[at] = begin[i];
        end[at] = size[i] < 0 ? x.dim[i] : begin[i] + size[i];
        step[at] = 1;
    }
    vtac_tflite_set_either(im, 0, make_slice(im, value, first, end, step, x.rank), planes);
}

/* x, begin, end, step; options: masks of begin, end, ellipsis, new axes, axes that go */
enum { MAX_NAMED = 2 * VTAC_MAX_RANK };

/* A strided slice: an entry of begin, end and step names an axis, a new axis, or an ellipsis. */
typedef struct slicing {
    vtac_type x;
    int64_t given[3][MAX_NAMED]; /* begin, end, step */
    uint32_t count;              /* entries */
    uint32_t begin_mask, end_mask, ellipsis_mask, new_mask, shrink_mask;
    int64_t begin[VTAC_MAX_RANK], end[VTAC_MAX_RANK], step[VTAC_MAX_RANK];
    bool goes[VTAC_MAX_RANK]; /* axes of one place that the result does not have */
    bool new_axis[MAX_NAMED];
    uint32_t axis, rank; /* so far: axes of x, axes of the result */
} slicing;

static bool read_slicing(vtac_tflite *im, slicing *s)
{
    static const char *const names[] = {"begin", "end", "step"};
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t found = vtac_tflite_known_ints(im, i + 1, names[i], s->given[i], MAX_NAMED);
        if (i > 0 && found != s->count) {
            vtac_make_fail(&im->maker, VTA_INVALID, "begin, end and step of %u and %u axes", s->count, found);
        }
        s->count = found;
    }
    s->begin_mask = (uint32_t)vtac_tflite_option(im, 0, 4, 0);
    s->end_mask = (uint32_t)vtac_tflite_option(im, 1, 4, 0);
    s->ellipsis_mask = (uint32_t)vtac_tflite_option(im, 2, 4, 0);
    s->new_mask = (uint32_t)vtac_tflite_option(im, 3, 4, 0);
    s->shrink_mask = (uint32_t)vtac_tflite_option(im, 4, 4, 0);
    return im->maker.status == VTA_OK;
}

static void keep_whole(slicing *s)
{
    s->begin[s->axis] = 0;
    s->end[s->axis] = s->x.dim[s->axis];
    s->step[s->axis++] = 1;
    s->rank++;
}

/* Entry i names the next axis. */
static void slice_next(slicing *s, uint32_t i)
{
    const uint32_t axis = s->axis++;
    const int64_t dim = s->x.dim[axis];
    const bool back = s->given[2][i] < 0;
    int64_t begin = s->begin_mask >> i & 1 ? (back ? dim - 1 : 0)
                    : s->given[0][i] < 0   ? s->given[0][i] + dim
                                           : s->given[0][i];
    int64_t end = s->end_mask >> i & 1 ? (back ? INT64_MIN / 2 : dim)
                  : s->given[1][i] < 0 ? s->given[1][i] + dim
                                       : s->given[1][i];
    const int64_t first = begin;
    if (back && (s->end_mask >> i & 1) == 0 && end < 0) {
        end = INT64_MIN / 2;
    }
    if (!back) {
        begin = begin < 0 ? 0 : begin;
        end = end < 0 ? 0 : end;
    }
    if (back && begin < 0) { /* before the first: nothing is left */
        begin = 0;
        end = 0;
    }
    s->goes[axis] = (s->shrink_mask >> i & 1) != 0;
    s->begin[axis] = s->goes[axis] ? first : begin;
    s->end[axis] = s->goes[axis] ? first + 1 : end;
    s->step[axis] = s->goes[axis] ? 1 : s->given[2][i];
    s->rank += s->goes[axis] ? 0 : 1;
}

static bool plan_slicing(vtac_tflite *im, slicing *s)
{
    uint32_t added = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        added += s->new_mask >> i & 1;
    }
    const uint32_t named = s->count - added - (s->ellipsis_mask != 0 ? 1 : 0);
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->ellipsis_mask >> i & 1) { /* all that the others leave */
            for (uint32_t left = s->x.rank > named ? s->x.rank - named : 0; left > 0 && s->axis < s->x.rank;
                 left--) {
                keep_whole(s);
            }
        } else if (s->new_mask >> i & 1) {
            s->new_axis[s->rank++] = true;
        } else if (s->axis >= s->x.rank || s->given[2][i] == 0 || s->rank >= MAX_NAMED) {
            vtac_make_fail(&im->maker, VTA_INVALID, "a slice of more than %u axes, or with a step of 0",
                           s->x.rank);
            return false;
        } else {
            slice_next(s, i);
        }
    }
    while (s->axis < s->x.rank) {
        keep_whole(s);
    }
    return true;
}

void vtac_tflite_import_strided_slice(vtac_tflite *im)
{
    slicing s = {.x = vtac_tflite_type(im, 0)};
    int64_t shape[MAX_NAMED];
    if (!vtac_tflite_known(im, 1) || !vtac_tflite_known(im, 2)) {
        vtac_tflite_strided_slice_at_run(im);
        return;
    }
    if (!read_slicing(im, &s) || !plan_slicing(im, &s)) {
        return;
    }
    const vtac_id y = make_slice(im, vtac_tflite_plain(im, 0), s.begin, s.end, s.step, s.x.rank);
    const vtac_type type = vtac_made_type(&im->maker, y);
    uint32_t from = 0;
    for (uint32_t i = 0; i < s.rank && i < MAX_NAMED; i++) {
        while (from < s.x.rank && s.goes[from]) {
            from++;
        }
        shape[i] = s.new_axis[i] ? 1 : from < s.x.rank ? type.dim[from++] : 1;
    }
    if (s.rank > VTAC_MAX_RANK) {
        vtac_make_refuse(&im->maker, "a result of %u axes", s.rank);
        return;
    }
    vtac_tflite_set(im, 0, vtac_make_reshape(&im->maker, y, shape, s.rank));
}

/* SPLIT: axis, x. SPLIT_V: x, sizes, axis */
void vtac_tflite_import_split(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    enum { MAX = 1024 };
    const uint32_t source = im->how == 0 ? 1 : 0;
    int64_t axis = 0;
    int64_t sizes[MAX];
    const vtac_type x = vtac_tflite_type(im, source);
    if (vtac_tflite_known_ints(im, im->how == 0 ? 0 : 2, "axis", &axis, 1) != 1 ||
        im->op->output_count > MAX || im->op->output_count == 0) {
        vtac_make_fail(m, VTA_INVALID, "%u parts", im->op->output_count);
        return;
    }
    const uint32_t at = vtac_tflite_wrap(im, axis, x.rank);
    const uint32_t count = im->op->output_count;
    if (m->status != VTA_OK) {
        return;
    }
    if (im->how == 0) {
        for (uint32_t i = 0; i < count; i++) {
            sizes[i] = x.dim[at] / count;
        }
    } else if (vtac_tflite_known_ints(im, 1, "sizes", sizes, MAX) != count) {
        vtac_make_fail(m, VTA_INVALID, "sizes for %u parts", count);
        return;
    }
    int64_t left = x.dim[at];
    int open = -1;
    for (uint32_t i = 0; i < count; i++) {
        open = sizes[i] < 0 ? (int)i : open;
        left -= sizes[i] < 0 ? 0 : sizes[i];
    }
    if (open >= 0) {
        sizes[open] = left;
    }
    bool planes;
    const vtac_id value = vtac_tflite_either(im, source, &planes);
    int64_t begin = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (sizes[i] < 0 || begin + sizes[i] > x.dim[at]) {
            vtac_make_fail(m, VTA_INVALID, "part %u has %lld of %lld", i, (long long)sizes[i],
                           (long long)x.dim[at]);
            return;
        }
        vtac_tflite_set_either(
            im, i, vtac_make_slice(m, value, vtac_tflite_axis(at, x.rank, planes), begin, begin + sizes[i]),
            planes);
        begin += sizes[i];
    }
}

/* ---- joining */

/* Part i for an output of another scale (uint8 of old files): a table. */
static vtac_id part_in_scale(vtac_tflite *im, vtac_id x, const vtac_tflite_tensor *in,
                             const vtac_tflite_tensor *out)
{
    if (!vtac_tflite_quantized(out) || vtac_tflite_same_scale(in, out) ||
        (in->type.dtype == VTAC_I16 && out->type.dtype == VTAC_I16)) {
        return x; /* 16 bits as they are, whatever their scales: so TensorFlow Lite does */
    }
    if (!vtac_tflite_quantized(in) || in->type.dtype != out->type.dtype ||
        vtac_dtype_bytes(in->type.dtype) != 1) {
        vtac_make_refuse(&im->maker, "parts of different scales or types");
        return 0;
    }
    uint8_t table[256];
    int64_t low;
    int64_t high;
    vtac_tflite_range(in->type.dtype, &low, &high);
    const float inverse = 1.0F / out->scale[0];
    const float scale = in->scale[0] * inverse;
    const float bias = (float)-in->zero[0] * scale;
    for (int i = 0; i < 256; i++) {
        const float y = roundf((float)(low + i) * scale + bias) + (float)out->zero[0];
        table[i] = (uint8_t)(int64_t)fmaxf((float)low, fminf((float)high, y));
    }
    return vtac_tflite_look_up(im, x, in->type.dtype, table, 256, low);
}

/* options: axis, activation */
void vtac_tflite_import_concat(vtac_tflite *im)
{
    enum { MAX = 256 };
    vtac_id parts[MAX];
    const vtac_type first = vtac_tflite_type(im, 0);
    const uint32_t axis = vtac_tflite_wrap(im, vtac_tflite_option(im, 0, 4, 0), first.rank);
    const uint32_t count = im->op->input_count;
    bool planes = first.rank == 4;
    bool any = false;
    if (im->maker.status != VTA_OK || count > MAX) {
        vtac_make_refuse(&im->maker, "%u parts", count);
        return;
    }
    for (uint32_t i = 0; i < count && im->maker.status == VTA_OK; i++) {
        any = any || vtac_tflite_in_planes(im, i);
    }
    planes = planes && any;
    for (uint32_t i = 0; i < count && im->maker.status == VTA_OK; i++) {
        parts[i] = planes ? vtac_tflite_planes(im, i) : vtac_tflite_plain(im, i);
        parts[i] = part_in_scale(im, parts[i], vtac_tflite_in(im, i), vtac_tflite_out(im, 0));
    }
    vtac_id y = im->maker.status == VTA_OK
                    ? vtac_make_concat(&im->maker, parts, count, vtac_tflite_axis(axis, first.rank, planes))
                    : 0;
    vtac_tflite_set_either(
        im, 0, vtac_tflite_activate(im, y, vtac_tflite_out(im, 0), (int)vtac_tflite_option(im, 1, 1, 0)),
        planes);
}

/* options: count, axis */
void vtac_tflite_import_pack(vtac_tflite *im)
{
    enum { MAX = 256 };
    vtac_id parts[MAX];
    const vtac_type x = vtac_tflite_type(im, 0);
    const uint32_t count = im->op->input_count;
    const uint32_t at = vtac_tflite_wrap(im, vtac_tflite_option(im, 1, 4, 0), x.rank + 1);
    if (im->maker.status != VTA_OK || count > MAX || x.rank >= VTAC_MAX_RANK) {
        vtac_make_refuse(&im->maker, "%u parts of rank %u", count, x.rank);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        int64_t dims[VTAC_MAX_RANK];
        for (uint32_t a = 0; a <= x.rank; a++) {
            dims[a] = a < at ? x.dim[a] : a == at ? 1 : x.dim[a - 1];
        }
        parts[i] = vtac_make_reshape(&im->maker, vtac_tflite_plain(im, i), dims, x.rank + 1);
    }
    vtac_tflite_set(im, 0, vtac_make_concat(&im->maker, parts, count, at));
}

/* options: count, axis */
void vtac_tflite_import_unpack(vtac_tflite *im)
{
    const vtac_type x = vtac_tflite_type(im, 0);
    const uint32_t at = vtac_tflite_wrap(im, vtac_tflite_option(im, 1, 4, 0), x.rank);
    if (im->maker.status != VTA_OK || x.dim[at] < (int64_t)im->op->output_count) {
        vtac_make_fail(&im->maker, VTA_INVALID, "%u parts of rank %u", im->op->output_count, x.rank);
        return;
    }
    int64_t dims[VTAC_MAX_RANK];
    for (uint32_t a = 0; a + 1 < x.rank; a++) {
        dims[a] = x.dim[a < at ? a : a + 1];
    }
    for (uint32_t i = 0; i < im->op->output_count; i++) {
        const vtac_id part = vtac_make_slice(&im->maker, vtac_tflite_plain(im, 0), at, i, (int64_t)i + 1);
        vtac_tflite_set(im, i, vtac_make_reshape(&im->maker, part, dims, x.rank - 1));
    }
}

/* ---- other orders */

void vtac_tflite_import_tile(vtac_tflite *im)
{
    int64_t times[VTAC_MAX_RANK];
    const vtac_type x = vtac_tflite_type(im, 0);
    if (vtac_tflite_known_ints(im, 1, "repetitions", times, VTAC_MAX_RANK) != x.rank) {
        vtac_make_fail(&im->maker, VTA_INVALID, "repetitions for rank %u", x.rank);
        return;
    }
    vtac_tflite_set(im, 0,
                    vtac_make2(&im->maker, VTAC_OP_TILE, vtac_tflite_plain(im, 0),
                               vtac_make_ints(&im->maker, times, x.rank)));
}

void vtac_tflite_import_broadcast_to(vtac_tflite *im)
{
    int64_t dims[VTAC_MAX_RANK];
    const uint32_t rank = vtac_tflite_known_ints(im, 1, "shape", dims, VTAC_MAX_RANK);
    vtac_tflite_set(im, 0,
                    vtac_make2(&im->maker, VTAC_OP_EXPAND, vtac_tflite_plain(im, 0),
                               vtac_make_ints(&im->maker, dims, rank)));
}

/* Places with batch axes: x as one row of all batches' places, and each batch's numbers moved to its part. */
static void gather_in_batches(vtac_tflite *im, uint32_t axis, uint32_t batch)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type x = vtac_tflite_type(im, 0);
    const vtac_type at = vtac_tflite_type(im, 1);
    int64_t order[VTAC_MAX_RANK]; /* the axis comes behind the batch axes */
    int64_t dims[VTAC_MAX_RANK];
    int64_t batches = 1;
    for (uint32_t i = 0; i < x.rank; i++) {
        order[i] = i < batch || i > axis ? i : i == batch ? axis : i - 1;
        batches *= i < batch ? x.dim[i] : 1;
    }
    dims[0] = batches * x.dim[axis];
    for (uint32_t i = batch + 1; i < x.rank; i++) {
        dims[i - batch] = x.dim[order[i]];
    }
    vtac_id rows = vtac_make_transpose(m, vtac_tflite_plain(im, 0), order, x.rank);
    rows = vtac_make_reshape(m, rows, dims, x.rank - batch);
    int64_t *begin = vtac_make_room(m, batches, sizeof *begin);
    for (int64_t i = 0; begin != NULL && i < batches; i++) {
        begin[i] = i * x.dim[axis];
    }
    int64_t over[VTAC_MAX_RANK] = {0};
    for (uint32_t i = 0; i < at.rank; i++) {
        over[i] = i < batch ? at.dim[i] : 1;
    }
    if (begin == NULL) {
        return;
    }
    const vtac_id starts = vtac_make_reshape(
        m, vtac_make_borrowed(m, &(vtac_type){VTAC_I64, 1, {batches}}, begin), over, at.rank);
    const vtac_id places =
        vtac_make2(m, VTAC_OP_ADD, vtac_make_cast(m, vtac_tflite_plain(im, 1), VTAC_I64), starts);
    const vtac_attr first = vtac_attr_of_int("axis", 0);
    const vtac_id y = vtac_make(m, VTAC_OP_GATHER, (vtac_id[]){rows, places}, 2, &first, 1);
    /* back: what lay between batch and axis comes before the places again */
    const uint32_t between = axis - batch;
    const uint32_t chosen = at.rank - batch;
    const uint32_t rank = x.rank + at.rank - batch - 1;
    for (uint32_t i = 0; i < rank; i++) {
        order[i] = i < batch || i >= batch + between + chosen ? i
                   : i < batch + between                      ? i + chosen
                                                              : i - between;
    }
    vtac_tflite_set(im, 0, vtac_make_transpose(m, y, order, rank));
}

/* x, places; options: axis, batch axes */
void vtac_tflite_import_gather(vtac_tflite *im)
{
    const vtac_type x = vtac_tflite_type(im, 0);
    const vtac_type at = vtac_tflite_type(im, 1);
    const uint32_t axis = vtac_tflite_wrap(im, vtac_tflite_option(im, 0, 4, 0), x.rank);
    const int64_t given = vtac_tflite_option(im, 1, 4, 0);
    const int64_t batch = given < 0 ? given + at.rank : given;
    if (im->maker.status != VTA_OK) {
        return;
    }
    if (batch != 0) {
        bool fits =
            batch > 0 && batch <= axis && batch <= at.rank && x.rank + at.rank - batch <= VTAC_MAX_RANK;
        for (int64_t i = 0; fits && i < batch; i++) {
            fits = x.dim[i] == at.dim[i];
        }
        if (!fits) {
            vtac_make_fail(&im->maker, VTA_INVALID, "%lld batch axes, axis %u of %u, places of rank %u",
                           (long long)batch, axis, x.rank, at.rank);
            return;
        }
        gather_in_batches(im, axis, (uint32_t)batch);
        return;
    }
    const vtac_attr attr = vtac_attr_of_int("axis", axis);
    const vtac_id in[] = {vtac_tflite_plain(im, 0), vtac_tflite_plain(im, 1)};
    vtac_tflite_set(im, 0, vtac_make(&im->maker, VTAC_OP_GATHER, in, 2, &attr, 1));
}

void vtac_tflite_import_gather_nd(vtac_tflite *im)
{
    const vtac_id places = vtac_make_cast(&im->maker, vtac_tflite_plain(im, 1), VTAC_I64);
    vtac_tflite_set(im, 0, vtac_make2(&im->maker, VTAC_OP_GATHER_ND, vtac_tflite_plain(im, 0), places));
}

/* EMBEDDING_LOOKUP: numbers of rows, a table of floats, or of bytes with scales. */
void vtac_tflite_import_embedding(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_tflite_tensor *rows = vtac_tflite_in(im, 1);
    const vtac_attr axis = vtac_attr_of_int("axis", 0);
    const bool mixed = vtac_tflite_quantized(rows) && vtac_tflite_is_float(vtac_tflite_out(im, 0));
    const vtac_id in[] = {mixed ? vtac_tflite_dequantize(im, vtac_tflite_plain(im, 1), rows)
                                : vtac_tflite_plain(im, 1),
                          vtac_tflite_plain(im, 0)};
    vtac_tflite_set(im, 0, vtac_make(m, VTAC_OP_GATHER, in, 2, &axis, 1));
}

/* SCATTER_ND: places, what is added there, the shape of the rest, which is 0. */
void vtac_tflite_import_scatter_nd(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_attr add = vtac_attr_of_string("reduction", "add");
    vtac_type type = {.dtype = vtac_tflite_out(im, 0)->type.dtype};
    type.rank = vtac_tflite_known_ints(im, 2, "shape", type.dim, VTAC_MAX_RANK);
    const int64_t count = m->status == VTA_OK ? vtac_type_elements(&type) : -1;
    if (count < 0) {
        vtac_make_fail(m, VTA_INVALID, "its shape is too large");
        return;
    }
    const void *zeros = vtac_make_room(m, count, vtac_dtype_bytes(type.dtype));
    const vtac_id in[] = {zeros == NULL ? 0 : vtac_make_borrowed(m, &type, zeros),
                          vtac_make_cast(m, vtac_tflite_plain(im, 0), VTAC_I64), vtac_tflite_plain(im, 1)};
    vtac_tflite_set(im, 0, vtac_make(m, VTAC_OP_SCATTER_ND, in, 3, &add, 1));
}

/* LOCAL_RESPONSE_NORMALIZATION over channels; options: radius, bias, alpha, beta. */
void vtac_tflite_import_local_norm(vtac_tflite *im)
{
    const int64_t radius = vtac_tflite_option(im, 0, 4, 0);
    if (im->maker.status == VTA_OK && (radius < 0 || radius > 1 << 16 || vtac_tflite_type(im, 0).rank != 4)) {
        vtac_make_fail(&im->maker, VTA_INVALID, "radius %lld over an input of rank %u, expected 4",
                       (long long)radius, vtac_tflite_type(im, 0).rank);
        return;
    }
    const double size = 2.0 * (double)radius + 1.0;
    const vtac_attr attrs[] = {
        vtac_attr_of_int("size", 2 * radius + 1),
        vtac_attr_of_float("bias", (double)vtac_tflite_option_float(im, 1, 0.0F)),
        vtac_attr_of_float("alpha", size * (double)vtac_tflite_option_float(im, 2, 0.0F)),
        vtac_attr_of_float("beta", (double)vtac_tflite_option_float(im, 3, 0.0F))};
    const vtac_id x = vtac_tflite_planes(im, 0);
    vtac_tflite_set_planes(im, 0, vtac_make(&im->maker, VTAC_OP_LRN, &x, 1, attrs, 4));
}

/* options: block */
void vtac_tflite_import_space_depth(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const int64_t b = vtac_tflite_option(im, 0, 4, 0);
    const vtac_type x = vtac_tflite_type(im, 0);
    const bool deep = im->how == VTAC_OP_SPACE_TO_DEPTH;
    if (m->status != VTA_OK || x.rank != 4 || b < 1 || b > 1 << 15 ||
        (deep ? x.dim[1] % b != 0 || x.dim[2] % b != 0 : x.dim[3] % (b * b) != 0)) {
        vtac_make_fail(m, VTA_INVALID, "blocks of %lld", (long long)b);
        return;
    }
    const int64_t rows = deep ? x.dim[1] / b : x.dim[1];
    const int64_t columns = deep ? x.dim[2] / b : x.dim[2];
    const int64_t depth = deep ? x.dim[3] : x.dim[3] / (b * b);
    const int64_t parts[] = {x.dim[0], rows, b, columns, b, depth};
    const int64_t other[] = {x.dim[0], rows, columns, b, b, depth};
    const int64_t order[] = {0, 1, 3, 2, 4, 5};
    vtac_id y = vtac_make_reshape(m, vtac_tflite_plain(im, 0), deep ? parts : other, 6);
    y = vtac_make_transpose(m, y, order, 6);
    const int64_t small[] = {x.dim[0], rows, columns, depth * b * b};
    const int64_t large[] = {x.dim[0], rows * b, columns * b, depth};
    vtac_tflite_set(im, 0, vtac_make_reshape(m, y, deep ? small : large, 4));
}

/* x, blocks, borders or crops of each; rank 4 with blocks on two axes, or rank 3 with blocks on one */
void vtac_tflite_import_space_batch(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    int64_t block[2] = {1, 1};
    int64_t edge[4] = {0};
    vtac_type x = vtac_tflite_type(im, 0);
    const uint32_t rank = x.rank;
    if (rank < 3 || rank > 4 || vtac_tflite_known_ints(im, 1, "blocks", block, 2) != rank - 2 ||
        vtac_tflite_known_ints(im, 2, "edges", edge, 4) != 2 * (rank - 2) || block[0] < 1 || block[1] < 1 ||
        block[0] > 1 << 15 || block[1] > 1 << 15) {
        vtac_make_refuse(&im->maker,
                         "rank %u; rank 4 with blocks on two axes is taken, and rank 3 with blocks on one",
                         rank);
        return;
    }
    vtac_id y = vtac_tflite_plain(im, 0);
    if (rank == 3) { /* a second axis of one place */
        x = (vtac_type){x.dtype, 4, {x.dim[0], x.dim[1], 1, x.dim[2]}};
        y = vtac_make_reshape(m, y, x.dim, 4);
    }
    const int64_t area = block[0] * block[1];
    if (im->how != 0) { /* to batch */
        const int64_t pads[] = {0, edge[0], edge[2], 0, 0, edge[1], edge[3], 0};
        const vtac_id inputs[] = {y, vtac_make_ints(m, pads, 8), border_value(im)};
        const int64_t rows = x.dim[1] + edge[0] + edge[1];
        const int64_t columns = x.dim[2] + edge[2] + edge[3];
        if (rows % block[0] != 0 || columns % block[1] != 0) {
            vtac_make_fail(m, VTA_INVALID, "%lld x %lld in blocks", (long long)rows, (long long)columns);
            return;
        }
        y = vtac_make(m, VTAC_OP_PAD, inputs, 3, NULL, 0);
        y = vtac_make_reshape(
            m, y, (int64_t[]){x.dim[0], rows / block[0], block[0], columns / block[1], block[1], x.dim[3]},
            6);
        y = vtac_make_transpose(m, y, (int64_t[]){2, 4, 0, 1, 3, 5}, 6);
        y = vtac_make_reshape(m, y,
                              (int64_t[]){x.dim[0] * area, rows / block[0], columns / block[1], x.dim[3]}, 4);
    } else {
        if (x.dim[0] % area != 0) {
            vtac_make_fail(m, VTA_INVALID, "%lld batches in blocks of %lld", (long long)x.dim[0],
                           (long long)area);
            return;
        }
        const int64_t batch = x.dim[0] / area;
        y = vtac_make_reshape(m, y, (int64_t[]){block[0], block[1], batch, x.dim[1], x.dim[2], x.dim[3]}, 6);
        y = vtac_make_transpose(m, y, (int64_t[]){2, 3, 0, 4, 1, 5}, 6);
        y = vtac_make_reshape(m, y, (int64_t[]){batch, x.dim[1] * block[0], x.dim[2] * block[1], x.dim[3]},
                              4);
        y = vtac_make_slice(m, y, 1, edge[0], x.dim[1] * block[0] - edge[1]);
        y = vtac_make_slice(m, y, 2, edge[2], x.dim[2] * block[1] - edge[3]);
    }
    if (rank == 3) {
        const vtac_type type = vtac_made_type(m, y);
        y = vtac_make_reshape(m, y, (int64_t[]){type.dim[0], type.dim[1], type.dim[3]}, 3);
    }
    vtac_tflite_set(im, 0, y);
}

void vtac_tflite_import_shape(vtac_tflite *im)
{
    const vtac_type x = vtac_tflite_type(im, 0);
    const vtac_id y = vtac_make_ints(&im->maker, x.dim, x.rank);
    vtac_tflite_set(im, 0, vtac_make_cast(&im->maker, y, vtac_tflite_out(im, 0)->type.dtype));
}

void vtac_tflite_import_rank(vtac_tflite *im)
{
    vtac_tflite_set(im, 0, vtac_make_number(&im->maker, VTAC_I32, vtac_tflite_type(im, 0).rank));
}

/* dims, value */
void vtac_tflite_import_fill(vtac_tflite *im)
{
    int64_t dims[VTAC_MAX_RANK];
    const uint32_t rank = vtac_tflite_known_ints(im, 0, "shape", dims, VTAC_MAX_RANK);
    vtac_tflite_set(im, 0,
                    vtac_make2(&im->maker, VTAC_OP_EXPAND, vtac_tflite_plain(im, 1),
                               vtac_make_ints(&im->maker, dims, rank)));
}

void vtac_tflite_import_zeros_like(vtac_tflite *im)
{
    const vtac_type x = vtac_tflite_type(im, 0);
    const void *zeros = vtac_make_room(&im->maker, vtac_type_elements(&x), vtac_dtype_bytes(x.dtype));
    vtac_tflite_set(im, 0, zeros == NULL ? 0 : vtac_make_borrowed(&im->maker, &x, zeros));
}

void vtac_tflite_import_range(vtac_tflite *im)
{
    vtac_tflite_set(im, 0,
                    vtac_make3(&im->maker, VTAC_OP_RANGE, vtac_tflite_plain(im, 0), vtac_tflite_plain(im, 1),
                               vtac_tflite_plain(im, 2)));
}

void vtac_tflite_import_reverse(vtac_tflite *im)
{
    int64_t axes[VTAC_MAX_RANK];
    const vtac_type x = vtac_tflite_type(im, 0);
    const uint32_t count = vtac_tflite_known_ints(im, 1, "axes", axes, VTAC_MAX_RANK);
    int64_t begin[VTAC_MAX_RANK];
    int64_t end[VTAC_MAX_RANK];
    int64_t step[VTAC_MAX_RANK];
    for (uint32_t i = 0; i < x.rank; i++) {
        begin[i] = 0;
        end[i] = x.dim[i];
        step[i] = 1;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t at = vtac_tflite_wrap(im, axes[i], x.rank);
        begin[at] = x.dim[at] - 1;
        end[at] = INT64_MIN / 2;
        step[at] = -1;
    }
    vtac_tflite_set(im, 0, make_slice(im, vtac_tflite_plain(im, 0), begin, end, step, x.rank));
}

/* x, depth, on, off; options: axis */
void vtac_tflite_import_one_hot(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_attr axis = vtac_attr_of_int("axis", vtac_tflite_option(im, 0, 4, 0));
    const vtac_id pair[] = {vtac_make_reshape(m, vtac_tflite_plain(im, 3), (int64_t[]){1}, 1),
                            vtac_make_reshape(m, vtac_tflite_plain(im, 2), (int64_t[]){1}, 1)};
    /* -1 is no place; in ONNX it would be the last */
    const vtac_dtype d = vtac_tflite_type(im, 0).dtype;
    const vtac_id depth = vtac_make_cast(m, vtac_tflite_plain(im, 1), d);
    const vtac_id below = vtac_make2(m, VTAC_OP_LESS, vtac_tflite_plain(im, 0), vtac_make_number(m, d, 0.0));
    const vtac_id in[] = {vtac_make3(m, VTAC_OP_WHERE, below, depth, vtac_tflite_plain(im, 0)),
                          vtac_tflite_plain(im, 1), vtac_make_concat(m, pair, 2, 0)};
    vtac_tflite_set(im, 0, vtac_make(m, VTAC_OP_ONE_HOT, in, 3, &axis, 1));
}
