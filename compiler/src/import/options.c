/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const vtac_shape_option *vtac_import_shape(const vtac_import_options *options, const char *name)
{
    for (uint32_t i = 0; options != NULL && i < options->shape_count; i++) {
        if (strcmp(options->shapes[i].name, name) == 0) {
            return &options->shapes[i];
        }
    }
    return NULL;
}

bool vtac_shape_is_for(const char *name, const char *input)
{
    const size_t length = strlen(name);
    return strncmp(input, name, length) == 0 && (input[length] == '\0' || strcmp(input + length, ":0") == 0);
}

void vtac_import_note(const vtac_import_options *options, const char *fmt, ...)
{
    char text[480];
    va_list args;
    if (options == NULL || options->note == NULL) {
        return;
    }
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    options->note(options->context, text);
}
