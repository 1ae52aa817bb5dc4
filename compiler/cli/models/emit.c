/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts of a compilation into files.
 */
#include "emit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"
#include "vta/file.h"

static const char *const names[] = {"ir", "plan", "ll", "asm", "loops", "dot", "kernels"};
enum { IR, PLAN, LL, ASM, LOOPS, DOT, KERNELS, NAMES };

/* Index of a word among the names; NAMES: it is none. */
static size_t find_name(const char *word, size_t size)
{
    size_t i = 0;
    while (i < NAMES && (strlen(names[i]) != size || strncmp(names[i], word, size) != 0)) {
        i++;
    }
    return i;
}

int cli_read_emit(const cli_args *args)
{
    const char *spec = cli_value(args, "--emit");
    const char *folder = spec != NULL ? strchr(spec, ':') : NULL;
    if (spec != NULL && (folder == NULL || folder[1] == '\0')) {
        return cli_usage(args, "--emit takes LIST:DIR, as in ir,asm:texts, not '%s'", spec);
    }
    for (const char *p = spec; p != NULL && p < folder;) {
        const size_t size = strcspn(p, ",:");
        if (find_name(p, size) == NAMES) {
            return cli_usage(args, "--emit knows ir, plan, ll, asm, loops, dot and kernels, not '%.*s'",
                             (int)size, p);
        }
        p += size + 1;
    }
    return CLI_OK;
}

static vta_status write_text(const char *folder, const char *name, const char *text, vta_diag *diag)
{
    char path[4200];
    (void)snprintf(path, sizeof path, "%.4000s/model.%s", folder, name);
    return text != NULL ? vta_file_write(path, text, strlen(text), diag)
                        : vta_fail(diag, VTA_NOMEM, "no memory for '%s'", path);
}

vta_status cli_emit(const cli_args *args, const vtac_graph *graph, const vtac_artifact_image *image,
                    vta_diag *diag)
{
    const char *spec = cli_value(args, "--emit");
    if (spec == NULL) {
        return VTA_OK;
    }
    const char *folder = strchr(spec, ':') + 1;
    VTA_TRY(vta_folder_make(folder, 0777, diag));
    char *ir = vtac_graph_print(graph, 16);
    char *dot = cli_graph_dot(graph);
    const char *const texts[NAMES] = {[IR] = ir,
                                      [PLAN] = image->plan,
                                      [LL] = image->ll,
                                      [ASM] = image->assembly,
                                      [LOOPS] = image->loops,
                                      [DOT] = dot,
                                      [KERNELS] = image->kernels != NULL ? image->kernels : ""};
    vta_status status = VTA_OK;
    for (const char *p = spec; p < folder && status == VTA_OK; p += strcspn(p, ",:") + 1) {
        const size_t i = find_name(p, strcspn(p, ",:"));
        status = write_text(folder, names[i], texts[i], diag);
    }
    free(ir);
    free(dot);
    return status;
}

void cli_print_lines(const char *text)
{
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");
        cli_print("%.*s\n", (int)length, text);
        text += length + (text[length] == '\n');
    }
}
