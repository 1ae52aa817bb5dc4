/* SPDX-License-Identifier: Apache-2.0
 *
 * From the parameters that the host keeps for an operator to the options that the schema has for it.
 */
#include <string.h>

#include "tfl.h"

/* The way in which a field of the host becomes one of the schema. */
typedef enum field_form {
    FORM_END,
    FORM_NUMBER,
    FORM_CODE,    /* a number in a byte */
    FORM_PADDING, /* a byte; the host counts from 1 */
    FORM_TRUTH,
    FORM_REAL,
    FORM_SKIP /* the schema has a field, which nobody reads */
} field_form;

typedef struct field_row {
    field_form form;
    size_t at; /* among the host's */
} field_row;

#define AT(type, member) offsetof(TfLite##type##Params, member)

static const field_row none[] = {{FORM_END, 0}};
static const field_row number[] = {{FORM_NUMBER, 0}, {FORM_END, 0}};
static const field_row block[] = {{FORM_NUMBER, 0}, {FORM_END, 0}};
static const field_row real[] = {{FORM_REAL, 0}, {FORM_END, 0}};
static const field_row softmax[] = {{FORM_REAL, 0}, {FORM_END, 0}};
static const field_row truth[] = {{FORM_TRUTH, 0}, {FORM_END, 0}};
static const field_row activation[] = {{FORM_CODE, 0}, {FORM_END, 0}};
static const field_row pair[] = {
    {FORM_NUMBER, AT(Pair, first)}, {FORM_NUMBER, AT(Pair, second)}, {FORM_END, 0}};
static const field_row concatenation[] = {
    {FORM_NUMBER, AT(Pair, first)}, {FORM_CODE, AT(Pair, second)}, {FORM_END, 0}};
static const field_row truths[] = {
    {FORM_TRUTH, AT(Truth, first)}, {FORM_TRUTH, AT(Truth, second)}, {FORM_END, 0}};
static const field_row bilinear[] = {{FORM_SKIP, 0},
                                     {FORM_SKIP, 0},
                                     {FORM_TRUTH, AT(Truth, first)},
                                     {FORM_TRUTH, AT(Truth, second)},
                                     {FORM_END, 0}};
static const field_row arithmetic[] = {
    {FORM_CODE, AT(Add, activation)}, {FORM_TRUTH, AT(Add, pot_scale_int16)}, {FORM_END, 0}};
static const field_row conv[] = {{FORM_PADDING, AT(Conv, padding)},
                                 {FORM_NUMBER, AT(Conv, stride_width)},
                                 {FORM_NUMBER, AT(Conv, stride_height)},
                                 {FORM_CODE, AT(Conv, activation)},
                                 {FORM_NUMBER, AT(Conv, dilation_width_factor)},
                                 {FORM_NUMBER, AT(Conv, dilation_height_factor)},
                                 {FORM_END, 0}};
static const field_row depthwise[] = {{FORM_PADDING, AT(DepthwiseConv, padding)},
                                      {FORM_NUMBER, AT(DepthwiseConv, stride_width)},
                                      {FORM_NUMBER, AT(DepthwiseConv, stride_height)},
                                      {FORM_NUMBER, AT(DepthwiseConv, depth_multiplier)},
                                      {FORM_CODE, AT(DepthwiseConv, activation)},
                                      {FORM_NUMBER, AT(DepthwiseConv, dilation_width_factor)},
                                      {FORM_NUMBER, AT(DepthwiseConv, dilation_height_factor)},
                                      {FORM_END, 0}};
static const field_row pool[] = {{FORM_PADDING, AT(Pool, padding)},
                                 {FORM_NUMBER, AT(Pool, stride_width)},
                                 {FORM_NUMBER, AT(Pool, stride_height)},
                                 {FORM_NUMBER, AT(Pool, filter_width)},
                                 {FORM_NUMBER, AT(Pool, filter_height)},
                                 {FORM_CODE, AT(Pool, activation)},
                                 {FORM_END, 0}};
