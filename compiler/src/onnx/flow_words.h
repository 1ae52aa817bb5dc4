/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators over open sizes that become nodes of ONNX, written as text:
 *
 *     s = Shape x; n = Gather s #1; y = Reshape x [0,-1,4] allowzero=0
 *
 * Statements are parted by semicolons, words by blanks. An operand is the name of an earlier value, `_`
 * (absent),
 * `[1,2]` (integers of one axis), `#1` (an integer) or `~0.5` (a number of the words' type); a word with `=`
 * is an attribute: an integer, a number with a point, or integers in brackets.
 */
#ifndef VTAC_ONNX_FLOW_WORDS_H
#define VTAC_ONNX_FLOW_WORDS_H

#include "../compose/template.h"
#include "flow_make.h"

enum { VTAC_WORDS_NAMES = 64 };

typedef struct vtac_words {
    vtac_flow_maker make;
    vtac_flow_work *w;
    const vtac_flow_node *item;
    vtac_dtype dtype; /* of numbers */
    vta_vec nodes;    /* of Onnx__NodeProto * */
    struct {
        char word[16];
        char *name;
    } names[VTAC_WORDS_NAMES];
    uint32_t name_count;
    size_t missing; /* the first input that is needed and not there, from 1; 0: none */
} vtac_words;

/* Makes nodes of a text, of which `format` is printf's. */
__attribute__((format(printf, 2, 3))) void vtac_say(vtac_words *w, const char *format, ...);

/* The last node is of another domain. */
void vtac_words_domain(vtac_words *w, const char *domain);

/* A word for a value, in the place of what it was: one that is there; an input that the operator needs. */
void vtac_words_set(vtac_words *w, const char *word, char *name);
void vtac_words_input(vtac_words *w, const char *word, size_t input);
bool vtac_words_has(const vtac_words *w, size_t input);
char *vtac_words_name(const vtac_words *w, const char *word); /* NULL: none */

/* Attributes of the operator. */
int64_t vtac_words_int(const vtac_words *w, const char *name, int64_t otherwise);

/* True if an attribute is this text. */
bool vtac_words_is(const vtac_words *w, const char *name, const char *text);

/* Number of axes of an input, known or declared; -1: unknown. */
int vtac_words_rank(const vtac_words *w, size_t input);
vtac_dtype vtac_words_dtype(const vtac_words *w, size_t input);
int64_t vtac_words_onnx_type(vtac_dtype dtype); /* ONNX's number of a float's type */

/* Pieces of texts: a node with new names for its outputs, NULL without memory; its attribute; constants. */
Onnx__NodeProto *vtac_words_node(vtac_words *w, const char *domain, const char *type, size_t inputs,
                                 size_t outputs);
void vtac_words_attribute(vtac_words *w, Onnx__NodeProto *node, const vtac_attr *from);
char *vtac_words_number(vtac_words *w, vtac_dtype dtype, double value);
char *vtac_words_ints(vtac_words *w, const int64_t *values, size_t count);

/* flow_text.c: the nodes of a text; the names of its outputs. */
vta_status vtac_words_text(vtac_words *w, const vtac_template_row *row, char **names, vta_diag *diag);

/* flow_fused.c: operators that the importer composes, where a size is open. */
bool vtac_flow_is_fused(const vtac_flow_builder *b, const vtac_flow_node *item);
bool vtac_flow_takes_fused(const char *domain, const char *name);
vta_status vtac_flow_inline_fused(vtac_flow_work *w, const vtac_flow_node *given, vta_diag *diag);

/* flow_places.c, flow_rows.c */
typedef vta_status vtac_fused_fn(vtac_words *w, vta_diag *diag);
vtac_fused_fn vtac_fused_max_places, vtac_fused_by_rows;
bool vtac_flow_is_by_rows(const char *domain, const char *name);

#endif
