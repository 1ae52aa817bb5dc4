/* SPDX-License-Identifier: Apache-2.0
 *
 * Finalists on tsim: this program compiles each network for each of them and runs it there. A simulator is
 * built for a configuration that has none yet, so this is minutes, not seconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "explore.h"
#include "promise.h"
#include "self.h"
#include "stages.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vtac/temporary.h"

enum { PATH = VTAC_TEMPORARY_PATH + 64 };

/* The row `total` of a count of Yosys (fpga/synth/table.py), wherever it stands. */
static vta_status read_count(const char *path, const char *command, vtac_area *out, vta_diag *diag)
{
    enum { MAX_TABLE = 1 << 24 };
    uint8_t *bytes = NULL;
    size_t size = 0;
    bool found = false;
    VTA_TRY(vta_file_read(path, MAX_TABLE, &bytes, &size, diag));
    char *text = strndup((const char *)bytes, size);
    free(bytes);
    char *last = NULL;
    char *rest = NULL;
    for (char *line = text != NULL ? strtok_r(text, "\n", &rest) : NULL; line != NULL && !found;
         line = strtok_r(NULL, "\n", &rest)) {
        found = sscanf(line, "total %lf %lf %lf %lf", &out->lut, &out->ff, &out->dsp, &out->bram) == 4;
        last = line;
    }
    const vta_status status =
        found ? VTA_OK
              : vta_fail(diag, VTA_INVALID, "'%s' printed no line 'total LUT FF DSP BRAM36': %s", command,
                         last != NULL ? last : "nothing");
    free(text);
    return status;
}

static vta_status count_one(const cli_explored *e, const char *command, const char *config,
                            const char *folder, vtac_area *out, vta_diag *diag)
{
    char log[PATH];
    char *file = realpath(config, NULL); /* the command may go elsewhere */
    (void)snprintf(log, sizeof log, "%s/finalist.log", folder);
    vtac_area area = {0};
    vta_status status = VTA_OK;
    VTA_TRY_OUT(file == NULL ? vta_fail(diag, VTA_IO, "%s: it has gone", config)
                             : cli_run_command(command, file, log, diag));
    VTA_TRY_OUT(read_count(log, command, &area, diag));
out:
    free(file);
    VTA_TRY(status);
    (void)unlink(log);
    area.lut *= e->part->family == VTAC_ECP5 ? 1 : e->found->area_model.placed;
    *out = area;
    return VTA_OK;
}

static vta_status run_one(const cli_args *args, const char *model, const char *config, const char *folder,
                          uint64_t *predicted, uint64_t *cycles, vta_diag *diag)
{
    char library[PATH];
    (void)snprintf(library, sizeof library, "%s/finalist.so", folder);
    VTA_TRY(cli_compile_network(args, model, config, folder, library, predicted, diag));
    const vta_status status = cli_count_network(library, "tsim", folder, cycles, diag);
    (void)unlink(library);
    return status;
}

vta_status cli_prove_finalists(const cli_args *args, cli_explored *e, uint32_t count, const char *folder,
                               vta_diag *diag)
{
    for (uint32_t f = 0; f < count && f < e->found->count && f < EXPLORE_FINALISTS; f++) {
        char config[PATH];
        const char *list = cli_value(args, "--models"), *command = cli_value(args, "--count");
        (void)snprintf(config, sizeof config, "%s/best%u.json", folder, f + 1);
        e->proof_count = f + 1;
        vta_diag not_counted = {0};
        if (command != NULL) {
            cli_stage("counting finalists", "", f, count);
            if (count_one(e, command, config, folder, &e->proofs[f].counted, &not_counted) != VTA_OK) {
                (void)snprintf(e->proofs[f].why, sizeof e->proofs[f].why, "%.*s",
                               (int)sizeof e->proofs[f].why - 1, not_counted.text);
            }
        }
        for (uint32_t n = 0; n < e->networks->count; n++) {
            char model[4096];
            vta_diag own = {0};
            (void)snprintf(model, sizeof model, "%.*s", (int)strcspn(list, ","), list);
            list += strcspn(list, ",");
            list += *list == ',';
            cli_stage("running finalists on tsim", e->networks->items[n].name, f * e->networks->count + n,
                      count * e->networks->count);
            if (run_one(args, model, config, folder, &e->proofs[f].predicted[n], &e->proofs[f].cycles[n],
                        &own) != VTA_OK) {
                (void)snprintf(e->proofs[f].why, sizeof e->proofs[f].why, "%.*s",
                               (int)sizeof e->proofs[f].why - 1, own.text);
                if (own.code == VTA_NOMEM) {
                    return vta_fail(diag, own.code, "%s", own.text);
                }
            }
        }
    }
    return VTA_OK;
}
