/* SPDX-License-Identifier: Apache-2.0
 *
 * Types of operators that read between the elements of a picture, or put windows of it together again.
 */
#include <string.h>

#include "infer.h"

/* A picture [N, C, axes...] of which something can be read. */
static vta_status need_picture(const vtac_graph *graph, const vtac_node *node, const vtac_type **x,
                               uint32_t rank, vta_diag *diag)
{
    VTA_TRY(vtac_need_type(graph, node, 0, x, diag));
    if (rank == 0 ? (*x)->rank < 3 : (*x)->rank != rank) {
        return vta_fail(diag, VTA_INVALID, "the input has rank %u, expected [N, C, spatial...]", (*x)->rank);
    }
    return VTA_OK;
}

static vta_status expect_places(const vtac_type *x, const vtac_type *out, vta_diag *diag)
{
    return vtac_type_elements(x) == 0 && vtac_type_elements(out) != 0
               ? vta_fail(diag, VTA_INVALID, "it reads from an input without elements")
               : VTA_OK;
}

static bool is_one_of(const char *text, const char *const *list)
{
    while (*list != NULL && strcmp(*list, text) != 0) {
        list++;
    }
    return *list != NULL;
}

vta_status vtac_infer_grid_sample(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                  vta_diag *diag)
{
    static const char *const modes[] = {"linear", "nearest", "cubic", "bilinear", "bicubic", NULL};
    static const char *const paddings[] = {"zeros", "border", "reflection", NULL};
    const vtac_type *x;
    const vtac_type *grid;
    VTA_TRY(need_picture(graph, node, &x, 0, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_GRID_SAMPLE_GRID, &grid, diag));
    const char *mode = vtac_attr_string(node, "mode", "linear");
    const char *padding = vtac_attr_string(node, "padding_mode", "zeros");
    if (!is_one_of(mode, modes)) {
        return vta_fail(diag, VTA_INVALID, "mode '%.32s' is not linear, nearest or cubic", mode);
    }
    if (!is_one_of(padding, paddings)) {
        return vta_fail(diag, VTA_INVALID, "padding_mode '%.32s' is not zeros, border or reflection",
                        padding);
    }
    if (grid->rank != x->rank || grid->dim[0] != x->dim[0] || grid->dim[grid->rank - 1] != x->rank - 2) {
        char text[160];
        return vta_fail(diag, VTA_INVALID, "the grid is %s, expected [%lld, places..., %u]",
                        vtac_type_text(grid, text, sizeof text), (long long)x->dim[0], x->rank - 2);
    }
    if (strstr(mode, "cubic") != NULL && x->rank > 5) {
        return vta_fail(diag, VTA_UNSUPPORTED, "cubic on %u axes is not supported, up to 3 are", x->rank - 2);
    }
    if (vtac_dtype_kind(x->dtype) != 'f' && strcmp(mode, "nearest") != 0) {
        return vta_fail(diag, VTA_UNSUPPORTED, "mode '%s' needs floats, not %s", mode,
                        vtac_dtype_name(x->dtype));
    }
    out[0] = *x;
    memcpy(out[0].dim + 2, grid->dim + 1, (x->rank - 2) * sizeof out[0].dim[0]);
    return expect_places(x, &out[0], diag);
}

/* x [N, C, axes...], offset [N, groups * taps * axes, places...], mask [N, groups * taps, places...] */
vta_status vtac_infer_deform_columns(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                     vta_diag *diag)
{
    const vtac_type *x;
    VTA_TRY(need_picture(graph, node, &x, 0, diag));
    const int64_t groups = vtac_attr_int(node, "offset_group", 1);
    vtac_window w;
    VTA_TRY(vtac_window_of(node, x, NULL, false, &w, diag));
    if (groups < 1 || x->dim[1] % groups != 0) {
        return vta_fail(diag, VTA_INVALID, "%lld channels do not part in %lld groups of offsets",
                        (long long)x->dim[1], (long long)groups);
    }
    int64_t shape[VTAC_MAX_RANK] = {x->dim[0]};
    int64_t taps = 1;
    int64_t places = 1;
    for (uint32_t i = 0; i < w.axes; i++) {
        shape[2 + i] = w.extent[i];
        if (__builtin_mul_overflow(taps, w.kernel[i], &taps) ||
            __builtin_mul_overflow(places, w.extent[i], &places) || taps > INT32_MAX || places > INT32_MAX) {
            return vta_fail(diag, VTA_RANGE, "its window or its result is too large");
        }
    }
    if (__builtin_mul_overflow(groups, taps, &shape[1]) || shape[1] > INT32_MAX) {
        return vta_fail(diag, VTA_RANGE, "%lld groups of offsets are too many", (long long)groups);
    }
    VTA_TRY(vtac_expect_shape(graph, node, VTAC_DEFORM_COLUMNS_MASK, "the mask", x->rank, shape, diag));
    shape[1] *= w.axes;
    VTA_TRY(vtac_expect_shape(graph, node, VTAC_DEFORM_COLUMNS_OFFSETS, "the offsets", x->rank, shape, diag));
    out[0] = (vtac_type){x->dtype, 4, {x->dim[0], x->dim[1], taps, places}};
    return expect_places(x, &out[0], diag);
}

