/* SPDX-License-Identifier: Apache-2.0
 *
 * What the layers of Darknet take: options, weights, normalizations, activations, the axes of what comes in.
 */
#include <math.h>
#include <string.h>

#include "../compose/graph.h"
#include "darknet.h"

/* ---- options */

int64_t vtac_darknet_option(vtac_darknet *d, const char *name, int64_t otherwise, int64_t min, int64_t max)
{
    int64_t value = otherwise;
    if (d->maker.status == VTA_OK) {
        d->maker.status = vtac_cfg_int(d->section, name, otherwise, min, max, &value, d->maker.diag);
    }
    return d->maker.status == VTA_OK ? value : min; /* something that can be reckoned with */
}

/* ---- weights */

float *vtac_darknet_take(vtac_darknet *d, int64_t count)
{
    if (d->maker.status != VTA_OK) {
        return NULL;
    }
    if (count < 0 || (uint64_t)count > (d->size - d->at) / sizeof(float)) {
        vtac_make_fail(&d->maker, VTA_INVALID,
                       "it wants %lld weights more, the file of weights has %zu behind byte %zu",
                       (long long)count, (d->size - d->at) / sizeof(float), d->at);
        return NULL;
    }
    float *room = vtac_make_room(&d->maker, count, sizeof *room);
    if (room != NULL && count > 0) {
        memcpy(room, d->weights + d->at, (size_t)count * sizeof *room);
        d->at += (size_t)count * sizeof *room;
    }
    return room;
}

vtac_darknet_norm vtac_darknet_take_norm(vtac_darknet *d, int64_t outputs)
{
    vtac_darknet_norm n = {.scale = vtac_darknet_take(d, outputs)};
    n.mean = vtac_darknet_take(d, outputs);
    n.variance = vtac_darknet_take(d, outputs);
    return n;
}

/* weights[outputs][each] and bias[outputs] take the normalization in. */
void vtac_darknet_apply_norm(const vtac_darknet_norm *n, float *weights, float *bias, int64_t outputs,
                             int64_t each)
{
    for (int64_t i = 0; i < outputs; i++) {
        const double factor = (double)n->scale[i] / sqrt((double)n->variance[i] + 1e-6);
        bias[i] = (float)((double)bias[i] - (double)n->mean[i] * factor);
        for (int64_t k = 0; k < each; k++) {
            weights[i * each + k] = (float)((double)weights[i * each + k] * factor);
        }
    }
}

/* ---- activations */

vtac_id vtac_darknet_number(vtac_import_builder *m, double value)
{
    return vtac_make_number(m, VTAC_F32, value);
}

/* Positive numbers, or powers of e, in proportion to their sum over the channels. */
static vtac_id share_of_channels(vtac_import_builder *m, vtac_id x, bool powers, bool from_max)
{
    const int64_t channels[] = {1};
    if (from_max) {
        x = vtac_make2(m, VTAC_OP_SUB, x, vtac_make_reduce(m, VTAC_OP_REDUCE_MAX, x, channels, 1, true));
    }
    x = vtac_make1(m, powers ? VTAC_OP_EXP : VTAC_OP_RELU, x);
    const vtac_id sum = vtac_make_reduce(m, VTAC_OP_REDUCE_SUM, x, channels, 1, true);
    return vtac_make2(m, VTAC_OP_DIV, x, vtac_make2(m, VTAC_OP_ADD, sum, vtac_darknet_number(m, 1e-4)));
}

vtac_id vtac_darknet_activate(vtac_darknet *d, vtac_id x, const char *otherwise)
{
    vtac_import_builder *m = &d->maker;
    const char *given = vtac_cfg_text(d->section, "activation");
    const char *name = given == NULL ? otherwise : given;
    bool found;
    const vtac_id y = vtac_compose_named(m, "darknet", name, x, &found);
    if (found) {
        return y;
    }
    if (strncmp(name, "normalize_channels", 18) == 0) {
        const bool powers = strstr(name, "softmax") != NULL;
        return share_of_channels(m, x, powers, powers && strstr(name, "maxval") != NULL);
    }
    vtac_make_fail(m, VTA_UNSUPPORTED, "the activation '%.40s' is not supported", name);
    return 0;
}

/* ---- what comes in */

vtac_type vtac_darknet_type(vtac_darknet *d, vtac_id x, uint32_t rank)
{
    static const vtac_type ones = {.dtype = VTAC_F32, .rank = VTAC_MAX_RANK, .dim = {1, 1, 1, 1, 1, 1, 1, 1}};
    const vtac_type type = vtac_made_type(&d->maker, x);
    if (d->maker.status == VTA_OK && type.rank != rank) {
        vtac_make_fail(&d->maker, VTA_INVALID, "the layer before has %u axes, it needs %u", type.rank, rank);
    }
    return d->maker.status == VTA_OK ? type : ones;
}

vtac_id vtac_darknet_flattened(vtac_darknet *d, vtac_id x)
{
    const vtac_type type = vtac_made_type(&d->maker, x);
    const int64_t batch = type.rank > 0 ? type.dim[0] : 1;
    const int64_t count = vtac_type_elements(&type);
    return vtac_make_reshape(&d->maker, x, (int64_t[]){batch, batch > 0 ? count / batch : 0}, 2);
}
