/* SPDX-License-Identifier: Apache-2.0
 *
 * The host's calls out of its table, and its statuses.
 */
#include <string.h>

#include "ort.h"

vtac_ort_calls vtac_ort_host;

void vtac_ort_calls_of(const OrtApi *api, vtac_ort_calls *out)
{
    const char *table = (const char *)api;
#define ORT_CALL(result, name, slot, parameters)                                                             \
    memcpy(&out->name, table + (size_t)(slot) * sizeof(void *), sizeof out->name);
#include "ort_calls.def"
#undef ORT_CALL
}

vta_status vtac_ort_check(OrtStatus *status, vta_diag *diag)
{
    if (status == NULL) {
        return VTA_OK;
    }
    (void)vta_fail(diag, VTA_INVALID, "%s", vtac_ort_host.GetErrorMessage(status));
    vtac_ort_host.ReleaseStatus(status);
    return VTA_INVALID;
}

OrtStatus *vtac_ort_status(vta_status status, const vta_diag *diag)
{
    if (status == VTA_OK) {
        return NULL;
    }
    const int code = status == VTA_INVALID || status == VTA_SYNTAX ? ORT_INVALID_ARGUMENT : ORT_EP_FAIL;
    return vtac_ort_host.CreateStatus(code, diag->text[0] != '\0' ? diag->text : vta_status_text(status));
}
