/* SPDX-License-Identifier: Apache-2.0
 *
 * A tokenizer in memory: tokenizer_read.c makes it from JSON; encode.c takes a text apart, by bpe.c or
 * unigram.c; decode.c puts one together.
 */
#ifndef VTA_GENERATE_TOKENIZER_H
#define VTA_GENERATE_TOKENIZER_H

#include <stdbool.h>

#include "pattern.h"
#include "unicode.h"
#include "vta/arena.h"
#include "vta/generate.h"
#include "vta/vec.h"

/* Bytes of a text, borrowed. */
typedef struct vta_slice {
    const char *at;
    size_t size;
} vta_slice;

/* A token of the vocabulary; `at` NULL: there is none of this number. */
typedef struct vta_vocable {
    const char *at;
    uint32_t size;
    double score;                               /* of a unigram */
    bool added, special;                        /* `added`: found in a text as it stands */
    bool takes_left, takes_right, whole, early; /* spaces beside it; a word of its own; before normalizing */
} vta_vocable;

/* ---- what is done with a text before the model sees it */

typedef enum vta_text_step_kind {
    VTA_STEP_PREPEND, /* `text` in front */
    VTA_STEP_REPLACE, /* `pattern`, or the text `from`, by `text` */
    VTA_STEP_FORM,    /* a normal form of Unicode */
    VTA_STEP_STRIP,   /* spaces at the ends go: `left`, `right` */
    VTA_STEP_SPACE,   /* a space in front, unless there is one */
    VTA_STEP_BYTES,   /* each byte becomes a character */
    VTA_STEP_MARKS,   /* spaces become `text`, with another in front as `prepend` says */
    VTA_STEP_SPLIT    /* into pieces, by `pattern` or the text `from` */
} vta_text_step_kind;

typedef enum vta_split_behaviour {
    VTA_SPLIT_REMOVED,   /* matches go */
    VTA_SPLIT_ISOLATED,  /* each match is a piece */
    VTA_SPLIT_PREVIOUS,  /* belongs to what is before it */
    VTA_SPLIT_NEXT,      /* belongs to what is behind it */
    VTA_SPLIT_CONTIGUOUS /* matches beside each other are one piece */
} vta_split_behaviour;

typedef enum vta_prepend { VTA_PREPEND_ALWAYS, VTA_PREPEND_FIRST, VTA_PREPEND_NEVER } vta_prepend;

typedef struct vta_text_step {
    vta_text_step_kind kind;
    vta_slice text, from;
    const vta_pattern *pattern; /* NULL: `from` */
    vta_unicode_form form;
    vta_split_behaviour behaviour;
    vta_prepend prepend;
    bool left, right, inverse; /* inverse: what stands between the matches is what is meant */
} vta_text_step;

/* ---- what becomes of a token's text */

typedef enum vta_decode_kind {
    VTA_DECODE_BYTES,    /* each character is a byte */
    VTA_DECODE_MARKS,    /* `from` is a space, at the text's begin nothing where `first` says so */
    VTA_DECODE_FALLBACK, /* "<0x41>" is a byte */
    VTA_DECODE_REPLACE,  /* `from` becomes `text` */
    VTA_DECODE_STRIP,    /* up to `count` of `from` go at the token's begin; of the text's, where `whole` */
    VTA_DECODE_JOIN      /* a space between tokens */
} vta_decode_kind;

typedef struct vta_decode_step {
    vta_decode_kind kind;
    vta_slice from, text;
    uint32_t count;
    bool first, whole;
} vta_decode_step;

/* ---- the whole */

typedef enum vta_tokenizer_model { VTA_MODEL_BPE, VTA_MODEL_UNIGRAM } vta_tokenizer_model;

/* Two tokens that become one. */
typedef struct vta_merge {
    uint32_t left, right, whole, rank;
} vta_merge;

#define VTA_NO_SLOT UINT32_MAX

struct vta_tokenizer {
    vta_arena arena;
    vta_vec tokens;     /* vta_vocable, by number */
    uint32_t *by_text;  /* open addressing: numbers of tokens, VTA_NO_SLOT where empty */
    uint32_t text_mask; /* its size - 1 */
    vta_merge *merges;  /* open addressing, by left and right; `whole` VTA_NO_SLOT where empty */
    uint32_t merge_mask;
    vta_tokenizer_model model;
    bool byte_fallback, fuse_unknown, ignore_merges;
    uint32_t unknown;               /* VTA_NO_TOKEN: there is none */
    uint32_t bytes[256];            /* tokens "<0x00>" …; VTA_NO_TOKEN */
    uint32_t longest;               /* bytes of a token */
    double unknown_score;           /* of a unigram */
    vta_vec added;                  /* uint32_t: numbers of added tokens, in the order of their bytes */
    vta_vec normalizers, splitters; /* vta_text_step */
    vta_vec decoders;               /* vta_decode_step */
    vta_vec begin;                  /* uint32_t: tokens in front of each text */
};

/* The token of a text; VTA_NO_TOKEN: there is none. With its hash (vta_hash_bytes), and without. */
uint32_t vta_token_of_hash(const vta_tokenizer *t, uint64_t hash, const char *text, size_t size);
uint32_t vta_token_of(const vta_tokenizer *t, const char *text, size_t size);
const vta_vocable *vta_token_at(const vta_tokenizer *t, uint32_t id);
/* NULL: the two do not merge. */
const vta_merge *vta_merge_of(const vta_tokenizer *t, uint32_t left, uint32_t right);

/* The character that stands for a byte in byte-level BPE, and back; -1: it stands for none. */
uint32_t vta_byte_point(uint8_t byte);
int vta_point_byte(uint32_t point);

/* Adds the tokens of a piece of a text. */
vta_status vta_encode_bpe(const vta_tokenizer *t, vta_slice piece, vta_vec *ids, vta_diag *diag);
vta_status vta_encode_unigram(const vta_tokenizer *t, vta_slice piece, vta_vec *ids, vta_diag *diag);
/* Adds the tokens of the bytes of a character that the vocabulary does not have, or the unknown one. */
vta_status vta_encode_unknown(const vta_tokenizer *t, vta_slice character, bool *fused, vta_vec *ids,
                              vta_diag *diag);

#endif
