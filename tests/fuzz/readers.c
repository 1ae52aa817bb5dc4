/* SPDX-License-Identifier: Apache-2.0
 *
 * The readers of the command line: the first byte chooses one, the others are its file, or a text. Whatever
 * comes, the reader ends with success or with one line that a terminal can show, and what it has read can be
 * used.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"
#include "fuzz.h"
#include "outputs.h"
#include "parcels.h"
#include "regress.h"
#include "temporary.h"
#include "tensors.h"
#include "vta/lines.h"
#include "vta/untrusted.h"
#include "vta/uri.h"
#include "vtac/explore.h"
#include "vtac/tune.h"
#include "zip.h"

static char file[TEMPORARY_PATH + 32], saved[TEMPORARY_PATH + 48];

static void remove_files(void)
{
    (void)unlink(file);
    (void)unlink(saved);
}

/* The file of this input, under a name that ends so. */
static const char *write_input(const uint8_t *data, size_t size, const char *ending)
{
    static bool registered;
    (void)unlink(file);
    (void)snprintf(file, sizeof file, "%s/vta-fuzz-reader-%ld%s",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : temporary_root(), (long)getpid(), ending);
    (void)snprintf(saved, sizeof saved, "%s.saved.pb", file);
    if (!registered) {
        (void)atexit(remove_files);
        registered = true;
    }
    const int out = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    FUZZ_REQUIRE(out >= 0 && write(out, data, size) == (ssize_t)size && close(out) == 0);
    return file;
}

static bool is_plain(const char *text, size_t size)
{
    char *plain = malloc(size + 1);
    FUZZ_REQUIRE(plain != NULL);
    const bool same = strcmp(vta_make_plain(text, size, plain, size + 1), text) == 0;
    free(plain);
    return same;
}

static void check_outcome(vta_status status, const vta_diag *diag)
{
    FUZZ_REQUIRE(status < VTA_STATUS_COUNT && (status == VTA_OK) == (diag->text[0] == '\0'));
    FUZZ_REQUIRE(is_plain(diag->text, strlen(diag->text)));
}

/* ---- lists of lines */

static void read_lines(const uint8_t *data, size_t size)
{
    vta_diag diag = {0};
    vta_lines lines;
    char *copy = malloc(size + 1);
    FUZZ_REQUIRE(copy != NULL);
    memcpy(copy, data, size);
    copy[size] = '\0';
    check_outcome(vta_lines_take("text", copy, size, &lines, &diag), &diag);
    size_t bytes = 0;
    for (size_t i = 0; i < lines.count; i++) {
        FUZZ_REQUIRE(strpbrk(lines.line[i], "\r\n") == NULL);
        bytes += strlen(lines.line[i]) + 1;
    }
    FUZZ_REQUIRE(bytes <= size + 1);
    vta_lines_free(&lines);
}

static void read_labels(const uint8_t *data, size_t size)
{
    vta_diag diag = {0};
    cli_outputs outputs = {0};
    check_outcome(cli_read_labels(write_input(data, size, ".txt"), &outputs, &diag), &diag);
    cli_free_outputs(&outputs);
}

static void read_records(const uint8_t *data, size_t size)
{
    vta_diag diag = {0};
    vtac_records records = {0};
    check_outcome(vtac_records_read(write_input(data, size, ".log"), &records, &diag), &diag);
    vtac_records_free(&records);
}

static void read_suite(const uint8_t *data, size_t size)
{
    vta_diag diag = {0};
    cli_regress_suite suite;
    const vta_status status = cli_regress_suite_read(write_input(data, size, ".json"), &suite, &diag);
    check_outcome(status, &diag);
    if (status == VTA_OK) {
        cli_regress_suite_free(&suite);
    }
}

static void read_space(const uint8_t *data, size_t size)
{
    vta_diag diag = {0};
    static vtac_space space;
    memset(&space, 0, sizeof space);
    check_outcome(vtac_space_read(write_input(data, size, ".json"), &space, &diag), &diag);
}

/* ---- tensors */

static void use_tensor(const vtac_tensor *t)
{
    const int64_t elements = vtac_type_elements(&t->type);
    FUZZ_REQUIRE(elements >= 0 && (size_t)elements * vtac_dtype_bytes(t->type.dtype) == t->bytes);
    for (int64_t i = 0; i < elements; i += 1 + elements / 64) {
        (void)vtac_tensor_float(t, i);
    }
}

static void parse_npy(const uint8_t *data, size_t size)
{
    vta_diag diag = {0};
    vta_arena arena = {0};
    vtac_tensor tensor;
    const vta_status status = cli_parse_npy(data, size, &arena, &tensor, &diag);
    check_outcome(status, &diag);
    if (status == VTA_OK) {
        use_tensor(&tensor);
    }
    vta_arena_free(&arena);
}

