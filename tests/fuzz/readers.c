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
#include "files.h"
#include "fuzz.h"
#include "image.h"
#include "outputs.h"
#include "parcels.h"
#include "picture.h"
#include "regress.h"
#include "temporary.h"
#include "tensors.h"
#include "vta/dram.h"
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
    (void)snprintf(file, sizeof file, "%s/vta-fuzz-reader-%ld%s", fuzz_root(), (long)getpid(), ending);
    (void)snprintf(saved, sizeof saved, "%s.saved.pb", file);
    if (!registered) {
        (void)atexit(remove_files);
        registered = true;
    }
    fuzz_write(file, data, size);
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

/* ---- pictures */

static void use_picture(const cli_picture *p)
{
    static const uint32_t sizes[][2] = {{1, 1}, {7, 3}, {2, 19}};
    uint64_t sum = 0;
    for (size_t i = 0; i < (size_t)p->width * p->height * 3; i += 1 + (size_t)p->width * p->height / 4096) {
        sum += p->rgb[i];
    }
    FUZZ_REQUIRE(sum <= UINT64_MAX / 2);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        vta_diag diag = {0};
        cli_picture out = {0};
        check_outcome(cli_picture_fit(p, sizes[i][0], sizes[i][1], i == 1 ? 0.875 : 1.0, &out, &diag), &diag);
        cli_picture_free(&out);
    }
}

/* The sizes that a picture may claim are those of a machine with room; here small ones are enough. */
static void read_picture(const uint8_t *data, size_t size)
{
    enum { USED = 1 << 20 };
    vta_diag diag = {0};
    cli_picture picture;
    const vta_status status = cli_picture_parse(data, size, &picture, &diag);
    check_outcome(status, &diag);
    if (status == VTA_OK && (uint64_t)picture.width * picture.height < USED) {
        use_picture(&picture);
    }
    cli_picture_free(&picture);
}

/* A picture of 2 x 3 pixels is turned as the marker says. */
static void read_exif(const uint8_t *data, size_t size)
{
    static const uint8_t pixels[] = "P6 2 3 255\nabcdefghijklmnopqr";
    vta_diag diag = {0};
    cli_picture picture;
    const int orientation = cli_exif_orientation(data, size);
    FUZZ_REQUIRE(orientation >= 1 && orientation <= 8);
    FUZZ_REQUIRE(cli_picture_parse(pixels, sizeof pixels - 1, &picture, &diag) == VTA_OK);
    check_outcome(cli_picture_orient(&picture, orientation, &diag), &diag);
    FUZZ_REQUIRE((orientation >= 5) == (picture.width == 3) && picture.width * picture.height == 6);
    cli_picture_free(&picture);
}

/* ---- memory images: --mem FILE@ADDR, --dump ADDR:BYTES=FILE, --insn-addr ADDR of raw instructions */

static vta_status alloc_memory(void *context, uint64_t at, size_t size, vta_mem *out, vta_diag *diag)
{
    enum { GRANTED = 1 << 22 };
    *out = (vta_mem){.addr = at, .size = size};
    if (size > GRANTED) {
        return vta_fail(diag, VTA_NOMEM, "no memory for %zu bytes", size);
    }
    return at == 0 ? vta_dram_alloc(context, size, &out->addr, &out->host, diag)
                   : vta_dram_alloc_at(context, at, size, &out->host, diag);
}

/* All that was asked for is there, and may be written. */
static void use_image(const cli_image *image, const vta_program *program)
{
    FUZZ_REQUIRE(image->launch.insn_count == program->insn_count && image->code.host != NULL);
    for (size_t i = 0; i < image->output_count; i++) {
        uint8_t *at = cli_image_at(image, image->outputs[i].addr, image->outputs[i].size);
        FUZZ_REQUIRE(at != NULL);
        memset(at, 1, image->outputs[i].size);
    }
}

enum { IMAGE_WORDS = 12, SPEC = sizeof file + 256 };

/* Each line becomes an option, which its first character chooses, and its value, in which '%' stands for the
 * one file that there is. Returns the number of words. */
static int make_words(char *text, char (*specs)[SPEC], char **words)
{
    static const char *const options[] = {"--mem", "--dump", "--insn-addr"};
    char *rest = NULL;
    int count = 2;
    words[0] = (char *)(uintptr_t) "--raw";
    words[1] = file;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL && count < IMAGE_WORDS;
         line = strtok_r(NULL, "\n", &rest)) {
        const char *value = line + 1;
        char *mark = strchr(value, '%');
        if (mark != NULL) {
            *mark = '\0';
        }
        (void)snprintf(specs[count], SPEC, "%.100s%s%.100s", value, mark != NULL ? file : "",
                       mark != NULL ? mark + 1 : "");
        words[count] = (char *)(uintptr_t)options[(unsigned char)line[0] % 3];
        words[count + 1] = specs[count];
        count += 2;
    }
    return count;
}

static vta_status place_program(const cli_args *args, cli_image *image, vta_program *program, vta_diag *diag)
{
    bool usage = false;
    VTA_TRY(cli_program(args, file, program, diag));
    VTA_TRY(cli_image_read(image, args, program, &usage, diag));
    return cli_image_place(image, args, program, diag);
}

static void place_words(const cli_args *args, vta_dram *dram)
{
    vta_diag diag = {0};
    vta_program program = {0};
    cli_image image = {.alloc = alloc_memory, .context = dram};
    const vta_status status = place_program(args, &image, &program, &diag);
    check_outcome(status, &diag);
    if (status == VTA_OK) {
        use_image(&image, &program);
    }
    cli_image_free(&image);
    vta_program_free(&program);
}

/* Lines of words, a 0, and the instructions, which are the one file. */
static void place_image(const uint8_t *data, size_t size)
{
    static char specs[IMAGE_WORDS + 2][SPEC];
    char *words[IMAGE_WORDS + 2];
    char text[2048];
    vta_dram *dram = NULL;
    cli_args args;
    const uint8_t *end = memchr(data, '\0', size);
    const size_t length = end != NULL ? (size_t)(end - data) : size;
    if (end == NULL || length >= sizeof text || size - length - 1 < VTA_INSN_BYTES) {
        return;
    }
    (void)write_input(end + 1, (size - length - 1) / VTA_INSN_BYTES * VTA_INSN_BYTES, ".bin");
    memcpy(text, data, length + 1);
    cli_ground ground = {.guest = true, .process = getpid()};
    cli_stand_on(&ground);
    const int count = make_words(text, specs, words);
    FUZZ_REQUIRE(vta_dram_create(&dram, NULL) == VTA_OK);
    if (cli_parse(cli_verb_find("exec"), count, words, &args) == CLI_OK) {
        place_words(&args, dram);
    }
    cli_args_free(&args);
    vta_dram_destroy(dram);
    cli_stand_on(NULL);
    vta_str_free(&ground.answer);
    vta_str_free(&ground.line);
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
        read_lines, read_labels, read_records, read_suite, read_space,   parse_npy, parse_npz,
        read_pb,    use_parcel,  read_parcel,  ask_agent,  read_picture, read_exif, place_image,
    };
    if (size > 0) {
        readers[data[0] % (sizeof readers / sizeof readers[0])](data + 1, size - 1);
    }
}
