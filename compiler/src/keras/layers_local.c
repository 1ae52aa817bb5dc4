/* SPDX-License-Identifier: Apache-2.0
 *
 * LocallyConnected1D and 2D of Keras 2: windows with weights of their own at each place.
 */
#include <string.h>

#include "keras.h"

typedef struct local {
    uint32_t axes;
    int64_t kernel[2], strides[2], out[2]; /* rows, columns */
    int64_t batch, size[2], channels, filters;
} local;

static bool sizes_of(vtac_keras *k, local *l)
{
    const vtac_type type = vtac_made_type(&k->maker, vtac_keras_plain(k, &k->in[0]));
    const uint32_t skipped = 2 - l->axes;
    l->kernel[0] = l->strides[0] = l->size[0] = 1;
    vtac_keras_ints(k, "kernel_size", 1, &l->kernel[skipped], l->axes);
    vtac_keras_ints(k, "strides", 1, &l->strides[skipped], l->axes);
    l->filters = vtac_keras_int(k, "filters", 1);
    if (strcmp(vtac_keras_text(k, "data_format", "channels_last"), "channels_last") != 0 ||
        strcmp(vtac_keras_text(k, "padding", "valid"), "valid") != 0 ||
        vtac_keras_int(k, "implementation", 1) != 1) {
        vtac_make_refuse(&k->maker, "channels first, borders, or weights of another implementation than 1");
    }
    if (k->maker.status != VTA_OK || type.rank != l->axes + 2) {
        vtac_make_fail(&k->maker, VTA_INVALID, "an input of rank %u, expected %u", type.rank, l->axes + 2);
        return false;
    }
    l->batch = type.dim[0];
    l->channels = type.dim[l->axes + 1];
    for (uint32_t a = skipped; a < 2; a++) {
        l->size[a] = type.dim[a - skipped + 1];
    }
    for (uint32_t a = 0; a < 2; a++) {
        enum { MAX_TAPS = 32 };
        if (l->kernel[a] < 1 || l->kernel[a] > MAX_TAPS || l->kernel[a] > l->size[a] || l->strides[a] < 1) {
            vtac_make_fail(&k->maker, VTA_INVALID, "windows of %lld over %lld places, at most %d are taken",
                           (long long)l->kernel[a], (long long)l->size[a], MAX_TAPS);
            return false;
        }
        l->out[a] = (l->size[a] - l->kernel[a]) / l->strides[a] + 1;
    }
    return true;
}

/* x [batch][rows][columns][channels] cut into windows: [batch][places][window * channels]. */
static vtac_id windows_of(vtac_keras *k, const local *l, vtac_id x)
{
    vtac_import_builder *m = &k->maker;
    const int64_t count = l->kernel[0] * l->kernel[1];
    vtac_id *taps = vtac_make_room(m, count, sizeof *taps);
    for (int64_t i = 0; taps != NULL && i < count; i++) {
        const int64_t begin[] = {i / l->kernel[1], i % l->kernel[1]};
        const int64_t end[] = {begin[0] + (l->out[0] - 1) * l->strides[0] + 1,
                               begin[1] + (l->out[1] - 1) * l->strides[1] + 1};
        const vtac_id in[] = {x, vtac_make_ints(m, begin, 2), vtac_make_ints(m, end, 2),
                              vtac_make_ints(m, (int64_t[]){1, 2}, 2), vtac_make_ints(m, l->strides, 2)};
        taps[i] = vtac_make_reshape(m, vtac_make(m, VTAC_OP_SLICE, in, 5, NULL, 0),
                                    (int64_t[]){l->batch, l->out[0] * l->out[1], l->channels}, 3);
    }
    return taps == NULL ? 0 : vtac_make_concat(m, taps, (uint32_t)count, 2);
}

/* Weights [places][window * channels][filters] and a bias at each place. */
vtac_keras_value vtac_keras_make_local(vtac_keras *k, const void *how)
{
    vtac_import_builder *m = &k->maker;
    local l = {.axes = strcmp(how, "1") == 0 ? 1 : 2};
    const vtac_tensor *kernel = vtac_keras_weight(k, 0, 3);
    if (m->status != VTA_OK || !sizes_of(k, &l)) {
        return vtac_keras_as_plain(0);
    }
    const int64_t places = l.out[0] * l.out[1];
    if (kernel->type.dim[0] != places || kernel->type.dim[2] != l.filters ||
        kernel->type.dim[1] != l.kernel[0] * l.kernel[1] * l.channels) {
        vtac_make_fail(m, VTA_INVALID, "its weights do not fit %lld places and %lld filters",
                       (long long)places, (long long)l.filters);
        return vtac_keras_as_plain(0);
    }
    vtac_id x = vtac_make_reshape(m, vtac_keras_plain(k, &k->in[0]),
                                  (int64_t[]){l.batch, l.size[0], l.size[1], l.channels}, 4);
    x = vtac_make_transpose(m, windows_of(k, &l, x), (int64_t[]){1, 0, 2}, 3);
    x = vtac_make2(m, VTAC_OP_MATMUL, x, vtac_keras_constant(k, kernel));
    x = vtac_make_transpose(m, x, (int64_t[]){1, 0, 2}, 3);
    const int64_t flat[] = {l.batch, places, l.filters};
    const int64_t planes[] = {l.batch, l.out[0], l.out[1], l.filters};
    x = vtac_make_reshape(m, x, l.axes == 1 ? flat : planes, l.axes + 2);
    if (vtac_keras_bool(k, "use_bias", true)) {
        x = vtac_make2(m, VTAC_OP_ADD, x, vtac_keras_constant(k, vtac_keras_weight(k, 1, l.axes + 1)));
    }
    return vtac_keras_as_plain(vtac_keras_activated(k, x, (int64_t)l.axes + 1));
}
