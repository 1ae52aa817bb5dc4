/* SPDX-License-Identifier: Apache-2.0
 *
 * Configurations: what is read, what is refused and in which words, what is derived.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "rng.h"
#include "seed.h"
#include "vta/config.h"
#include "vta/file.h"

/* VTA's sample, letter for letter the keys that its tools write. */
static const char vta_sample[] = "{\n"
                                 "  \"TARGET\" : \"pynq\",\n"
                                 "  \"HW_VER\" : \"0.0.2\",\n"
                                 "  \"LOG_INP_WIDTH\" : 3,\n"
                                 "  \"LOG_WGT_WIDTH\" : 3,\n"
                                 "  \"LOG_ACC_WIDTH\" : 5,\n"
                                 "  \"LOG_BATCH\" : 0,\n"
                                 "  \"LOG_BLOCK\" : 4,\n"
                                 "  \"LOG_UOP_BUFF_SIZE\" : 15,\n"
                                 "  \"LOG_INP_BUFF_SIZE\" : 15,\n"
                                 "  \"LOG_WGT_BUFF_SIZE\" : 18,\n"
                                 "  \"LOG_ACC_BUFF_SIZE\" : 17\n"
                                 "}\n";

static void expect_refused(const char *text, vta_status code, const char *message)
{
    vta_config config = {.name = "untouched"};
    vta_diag diag = {0};
    assert_int_equal(vta_config_parse(text, "c.json", &config, &diag), code);
    assert_string_equal(diag.text, message);
    assert_string_equal(config.name, "untouched");
    assert_int_equal(vta_config_parse(text, "c.json", &config, NULL), code);
}

static void vta_sample_loads(void **state)
{
    (void)state;
    vta_config c;
    vta_diag diag = {0};
    assert_int_equal(vta_config_parse(vta_sample, "some/where/vta_config.json", &c, &diag), VTA_OK);
    assert_string_equal(c.name, "vta_config");
    assert_string_equal(c.target, "pynq");
    assert_string_equal(c.hw_ver, "0.0.2");
    assert_int_equal(c.batch, 1);
    assert_int_equal(c.block_in, 16);
    assert_int_equal(c.block_out, 16);
    static const uint32_t depth[VTA_MEM_COUNT] = {8192, 1024, 2048, 2048, 2048, 2048, 128, 1024};
    static const uint32_t bytes[VTA_MEM_COUNT] = {4, 256, 16, 64, 16, 16, 4, 128};
    for (int memory = 0; memory < VTA_MEM_COUNT; memory++) {
        assert_int_equal(c.depth[memory], depth[memory]);
        assert_int_equal(1U << c.log_depth[memory], depth[memory]);
        assert_int_equal(c.elem_bytes[memory], bytes[memory]);
    }
    vta_config pynq;
    vta_config_default(&pynq);
    assert_true(c.hash == pynq.hash);
}

static void default_is_pynq(void **state)
{
    (void)state;
    vta_config made;
    vta_config loaded;
    vta_config_default(&made);
    assert_int_equal(vta_config_load("pynq", &loaded, NULL), VTA_OK);
    char *a = vta_config_to_json(&made);
    char *b = vta_config_to_json(&loaded);
    assert_string_equal(a, b);
    free(a);
    free(b);
    assert_true(made.hash == loaded.hash);
    assert_memory_equal(made.depth, loaded.depth, sizeof made.depth);
}

