/* SPDX-License-Identifier: Apache-2.0 */
#include "vta/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "vta/untrusted.h"

static const char *const texts[] = {
#define VTA_STATUS(name, text) [VTA_##name] = (text),
#include "vta/status.def"
#undef VTA_STATUS
};
_Static_assert(sizeof texts / sizeof texts[0] == VTA_STATUS_COUNT, "one text per status");

const char *vta_status_text(vta_status status)
{
    return (unsigned)status < VTA_STATUS_COUNT ? texts[status] : "unknown status";
}

const char *vta_version(void)
{
    return VTA_RELEASE;
}

/* Names out of files may hold anything: a message stays one line that a terminal can show. */
static void make_line(char *text)
{
    const size_t size = strlen(text);
    (void)vta_make_plain(text, size, text, size + 1);
}

vta_status(vta_fail)(vta_diag *diag, vta_status code, const char *fmt, ...)
{
    if (diag != NULL && diag->code == VTA_OK) {
        va_list args;
        va_start(args, fmt);
        (void)vsnprintf(diag->text, sizeof diag->text, fmt, args);
        va_end(args);
        make_line(diag->text);
        diag->code = code;
    }
    return code;
}

vta_status vta_context(vta_diag *diag, const char *fmt, ...)
{
    if (diag == NULL) {
        return VTA_INVALID;
    }
    if (diag->code == VTA_OK) {
        return VTA_OK;
    }
    char prefix[sizeof diag->text];
    va_list args;
    va_start(args, fmt);
    const int wrote = vsnprintf(prefix, sizeof prefix, fmt, args);
    va_end(args);
    make_line(prefix);
    size_t used = wrote < 0 ? 0 : (size_t)wrote;
    if (used > sizeof prefix - 3) {
        used = sizeof prefix - 3;
    }
    prefix[used++] = ':';
    prefix[used++] = ' ';
    size_t rest = strlen(diag->text);
    if (rest > sizeof diag->text - 1 - used) {
        rest = sizeof diag->text - 1 - used;
    }
    memmove(diag->text + used, diag->text, rest);
    memcpy(diag->text, prefix, used);
    diag->text[used + rest] = '\0';
    return diag->code;
}
