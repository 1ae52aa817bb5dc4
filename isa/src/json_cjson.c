/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the object by cJSON, and keeps what configurations want of it.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "json.h"

static vta_json_kind kind_of(const cJSON *value)
{
    return cJSON_IsNumber(value) ? VTA_JSON_NUMBER : cJSON_IsString(value) ? VTA_JSON_STRING : VTA_JSON_OTHER;
}

/* A copy of the value's text that free() takes. */
static char *text_of(const cJSON *value)
{
    if (cJSON_IsString(value)) {
        return strdup(value->valuestring);
    }
    char *printed = cJSON_PrintUnformatted(value);
    char *text = printed == NULL ? NULL : strdup(printed);
    cJSON_free(printed);
    return text;
}

static vta_json_item *copy_member(const cJSON *value)
{
    vta_json_item *item = calloc(1, sizeof *item);
    if (item == NULL) {
        return NULL;
    }
    item->kind = kind_of(value);
    item->number = item->kind == VTA_JSON_NUMBER ? value->valuedouble : 0.0;
    item->key = strdup(value->string);
    item->text = text_of(value);
    if (item->key == NULL || item->text == NULL) {
        vta_json_free(item);
        return NULL;
    }
    return item;
}

static bool copy_members(const cJSON *object, vta_json_item **items)
{
    vta_json_item **last = items;
    for (const cJSON *value = object->child; value != NULL; value = value->next) {
        *last = copy_member(value);
        if (*last == NULL) {
            return false;
        }
        last = &(*last)->next;
    }
    return true;
}

vta_json_result vta_json_read(const char *text, vta_json_item **items, const char **where)
{
    *items = NULL;
    *where = text;
    cJSON *object = cJSON_ParseWithOpts(text, where, 1);
    if (object == NULL) {
        return VTA_JSON_SYNTAX;
    }
    vta_json_result result = VTA_JSON_NO_OBJECT;
    if (cJSON_IsObject(object)) {
        result = copy_members(object, items) ? VTA_JSON_OK : VTA_JSON_NO_MEMORY;
    }
    cJSON_Delete(object);
    if (result != VTA_JSON_OK) {
        vta_json_free(*items);
        *items = NULL;
    }
    return result;
}
