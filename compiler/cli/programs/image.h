/* SPDX-License-Identifier: Apache-2.0
 *
 * A program laid out in memory, ready to run or to be checked: its instructions, a block per segment, and the
 * blocks at given addresses that --mem and --dump name.
 */
#ifndef VTAC_IMAGE_H
#define VTAC_IMAGE_H

#include "cli.h"
#include "vta/driver.h"

/* One --mem: bytes for an address or for a symbol. */
typedef struct cli_input {
    const char *spec;
    uint8_t *bytes; /* NULL: zeros */
    size_t size;
    uint64_t addr;
    const vta_symbol *symbol; /* NULL: at addr */
} cli_input;

/* One --dump. */
typedef struct cli_output {
    const char *file;
    uint64_t addr;
    size_t size;
    const vta_symbol *symbol; /* NULL: at addr */
} cli_output;

typedef struct cli_image {
    /* Given by the caller: where memory comes from. `at` 0: anywhere. */
    vta_status (*alloc)(void *context, uint64_t at, size_t size, vta_mem *out, vta_diag *diag);
    void *context;

    cli_input *inputs;
    size_t input_count;
    cli_output *outputs;
    size_t output_count;
    vta_mem code, segments[VTA_SEGMENTS];
    vta_mem *blocks; /* at given addresses */
    size_t block_count;
    vta_launch launch;
} cli_image;

/* Reads what the options say: files are read, nothing is allocated. *usage is set where the words themselves
 * are malformed. */
vta_status cli_image_read(cli_image *image, const cli_args *args, const vta_program *program, bool *usage,
                          vta_diag *diag);

/* Allocates and fills everything. */
vta_status cli_image_place(cli_image *image, const cli_args *args, const vta_program *program,
                           vta_diag *diag);

/* Host memory of a symbol, and of an address inside some block (NULL where there is none). */
uint8_t *cli_image_symbol(const cli_image *image, const vta_symbol *symbol);
uint8_t *cli_image_at(const cli_image *image, uint64_t addr, size_t size);

/* Frees what the image itself holds; device memory goes with its device. */
void cli_image_free(cli_image *image);

#endif
