/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions: C's operators and priorities over 64-bit signed integers; whatever does not fit is an error.
 */
#include "asm_internal.h"

#include <string.h>

typedef struct operator
{
    char text[3];
    uint8_t priority; /* higher binds tighter */
}
operator;

static const operator operators[] = {{"||", 1}, {"&&", 2}, {"|", 3},  {"^", 4},  {"&", 5},  {"==", 6},
                                     {"!=", 6}, {"<", 7},  {"<=", 7}, {">", 7},  {">=", 7}, {"<<", 8},
                                     {">>", 8}, {"+", 9},  {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10}};
enum { PRIORITY_SUM = 9 };

static uint64_t mark_of(const operator* op)
{
    return VTA_MARK2(op->text[0], op->text[1]);
}

static const operator* operator_here(const vta_asm *a)
{
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
        if (vta_at_mark(a, mark_of(&operators[i]))) {
            return &operators[i];
        }
    }
    return NULL;
}

vta_status vta_asm_enter(vta_asm *a)
{
    if (a->depth >= VTA_ASM_NESTING) {
        return vta_asm_fail(a, &a->lex.token, "nested too deeply; limit: %d levels", VTA_ASM_NESTING);
    }
    a->depth++;
    return VTA_OK;
}

void vta_asm_leave(vta_asm *a)
{
    a->depth--;
}

static vta_status shift(vta_asm *a, const vta_token *at, bool left, int64_t x, int64_t y, int64_t *out)
{
    if (y < 0 || y > 63) {
        return vta_asm_fail(a, at, "shift by %lld; expected 0 to 63", (long long)y);
    }
    if (left) {
        *out = (int64_t)((uint64_t)x << y);
        return *out >> y == x ? VTA_OK : vta_asm_fail(a, at, "the shift does not fit in 64 bits");
    }
    *out = x >> y;
    return VTA_OK;
}

static vta_status divide(vta_asm *a, const vta_token *at, bool rest, int64_t x, int64_t y, int64_t *out)
{
    if (y == 0) {
        return vta_asm_fail(a, at, "division by zero");
    }
    if (x == INT64_MIN && y == -1) {
        return vta_asm_fail(a, at, "the quotient does not fit in 64 bits");
    }
    *out = rest ? x % y : x / y;
    return VTA_OK;
}

static vta_status apply(vta_asm *a, const vta_token *at, int64_t x, int64_t y, int64_t *out)
{
    bool overflow = false;
    switch (at->value) {
    case '+': overflow = __builtin_add_overflow(x, y, out); break;
    case '-': overflow = __builtin_sub_overflow(x, y, out); break;
    case '*': overflow = __builtin_mul_overflow(x, y, out); break;
    case '/': return divide(a, at, false, x, y, out);
    case '%': return divide(a, at, true, x, y, out);
    case '&': *out = x & y; break;
    case '|': *out = x | y; break;
    case '^': *out = x ^ y; break;
    case '<': *out = x < y; break;
    case '>': *out = x > y; break;
    case VTA_MARK2('<', '<'): return shift(a, at, true, x, y, out);
    case VTA_MARK2('>', '>'): return shift(a, at, false, x, y, out);
    case VTA_MARK2('<', '='): *out = x <= y; break;
    case VTA_MARK2('>', '='): *out = x >= y; break;
    case VTA_MARK2('=', '='): *out = x == y; break;
    case VTA_MARK2('!', '='): *out = x != y; break;
    case VTA_MARK2('&', '&'): *out = x != 0 && y != 0; break;
    default: *out = x != 0 || y != 0; break;
    }
    return overflow ? vta_asm_fail(a, at, "the result does not fit in 64 bits") : VTA_OK;
}

static vta_status number(vta_asm *a, int64_t *value)
{
    char shown[VTA_SHOWN];
    const vta_token token = a->lex.token;
    if (token.value > INT64_MAX) {
        return vta_asm_fail(a, &token, "number %s is too large; limit: %lld", vta_asm_show(a, &token, shown),
                            (long long)INT64_MAX);
    }
    *value = (int64_t)token.value;
    return vta_lex_next(a);
}

/* size(NAME): its elements. */
static vta_status size_of(vta_asm *a, int64_t *value)
{
    const vta_name *name = vta_names_symbol(a);
    if (name == NULL) {
        return vta_asm_expected(a, "the name of data or of a kernel");
    }
    const vta_symbol *symbol = &a->program->symbols[name->value];
    *value = (int64_t)(symbol->size / a->config.elem_bytes[symbol->memory]);
    return vta_lex_next(a);
}

/* depth(MEMORY): the entries of a scratchpad. */
static vta_status depth_of(vta_asm *a, int64_t *value)
{
    vta_memory memory = VTA_MEM_UOP;
    if (vta_asm_memory(&a->lex.token, a, &memory) != VTA_OK) {
        return vta_asm_expected(a, "a memory: uop, wgt, inp, acc or out");
    }
    *value = a->config.depth[memory];
    return vta_lex_next(a);
}

