/* SPDX-License-Identifier: Apache-2.0
 *
 * The user's cache. What lies there is loaded as code, so that nobody else may write there.
 */
#ifndef VTA_CACHE_H
#define VTA_CACHE_H

#include "vta/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The name of the folder of a kind, "models": below $VTAC_CACHE, $XDG_CACHE_HOME/vtac or $HOME/.cache/vtac.
 * *path is owned (free()). VTA_IO where none of them names a folder. */
vta_status vta_cache_name(const char *kind, char **path, vta_diag *diag);

/* Makes a folder for such files, for its user alone. One that is there must be the user's own or root's, and
 * nobody may write to it beside the user and the user's own group. */
vta_status vta_cache_make(const char *path, vta_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
