/* SPDX-License-Identifier: Apache-2.0
 *
 * Loop nests as text, for --emit loops and for tests.
 */
#include <inttypes.h>

#include "vtac/loop.h"

static const struct {
    const char *name;
    int operands;
} ops[] = {
#define X(id, name, operands) [VTAC_E_##id] = {name, operands},
    VTAC_EXPR_OPS(X)
#undef X
};

int vtac_expr_operands(vtac_expr_op op)
{
    return ops[op].operands;
}

static bool is_infix(vtac_expr_op op)
{
    return ops[op].operands == 2 && !(ops[op].name[0] >= 'a' && ops[op].name[0] <= 'z');
}

static void print_expr(const vtac_expr *e, vta_str *out);

/* Prints a constant, a variable or a load; false: the expression is none of these. */
static bool print_leaf(const vtac_expr *e, vta_str *out)
{
    if (e->op == VTAC_E_INT) {
        vta_str_printf(out, "%" PRId64, e->i);
    } else if (e->op == VTAC_E_FLOAT) {
        vta_str_printf(out, "%.17g", e->f);
    } else if (e->op == VTAC_E_VAR) {
        vta_str_printf(out, "v%u", e->var);
    } else if (e->op == VTAC_E_LOAD) {
        vta_str_printf(out, "%s[", e->buffer->name);
        print_expr(e->in[0], out);
        vta_str_put(out, "]");
    } else if (e->op == VTAC_E_QUAD) {
        vta_str_printf(out, "quad(%s, ", e->buffer->name);
        print_expr(e->in[0], out);
        vta_str_printf(out, ", %" PRId64 ")", e->i);
    } else {
        return false;
    }
    return true;
}

static void print_expr(const vtac_expr *e, vta_str *out)
{
    if (print_leaf(e, out)) {
        return;
    }
    if (is_infix(e->op)) {
        vta_str_put(out, "(");
        print_expr(e->in[0], out);
        vta_str_printf(out, " %s ", ops[e->op].name);
        print_expr(e->in[1], out);
        vta_str_put(out, ")");
        return;
    }
    const bool typed = e->op == VTAC_E_CAST || e->op == VTAC_E_BITS;
    vta_str_printf(out, "%s%s%s(", ops[e->op].name, typed ? "." : "", typed ? vtac_dtype_name(e->type) : "");
    for (int i = 0; i < ops[e->op].operands; i++) {
        vta_str_put(out, i > 0 ? ", " : "");
        print_expr(e->in[i], out);
    }
    vta_str_put(out, ")");
}

static void print_block(const vtac_stmt *s, int indent, vta_str *out)
{
    static const char *const kinds[] = {
        [VTAC_LOOP_SERIAL] = "",        [VTAC_LOOP_PARALLEL] = "parallel ", [VTAC_LOOP_VECTOR] = "vector ",
        [VTAC_LOOP_UNROLL] = "unroll ", [VTAC_LOOP_ROLLED] = "rolled ",     [VTAC_LOOP_GROUP] = "group ",
        [VTAC_LOOP_ITEM] = "item "};
    for (; s != NULL; s = s->next) {
        vta_str_printf(out, "%*s", indent, "");
        switch (s->kind) {
        case VTAC_S_FOR:
            vta_str_printf(out, "%sfor v%u < %" PRId64 " { # %s\n", kinds[s->loop], s->var, s->extent,
                           s->name);
            print_block(s->body, indent + 2, out);
            vta_str_printf(out, "%*s}\n", indent, "");
            break;
        case VTAC_S_IF:
            vta_str_put(out, "if ");
            print_expr(s->value, out);
            vta_str_put(out, " {\n");
            print_block(s->body, indent + 2, out);
            vta_str_printf(out, "%*s}\n", indent, "");
            break;
        case VTAC_S_LET:
            vta_str_printf(out, "v%u = ", s->var);
            print_expr(s->value, out);
            vta_str_printf(out, " # %s\n", s->name);
            break;
        case VTAC_S_STORE:
            vta_str_printf(out, "%s[", s->buffer->name);
            print_expr(s->index, out);
            vta_str_put(out, "] = ");
            print_expr(s->value, out);
            vta_str_put(out, "\n");
            break;
        case VTAC_S_AHEAD:
            vta_str_printf(out, "%s %s[", s->later ? "later" : "ahead", s->buffer->name);
            print_expr(s->index, out);
            vta_str_put(out, "]\n");
            break;
        case VTAC_S_BARRIER: vta_str_put(out, "barrier\n"); break;
        }
    }
}

void vtac_kernel_print(const vtac_kernel *k, vta_str *out)
{
    static const char *const spaces[] = {"argument", "local", "scratch", "shared"};
    vta_str_put(out, "kernel \"");
    for (const char *p = k->name; *p != '\0'; p++) {
        vta_str_append(out, *p == '\n' ? " " : p, 1);
    }
    vta_str_put(out, "\" {\n");
    for (size_t i = 0; i < k->buffer_count; i++) {
        const vtac_buffer *b = k->buffers[i];
        vta_str_printf(out, "  %s %s: %s[%" PRId64 "]\n", spaces[b->space], b->name,
                       vtac_dtype_name(b->dtype), b->elements);
    }
    print_block(k->body, 2, out);
    vta_str_put(out, "}\n");
}
