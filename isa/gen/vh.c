/* SPDX-License-Identifier: Apache-2.0
 *
 * vta-vh: prints vta_isa.vh, the bridge from the tables of isa/ to the Verilog tools. Whatever the RTL knows
 * about encodings, registers and errors it gets from here, so that no bit position is written twice.
 *
 * The header is included inside a module body; its localparams are expressions in the module's LOG_*
 * parameters. A module that defines VTA_ISA_CONFIG before the include also gets vta_config_value(), the
 * CONFIG registers, one that defines VTA_ISA_EXP2 the tables of exp2. Included with VTA_ISA_BUNDLE before the
 * modules of a file it gives the macros for what the decoder hands to the pipelines, and nothing else. This
 * program needs nothing but the tables and libc, so that a simulator builder can compile it by itself.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "vta/isa.h"
#include "vta/regs.h"

typedef struct substitution {
    const char *from, *to;
} substitution;

/* The letters of isa.def's expressions as the RTL calls them. */
static const substitution symbols[] = {
    {"U", "LOG_UOP_DEPTH"}, {"I", "LOG_INP_DEPTH"},  {"W", "LOG_WGT_DEPTH"},
    {"A", "LOG_ACC_DEPTH"}, {"M", "VTA_LOG_MAX_AI"},
};

/* The hardware-visible rows of config.def as expressions in the parameters of vta_top. */
static const substitution config_values[] = {
    {"log_inp_width", "3"},
    {"log_wgt_width", "3"},
    {"log_acc_width", "5"},
    {"log_batch", "LOG_BATCH"},
    {"log_block_in", "LOG_BLOCK_IN"},
    {"log_block_out", "LOG_BLOCK_OUT"},
    {"log_uop_buff", "LOG_UOP_DEPTH + VTA_LOG_BYTES_UOP"},
    {"log_inp_buff", "LOG_INP_DEPTH + VTA_LOG_BYTES_INP"},
    {"log_wgt_buff", "LOG_WGT_DEPTH + VTA_LOG_BYTES_WGT"},
    {"log_acc_buff", "LOG_ACC_DEPTH + VTA_LOG_BYTES_ACC"},
    {"log_bus_width", "LOG_BUS_BYTES + 3"},
    {"log_queue", "LOG_QUEUE_DEPTH"},
    {"table", "TABLE"},
    {"loop_back", "LOOP_BACK"},
    {"depthwise_taps", "DEPTHWISE_TAPS"},
    {"rows", "ROWS"},
    {"wgt4", "WGT4"},
};

static const char *const formats[] = {"MEM", "GEMM", "ALU", "REQUANT", "DEPTHWISE", "FINISH"};

typedef struct field {
    const char *format, *member, *lsb, *width;
} field;

static const field fields[] = {
#define VTA_FIELD(format, member, lsb, width, sign, doc) {#format, #member, #lsb, #width},
#define VTA_UOP_FIELD(member, lsb, width, doc)           {"UOP", #member, #lsb, #width},
#define VTA_ROW_FIELD(member, lsb, width, doc)           {"ROW", #member, #lsb, #width},
#include "vta/isa.def"
};
enum { FIELD_COUNT = sizeof fields / sizeof fields[0] };

static void put_upper(const char *text)
{
    for (; *text != '\0'; text++) {
        (void)putchar((toupper)((unsigned char)*text));
    }
}

/* Prints an expression of isa.def with its letters replaced by parameter names. */
static void put_expression(const char *text)
{
    for (; *text != '\0'; text++) {
        const char *put = NULL;
        for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
            put = *text == symbols[i].from[0] ? symbols[i].to : put;
        }
        if (put != NULL) {
            (void)fputs(put, stdout);
        } else {
            (void)putchar(*text);
        }
    }
}

static void put_name(const field *f, const char *suffix)
{
    (void)printf("VTA_F_%s_", f->format);
    put_upper(f->member);
    (void)fputs(suffix, stdout);
}

