/* SPDX-License-Identifier: Apache-2.0 */
#include "flow_words.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *word_by(const vtac_words *w, const char *word)
{
    for (uint32_t i = 0; i < w->name_count; i++) {
        if (strcmp(w->names[i].word, word) == 0) {
            return w->names[i].name;
        }
    }
    return NULL;
}

char *vtac_words_name(const vtac_words *w, const char *word)
{
    return word_by(w, word);
}

void vtac_words_set(vtac_words *w, const char *word, char *name)
{
    uint32_t i = 0;
    while (i < w->name_count && strcmp(w->names[i].word, word) != 0) {
        i++;
    }
    if (i == VTAC_WORDS_NAMES || strlen(word) >= sizeof w->names[i].word || name == NULL) {
        w->make.failed = true;
        return;
    }
    if (i == w->name_count) {
        (void)snprintf(w->names[w->name_count++].word, sizeof w->names[i].word, "%s", word);
    }
    w->names[i].name = name;
}

bool vtac_words_has(const vtac_words *w, size_t input)
{
    const Onnx__NodeProto *node = w->item->node;
    return input < node->n_input && vtac_proto_text(node->input[input])[0] != '\0';
}

void vtac_words_input(vtac_words *w, const char *word, size_t input)
{
    if (vtac_words_has(w, input)) {
        vtac_words_set(w, word, w->item->node->input[input]);
        return;
    }
    w->missing = w->missing == 0 ? input + 1 : w->missing;
    w->make.failed = true;
}

int64_t vtac_words_int(const vtac_words *w, const char *name, int64_t otherwise)
{
    const Onnx__AttributeProto *attr = vtac_proto_attr(w->item->node, name);
    attr = attr != NULL ? vtac_resolve_attr(attr, w->item->at.caller) : NULL;
    return attr != NULL ? attr->i : otherwise;
}

bool vtac_words_is(const vtac_words *w, const char *name, const char *text)
{
    const Onnx__AttributeProto *attr = vtac_proto_attr(w->item->node, name);
    attr = attr != NULL ? vtac_resolve_attr(attr, w->item->at.caller) : NULL;
    return attr != NULL && attr->s.len == strlen(text) && memcmp(attr->s.data, text, attr->s.len) == 0;
}

int vtac_words_rank(const vtac_words *w, size_t input)
{
    const vtac_flow_value *v = vtac_flow_input(w->w->b, w->item, input);
    if (v != NULL && v->known) {
        return (int)v->type.rank;
    }
    const Onnx__TensorShapeProto *shape =
        vtac_words_has(w, input) ? vtac_flow_declared(w->w->b, w->item->node->input[input]) : NULL;
    return shape != NULL ? (int)shape->n_dim : v != NULL && v->has_row ? (int)v->row.rank + 1 : -1;
}

vtac_dtype vtac_words_dtype(const vtac_words *w, size_t input)
{
    const vtac_flow_value *v = vtac_flow_input(w->w->b, w->item, input);
    return v != NULL ? v->dtype : VTAC_F32;
}

/* ---- the text */

static char *fresh_name(vtac_words *w)
{
    return vtac_fm_name(&w->make, "word", (int)(w->w->b->words++ & INT32_MAX));
}

static Onnx__NodeProto *add_node(vtac_words *w, const char *type, size_t inputs, size_t outputs)
{
    Onnx__NodeProto *node = vtac_fm_node(&w->make, type, inputs, outputs);
    w->make.failed = w->make.failed || node == NULL || vta_vec_push(&w->nodes, &node) == NULL;
    return w->make.failed ? NULL : node;
}

static Onnx__TensorProto *add_constant(vtac_words *w, int32_t type, char **name)
{
    Onnx__NodeProto *node = add_node(w, "Constant", 0, 1);
    Onnx__TensorProto *t = vtac_fm_tensor(&w->make, node, type);
    *name = fresh_name(w);
    if (w->make.failed) {
        return NULL;
    }
    node->output[0] = *name;
    return t;
}

/* "[1,2]" as integers. */
static int64_t *list_of(vtac_words *w, const char *text, size_t *count)
{
    int64_t *list = vtac_fm_room(&w->make, strlen(text), sizeof *list);
    *count = 0;
    for (const char *p = text + 1; list != NULL && *p != ']' && *p != '\0';) {
        char *end;
        list[(*count)++] = strtoll(p, &end, 10);
        p = end == p ? p + 1 : *end == ',' ? end + 1 : end;
    }
    return list;
}

