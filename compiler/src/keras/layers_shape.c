/* SPDX-License-Identifier: Apache-2.0
 *
 * Layers that move numbers.
 */
#include <math.h>
#include <string.h>

#include "keras.h"

/* ---- shapes */

static bool channels_first(vtac_keras *k)
{
    return strcmp(vtac_keras_text(k, "data_format", "channels_last"), "channels_first") == 0;
}

/* The input with the channels on axis 1; a result of this form as the file has its axes. */
static vtac_id input_planes(vtac_keras *k)
{
    return channels_first(k) ? vtac_keras_plain(k, &k->in[0]) : vtac_keras_planes(k, &k->in[0]);
}

static vtac_keras_value as_input(vtac_keras *k, vtac_id y)
{
    return channels_first(k) ? vtac_keras_as_plain(y) : vtac_keras_as_planes(y);
}

vtac_keras_value vtac_keras_make_flatten(vtac_keras *k, const void *how)
{
    (void)how;
    vtac_id x = vtac_keras_plain(k, &k->in[0]);
    vtac_type type = vtac_made_type(&k->maker, x);
    if (channels_first(k) && type.rank > 2) { /* Keras moves them to the end first */
        int64_t order[VTAC_MAX_RANK] = {0};
        for (uint32_t a = 1; a < type.rank; a++) {
            order[a] = a + 1 < type.rank ? a + 1 : 1;
        }
        x = vtac_make_transpose(&k->maker, x, order, type.rank);
        type = vtac_made_type(&k->maker, x);
    }
    const int64_t batch = type.rank > 0 ? type.dim[0] : 1;
    const int64_t dims[] = {batch, batch > 0 ? vtac_type_elements(&type) / batch : 0};
    return vtac_keras_as_plain(vtac_make_reshape(&k->maker, x, dims, 2));
}

vtac_keras_value vtac_keras_make_reshape(vtac_keras *k, const void *how)
{
    (void)how;
    const vtac_id x = vtac_keras_plain(k, &k->in[0]);
    const vtac_type type = vtac_made_type(&k->maker, x);
    const cJSON *target = vtac_keras_option(k, "target_shape");
    const int count = cJSON_GetArraySize(target);
    int64_t dims[VTAC_MAX_RANK] = {type.dim[0]};
    int64_t known = dims[0];
    int open = -1;
    if (count >= VTAC_MAX_RANK || type.rank == 0) {
        vtac_make_refuse(&k->maker, "a shape of %d axes", count + 1);
        return vtac_keras_as_plain(0);
    }
    for (int i = 0; i < count; i++) {
        dims[i + 1] = vtac_keras_whole(cJSON_GetArrayItem(target, i));
        open = dims[i + 1] == -1 ? i + 1 : open;
        if (dims[i + 1] != -1 && (dims[i + 1] < 1 || known > INT64_MAX / dims[i + 1])) {
            vtac_make_fail(&k->maker, VTA_INVALID, "a target shape with %lld", (long long)dims[i + 1]);
            return vtac_keras_as_plain(0);
        }
        known *= dims[i + 1] == -1 ? 1 : dims[i + 1];
    }
    if (open > 0 && known > 0) {
        dims[open] = vtac_type_elements(&type) / known;
    }
    return vtac_keras_as_plain(vtac_make_reshape(&k->maker, x, dims, (uint32_t)count + 1));
}

vtac_keras_value vtac_keras_make_permute(vtac_keras *k, const void *how)
{
    (void)how;
    const vtac_id x = vtac_keras_plain(k, &k->in[0]);
    const uint32_t rank = vtac_made_type(&k->maker, x).rank;
    int64_t order[VTAC_MAX_RANK] = {0};
    if (rank < 2) {
        vtac_make_refuse(&k->maker, "an input of %u axes", rank);
        return vtac_keras_as_plain(0);
    }
    vtac_keras_ints(k, "dims", 1, order + 1, rank - 1);
    return vtac_keras_as_plain(vtac_make_transpose(&k->maker, x, order, rank));
}

vtac_keras_value vtac_keras_make_repeat_vector(vtac_keras *k, const void *how)
{
    (void)how;
    const vtac_id x = vtac_keras_plain(k, &k->in[0]);
    const vtac_type type = vtac_made_type(&k->maker, x);
    const int64_t times[] = {1, vtac_keras_int(k, "n", 1), 1};
    const vtac_id y = vtac_make_reshape(&k->maker, x, (int64_t[]){type.dim[0], 1, type.dim[1]}, 3);
    return vtac_keras_as_plain(vtac_make2(&k->maker, VTAC_OP_TILE, y, vtac_make_ints(&k->maker, times, 3)));
}

/* [[top, bottom], [left, right]], [rows, columns] or a number; of one axis [left, right] or a number */
static void read_edges(vtac_keras *k, const char *name, uint32_t axes, int64_t *before, int64_t *after)
{
    const cJSON *item = vtac_keras_option(k, name);
    for (uint32_t a = 0; a < axes; a++) {
        const cJSON *one = cJSON_IsArray(item) && axes > 1 ? cJSON_GetArrayItem(item, (int)a) : item;
        before[a] = vtac_keras_whole(cJSON_IsArray(one) ? cJSON_GetArrayItem(one, 0) : one);
        after[a] = vtac_keras_whole(cJSON_IsArray(one) ? cJSON_GetArrayItem(one, 1) : one);
        if (item == NULL) {
            before[a] = after[a] = 1;
        }
        if (before[a] < 0 || after[a] < 0) {
            vtac_make_fail(&k->maker, VTA_INVALID, "'%s' below 0", name);
        }
    }
}

