/* SPDX-License-Identifier: Apache-2.0
 *
 * libvtac: a verb with a guest's ground under it. See vtac.h.
 */
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "picture.h"
#include "temporary.h"
#include "vta/fail.h"
#include "vta/vec.h"
#include "vtac.h"

#define EXPORTED __attribute__((visibility("default")))

_Static_assert(LIBVTAC_NOMEM == (int)VTA_NOMEM && LIBVTAC_IO == (int)VTA_IO &&
                   LIBVTAC_INVALID == (int)VTA_INVALID && LIBVTAC_UNSUPPORTED == (int)VTA_UNSUPPORTED &&
                   LIBVTAC_INTERRUPTED == (int)VTA_INTERRUPTED,
               "the numbers are those of vta_status");

/* ---- the thread as it was found */

typedef struct thread_state {
    locale_t plain, locale;
    sigset_t mask;
    bool had_sigpipe;
} thread_state;

static void only_sigpipe(sigset_t *set)
{
    (void)sigemptyset(set);
    (void)sigaddset(set, SIGPIPE);
}

/* Numbers have a point, and a child that is gone is an error and no signal. */
static vta_status enter_library(thread_state *t, vta_diag *diag)
{
    sigset_t pipe;
    sigset_t pending;
    t->plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (t->plain == (locale_t)0) {
        return vta_no_memory(diag);
    }
    t->locale = uselocale(t->plain);
    only_sigpipe(&pipe);
    t->had_sigpipe = sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
    (void)pthread_sigmask(SIG_BLOCK, &pipe, &t->mask);
    return VTA_OK;
}

static void leave_library(const thread_state *t)
{
    const struct timespec now = {0};
    sigset_t pipe;
    only_sigpipe(&pipe);
    while (!t->had_sigpipe && sigtimedwait(&pipe, NULL, &now) > 0) { /* one of ours */
    }
    (void)pthread_sigmask(SIG_SETMASK, &t->mask, NULL);
    (void)uselocale(t->locale);
    freelocale(t->plain);
}

/* ---- options */

/* The words after the verb. */
typedef struct word_list {
    vta_vec items;
    bool failed; /* without memory */
} word_list;

static void add_word(word_list *words, const char *word)
{
    words->failed = vta_vec_push(&words->items, &word) == NULL || words->failed;
}

static void add_options(word_list *words, const libvtac_options *o)
{
    const struct {
        const char *name, *value;
    } named[] = {
        {"-o", o->output},
        {"--target", o->target},
        {"--config", o->config},
        {"--host", o->host},
        {"--device", o->device},
        {"--calib", o->calib},
        {"--preprocess", o->preprocess},
        {"--tuned", o->tuned},
        {"--log", o->log},
    };
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        if (named[i].value != NULL) {
            add_word(words, named[i].name);
            add_word(words, named[i].value);
        }
    }
    for (size_t i = 0; o->more != NULL && o->more[i] != NULL; i++) {
        add_word(words, o->more[i]);
    }
}

static bool ask_progress(void *context, const char *stage, const char *item, uint32_t done, uint32_t total)
{
    const libvtac_options *o = context;
    return o->at(o->context, stage, item, done, total) != 0;
}

/* ---- a call */

static int run_words(const cli_verb *verb, const word_list *words)
{
    cli_args args;
    int status = cli_parse(verb, (int)words->items.count, (char **)words->items.items, &args);
    cli_picture_serve();
    status = status == CLI_OK ? cli_do_verb(verb, &args) : status;
    cli_args_free(&args);
    return status;
}

static vta_status settle_answer(cli_ground *ground, int exit_status, char **answer)
{
    vta_status status = exit_status == CLI_OK ? VTA_OK : ground->failure.code;
    const bool told = status != VTA_OK;
    if (exit_status != CLI_OK && !told) {
        status = exit_status == CLI_INTERRUPTED ? VTA_INTERRUPTED : VTA_INVALID;
    }
    if (answer != NULL) {
        const bool empty = ground->answer.text == NULL && !ground->answer.failed;
        *answer = told || empty ? strdup(told ? ground->failure.text : "") : vta_str_take(&ground->answer);
        status = *answer == NULL && status == VTA_OK ? VTA_NOMEM : status;
    }
    return status;
}

