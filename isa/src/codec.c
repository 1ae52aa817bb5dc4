/* SPDX-License-Identifier: Apache-2.0
 *
 * Encoder and decoder. Where bits are comes from isa.def alone; what one instruction may not say (ISA.md)
 * stands in the `legal_…` functions.
 */
#include "codec_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

enum { WORD_BITS = 64 };

/* The formats of isa.def, and the place of each one's members in vta_insn. */
typedef enum insn_format { HEADER, MEM, GEMM, ALU, REQUANT, DEPTHWISE, FINISH } insn_format;
#define PLACE_HEADER(member)    member
#define PLACE_MEM(member)       mem.member
#define PLACE_GEMM(member)      gemm.member
#define PLACE_ALU(member)       alu.member
#define PLACE_REQUANT(member)   requant.member
#define PLACE_DEPTHWISE(member) depthwise.member
#define PLACE_FINISH(member)    finish.member

static const insn_format formats[] = {
#define VTA_OPCODE(id, value, format, mnemonic, doc) [(value)] = (format),
#include "vta/isa.def"
};
_Static_assert(sizeof formats / sizeof formats[0] == VTA_OP_COUNT, "one format per opcode");

/* The variables of the table's expressions. */
typedef struct logs {
    uint32_t u, i, w, a, m;
} logs;

static logs logs_of(const vta_config *config)
{
    const uint32_t i = config->log_depth[VTA_MEM_INP];
    const uint32_t a = config->log_depth[VTA_MEM_ACC];
    return (logs){config->log_depth[VTA_MEM_UOP], i, config->log_depth[VTA_MEM_WGT], a, a > i ? a : i};
}
#define TABLE_VARIABLES(config)                                                                              \
    const logs depth_logs = logs_of(config);                                                                 \
    const uint32_t U = depth_logs.u, I = depth_logs.i, W = depth_logs.w, A = depth_logs.a, M = depth_logs.m; \
    (void)U, (void)I, (void)W, (void)A, (void)M

static uint64_t ones(uint32_t width)
{
    return width >= WORD_BITS ? UINT64_MAX : (UINT64_C(1) << width) - 1;
}

static inline int64_t get_bits(vta_word word, uint32_t lsb, uint32_t width, char sign)
{
    const uint64_t top = word.w[lsb / WORD_BITS] << (WORD_BITS - width - lsb % WORD_BITS);
    return sign == 'S' ? (int64_t)top >> (WORD_BITS - width) : (int64_t)(top >> (WORD_BITS - width));
}

static inline void set_bits(vta_word *word, uint32_t lsb, uint32_t width, uint64_t value)
{
    word->w[lsb / WORD_BITS] |= (value & ones(width)) << lsb % WORD_BITS;
}

/* True where `value` fits; else `bound` is the limit that it breaks. A full word holds every value. */
static bool fits(int64_t value, uint32_t width, char sign, int64_t *bound)
{
    if (width == WORD_BITS) {
        return true;
    }
    const int64_t low = sign == 'S' ? -(int64_t)(ones(width) / 2) - 1 : 0;
    const int64_t high = (int64_t)(sign == 'S' ? ones(width) / 2 : ones(width));
    *bound = value < low ? low : high;
    return value >= low && value <= high;
}

/* Reads the fields of one format, and collects which bits they cover. */
/* NOLINTNEXTLINE(readability-function-size): the table unfolds here, once for each of its rows */
static inline void read_fields(const vta_config *config, insn_format wanted, vta_word word, vta_insn *out,
                               vta_word *covered)
{
    TABLE_VARIABLES(config);
#define VTA_FIELD(format, member, lsb, width, sign, doc)                                                     \
    if ((format) == wanted) {                                                                                \
        out->PLACE_##format(member) = get_bits(word, (lsb), (width), #sign[0]);                              \
        set_bits(covered, (lsb), (width), UINT64_MAX);                                                       \
    }
#include "vta/isa.def"
}

/* The same table as data, for what is not in a hurry: unrolled, it is 10 KB of code. An expression in the
 * logs is the sum of a constant and of multiples of them, each held in its own bits. */
