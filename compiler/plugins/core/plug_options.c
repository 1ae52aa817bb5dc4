/* SPDX-License-Identifier: Apache-2.0
 *
 * The options of a session, as the host program gives them: texts by name.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plug_internal.h"
#include "vta/fail.h"
#include "vta/str.h"

static const struct option_row {
    const char *name, *standard;
} rows[VTAC_PLUG_OPTION_COUNT] = {
#define VTAC_PLUG_OPTION(id, name, standard, doc) {name, standard},
#include "plug_options.def"
#undef VTAC_PLUG_OPTION
};

const char *vtac_plug_option_name(uint32_t option)
{
    return option < VTAC_PLUG_OPTION_COUNT ? rows[option].name : NULL;
}

const char *vtac_plug_value(const vtac_plug *plug, vtac_plug_option option)
{
    const char *text = plug->settings.text[option];
    return text != NULL ? text : rows[option].standard;
}

static uint32_t option_of(const char *name)
{
    uint32_t option = 0;
    while (option < VTAC_PLUG_OPTION_COUNT && strcmp(rows[option].name, name) != 0) {
        option++;
    }
    return option;
}

static vta_status refuse_name(const char *name, vta_diag *diag)
{
    const char *names[VTAC_PLUG_OPTION_COUNT];
    vta_str known = {0};
    for (uint32_t i = 0; i < VTAC_PLUG_OPTION_COUNT; i++) {
        names[i] = rows[i].name;
        vta_str_printf(&known, "%s%s", i > 0 ? ", " : "", rows[i].name);
    }
    const char *nearest = vta_nearest(name, names, VTAC_PLUG_OPTION_COUNT);
    (void)vta_fail(diag, VTA_INVALID, "unknown option '%s'%s%s%s; known are %s", name,
                   nearest != NULL ? ": did you mean '" : "", nearest != NULL ? nearest : "",
                   nearest != NULL ? "'?" : "", known.text != NULL ? known.text : "");
    vta_str_free(&known);
    return VTA_INVALID;
}

/* A number from 0 to `limit`; whole unless `parts`. */
static bool is_number(const char *text, double limit, bool parts)
{
    char *end = NULL;
    errno = 0;
    const double value = strtod(text, &end);
    return end != text && *end == '\0' && errno == 0 && value >= 0 && value <= limit &&
           (parts || value == (double)(uint32_t)value);
}

static vta_status check_value(uint32_t option, const char *value, vta_diag *diag)
{
    if (option == VTAC_PLUG_OFFLOAD && strcmp(value, "pays") != 0 && strcmp(value, "all") != 0) {
        return vta_fail(diag, VTA_INVALID, "option 'offload' takes pays or all, not '%s'", value);
    }
    if (option == VTAC_PLUG_LOG && strcmp(value, "failures") != 0 && strcmp(value, "all") != 0) {
        return vta_fail(diag, VTA_INVALID, "option 'log' takes failures or all, not '%s'", value);
    }
    if (option == VTAC_PLUG_THREADS && !is_number(value, 1024, false)) {
        return vta_fail(diag, VTA_INVALID, "option 'threads' takes 0 to 1024, not '%s'", value);
    }
    if (option == VTAC_PLUG_TIMEOUT && !is_number(value, 1e6, true)) {
        return vta_fail(diag, VTA_INVALID, "option 'timeout' takes 0 to 1000000 seconds, not '%s'", value);
    }
    return VTA_OK;
}

vta_status vtac_plug_set(vtac_plug_settings *settings, const char *name, const char *value, vta_diag *diag)
{
    const uint32_t option = option_of(name);
    if (option == VTAC_PLUG_OPTION_COUNT) {
        return refuse_name(name, diag);
    }
    VTA_TRY(check_value(option, value, diag));
    char *text = strdup(value);
    VTA_TRY(vta_allocated(text != NULL, diag));
    free(settings->text[option]);
    settings->text[option] = text;
    return VTA_OK;
}

void vtac_plug_settings_free(vtac_plug_settings *settings)
{
    for (uint32_t i = 0; i < VTAC_PLUG_OPTION_COUNT; i++) {
        free(settings->text[i]);
        settings->text[i] = NULL;
    }
}