static vta_status minimum_or_maximum(vta_asm *a, bool maximum, int64_t *value)
{
    int64_t other = 0;
    VTA_TRY(vta_expr(a, value));
    VTA_TRY(vta_need_mark(a, ',', "','"));
    VTA_TRY(vta_expr(a, &other));
    *value = (other > *value) == maximum ? other : *value;
    return VTA_OK;
}

static vta_status call(vta_asm *a, int64_t *value)
{
    const bool is_size = vta_at_word(a, "size");
    const bool is_depth = vta_at_word(a, "depth");
    const bool is_max = vta_at_word(a, "max");
    if (!is_size && !is_depth && !is_max && !vta_at_word(a, "min")) {
        return vta_asm_expected(a, "a number or an expression");
    }
    VTA_TRY(vta_lex_next(a));
    VTA_TRY(vta_need_mark(a, '(', "'('"));
    VTA_TRY(vta_asm_enter(a));
    VTA_TRY(is_size    ? size_of(a, value)
            : is_depth ? depth_of(a, value)
                       : minimum_or_maximum(a, is_max, value));
    vta_asm_leave(a);
    return vta_need_mark(a, ')', "')'");
}

static vta_status name_value(vta_asm *a, int64_t *value)
{
    const vta_token token = a->lex.token;
    const vta_name *name = vta_names_find(a, &token);
    char shown[VTA_SHOWN];
    if (name == NULL) {
        return vta_names_undefined(a, &token);
    }
    switch (name->kind) {
    case VTA_NAME_RESERVED: return call(a, value);
    case VTA_NAME_VALUE: *value = name->value; return vta_lex_next(a);
    case VTA_NAME_DATA:
    case VTA_NAME_KERNEL:
    case VTA_NAME_NONE: break;
    }
    return vta_asm_fail(a, &token,
                        "%s names memory and has no value; write size(...) for its number of elements",
                        vta_asm_show(a, &token, shown));
}

static vta_status climb(vta_asm *a, int64_t *value, uint8_t lowest);

static vta_status operand(vta_asm *a, int64_t *value)
{
    const vta_token token = a->lex.token;
    if (token.kind == VTA_TOKEN_NUMBER) {
        return number(a, value);
    }
    if (token.kind == VTA_TOKEN_NAME) {
        return name_value(a, value);
    }
    const bool sign = token.kind == VTA_TOKEN_MARK &&
                      (token.value == '-' || token.value == '+' || token.value == '~' || token.value == '!');
    if (!sign && !vta_at_mark(a, '(')) {
        return vta_asm_expected(a, "a number or an expression");
    }
    VTA_TRY(vta_asm_enter(a));
    VTA_TRY(vta_lex_next(a));
    if (!sign) {
        VTA_TRY(vta_expr(a, value));
        VTA_TRY(vta_need_mark(a, ')', "')'"));
    } else {
        VTA_TRY(operand(a, value));
        if (token.value == '-' && *value == INT64_MIN) {
            return vta_asm_fail(a, &token, "the result does not fit in 64 bits");
        }
        *value = token.value == '-'   ? -*value
                 : token.value == '~' ? ~*value
                 : token.value == '!' ? !*value
                                      : *value;
    }
    vta_asm_leave(a);
    return VTA_OK;
}

/* The operators of priority `lowest` and above that follow; *value holds the left operand. */
static vta_status climb(vta_asm *a, int64_t *value, uint8_t lowest)
{
    const operator* op = operator_here(a);
    while (op != NULL && op->priority >= lowest) {
        const vta_token at = a->lex.token;
        const uint8_t priority = op->priority;
        int64_t right = 0;
        VTA_TRY(vta_lex_next(a));
        VTA_TRY(operand(a, &right));
        VTA_TRY(climb(a, &right, (uint8_t)(priority + 1)));
        VTA_TRY(apply(a, &at, *value, right, value));
        op = operator_here(a);
    }
    return VTA_OK;
}

vta_status vta_expr(vta_asm *a, int64_t *value)
{
    VTA_TRY(operand(a, value));
    return climb(a, value, 1);
}

vta_status vta_expr_sum_rest(vta_asm *a, int64_t *value)
{
    return climb(a, value, PRIORITY_SUM);
}

vta_status vta_expr_within(vta_asm *a, const char *subject, int64_t low, int64_t high, int64_t *value)
{
    const vta_token at = a->lex.token;
    VTA_TRY(vta_expr(a, value));
    if (*value < low || *value > high) {
        return vta_asm_fail(a, &at, "%s %lld is out of range; expected %lld to %lld", subject,
                            (long long)*value, (long long)low, (long long)high);
    }
    return VTA_OK;
}
