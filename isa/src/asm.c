/* SPDX-License-Identifier: Apache-2.0
 *
 * The assembler: statements and loops. ISA.md says what the instructions do, ASM.md how the text is written.
 */
#include <stdlib.h>
#include <string.h>

#include "asm_internal.h"

/* Over the body of a loop that runs no time: from its opening brace, or a further loop variable, to the
 * closing brace. */
static vta_status skip_body(vta_asm *a, const vta_token *loop)
{
    size_t nesting = 0;
    for (;;) {
        const bool last = vta_at_mark(a, '}') && nesting <= 1;
        if (a->lex.token.kind == VTA_TOKEN_END) {
            return vta_asm_fail(a, loop, "unterminated loop; expected '}' before the end of the text");
        }
        nesting += vta_at_mark(a, '{') ? 1 : 0;
        nesting -= vta_at_mark(a, '}') && nesting > 0 ? 1 : 0;
        VTA_TRY(vta_lex_next(a));
        if (last) {
            return VTA_OK;
        }
    }
}

/* N, or LOW..HIGH, the latter exclusive. */
static vta_status loop_range(vta_asm *a, int64_t *low, int64_t *high)
{
    bool range = false;
    *low = 0;
    VTA_TRY(vta_expr(a, high));
    VTA_TRY(vta_take_mark(a, VTA_MARK2('.', '.'), &range));
    if (range) {
        *low = *high;
        VTA_TRY(vta_expr(a, high));
    }
    return VTA_OK;
}

static vta_status loop_body(vta_asm *a, vta_asm_item *item, void *context, bool commas)
{
    bool more = false;
    VTA_TRY(vta_take_mark(a, ',', &more));
    return more ? vta_asm_for(a, item, context, commas) : vta_asm_body(a, item, context, commas);
}

/* NAME in RANGE, up to the brace or the next variable. */
static vta_status loop_header(vta_asm *a, int64_t *low, int64_t *high)
{
    bool in = false;
    if (a->lex.token.kind != VTA_TOKEN_NAME) {
        return vta_asm_expected(a, "the name of a loop variable");
    }
    VTA_TRY(vta_lex_next(a));
    VTA_TRY(vta_take_word(a, "in", &in));
    if (!in) {
        return vta_asm_expected(a, "'in'");
    }
    VTA_TRY(loop_range(a, low, high));
    if (!vta_at_mark(a, ',') && !vta_at_mark(a, '{')) {
        return vta_asm_expected(a, "'{', or ',' and another loop variable");
    }
    return VTA_OK;
}

vta_status vta_asm_for(vta_asm *a, vta_asm_item *item, void *context, bool commas)
{
    const vta_token variable = a->lex.token;
    int64_t low = 0;
    int64_t high = 0;
    VTA_TRY(vta_asm_enter(a));
    VTA_TRY(loop_header(a, &low, &high));
    const vta_lexer begin = a->lex;
    a->loops++;
    for (int64_t value = low; value < high; value++) {
        a->lex = begin;
        VTA_TRY(vta_names_define(a, &variable, VTA_NAME_VALUE, value));
        VTA_TRY(loop_body(a, item, context, commas));
        vta_names_drop(a);
    }
    VTA_TRY(low < high ? VTA_OK : skip_body(a, &variable));
    a->loops--;
    vta_asm_leave(a);
    return VTA_OK;
}

/* One item or loop, and what separates it from the next. */
static vta_status body_item(vta_asm *a, vta_asm_item *item, void *context, bool commas)
{
    bool loop = false;
    bool comma = false;
    VTA_TRY(vta_take_word(a, "for", &loop));
    VTA_TRY(loop ? vta_asm_for(a, item, context, commas) : item(a, context));
    VTA_TRY(commas ? vta_take_mark(a, ',', &comma) : VTA_OK);
    if (!comma && !vta_at_line_end(a)) {
        return vta_asm_expected(a, commas ? "',', '}' or the end of the line" : "'}' or the end of the line");
    }
    return vta_skip_newlines(a);
}

vta_status vta_asm_body(vta_asm *a, vta_asm_item *item, void *context, bool commas)
{
    const vta_token open = a->lex.token;
    VTA_TRY(vta_need_mark(a, '{', "'{'"));
    VTA_TRY(vta_skip_newlines(a));
    while (!vta_at_mark(a, '}')) {
        if (a->lex.token.kind == VTA_TOKEN_END) {
            return vta_asm_fail(a, &open, "unterminated '{'; expected '}' before the end of the text");
        }
        VTA_TRY(body_item(a, item, context, commas));
    }
    return vta_lex_next(a);
}

static vta_status set_constant(vta_asm *a)
{
    const vta_token name = a->lex.token;
    int64_t value = 0;
    if (name.kind != VTA_TOKEN_NAME) {
        return vta_asm_expected(a, "a name");
    }
    VTA_TRY(vta_lex_next(a));
    VTA_TRY(vta_need_mark(a, '=', "'='"));
    VTA_TRY(vta_expr(a, &value));
    return vta_names_define(a, &name, VTA_NAME_VALUE, value);
}

static const struct {
    const char *name;
    vta_status (*run)(vta_asm *a);
} directives[] = {
    {".set", set_constant},      {".data", vta_asm_data},      {".uops", vta_asm_uops},
    {".expect", vta_asm_expect}, {".insn", vta_asm_insn_bits}, {".tag", vta_asm_tag},
};

