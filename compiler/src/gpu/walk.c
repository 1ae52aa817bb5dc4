/* SPDX-License-Identifier: Apache-2.0
 *
 * The walk over a nest's statements.
 */
#include "walk.h"

void vtac_walk_text(const vtac_walker *w, const char *text)
{
    vta_str_put(w->out, text);
}

void vtac_walk_line(const vtac_walker *w)
{
    vta_str_printf(w->out, "%*s", 4 * w->indent, "");
}

void vtac_walk_open(vtac_walker *w)
{
    vtac_walk_text(w, "{\n");
    w->indent++;
}

void vtac_walk_close(vtac_walker *w)
{
    w->indent--;
    vtac_walk_line(w);
    vtac_walk_text(w, "}\n");
}

void vtac_walk_braced(vtac_walker *w, const vtac_stmt *body)
{
    vtac_walk_open(w);
    vtac_walk_block(w, body);
    vtac_walk_close(w);
}

void vtac_walk_round(vtac_walker *w, const vtac_stmt *s, int64_t number)
{
    w->at.vars[s->var] = (vtac_lane_var){VTAC_LANE_NUMBER, number, 0};
    vtac_walk_line(w);
    vtac_walk_braced(w, s->body);
}

void vtac_walk_lanes(vtac_walker *w, const vtac_stmt *s, int64_t first, unsigned lanes)
{
    w->at.lanes = lanes;
    w->at.vars[s->var] = (vtac_lane_var){VTAC_LANE_LANE, first, 0};
    vtac_walk_line(w);
    vtac_walk_braced(w, s->body);
    w->at.vars[s->var] = (vtac_lane_var){VTAC_LANE_NUMBER, first, 0};
    w->at.lanes = 1;
}

static void put_for(vtac_walker *w, const vtac_stmt *s)
{
    w->at.vars[s->var] = (vtac_lane_var){VTAC_LANE_SCALAR, 0, 0};
    if (s->loop == VTAC_LOOP_VECTOR) {
        w->language->put_vectors(w, s);
    } else if (s->loop == VTAC_LOOP_UNROLL) {
        for (int64_t i = 0; i < s->extent; i++) {
            vtac_walk_round(w, s, i);
        }
    } else if (s->loop == VTAC_LOOP_GROUP || s->loop == VTAC_LOOP_ITEM) {
        w->language->put_shared_out(w, s);
    } else {
        w->language->put_loop(w, s);
    }
}

static void put_if(vtac_walker *w, const vtac_stmt *s)
{
    if (s->value->op == VTAC_E_TILES) {
        return; /* never */
    }
    vtac_walk_line(w);
    vtac_walk_text(w, "if (");
    w->language->put_expr(w, s->value);
    vtac_walk_text(w, ") ");
    vtac_walk_braced(w, s->body);
}

void vtac_walk_block(vtac_walker *w, const vtac_stmt *s)
{
    for (; s != NULL; s = s->next) {
        switch (s->kind) {
        case VTAC_S_FOR: put_for(w, s); break;
        case VTAC_S_IF: put_if(w, s); break;
        case VTAC_S_LET: w->language->put_let(w, s); break;
        case VTAC_S_STORE: w->language->put_store(w, s); break;
        case VTAC_S_AHEAD: break; /* caches are the device's own business */
        case VTAC_S_BARRIER:
            vtac_walk_line(w);
            vtac_walk_text(w, w->language->barrier);
            break;
        }
    }
}