static void shipped_shapes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t batch, in, out, uop, inp, wgt, acc, bus, queue;
    } want[] = {
        /* clang-format off */
        {"batch2",     2, 8,  8,  8,  8,  7,  7,  64,  16 },
        {"kv260",      1, 32, 16, 13, 11, 6,  11, 128, 64 },
        {"pynq",       1, 16, 16, 13, 11, 10, 11, 64,  512},
        {"pynq512",    1, 32, 16, 13, 11, 9,  11, 64,  64 },
        {"pynq_lm",    1, 16, 16, 13, 11, 10, 11, 64,  512},
        {"rect",       1, 8,  16, 8,  7,  7,  8,  128, 16 },
        {"tiny",       1, 4,  4,  8,  8,  7,  7,  64,  16 },
        {"ultra96",    1, 32, 32, 13, 11, 9,  10, 128, 512},
        {"ultra96_lm", 1, 16, 16, 13, 11, 10, 11, 128, 512},
        {"wide",       1, 32, 32, 13, 11, 9,  11, 512, 512},
        /* clang-format on */
    };
    uint32_t count = 0;
    const char *const *names = vta_config_names(&count);
    assert_int_equal(count, sizeof want / sizeof want[0]);
    for (uint32_t i = 0; i < count; i++) {
        vta_config c;
        vta_diag diag = {0};
        assert_string_equal(names[i], want[i].name);
        assert_int_equal(vta_config_load(names[i], &c, &diag), VTA_OK);
        assert_string_equal(c.name, want[i].name);
        assert_int_equal(c.batch, want[i].batch);
        assert_int_equal(c.block_in, want[i].in);
        assert_int_equal(c.block_out, want[i].out);
        assert_int_equal(c.log_depth[VTA_MEM_UOP], want[i].uop);
        assert_int_equal(c.log_depth[VTA_MEM_INP], want[i].inp);
        assert_int_equal(c.log_depth[VTA_MEM_WGT], want[i].wgt);
        assert_int_equal(c.log_depth[VTA_MEM_ACC], want[i].acc);
        assert_int_equal(c.log_depth[VTA_MEM_OUT], want[i].acc);
        assert_int_equal(1U << c.log_bus_width, want[i].bus);
        assert_int_equal(1U << c.log_queue, want[i].queue);
    }
}

static void json_round_trips(void **state)
{
    (void)state;
    uint32_t count = 0;
    const char *const *names = vta_config_names(&count);
    for (uint32_t i = 0; i < count; i++) {
        vta_config before;
        vta_config after;
        assert_int_equal(vta_config_load(names[i], &before, NULL), VTA_OK);
        char *text = vta_config_to_json(&before);
        assert_non_null(text);
        assert_int_equal(vta_config_parse(text, "x", &after, NULL), VTA_OK);
        char *again = vta_config_to_json(&after);
        assert_string_equal(text, again);
        assert_true(before.hash == after.hash);
        assert_int_equal(before.clock_mhz, after.clock_mhz);
        free(text);
        free(again);
    }
}

static void keys_are_checked(void **state)
{
    (void)state;
    expect_refused("{\"LOG_BACTH\": 0}", VTA_INVALID,
                   "c.json: unknown key 'LOG_BACTH', did you mean 'LOG_BATCH'?");
    expect_refused("{\"log_block\": 4}", VTA_INVALID,
                   "c.json: unknown key 'log_block', did you mean 'LOG_BLOCK'?");
    expect_refused("{\"wholly different\": 0}", VTA_INVALID, "c.json: unknown key 'wholly different'");
    expect_refused("{\"LOG_BATCH\": 0, \"CLOCK_MHZ\": 1, \"LOG_BATCH\": 0}", VTA_INVALID,
                   "c.json: key 'LOG_BATCH' stands there twice");
    expect_refused("{\"LOG_BLOCK\": 4, \"LOG_BLOCK_OUT\": 4}", VTA_INVALID,
                   "c.json: keys 'LOG_BLOCK' and 'LOG_BLOCK_OUT' set the same value, remove one");
    expect_refused("{\"LOG_BLOCK_IN\": 4, \"LOG_BLOCK\": 4}", VTA_INVALID,
                   "c.json: keys 'LOG_BLOCK_IN' and 'LOG_BLOCK' set the same value, remove one");
}

static void values_are_checked(void **state)
{
    (void)state;
    expect_refused("{\"LOG_BATCH\": 4}", VTA_RANGE, "c.json: key 'LOG_BATCH' is 4, out of range (0 to 3)");
    expect_refused("{\"LOG_BATCH\": -1}", VTA_RANGE, "c.json: key 'LOG_BATCH' is -1, out of range (0 to 3)");
    expect_refused("{\"LOG_BLOCK\": 7}", VTA_RANGE, "c.json: key 'LOG_BLOCK' is 7, out of range (2 to 6)");
    expect_refused("{\"LOG_INP_WIDTH\": 2}", VTA_RANGE,
                   "c.json: key 'LOG_INP_WIDTH' is 2, out of range (3 to 3)");
    expect_refused("{\"CLOCK_MHZ\": 1e300}", VTA_RANGE,
                   "c.json: key 'CLOCK_MHZ' is 1.0000000000000001e+300, out of range (1 to 2000)");
    expect_refused("{\"LOG_INP_BUFF_SIZE\": 14.5}", VTA_RANGE,
                   "c.json: key 'LOG_INP_BUFF_SIZE' is 14.5, it must be a whole number (6 to 22)");
    expect_refused("{\"LOG_BATCH\": \"0\"}", VTA_INVALID,
                   "c.json: key 'LOG_BATCH' is \"0\", it must be a number");
    expect_refused("{\"LOG_BATCH\": [0]}", VTA_INVALID,
                   "c.json: key 'LOG_BATCH' is [0], it must be a number");
    expect_refused("{\"LOG_BATCH\": null}", VTA_INVALID,
                   "c.json: key 'LOG_BATCH' is null, it must be a number");
    expect_refused("{\"TARGET\": true}", VTA_INVALID, "c.json: key 'TARGET' is true, it must be a string");
    expect_refused("{\"HW_VER\": \"\"}", VTA_RANGE, "c.json: key 'HW_VER' has 0 characters (1 to 31)");
    expect_refused("{\"TARGET\": \"0123456789012345678901234567890x\"}", VTA_RANGE,
                   "c.json: key 'TARGET' has 32 characters (1 to 31)");
    expect_refused(
        "{\"NAME\": \"my board\"}", VTA_INVALID,
        "c.json: key 'NAME' has an illegal character at position 3 (letters, digits, '_', '-' and '.' are "
        "allowed)");
    expect_refused("{\"TARGET\": \"a\\nb\"}", VTA_INVALID,
                   "c.json: key 'TARGET' has an illegal character at position 2 (plain text is allowed)");
}

