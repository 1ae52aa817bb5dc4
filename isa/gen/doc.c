/* SPDX-License-Identifier: Apache-2.0
 *
 * vta-doc [--check] FILE: rewrites what stands between the markers <!-- NAME --> and <!-- /NAME --> of a text
 * with the tables of isa.def, or tells whether it is up to date (exit status 1: it is not; 2: usage).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vta/file.h"
#include "vta/isa.h"
#include "vta/str.h"

enum { LIMIT = 1 << 20 };

/* An expression of the table, with a raised dot for the product. */
static void put_expression(vta_str *out, const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '*') {
            vta_str_put(out, "·");
        } else {
            vta_str_append(out, c, 1);
        }
    }
}

static const char *kind_of(char sign)
{
    switch (sign) {
    case 'S': return "signed";
    case 'B': return "flag";
    case 'X': return "ignored";
    default: return "unsigned";
    }
}

/* "107:97", or "7" for one bit. */
static void put_bits(vta_str *out, uint32_t lsb, uint32_t width)
{
    if (width > 1) {
        vta_str_printf(out, "%" PRIu32 ":", lsb + width - 1);
    }
    vta_str_printf(out, "%" PRIu32, lsb);
}

static void put_place(vta_str *out, const char *member, const char *lsb_text, const char *width_text,
                      uint32_t lsb, uint32_t width)
{
    vta_str_printf(out, "| %s | ", member);
    put_expression(out, lsb_text);
    vta_str_put(out, " | ");
    put_expression(out, width_text);
    vta_str_put(out, " | ");
    put_bits(out, lsb, width);
    vta_str_put(out, " | ");
}

static void put_format(vta_str *out, const vta_field_info *rows, uint32_t count, const char *format)
{
    vta_str_put(out,
                "| field | lowest bit | width | at pynq | kind | meaning |\n|---|---|---|---|---|---|\n");
    for (uint32_t i = 0; i < count; i++) {
        const vta_field_info *row = &rows[i];
        if (strcmp(row->format, format) == 0) {
            put_place(out, row->member, row->lsb_text, row->width_text, row->lsb, row->width);
            vta_str_printf(out, "%s | %s |\n", kind_of(row->sign), row->doc);
        }
    }
}

/* The mnemonics that share a format, as a heading. */
static void put_heading(vta_str *out, const char *format)
{
    static const struct {
        const char *name, *format;
    } opcodes[] = {
#define VTA_OPCODE(id, value, fmt, mnemonic, doc) {#id, #fmt},
#include "vta/isa.def"
    };
    const char *between = "\n**";
    for (size_t i = 0; i < sizeof opcodes / sizeof opcodes[0]; i++) {
        if (strcmp(opcodes[i].format, format) == 0) {
            vta_str_printf(out, "%s%s", between, opcodes[i].name);
            between = ", ";
        }
    }
    vta_str_put(out, "**\n\n");
}

