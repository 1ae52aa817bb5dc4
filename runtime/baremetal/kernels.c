/* SPDX-License-Identifier: Apache-2.0
 *
 * No device that runs kernels: vta_kernels_is says so of every URI, and nobody calls the rest.
 */
#include "vta/kernels.h"

#include "vta/fail.h"

bool vta_kernels_is(const char *uri)
{
    (void)uri;
    return false;
}

vta_status vta_kernels_get(const vta_kernels_calls **calls, vta_diag *diag)
{
    *calls = NULL;
    return vta_fail(diag, VTA_UNSUPPORTED, "no device that runs kernels");
}
