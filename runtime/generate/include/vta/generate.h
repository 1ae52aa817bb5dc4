/* SPDX-License-Identifier: Apache-2.0
 *
 * Text from a compiled language model: a tokenizer, a loop over the model, a sampler.
 *
 *     vta_model_load("model.so", NULL, &model, &diag);
 *     vta_tokenizer_load("tokenizer.json", &tokenizer, &diag);
 *     vta_generator_create(model, tokenizer, &generator, &diag);
 *     vta_generate_text(generator, "Once upon", 9, &options, print_token, NULL, &diag);
 *
 * Nothing here prints, and nothing is global: a generator is used by one thread at a time, a tokenizer by any
 * number of them.
 */
#ifndef VTA_GENERATE_H
#define VTA_GENERATE_H

#include <stddef.h>
#include <stdint.h>

#include "vta/model.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- texts and tokens */

typedef struct vta_tokenizer vta_tokenizer;

/* Reads a tokenizer.json: byte-level BPE (GPT-2, LLaMA 3), BPE with marks for spaces (LLaMA 2), unigram
 * (SentencePiece). A part of it that this library does not have is refused with its name. */
vta_status vta_tokenizer_load(const char *path, vta_tokenizer **out, vta_diag *diag);
/* The same of `size` bytes of JSON. */
vta_status vta_tokenizer_parse(const char *json, size_t size, vta_tokenizer **out, vta_diag *diag);
void vta_tokenizer_destroy(vta_tokenizer *tokenizer);

/* One more than the largest number of a token. */
uint32_t vta_tokenizer_size(const vta_tokenizer *tokenizer);
/* A token as the file spells it, borrowed; NULL: there is none of this number. */
const char *vta_tokenizer_token(const vta_tokenizer *tokenizer, uint32_t id);
/* Returns 1 and the number of the token that is spelled so, 0 where there is none. */
int vta_tokenizer_find(const vta_tokenizer *tokenizer, const char *token, uint32_t *id);
/* Returns 1 for a token that stands for no text (the end of a text, a role of a chat). */
int vta_tokenizer_is_special(const vta_tokenizer *tokenizer, uint32_t id);
/* Returns 1 for a token by which models say that a text ends, as those are usually spelled. */
int vta_tokenizer_is_end(const vta_tokenizer *tokenizer, uint32_t id);

/* The tokens of a text, *ids from malloc. `begin`: with what the file puts around each text (the token of a
 * begin). The text is UTF-8; a byte that is none is refused with its place. */
vta_status vta_tokenizer_encode(const vta_tokenizer *tokenizer, const char *text, size_t size, int begin,
                                uint32_t **ids, size_t *count, vta_diag *diag);

/* The text of tokens, terminated, *text from malloc. Special tokens have none; bytes that are no UTF-8 become
 * U+FFFD. */
vta_status vta_tokenizer_decode(const vta_tokenizer *tokenizer, const uint32_t *ids, size_t count,
                                char **text, size_t *size, vta_diag *diag);

/* The same, token by token: each call gives the whole characters that are known by then, borrowed until the
 * next call. */
typedef struct vta_text_stream vta_text_stream;
vta_status vta_text_stream_create(const vta_tokenizer *tokenizer, vta_text_stream **out, vta_diag *diag);
vta_status vta_text_stream_add(vta_text_stream *stream, uint32_t id, const char **text, size_t *size,
                               vta_diag *diag);
/* The end: what is left of a character becomes U+FFFD. The stream begins anew. */
vta_status vta_text_stream_end(vta_text_stream *stream, const char **text, size_t *size, vta_diag *diag);
void vta_text_stream_destroy(vta_text_stream *stream);

/* ---- choosing a token */

typedef struct vta_sampler {
    double temperature; /* 0: always the largest, the first of equals */
    uint32_t top_k;     /* among so many of the largest; 0: among all */
    double top_p;       /* among the largest that have this share together; 0 or 1: among all */
    uint64_t state;     /* of the random numbers; the seed at first */
    void *scratch;      /* of the sampler */
    size_t room;
} vta_sampler;

/* {.temperature = 0.8, .state = seed} is ready. Checks the numbers, and frees what a sampler has. */
vta_status vta_sampler_check(const vta_sampler *sampler, vta_diag *diag);
void vta_sampler_free(vta_sampler *sampler);

/* The same logits, numbers and seed give the same token on every machine. */
vta_status vta_sample(vta_sampler *sampler, const float *logits, uint32_t count, uint32_t *id,
                      vta_diag *diag);

