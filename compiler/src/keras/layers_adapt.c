/* SPDX-License-Identifier: Apache-2.0
 *
 * Layers that look at the whole picture first: pools of as many windows as are asked for, contrast.
 */
#include <string.h>

#include "keras.h"

enum { MAX_WINDOWS = 1024 };

/* Pools an axis in `windows` parts, which overlap where they do not divide it. */
static vtac_id pool_axis(vtac_keras *k, vtac_op op, vtac_id x, uint32_t axis, int64_t windows)
{
    vtac_import_builder *m = &k->maker;
    const int64_t size = vtac_made_type(m, x).dim[axis];
    const int64_t axes[] = {axis};
    vtac_id parts[MAX_WINDOWS];
    for (int64_t i = 0; i < windows; i++) {
        const int64_t begin = i * size / windows;
        const int64_t end = ((i + 1) * size + windows - 1) / windows;
        parts[i] = vtac_make_reduce(m, op, vtac_make_slice(m, x, axis, begin, end), axes, 1, true);
    }
    return vtac_make_concat(m, parts, (uint32_t)windows, axis);
}

/* how: "avg" or "max", and how many axes */
vtac_keras_value vtac_keras_make_adaptive_pool(vtac_keras *k, const void *how)
{
    vtac_import_builder *m = &k->maker;
    const char *kind = how;
    const uint32_t axes = (uint32_t)(kind[3] - '0');
    const bool average = kind[0] == 'a';
    const bool first = strcmp(vtac_keras_text(k, "data_format", "channels_last"), "channels_first") == 0;
    vtac_id x = first ? vtac_keras_plain(k, &k->in[0]) : vtac_keras_planes(k, &k->in[0]);
    const vtac_type type = vtac_made_type(m, x);
    int64_t to[3] = {1, 1, 1};
    int64_t window[3];
    bool even = true;
    vtac_keras_ints(k, "output_size", 1, to, axes);
    if (m->status == VTA_OK && type.rank != axes + 2) {
        vtac_make_fail(m, VTA_INVALID, "the input has %u axes", type.rank);
    }
    for (uint32_t a = 0; a < axes && m->status == VTA_OK; a++) {
        if (to[a] < 1 || to[a] > MAX_WINDOWS || type.dim[a + 2] < 1) {
            vtac_make_refuse(&k->maker, "%lld windows; at most %d are taken", (long long)to[a], MAX_WINDOWS);
            break;
        }
        even = even && type.dim[a + 2] % to[a] == 0;
        window[a] = type.dim[a + 2] / to[a];
    }
    if (m->status != VTA_OK) {
        return vtac_keras_as_plain(0);
    }
    if (even) {
        const vtac_attr attrs[] = {vtac_attr_of_ints("strides", window, axes),
                                   vtac_attr_of_ints("kernel_shape", window, axes)};
        x = vtac_make(m, average ? VTAC_OP_AVERAGE_POOL : VTAC_OP_MAX_POOL, &x, 1, attrs, 2);
    } else {
        for (uint32_t a = 0; a < axes; a++) {
            x = pool_axis(k, average ? VTAC_OP_REDUCE_MEAN : VTAC_OP_REDUCE_MAX, x, a + 2, to[a]);
        }
    }
    return first ? vtac_keras_as_plain(x) : vtac_keras_as_planes(x);
}

/* Each channel from its least to its greatest number becomes the whole range; one without contrast stays. */
vtac_keras_value vtac_keras_make_auto_contrast(vtac_keras *k, const void *how)
{
    (void)how;
    vtac_import_builder *m = &k->maker;
    const vtac_id x = vtac_make_cast(m, vtac_keras_plain(k, &k->in[0]), VTAC_F32);
    const cJSON *range = vtac_keras_option(k, "value_range");
    const cJSON *ends[] = {cJSON_GetArrayItem(range, 0), cJSON_GetArrayItem(range, 1)};
    const double low = cJSON_IsNumber(ends[0]) ? ends[0]->valuedouble : 0.0;
    const double high = cJSON_IsNumber(ends[1]) ? ends[1]->valuedouble : 255.0;
    const int64_t axes[] = {1, 2};
    if (m->status != VTA_OK || vtac_made_type(m, x).rank != 4) {
        vtac_make_fail(m, VTA_INVALID, "the input has %u axes", vtac_made_type(m, x).rank);
        return vtac_keras_as_plain(0);
    }
    const vtac_id min = vtac_make_reduce(m, VTAC_OP_REDUCE_MIN, x, axes, 2, true);
    const vtac_id max = vtac_make_reduce(m, VTAC_OP_REDUCE_MAX, x, axes, 2, true);
    const vtac_id flat = vtac_make2(m, VTAC_OP_EQUAL, min, max);
    const vtac_id apart =
        vtac_make3(m, VTAC_OP_WHERE, flat, vtac_keras_number(k, 1.0), vtac_make2(m, VTAC_OP_SUB, max, min));
    vtac_id y = vtac_make2(m, VTAC_OP_DIV, vtac_make2(m, VTAC_OP_SUB, x, min), apart);
    y = vtac_make2(m, VTAC_OP_MUL, y, vtac_keras_number(k, high - low));
    y = vtac_make2(m, VTAC_OP_ADD, y, vtac_keras_number(k, low));
    return vtac_keras_as_plain(vtac_make3(m, VTAC_OP_WHERE, flat, x, y));
}
