/* SPDX-License-Identifier: Apache-2.0
 *
 * A tokenizer.json and, behind a line of four dashes, a text: refused with a sentence, or the text becomes
 * tokens of the tokenizer, and these a text of UTF-8, whole or piece by piece.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "vta/generate.h"
#include "vta/untrusted.h"

static void require_sentence(vta_status status, const vta_diag *diag)
{
    FUZZ_REQUIRE((status == VTA_OK) == (diag->text[0] == '\0'));
    FUZZ_REQUIRE(strchr(diag->text, '\n') == NULL);
}

static void require_utf8(const char *text, size_t size)
{
    for (size_t at = 0; at < size;) {
        uint32_t point;
        const size_t bytes = vta_utf8_character(text + at, size - at, &point);
        FUZZ_REQUIRE(bytes > 0);
        at += bytes;
    }
}

static void stream_tokens(const vta_tokenizer *tokenizer, const uint32_t *ids, size_t count,
                          const char *whole, size_t size)
{
    vta_text_stream *stream = NULL;
    const char *text;
    size_t got;
    size_t at = 0;
    if (vta_text_stream_create(tokenizer, &stream, NULL) != VTA_OK) {
        return;
    }
    for (size_t i = 0; i <= count; i++) {
        const vta_status status = i < count ? vta_text_stream_add(stream, ids[i], &text, &got, NULL)
                                            : vta_text_stream_end(stream, &text, &got, NULL);
        FUZZ_REQUIRE(status == VTA_OK && got <= size - at && memcmp(whole + at, text, got) == 0);
        at += got;
    }
    FUZZ_REQUIRE(at == size);
    vta_text_stream_destroy(stream);
}

static void use_tokenizer(const vta_tokenizer *tokenizer, const char *text, size_t size)
{
    uint32_t *ids = NULL;
    char *back = NULL;
    size_t count;
    size_t length;
    vta_diag diag = {0};
    vta_status status = vta_tokenizer_encode(tokenizer, text, size, 1, &ids, &count, &diag);
    require_sentence(status, &diag);
    if (status != VTA_OK) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        FUZZ_REQUIRE(vta_tokenizer_token(tokenizer, ids[i]) != NULL);
    }
    status = vta_tokenizer_decode(tokenizer, ids, count, &back, &length, &diag);
    require_sentence(status, &diag);
    FUZZ_REQUIRE(status == VTA_OK);
    require_utf8(back, length);
    stream_tokens(tokenizer, ids, count, back, length);
    free(ids);
    free(back);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    static const char line[] = "\n----\n";
    char *all = malloc(size + 1);
    if (all == NULL) {
        return;
    }
    memcpy(all, data, size);
    all[size] = '\0';
    const char *found = strstr(all, line);
    const size_t json = found == NULL ? size : (size_t)(found - all);
    const size_t text = found == NULL ? size : json + sizeof line - 1;
    vta_tokenizer *tokenizer = NULL;
    vta_diag diag = {0};
    require_sentence(vta_tokenizer_parse(all, json, &tokenizer, &diag), &diag);
    if (tokenizer != NULL) {
        use_tokenizer(tokenizer, all + text, size - text);
    }
    vta_tokenizer_destroy(tokenizer);
    free(all);
}