static char *integers_constant(vtac_words *w, const char *text)
{
    char *name;
    Onnx__TensorProto *t = add_constant(w, ONNX__TENSOR_PROTO__DATA_TYPE__INT64, &name);
    int64_t *dims = vtac_fm_room(&w->make, 1, sizeof *dims);
    size_t count = 1;
    int64_t *list = text[0] == '[' ? list_of(w, text, &count) : vtac_fm_room(&w->make, 1, sizeof *list);
    if (w->make.failed) {
        return NULL;
    }
    if (text[0] == '[') {
        dims[0] = (int64_t)count;
        t->dims = dims;
        t->n_dims = 1;
    } else {
        list[0] = strtoll(text + 1, NULL, 10);
    }
    t->int64_data = list;
    t->n_int64_data = count;
    return name;
}

int64_t vtac_words_onnx_type(vtac_dtype dtype)
{
    return dtype == VTAC_F64    ? ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE
           : dtype == VTAC_F16  ? ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16
           : dtype == VTAC_BF16 ? ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16
                                : ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
}

static char *number_constant(vtac_words *w, const char *text)
{
    char *name;
    Onnx__TensorProto *t = add_constant(w, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, &name);
    float *value = vtac_fm_room(&w->make, 1, sizeof *value);
    if (w->make.failed) {
        return NULL;
    }
    value[0] = strtof(text + 1, NULL);
    t->float_data = value;
    t->n_float_data = 1;
    Onnx__NodeProto *cast = w->dtype != VTAC_F32 ? add_node(w, "Cast", 1, 1) : NULL;
    if (cast == NULL) {
        return name;
    }
    vtac_fm_set_int(&w->make, cast, "to", vtac_words_onnx_type(w->dtype));
    cast->input[0] = name;
    cast->output[0] = fresh_name(w);
    return cast->output[0];
}

static char *operand_name(vtac_words *w, const char *word)
{
    static char nothing[] = "";
    if (word[0] == '[' || word[0] == '#') {
        return integers_constant(w, word);
    }
    return word[0] == '~' ? number_constant(w, word) : strcmp(word, "_") == 0 ? nothing : word_by(w, word);
}

/* "axis=-1" */
static Onnx__AttributeProto *parse_attribute(vtac_words *w, Onnx__NodeProto *node, char *word)
{
    char *value = strchr(word, '=');
    *value++ = '\0';
    Onnx__AttributeProto *attr = vtac_fm_attr(&w->make, node, word);
    if (attr == NULL) {
        return NULL;
    }
    if (value[0] == '[') {
        attr->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
        attr->ints = list_of(w, value, &attr->n_ints);
    } else if (strchr(value, '.') != NULL) {
        attr->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
        attr->f = strtof(value, NULL);
    } else {
        attr->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
        attr->i = strtoll(value, NULL, 10);
    }
    return attr;
}

enum { MAX_WORDS = 24 };

/* "y z = Op a b axis=1" */
static void parse_statement(vtac_words *w, char *text)
{
    char *words[MAX_WORDS];
    char *inputs[MAX_WORDS];
    Onnx__AttributeProto **list = vtac_fm_room(&w->make, MAX_WORDS, sizeof(Onnx__AttributeProto *));
    size_t count = 0;
    size_t outputs = 0;
    char *rest;
    for (char *p = strtok_r(text, " ", &rest); p != NULL && count < MAX_WORDS;
         p = strtok_r(NULL, " ", &rest)) {
        words[count++] = p;
    }
    while (outputs < count && strcmp(words[outputs], "=") != 0) {
        outputs++;
    }
    if (count == 0) {
        return;
    }
    if (outputs + 1 >= count || outputs == 0) {
        w->make.failed = true;
        return;
    }
    size_t last = outputs + 2;
    for (; last < count && strchr(words[last], '=') == NULL; last++) {
        inputs[last - outputs - 2] = operand_name(w, words[last]);
        w->make.failed = w->make.failed || inputs[last - outputs - 2] == NULL;
    }
    Onnx__NodeProto *node = add_node(w, words[outputs + 1], last - outputs - 2, outputs);
    if (w->make.failed) {
        return;
    }
    memcpy(node->input, inputs, (last - outputs - 2) * sizeof *inputs);
    size_t attrs = 0;
    for (size_t i = last; i < count && !w->make.failed; i++) {
        list[attrs++] = parse_attribute(w, node, words[i]);
    }
    node->attribute = list;
    node->n_attribute = attrs;
    for (size_t i = 0; i < outputs && !w->make.failed; i++) {
        node->output[i] = fresh_name(w);
        vtac_words_set(w, words[i], node->output[i]);
    }
}

void vtac_say(vtac_words *w, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    const int size = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    w->make.failed = w->make.failed || size < 0 || (size_t)size >= sizeof text;
    char *rest;
    for (char *p = strtok_r(text, ";", &rest); p != NULL && !w->make.failed; p = strtok_r(NULL, ";", &rest)) {
        parse_statement(w, p);
    }
}