/* The hash tells each part that may be left out from each other; where nothing is left out, it is the hash of
 * before these keys were there. */
static void parts_have_their_hash(void **state)
{
    static const char *const texts[] = {"{}",
                                        "{\"TABLE\": 0}",
                                        "{\"LOOP_BACK\": 0}",
                                        "{\"DEPTHWISE_TAPS\": 0}",
                                        "{\"DEPTHWISE_TAPS\": 1}",
                                        "{\"DEPTHWISE_TAPS\": 3}",
                                        "{\"TABLE\": 0, \"LOOP_BACK\": 0}",
                                        "{\"ROWS\": 1}",
                                        "{\"WGT4\": 1}",
                                        "{\"ROWS\": 1, \"WGT4\": 1}"};
    enum { TEXTS = sizeof texts / sizeof texts[0] };
    vta_config c[TEXTS];
    (void)state;
    for (uint32_t i = 0; i < TEXTS; i++) {
        assert_int_equal(vta_config_parse(texts[i], "c.json", &c[i], NULL), VTA_OK);
        for (uint32_t k = 0; k < i; k++) {
            char text[128];
            assert_true(c[i].hash != c[k].hash);
            assert_true(vta_config_diff(&c[i], &c[k], text, sizeof text) > 0);
        }
    }
    /* The JSON gives the same hash again, and names the newest keys only where they are not the defaults. */
    for (uint32_t i = 0; i < TEXTS; i++) {
        char *json = vta_config_to_json(&c[i]);
        vta_config back;
        assert_non_null(json);
        assert_int_equal(vta_config_parse(json, "c.json", &back, NULL), VTA_OK);
        assert_true(back.hash == c[i].hash);
        assert_int_equal(strstr(json, "\"ROWS\"") != NULL, c[i].rows);
        assert_int_equal(strstr(json, "\"WGT4\"") != NULL, c[i].wgt4);
        free(json);
    }
    vta_config pynq;
    assert_int_equal(vta_config_load("pynq", &pynq, NULL), VTA_OK);
    assert_true(pynq.hash == UINT64_C(0x335f1e6fb1800dde));
    expect_refused("{\"DEPTHWISE_TAPS\": 2}", VTA_RANGE,
                   "c.json: key 'DEPTHWISE_TAPS' is 2, it must be 0, 1, 3 or 9");
    expect_refused("{\"TABLE\": 2}", VTA_RANGE, "c.json: key 'TABLE' is 2, out of range (0 to 1)");
}

