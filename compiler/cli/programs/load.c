/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs and configurations as the command line names them.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "vta/file.h"

enum { FILE_MAX = 1 << 28 };

vta_status cli_config(const cli_args *args, vta_config *config, bool *given, vta_diag *diag)
{
    const char *name = cli_value(args, "--config");
    *given = name != NULL;
    if (name == NULL) {
        vta_config_default(config);
        return VTA_OK;
    }
    return vta_config_load(name, config, diag);
}

/* Instructions alone: 16 bytes each, little endian. */
static vta_status raw_program(const uint8_t *bytes, size_t size, const char *path, vta_program *program,
                              vta_diag *diag)
{
    if (size == 0 || size % VTA_INSN_BYTES != 0) {
        return vta_fail(diag, VTA_SYNTAX, "%s: %zu bytes; expected one or more instructions of %d bytes",
                        path, size, VTA_INSN_BYTES);
    }
    program->insns = malloc(size);
    if (program->insns == NULL) {
        return vta_fail(diag, VTA_NOMEM, "out of memory for '%s'", path);
    }
    program->insn_count = (uint32_t)(size / VTA_INSN_BYTES);
    for (uint32_t i = 0; i < program->insn_count; i++) {
        for (size_t byte = 0; byte < VTA_INSN_BYTES; byte++) {
            uint64_t *half = &program->insns[i].w[byte / 8];
            *half = (byte % 8 == 0 ? 0 : *half) | (uint64_t)bytes[i * VTA_INSN_BYTES + byte]
                                                      << (8 * (byte % 8));
        }
    }
    return VTA_OK;
}

static vta_status parse_program(const cli_args *args, const uint8_t *bytes, size_t size, const char *path,
                                vta_program *program, vta_diag *diag)
{
    vta_config config;
    bool given = false;
    VTA_TRY(cli_config(args, &config, &given, diag));
    if (cli_flag(args, "--raw")) {
        program->config = config;
        return raw_program(bytes, size, path, program, diag);
    }
    if (size >= 7 && memcmp(bytes, "VTAPROG", 7) == 0) {
        VTA_TRY(vta_program_read(bytes, size, path, program, diag));
    } else {
        VTA_TRY(vta_assemble((const char *)bytes, size, path, &config, program, diag));
    }
    if (given && program->config.hash != config.hash) {
        char fields[512];
        (void)vta_config_diff(&program->config, &config, fields, sizeof fields);
        return vta_fail(
            diag, VTA_CONFIG_MISMATCH,
            "%s: written for configuration '%s', but '--config %s' differs in %s; leave one of them out",
            path, program->config.name, config.name, fields);
    }
    if (given) {
        program->config = config; /* the same hardware, perhaps with another memory */
    }
    return VTA_OK;
}

vta_status cli_program(const cli_args *args, const char *path, vta_program *program, vta_diag *diag)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    *program = (vta_program){0};
    VTA_TRY(vta_file_read(path, FILE_MAX, &bytes, &size, diag));
    const vta_status status = parse_program(args, bytes, size, path, program, diag);
    free(bytes);
    if (status != VTA_OK) {
        vta_program_free(program);
    }
    return status;
}

void cli_blame(const vta_program *program, const char *path, uint32_t insn, vta_diag *diag)
{
    if (diag->code == VTA_OK) {
        return;
    }
    if (program->lines != NULL && insn < program->insn_count) {
        (void)vta_context(diag, "%s:%" PRIu32, path, program->lines[insn]);
    } else {
        (void)vta_context(diag, "%s", path);
    }
}
