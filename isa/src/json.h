/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads one flat JSON object: what configurations are. Through cJSON (json_cjson.c); what ships to boards and
 * to machines without an operating system has a reader of its own (json_small.c, -DVTA_CJSON=OFF), because
 * Debian's cross toolchains have no cJSON. A test holds the small one to the other.
 */
#ifndef VTA_JSON_H
#define VTA_JSON_H

typedef enum vta_json_kind {
    VTA_JSON_NUMBER,
    VTA_JSON_STRING,
    VTA_JSON_OTHER /* true, false, null, an array or an object: checked, and kept as text */
} vta_json_kind;

typedef struct vta_json_item {
    struct vta_json_item *next;
    vta_json_kind kind;
    double number;
    char *key, *text; /* of a STRING its characters, otherwise JSON for a message */
} vta_json_item;

typedef enum vta_json_result {
    VTA_JSON_OK,
    VTA_JSON_SYNTAX,
    VTA_JSON_NO_OBJECT,
    VTA_JSON_NO_MEMORY
} vta_json_result;

/* The members in their order; owned: vta_json_free. After VTA_JSON_SYNTAX, *where is the place in the text.
 * NO_OBJECT: it is JSON, but something else. */
vta_json_result vta_json_read(const char *text, vta_json_item **items, const char **where);
void vta_json_free(vta_json_item *items);

#endif