enum { CONSTANT_BITS = 7, FACTOR_BITS = 3 };
#define U (1 << CONSTANT_BITS)
#define I (1 << (CONSTANT_BITS + FACTOR_BITS))
#define W (1 << (CONSTANT_BITS + 2 * FACTOR_BITS))
#define A (1 << (CONSTANT_BITS + 3 * FACTOR_BITS))
#define M (1 << (CONSTANT_BITS + 4 * FACTOR_BITS))
static const struct {
    uint32_t lsb, width;
    uint16_t offset;
    uint8_t format;
    char sign;
} fields[] = {
#define VTA_FIELD(format, member, lsb, width, sign, doc)                                                     \
    {(lsb), (width), offsetof(vta_insn, PLACE_##format(member)), format, #sign[0]},
#include "vta/isa.def"
};
#undef U
#undef I
#undef W
#undef A
#undef M
_Static_assert(sizeof fields / sizeof fields[0] == VTA_FIELD_COUNT, "one row per field");

/* Their texts, one behind the other: addresses would need a relocation each. */
enum { TEXTS = 5 };
#define FIELD_TEXT(format, member, lsb, width, doc) #format "\0" #member "\0" #lsb "\0" #width "\0" doc
static const struct {
#define VTA_FIELD(format, member, lsb, width, sign, doc)                                                     \
    char format##_##member[sizeof(FIELD_TEXT(format, member, lsb, width, doc))];
#include "vta/isa.def"
} field_texts = {
#define VTA_FIELD(format, member, lsb, width, sign, doc) FIELD_TEXT(format, member, lsb, width, doc),
#include "vta/isa.def"
};

static uint32_t sum_of(const logs *l, uint32_t expression)
{
    const uint32_t of[] = {l->u, l->i, l->w, l->a, l->m};
    uint32_t sum = expression & ((1U << CONSTANT_BITS) - 1);
    expression >>= CONSTANT_BITS;
    for (size_t k = 0; k < sizeof of / sizeof of[0]; k++, expression >>= FACTOR_BITS) {
        sum += (expression & ((1U << FACTOR_BITS) - 1)) * of[k];
    }
    return sum;
}

uint32_t vta_isa_fields(const vta_config *config, vta_field_info *out)
{
    const logs l = logs_of(config);
    const char *text = (const char *)&field_texts;
    for (uint32_t i = 0; i < VTA_FIELD_COUNT; i++) {
        const char *texts[TEXTS];
        for (int k = 0; k < TEXTS; k++) {
            texts[k] = text;
            text += strlen(text) + 1;
        }
        out[i] = (vta_field_info){.format = texts[0],
                                  .member = texts[1],
                                  .lsb_text = texts[2],
                                  .width_text = texts[3],
                                  .doc = texts[4],
                                  .sign = fields[i].sign,
                                  .lsb = sum_of(&l, fields[i].lsb),
                                  .width = sum_of(&l, fields[i].width),
                                  .offset = fields[i].offset};
    }
    return VTA_FIELD_COUNT;
}

static vta_status write_fields(const vta_config *config, insn_format wanted, const vta_insn *insn,
                               vta_word *out, vta_diag *diag)
{
    const logs l = logs_of(config);
    for (uint32_t i = 0; i < VTA_FIELD_COUNT; i++) {
        if (fields[i].format != wanted) {
            continue;
        }
        const uint32_t width = sum_of(&l, fields[i].width);
        int64_t value;
        int64_t bound = 0;
        memcpy(&value, (const uint8_t *)insn + fields[i].offset, sizeof value);
        if (!fits(value, width, fields[i].sign, &bound)) {
            vta_field_info rows[VTA_FIELD_COUNT];
            (void)vta_isa_fields(config, rows);
            return vta_fail(diag, VTA_RANGE,
                            "%s: %s %" PRId64 " does not fit in its field (limit: %" PRId64 ")",
                            vta_opcode_name(insn->opcode), rows[i].member, value, bound);
        }
        set_bits(out, sum_of(&l, fields[i].lsb), width, (uint64_t)value);
    }
    return VTA_OK;
}

static vta_error refuse(vta_fault *fault, const char *field, int64_t value, int64_t bound, const char *rule)
{
    if (fault != NULL) {
        *fault = (vta_fault){VTA_ERROR_FIELD, field, value, bound, rule};
    }
    return VTA_ERROR_FIELD;
}

static const char no_tables[] = "the configuration has no tables (TABLE is 0)";

static vta_error legal_load(const vta_config *config, const vta_insn *insn, vta_fault *fault)
{
    const int64_t memory = insn->mem.memory;
    if (memory == VTA_MEM_TAB && config->table == 0) {
        return refuse(fault, "memory", memory, VTA_MEM_ACC8, no_tables);
    }
    if (memory == VTA_MEM_OUT) {
        return refuse(fault, "memory", memory, VTA_MEM_ACC8, "nothing loads into out");
    }
    if ((memory == VTA_MEM_UOP || memory == VTA_MEM_TAB) && insn->mem.x_size != 0 &&
        vta_insn_pad_value(insn) != 0) {
        return refuse(fault, "pad", vta_insn_pad_value(insn), 0,
                      memory == VTA_MEM_UOP ? "micro-ops are padded with 0 alone"
                                            : "tables are padded with 0 alone");
    }
    return VTA_ERROR_NONE;
}

static vta_error legal_store(const vta_insn *insn, vta_fault *fault)
{
    if (insn->mem.x_size == 0) {
        return VTA_ERROR_NONE;
    }
    if (insn->mem.memory != VTA_MEM_OUT) {
        return refuse(fault, "memory", insn->mem.memory, VTA_MEM_OUT, "a store takes its data from out");
    }
    const struct {
        const char *name;
        int64_t value;
    } pads[] = {{"y_pad_0", insn->mem.y_pad_0},
                {"y_pad_1", insn->mem.y_pad_1},
                {"x_pad_0", insn->mem.x_pad_0},
                {"x_pad_1", insn->mem.x_pad_1},
                {"pad", vta_insn_pad_value(insn)}};
    for (size_t i = 0; i < sizeof pads / sizeof pads[0]; i++) {
        if (pads[i].value != 0) {
            return refuse(fault, pads[i].name, pads[i].value, 0, "a store has no padding");
        }
    }
    return VTA_ERROR_NONE;
}

static vta_error legal_mem(const vta_config *config, const vta_insn *insn, vta_fault *fault)
{
    if (insn->mem.memory == VTA_MEM_WGT4 && config->wgt4 == 0) {
        return refuse(fault, "memory", VTA_MEM_WGT4, VTA_MEM_TAB,
                      "the configuration has no weights of four bits (WGT4 is 0)");
    }
    return insn->opcode == VTA_OP_STORE ? legal_store(insn, fault) : legal_load(config, insn, fault);
}

static const char no_rows[] = "the configuration has no functions on rows (ROWS is 0)";

/* The rules of the immediate of a function on rows; `last` is the last value of places that the function
 * takes. */
static vta_error legal_row_imm(int64_t imm, int64_t last, vta_fault *fault)
{
    const vta_row row = vta_row_of(imm);
    const bool reciprocal = row.function == VTA_ROW_RECIP || row.function == VTA_ROW_RECIP_ROOT;
    if (imm != vta_row_imm(row)) {
        return refuse(fault, "imm", imm, vta_row_imm(row),
                      "bits that no field of a row's function covers must be 0");
    }
    if (row.form > (reciprocal ? VTA_ROW_FORM_COUNT - 1 : 0)) {
        return refuse(fault, "form", row.form, reciprocal ? VTA_ROW_FORM_COUNT - 1 : 0,
                      reciprocal ? "there is no such form" : "only recip and recip_root have forms");
    }
    if (row.places > last) {
        return refuse(fault, "places", row.places, last,
                      last == 0 ? "the function takes no places" : "the two lanes are of one tile");
    }
    return VTA_ERROR_NONE;
}

static vta_error legal_row(const vta_config *config, const vta_insn *insn, vta_fault *fault)
{
    const int64_t last[VTA_ROW_COUNT] = {[VTA_ROW_MIN] = config->log_block_out - 1,
                                         [VTA_ROW_MAX] = config->log_block_out - 1,
                                         [VTA_ROW_ADD] = config->log_block_out - 1,
                                         [VTA_ROW_MOV] = config->log_block_out - 1,
                                         [VTA_ROW_RECIP] = 63,
                                         [VTA_ROW_RECIP_ROOT] = 63};
    if (config->rows == 0) {
        return refuse(fault, "alu_op", insn->alu.alu_op, VTA_ALU_ROW - 1, no_rows);
    }
    if (insn->alu.use_imm == 0 || insn->alu.from_src == 0) {
        return refuse(fault, insn->alu.use_imm == 0 ? "use_imm" : "from_src", 0, 1,
                      "a function on rows has its name in imm and its operand in src");
    }
    return legal_row_imm(insn->alu.imm, last[vta_row_of(insn->alu.imm).function], fault);
}

static vta_error legal_alu(const vta_config *config, const vta_insn *insn, vta_fault *fault)
{
    if (insn->alu.alu_op == VTA_ALU_ROW) {
        return legal_row(config, insn, fault);
    }
    if (insn->alu.from_src != 0 && insn->alu.use_imm == 0) {
        return refuse(fault, "from_src", 1, 0, "only an immediate has a third address");
    }
    if (insn->alu.alu_op == VTA_ALU_SHR && insn->alu.use_imm != 0) {
        if (insn->alu.imm < -31 || insn->alu.imm > 31) {
            return refuse(fault, "imm", insn->alu.imm, insn->alu.imm < 0 ? -31 : 31,
                          "a shift moves at most 31 places");
        }
    }
    return VTA_ERROR_NONE;
}

/* Checks the place in INP of results that go there. */
static vta_error legal_loop_back(const vta_config *config, const vta_insn *insn, vta_fault *fault)
{
    const bool to_inp = insn->requant.to_inp != 0;
    const int64_t parts = config->block_in >= config->block_out ? config->block_in / config->block_out : 0;
    const int64_t depth = config->depth[VTA_MEM_INP];
    if (to_inp && config->loop_back == 0) {
        return refuse(fault, "to_inp", 1, 0, "the configuration has no way back to inp (LOOP_BACK is 0)");
    }
    if (to_inp && parts == 0) {
        return refuse(fault, "to_inp", 1, 0, "a tile of block_out lanes does not fit in one of block_in");
    }
    if (insn->requant.part >= (to_inp ? parts : 1)) {
        return refuse(fault, "part", insn->requant.part, to_inp ? parts - 1 : 0,
                      to_inp ? "the input tile has no such lanes" : "only an input tile has parts");
    }
    if (insn->requant.dst_high << config->log_depth[VTA_MEM_ACC] >= (to_inp ? depth : 1)) {
        return refuse(fault, "dst_high", insn->requant.dst_high,
                      to_inp ? (depth - 1) >> config->log_depth[VTA_MEM_ACC] : 0,
                      to_inp ? "inp has no such entries" : "acc has no such entries");
    }
    return VTA_ERROR_NONE;
}

/* A result of 18 bits goes to ACC as it is. */
static vta_error legal_long(const vta_insn *insn, vta_fault *fault)
{
    const struct {
        const char *name;
        int64_t value;
    } others[] = {{"zero_point", insn->requant.zero_point},
                  {"low", insn->requant.low},
                  {"high", insn->requant.high},
                  {"table", insn->requant.table},
                  {"to_inp", insn->requant.to_inp},
                  {"part", insn->requant.part},
                  {"dst_high", insn->requant.dst_high}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (others[i].value != 0) {
            return refuse(fault, others[i].name, others[i].value, 0, "a long result goes to acc as it is");
        }
    }
    return VTA_ERROR_NONE;
}

static vta_error legal_requant(const vta_config *config, const vta_insn *insn, vta_fault *fault)
{
    if (config->rows == 0 && (insn->requant.long_result != 0 || insn->requant.by_row != 0)) {
        return refuse(fault, insn->requant.long_result != 0 ? "long_result" : "by_row", 1, 0, no_rows);
    }
    if (insn->requant.long_result != 0) {
        return legal_long(insn, fault);
    }
    if (insn->requant.low > insn->requant.high) {
        return refuse(fault, "low", insn->requant.low, insn->requant.high, "low must not exceed high");
    }
    if (insn->requant.table != 0 && config->table == 0) {
        return refuse(fault, "table", insn->requant.table, 0, no_tables);
    }
    if (insn->requant.table > VTA_TABLES) {
        return refuse(fault, "table", insn->requant.table, VTA_TABLES, "there is no such table");
    }
    return legal_loop_back(config, insn, fault);
}

static vta_error legal_depthwise(const vta_config *config, const vta_insn *insn, vta_fault *fault)
{
    const int64_t taps = insn->depthwise.taps_x * insn->depthwise.taps_y;
    if (config->depthwise_taps == 0) {
        return refuse(fault, "opcode", VTA_OP_DEPTHWISE, VTA_OP_REQUANT,
                      "the configuration has no DEPTHWISE (DEPTHWISE_TAPS is 0)");
    }
    if (taps > config->block_out) {
        return refuse(fault, "taps_x * taps_y", taps, config->block_out,
                      "the taps are the rows of one weight entry");
    }
    if (insn->depthwise.group * config->block_out >= config->block_in) {
        return refuse(fault, "group", insn->depthwise.group, 0, "the input tile has no such lanes");
    }
    return VTA_ERROR_NONE;
}

/* Flags that name a neighbour that the unit does not have. */
static vta_error legal_flags(const vta_insn *insn, vta_fault *fault)
{
    const vta_unit unit = vta_insn_unit(insn);
    if (unit == VTA_UNIT_LOAD && insn->pop_prev != 0) {
        return refuse(fault, "pop_prev", 1, 0, "no unit comes before load");
    }
    if (unit == VTA_UNIT_LOAD && insn->push_prev != 0) {
        return refuse(fault, "push_prev", 1, 0, "no unit comes before load");
    }
    if (unit == VTA_UNIT_STORE && insn->pop_next != 0) {
        return refuse(fault, "pop_next", 1, 0, "no unit comes after store");
    }
    if (unit == VTA_UNIT_STORE && insn->push_next != 0) {
        return refuse(fault, "push_next", 1, 0, "no unit comes after store");
    }
    return VTA_ERROR_NONE;
}

/* Checks the rules of ISA.md within one instruction whose fields are known to fit. */
static vta_error legal(const vta_config *config, const vta_insn *insn, vta_fault *fault)
{
    vta_error error = VTA_ERROR_NONE;
    switch ((vta_opcode)insn->opcode) {
    case VTA_OP_LOAD:
    case VTA_OP_STORE: error = legal_mem(config, insn, fault); break;
    case VTA_OP_GEMM:
        if (insn->gemm.reset != 0 && insn->gemm.init != 0) {
            error = refuse(fault, "init", 1, 0, "a reset clears everything anyway");
        }
        break;
    case VTA_OP_ALU: error = legal_alu(config, insn, fault); break;
    case VTA_OP_REQUANT: error = legal_requant(config, insn, fault); break;
    case VTA_OP_DEPTHWISE: error = legal_depthwise(config, insn, fault); break;
    case VTA_OP_FINISH:
    case VTA_OP_COUNT: break;
    }
    return error != VTA_ERROR_NONE ? error : legal_flags(insn, fault);
}

static vta_error check_reserved(vta_word word, vta_word covered, vta_fault *fault)
{
    for (uint32_t half = 0; half < 2; half++) {
        const uint64_t stray = word.w[half] & ~covered.w[half];
        if (stray == 0) {
            continue;
        }
        if (fault != NULL) {
            uint32_t bit = 0;
            while ((stray >> bit & 1) == 0) {
                bit++;
            }
            const int64_t place = half * WORD_BITS + bit;
            *fault =
                (vta_fault){VTA_ERROR_FIELD, "reserved bit", place, 0, "bits that no field covers must be 0"};
        }
        return VTA_ERROR_FIELD;
    }
    return VTA_ERROR_NONE;
}

vta_error vta_insn_inspect(const vta_config *config, vta_word word, vta_insn *out, vta_fault *fault)
{
    vta_word covered = {{0, 0}};
    *out = (vta_insn){0};
    read_fields(config, HEADER, word, out, &covered);
    switch (out->opcode < VTA_OP_COUNT ? formats[out->opcode] : HEADER) {
    case HEADER:
        if (fault != NULL) {
            *fault = (vta_fault){VTA_ERROR_OPCODE, "opcode", out->opcode, VTA_OP_COUNT - 1,
                                 "the opcode is reserved"};
        }
        return VTA_ERROR_OPCODE;
    case MEM: read_fields(config, MEM, word, out, &covered); break;
    case GEMM: read_fields(config, GEMM, word, out, &covered); break;
    case ALU: read_fields(config, ALU, word, out, &covered); break;
    case REQUANT: read_fields(config, REQUANT, word, out, &covered); break;
    case DEPTHWISE: read_fields(config, DEPTHWISE, word, out, &covered); break;
    case FINISH: read_fields(config, FINISH, word, out, &covered); break;
    }
    const vta_error error = check_reserved(word, covered, fault);
    return error != VTA_ERROR_NONE ? error : legal(config, out, fault);
}

vta_error vta_insn_decode_raw(const vta_config *config, vta_word word, vta_insn *out)
{
    return vta_insn_inspect(config, word, out, NULL);
}

static vta_status fail_with(const vta_insn *insn, const vta_fault *fault, vta_diag *diag)
{
    return vta_fail(diag, VTA_ILLEGAL_INSN, "%s: %s %" PRId64 " (limit: %" PRId64 "): %s",
                    vta_opcode_name(insn->opcode), fault->field, fault->value, fault->bound, fault->rule);
}

vta_status vta_insn_decode(const vta_config *config, vta_word word, vta_insn *out, vta_diag *diag)
{
    vta_fault fault;
    if (vta_insn_inspect(config, word, out, &fault) != VTA_ERROR_NONE) {
        return fail_with(out, &fault, diag);
    }
    return VTA_OK;
}

vta_status vta_insn_encode(const vta_config *config, const vta_insn *insn, vta_word *out, vta_diag *diag)
{
    vta_word word = {{0, 0}};
    *out = word;
    if (insn->opcode < 0 || insn->opcode >= VTA_OP_COUNT) {
        return vta_fail(diag, VTA_ILLEGAL_INSN, "opcode %" PRId64 " (limit: %d): the opcode is reserved",
                        insn->opcode, VTA_OP_COUNT - 1);
    }
    VTA_TRY(write_fields(config, HEADER, insn, &word, diag));
    VTA_TRY(write_fields(config, formats[insn->opcode], insn, &word, diag));
    vta_fault fault;
    if (legal(config, insn, &fault) != VTA_ERROR_NONE) {
        return fail_with(insn, &fault, diag);
    }
    *out = word;
    return VTA_OK;
}

vta_status vta_uop_encode(const vta_config *config, const vta_uop *uop, uint32_t *out, vta_diag *diag)
{
    TABLE_VARIABLES(config);
    vta_word word = {{0, 0}};
    int64_t bound = 0;
    *out = 0;
#define VTA_UOP_FIELD(member, lsb, width, doc)                                                               \
    if (!fits(uop->member, (width), 'U', &bound)) {                                                          \
        return vta_fail(diag, VTA_RANGE,                                                                     \
                        "micro-op: %s %" PRIu32 " does not fit in its field (limit: %" PRId64 ")", #member,  \
                        uop->member, bound);                                                                 \
    }                                                                                                        \
    set_bits(&word, (lsb), (width), uop->member);
#include "vta/isa.def"
    *out = (uint32_t)word.w[0];
    return VTA_OK;
}

vta_uop vta_uop_decode(const vta_config *config, uint32_t word)
{
    TABLE_VARIABLES(config);
    const vta_word wide = {{word, 0}};
    return (vta_uop){
#define VTA_UOP_FIELD(member, lsb, width, doc) .member = (uint32_t)get_bits(wide, (lsb), (width), 'U'),
#include "vta/isa.def"
    };
}

uint32_t vta_uop_max_aux(const vta_config *config)
{
    return vta_uop_decode(config, UINT32_MAX).aux;
}

int32_t vta_insn_pad_value(const vta_insn *insn)
{
    return (int8_t)(uint8_t)(insn->mem.pad_high << 6 | insn->mem.pad_low);
}

void vta_insn_set_pad_value(vta_insn *insn, int32_t value)
{
    insn->mem.pad_low = value & 0x3f;
    insn->mem.pad_high = value >> 6 & 3;
}

vta_row vta_row_of(int64_t imm)
{
    const vta_word word = {{(uint64_t)imm, 0}};
    return (vta_row){
#define VTA_ROW_FIELD(member, lsb, width, doc) .member = (uint32_t)get_bits(word, (lsb), (width), 'U'),
#include "vta/isa.def"
    };
}

int64_t vta_row_imm(vta_row row)
{
    vta_word word = {{0, 0}};
#define VTA_ROW_FIELD(member, lsb, width, doc) set_bits(&word, (lsb), (width), row.member);
#include "vta/isa.def"
    return (int64_t)word.w[0];
}

vta_unit vta_insn_unit(const vta_insn *insn)
{
    if (insn->opcode == VTA_OP_LOAD) {
        const bool tensor = insn->mem.memory == VTA_MEM_INP || vta_loads_wgt(insn->mem.memory);
        return tensor ? VTA_UNIT_LOAD : VTA_UNIT_COMPUTE;
    }
    return insn->opcode == VTA_OP_STORE ? VTA_UNIT_STORE : VTA_UNIT_COMPUTE;
}
