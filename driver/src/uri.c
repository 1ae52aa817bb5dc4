/* SPDX-License-Identifier: Apache-2.0
 *
 * Device URIs: SCHEME[:PLACE][?NAME=VALUE[&NAME=VALUE…]]. Whatever is not understood is refused.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "vta/str.h"
#include "vta/uri.h"

vta_status vta_uri_parse(const char *uri, vta_uri *out, vta_diag *diag)
{
    *out = (vta_uri){0};
    out->text = strdup(uri);
    if (out->text == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for device '%s'", uri);
    }
    char *end = out->text + strcspn(out->text, ":?");
    out->scheme = out->text;
    out->place = "";
    if (*end == ':') {
        *end++ = '\0';
        out->place = end;
        end += strcspn(end, "?");
    }
    if (*end == '?') {
        *end++ = '\0';
        out->query = end;
    }
    return VTA_OK;
}

void vta_uri_free(vta_uri *uri)
{
    free(uri->text);
    *uri = (vta_uri){0};
}

static vta_status parse_number(const vta_option *row, const char *value, uint64_t *out, vta_diag *diag)
{
    uint64_t number = 0;
    bool good = *value != '\0';
    for (const char *c = value; good && *c != '\0'; c++) {
        const uint64_t digit = (uint64_t)(unsigned char)*c - '0';
        good = digit <= 9 && number <= (row->max - digit) / 10 && digit <= row->max;
        number = number * 10 + digit;
    }
    if (!good) {
        return vta_fail(diag, VTA_INVALID, "device option '%s=%s': expected a number from 0 to %llu (%s)",
                        row->name, value, (unsigned long long)row->max, row->doc);
    }
    *out = number;
    return VTA_OK;
}

static vta_status set_option(const vta_option *row, void *values, const char *value, vta_diag *diag)
{
    char *member = (char *)values + row->offset;
    uint64_t number = 0;
    if (row->type == VTA_OPTION_TEXT) {
        if (*value == '\0') {
            return vta_fail(diag, VTA_INVALID, "device option '%s' has no value (%s)", row->name, row->doc);
        }
        memcpy(member, &value, sizeof value);
        return VTA_OK;
    }
    VTA_TRY(parse_number(row, value, &number, diag));
    const uint32_t half = (uint32_t)number;
    const bool flag = number != 0;
    switch (row->type) {
    case VTA_OPTION_BOOL: memcpy(member, &flag, sizeof flag); break;
    case VTA_OPTION_U32: memcpy(member, &half, sizeof half); break;
    case VTA_OPTION_U64: memcpy(member, &number, sizeof number); break;
    case VTA_OPTION_TEXT: break;
    }
    return VTA_OK;
}

static vta_status unknown_option(const char *scheme, const char *name, const vta_option_set *sets,
                                 uint32_t set_count, vta_diag *diag)
{
    vta_str list = {0};
    for (uint32_t s = 0; s < set_count; s++) {
        for (uint32_t i = 0; i < sets[s].count; i++) {
            vta_str_printf(&list, "%s'%s'", list.size > 0 ? ", " : "", sets[s].rows[i].name);
        }
    }
    const vta_status status = vta_fail(diag, VTA_INVALID, "device '%s' has no option '%s'; it has %s", scheme,
                                       name, list.text != NULL ? list.text : "none");
    vta_str_free(&list);
    return status;
}

static vta_status apply(vta_uri *uri, char *pair, const vta_option_set *sets, uint32_t set_count,
                        uint64_t *seen, vta_diag *diag)
{
    char *value = strchr(pair, '=');
    if (value == NULL) {
        return vta_fail(diag, VTA_INVALID, "device option '%s' has no value; write '%s=VALUE'", pair, pair);
    }
    *value++ = '\0';
    uint32_t index = 0;
    for (uint32_t s = 0; s < set_count; s++) {
        for (uint32_t i = 0; i < sets[s].count; i++, index++) {
            if (strcmp(sets[s].rows[i].name, pair) != 0) {
                continue;
            }
            if ((*seen >> index & 1) != 0) {
                return vta_fail(diag, VTA_INVALID, "device option '%s' is given twice", pair);
            }
            *seen |= UINT64_C(1) << index;
            return set_option(&sets[s].rows[i], sets[s].values, value, diag);
        }
    }
    return uri->passes_options ? VTA_OK : unknown_option(uri->scheme, pair, sets, set_count, diag);
}

vta_status vta_uri_options(vta_uri *uri, const vta_option_set *sets, uint32_t set_count, vta_diag *diag)
{
    uint64_t seen = 0;
    char *rest = uri->query;
    while (rest != NULL) {
        char *pair = rest;
        rest = strchr(rest, '&');
        if (rest != NULL) {
            *rest++ = '\0';
        }
        VTA_TRY(apply(uri, pair, sets, set_count, &seen, diag));
    }
    return VTA_OK;
}

bool vta_uri_option(const char *uri, const char *name, const char **value, size_t *size)
{
    const size_t name_size = strlen(name);
    const char *pair = strchr(uri, '?');
    while (pair != NULL) {
        pair++;
        const char *next = strchr(pair, '&');
        const size_t pair_size = next != NULL ? (size_t)(next - pair) : strlen(pair);
        if (pair_size > name_size && memcmp(pair, name, name_size) == 0 && pair[name_size] == '=') {
            *value = pair + name_size + 1;
            *size = pair_size - name_size - 1;
            return true;
        }
        pair = next;
    }
    return false;
}

vta_status vta_place_config(const vta_opening *opening, vta_config *out, vta_diag *diag)
{
    if (*opening->place != '\0') {
        return vta_config_load(opening->place, out, diag);
    }
    if (opening->expected != NULL) {
        *out = *opening->expected;
    } else {
        vta_config_default(out);
    }
    return VTA_OK;
}