static vta_status cells_of(const vtac_node *node, const vtac_type *x, const vtac_type *rois,
                           const int64_t *cells, uint32_t columns, vtac_type *out, vta_diag *diag)
{
    if (rois->rank != 2 || rois->dim[1] != columns) {
        char text[160];
        return vta_fail(diag, VTA_INVALID, "the regions are %s, expected [count, %u]",
                        vtac_type_text(rois, text, sizeof text), columns);
    }
    for (uint32_t i = 0; i < 2; i++) {
        if (cells[i] < 1 || cells[i] > INT32_MAX) {
            return vta_fail(diag, VTA_RANGE, "%lld cells along an axis of a region", (long long)cells[i]);
        }
    }
    (void)node;
    *out = (vtac_type){x->dtype, 4, {rois->dim[0], x->dim[1], cells[0], cells[1]}};
    return expect_places(x, out, diag);
}

vta_status vtac_infer_roi_align(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                vta_diag *diag)
{
    static const char *const places[] = {"half_pixel", "output_half_pixel", NULL};
    static const char *const modes[] = {"avg", "max", NULL};
    const vtac_type *x;
    const vtac_type *rois;
    VTA_TRY(need_picture(graph, node, &x, 4, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_ROI_ALIGN_ROIS, &rois, diag));
    const char *mode = vtac_attr_string(node, "mode", "avg");
    const char *place = vtac_attr_string(node, "coordinate_transformation_mode", "half_pixel");
    if (!is_one_of(mode, modes) || !is_one_of(place, places)) {
        return vta_fail(diag, VTA_INVALID, "'%.32s', '%.32s' are not a mode and a transformation that it has",
                        mode, place);
    }
    if (vtac_attr_int(node, "sampling_ratio", 0) < 0 || vtac_attr_int(node, "sampling_ratio", 0) > 4096) {
        return vta_fail(diag, VTA_RANGE, "sampling_ratio is not 0 to 4096");
    }
    const int64_t cells[] = {vtac_attr_int(node, "output_height", 1), vtac_attr_int(node, "output_width", 1)};
    VTA_TRY(cells_of(node, x, rois, cells, 4, &out[0], diag));
    return vtac_expect_shape(graph, node, VTAC_ROI_ALIGN_BATCH_INDICES, "the pictures of the regions", 1,
                             rois->dim, diag);
}

vta_status vtac_infer_max_roi_pool(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                   vta_diag *diag)
{
    const vtac_type *x;
    const vtac_type *rois;
    int64_t cells[2];
    VTA_TRY(need_picture(graph, node, &x, 4, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_MAX_ROI_POOL_ROIS, &rois, diag));
    VTA_TRY(vtac_int_list(node, "pooled_shape", 2, 0, cells, diag));
    return cells_of(node, x, rois, cells, 5, &out[0], diag);
}

/* Col2Im: columns, the picture's axes, the window's */
vta_status vtac_col2im_window(const vtac_graph *graph, const vtac_node *node, vtac_window *w, vta_diag *diag)
{
    int64_t shape[VTAC_MAX_RANK];
    int64_t kernel[VTAC_MAX_RANK];
    uint32_t axes;
    uint32_t same;
    VTA_TRY(vtac_need_ints(graph, node, VTAC_COL2IM_IMAGE_SHAPE, "the picture's shape", shape,
                           VTAC_MAX_RANK - 2, &axes, diag));
    VTA_TRY(vtac_need_ints(graph, node, VTAC_COL2IM_WINDOW_SHAPE, "the window's shape", kernel,
                           VTAC_MAX_RANK - 2, &same, diag));
    if (axes != same || axes < 1) {
        return vta_fail(diag, VTA_INVALID, "a picture of %u axes with a window of %u", axes, same);
    }
    vtac_type picture = {.dtype = VTAC_F32, .rank = axes + 2, .dim = {1, 1}};
    vtac_type window = picture;
    memcpy(picture.dim + 2, shape, axes * sizeof *shape);
    memcpy(window.dim + 2, kernel, axes * sizeof *kernel);
    for (uint32_t i = 0; i < axes; i++) {
        if (shape[i] < 0 || shape[i] > INT32_MAX) {
            return vta_fail(diag, VTA_RANGE, "%lld places on axis %u of the picture", (long long)shape[i], i);
        }
    }
    return vtac_window_of(node, &picture, &window, false, w, diag);
}