static vta_status call_verb(const cli_verb *verb, const word_list *words, const libvtac_options *o,
                            char **answer)
{
    thread_state thread;
    cli_ground *ground = calloc(1, sizeof *ground);
    if (ground == NULL || words->failed) {
        free(ground);
        return VTA_NOMEM;
    }
    ground->guest = true;
    ground->process = getpid();
    ground->report = o->say;
    ground->context = o->context;
    ground->progress = (vtac_progress){o->at != NULL ? ask_progress : NULL, (void *)(uintptr_t)o};
    int exit_status = CLI_FAILED;
    if (enter_library(&thread, &ground->failure) == VTA_OK) {
        cli_stand_on(ground);
        exit_status = run_words(verb, words);
        cli_temporary_remove_all();
        cli_stand_on(NULL);
        leave_library(&thread);
    }
    const vta_status status = settle_answer(ground, exit_status, answer);
    vta_str_free(&ground->answer);
    vta_str_free(&ground->line);
    free(ground);
    return status;
}

/* "'what' why", or why alone. */
static vta_status refuse_call(char **answer, const char *what, const char *why)
{
    vta_str text = {0};
    if (what != NULL) {
        vta_str_printf(&text, "'%s' ", what);
    }
    vta_str_put(&text, why);
    if (answer != NULL) {
        *answer = vta_str_take(&text);
    }
    vta_str_free(&text);
    return VTA_INVALID;
}

/* `operands`: the words are no options, and the answer is JSON where `json` says so. */
static int run_verb(const char *name, const char *const *words, bool operands, bool json,
                    const libvtac_options *given, char **answer)
{
    libvtac_options options = {.size = sizeof options};
    word_list all = {.items = {.item_size = sizeof(const char *)}};
    if (answer != NULL) {
        *answer = NULL;
    }
    if (given != NULL && (given->size < sizeof given->size || given->size > 1U << 16)) {
        return (int)refuse_call(answer, NULL, "options.size is not sizeof(libvtac_options)");
    }
    if (given != NULL) { /* of an older caller it ends earlier */
        memcpy(&options, given, given->size < sizeof options ? given->size : sizeof options);
    }
    const cli_verb *verb = name != NULL ? cli_verb_find(name) : NULL;
    if (verb == NULL || verb->alone) {
        return (int)refuse_call(answer, name != NULL ? name : "",
                                verb == NULL ? "is no verb" : "is for the program vtac alone");
    }
    add_options(&all, &options);
    if (json) {
        add_word(&all, "--json");
    }
    if (operands) { /* a file may have any name */
        add_word(&all, "--");
    }
    for (size_t i = 0; words != NULL && words[i] != NULL; i++) {
        add_word(&all, words[i]);
    }
    const vta_status status = call_verb(verb, &all, &options, answer);
    vta_vec_free(&all.items);
    return (int)status;
}

static int run_model(const char *name, const char *model, bool json, const libvtac_options *options,
                     char **answer)
{
    const char *const words[] = {model, NULL};
    return run_verb(name, words, true, json, options, answer);
}

/* ---- what vtac.h declares */

EXPORTED const char *libvtac_version(void)
{
    return vta_version();
}

EXPORTED int libvtac_compile(const char *model, const libvtac_options *options, char **answer)
{
    return run_model("compile", model, true, options, answer);
}

EXPORTED int libvtac_quantize(const char *model, const libvtac_options *options, char **answer)
{
    return run_model("quantize", model, true, options, answer);
}

EXPORTED int libvtac_tune(const char *model, const libvtac_options *options, char **answer)
{
    return run_model("tune", model, false, options, answer);
}

EXPORTED int libvtac_convert(const char *model, const libvtac_options *options, char **answer)
{
    return run_model("convert", model, false, options, answer);
}

EXPORTED int libvtac_diff(const char *model, const libvtac_options *options, char **answer)
{
    return run_model("diff", model, true, options, answer);
}

EXPORTED int libvtac_verify(const char *const *folders, const libvtac_options *options, char **answer)
{
    return run_verb("verify", folders, true, true, options, answer);
}

EXPORTED int libvtac_verb(const char *const *words, const libvtac_options *options, char **answer)
{
    const bool any = words != NULL && words[0] != NULL;
    return run_verb(any ? words[0] : NULL, any ? words + 1 : NULL, false, false, options, answer);
}

EXPORTED void libvtac_free(char *answer)
{
    free(answer);
}
