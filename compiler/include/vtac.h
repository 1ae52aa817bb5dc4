/* SPDX-License-Identifier: Apache-2.0
 *
 * libvtac: the compiler as a library. Each function does what the verb of the program `vtac` of its name
 * does, in the process and on the thread of its caller, and returns when it is done.
 *
 * The library is a guest: it prints nothing, ends nothing, changes no signal and no locale, and may be called
 * from several threads at once. `tune` and options such as "--jobs" fork processes that end with the call.
 *
 * A function returns LIBVTAC_OK, or why it failed: the numbers are those of vta_status. In *answer is then
 * the answer of the verb, JSON where it has such, or one sentence that says what is wrong; it is owned by
 * the caller, who gives it to libvtac_free, and NULL where there was no memory for it. `answer` may be NULL.
 */
#ifndef LIBVTAC_H
#define LIBVTAC_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    LIBVTAC_OK = 0,
    LIBVTAC_NOMEM = 1,
    LIBVTAC_IO = 2,
    LIBVTAC_INVALID = 3,
    LIBVTAC_UNSUPPORTED = 5,
    LIBVTAC_INTERRUPTED = 15
};

/* Zero all of it and set `size`; what stays NULL is as if the option of the verb was not given. A member that
 * the verb has no option for is an error. Later versions append members. */
typedef struct libvtac_options {
    size_t size;            /* sizeof(libvtac_options) */
    const char *output;     /* -o */
    const char *target;     /* "llvm" or "vta" */
    const char *config;     /* of the accelerator: a name or a file */
    const char *host;       /* the processor: a name of `vtac targets` */
    const char *device;     /* URI */
    const char *calib;      /* inputs to quantize with: a folder or a file */
    const char *preprocess; /* what is done with pictures first */
    const char *tuned;      /* schedules that libvtac_tune found */
    const char *log;        /* of libvtac_tune */

    /* All other options, in the words of the verb: {"--per-tensor", "--shape", "x=1x3", NULL}. */
    const char *const *more;

    /* A note or a warning, one line without its end. */
    void (*say)(void *context, const char *line);
    /* Before each piece of work: "lowering node", "conv1", 3, 20 is the fourth of twenty; a stage of one
     * piece has a total of 0. Not 0 ends the call, which returns LIBVTAC_INTERRUPTED. The output is not
     * there then. Both are called on the thread of the call; they may not leave it by longjmp or a C++
     * exception. */
    int (*at)(void *context, const char *stage, const char *item, unsigned done, unsigned total);
    void *context; /* of `say` and `at` */
} libvtac_options;

/* "1.0.0" */
const char *libvtac_version(void);

/* options: NULL for none. */
int libvtac_compile(const char *model, const libvtac_options *options, char **answer);
int libvtac_quantize(const char *model, const libvtac_options *options, char **answer);
int libvtac_tune(const char *model, const libvtac_options *options, char **answer);
int libvtac_convert(const char *model, const libvtac_options *options, char **answer);
int libvtac_diff(const char *model, const libvtac_options *options, char **answer);

/* Folders of ONNX's test cases, the last NULL. Where a case fails, LIBVTAC_INVALID, and the answer is the
 * report all the same. */
int libvtac_verify(const char *const *folders, const libvtac_options *options, char **answer);

/* Runs any verb by its words, the last NULL, {"explain", "model.onnx", NULL}; but for verbs that serve others
 * or start the program itself (board, completion, regress). */
int libvtac_verb(const char *const *words, const libvtac_options *options, char **answer);

void libvtac_free(char *answer);

#ifdef __cplusplus
}
#endif

#endif
