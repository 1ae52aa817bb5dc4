/* SPDX-License-Identifier: Apache-2.0
 *
 * The boards' reader of JSON against cJSON: random objects are read alike, and of damaged ones it takes none
 * that cJSON refuses or reads otherwise.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "json.h"
#include "seed.h"
#include "vta/str.h"

/* json_small.c, compiled for this test under this name. */
vta_json_result small_json_read(const char *text, vta_json_item **items, const char **where);

enum { OBJECTS = 4000, MEMBERS = 8, DAMAGES = 20 };

static uint64_t seed;

static const char *pick(rng *r, const char *const *words, size_t count)
{
    return words[rng_below(r, (uint32_t)count)];
}

static void put_space(rng *r, vta_str *out)
{
    static const char *const spaces[] = {"", "", "", " ", "\n", "\t ", "\r\n", "  "};
    vta_str_put(out, pick(r, spaces, sizeof spaces / sizeof spaces[0]));
}

static void put_string(rng *r, vta_str *out)
{
    static const char *const parts[] = {
        "a",       "LOG_", "Z9",     "\xc3\xa4",       "\xe2\x82\xac", "\\n",
        "\\\"",    "\\\\", "\\/",    "\\b\\f",         "\\t\\r",       "\\u0041",
        "\\u20AC", " ",    "{[:,]}", "\\ud83d\\ude00", "\\u00e4",      "'"};
    vta_str_put(out, "\"");
    for (uint32_t n = rng_below(r, 6); n > 0; n--) {
        vta_str_put(out, pick(r, parts, sizeof parts / sizeof parts[0]));
    }
    vta_str_put(out, "\"");
}

static void put_number(rng *r, vta_str *out)
{
    static const char *const exponents[] = {"", "", "e3", "E-2", "e+1", "E0"};
    vta_str_printf(out, "%s%u", rng_percent(r, 30) ? "-" : "", (unsigned)rng_below(r, 5000));
    if (rng_percent(r, 30)) {
        vta_str_printf(out, ".%u", (unsigned)rng_below(r, 1000));
    }
    vta_str_put(out, pick(r, exponents, sizeof exponents / sizeof exponents[0]));
}

static void put_value(rng *r, vta_str *out, int depth);

static void put_list(rng *r, vta_str *out, int depth, bool object)
{
    const uint32_t count = rng_below(r, 4);
    vta_str_put(out, object ? "{" : "[");
    put_space(r, out);
    for (uint32_t i = 0; i < count; i++) {
        vta_str_put(out, i == 0 ? "" : ",");
        put_space(r, out);
        if (object) {
            put_string(r, out);
            put_space(r, out);
            vta_str_put(out, ":");
        }
        put_value(r, out, depth + 1);
    }
    vta_str_put(out, object ? "}" : "]");
}

static void put_value(rng *r, vta_str *out, int depth)
{
    static const char *const words[] = {"true", "false", "null"};
    put_space(r, out);
    switch (rng_below(r, depth > 3 ? 3 : 5)) {
    case 0: put_number(r, out); break;
    case 1: put_string(r, out); break;
    case 2: vta_str_put(out, pick(r, words, 3)); break;
    default: put_list(r, out, depth, rng_percent(r, 50)); break;
    }
    put_space(r, out);
}

static char *random_object(rng *r)
{
    vta_str out = {0};
    const uint32_t members = rng_below(r, MEMBERS);
    put_space(r, &out);
    vta_str_put(&out, "{");
    put_space(r, &out);
    for (uint32_t i = 0; i < members; i++) {
        vta_str_put(&out, i == 0 ? "" : ",");
        put_space(r, &out);
        put_string(r, &out);
        put_space(r, &out);
        vta_str_put(&out, ":");
        put_value(r, &out, 0);
    }
    vta_str_put(&out, "}");
    put_space(r, &out);
    char *text = vta_str_take(&out);
    assert_non_null(text);
    return text;
}

static void expect_same(const vta_json_item *a, const vta_json_item *b)
{
    for (; a != NULL && b != NULL; a = a->next, b = b->next) {
        assert_int_equal(a->kind, b->kind);
        assert_string_equal(a->key, b->key);
        assert_memory_equal(&a->number, &b->number, sizeof a->number);
        if (a->kind == VTA_JSON_STRING) {
            assert_string_equal(a->text, b->text);
        }
    }
    assert_true(a == NULL && b == NULL);
}

/* Reads `text` both ways. Whether the small reader takes it; then cJSON must have read the same. */
static bool both_read(const char *text)
{
    const char *where;
    vta_json_item *small;
    vta_json_item *large;
    const vta_json_result a = small_json_read(text, &small, &where);
    assert_true(where >= text && where <= text + strlen(text));
    const vta_json_result b = vta_json_read(text, &large, &where);
    if (a != VTA_JSON_SYNTAX && a != b) {
        print_error("read otherwise, %d and %d: %s\n", (int)a, (int)b, text);
    }
    assert_true(a == VTA_JSON_SYNTAX || a == b);
    if (a == VTA_JSON_OK) {
        expect_same(small, large);
    }
    vta_json_free(small);
    vta_json_free(large);
    return a == VTA_JSON_OK;
}

static void reads_alike(void **state)
{
    (void)state;
    rng r = rng_split(seed, 1);
    for (int n = 0; n < OBJECTS; n++) {
        char *text = random_object(&r);
        if (!both_read(text)) {
            fail_msg("refused: %s", text);
        }
        free(text);
    }
}

static void damage(rng *r, char *text)
{
    static const char marks[] = "{}[]:,\"\\u0123eE+-. tfn\n\x01\x80";
    const uint32_t size = (uint32_t)strlen(text);
    const uint32_t at = rng_below(r, size);
    switch (rng_below(r, 3)) {
    case 0: text[at] = marks[rng_below(r, sizeof marks - 1)]; break;
    case 1: memmove(text + at, text + at + 1, size - at); break;
    default: text[at] = '\0'; break;
    }
}

static void takes_no_more(void **state)
{
    (void)state;
    rng r = rng_split(seed, 2);
    unsigned taken = 0;
    unsigned refused = 0;
    for (int n = 0; n < OBJECTS; n++) {
        char *text = random_object(&r);
        for (int k = 0; k < DAMAGES && text[0] != '\0'; k++) {
            damage(&r, text);
            *(both_read(text) ? &taken : &refused) += 1;
        }
        free(text);
    }
    print_message("%u damaged texts taken, %u refused\n", taken, refused);
    assert_true(taken > 0 && refused > 0);
}

int main(void)
{
    seed = test_seed("isa_json");
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_alike), cmocka_unit_test(takes_no_more)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
