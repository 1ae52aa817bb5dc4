/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads one flat JSON object: what configurations are. A reader of our own, because this is what ships to
 * boards and to machines without an operating system, and no library for it is there in Debian's cross
 * toolchains.
 */
#ifndef VTA_JSON_H
#define VTA_JSON_H

typedef enum vta_json_kind {
    VTA_JSON_NUMBER,
    VTA_JSON_STRING,
    VTA_JSON_OTHER /* true, false, null, an array or an object: checked, and kept as it stands */
} vta_json_kind;

typedef struct vta_json_item {
    struct vta_json_item *next;
    vta_json_kind kind;
    double number;
    char *key, *text; /* of a STRING its characters, otherwise as it stands in the file */
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
