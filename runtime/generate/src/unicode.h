/* SPDX-License-Identifier: Apache-2.0
 *
 * What Unicode says of a character. The tables are made when the library is built (unicode.py).
 */
#ifndef VTA_GENERATE_UNICODE_H
#define VTA_GENERATE_UNICODE_H

#include <stdbool.h>
#include <stdint.h>

#include "vta/status.h"
#include "vta/str.h"

/* The bit of the general category of a code point. */
uint32_t vta_unicode_category(uint32_t point);
/* The bits of the categories that a name stands for ("L", "Lu"); 0: none has this name. */
uint32_t vta_unicode_categories(const char *name, size_t size);
bool vta_unicode_is_space(uint32_t point);

/* Adds a code point as UTF-8. */
void vta_unicode_append(vta_str *out, uint32_t point);

typedef enum vta_unicode_form { VTA_FORM_NFC, VTA_FORM_NFD, VTA_FORM_NFKC, VTA_FORM_NFKD } vta_unicode_form;

/* Adds a text in one of Unicode's normal forms. */
vta_status vta_unicode_normalize(vta_unicode_form form, const char *text, size_t size, vta_str *out,
                                 vta_diag *diag);

#endif