static const field_row dense[] = {{FORM_CODE, AT(FullyConnected, activation)},
                                  {FORM_CODE, AT(FullyConnected, weights_format)},
                                  {FORM_TRUTH, AT(FullyConnected, keep_num_dims)},
                                  {FORM_END, 0}};
static const field_row strided_slice[] = {
    {FORM_NUMBER, AT(StridedSlice, begin_mask)},       {FORM_NUMBER, AT(StridedSlice, end_mask)},
    {FORM_NUMBER, AT(StridedSlice, ellipsis_mask)},    {FORM_NUMBER, AT(StridedSlice, new_axis_mask)},
    {FORM_NUMBER, AT(StridedSlice, shrink_axis_mask)}, {FORM_END, 0}};
static const field_row transpose_conv[] = {{FORM_PADDING, AT(TransposeConv, padding)},
                                           {FORM_NUMBER, AT(TransposeConv, stride_width)},
                                           {FORM_NUMBER, AT(TransposeConv, stride_height)},
                                           {FORM_CODE, AT(TransposeConv, activation)},
                                           {FORM_END, 0}};

struct vtac_tfl_op {
    int code, options;
    const field_row *fields;
    bool has_list;
};

static const vtac_tfl_op rows[] = {
#define TFL_OP(code, options, fields, list) {code, options, fields, list},
#include "tfl_ops.def"
#undef TFL_OP
};

const vtac_tfl_op *vtac_tfl_op_find(int code)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].code == code) {
            return &rows[i];
        }
    }
    return NULL;
}

int vtac_tfl_op_options(const vtac_tfl_op *op)
{
    return op->options;
}

static vtac_tfl_field field_of(const field_row *row, const void *params)
{
    const uint8_t *at = (const uint8_t *)params + row->at;
    vtac_tfl_field field = {.kind = VTAC_TFL_BYTE};
    int word = 0;
    bool is_true = false;
    switch (row->form) {
    case FORM_NUMBER:
    case FORM_CODE:
    case FORM_PADDING:
        memcpy(&word, at, sizeof word);
        field.kind = row->form == FORM_NUMBER ? VTAC_TFL_INT : VTAC_TFL_BYTE;
        field.number = row->form == FORM_PADDING ? word - 1 : word;
        break;
    case FORM_TRUTH:
        memcpy(&is_true, at, sizeof is_true);
        field.number = is_true;
        break;
    case FORM_REAL:
        memcpy(&field.real, at, sizeof field.real);
        field.kind = VTAC_TFL_FLOAT;
        break;
    case FORM_SKIP:
    case FORM_END: field.kind = VTAC_TFL_ABSENT; break;
    }
    return field;
}

uint32_t vtac_tfl_op_fields(const vtac_tfl_op *op, const void *params, vtac_tfl_field *fields)
{
    uint32_t count = 0;
    while (params != NULL && op->fields[count].form != FORM_END && count < TFL_MAX_FIELDS) {
        fields[count] = field_of(&op->fields[count], params);
        count++;
    }
    return count;
}

const int32_t *vtac_tfl_op_list(const vtac_tfl_op *op, const void *params, uint32_t *count)
{
    const TfLiteSqueezeParams *list = params;
    *count = 0;
    if (!op->has_list || list == NULL || list->num_squeeze_dims < 0 || list->num_squeeze_dims > 8) {
        return NULL;
    }
    *count = (uint32_t)list->num_squeeze_dims;
    return list->squeeze_dims;
}

int vtac_tfl_type(int type)
{
    static const int8_t types[TFL_TYPES] = {-1, 0,  2,  3,  4,  -1, 6,  7,  -1, 9,
                                            1,  10, -1, 12, -1, -1, 15, 16, -1};
    return type >= 0 && type < TFL_TYPES ? types[type] : -1;
}
