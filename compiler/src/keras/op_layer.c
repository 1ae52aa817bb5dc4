/* SPDX-License-Identifier: Apache-2.0
 *
 * TensorFlowOpLayer: an operation of TensorFlow that Keras of TensorFlow 2.0 to 2.3 wrapped in a layer. Its
 * node's inputs that are no tensors are in "constants", by their number; what else it needs are the node's
 * attributes, whose 64-bit numbers are texts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keras.h"

static const cJSON *constant_input(const vtac_keras *k, uint32_t i)
{
    char key[16];
    (void)snprintf(key, sizeof key, "%u", i);
    return cJSON_GetObjectItemCaseSensitive(vtac_keras_option(k, "constants"), key);
}

static const cJSON *node_attribute(const vtac_keras *k, const char *name)
{
    const cJSON *all = cJSON_GetObjectItemCaseSensitive(vtac_keras_option(k, "node_def"), "attr");
    const cJSON *attr = cJSON_GetObjectItemCaseSensitive(all, name);
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(attr, "list");
    return list != NULL ? cJSON_GetObjectItemCaseSensitive(list, "i") : attr == NULL ? NULL : attr->child;
}

void vtac_keras_take_constants(vtac_keras *k)
{
    const cJSON *constants = vtac_keras_option(k, "constants");
    if (!cJSON_IsObject(constants) || !cJSON_IsObject(vtac_keras_option(k, "node_def"))) {
        return;
    }
    vtac_keras_operand all[KERAS_MAX_INPUTS];
    uint32_t tensors = 0;
    uint32_t count = 0;
    for (; count < KERAS_MAX_INPUTS && (tensors < k->operand_count || constant_input(k, count) != NULL);
         count++) {
        const cJSON *item = constant_input(k, count);
        all[count] = item == NULL           ? k->operands[tensors++]
                     : cJSON_IsNumber(item) ? (vtac_keras_operand){.number = item->valuedouble}
                                            : (vtac_keras_operand){.list = item};
    }
    memcpy(k->operands, all, count * sizeof *all);
    k->operand_count = count;
}

/* An option of the function, by the name that other kinds of files give it. */
const cJSON *vtac_keras_node_option(const vtac_keras *k, const char *name)
{
    static const char *const inputs[] = {"axis", "shape", "perm", "size", "multiples", "paddings"};
    static const char *const attributes[][2] = {{"keepdims", "keep_dims"},
                                                {"axis", "squeeze_dims"},
                                                {"axis", "axis"},
                                                {"alpha", "alpha"},
                                                {"block_size", "block_size"}};
    if (!cJSON_IsObject(vtac_keras_option(k, "node_def"))) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
        const cJSON *found = strcmp(attributes[i][0], name) == 0 ? node_attribute(k, attributes[i][1]) : NULL;
        if (found != NULL) {
            return found;
        }
    }
    const cJSON *last = NULL;
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        for (uint32_t n = 0; strcmp(inputs[i], name) == 0 && n < KERAS_MAX_INPUTS; n++) {
            last = constant_input(k, n) != NULL ? constant_input(k, n) : last;
        }
    }
    return last;
}

static int64_t mask_of(const vtac_keras *k, const char *name)
{
    const cJSON *item = node_attribute(k, name);
    return item == NULL ? 0 : vtac_keras_whole(item);
}

/* Entry i of the brackets that the node's begin, end, strides and masks stand for. */
static cJSON *entry_of(const vtac_keras *k, int i)
{
    static const char *const names[] = {"start", "stop", "step"};
    static const char *const open[] = {"begin_mask", "end_mask", ""};
    if (mask_of(k, "ellipsis_mask") >> i & 1) {
        return cJSON_CreateString("Ellipsis");
    }
    if (mask_of(k, "new_axis_mask") >> i & 1) {
        return cJSON_CreateNull();
    }
    if (mask_of(k, "shrink_axis_mask") >> i & 1) {
        return cJSON_CreateNumber((double)vtac_keras_whole(cJSON_GetArrayItem(constant_input(k, 1), i)));
    }
    cJSON *entry = cJSON_CreateObject();
    for (uint32_t n = 0; n < 3; n++) {
        const cJSON *bound = cJSON_GetArrayItem(constant_input(k, n + 1), i);
        if (bound != NULL && (mask_of(k, open[n]) >> i & 1) == 0) {
            (void)cJSON_AddNumberToObject(entry, names[n], (double)vtac_keras_whole(bound));
        }
    }
    return entry;
}

vtac_id vtac_keras_strided_slice(vtac_keras *k, vtac_id x)
{
    const int count = cJSON_GetArraySize(constant_input(k, 1));
    if (constant_input(k, 0) != NULL || count < 1 || count > 2 * VTAC_MAX_RANK) {
        vtac_make_refuse(&k->maker, "a slice whose bounds the run finds");
        return 0;
    }
    cJSON *spec = cJSON_CreateArray();
    for (int i = 0; i < count && spec != NULL; i++) {
        (void)cJSON_AddItemToArray(spec, entry_of(k, i));
    }
    const vtac_id y = vtac_keras_item(k, x, spec);
    cJSON_Delete(spec);
    return y;
}

/* True if a node that resizes counts places from the corner of a pixel, not from its middle. */
bool vtac_keras_counts_corners(const vtac_keras *k)
{
    return cJSON_IsObject(vtac_keras_option(k, "node_def")) &&
           !cJSON_IsTrue(node_attribute(k, "half_pixel_centers"));
}

/* The function that a node is, as functions are called elsewhere; a node written as bytes has no name here.
 */
bool vtac_keras_node_name(const cJSON *config, char *out, size_t size)
{
    static const char *const same[][2] = {{"add_v2", "add"},
                                          {"bias_add", "add"},
                                          {"real_div", "divide"},
                                          {"concat_v2", "concat"},
                                          {"batch_mat_mul_v2", "matmul"},
                                          {"batch_mat_mul", "matmul"},
                                          {"mat_mul", "matmul"},
                                          {"arg_max", "argmax"},
                                          {"floor_div", "floor_divide"},
                                          {"floor_mod", "mod"},
                                          {"pack", "stack"},
                                          {"reverse_v2", "reverse"},
                                          {"select", "where"},
                                          {"select_v2", "where"}};
    const cJSON *node = cJSON_GetObjectItemCaseSensitive(config, "node_def");
    const cJSON *op = cJSON_GetObjectItemCaseSensitive(node, "op");
    if (!cJSON_IsString(op)) {
        return false;
    }
    vtac_keras_snake_case(op->valuestring, out, size);
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        if (strcmp(out, same[i][0]) == 0) {
            (void)snprintf(out, size, "%s", same[i][1]);
        }
    }
    return true;
}