static bool is_directive(const vta_asm *a, const char *name)
{
    const vta_token *token = &a->lex.token;
    return token->kind == VTA_TOKEN_DIRECTIVE && token->size == strlen(name) &&
           memcmp(a->text + token->start, name, token->size) == 0;
}

/* One instruction or tag, as a program or the body of a loop holds it. */
static vta_status code(vta_asm *a, void *context)
{
    (void)context;
    if (is_directive(a, ".insn")) {
        VTA_TRY(vta_lex_next(a));
        return vta_asm_insn_bits(a);
    }
    if (is_directive(a, ".tag")) {
        VTA_TRY(vta_lex_next(a));
        return vta_asm_tag(a);
    }
    if (a->lex.token.kind != VTA_TOKEN_NAME && !vta_at_mark(a, '[')) {
        return vta_asm_expected(a, "an instruction");
    }
    return vta_asm_insn(a);
}

static vta_status directive(vta_asm *a)
{
    if (is_directive(a, ".config")) {
        return vta_asm_fail(a, &a->lex.token, "'.config' must come before everything else");
    }
    for (size_t i = 0; i < sizeof directives / sizeof directives[0]; i++) {
        if (is_directive(a, directives[i].name)) {
            const vta_status status = vta_lex_next(a);
            return status == VTA_OK ? directives[i].run(a) : status;
        }
    }
    return vta_asm_expected(a, "one of .config .set .data .uops .expect .insn .tag");
}

static vta_status statement(vta_asm *a)
{
    bool loop = false;
    if (a->lex.token.kind == VTA_TOKEN_DIRECTIVE) {
        return directive(a);
    }
    VTA_TRY(vta_take_word(a, "for", &loop));
    return loop ? vta_asm_for(a, code, NULL, false) : code(a, NULL);
}

/* .config NAME or .config { JSON }, which only the first statement may be. */
static vta_status config_statement(vta_asm *a)
{
    VTA_TRY(vta_skip_newlines(a));
    if (!is_directive(a, ".config")) {
        return VTA_OK;
    }
    VTA_TRY(vta_lex_next(a));
    const vta_token token = a->lex.token;
    const bool json = vta_at_mark(a, '{');
    if (json) {
        VTA_TRY(vta_lex_json(a));
    } else if (token.kind != VTA_TOKEN_NAME) {
        return vta_asm_expected(a, "the name of a configuration or '{'");
    }
    const vta_token whole = a->lex.token;
    char *text = malloc(whole.size + 1);
    if (text == NULL) {
        return vta_fail(a->diag, VTA_NOMEM, "out of memory for a configuration");
    }
    memcpy(text, a->text + whole.start, whole.size);
    text[whole.size] = '\0';
    vta_diag why = {0};
    uint32_t count = 0;
    const char *const *names = vta_config_names(&count);
    bool shipped = false;
    for (uint32_t i = 0; i < count; i++) {
        shipped = shipped || strcmp(names[i], text) == 0;
    }
    if (json) {
        (void)vta_config_parse(text, "configuration", &a->config, &why);
    } else if (shipped) {
        (void)vta_config_load(text, &a->config, &why);
    } else {
        (void)vta_fail(&why, VTA_INVALID, "no configuration is called '%.60s'; 'vtac config list' lists them",
                       text);
    }
    free(text);
    return why.code == VTA_OK ? vta_lex_next(a) : vta_asm_fail(a, &token, "%s", why.text);
}

static vta_status statements(vta_asm *a)
{
    VTA_TRY(vta_skip_newlines(a));
    while (a->lex.token.kind != VTA_TOKEN_END) {
        VTA_TRY(statement(a));
        if (a->lex.token.kind != VTA_TOKEN_END && a->lex.token.kind != VTA_TOKEN_NEWLINE) {
            return vta_asm_expected(a, "the end of the line");
        }
        VTA_TRY(vta_skip_newlines(a));
    }
    return VTA_OK;
}

static vta_status assemble(vta_asm *a)
{
    VTA_TRY(vta_names_start(a));
    VTA_TRY(vta_lex_next(a));
    VTA_TRY(config_statement(a));
    VTA_TRY(vta_names_define_config(a));
    (void)vta_isa_fields(&a->config, a->fields);
    VTA_TRY(statements(a));
    a->program->config = a->config;
    if (!a->tagged) {
        free(a->program->tags);
        a->program->tags = NULL;
    }
    vta_diag why = {0};
    if (vta_program_verify(a->program, &why) != VTA_OK) {
        return vta_fail(a->diag, VTA_SYNTAX, "%.300s: %s", a->what, why.text);
    }
    return VTA_OK;
}

vta_status vta_assemble(const char *text, size_t size, const char *what, const vta_config *config,
                        vta_program *out, vta_diag *diag)
{
    *out = (vta_program){0};
    if (size > VTA_PROGRAM_TEXT_MAX) {
        return vta_fail(diag, VTA_RANGE, "%.300s: text of %zu bytes; limit: %d", what, size,
                        VTA_PROGRAM_TEXT_MAX);
    }
    vta_asm *a = calloc(1, sizeof *a);
    if (a == NULL) {
        return vta_fail(diag, VTA_NOMEM, "out of memory for the assembler");
    }
    a->text = text;
    a->size = size;
    a->what = what;
    a->program = out;
    a->diag = diag;
    if (config != NULL) {
        a->config = *config;
    } else {
        vta_config_default(&a->config);
    }
    vta_lex_start(a);
    const vta_status status = assemble(a);
    vta_names_free(&a->names);
    free(a);
    if (status != VTA_OK) {
        vta_program_free(out);
    }
    return status;
}