void vtac_words_domain(vtac_words *w, const char *domain)
{
    char *kept = vta_arena_string(&w->make.b->im->graph->arena, domain, strlen(domain));
    w->make.failed = w->make.failed || kept == NULL || w->nodes.count == 0;
    if (!w->make.failed) {
        (*(Onnx__NodeProto **)vta_vec_at(&w->nodes, w->nodes.count - 1))->domain = kept;
    }
}

/* ---- pieces */

Onnx__NodeProto *vtac_words_node(vtac_words *w, const char *domain, const char *type, size_t inputs,
                                 size_t outputs)
{
    Onnx__NodeProto *node = add_node(w, type, inputs, outputs);
    for (size_t i = 0; node != NULL && i < outputs; i++) {
        node->output[i] = fresh_name(w);
    }
    if (node != NULL && domain[0] != '\0') {
        vtac_words_domain(w, domain);
    }
    return w->make.failed ? NULL : node;
}

/* The list of attributes with one more, to be filled in; NULL without memory. */
static Onnx__AttributeProto *append_attribute(vtac_words *w, Onnx__NodeProto *node, const char *name)
{
    const size_t count = node->n_attribute;
    Onnx__AttributeProto **list = vtac_fm_room(&w->make, count + 1, sizeof(Onnx__AttributeProto *));
    Onnx__AttributeProto **before = node->attribute;
    Onnx__AttributeProto *attr = list == NULL ? NULL : vtac_fm_attr(&w->make, node, name);
    if (attr == NULL) {
        return NULL;
    }
    if (count > 0) {
        memcpy(list, before, count * sizeof(Onnx__AttributeProto *));
    }
    list[count] = attr;
    node->attribute = list;
    node->n_attribute = count + 1;
    return attr;
}

void vtac_words_attribute(vtac_words *w, Onnx__NodeProto *node, const vtac_attr *from)
{
    Onnx__AttributeProto *attr = w->make.failed ? NULL : append_attribute(w, node, from->name);
    if (attr == NULL) {
        return;
    }
    int64_t *ints = from->kind == VTAC_ATTR_INTS ? vtac_fm_room(&w->make, from->count, sizeof *ints) : NULL;
    if (vtac_names_a_type(from->name) && from->kind == VTAC_ATTR_STRING) {
        attr->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
        attr->i = vtac_export_dtype(vtac_dtype_parse(from->s));
    } else if (from->kind == VTAC_ATTR_INT) {
        attr->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
        attr->i = from->i;
    } else if (from->kind == VTAC_ATTR_FLOAT) {
        attr->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
        attr->f = (float)from->f;
    } else if (from->kind == VTAC_ATTR_STRING) {
        attr->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING;
        attr->s.len = strlen(from->s);
        attr->s.data = (uint8_t *)vta_arena_string(&w->make.b->im->graph->arena, from->s, attr->s.len);
        w->make.failed = w->make.failed || attr->s.data == NULL;
    } else if (ints != NULL) {
        attr->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
        memcpy(ints, from->ints, from->count * sizeof *ints);
        attr->ints = ints;
        attr->n_ints = from->count;
    }
}

char *vtac_words_number(vtac_words *w, vtac_dtype dtype, double value)
{
    char *name;
    Onnx__TensorProto *t = add_constant(w, ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE, &name);
    double *room = vtac_fm_room(&w->make, 1, sizeof *room);
    if (w->make.failed) {
        return NULL;
    }
    room[0] = value;
    t->double_data = room;
    t->n_double_data = 1;
    Onnx__NodeProto *cast = dtype == VTAC_F64 ? NULL : add_node(w, "Cast", 1, 1);
    if (cast == NULL) {
        return w->make.failed ? NULL : name;
    }
    vtac_fm_set_int(&w->make, cast, "to", vtac_export_dtype(dtype));
    cast->input[0] = name;
    cast->output[0] = fresh_name(w);
    return cast->output[0];
}

char *vtac_words_ints(vtac_words *w, const int64_t *values, size_t count)
{
    char *name;
    Onnx__TensorProto *t = add_constant(w, ONNX__TENSOR_PROTO__DATA_TYPE__INT64, &name);
    int64_t *room = vtac_fm_room(&w->make, count + 1, sizeof *room);
    if (w->make.failed) {
        return NULL;
    }
    room[0] = (int64_t)count;
    memcpy(room + 1, values, count * sizeof *values);
    t->dims = room;
    t->n_dims = 1;
    t->int64_data = room + 1;
    t->n_int64_data = count;
    return name;
}