/* ---- the loop */

typedef struct vta_generator vta_generator;

/* Set `size` to sizeof the structure. */
typedef struct vta_generate_options {
    size_t size;
    uint64_t max_tokens; /* new ones; 0: until the end of a text or of the context */
    double temperature;  /* as in vta_sampler */
    uint32_t top_k;
    double top_p;
    uint64_t seed;
    const uint32_t *ends; /* tokens that end a text, besides those that the tokenizer calls so */
    size_t end_count;
    int ignore_end; /* goes on behind such a token */
} vta_generate_options;

/* A new token, and the text that is complete with it (size 0: none yet, or no tokenizer; not terminated).
 * Any result but 0 ends the generation, without a failure. The last call has the rest of the text alone, if
 * there is one, and the token VTA_NO_TOKEN. */
typedef int vta_generate_token(void *context, uint32_t id, const char *text, size_t size);
#define VTA_NO_TOKEN UINT32_MAX

typedef enum vta_generate_end {
    VTA_END_COUNT,   /* as many as were asked for */
    VTA_END_TEXT,    /* the model ended its text */
    VTA_END_CONTEXT, /* the model takes no more tokens */
    VTA_END_CALLER   /* the callback wanted no more */
} vta_generate_end;

/* The last generation. */
typedef struct vta_generate_report {
    uint64_t prompt_tokens, new_tokens;
    double prompt_seconds, new_seconds; /* up to the first new token; for those behind it */
    vta_generate_end end;
} vta_generate_report;

/* Finds out what the inputs and outputs of a model are for: ids, a mask, positions, caches; logits. The model
 * and the tokenizer (NULL: there are only ids) stay the caller's and must outlive the generator, whose model
 * runs for nobody else meanwhile. */
vta_status vta_generator_create(vta_model *model, const vta_tokenizer *tokenizer, vta_generator **out,
                                vta_diag *diag);
void vta_generator_destroy(vta_generator *generator);

/* Generates behind the tokens of a prompt, from an empty cache on. */
vta_status vta_generate(vta_generator *generator, const uint32_t *prompt, size_t count,
                        const vta_generate_options *options, vta_generate_token *token, void *context,
                        vta_diag *diag);
/* The same behind a text. */
vta_status vta_generate_text(vta_generator *generator, const char *prompt, size_t size,
                             const vta_generate_options *options, vta_generate_token *token, void *context,
                             vta_diag *diag);

/* The same for a caller who asks for one token after the other: begins a generation. */
vta_status vta_generate_begin(vta_generator *generator, const uint32_t *prompt, size_t count,
                              const vta_generate_options *options, vta_diag *diag);
/* The next token and the text that is complete with it, borrowed until the next call. At the end *id is
 * VTA_NO_TOKEN, and the text is the rest, if there is one. */
vta_status vta_generate_next(vta_generator *generator, uint32_t *id, const char **text, size_t *size,
                             vta_diag *diag);

/* Keeps the last generation in a file: its tokens, and the caches or states that hold them. */
vta_status vta_generator_keep(const vta_generator *generator, const char *path, vta_diag *diag);
/* The next generation goes on behind the one that was kept, whose tokens it need not compute again; its
 * prompt stands behind them. A file of another model, or of the same on another target, is refused; the next
 * generation then begins from empty caches. */
vta_status vta_generator_resume(vta_generator *generator, const char *path, vta_diag *diag);

/* Gets what a model makes of a text that is given: `logits` are those behind the token at `place`, borrowed
 * until the callback returns. Any result but 0 ends the walk, without a failure. */
typedef int vta_generate_place(void *context, size_t place, const float *logits, uint32_t vocabulary);

/* Walks over tokens from an empty cache on, one a run, as a generation does that chooses these. */
vta_status vta_generate_logits(vta_generator *generator, const uint32_t *ids, size_t count,
                               vta_generate_place *place, void *context, vta_diag *diag);

/* Makes the generation that another thread is in end soon with VTA_INTERRUPTED. Safe from every thread and
 * from a signal handler. The generator can be used again. */
void vta_generator_cancel(vta_generator *generator);

vta_generate_report vta_generator_report(const vta_generator *generator);
/* The number of tokens among which the model chooses; how many it takes at most, 0: as many as there is
 * memory for. */
uint32_t vta_generator_vocabulary(const vta_generator *generator);
uint64_t vta_generator_context(const vta_generator *generator);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
