/* SPDX-License-Identifier: Apache-2.0
 *
 * What the verbs of `vtac` share: the table of verbs, parsed arguments, and how results and failures are
 * told. A verb is one file and one row of verbs.def; help, completion and the parser of options follow from
 * its tables.
 */
#ifndef VTAC_CLI_H
#define VTAC_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ground.h"
#include "vta/driver.h"
#include "vta/program.h"

/* Exit status. */
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_INTERRUPTED = 130 };

/* Kind of a word's meaning, so that completion offers the right words. */
typedef enum cli_kind {
    CLI_FLAG,
    CLI_TEXT,
    CLI_FILE,
    CLI_OUT, /* a file that is written whole: cli_do_verb asks first whether it can be */
    CLI_CONFIG,
    CLI_DEVICE
} cli_kind;

typedef struct cli_option {
    const char *name;  /* "--device", or "-o" */
    const char *value; /* what follows it, for the help: "URI"; NULL for a flag */
    cli_kind kind;
    const char *doc; /* NULL: not in the help, as another row speaks of it */
} cli_option;

typedef struct cli_args cli_args;

typedef struct cli_verb {
    const char *name;
    const char *operands; /* "PROGRAM -o FILE" */
    const char *summary;  /* one line */
    const char *more;     /* a few lines below the usage, or NULL */
    const cli_option *options;
    size_t option_count;
    const char *const *words; /* fixed first operands ("list", "show", …), or NULL */
    size_t word_count;
    size_t min, max; /* operands */
    bool alone;      /* needs the program vtac around it: signals, itself as a process */
    int (*run)(const cli_args *args);
} cli_verb;

extern const cli_verb *const cli_verbs[];
extern const size_t cli_verb_count;

/* The arguments of one call. Words are borrowed from main's argv. */
struct cli_args {
    const cli_verb *verb;
    const char **operands;
    size_t operand_count;
    struct cli_given {
        const cli_option *option;
        const char *value; /* NULL for a flag */
    } * given;
    size_t given_count;
};

/* The last value of an option, or NULL. */
const char *cli_value(const cli_args *args, const char *option);
bool cli_flag(const cli_args *args, const char *option);
/* The next value of an option that may be repeated, from *at on, which starts at 0; NULL at the end. */
const char *cli_next(const cli_args *args, const char *option, size_t *at);

/* Splits the words after the verb. CLI_OK, or CLI_USAGE with the message written. */
int cli_parse(const cli_verb *verb, int argc, char **argv, cli_args *args);
void cli_args_free(cli_args *args);

/* The verb of a name, NULL where there is none. */
const cli_verb *cli_verb_find(const char *name);
/* Runs a verb, unless a file that its options name cannot be written: that is told before the work. */
int cli_do_verb(const cli_verb *verb, const cli_args *args);

/* "vtac VERB: sentence" and how to get help, on stderr; returns CLI_USAGE. */
__attribute__((format(printf, 2, 3))) int cli_usage(const cli_args *args, const char *fmt, ...);
/* The failure on stderr, as JSON with --json; returns CLI_FAILED, or CLI_INTERRUPTED where it was that. */
int cli_fail(const cli_args *args, const vta_diag *diag);
/* Prints the failure of the model that is the first operand; the file is named once. */
int cli_fail_model(const cli_args *args, const vta_diag *diag);
/* Success, if all that was printed has reached stdout; a full disk is a failure. */
int cli_done(const cli_args *args);

/* True if a stream gets colour and progress: a terminal, and neither NO_COLOR nor TERM=dumb. */
bool cli_fancy(int fd);

/* Lines of progress on a terminal's standard error, and the end of a wait by Ctrl-C. */
const vta_progress *cli_progress(void);

/* Ctrl-C and SIGTERM call `stop`, a second one ends the process; NULL: the first one does. */
void cli_catch_signals(void (*stop)(void *what), void *what);
/* Makes signals that end the process first remove its temporary files and end the processes of its devices.
 */
void cli_die_tidily(void);
/* For a vta_device and a vta_model. */
void cli_stop_device(void *device);
void cli_stop_model(void *model);
/* vta_model_run that they stop. */
struct vta_model;
vta_status cli_run_model(struct vta_model *model, vta_diag *diag);

/* A string in JSON's quotes, on stdout. */
void cli_json_string(const char *text);

/* ---- things that several verbs take */

/* A decimal or 0x number with nothing behind it. */
bool cli_number(const char *text, uint64_t *value);
bool cli_seconds(const char *text, double *value);

/* --config NAME|FILE; *given is false, and *config the default, where there is none. */
vta_status cli_config(const cli_args *args, vta_config *config, bool *given, vta_diag *diag);

/* A program in any of its forms: a container, assembler text, or with --raw instructions alone. --config
 * overrides nothing: where the program names another configuration, it is an error. */
vta_status cli_program(const cli_args *args, const char *path, vta_program *program, vta_diag *diag);

/* Puts the source line of an instruction in front of a message that is about it. */
void cli_blame(const vta_program *program, const char *path, uint32_t insn, vta_diag *diag);

/* The verbs: one file each. */
#define CLI_VERB(name) extern const cli_verb cli_verb_##name;
#include "verbs.def"
#undef CLI_VERB

/* The help of a verb, on stdout. */
void cli_print_help(const cli_verb *verb);

#endif
