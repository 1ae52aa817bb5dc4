/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of Keras 1: their classes and options become those that layers have had since Keras 2, and weights
 * that lie gate by gate become one.
 */
#include <string.h>

#include "keras.h"

static const struct {
    const char *old, *now;
} classes[] = {{"Convolution1D", "Conv1D"},       {"Convolution2D", "Conv2D"},
               {"Convolution3D", "Conv3D"},       {"AtrousConvolution1D", "Conv1D"},
               {"AtrousConvolution2D", "Conv2D"}, {"SeparableConvolution2D", "SeparableConv2D"},
               {"TimeDistributedDense", "Dense"}},
  options[] = {{"nb_filter", "filters"},
               {"filter_length", "kernel_size"},
               {"border_mode", "padding"},
               {"subsample", "strides"},
               {"subsample_length", "strides"},
               {"atrous_rate", "dilation_rate"},
               {"pool_length", "pool_size"},
               {"bias", "use_bias"},
               {"inner_activation", "recurrent_activation"}},
  merges[] = {
      {"sum", "Add"}, {"mul", "Multiply"}, {"concat", "Concatenate"}, {"ave", "Average"}, {"max", "Maximum"}};

static cJSON *item_of(cJSON *object, const char *name)
{
    cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNull(item) ? NULL : item;
}

/* The option under its new name as well, unless it is there. */
static void copy_option(cJSON *config, const char *old, const char *now)
{
    const cJSON *item = item_of(config, old);
    if (item != NULL && !cJSON_HasObjectItem(config, now)) {
        (void)cJSON_AddItemToObject(config, now, cJSON_Duplicate(item, true));
    }
}

static void set_class(cJSON *layer, const char *now)
{
    (void)cJSON_ReplaceItemInObjectCaseSensitive(layer, "class_name", cJSON_CreateString(now));
}

/* "Merge" says in its options what it is. */
static void modernize_merge(cJSON *layer, cJSON *config)
{
    const cJSON *mode = item_of(config, "mode");
    for (size_t i = 0; cJSON_IsString(mode) && i < sizeof merges / sizeof merges[0]; i++) {
        if (strcmp(mode->valuestring, merges[i].old) == 0) {
            set_class(layer, merges[i].now);
            copy_option(config, "concat_axis", "axis");
            return;
        }
    }
}

static void modernize_kernel(cJSON *config)
{
    const cJSON *rows = item_of(config, "nb_row");
    const cJSON *columns = item_of(config, "nb_col");
    if (cJSON_IsNumber(rows) && cJSON_IsNumber(columns) && !cJSON_HasObjectItem(config, "kernel_size")) {
        (void)cJSON_AddItemToObject(
            config, "kernel_size",
            cJSON_CreateDoubleArray((double[]){rows->valuedouble, columns->valuedouble}, 2));
    }
    const cJSON *order = item_of(config, "dim_ordering");
    if (cJSON_IsString(order) && !cJSON_HasObjectItem(config, "data_format")) {
        (void)cJSON_AddStringToObject(config, "data_format",
                                      strcmp(order->valuestring, "th") == 0 ? "channels_first"
                                                                            : "channels_last");
    }
}

static void modernize_layer(cJSON *layer, cJSON *config)
{
    const char *class = item_of(layer, "class_name")->valuestring;
    const bool embeds = strcmp(class, "Embedding") == 0;
    if (strcmp(class, "Merge") == 0) {
        modernize_merge(layer, config);
        return;
    }
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        copy_option(config, options[i].old, options[i].now);
    }
    if (!embeds) {
        copy_option(config, "output_dim", "units");
    }
    if (strstr(class, "Pooling1D") != NULL) {
        copy_option(config, "stride", "strides");
    }
    if (strcmp(class, "UpSampling1D") == 0) {
        copy_option(config, "length", "size");
    }
    modernize_kernel(config);
    const cJSON *order = item_of(config, "dim_ordering");
    if (cJSON_IsString(order) && strcmp(order->valuestring, "th") == 0) {
        return; /* whether kernels are turned around, only their backend knew: by its old name it is refused
                 */
    }
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        if (strcmp(class, classes[i].old) == 0) {
            set_class(layer, classes[i].now);
            return;
        }
    }
}

void vtac_keras_modernize(cJSON *item, uint32_t depth)
{
    cJSON *one;
    cJSON *config = item_of(item, "config");
    if (depth > 4 * KERAS_MAX_DEPTH) {
        return;
    }
    if (cJSON_IsObject(item) && cJSON_IsString(item_of(item, "class_name")) && cJSON_IsObject(config)) {
        modernize_layer(item, config);
    }
    cJSON_ArrayForEach(one, item)
    {
        if (cJSON_IsObject(one) || cJSON_IsArray(one)) {
            vtac_keras_modernize(one, depth + 1);
        }
    }
}

/* ---- weights */

/* Weights `first`, first + 3, … side by side, in the order of `gates`. */
static bool join_gates(vtac_keras *k, uint32_t first, const uint32_t *gates, uint32_t count, vtac_tensor *out)
{
    const vtac_tensor *one = &k->weights[first];
    const uint32_t rank = one->type.rank;
    const int64_t width = rank > 0 ? one->type.dim[rank - 1] : 0;
    const int64_t rows = rank == 2 ? one->type.dim[0] : 1;
    float *to = vtac_make_room(&k->maker, (int64_t)count * rows * width, sizeof *to);
    if (to == NULL || rank < 1 || rank > 2) {
        return false;
    }
    for (uint32_t g = 0; g < count; g++) {
        const vtac_tensor *from = &k->weights[first + 3 * gates[g]];
        if (!vtac_type_equal(&from->type, &one->type)) {
            return false;
        }
        for (int64_t r = 0; r < rows; r++) {
            memcpy(to + (r * count + g) * width, (const float *)from->data + r * width,
                   (size_t)width * sizeof *to);
        }
    }
    *out = *one;
    out->type.dim[rank - 1] = count * width;
    out->data = (void *)to;
    return true;
}

/* W, U and b of the gates one after the other become W, U and b of all: i f c o of i c f o; z r h as they
 * are. */
void vtac_keras_old_weights(vtac_keras *k, const char *class)
{
    static const uint32_t lstm[] = {0, 2, 1, 3};
    static const uint32_t gru[] = {0, 1, 2};
    const bool is_lstm = strcmp(class, "LSTM") == 0 && k->weight_count == 12;
    if (is_lstm || (strcmp(class, "GRU") == 0 && k->weight_count == 9)) {
        vtac_tensor joined[3];
        for (uint32_t i = 0; i < 3; i++) {
            if (!join_gates(k, i, is_lstm ? lstm : gru, is_lstm ? 4 : 3, &joined[i])) {
                vtac_make_fail(&k->maker, VTA_INVALID, "its gates have weights of other sizes");
                return;
            }
        }
        memcpy(k->weights, joined, sizeof joined);
        k->weight_count = 3;
    }
    vtac_type *type = &k->weights[0].type;
    if (strcmp(class, "Conv1D") == 0 && k->weight_count > 0 && type->rank == 4 && type->dim[1] == 1) {
        memmove(&type->dim[1], &type->dim[2], 2 * sizeof type->dim[0]);
        type->rank = 3;
    }
}