static void put_field(const field *f)
{
    (void)fputs("localparam integer ", stdout);
    put_name(f, "_LSB = ");
    put_expression(f->lsb);
    (void)fputs(";\nlocalparam integer ", stdout);
    put_name(f, "_WIDTH = ");
    put_expression(f->width);
    (void)fputs(";\nlocalparam integer ", stdout);
    put_name(f, "_MSB = ");
    put_name(f, "_LSB + ");
    put_name(f, "_WIDTH - 1;\n");
}

static void put_covered(const field *f)
{
    (void)fputs("\n    | (((128'd1 << ", stdout);
    put_name(f, "_WIDTH) - 128'd1) << ");
    put_name(f, "_LSB)");
}

/* The bits of a format that no field covers: they must be 0. */
static void put_reserved(const char *format)
{
    (void)printf("localparam [127:0] VTA_RESERVED_%s = ~(128'd0", format);
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (strcmp(fields[i].format, format) == 0 || strcmp(fields[i].format, "HEADER") == 0) {
            put_covered(&fields[i]);
        }
    }
    (void)puts(");");
}

/* A member of a decoded instruction. */
typedef struct decoded {
    const char *member;
    const char *width[3]; /* in the decoder, the array, the ALU; "0": not there */
} decoded;

static const decoded bundle[] = {
#define VTA_DECODED(member, decoder, array, alu, doc) {#member, {#decoder, #array, #alu}},
#include "vta/isa.def"
};
enum { BUNDLE_COUNT = sizeof bundle / sizeof bundle[0], DECODER = 0, ARRAY, ALU };

/* By the users of the rows: their macros, the prefix of their wires in vta_compute, and their own ports. */
static const struct {
    const char *name, *prefix, *port;
} users[] = {
    {"DECODE", "d_", "output wire "}, {"ARRAY", "a_", "input  wire "}, {"ALU", "l_", "input  wire "}};
enum { USER_COUNT = sizeof users / sizeof users[0] };

static bool uses(const decoded *row, int user)
{
    return strcmp(row->width[user], "0") != 0;
}

/* Ports are declared before the header's own constants: the larger of two depths is a parameter there. */
static void put_width(const char *text)
{
    if (strcmp(text, "M") == 0) {
        (void)fputs("MAX_AI", stdout);
    } else {
        put_expression(text);
    }
}

/* "[WIDTH-1:0] ", or nothing for a single bit. */
static void put_range(const char *width)
{
    if (strcmp(width, "1") != 0) {
        (void)putchar('[');
        put_width(width);
        (void)fputs("-1:0] ", stdout);
    }
}

/* As the decoder has it, cut to what the user takes. */
static void put_taken(const decoded *row, int user)
{
    (void)printf("%s%s", users[DECODER].prefix, row->member);
    if (strcmp(row->width[user], row->width[DECODER]) != 0) {
        (void)putchar('[');
        put_width(row->width[user]);
        (void)fputs("-1:0]", stdout);
    }
}

static void put_bundle_item(const char *kind, const decoded *row, int user)
{
    const char *prefix = users[user].prefix;
    if (strcmp(kind, "PORTS") == 0) {
        (void)fputs(users[user].port, stdout);
        put_range(row->width[user]);
        (void)fputs(row->member, stdout);
    } else if (strcmp(kind, "WIRES") == 0) {
        (void)fputs("wire ", stdout);
        put_range(row->width[user]);
        (void)printf("%s%s", prefix, row->member);
    } else if (strcmp(kind, "CONNECT") == 0) {
        (void)printf(".%s(%s%s)", row->member, prefix, row->member);
    } else if (strcmp(kind, "TAKEN") == 0) {
        put_taken(row, user);
    } else if (strcmp(kind, "HEAD") == 0) {
        (void)printf("%s%s", prefix, row->member);
    } else {
        put_width(row->width[user]);
    }
}

/* A macro: its items one behind the other. */
static void put_bundle_macro(const char *kind, const char *between, int user)
{
    int count = 0;
    (void)printf("`define VTA_%s_%s", users[user].name, kind);
    for (int i = 0; i < BUNDLE_COUNT; i++) {
        if (uses(&bundle[i], user)) {
            (void)printf("%s \\\n    ", count++ > 0 ? between : "");
            put_bundle_item(kind, &bundle[i], user);
        }
    }
    (void)puts("");
}