static void joint_rules_are_checked(void **state)
{
    (void)state;
    /* The array at twice the clock: shapes with a weight row for each depthwise tap of both halves. */
    static const struct {
        uint32_t in, out;
        bool fits;
    } shapes[] = {{4, 4, true}, {5, 5, true},  {5, 4, true},  {3, 4, true}, {4, 3, true},
                  {3, 2, true}, {3, 3, false}, {2, 2, false}, {2, 3, false}};
    for (uint32_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        char text[160];
        (void)snprintf(text, sizeof text,
                       "{\"LOG_BLOCK_IN\": %" PRIu32 ", \"LOG_BLOCK_OUT\": %" PRIu32
                       ", \"LOG_INP_BUFF_SIZE\": 12, \"LOG_WGT_BUFF_SIZE\": 16, \"LOG_ACC_BUFF_SIZE\": 13, "
                       "\"ARRAY_PUMP\": 2}",
                       shapes[i].in, shapes[i].out);
        vta_config c;
        assert_int_equal(vta_config_parse(text, "c.json", &c, NULL), shapes[i].fits ? VTA_OK : VTA_RANGE);
    }
    expect_refused("{\"LOG_BLOCK_OUT\": 3, \"LOG_BLOCK_IN\": 3, \"LOG_ACC_BUFF_SIZE\": 13, "
                   "\"LOG_INP_BUFF_SIZE\": 12, \"ARRAY_PUMP\": 2}",
                   VTA_RANGE,
                   "c.json: key 'ARRAY_PUMP' is 2: 'LOG_BLOCK_OUT' must be at least 4, or less than "
                   "'LOG_BLOCK_IN' (it is 3)");
    expect_refused(
        "{\"LOG_INP_BUFF_SIZE\": 18}", VTA_RANGE,
        "c.json: key 'LOG_INP_BUFF_SIZE' is 18: with inputs (LOG_BATCH, LOG_BLOCK_IN) of 2^4 bytes it may be "
        "at most 17 (2^13 entries, the width of an index)");
    expect_refused(
        "{\"LOG_WGT_BUFF_SIZE\": 8}", VTA_RANGE,
        "c.json: key 'LOG_WGT_BUFF_SIZE' is 8: weights (LOG_BLOCK_IN, LOG_BLOCK_OUT) of 2^8 bytes need at "
        "least 9 (2 entries)");
    expect_refused(
        "{\"LOG_WGT_BUFF_SIZE\": 22}", VTA_RANGE,
        "c.json: key 'LOG_WGT_BUFF_SIZE' is 22: with weights (LOG_BLOCK_IN, LOG_BLOCK_OUT) of 2^8 bytes it "
        "may be at most 21 (2^13 entries, the width of an index)");
    expect_refused(
        "{\"LOG_ACC_BUFF_SIZE\": 18}", VTA_RANGE,
        "c.json: key 'LOG_ACC_BUFF_SIZE' is 18: with accumulators (LOG_BATCH, LOG_BLOCK_OUT) of 2^6 bytes it "
        "may be at most 17 (2^11 entries, the width of an index)");
    expect_refused(
        "{\"LOG_ACC_BUFF_SIZE\": 6}", VTA_RANGE,
        "c.json: key 'LOG_ACC_BUFF_SIZE' is 6: accumulators (LOG_BATCH, LOG_BLOCK_OUT) of 2^6 bytes need at "
        "least 7 (2 entries)");
    expect_refused(
        "{\"LOG_INP_BUFF_SIZE\": 16}", VTA_RANGE,
        "c.json: keys 'LOG_ACC_BUFF_SIZE' 17, 'LOG_INP_BUFF_SIZE' 16, 'LOG_WGT_BUFF_SIZE' 18 make 2^11, 2^12 "
        "and 2^10 entries: 33 index bits in a micro-op (limit: 32)");
    expect_refused("{\"LOG_INP_BUFF_SIZE\": 16, \"LOG_WGT_BUFF_SIZE\": 17}", VTA_RANGE,
                   "c.json: keys 'LOG_ACC_BUFF_SIZE' 17, 'LOG_INP_BUFF_SIZE' 16 make 2^11 and 2^12 entries: "
                   "33 bits in a "
                   "micro-op that names a parameter pair (limit: 32)");
}

static void syntax_errors_have_a_place(void **state)
{
    (void)state;
    expect_refused("{\n  \"LOG_BATCH\" 0\n}", VTA_SYNTAX, "c.json: line 2, column 15: not JSON");
    expect_refused("", VTA_SYNTAX, "c.json: line 1, column 1: not JSON");
    expect_refused("{} x", VTA_SYNTAX, "c.json: line 1, column 4: not JSON");
    expect_refused("[1]", VTA_SYNTAX, "c.json: a configuration must be one JSON object");
}

