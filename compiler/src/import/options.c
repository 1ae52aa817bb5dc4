/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <stdarg.h>
#include <stdio.h>

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