static void print_bundle(void)
{
    for (int user = 0; user < USER_COUNT; user++) {
        put_bundle_macro("PORTS", ",", user);
        put_bundle_macro("WIRES", ";", user);
        put_bundle_macro("CONNECT", ",", user);
    }
    for (int user = ARRAY; user < USER_COUNT; user++) {
        put_bundle_macro("TAKEN", ",", user);
        put_bundle_macro("HEAD", ",", user);
        put_bundle_macro("BITS", " +", user);
    }
}

static void begin_header(void)
{
    (void)puts("// vta_isa.vh: generated by vta-vh from the tables of isa/; not to be edited.\n"
               "// The waiver: each module uses the part of the tables that it needs.\n"
               "// verilator lint_off UNUSEDPARAM");
}

static void end_header(void)
{
    (void)puts("// verilator lint_on UNUSEDPARAM");
}

/* Prints the numbers of each scratchpad that follow from tile shape and depths. */
static void put_memories(void)
{
    (void)puts(
        "localparam integer VTA_LOG_MAX_AI = LOG_ACC_DEPTH > LOG_INP_DEPTH ? LOG_ACC_DEPTH : LOG_INP_DEPTH;\n"
        "localparam integer VTA_LOG_BYTES_UOP = 2;\n"
        "localparam integer VTA_LOG_BYTES_WGT = LOG_BLOCK_IN + LOG_BLOCK_OUT;\n"
        "localparam integer VTA_LOG_BYTES_INP = LOG_BATCH + LOG_BLOCK_IN;\n"
        "localparam integer VTA_LOG_BYTES_ACC = LOG_BATCH + LOG_BLOCK_OUT + 2;\n"
        "localparam integer VTA_LOG_BYTES_OUT = LOG_BATCH + LOG_BLOCK_OUT;\n"
        "localparam integer VTA_LOG_BYTES_ACC8 = LOG_BATCH + LOG_BLOCK_OUT;\n"
        "localparam integer VTA_LOG_BYTES_WGT4 = LOG_BLOCK_IN + LOG_BLOCK_OUT - 1;\n"
        "localparam integer VTA_LOG_BYTES_TAB = 2;\n"
        "localparam integer VTA_LOG_DEPTH_UOP = LOG_UOP_DEPTH;\n"
        "localparam integer VTA_LOG_DEPTH_WGT = LOG_WGT_DEPTH;\n"
        "localparam integer VTA_LOG_DEPTH_INP = LOG_INP_DEPTH;\n"
        "localparam integer VTA_LOG_DEPTH_ACC = LOG_ACC_DEPTH;\n"
        "localparam integer VTA_LOG_DEPTH_OUT = LOG_ACC_DEPTH;\n"
        "localparam integer VTA_LOG_DEPTH_ACC8 = LOG_ACC_DEPTH;");
    (void)printf("localparam integer VTA_LOG_DEPTH_TAB = %d;\n", VTA_LOG_TABLE_WORDS + 1);
}

