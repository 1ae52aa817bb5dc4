/* SPDX-License-Identifier: Apache-2.0
 *
 * What both readers of JSON leave alike. See json.h.
 */
#include "json.h"

#include <stdlib.h>

void vta_json_free(vta_json_item *items)
{
    while (items != NULL) {
        vta_json_item *next = items->next;
        free(items->key);
        free(items->text);
        free(items);
        items = next;
    }
}