vtac_keras_value vtac_keras_make_zero_padding(vtac_keras *k, const void *how)
{
    const uint32_t axes = (uint32_t)(*(const char *)how - '0');
    int64_t before[3];
    int64_t after[3];
    read_edges(k, "padding", axes, before, after);
    const vtac_id x = input_planes(k);
    int64_t pads[10] = {0};
    for (uint32_t a = 0; a < axes; a++) {
        pads[a + 2] = before[a];
        pads[a + 2 + axes + 2] = after[a];
    }
    return as_input(k,
                    vtac_make2(&k->maker, VTAC_OP_PAD, x, vtac_make_ints(&k->maker, pads, 2 * (axes + 2))));
}

vtac_keras_value vtac_keras_make_cropping(vtac_keras *k, const void *how)
{
    const uint32_t axes = (uint32_t)(*(const char *)how - '0');
    int64_t before[3];
    int64_t after[3];
    read_edges(k, "cropping", axes, before, after);
    vtac_id x = input_planes(k);
    for (uint32_t a = 0; a < axes && k->maker.status == VTA_OK; a++) {
        x = vtac_make_slice(&k->maker, x, a + 2, before[a],
                            vtac_made_type(&k->maker, x).dim[a + 2] - after[a]);
    }
    return as_input(k, x);
}

vtac_keras_value vtac_keras_make_upsampling(vtac_keras *k, const void *how)
{
    const uint32_t axes = (uint32_t)(*(const char *)how - '0');
    int64_t size[3] = {2, 2, 2};
    vtac_keras_ints(k, "size", 2, size, axes);
    const vtac_id x = input_planes(k);
    const vtac_type type = vtac_made_type(&k->maker, x);
    int64_t to[VTAC_MAX_RANK];
    memcpy(to, type.dim, sizeof to);
    for (uint32_t a = 0; a < axes; a++) {
        to[a + 2] *= size[a];
    }
    const char *mode = vtac_keras_text(k, "interpolation", "nearest");
    const bool near = strcmp(mode, "nearest") == 0;
    if (!near && strcmp(mode, "bilinear") != 0) {
        vtac_make_refuse(&k->maker, "interpolation '%.40s'", mode);
    }
    const vtac_attr attrs[] = {
        vtac_attr_of_string("mode", near ? "nearest" : "linear"),
        vtac_attr_of_string("nearest_mode", "floor"),
        vtac_attr_of_string("coordinate_transformation_mode", near ? "asymmetric" : "half_pixel")};
    const vtac_id in[] = {x, 0, 0, vtac_make_ints(&k->maker, to, axes + 2)};
    return as_input(k, vtac_make(&k->maker, VTAC_OP_RESIZE, in, 4, attrs, 3));
}

/* ---- pictures of another size */

/* The middle of a picture; a smaller one is refused, as it would be made larger first. */
vtac_keras_value vtac_keras_make_center_crop(vtac_keras *k, const void *how)
{
    (void)how;
    vtac_id x = input_planes(k);
    const int64_t size[] = {vtac_keras_int(k, "height", 0), vtac_keras_int(k, "width", 0)};
    for (uint32_t a = 0; a < 2 && k->maker.status == VTA_OK; a++) {
        const vtac_type type = vtac_made_type(&k->maker, x);
        const int64_t more = type.rank == 4 ? type.dim[a + 2] - size[a] : -1;
        if (more < 0 || size[a] < 1) {
            vtac_make_refuse(&k->maker, "a picture of rank %u that is smaller than %lld x %lld", type.rank,
                             (long long)size[0], (long long)size[1]);
            return vtac_keras_as_plain(0);
        }
        x = vtac_make_slice(&k->maker, x, a + 2, more / 2, more / 2 + size[a]);
    }
    return as_input(k, x);
}

vtac_keras_value vtac_keras_make_resizing(vtac_keras *k, const void *how)
{
    (void)how;
    const vtac_id x = vtac_make_cast(&k->maker, input_planes(k), VTAC_F32);
    const vtac_type type = vtac_made_type(&k->maker, x);
    const char *mode = vtac_keras_text(k, "interpolation", "bilinear");
    const bool near = strcmp(mode, "nearest") == 0;
    const int64_t to[] = {type.dim[0], type.dim[1], vtac_keras_int(k, "height", 0),
                          vtac_keras_int(k, "width", 0)};
    if ((!near && strcmp(mode, "bilinear") != 0) || vtac_keras_bool(k, "crop_to_aspect_ratio", false) ||
        vtac_keras_bool(k, "pad_to_aspect_ratio", false) || vtac_keras_bool(k, "antialias", false) ||
        type.rank != 4 || to[2] < 1 || to[3] < 1) {
        vtac_make_refuse(&k->maker, "interpolation '%.40s', or with borders, a filter or another rank than 4",
                         mode);
        return vtac_keras_as_plain(0);
    }
    /* the nearest is that of the pixel's middle */
    const vtac_attr attrs[] = {vtac_attr_of_string("mode", near ? "nearest" : "linear"),
                               vtac_attr_of_string("nearest_mode", "round_prefer_ceil"),
                               vtac_attr_of_string("coordinate_transformation_mode", "half_pixel")};
    const vtac_id in[] = {x, 0, 0, vtac_make_ints(&k->maker, to, 4)};
    return as_input(k, vtac_make(&k->maker, VTAC_OP_RESIZE, in, 4, attrs, 3));
}