static void print_codes(void)
{
#define VTA_OPCODE(id, value, format, mnemonic, doc)                                                         \
    (void)printf("localparam [2:0] VTA_OP_%s = 3'd%d;\n", #id, value);
#define VTA_MEMORY(id, value, name, doc)       printf("localparam [2:0] VTA_MEM_%s = 3'd%d;\n", #id, value);
#define VTA_ALU_OP(id, value, mnemonic, doc)   printf("localparam [2:0] VTA_ALU_%s = 3'd%d;\n", #id, value);
#define VTA_ROUNDING(id, value, mnemonic, doc) printf("localparam [1:0] VTA_ROUND_%s = 2'd%d;\n", #id, value);
#define VTA_ROW_FUNCTION(id, value, mnemonic, doc)                                                           \
    (void)printf("localparam [2:0] VTA_ROW_%s = 3'd%d;\n", #id, value);
#define VTA_ROW_FORM(id, value, mnemonic, doc)                                                               \
    printf("localparam [1:0] VTA_ROW_FORM_%s = 2'd%d;\n", #id, value);
#define VTA_ERROR(id, code, text) printf("localparam [7:0] VTA_ERROR_%s = 8'd%d;\n", #id, code);
#include "vta/isa.def"
    (void)printf("localparam [7:0] VTA_TOKEN_CAPACITY = 8'd%d;\n", VTA_TOKEN_CAPACITY);
}

static void print_fields(void)
{
    put_memories();
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        put_field(&fields[i]);
    }
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        put_reserved(formats[i]);
    }
}

static const char *config_expression(const char *name)
{
    for (size_t i = 0; i < sizeof config_values / sizeof config_values[0]; i++) {
        if (strcmp(name, config_values[i].from) == 0) {
            return config_values[i].to;
        }
    }
    return NULL;
}

/* CONFIG registers as one vector, first row lowest. */
static int put_config(void)
{
    static const struct {
        const char *name;
        int hw;
    } rows[] = {
#define VTA_CONFIG(field, key, def, min, max, hw, doc) {#field, hw},
#include "vta/config.def"
#undef VTA_CONFIG
    };
    int count = 0;
    (void)puts("`ifdef VTA_ISA_CONFIG\nfunction [31:0] vta_config_value(input [31:0] row);\n    case (row)");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *value = rows[i].hw ? config_expression(rows[i].name) : "";
        if (value == NULL) {
            (void)fprintf(stderr, "vta-vh: config.def row '%s' has no expression here\n", rows[i].name);
            return 1;
        }
        if (rows[i].hw) {
            (void)printf("    32'd%d: vta_config_value = %s;\n", count++, value);
        }
    }
    (void)printf("    default: vta_config_value = 0;\n    endcase\nendfunction\n"
                 "localparam integer VTA_CONFIG_COUNT = %d;\n`endif\n",
                 count);
    return 0;
}

/* The tables of exp2, for the module that asks for them. */
static void print_exp2(void)
{
    static const struct {
        unsigned hi, lo;
    } rows[] = {
#define VTA_EXP2(n, hi, lo) [(n)] = {(hi), (lo)},
#include "vta/exp2.def"
#undef VTA_EXP2
    };
    static const char *const names[] = {"hi", "lo"};
    (void)puts("`ifdef VTA_ISA_EXP2");
    for (int table = 0; table < 2; table++) {
        (void)printf("function [15:0] vta_exp2_%s(input [5:0] n);\n    case (n)\n", names[table]);
        for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
            (void)printf("    6'd%zu: vta_exp2_%s = 16'd%u;\n", n, names[table],
                         table == 0 ? rows[n].hi : rows[n].lo);
        }
        (void)puts("    endcase\nendfunction");
    }
    (void)puts("`endif");
}

/* The registers; those from CYCLES on to the end of the first page are counters, numbered as they come. */
static void print_regs(void)
{
    static const struct {
        const char *name;
        unsigned offset;
    } rows[] = {
#define VTA_REG(name, offset, access, doc) {#name, (offset)},
#include "vta/regs.def"
    };
    unsigned first = 0;
    unsigned counters = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        (void)printf("localparam [12:0] VTA_REG_%s = 13'h%04x;\n", rows[i].name, rows[i].offset);
        first = strcmp(rows[i].name, "CYCLES") == 0 ? rows[i].offset : first;
        if (first != 0 && rows[i].offset < VTA_REG_PAGE_BYTES) {
            counters = (rows[i].offset - first) / 8 + 1;
            (void)printf("localparam integer VTA_COUNT_%s = %u;\n", rows[i].name, counters - 1);
        }
    }
    (void)printf("localparam integer VTA_COUNTERS = %u;\n", counters);
    (void)printf("localparam [31:0] VTA_ISA_VERSION = 32'h%04x%04x;\n", (unsigned)VTA_ISA_MAJOR,
                 (unsigned)VTA_ISA_MINOR);
    (void)printf("localparam integer VTA_SEGMENTS = %d;\n", VTA_SEGMENTS);
}

int main(void)
{
    (void)puts("`ifdef VTA_ISA_BUNDLE");
    print_bundle();
    (void)puts("`else");
    begin_header();
    print_codes();
    print_fields();
    print_regs();
    print_exp2();
    const int result = put_config();
    end_header();
    (void)puts("`endif");
    return result;
}
