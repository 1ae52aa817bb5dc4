/* SPDX-License-Identifier: Apache-2.0
 *
 * Layers of a training that a run has not: those that read data become inputs, and
 * losses fall away or give the probabilities that they measure.
 */
#include <string.h>

#include "caffe.h"

/* The sizes that a layer of data tells: those of MemoryData and DummyData. */
static vtac_type sizes_of_data(vtac_caffe *c, uint32_t number)
{
    static const char *const sides[] = {"batch_size", "channels", "height", "width"};
    const vtac_prototxt_field *memory = vtac_prototxt_message(c->layer, "memory_data_param");
    const vtac_prototxt_field *dummy = vtac_prototxt_message(c->layer, "dummy_data_param");
    const vtac_prototxt_field *shape = vtac_prototxt_next(dummy, NULL, "shape");
    vtac_type type = {.dtype = VTAC_F32};
    for (uint32_t a = 0; memory != NULL && a < 4; a++) {
        type.dim[type.rank++] = vtac_caffe_int(c, "memory_data_param", sides[a], 0, 0, 1 << 24);
    }
    for (uint32_t i = 0; shape != NULL && i < number; i++) { /* one may be that of all tops */
        const vtac_prototxt_field *next = vtac_prototxt_next(dummy, shape, "shape");
        shape = next == NULL ? shape : next;
    }
    if (shape != NULL) {
        type.rank = vtac_caffe_ints(c, shape, "dim", type.dim, VTAC_MAX_RANK);
    }
    return type;
}

/* Targets, which losses alone take, are no inputs. */
void vtac_caffe_make_data(vtac_caffe *c)
{
    for (uint32_t i = 0; i < c->out_count; i++) {
        if (vtac_caffe_is_taken(c, c->tops[i])) {
            const vtac_type type = sizes_of_data(c, i);
            (void)vtac_layered_input(&c->net, c->tops[i], &type);
        }
    }
}

/* Never called: its bottoms stay what they are, outputs where nobody else takes them. */
void vtac_caffe_make_nothing(vtac_caffe *c)
{
    (void)c;
}

/* The second top, where there is one, is the probabilities. */
static void set_chances(vtac_caffe *c, vtac_id y)
{
    vtac_caffe_set(c, c->out_count > 1 ? 1 : 0, y);
}

void vtac_caffe_make_softmax_loss(vtac_caffe *c)
{
    const int64_t axis = vtac_caffe_int(c, "softmax_param", "axis", 1, -8, 8);
    set_chances(c, vtac_make_softmax(&c->net.maker, c->in[0], axis));
}

void vtac_caffe_make_sigmoid_loss(vtac_caffe *c)
{
    set_chances(c, vtac_make1(&c->net.maker, VTAC_OP_SIGMOID, c->in[0]));
}
