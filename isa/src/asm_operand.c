/* SPDX-License-Identifier: Apache-2.0
 *
 * Operands of instructions: fields, groups, loop nests, micro-ops, DRAM addresses and extents.
 */
#include <inttypes.h>

#include "asm_operand.h"

vta_status vta_draft_set(draft *d, int row, int64_t value, const vta_token *at)
{
    const vta_field_info *field = &d->a->fields[row];
    if (value < vta_field_low(field) || value > vta_field_high(field)) {
        return vta_asm_fail(d->a, at, "%s %" PRId64 " is out of range; expected %" PRId64 " to %" PRId64,
                            field->member, value, vta_field_low(field), vta_field_high(field));
    }
    vta_field_set(field, &d->insn, value);
    return VTA_OK;
}

vta_status vta_draft_read(draft *d, int row)
{
    const vta_token at = d->a->lex.token;
    int64_t value = 0;
    VTA_TRY(vta_expr(d->a, &value));
    return vta_draft_set(d, row, value, &at);
}

/* ---- groups: (NAME VALUE, NAME VALUE) */

/* NAME VALUE, one of `members`. */
static vta_status group_member(draft *d, const member *members, size_t count, const char *wanted)
{
    bool took = false;
    for (size_t i = 0; i < count && !took; i++) {
        const vta_status status = members[i].row >= 0 ? vta_take_word(d->a, members[i].name, &took) : VTA_OK;
        if (took && status == VTA_OK) {
            return vta_draft_read(d, members[i].row);
        }
    }
    return vta_asm_expected(d->a, wanted);
}

static vta_status group(draft *d, const member *members, size_t count, const char *wanted)
{
    bool more = false;
    VTA_TRY(vta_take_mark(d->a, '(', &more));
    if (!more) {
        return VTA_OK;
    }
    while (more) {
        VTA_TRY(group_member(d, members, count, wanted));
        VTA_TRY(vta_take_mark(d->a, ',', &more));
    }
    return vta_need_mark(d->a, ')', "',' or ')'");
}

/* N [(steps)] */
static vta_status nest_level(draft *d, const nest_rows *rows, int level)
{
    const member steps[] = {{"dst", rows->dst[level]}, {"src", rows->src[level]}, {"wgt", rows->wgt[level]}};
    VTA_TRY(vta_draft_read(d, rows->iter[level]));
    return group(d, steps, 3, rows->wgt[level] >= 0 ? "'dst', 'src' or 'wgt'" : "'dst' or 'src'");
}

vta_status vta_draft_nest(draft *d, const nest_rows *rows)
{
    bool took = false;
    VTA_TRY(vta_take_mark(d->a, ':', &took));
    if (!took) {
        return VTA_OK;
    }
    VTA_TRY(nest_level(d, rows, 0));
    VTA_TRY(vta_take_word(d->a, "x", &took));
    return took ? nest_level(d, rows, 1) : VTA_OK;
}

/* ---- operands */

vta_status vta_draft_kernel(draft *d, const vta_name *kernel, const vta_token *at, int64_t *begin,
                            int64_t *end)
{
    vta_asm *a = d->a;
    char shown[VTA_SHOWN];
    const int64_t count = (int64_t)(a->program->symbols[kernel->value].size / VTA_UOP_BYTES);
    *begin = kernel->place;
    *end = kernel->place + count;
    if (*end > (int64_t)a->config.depth[VTA_MEM_UOP]) {
        return vta_asm_fail(a, at,
                            "kernel %s would take micro-ops %" PRId64 " to %" PRId64
                            " of a scratchpad of %u; give it a place with 'sram'",
                            vta_asm_show(a, at, shown), *begin, *end - 1, a->config.depth[VTA_MEM_UOP]);
    }
    return VTA_OK;
}

/* LOW[..HIGH] */
static vta_status range(vta_asm *a, int64_t *begin, int64_t *end)
{
    bool more = false;
    VTA_TRY(vta_expr(a, begin));
    *end = *begin == INT64_MAX ? *begin : *begin + 1;
    VTA_TRY(vta_take_mark(a, VTA_MARK2('.', '.'), &more));
    return more ? vta_expr(a, end) : VTA_OK;
}

/* The index after a kernel's name: [2] or [2..5]. Token flags, which also begin with a bracket, are left
 * alone. */
static vta_status kernel_index(draft *d, const vta_token *at, int64_t *begin, int64_t *end)
{
    vta_asm *a = d->a;
    const vta_lexer before = a->lex;
    bool took = false;
    int64_t first = 0;
    int64_t last = 0;
    VTA_TRY(vta_take_mark(a, '[', &took));
    if (!took || vta_at_word(a, "pop") || vta_at_word(a, "push")) {
        a->lex = before;
        return VTA_OK;
    }
    VTA_TRY(range(a, &first, &last));
    if (first < 0 || last > *end - *begin || first >= last) {
        return vta_asm_fail(a, at, "the kernel has micro-ops 0 to %" PRId64 ", not %" PRId64 "..%" PRId64,
                            *end - *begin - 1, first, last);
    }
    *end = *begin + last;
    *begin += first;
    return vta_need_mark(a, ']', "']'");
}

