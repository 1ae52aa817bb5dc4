/* SPDX-License-Identifier: Apache-2.0
 *
 * Masks: which steps of a sequence count. Recurrent layers skip the others; most layers hand the mask on.
 */
#include <string.h>

#include "keras.h"

static bool is_one_of(const char *class, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (strcmp(class, *names) == 0) {
            return true;
        }
    }
    return false;
}

vtac_id vtac_keras_mask_after(vtac_keras *k, const char *class, const vtac_keras_value *in, uint32_t in_count)
{
    static const char *const keep[] = {"Dropout",
                                       "SpatialDropout1D",
                                       "GaussianNoise",
                                       "GaussianDropout",
                                       "AlphaDropout",
                                       "ActivityRegularization",
                                       "Identity",
                                       "Dense",
                                       "Activation",
                                       "ReLU",
                                       "LeakyReLU",
                                       "ELU",
                                       "PReLU",
                                       "ThresholdedReLU",
                                       "BatchNormalization",
                                       "LayerNormalization",
                                       "UnitNormalization",
                                       "TimeDistributed",
                                       "Add",
                                       "Subtract",
                                       "Multiply",
                                       "Average",
                                       "Maximum",
                                       "Minimum",
                                       "Concatenate",
                                       NULL};
    static const char *const recurrent[] = {"LSTM", "GRU", "SimpleRNN", "RNN", "Bidirectional", NULL};
    static const char *const ask[] = {"Softmax", "Attention", "AdditiveAttention", "MultiHeadAttention",
                                      NULL};
    vtac_id mask = 0;
    for (uint32_t i = 0; i < in_count; i++) {
        mask = in[i].mask == 0 ? mask
               : mask == 0     ? in[i].mask
                               : vtac_make2(&k->maker, VTAC_OP_AND, mask, in[i].mask);
    }
    if (mask == 0) {
        return 0;
    }
    if (is_one_of(class, ask)) {
        vtac_make_refuse(&k->maker, "a mask, from an earlier layer");
        return 0;
    }
    if (strcmp(class, "Concatenate") == 0 &&
        vtac_keras_axis(k, vtac_keras_rank(k, &in[0])) + 1 != vtac_keras_rank(k, &in[0])) {
        vtac_make_refuse(&k->maker, "masks along an axis that is not the last");
        return 0;
    }
    if (is_one_of(class, recurrent)) {
        const cJSON *config = cJSON_GetObjectItemCaseSensitive(vtac_keras_option(k, "layer"), "config");
        const cJSON *own = cJSON_GetObjectItemCaseSensitive(config, "return_sequences");
        return cJSON_IsTrue(own) || vtac_keras_bool(k, "return_sequences", false) ? in[0].mask : 0;
    }
    return is_one_of(class, keep) ? mask : 0;
}

static vtac_id whole_number(vtac_keras *k, int64_t v)
{
    return vtac_make_number(&k->maker, VTAC_I64, (double)v);
}

/* Rows x [batch][steps][size] at the places [batch][steps] of the same batch. */
static vtac_id rows_at(vtac_keras *k, vtac_id x, vtac_id places)
{
    vtac_import_builder *m = &k->maker;
    const vtac_type type = vtac_made_type(m, x);
    const vtac_attr axis = vtac_attr_of_int("axis", 1);
    vtac_id at = vtac_make_reshape(m, places, (int64_t[]){type.dim[0], type.dim[1], 1}, 3);
    at = vtac_make2(m, VTAC_OP_EXPAND, at, vtac_make_ints(m, type.dim, 3));
    return vtac_make(m, VTAC_OP_GATHER_ELEMENTS, (vtac_id[]){x, at}, 2, &axis, 1);
}

