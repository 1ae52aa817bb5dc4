/* SPDX-License-Identifier: Apache-2.0
 *
 * A program outside the tree that uses the installed headers and library: it opens two devices and names
 * their shapes.
 */
#include <stdio.h>

#include <vta/driver.h>

static int show(const char *uri, const char *before)
{
    vta_device *device = NULL;
    vta_diag diag = {0};
    if (vta_device_open(uri, NULL, &device, &diag) != VTA_OK) {
        (void)fprintf(stderr, "%s\n", diag.text);
        return 1;
    }
    const vta_config *config = vta_device_config(device);
    (void)printf("%s%s %ux%ux%u", before, config->name, config->batch, config->block_in, config->block_out);
    vta_device_close(device);
    return 0;
}

int main(void)
{
    const int failed = show("fsim:tiny", "") || show("fsim", ", ");
    (void)printf("\n");
    return failed;
}
