/* SPDX-License-Identifier: Apache-2.0
 *
 * Attributes of nodes as the words of instructions, as vta/flow.def has them.
 */
#include <stdlib.h>
#include <string.h>

#include "flow_words.h"
#include "vta/fail.h"
#include "vtac/codegen.h"

static const vtac_flow_row rows[] = {
#define X(id, function, name, attrs, outs) {name, attrs, outs, VTA_FLOW_##id},
    VTA_FLOW_TABLE(X)
#undef X
};

/* True for a row of this operator, whose domain stands in front of its name. */
static bool is_row_of(const vtac_flow_row *row, const char *domain, const char *type)
{
    const size_t size = strlen(domain);
    const char *name = row->name;
    if (size > 0) {
        if (strncmp(name, domain, size) != 0 || name[size] != '.') {
            return false;
        }
        name += size + 1;
    }
    return name[0] != '\0' && strcmp(name, type) == 0;
}

const vtac_flow_row *vtac_flow_row_of(const Onnx__NodeProto *node)
{
    const char *type = vtac_proto_text(node->op_type), *domain = vtac_plain_domain(node->domain);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (is_row_of(&rows[i], domain, type)) {
            return &rows[i];
        }
    }
    return NULL;
}

/* Before opset 13 Softmax and its kin took all axes from `axis` on at once. */
const vtac_flow_row *vtac_flow_row_in(const Onnx__NodeProto *node, int64_t opset)
{
    const vtac_flow_row *row = vtac_flow_row_of(node);
    if (row == NULL || opset >= 13) {
        return row;
    }
    return row->op == VTA_FLOW_SOFTMAX       ? &rows[VTA_FLOW_SOFTMAX_FLAT]
           : row->op == VTA_FLOW_LOG_SOFTMAX ? &rows[VTA_FLOW_LOG_SOFTMAX_FLAT]
           : row->op == VTA_FLOW_HARDMAX     ? &rows[VTA_FLOW_HARDMAX_FLAT]
                                             : row;
}

static vta_status push_word(vta_vec *words, int64_t word, vta_diag *diag)
{
    return vta_allocated(vta_vec_push(words, &word) != NULL, diag);
}

