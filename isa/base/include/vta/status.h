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
#pragma GCC visibility push(default)

typedef enum vta_status {
#define VTA_STATUS(name, text) VTA_##name,
#include "vta/status.def"
#undef VTA_STATUS
    VTA_STATUS_COUNT
} vta_status;

/* The release of the library that runs, "1.0.0". Within one first number programs need not be compiled again.
 */
const char *vta_version(void);

/* Levels of the library's messages. The library prints none; a program that wants them asks for a level. */
typedef enum vta_log_level {
    VTA_LOG_NOTHING,
    VTA_LOG_WARNING, /* it goes on, but slower or with less than was asked for */
    VTA_LOG_INFO,    /* devices and models come and go; what there is to wait for */
    VTA_LOG_DEBUG    /* each run */
} vta_log_level;
typedef void vta_log_sink(void *context, vta_log_level level, const char *line);

/* From now on lines of at most this level go to `sink`, without a newline, from whichever thread has one to
 * say; NULL: nobody listens. One for the whole process. A thread that is just saying something may call the
 * one before once more. */
void vta_log_to(vta_log_level max, vta_log_sink *sink, void *context);

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

#ifdef __clang_analyzer__
/* The analyzer does not see that the code comes back: without this it follows each failure as if it were
 * none. */
/* NOLINTNEXTLINE(readability-identifier-naming): it stands for the function */
#    define vta_fail(diag, code, ...) ((void)(vta_fail)(diag, code, __VA_ARGS__), (code))
#endif

/* Propagates a failure to the caller. */
#define VTA_TRY(expr)                                                                                        \
    do {                                                                                                     \
        const vta_status try_status_ = (expr);                                                               \
        if (try_status_ != VTA_OK) {                                                                         \
            return try_status_;                                                                              \
        }                                                                                                    \
    } while (0)

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
