/* SPDX-License-Identifier: Apache-2.0
 *
 * vta_prebuild FOLDER CONFIG...: simulators that a package ships, as entries of FOLDER, one name a line. It
 * takes the sources of the tree in whose bin it lies (runtime/install/simulators.sh puts it there).
 */
#include <stdio.h>

#include "vta/rtlbuild.h"

static void say(void *context, const char *line)
{
    (void)context;
    (void)fprintf(stderr, "%s\n", line);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        (void)fputs("usage: vta_prebuild FOLDER CONFIG...\n", stderr);
        return 2;
    }
    for (int i = 2; i < argc; i++) {
        vta_config config;
        vta_diag diag = {0};
        char entry[4096];
        if (vta_config_load(argv[i], &config, &diag) != VTA_OK ||
            vta_rtlsim_prebuild(argv[1], &config, say, NULL, entry, sizeof entry, &diag) != VTA_OK) {
            (void)fprintf(stderr, "vta_prebuild: %s: %s\n", argv[i], diag.text);
            return 1;
        }
        (void)puts(entry);
    }
    return 0;
}
