/* SPDX-License-Identifier: Apache-2.0
 *
 * The doctor for a client elsewhere.
 */
#include "vta/doctor.h"

#include "agent.h"

vta_status agent_doctor(agent *a, vta_content *in, vta_str *out, vta_diag *diag)
{
    vta_doctor_row rows[VTA_DOCTOR_ROWS];
    uint32_t count;
    const char *uri = vta_get_text(in);
    VTA_TRY(agent_read(in, diag));
    VTA_TRY(agent_takes(a, uri, diag));
    vta_doctor(uri, a->progress, rows, &count);
    vta_put_u32(out, count);
    for (uint32_t i = 0; i < count; i++) {
        vta_put_u32(out, (uint32_t)rows[i].finding);
        vta_put_text(out, rows[i].name);
        vta_put_text(out, rows[i].text);
    }
    return VTA_OK;
}
