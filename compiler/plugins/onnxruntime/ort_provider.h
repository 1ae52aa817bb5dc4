/* SPDX-License-Identifier: Apache-2.0
 *
 * The provider of one session, between the factory, which makes it, and the host.
 */
#ifndef VTAC_ORT_PROVIDER_H
#define VTAC_ORT_PROVIDER_H

#include "ort.h"

/* The provider's name; options of a session begin with "ep.", this name in small letters, and ".". */
#define VTAC_ORT_NAME "VtacExecutionProvider"

/* A provider with the options of a session; the logger is the host's and outlives it. */
vta_status vtac_ort_provider_create(const OrtSessionOptions *options, const OrtLogger *logger, OrtEp **out,
                                    vta_diag *diag);
void vtac_ort_provider_destroy(OrtEp *ep);

#endif
