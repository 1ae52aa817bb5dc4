/* SPDX-License-Identifier: Apache-2.0
 *
 * The options of a session as the host has them.
 */
#ifndef VTAC_ORT_OPTIONS_H
#define VTAC_ORT_OPTIONS_H

#include "ort.h"

/* Adds those of the provider to `settings`; one that it does not know is an error. */
vta_status vtac_ort_options_read(const OrtSessionOptions *options, vtac_plug_settings *settings,
                                 vta_diag *diag);

#endif