vta_status vta_draft_micro_ops(draft *d, const nest_rows *rows)
{
    vta_asm *a = d->a;
    const vta_token at = a->lex.token;
    const vta_name *name = vta_names_symbol(a);
    int64_t begin = 0;
    int64_t end = 0;
    if (name != NULL && name->kind == VTA_NAME_KERNEL) {
        VTA_TRY(vta_draft_kernel(d, name, &at, &begin, &end));
        VTA_TRY(vta_lex_next(a));
        VTA_TRY(kernel_index(d, &at, &begin, &end));
    } else {
        VTA_TRY(range(a, &begin, &end));
    }
    VTA_TRY(vta_draft_set(d, rows->begin, begin, &at));
    if (rows->end >= 0) {
        return vta_draft_set(d, rows->end, end, &at);
    }
    if (end != begin + 1) {
        return vta_asm_fail(a, &at, "%" PRId64 " micro-ops; requant takes one, as in k[0]", end - begin);
    }
    return VTA_OK;
}

/* NAME [+ elements]: *whole is the rest of the symbol. */
static vta_status symbol_address(draft *d, const vta_symbol *symbol, int64_t *whole)
{
    vta_asm *a = d->a;
    const vta_token at = a->lex.token;
    const uint64_t bytes = a->config.elem_bytes[d->insn.mem.memory];
    int64_t element = 0;
    if (symbol->offset % bytes != 0) {
        return vta_asm_fail(a, &at,
                            "'%s' lies at byte %" PRIu64 ", which is not a multiple of the %" PRIu64
                            " bytes of an element",
                            symbol->name, symbol->offset, bytes);
    }
    const int64_t size = (int64_t)(symbol->size / bytes);
    const int64_t offset = (int64_t)(symbol->offset / bytes);
    VTA_TRY(vta_draft_set(d, ROW(MEM, segment), symbol->segment, &at));
    VTA_TRY(vta_lex_next(a));
    VTA_TRY(vta_expr_sum_rest(a, &element));
    if (element < -offset || element > UINT32_MAX) {
        return vta_asm_fail(a, &at, "element %" PRId64 " of '%s' is out of range", element, symbol->name);
    }
    *whole = size - element;
    return vta_draft_set(d, ROW(MEM, dram_base), offset + element, &at);
}

vta_status vta_draft_dram(draft *d, int64_t *whole)
{
    vta_asm *a = d->a;
    const vta_token at = a->lex.token;
    const vta_name *name = vta_names_symbol(a);
    int64_t element = 0;
    bool segment = false;
    *whole = -1;
    if (name != NULL) {
        return symbol_address(d, &a->program->symbols[name->value], whole);
    }
    VTA_TRY(vta_take_mark(a, '@', &segment));
    if (!segment) {
        return vta_draft_read(d, ROW(MEM, dram_base));
    }
    const vta_token number = a->lex.token;
    if (number.kind != VTA_TOKEN_NUMBER || number.value >= VTA_SEGMENTS) {
        return vta_asm_expected(a, "a segment, 0 to 7");
    }
    VTA_TRY(vta_lex_next(a));
    VTA_TRY(vta_draft_set(d, ROW(MEM, segment), (int64_t)number.value, &number));
    VTA_TRY(vta_expr_sum_rest(a, &element));
    return vta_draft_set(d, ROW(MEM, dram_base), element, &at);
}

vta_status vta_draft_extent(draft *d, int64_t whole, const vta_token *at)
{
    vta_asm *a = d->a;
    bool took = false;
    VTA_TRY(vta_take_mark(a, ',', &took));
    VTA_TRY(vta_draft_set(d, ROW(MEM, y_size), 1, at));
    if (!took) {
        if (whole < 0) {
            return vta_asm_expected(a, "',' and a number of elements");
        }
        VTA_TRY(vta_draft_set(d, ROW(MEM, x_size), whole, at));
    } else {
        VTA_TRY(vta_draft_read(d, ROW(MEM, x_size)));
        VTA_TRY(vta_take_word(a, "x", &took));
        VTA_TRY(took ? vta_draft_read(d, ROW(MEM, y_size)) : VTA_OK);
    }
    return vta_draft_set(d, ROW(MEM, x_stride), d->insn.mem.x_size, at);
}

vta_status vta_draft_pad(draft *d)
{
    static const member sides[] = {{"top", ROW(MEM, y_pad_0)},
                                   {"bottom", ROW(MEM, y_pad_1)},
                                   {"left", ROW(MEM, x_pad_0)},
                                   {"right", ROW(MEM, x_pad_1)}};
    if (vta_at_mark(d->a, '(')) {
        return group(d, sides, 4, "'top', 'bottom', 'left' or 'right'");
    }
    VTA_TRY(vta_draft_read(d, ROW(MEM, y_pad_0)));
    d->insn.mem.y_pad_1 = d->insn.mem.x_pad_0 = d->insn.mem.x_pad_1 = d->insn.mem.y_pad_0;
    return VTA_OK;
}