static void put_fields(vta_str *out, const vta_config *config)
{
    vta_field_info rows[VTA_FIELD_COUNT];
    const uint32_t count = vta_isa_fields(config, rows);
    vta_str_put(out, "| opcode | | mnemonic | meaning |\n|---|---|---|---|\n");
#define VTA_OPCODE(id, value, format, mnemonic, doc)                                                         \
    vta_str_printf(out, "| %d | %s | `%s` | %s |\n", (value), #id, (mnemonic), (doc));
#include "vta/isa.def"
    vta_str_put(out, "\n| memory id | | meaning |\n|---|---|---|\n");
#define VTA_MEMORY(id, value, name, doc) vta_str_printf(out, "| %d | %s | %s |\n", (value), #id, (doc));
#include "vta/isa.def"
    vta_str_put(out, "\n**Header of every instruction**\n\n");
    put_format(out, rows, count, "HEADER");
    for (uint32_t i = 1; i < count; i++) {
        if (strcmp(rows[i].format, rows[i - 1].format) != 0) {
            put_heading(out, rows[i].format);
            put_format(out, rows, count, rows[i].format);
        }
    }
}

/* A micro-op's fields lie side by side: where one ends, the next begins. `ones` is the field with all its
 * bits set. */
static uint32_t put_uop_row(vta_str *out, const char *member, const char *lsb_text, const char *width_text,
                            uint32_t lsb, uint32_t ones)
{
    uint32_t width = 0;
    while (width < 32 && ones >> width != 0) {
        width++;
    }
    put_place(out, member, lsb_text, width_text, lsb, width);
    return lsb + width;
}

static void put_uop(vta_str *out, const vta_config *config)
{
    const vta_uop ones = vta_uop_decode(config, UINT32_MAX);
    uint32_t lsb = 0;
    vta_str_put(out, "| field | lowest bit | width | at pynq | meaning |\n|---|---|---|---|---|\n");
#define VTA_UOP_FIELD(member, lsb_text, width_text, doc)                                                     \
    lsb = put_uop_row(out, #member, #lsb_text, #width_text, lsb, ones.member);                               \
    vta_str_printf(out, "%s |\n", (doc));
#include "vta/isa.def"
}

static void put_alu(vta_str *out, const vta_config *config)
{
    (void)config;
    vta_str_put(out, "| alu_op | mnemonic | result |\n|---|---|---|\n");
#define VTA_ALU_OP(id, value, mnemonic, doc)                                                                 \
    vta_str_printf(out, "| %d | `%s` | %s |\n", (value), (mnemonic), (doc));
#include "vta/isa.def"
}

static void put_rounding(vta_str *out, const vta_config *config)
{
    (void)config;
    vta_str_put(out, "| rounding | mnemonic | |\n|---|---|---|\n");
#define VTA_ROUNDING(id, value, mnemonic, doc)                                                               \
    vta_str_printf(out, "| %d | `%s` | %s |\n", (value), (mnemonic), (doc));
#include "vta/isa.def"
}

static void put_rows(vta_str *out, const vta_config *config)
{
    (void)config;
    vta_str_put(out, "| bits of imm | | |\n|---|---|---|\n");
#define VTA_ROW_FIELD(member, lsb, width, doc)                                                               \
    vta_str_put(out, "| ");                                                                                  \
    put_bits(out, (lsb), (width));                                                                           \
    vta_str_printf(out, " | %s | %s |\n", #member, (doc));
#include "vta/isa.def"
    vta_str_put(out, "\n| function | mnemonic | lane of ACC[dst] |\n|---|---|---|\n");
#define VTA_ROW_FUNCTION(id, value, mnemonic, doc)                                                           \
    vta_str_printf(out, "| %d | `%s` | %s |\n", (value), (mnemonic), (doc));
#include "vta/isa.def"
    vta_str_put(out, "\n| form | mnemonic | |\n|---|---|---|\n");
#define VTA_ROW_FORM(id, value, mnemonic, doc)                                                               \
    vta_str_printf(out, "| %d | `%s` | %s |\n", (value), (mnemonic), (doc));
#include "vta/isa.def"
}

static void put_errors(vta_str *out, const vta_config *config)
{
    (void)config;
    vta_str_put(out, "| code | | meaning |\n|---|---|---|\n");
#define VTA_ERROR(id, code, text) vta_str_printf(out, "| %d | %s | %s |\n", (code), #id, (text));
#include "vta/isa.def"
}

static const struct {
    const char *name;
    void (*put)(vta_str *, const vta_config *);
} sections[] = {
    {"fields", put_fields}, {"uop", put_uop},           {"alu", put_alu},
    {"rows", put_rows},     {"rounding", put_rounding}, {"errors", put_errors},
};

/* Copies `text` with its sections filled in. */
static vta_status fill_in(const char *text, vta_str *out, vta_diag *diag)
{
    vta_config config;
    vta_config_default(&config);
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        char open[40];
        char close[40];
        (void)snprintf(open, sizeof open, "<!-- %s -->\n", sections[i].name);
        (void)snprintf(close, sizeof close, "<!-- /%s -->\n", sections[i].name);
        const char *begin = strstr(text, open);
        const char *end = begin == NULL ? NULL : strstr(begin, close);
        if (end == NULL) {
            return vta_fail(diag, VTA_SYNTAX, "the markers of section '%s' are missing or out of order",
                            sections[i].name);
        }
        vta_str_append(out, text, (size_t)(begin - text) + strlen(open));
        sections[i].put(out, &config);
        text = end;
    }
    vta_str_put(out, text);
    return out->failed ? vta_fail(diag, VTA_NOMEM, "no memory for the text") : VTA_OK;
}

static vta_status run(const char *path, bool check, vta_diag *diag)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    vta_str filled = {0};
    VTA_TRY(vta_file_read(path, LIMIT, &bytes, &size, diag));
    vta_status status = fill_in((const char *)bytes, &filled, diag);
    const bool same = status == VTA_OK && filled.text != NULL && filled.size == size &&
                      memcmp(filled.text, bytes, size) == 0;
    if (status == VTA_OK && !same) {
        status = check ? vta_fail(diag, VTA_INVALID, "'%s' is not up to date, run vta-doc on it", path)
                       : vta_file_write(path, filled.text, filled.size, diag);
    }
    vta_str_free(&filled);
    free(bytes);
    return status;
}

int main(int argc, char **argv)
{
    const bool check = argc == 3 && strcmp(argv[1], "--check") == 0;
    if (argc != 2 && !check) {
        (void)fprintf(stderr, "usage: vta-doc [--check] FILE\n");
        return 2;
    }
    vta_diag diag = {0};
    if (run(argv[argc - 1], check, &diag) != VTA_OK) {
        (void)fprintf(stderr, "vta-doc: %s\n", diag.text);
        return 1;
    }
    return 0;
}
