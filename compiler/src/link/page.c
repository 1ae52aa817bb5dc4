/* SPDX-License-Identifier: Apache-2.0
 *
 * A model for WebAssembly as one page that needs no server: the page of runtime/wasm with the binding and the
 * module, as base64, in it. A language model's is one in which one talks with it, with its tokenizer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "vta/fail.h"
#include "vta/file.h"
#include "vta/str.h"
#include "vtac/codegen.h"
#include "wasm.h"

#define PAGE_LIMIT ((size_t)1 << 30)

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

/* The parts of a page. */
typedef struct page_parts {
    uint8_t *module, *tokenizer; /* tokenizer NULL: the model is shown, and nobody talks with it */
    size_t module_bytes, tokenizer_bytes;
    const char *settings; /* JSON of the page of a model that is no language model */
} page_parts;

enum { MAX_PATH = 4096 };

/* The tokenizer.json beside the page, if there is one. */
static vta_status read_tokenizer(const char *page, page_parts *parts, vta_diag *diag)
{
    char path[MAX_PATH];
    struct stat about;
    const char *slash = strrchr(page, '/');
    const int size =
        snprintf(path, sizeof path, "%.*stokenizer.json", slash == NULL ? 0 : (int)(slash - page + 1), page);
    const bool there = size > 0 && size < MAX_PATH && stat(path, &about) == 0;
    return there ? vta_file_read(path, PAGE_LIMIT, &parts->tokenizer, &parts->tokenizer_bytes, diag) : VTA_OK;
}

/* JSON within a page: no text of it may end the element that it stands in. */
static void put_json(vta_str *to, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        bytes[i] == '<' ? vta_str_printf(to, "\\u003c") : vta_str_append(to, &bytes[i], 1);
    }
}

static void put_page(vta_str *to, const page_parts *parts)
{
    const bool talks = parts->tokenizer != NULL;
    const char *rest = put_up_to(to, (const char *)(talks ? vta_wasm_chat : vta_wasm_page), "@MODEL@");
    put_base64(to, parts->module, parts->module_bytes);
    if (talks) {
        rest = put_up_to(to, rest, "@TOKENIZER@");
        put_json(to, parts->tokenizer, parts->tokenizer_bytes);
    } else {
        rest = put_up_to(to, rest, "@SETTINGS@");
        put_json(to, (const uint8_t *)parts->settings, strlen(parts->settings));
    }
    rest = put_up_to(to, rest, "@BINDING@");
    vta_str_printf(to, "%s", (const char *)vta_wasm_binding);
    if (talks) {
        rest = put_up_to(to, rest, "@GENERATOR@");
        vta_str_printf(to, "%s", (const char *)vta_wasm_generator);
    }
    vta_str_printf(to, "%s", rest);
}

vta_status vtac_write_page(const char *module, bool carries, const char *settings, const char *path,
                           vta_diag *diag)
{
    page_parts parts = {.settings = settings != NULL ? settings : "{}"};
    vta_str text = {0};
    vta_status status = vta_file_read(module, PAGE_LIMIT, &parts.module, &parts.module_bytes, diag);
    if (status == VTA_OK && carries) {
        status = read_tokenizer(path, &parts, diag);
    }
    if (status == VTA_OK) {
        put_page(&text, &parts);
        char *whole = vta_str_take(&text);
        status = whole != NULL ? vta_file_write(path, whole, strlen(whole), diag) : vta_no_memory(diag);
        free(whole);
    }
    free(parts.module);
    free(parts.tokenizer);
    return status;
}
