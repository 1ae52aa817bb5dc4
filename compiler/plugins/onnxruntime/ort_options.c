/* SPDX-License-Identifier: Apache-2.0
 *
 * The options of a session: entries of the host's configuration that begin with the provider's prefix.
 */
#include <string.h>

#include "ort_options.h"
#include "ort_provider.h"

#define PREFIX "ep.vtacexecutionprovider."

static vta_status take_entries(const OrtKeyValuePairs *pairs, vtac_plug_settings *settings, vta_diag *diag)
{
    const char *const *keys = NULL;
    const char *const *values = NULL;
    size_t count = 0;
    const size_t prefix = strlen(PREFIX);
    vtac_ort_host.GetKeyValuePairs(pairs, &keys, &values, &count);
    for (size_t i = 0; i < count; i++) {
        if (strncmp(keys[i], PREFIX, prefix) == 0) {
            VTA_TRY(vtac_plug_set(settings, keys[i] + prefix, values[i], diag));
        }
    }
    return VTA_OK;
}

vta_status vtac_ort_options_read(const OrtSessionOptions *options, vtac_plug_settings *settings,
                                 vta_diag *diag)
{
    OrtKeyValuePairs *pairs = NULL;
    VTA_TRY(vtac_ort_check(vtac_ort_host.GetSessionOptionsConfigEntries(options, &pairs), diag));
    const vta_status status = take_entries(pairs, settings, diag);
    vtac_ort_host.ReleaseKeyValuePairs(pairs);
    return status;
}
