/* SPDX-License-Identifier: Apache-2.0
 *
 * CoreML's models are of two kinds, a list of layers (neuralNetwork) and a program of operations. The state
 * of an import, texts, weights and values are the same for both.
 */
#ifndef VTAC_COREML_COREML_H
#define VTAC_COREML_COREML_H

#include "../import/blocks.h"
#include "../import/layered.h"
#include "../import/protobuf.h"
#include "../import/window.h"

enum { COREML_MAX_ENDS = 64, COREML_MAX_SIDE = 1 << 16, COREML_MAX_LAYERS = 1 << 16, COREML_CHANNELS = 1 };

/* A constant text of a program. */
typedef struct vtac_coreml_named {
    const char *name, *text;
} vtac_coreml_named;

typedef struct vtac_coreml {
    vtac_layered net;
    vtac_wire model;    /* all of it */
    vtac_wire layer;    /* the parameters of the layer; of a program, the operation */
    const char *folder; /* of the file, NULL: none */
    uint8_t *weights;   /* weight.bin; owned, NULL: it was not wanted yet */
    size_t weights_size;
    vtac_coreml_named *texts;
    uint32_t text_count, text_room;
    uint32_t in_count, out_count;
    vtac_id in[COREML_MAX_ENDS];
    const char *outputs[COREML_MAX_ENDS];
} vtac_coreml;

typedef void vtac_coreml_make_fn(vtac_coreml *c);
#define VTAC_COREML_LAYER(group, field, name, min, max, fn) vtac_coreml_make_fn vtac_coreml_make_##fn;
#include "layers.def"

/* import.c: a text of a message; "" where there is none. */
const char *vtac_coreml_text(vtac_coreml *c, vtac_wire message, uint64_t number);
const char *vtac_coreml_bytes_text(vtac_coreml *c, vtac_wire bytes);
/* The message of a number; empty where there is none. */
vtac_wire vtac_coreml_message(vtac_wire message, uint64_t number);

/* network.c, program.c */
vta_status vtac_coreml_network(vtac_coreml *c, vtac_wire network, bool classifier);
vta_status vtac_coreml_program(vtac_coreml *c, vtac_wire program);

/* weights.c: numbers of a WeightParams, whatever they are stored as; 0 and a failure where there are others
 * than `dims` say. */
vtac_id vtac_coreml_weights(vtac_coreml *c, vtac_wire params, const int64_t *dims, uint32_t rank);
/* Unsigned numbers of so many bits, the highest bit first, from a string of bits. */
uint32_t vtac_coreml_bits(const uint8_t *bytes, int64_t i, uint32_t bits);

vtac_type vtac_coreml_type(const vtac_coreml *c, uint32_t i);
void vtac_coreml_set(vtac_coreml *c, uint32_t i, vtac_id id);

#endif
