/* SPDX-License-Identifier: Apache-2.0
 *
 * Darknet's layers that normalize: by moving means, over neighbouring channels, to length 1, to probabilities
 * in a tree of classes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "darknet.h"
#include "vta/inside.h"
#include "vta/lines.h"

/* Offsets, factors, means, variances; of channels, or of the elements of a vector. */
vtac_id vtac_darknet_batchnorm(vtac_darknet *d, vtac_id x)
{
    vtac_import_builder *m = &d->maker;
    const vtac_type given = vtac_made_type(m, x);
    const int64_t channels = vtac_darknet_type(d, x, given.rank).dim[1];
    float *offset = vtac_darknet_take(d, channels);
    float *factor = vtac_make_room(m, channels, sizeof *factor);
    const vtac_darknet_norm norm = vtac_darknet_take_norm(d, channels);
    if (m->status != VTA_OK) {
        return 0;
    }
    for (int64_t i = 0; i < channels; i++) {
        factor[i] = 1.0F;
    }
    vtac_darknet_apply_norm(&norm, factor, offset, channels, 1);
    const vtac_type type =
        given.rank == 4 ? (vtac_type){VTAC_F32, 3, {channels, 1, 1}} : (vtac_type){VTAC_F32, 1, {channels}};
    x = vtac_make2(m, VTAC_OP_MUL, x, vtac_make_borrowed(m, &type, factor));
    return vtac_make2(m, VTAC_OP_ADD, x, vtac_make_borrowed(m, &type, offset));
}

/* x by a power of the squares around it. The layer keeps a running sum that begins one channel too late: the
 * squares in each channel's sum are counted here as it counts them. */
vtac_id vtac_darknet_lrn(vtac_darknet *d, vtac_id x)
{
    vtac_import_builder *m = &d->maker;
    const int64_t channels = vtac_darknet_type(d, x, 4).dim[1];
    const int64_t size = vtac_darknet_option(d, "size", 5, 1, 1 << 12);
    const double alpha = vtac_cfg_float(d->section, "alpha", 0.0001);
    const double beta = vtac_cfg_float(d->section, "beta", 0.75);
    const double kappa = vtac_cfg_float(d->section, "kappa", 1.0);
    if (m->status != VTA_OK || channels > 1 << 12 || size / 2 > channels) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "a window of %lld of %lld channels", (long long)size,
                       (long long)channels);
        return 0;
    }
    float *weights = vtac_make_room(m, channels * channels, sizeof *weights);
    for (int64_t c = 0; weights != NULL && c < channels; c++) {
        float *row = weights + c * channels;
        const int64_t before = c - (size - 1) / 2 - 1;
        const int64_t after = c + size / 2;
        if (c > 0) {
            memcpy(row, row - channels, (size_t)channels * sizeof *row);
        }
        for (int64_t k = 0; c == 0 && k < size / 2; k++) {
            row[k] = (float)alpha;
        }
        if (c > 0 && before >= 0) {
            row[before] -= (float)alpha;
        }
        if (c > 0 && after < channels) {
            row[after] += (float)alpha;
        }
    }
    const vtac_type type = {VTAC_F32, 4, {channels, channels, 1, 1}};
    const vtac_id in[] = {vtac_make2(m, VTAC_OP_MUL, x, x),
                          weights == NULL ? 0 : vtac_make_borrowed(m, &type, weights)};
    const vtac_id sums =
        vtac_make2(m, VTAC_OP_ADD, vtac_make(m, VTAC_OP_CONV, in, 2, NULL, 0), vtac_darknet_number(m, kappa));
    return vtac_make2(m, VTAC_OP_MUL, x, vtac_make2(m, VTAC_OP_POW, sums, vtac_darknet_number(m, -beta)));
}

/* Scales the channels at each place to length 1. */
vtac_id vtac_darknet_l2norm(vtac_darknet *d, vtac_id x)
{
    vtac_import_builder *m = &d->maker;
    const int64_t channels[] = {1};
    const vtac_id squares = vtac_make2(m, VTAC_OP_MUL, x, x);
    const vtac_id sum = vtac_make_reduce(m, VTAC_OP_REDUCE_SUM, squares, channels, 1, true);
    return vtac_make2(m, VTAC_OP_DIV, x, vtac_make1(m, VTAC_OP_SQRT, sum));
}

vtac_id vtac_darknet_logistic(vtac_darknet *d, vtac_id x)
{
    return vtac_make1(&d->maker, VTAC_OP_SIGMOID, x);
}

/* ---- trees of classes */

/* A line for each class, its name and the number of its parent. Neighbours with the same parent are a group;
 * ends[i]: the class behind group i. How many groups; -1: it is no such file. */
static int64_t groups_of(const vta_lines *tree, int64_t *ends, int64_t classes)
{
    int64_t count = 0;
    int64_t last = -1;
    if ((int64_t)tree->count != classes) {
        return -1;
    }
    for (int64_t number = 0; number < classes; number++) {
        const char *line = tree->line[number];
        const char *space = line + strcspn(line, " \t");
        char *end;
        const long long parent = strtoll(space, &end, 10);
        if (end == space || parent < -1 || parent >= number) {
            return -1;
        }
        if (parent != last && number > 0) {
            ends[count++] = number;
        }
        last = parent;
    }
    ends[count++] = classes;
    return count;
}

/* The file as the cfg names it, from the cfg's folder; or of that name beside the cfg. */
static bool read_tree(const vtac_darknet *d, const char *path, vta_lines *tree)
{
    enum { MAX_BYTES = 1 << 24 };
    const char *last = strrchr(path, '/');
    const char *const names[] = {path, last == NULL ? path : last + 1};
    for (int i = 0; i < 2 && d->folder != NULL; i++) {
        uint8_t *bytes;
        size_t size;
        if (vta_inside_whole(d->folder, names[i], "its tree of classes", MAX_BYTES, &bytes, &size, NULL) ==
            VTA_OK) {
            return vta_lines_take(names[i], (char *)bytes, size, tree, NULL) == VTA_OK;
        }
    }
    return false;
}

vtac_id vtac_darknet_tree(vtac_darknet *d, vtac_id x, const char *path)
{
    vtac_import_builder *m = &d->maker;
    const int64_t classes = vtac_darknet_type(d, x, 2).dim[1];
    vta_lines tree = {.line = NULL};
    const bool found = m->status == VTA_OK && read_tree(d, path, &tree);
    int64_t *ends = vtac_make_room(m, classes + 1, sizeof *ends);
    const int64_t count = !found || ends == NULL ? -1 : groups_of(&tree, ends, classes);
    vta_lines_free(&tree);
    if (count < 1) {
        vtac_make_fail(m, VTA_INVALID,
                       "its tree of classes '%.80s' is not beside the cfg, or not of %lld classes", path,
                       (long long)classes);
        return 0;
    }
    vtac_id *parts = vtac_make_room(m, count, sizeof *parts);
    const vtac_attr axis = vtac_attr_of_int("axis", 1);
    for (int64_t i = 0; parts != NULL && i < count; i++) {
        parts[i] = vtac_make_slice(m, x, 1, i == 0 ? 0 : ends[i - 1], ends[i]);
        parts[i] = vtac_make(m, VTAC_OP_SOFTMAX, &parts[i], 1, &axis, 1);
    }
    return parts == NULL ? 0 : vtac_make_concat(m, parts, (uint32_t)count, 1);
}