vta_status vtac_infer_col2im(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *x;
    vtac_window w;
    VTA_TRY(vtac_need_type(graph, node, VTAC_COL2IM_X, &x, diag));
    VTA_TRY(vtac_col2im_window(graph, node, &w, diag));
    int64_t taps = 1;
    int64_t places = 1;
    int64_t shape[VTAC_MAX_RANK];
    uint32_t axes;
    VTA_TRY(vtac_need_ints(graph, node, VTAC_COL2IM_IMAGE_SHAPE, "the picture's shape", shape, VTAC_MAX_RANK,
                           &axes, diag));
    for (uint32_t i = 0; i < w.axes; i++) {
        if (__builtin_mul_overflow(taps, w.kernel[i], &taps) ||
            __builtin_mul_overflow(places, w.extent[i], &places)) {
            return vta_fail(diag, VTA_RANGE, "its window is too large");
        }
    }
    if (x->rank != 3 || x->dim[1] % taps != 0 || x->dim[2] != places) {
        char text[160];
        return vta_fail(diag, VTA_INVALID, "the columns are %s, expected [N, C * %lld, %lld]",
                        vtac_type_text(x, text, sizeof text), (long long)taps, (long long)places);
    }
    out[0] = (vtac_type){x->dtype, w.axes + 2, {x->dim[0], x->dim[1] / taps}};
    memcpy(out[0].dim + 2, shape, axes * sizeof *shape);
    return VTA_OK;
}

vta_status vtac_infer_det(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *x;
    VTA_TRY(vtac_need_type(graph, node, 0, &x, diag));
    if (x->rank < 2 || x->dim[x->rank - 1] != x->dim[x->rank - 2] || x->dim[x->rank - 1] > 4096) {
        char text[160];
        return vta_fail(diag, VTA_INVALID, "the input is %s, expected square matrices of up to 4096 rows",
                        vtac_type_text(x, text, sizeof text));
    }
    out[0] = *x;
    out[0].rank -= 2;
    return VTA_OK;
}

/* Infers a tensor of the same bits in another type of the same size. */
vta_status vtac_infer_bit_cast(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    VTA_TRY(vtac_infer_cast(graph, node, out, diag));
    const vtac_dtype from = vtac_in_type(graph, node, 0)->dtype;
    const vtac_dtype to = out[0].dtype;
    if (vtac_dtype_bits(from) != vtac_dtype_bits(to)) {
        return vta_fail(diag, VTA_INVALID, "%s has not as many bits as %s", vtac_dtype_name(to),
                        vtac_dtype_name(from));
    }
    const bool apart = vtac_dtype_bits(from) < 8 && vtac_dtype_held(from) != vtac_dtype_held(to);
    if (from != to && (apart || to == VTAC_BOOL)) {
        return vta_fail(diag, VTA_UNSUPPORTED, "%s as %s is not supported", vtac_dtype_name(from),
                        vtac_dtype_name(to));
    }
    return VTA_OK;
}

/* Probabilities of pairs [rows, classes, classes], float64 */
vta_status vtac_infer_couple(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *x;
    VTA_TRY(vtac_need_type(graph, node, 0, &x, diag));
    if (x->dtype != VTAC_F64 || x->rank != 3 || x->dim[1] != x->dim[2] || x->dim[1] < 1 || x->dim[1] > 1024) {
        char text[160];
        return vta_fail(diag, VTA_INVALID, "the input is %s, expected f64[rows, classes, classes]",
                        vtac_type_text(x, text, sizeof text));
    }
    out[0] = (vtac_type){VTAC_F64, 2, {x->dim[0], x->dim[1]}};
    return VTA_OK;
}
