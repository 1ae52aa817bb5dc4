/* SPDX-License-Identifier: Apache-2.0
 *
 * Models whose course or sizes are known only at run time: what the compiler writes for them, and the runtime
 * (src/flow_walk.h) does. Such a model is a list of instructions over slots; a slot holds a tensor, a
 * sequence, or nothing.
 *
 * The artifact holds all this as one array of 64-bit numbers (vta_artifact.flow):
 *
 *   magic, rows of the table that the instructions need: a runtime with fewer is too old; slots
 *   constants   count; each: slot, type, rank, sizes …, bytes, contents padded to a multiple of 8
 *   segments    count; each: list of steps, list of inputs, list of outputs (numbers of the artifact's)
 *   blocks      count; each: list of parameter slots, list of output slots,
 *               count; each instruction: operation, name, list of input slots (0: absent), of output slots,
 *               of words
 *   inputs      count; each: slot, kind, type, rank or -1, sizes (-1: any; below: -2 - (least | most << 31))
 *               …, name
 *   outputs     the same
 *
 * Inputs and outputs that are no tensors of numbers are tensors of opaque words (DLPack's code 3, 64 bits),
 * one axis long, that hold a parcel:
 *
 *   a tensor    't', type, rank, sizes …, its bytes padded to a multiple of 8
 *   of texts    't', VTA_FLOW_TEXT, rank, sizes …, each: its length in bytes, its bytes padded to a
 *               multiple of 8
 *   a sequence  's', how many, a parcel for each
 *   nothing     'o'
 *
 * A list is its length and its items, a name its length in bytes and the bytes padded to a multiple of 8, a
 * type DLPack's code, the bits << 8, and the bytes of an element in memory << 16. Block 0 is the model.
 */
#ifndef VTA_FLOW_H
#define VTA_FLOW_H

#include <stdint.h>

#include "vta/flow.def"

typedef enum vta_flow_op {
#define X(id, ...) VTA_FLOW_##id,
    VTA_FLOW_TABLE(X)
#undef X
        VTA_FLOW_OPS
} vta_flow_op;

#define VTA_FLOW_MAGIC  INT64_C(0x32574f4c46415456) /* "VTAFLOW2" */
#define VTA_FLOW_ABSENT INT64_MIN

enum { VTA_FLOW_TENSOR = 't', VTA_FLOW_SEQUENCE = 's', VTA_FLOW_NOTHING = 'o', VTA_FLOW_RANK = 8 };
enum {
    VTA_FLOW_I64 = 0 | 64 << 8 | 8 << 16,
    VTA_FLOW_I32 = 0 | 32 << 8 | 4 << 16,
    VTA_FLOW_U8 = 1 | 8 << 8 | 1 << 16,
    VTA_FLOW_F32 = 2 | 32 << 8 | 4 << 16,
    VTA_FLOW_BOOL = 6 | 8 << 8 | 1 << 16,
    VTA_FLOW_TEXT = 3 | 64 << 8 | 8 << 16 /* an opaque word: the number of a text (src/flow_text.h) */
};

#endif
