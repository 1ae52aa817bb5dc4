/* SPDX-License-Identifier: Apache-2.0
 *
 * The statements of a bound nest as text, for languages whose blocks stand in braces. A language says how it
 * writes expressions, loops and stores; what is in its own structure begins with a vtac_walker.
 */
#ifndef VTAC_GPU_WALK_H
#define VTAC_GPU_WALK_H

#include "gpu.h"
#include "vectors.h"

typedef struct vtac_walker vtac_walker;
typedef void vtac_walk_fn(vtac_walker *w, const vtac_stmt *s);

typedef struct vtac_walk_language {
    const char *barrier;
    void (*put_expr)(vtac_walker *w, const vtac_expr *e);
    /* Loops: over lanes; with the number of a group or item as their variable; all others. */
    vtac_walk_fn *put_vectors, *put_shared_out, *put_loop;
    vtac_walk_fn *put_let, *put_store;
} vtac_walk_language;

struct vtac_walker {
    vtac_lanes at;
    vta_str *out;
    int indent;
    const vtac_walk_language *language;
};

void vtac_walk_text(const vtac_walker *w, const char *text);
/* Begins a line. */
void vtac_walk_line(const vtac_walker *w);
void vtac_walk_open(vtac_walker *w);
void vtac_walk_close(vtac_walker *w);
void vtac_walk_block(vtac_walker *w, const vtac_stmt *s);
/* A block in braces, behind what begins it. */
void vtac_walk_braced(vtac_walker *w, const vtac_stmt *body);
/* The body of a loop with its variable a number. */
void vtac_walk_round(vtac_walker *w, const vtac_stmt *s, int64_t number);
/* The body of a loop for `lanes` of its lanes at once, from a number on. */
void vtac_walk_lanes(vtac_walker *w, const vtac_stmt *s, int64_t first, unsigned lanes);

#endif