vtac_id vtac_keras_steps_that_count(vtac_keras *k, vtac_id x, vtac_id mask, vtac_id *lengths)
{
    vtac_import_builder *m = &k->maker;
    const vtac_type type = vtac_made_type(m, x);
    const vtac_type shape = vtac_made_type(m, mask);
    const int64_t steps = type.rank == 3 ? type.dim[1] : 0;
    int64_t *falling = vtac_make_room(m, steps, sizeof *falling);
    if (m->status != VTA_OK || falling == NULL || shape.rank != 2 || shape.dim[0] != type.dim[0] ||
        shape.dim[1] != steps) {
        vtac_make_fail(m, VTA_INVALID, "a mask that does not fit [batch][steps][size]");
        *lengths = 0;
        return 0;
    }
    for (int64_t i = 0; i < steps; i++) {
        falling[i] = steps - i;
    }
    const vtac_id late = vtac_make_borrowed(m, &(vtac_type){VTAC_I64, 1, {steps}}, falling);
    const vtac_id first =
        vtac_make2(m, VTAC_OP_MUL, vtac_make_cast(m, mask, VTAC_I64), whole_number(k, steps));
    const vtac_id in[] = {vtac_make2(m, VTAC_OP_ADD, first, late), vtac_make_ints(m, &steps, 1)};
    const vtac_attr axis = vtac_attr_of_int("axis", 1);
    vtac_id sorted[2] = {0};
    vtac_make_many(m, VTAC_OP_TOP_K, in, 2, &axis, 1, sorted, 2);
    const int64_t last = 1;
    *lengths = vtac_make_reduce(m, VTAC_OP_REDUCE_SUM, vtac_make_cast(m, mask, VTAC_I32), &last, 1, false);
    return rows_at(k, x, sorted[1]);
}

vtac_id vtac_keras_states_of_all(vtac_keras *k, vtac_id states, vtac_id mask, bool backwards)
{
    vtac_import_builder *m = &k->maker;
    const vtac_type type = vtac_made_type(m, mask);
    const vtac_attr exclusive = vtac_attr_of_int("exclusive", backwards);
    const vtac_id counts = vtac_make_cast(m, mask, VTAC_I64);
    const int64_t one[] = {1};
    const vtac_id in[] = {counts, vtac_make_ints(m, one, 1)};
    vtac_id place = vtac_make(m, VTAC_OP_CUM_SUM, in, 2, &exclusive, 1);
    vtac_id there;
    if (backwards) { /* the next that counts, if there is one */
        there =
            vtac_make2(m, VTAC_OP_LESS, place, vtac_make_reduce(m, VTAC_OP_REDUCE_SUM, counts, one, 1, true));
    } else {
        there = vtac_make2(m, VTAC_OP_GREATER, place, whole_number(k, 0));
        place = vtac_make2(m, VTAC_OP_SUB, place, whole_number(k, 1));
    }
    place = vtac_make2(m, VTAC_OP_MAX, place, whole_number(k, 0));
    place = vtac_make2(m, VTAC_OP_MIN, place, whole_number(k, type.dim[1] - 1));
    const vtac_id y = rows_at(k, states, place);
    there = vtac_make_reshape(m, there, (int64_t[]){type.dim[0], type.dim[1], 1}, 3);
    return vtac_make3(m, VTAC_OP_WHERE, there, y, vtac_keras_number(k, 0.0));
}

/* Steps that hold nothing but a number become 0 and do not count. */
vtac_keras_value vtac_keras_make_masking(vtac_keras *k, const void *how)
{
    (void)how;
    vtac_import_builder *m = &k->maker;
    const vtac_id x = vtac_keras_plain(k, &k->in[0]);
    const vtac_type type = vtac_made_type(m, x);
    const vtac_id marks =
        vtac_make2(m, VTAC_OP_EQUAL, x, vtac_keras_number(k, vtac_keras_float(k, "mask_value", 0.0)));
    const int64_t last[] = {(int64_t)type.rank - 1};
    const vtac_id differs = vtac_make_cast(m, vtac_make1(m, VTAC_OP_NOT, marks), VTAC_I32);
    if (m->status != VTA_OK || type.rank != 3 || type.dtype != VTAC_F32) {
        vtac_make_refuse(&k->maker, "a mask of rank %u; [batch][steps][size] is taken", type.rank);
        return vtac_keras_as_plain(0);
    }
    const vtac_id any = vtac_make_reduce(m, VTAC_OP_REDUCE_MAX, differs, last, 1, true);
    vtac_keras_value y = vtac_keras_as_plain(vtac_make2(m, VTAC_OP_MUL, x, vtac_make_cast(m, any, VTAC_F32)));
    y.mask = vtac_make_reshape(m, vtac_make_cast(m, any, VTAC_BOOL), type.dim, 2);
    return y;
}
