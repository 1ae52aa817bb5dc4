/* SPDX-License-Identifier: Apache-2.0
 *
 * The generator's own parts: roles.c finds out what a model's inputs and outputs are for, step.c feeds it
 * tokens, generate.c is the loop.
 */
#ifndef VTA_GENERATE_PARTS_H
#define VTA_GENERATE_PARTS_H

#include <signal.h>
#include <stdbool.h>

#include "vta/generate.h"
#include "vta/vec.h"

typedef enum vta_input_role {
    VTA_ROLE_IDS,      /* the tokens */
    VTA_ROLE_MASK,     /* 1 for a token that counts, cached ones included */
    VTA_ROLE_POSITION, /* of each token, or of the first where there is room for one number */
    VTA_ROLE_ZERO,     /* kinds of segments, which decoders have no use for */
    VTA_ROLE_STATE
} vta_input_role;

typedef enum vta_cache_kind {
    VTA_CACHE_NONE,    /* each run takes all tokens */
    VTA_CACHE_GROWS,   /* the states have a place more for each token */
    VTA_CACHE_BOUNDED, /* the states have so many places, written at a position */
    VTA_CACHE_CARRIED  /* states of one size: those of a recurrent network */
} vta_cache_kind;

struct vta_generator {
    vta_model *model;
    const vta_tokenizer *tokenizer; /* or NULL */
    vta_text_stream *stream;        /* with a tokenizer */
    vta_input_role *roles;          /* of each input */
    uint32_t ids, logits;           /* an input, an output */
    const vta_state *states;
    uint32_t state_count;
    void **state_memory; /* of the states that are bound on both sides */
    vta_cache_kind cache;
    bool open;        /* runs take any number of tokens; otherwise `width` */
    uint64_t width;   /* of a run */
    uint64_t context; /* tokens that the model takes at most; 0: any number */
    uint32_t vocabulary;
    vta_vec history; /* uint32_t: all tokens, the prompt's first */
    uint64_t past;   /* those that the states hold */
    vta_sampler sampler;
    vta_generate_options options; /* of the generation; its `ends` are `ends` */
    vta_vec ends;                 /* uint32_t */
    bool resumed;                 /* the next generation goes on behind the history, which the states hold */
    bool begun, done;             /* a generation is going on; its last token was given */
    vta_generate_report report;
    volatile sig_atomic_t cancelled;
};

/* Fills in what the model tells: roles, ids, logits, states, cache, open, width, context, vocabulary. */
vta_status vta_generate_find_roles(vta_generator *g, vta_diag *diag);

/* Gives an input a size where it has another one. */
vta_status vta_generate_shape(vta_generator *g, uint32_t input, uint32_t axis, uint64_t extent,
                              vta_diag *diag);

/* Empty caches, as before the first token. */
vta_status vta_generate_empty(vta_generator *g, vta_diag *diag);

/* Runs the model on the tokens of the history that it has not seen; *logits are those behind the last. */
vta_status vta_generate_step(vta_generator *g, const float **logits, vta_diag *diag);

#endif
