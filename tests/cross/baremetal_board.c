/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver without an operating system against an accelerator: a virtual board's register page and memory
 * are mapped, as on a machine they would lie at their addresses, and a model runs on them, whose inputs are
 * the files behind it: baremetal_board DIR MODEL.so INPUT... Prints each output in hexadecimal, and how often
 * each hook was called.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "vta/artifact.h"
#include "vta/baremetal.h"
#include "vta/model.h"

static unsigned long cleaned, invalidated, idled;
static const uint8_t *shared_begin;
static size_t shared_bytes;

static void check_range(const void *begin, size_t bytes)
{
    const uint8_t *at = begin;
    if (at < shared_begin || bytes > shared_bytes || (size_t)(at - shared_begin) > shared_bytes - bytes) {
        (void)fprintf(stderr, "a cache hook was given memory that is not shared\n");
        exit(1);
    }
}

static void clean(const void *begin, size_t bytes)
{
    check_range(begin, bytes);
    cleaned++;
}

static void invalidate(const void *begin, size_t bytes)
{
    check_range(begin, bytes);
    invalidated++;
}

static void idle(void)
{
    const struct timespec nap = {.tv_nsec = 50000};
    (void)nanosleep(&nap, NULL);
    idled++;
}

static double seconds(void)
{
    struct timespec now;
    (void)timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void *map_file(const char *folder, const char *name, size_t bytes)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    const int file = open(path, O_RDWR | O_CLOEXEC);
    void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) {
        perror(path);
        exit(1);
    }
    return mapped;
}

static uint64_t number_in(const char *folder, const char *name)
{
    char path[4096];
    char text[64] = "";
    (void)snprintf(path, sizeof path, "%s/sys/class/u-dma-buf/udmabuf0/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(text, sizeof text, file) == NULL) {
        perror(path);
        exit(1);
    }
    (void)fclose(file);
    return strtoull(text, NULL, 0);
}

static int fail(const vta_diag *diag)
{
    (void)fprintf(stderr, "%s\n", diag->text);
    return 1;
}

static void print_output(const vta_model *model)
{
    const vta_tensor_info info = vta_model_output(model, 0);
    const uint8_t *bytes = vta_model_output_data(model, 0);
    (void)printf("output ");
    for (size_t i = 0; i < info.bytes; i++) {
        (void)printf("%02x", bytes[i]);
    }
    (void)printf("\n");
}

static vta_status run_file(vta_model *model, const char *path, vta_diag *diag)
{
    static uint8_t input[1 << 20];
    FILE *file = fopen(path, "rb");
    const size_t size = file != NULL ? fread(input, 1, sizeof input, file) : 0;
    if (file != NULL) {
        (void)fclose(file);
    }
    VTA_TRY(vta_model_set_input(model, 0, input, size, diag));
    return vta_model_run(model, diag);
}

int main(int argc, char **argv)
{
    vta_diag diag = {0};
    vta_model *model;
    if (argc < 4) {
        return 2;
    }
    void *library = dlopen(argv[2], RTLD_NOW);
    const vta_artifact *artifact = library != NULL ? dlsym(library, VTA_ARTIFACT_SYMBOL) : NULL;
    if (artifact == NULL) {
        (void)fprintf(stderr, "%s: no model\n", argv[2]);
        return 1;
    }
    const vta_model_options options = {.device = "baremetal", .timeout_s = 300.0};
    if (vta_model_open(artifact, &options, &model, &diag) != VTA_NO_DEVICE) {
        (void)fprintf(stderr, "a device that is not set up was opened\n");
        return 1;
    }
    diag = (vta_diag){0};
    shared_bytes = (size_t)number_in(argv[1], "size");
    vta_baremetal board = {.registers = map_file(argv[1], "dev/uio0", 4096),
                           .memory = map_file(argv[1], "dev/udmabuf0", shared_bytes),
                           .memory_addr = number_in(argv[1], "phys_addr"),
                           .memory_bytes = shared_bytes,
                           .clean = clean,
                           .invalidate = invalidate,
                           .idle = idle};
    shared_begin = board.memory;
    vta_baremetal_clock(seconds);
    vta_baremetal_setup(&board);
    if (vta_model_open(artifact, &options, &model, &diag) != VTA_OK) {
        return fail(&diag);
    }
    for (int i = 3; i < argc; i++) {
        if (run_file(model, argv[i], &diag) != VTA_OK) {
            return fail(&diag);
        }
        print_output(model);
    }
    vta_model_destroy(model);
    (void)printf("clean %lu invalidate %lu idle %lu\n", cleaned, invalidated, idled);
    return 0;
}