static void parse_npz(const uint8_t *data, size_t size)
{
    vta_diag diag = {0};
    vta_arena arena = {0};
    vtac_zip_member *members;
    uint32_t count = 0;
    const vta_status status = vtac_unzip(data, size, &arena, &members, &count, &diag);
    check_outcome(status, &diag);
    for (uint32_t i = 0; status == VTA_OK && i < count && i < 16; i++) {
        parse_npy(members[i].bytes, members[i].size);
    }
    vta_arena_free(&arena);
}

static void read_pb(const uint8_t *data, size_t size)
{
    vta_diag diag = {0};
    vta_arena arena = {0};
    vtac_tensor tensor;
    const vta_status status = cli_read_tensor(write_input(data, size, ".pb"), &arena, &tensor, &diag);
    check_outcome(status, &diag);
    if (status == VTA_OK) {
        use_tensor(&tensor);
    }
    vta_arena_free(&arena);
}

/* ---- parcels: what an agent sends as an output */

static void print_parcel(const void *parcel, size_t size)
{
    vta_str text = {0};
    cli_parcel_text(parcel, size, &text);
    FUZZ_REQUIRE(!text.failed && text.text != NULL && is_plain(text.text, text.size));
    vta_str_free(&text);
}

/* A parcel that can be saved can be read back. */
static void save_parcel(const void *parcel, size_t size)
{
    vta_diag diag = {0};
    vta_str back = {0};
    (void)write_input((const uint8_t *)"", 0, "");
    const vta_status status = cli_write_parcel(saved, parcel, size, &diag);
    check_outcome(status, &diag);
    if (status == VTA_OK) {
        check_outcome(cli_read_parcel(saved, &back, &diag), &diag);
        vta_str_free(&back);
    }
}

static void use_parcel(const uint8_t *data, size_t size)
{
    vta_diag diag = {0};
    const size_t half = size / 16 * 8;
    print_parcel(data, size);
    save_parcel(data, size);
    check_outcome(cli_compare_parcels(data, size, data, size, 0.0, 0.0, &diag), &diag);
    diag = (vta_diag){0};
    check_outcome(cli_compare_parcels(data, half, data + half, size - half, 0.0, 0.0, &diag), &diag);
}

static void read_parcel(const uint8_t *data, size_t size)
{
    vta_diag diag = {0};
    vta_str parcel = {0};
    vta_arena arena = {0};
    vtac_tensor scores;
    const vta_status status = cli_read_parcel(write_input(data, size, ".pb"), &parcel, &diag);
    check_outcome(status, &diag);
    if (status == VTA_OK) {
        print_parcel(parcel.text, parcel.size);
        check_outcome(
            cli_compare_parcels(parcel.text, parcel.size, parcel.text, parcel.size, 0.0, 0.0, &diag), &diag);
    }
    diag = (vta_diag){0};
    if (cli_is_map_list(data, size)) {
        check_outcome(cli_read_map_list(data, size, &arena, &scores, &diag), &diag);
    }
    vta_arena_free(&arena);
    vta_str_free(&parcel);
}

/* ---- an agent's options */

/* The value of `check` as an option, by another way than vta_uri_option's; NULL: there is none. */
static const char *check_of(char *uri)
{
    char *rest = strchr(uri, '?');
    for (char *pair = rest != NULL ? rest + 1 : NULL; pair != NULL; pair = rest) {
        rest = strchr(pair, '&');
        if (rest != NULL) {
            *rest++ = '\0';
        }
        if (strncmp(pair, "check=", 6) == 0) {
            return pair + 6;
        }
    }
    return NULL;
}

static void ask_agent(const uint8_t *data, size_t size)
{
    static agent a;
    vta_diag diag = {0};
    char uri[600];
    char copy[600];
    const char *value;
    size_t length = 0;
    const size_t kept = size < sizeof uri - 1 ? size : sizeof uri - 1;
    memcpy(uri, data, kept);
    uri[kept] = '\0';
    memcpy(copy, uri, sizeof copy);
    const char *expected = check_of(copy);
    FUZZ_REQUIRE(vta_uri_option(uri, "check", &value, &length) == (expected != NULL));
    FUZZ_REQUIRE(expected == NULL || (strlen(expected) == length && memcmp(expected, value, length) == 0));
    const vta_status status = agent_takes(&a, uri, &diag);
    check_outcome(status, &diag);
    FUZZ_REQUIRE(status != VTA_OK || expected == NULL || strcmp(expected, "1") == 0);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    static void (*const readers[])(const uint8_t *, size_t) = {
        read_lines, read_labels, read_records, read_suite,  read_space, parse_npy,
        parse_npz,  read_pb,     use_parcel,   read_parcel, ask_agent,
    };
    if (size > 0) {
        readers[data[0] % (sizeof readers / sizeof readers[0])](data + 1, size - 1);
    }
}
