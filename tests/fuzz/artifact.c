/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a compiled model: refused with one line, before anything of them is mapped or run. The seal of
 * what the fuzzer makes is never right; the second half gives it one for the part of the check that comes
 * behind it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "fuzz.h"
#include "temporary.h"
#include "vta/file.h"
#include "vta/model.h"

static char path[TEMPORARY_PATH];

static void remove_file(void)
{
    (void)unlink(path);
}

static void load(void)
{
    vta_model *model = NULL;
    vta_diag diag = {0};
    const vta_model_options options = {.threads = 1};
    const vta_status status = vta_model_load(path, &options, &model, &diag);
    FUZZ_REQUIRE(status != VTA_OK && model == NULL);
    FUZZ_REQUIRE(diag.text[0] != '\0' && strchr(diag.text, '\n') == NULL);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    if (path[0] == '\0') {
        (void)snprintf(path, sizeof path, "%s/vta-fuzz-artifact-%ld.so", fuzz_root(), (long)getpid());
        (void)atexit(remove_file);
    }
    FUZZ_REQUIRE(vta_file_write(path, data, size, NULL) == VTA_OK);
    load();
    /* not an ELF file for this machine: those that are would be mapped, and are then the system's business */
    if (size > 20) {
        uint8_t *copy = malloc(size);
        FUZZ_REQUIRE(copy != NULL);
        memcpy(copy, data, size);
        memcpy(copy, "\177ELF", 4);
        copy[18] = 0xff; /* e_machine */
        copy[19] = 0xff;
        FUZZ_REQUIRE(vta_file_write(path, copy, size, NULL) == VTA_OK);
        FUZZ_REQUIRE(vta_artifact_seal_file(path, NULL) == VTA_OK);
        free(copy);
        load();
    }
}
