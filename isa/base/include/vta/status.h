/* SPDX-License-Identifier: Apache-2.0
 *
 * How every library of ours reports failure: a status code, and the sentence that goes with it.
 *
 * A function that can fail returns `vta_status` and takes a `vta_diag *` as its last parameter (NULL is
 * allowed). The first failure of a call chain writes the sentence; a caller may put context in front of it on
 * the way up. Messages start in lower case, name the subject in single quotes, and end with the limit and
 * what would help.
 */
#ifndef VTA_STATUS_H
#define VTA_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum vta_status {
#define VTA_STATUS(name, text) VTA_##name,
#include "vta/status.def"
#undef VTA_STATUS
    VTA_STATUS_COUNT
} vta_status;

/* The first failure of a call chain; {0} means none. */
typedef struct vta_diag {
    vta_status code;
    char text[1024];
} vta_diag;

/* The fixed text of a status; never NULL. */
const char *vta_status_text(vta_status status);

/* Records the failure unless one is already there; returns `code`, so that `return vta_fail(…)` reads well.
 */
__attribute__((format(printf, 3, 4))) vta_status vta_fail(vta_diag *diag, vta_status code, const char *fmt,
                                                          ...);

/* Puts "prefix: " in front of the recorded sentence; returns its code. Nothing happens when there is none. */
__attribute__((format(printf, 2, 3))) vta_status vta_context(vta_diag *diag, const char *fmt, ...);

/* Propagates a failure to the caller. */
#define VTA_TRY(expr)                                                                                        \
    do {                                                                                                     \
        const vta_status try_status_ = (expr);                                                               \
        if (try_status_ != VTA_OK) {                                                                         \
            return try_status_;                                                                              \
        }                                                                                                    \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