static void files_load(void **state)
{
    (void)state;
    char path[64];
    vta_config c;
    vta_diag diag = {0};
    (void)snprintf(path, sizeof path, "isa_config_test.%ld.json", (long)getpid());
    for (int round = 0; round < 2; round++) {
        const char *text =
            round == 0 ? vta_sample : "{\"NAME\": \"mine\", \"LOG_BATCH\": 1, \"LOG_ACC_BUFF_SIZE\": 16}";
        assert_int_equal(vta_file_write(path, text, strlen(text), &diag), VTA_OK);
        assert_int_equal(vta_config_load(path, &c, &diag), VTA_OK);
        assert_int_equal(c.log_batch, round);
    }
    assert_string_equal(c.name, "mine");
    assert_int_equal(vta_file_write(path, "{}\0{}", 5, &diag), VTA_OK);
    assert_int_equal(vta_config_load(path, &c, &diag), VTA_SYNTAX);
    assert_non_null(strstr(diag.text, "it has a zero byte"));
    assert_int_equal(remove(path), 0);

    diag = (vta_diag){0};
    assert_int_equal(vta_config_load("no/such.json", &c, &diag), VTA_IO);
    assert_string_equal(diag.text, "cannot open 'no/such.json': No such file or directory");
    diag = (vta_diag){0};
    assert_int_equal(vta_config_load("pinq", &c, &diag), VTA_INVALID);
    assert_string_equal(diag.text, "no configuration is called 'pinq' (there are 'batch2', 'kv260', 'pynq', "
                                   "'pynq512', 'pynq_lm', 'rect', "
                                   "'tiny', 'ultra96', 'ultra96_lm', 'wide'; a file needs a '/' or '.json')");
}

static void hash_covers_what_hardware_sees(void **state)
{
    (void)state;
    vta_config pynq;
    vta_config other;
    char text[200];
    vta_config_default(&pynq);

    assert_int_equal(
        vta_config_parse("{\"CLOCK_MHZ\": 7, \"MEM_LATENCY\": 9, \"TARGET\": \"x\"}", "x", &other, NULL),
        VTA_OK);
    assert_true(other.hash == pynq.hash);
    assert_int_equal(vta_config_diff(&pynq, &other, text, sizeof text), 0);
    assert_string_equal(text, "");

    assert_int_equal(vta_config_parse("{\"LOG_BATCH\": 1, \"LOG_QUEUE_DEPTH\": 4}", "x", &other, NULL),
                     VTA_OK);
    assert_true(other.hash != pynq.hash);
    assert_int_equal(vta_config_diff(&pynq, &other, text, sizeof text), 2);
    assert_string_equal(text, "LOG_BATCH 0 != 1, LOG_QUEUE_DEPTH 9 != 4");
    assert_int_equal(vta_config_diff(&other, &pynq, text, 10), 2);
    assert_string_equal(text, "LOG_BATCH");
    assert_int_equal(vta_config_diff(&other, &pynq, NULL, 0), 2);

    uint32_t count = 0;
    const char *const *names = vta_config_names(&count);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            vta_config a;
            vta_config b;
            assert_int_equal(vta_config_load(names[i], &a, NULL), VTA_OK);
            assert_int_equal(vta_config_load(names[j], &b, NULL), VTA_OK);
            assert_true(a.hash != b.hash);
        }
    }
}

/* Whatever the text is, it is read or refused with a sentence. */
static void random_damage_is_survived(void **state)
{
    (void)state;
    const uint64_t seed = test_seed("isa_config");
    rng r = rng_split(seed, 0);
    uint32_t accepted = 0;
    for (int round = 0; round < 20000; round++) {
        char text[sizeof vta_sample];
        memcpy(text, vta_sample, sizeof text);
        const uint32_t edits = 1 + rng_below(&r, 3);
        for (uint32_t i = 0; i < edits; i++) {
            static const char letters[] = "{}[]:,\"0123456789.eE-+\\u LOGBATCH\n";
            text[rng_below(&r, sizeof text - 1)] = letters[rng_below(&r, sizeof letters - 1)];
        }
        vta_config config;
        vta_diag diag = {0};
        if (vta_config_parse(text, "x", &config, &diag) == VTA_OK) {
            accepted++;
            assert_string_equal(diag.text, "");
        } else {
            assert_true(strlen(diag.text) > 4);
        }
    }
    assert_in_range(accepted, 100, 19000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vta_sample_loads),
        cmocka_unit_test(default_is_pynq),
        cmocka_unit_test(shipped_shapes),
        cmocka_unit_test(json_round_trips),
        cmocka_unit_test(keys_are_checked),
        cmocka_unit_test(values_are_checked),
        cmocka_unit_test(parts_have_their_hash),
        cmocka_unit_test(joint_rules_are_checked),
        cmocka_unit_test(syntax_errors_have_a_place),
        cmocka_unit_test(files_load),
        cmocka_unit_test(hash_covers_what_hardware_sees),
        cmocka_unit_test(random_damage_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
