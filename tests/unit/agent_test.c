/* SPDX-License-Identifier: Apache-2.0
 *
 * What vtac-agent makes of a client's options, and of the files that killed agents have left. The argument is
 * a simulator that takes any option of tsim (driver_fake_rtlsim.c). A search for "check=" in the text of a
 * URI, or a cache that is not tidied, makes it fail.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent.h"
#include "temporary.h"
#include "vta/file.h"
#include "vta/uri.h"

static const char *fake_path;

static void options_are_found_by_their_whole_name(void **state)
{
    (void)state;
    static const struct {
        const char *uri, *value; /* NULL: there is none */
    } rows[] = {
        {"fsim", NULL},
        {"fsim:tiny?check=1", "1"},
        {"fsim?strict=1&check=0", "0"},
        {"fsim?check=", ""},
        {"fsim?check", NULL},
        {"tsim:tiny?scope=check=1", NULL},
        {"tsim:tiny?recheck=1", NULL},
        {"tsim:tiny?checks=1", NULL},
        {"tsim:tiny?scope=check=1&check=10", "10"},
        {"tsim:check=1", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *value = NULL;
        size_t size = 0;
        assert_int_equal(vta_uri_option(rows[i].uri, "check", &value, &size), rows[i].value != NULL);
        if (rows[i].value != NULL) {
            assert_int_equal(size, strlen(rows[i].value));
            assert_memory_equal(value, rows[i].value, size);
        }
    }
}

/* The URI of the device that an agent opens for a client; "": it refuses. */
static void open_for_client(bool is_unchecked, const char *uri, char *opened, size_t size)
{
    agent *a = calloc(1, sizeof *a);
    vta_str request = {0};
    vta_str reply = {0};
    vta_diag diag = {0};
    assert_non_null(a);
    agent_init(a, NULL);
    a->is_unchecked = is_unchecked;
    vta_put_text(&request, uri);
    vta_put_text(&request, "");
    vta_content in = {.at = (const uint8_t *)request.text,
                      .end = (const uint8_t *)request.text + request.size};
    opened[0] = '\0';
    if (agent_open(a, &in, &reply, &diag) == VTA_OK) {
        vta_content out = {.at = (const uint8_t *)reply.text,
                           .end = (const uint8_t *)reply.text + reply.size};
        (void)snprintf(opened, size, "%s", vta_get_text(&out));
    } else {
        assert_non_null(strstr(diag.text, "this agent checks every program"));
    }
    vta_str_free(&request);
    vta_str_free(&reply);
    agent_free(a);
    free(a);
}

static void no_option_switches_the_checker_off(void **state)
{
    (void)state;
    static const struct {
        const char *options, *behind;
        bool is_unchecked;
    } rows[] = {
        {"", "&check=1", false},
        {"&check=1", "&check=1", false},
        {"&scope=check=1", "&scope=check=1&check=1", false},
        {"&scope=check=0", "&scope=check=0&check=1", false},
        {"&check=0", NULL, false},
        {"&check=0", "&check=0", true},
        {"&scope=check=1", "&scope=check=1&check=1", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char uri[TEMPORARY_PATH * 2];
        char opened[TEMPORARY_PATH * 2 + 64];
        char expected[TEMPORARY_PATH * 2 + 64] = "";
        (void)snprintf(uri, sizeof uri, "tsim:tiny?object=%s%s", fake_path, rows[i].options);
        if (rows[i].behind != NULL) {
            (void)snprintf(expected, sizeof expected, "tsim:tiny?object=%s%s", fake_path, rows[i].behind);
        }
        open_for_client(rows[i].is_unchecked, uri, opened, sizeof opened);
        assert_string_equal(opened, expected);
    }
}

static void touch(const char *folder, const char *name, char path[TEMPORARY_PATH * 2])
{
    (void)snprintf(path, TEMPORARY_PATH * 2, "%s/models/%s", folder, name);
    assert_int_equal(vta_file_write(path, "half", 4, NULL), VTA_OK);
}

static void what_a_killed_agent_left_goes(void **state)
{
    (void)state;
    char folder[TEMPORARY_PATH];
    char path[TEMPORARY_PATH * 2];
    char living[TEMPORARY_PATH * 2];
    char killed[TEMPORARY_PATH * 2];
    char other[TEMPORARY_PATH * 2];
    assert_true(temporary_folder(folder));
    (void)snprintf(path, sizeof path, "%s/models", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(setenv("VTAC_CACHE", folder, 1), 0);
    touch(folder, "new-killed", killed);
    touch(folder, "new-living", living);
    touch(folder, "0123.so", other);
    FILE *held = fopen(living, "re");
    assert_non_null(held);
    assert_int_equal(flock(fileno(held), LOCK_EX), 0);
    agent *a = calloc(1, sizeof *a);
    assert_non_null(a);
    agent_init(a, NULL);
    assert_int_not_equal(agent_cached(a, 1, 4, path, sizeof path, NULL), VTA_OK);
    assert_int_not_equal(access(killed, F_OK), 0);
    assert_int_equal(access(living, F_OK), 0);
    assert_int_equal(access(other, F_OK), 0);
    agent_free(a);
    free(a);
    assert_int_equal(fclose(held), 0);
    assert_int_equal(unlink(living), 0);
    assert_int_equal(unlink(other), 0);
    (void)snprintf(path, sizeof path, "%s/models", folder);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* The words of an agent about a cache that it does not use. */
static void assert_no_cache(const char *expected)
{
    char path[TEMPORARY_PATH * 2];
    vta_diag diag = {0};
    agent *a = calloc(1, sizeof *a);
    assert_non_null(a);
    agent_init(a, NULL);
    assert_int_equal(agent_cached(a, 1, 4, path, sizeof path, &diag), VTA_IO);
    assert_non_null(strstr(diag.text, expected));
    agent_free(a);
    free(a);
}

static void models_of_others_are_not_taken(void **state)
{
    (void)state;
    static const char *const names[] = {"VTAC_CACHE", "XDG_CACHE_HOME", "HOME"};
    char *values[3];
    char folder[TEMPORARY_PATH];
    char path[TEMPORARY_PATH * 2];
    assert_true(temporary_folder(folder));
    (void)snprintf(path, sizeof path, "%s/models", folder);
    assert_int_equal(setenv("VTAC_CACHE", folder, 1), 0);
    assert_no_cache("the model is not in the cache");
    assert_int_equal(chmod(path, 0707), 0);
    assert_no_cache("others may write to the cache folder");
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(folder), 0);
    for (int i = 0; i < 3; i++) {
        const char *value = getenv(names[i]);
        values[i] = value != NULL ? strdup(value) : NULL;
        (void)unsetenv(names[i]);
    }
    assert_no_cache("neither VTAC_CACHE nor XDG_CACHE_HOME nor HOME");
    assert_int_equal(setenv("HOME", "tmp", 1), 0); /* no folder of anybody's in particular */
    assert_no_cache("neither VTAC_CACHE nor XDG_CACHE_HOME nor HOME");
    for (int i = 0; i < 3; i++) {
        (void)(values[i] != NULL ? setenv(names[i], values[i], 1) : unsetenv(names[i]));
        free(values[i]);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_found_by_their_whole_name),
        cmocka_unit_test(no_option_switches_the_checker_off),
        cmocka_unit_test(what_a_killed_agent_left_goes),
        cmocka_unit_test(models_of_others_are_not_taken),
    };
    if (argc != 2) {
        (void)fprintf(stderr, "usage: %s FAKE_SIMULATOR\n", argv[0]);
        return 2;
    }
    fake_path = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