static int64_t bits_of(double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* One of the words "a,b,c", by number. */
static vta_status word_number(const char *words, size_t size, const vtac_attr *attr, int64_t *out,
                              vta_diag *diag)
{
    const char *given = attr != NULL && attr->kind == VTAC_ATTR_STRING ? attr->s : NULL;
    *out = 0;
    for (const char *p = words; given != NULL && p < words + size;) {
        const size_t length = strcspn(p, ", ");
        if (strlen(given) == length && strncmp(p, given, length) == 0) {
            return VTA_OK;
        }
        ++*out;
        p += length + 1;
    }
    *out = given == NULL ? 0 : *out;
    return given == NULL ? VTA_OK
                         : vta_fail(diag, VTA_UNSUPPORTED, "its '%s' is '%s'; one of %.*s", attr->name, given,
                                    (int)size, words);
}

/* ConstantOfShape's value: its type, the bits of its element. */
static vta_status push_value(const vtac_attr *attr, vta_vec *words, vtac_dtype *dtype, vta_diag *diag)
{
    int64_t bits = 0;
    *dtype = VTAC_F32;
    if (attr != NULL && attr->kind == VTAC_ATTR_TENSOR && attr->tensor.bytes <= sizeof bits) {
        *dtype = attr->tensor.type.dtype;
        memcpy(&bits, attr->tensor.data, attr->tensor.bytes);
    }
    VTA_TRY(push_word(words, vtac_flow_type(*dtype), diag));
    return push_word(words, bits, diag);
}

static vta_status push_list(const vtac_attr *attr, vta_vec *words, vta_diag *diag)
{
    const bool one = attr != NULL && attr->kind == VTAC_ATTR_INT;
    if (attr == NULL || (!one && attr->kind != VTAC_ATTR_INTS)) {
        return push_word(words, -1, diag);
    }
    VTA_TRY(push_word(words, one ? 1 : (int64_t)attr->count, diag));
    for (size_t i = 0; i < (one ? 1 : attr->count); i++) {
        VTA_TRY(push_word(words, one ? attr->i : attr->ints[i], diag));
    }
    return VTA_OK;
}

static vta_status push_text(const vtac_attr *attr, vta_vec *words, vta_diag *diag)
{
    if (attr == NULL || attr->kind != VTAC_ATTR_STRING) {
        return push_word(words, -1, diag);
    }
    const size_t size = strlen(attr->s);
    VTA_TRY(push_word(words, (int64_t)size, diag));
    for (size_t i = 0; i < size; i++) {
        VTA_TRY(push_word(words, attr->s[i], diag));
    }
    return VTA_OK;
}

static vta_status push_texts(vtac_flow_builder *b, const vtac_attr *attr, vta_vec *words, vta_diag *diag)
{
    if (attr == NULL || attr->kind != VTAC_ATTR_STRINGS) {
        return push_word(words, -1, diag);
    }
    VTA_TRY(push_word(words, (int64_t)attr->count, diag));
    for (size_t i = 0; i < attr->count; i++) {
        int64_t number;
        VTA_TRY(vtac_text_number(b->im, attr->strings[i], &number, diag));
        VTA_TRY(push_word(words, number, diag));
    }
    return VTA_OK;
}

static vta_status push_attr(vtac_flow_builder *b, const char *spec, size_t size, const vtac_attr *attr,
                            vta_vec *words, vtac_dtype *from_attrs, vta_diag *diag)
{
    const char *equals = memchr(spec, '=', size);
    int64_t number;
    switch (spec[0]) {
    case 'f':
        return push_word(words,
                         bits_of(attr != NULL && attr->kind == VTAC_ATTR_FLOAT ? attr->f
                                 : equals != NULL                              ? strtod(equals + 1, NULL)
                                                                               : 0),
                         diag);
    case 'I': return push_list(attr, words, diag);
    case 's': return push_text(attr, words, diag);
    case 'S': return push_texts(b, attr, words, diag);
    case 'v': return push_value(attr, words, from_attrs, diag);
    case 'e':
        VTA_TRY(word_number(spec + 2, size - 2, attr, &number, diag));
        return push_word(words, number, diag);
    default:
        return push_word(words,
                         attr != NULL && attr->kind == VTAC_ATTR_INT ? attr->i
                         : equals != NULL                            ? strtoll(equals + 1, NULL, 10)
                                                                     : VTA_FLOW_ABSENT,
                         diag);
    }
}

/* Reads the attribute whose name is the first `size` characters of `name`; attr->name NULL: there is none. */
static vta_status named_attr(vtac_flow_builder *b, const Onnx__NodeProto *node, const vtac_import_place *at,
                             const char *name, size_t size, vtac_attr *attr, vta_diag *diag)
{
    for (size_t i = 0; i < node->n_attribute; i++) {
        const char *own = vtac_proto_text(node->attribute[i]->name);
        const Onnx__AttributeProto *found = vtac_resolve_attr(node->attribute[i], at->caller);
        if (found != NULL && strlen(own) == size && strncmp(own, name, size) == 0) {
            VTA_TRY(vtac_import_attr(b->im, found, attr, diag));
            attr->name = own;
        }
    }
    return VTA_OK;
}

vta_status vtac_flow_words(vtac_flow_builder *b, const vtac_flow_row *row, const Onnx__NodeProto *node,
                           const vtac_import_place *at, vta_vec *words, vtac_dtype *from_attrs,
                           vta_diag *diag)
{
    for (const char *p = row->attrs; *p != '\0';) {
        const size_t whole = strcspn(p, " ");
        const size_t name = strcspn(p, ":");
        vtac_attr attr = {.name = NULL};
        VTA_TRY(named_attr(b, node, at, p, name, &attr, diag));
        VTA_TRY(push_attr(b, p + name + 1, whole - name - 1, attr.name != NULL ? &attr : NULL, words,
                          from_attrs, diag));
        p += whole + (p[whole] == ' ');
    }
    return VTA_OK;
}

/* ---- what `vtac ops` tells */

static const vtac_flow_only only[] = {
    {"If", 1, "", ""},
    {"Loop", 1, "", ""},
    {"Scan", 8, "", ""},
    {"NonZero", 9, "", ""},
    {"Compress", 9, "", ""},
    {"Unique", 11, "", ""},
    {"SequenceEmpty", 11, "", ""},
    {"SequenceConstruct", 11, "", ""},
    {"SequenceInsert", 11, "", ""},
    {"SequenceErase", 11, "", ""},
    {"SequenceAt", 11, "", ""},
    {"SequenceLength", 11, "", ""},
    {"SplitToSequence", 11, "", ""},
    {"ConcatFromSequence", 11, "", ""},
    {"Optional", 15, "", ""},
    {"OptionalHasElement", 15, "", ""},
    {"OptionalGetElement", 15, "", ""},
    {"SequenceMap", 17, "", ""},
    {"StringNormalizer", 10, "the case of ASCII, Latin, Greek and Cyrillic letters", ""},
    {"StringConcat", 20, "", ""},
    {"StringSplit", 20, "", ""},
    {"RegexFullMatch", 20, "RE2's syntax without flags, names and classes of Unicode; on bytes", ""},
    {"ImageDecoder", 20, "PNG, JPEG, BMP, PNM; by the reader that the program sets (vta/model.h)", ""},
    {"Tokenizer", 1, "patterns as RegexFullMatch has them; not on boards", "com.microsoft"},
};

vtac_flow_only vtac_flow_only_get(uint32_t i)
{
    return i < sizeof only / sizeof only[0] ? only[i] : (vtac_flow_only){NULL, 0, "", ""};
}

bool vtac_flow_takes(const char *domain, const char *name)
{
    char own[64];
    const size_t size = strlen(name);
    if (vtac_flow_takes_fused(vtac_plain_domain(domain), name)) {
        return true;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (is_row_of(&rows[i], vtac_plain_domain(domain), name)) {
            return true;
        }
    }
    if (vtac_plain_domain(domain)[0] != '\0' || size >= sizeof own) {
        return false;
    }
    memcpy(own, name, size + 1);
    const Onnx__NodeProto node = {.op_type = own};
    const vtac_op op = vtac_op_find("", name);
    return vtac_flow_is_window(&node) || vtac_flow_is(&node, "RNN") || vtac_flow_is(&node, "GRU") ||
           vtac_flow_is(&node, "LSTM") || (op != VTAC_OP_COUNT && vtac_is_pointwise(op));
}
