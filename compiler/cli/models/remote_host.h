/* SPDX-License-Identifier: Apache-2.0
 *
 * For which processor a model is compiled that is to run on a device: this machine's, or the one that the
 * agent on another machine says it runs on.
 */
#ifndef VTAC_REMOTE_HOST_H
#define VTAC_REMOTE_HOST_H

#include "vta/status.h"

/* A name of 'vtac targets' for a device URI (NULL: this machine). Borrowed. */
vta_status cli_host_of(const char *device, const char **host, vta_diag *diag);

#endif
