/* SPDX-License-Identifier: Apache-2.0
 *
 * A model for WebAssembly as one page that needs no server: the page of runtime/wasm with the binding and the
 * module, as base64, in it.
 */
#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"
#include "vta/file.h"
#include "vta/str.h"
#include "wasm.h"

bool vtac_is_page(const char *path)
{
    const size_t size = strlen(path);
    return size > 5 && strcmp(path + size - 5, ".html") == 0;
}

static void put_base64(vta_str *to, const uint8_t *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char line[77];
    size_t count = 0;
    for (size_t i = 0; i < size; i += 3) {
        const size_t left = size - i;
        const uint32_t word = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                              (left > 2 ? bytes[i + 2] : 0);
        for (uint32_t k = 0; k < 4; k++) {
            const char *digit = k <= left ? &digits[word >> (18 - 6 * k) & 63] : "=";
            line[count++] = *digit;
        }
        if (count == 76 || left <= 3) {
            line[count] = '\0';
            vta_str_printf(to, "%s\n", line);
            count = 0;
        }
    }
}

/* Copies the page's text up to `word`; returns the text behind `word`. */
static const char *put_up_to(vta_str *to, const char *text, const char *word)
{
    const char *at = strstr(text, word);
    at = at != NULL ? at : text + strlen(text);
    vta_str_printf(to, "%.*s", (int)(at - text), text);
    return *at != '\0' ? at + strlen(word) : at;
}

vta_status vtac_write_page(const char *module, const char *path, vta_diag *diag)
{
    const size_t limit = (size_t)1 << 30;
    uint8_t *bytes;
    size_t size;
    VTA_TRY(vta_file_read(module, limit, &bytes, &size, diag));
    vta_str text = {0};
    const char *rest = put_up_to(&text, (const char *)vta_wasm_page, "@MODEL@");
    put_base64(&text, bytes, size);
    rest = put_up_to(&text, rest, "@BINDING@");
    vta_str_printf(&text, "%s%s", (const char *)vta_wasm_binding, rest);
    free(bytes);
    char *whole = vta_str_take(&text);
    const vta_status status =
        whole != NULL ? vta_file_write(path, whole, strlen(whole), diag) : vta_no_memory(diag);
    free(whole);
    return status;
}
