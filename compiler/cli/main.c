/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac: finds the verb, lets it run. Exit status: 0 done, 1 failed, 2 misused, 130 interrupted.
 */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "cli.h"
#include "picture.h"
#include "vta/file.h"
#include "vta/str.h"

enum { MAX_VERBS = 64 };

static int unknown_verb(const char *word)
{
    const char *names[MAX_VERBS] = {"--version", "--help"};
    size_t count = 2;
    for (size_t i = 0; i < cli_verb_count && count < MAX_VERBS; i++) {
        names[count++] = cli_verbs[i]->name;
    }
    const char *near = vta_nearest(word, names, count);
    cli_say("vtac: unknown %s '%s'", word[0] == '-' ? "option" : "verb", word);
    if (near != NULL) {
        cli_say("; did you mean '%s'?", near);
    }
    cli_say(" (try 'vtac help')\n");
    return CLI_USAGE;
}

/* The first file that was not written where no call could return that: what a device writes until it is
 * closed (waves, a timeline). */
static char unwritten[1024];

static void keep_unwritten(void *context, vta_log_level level, const char *line)
{
    (void)context;
    if (level == VTA_LOG_WARNING && strncmp(line, "cannot write '", 14) == 0 && unwritten[0] == '\0') {
        (void)snprintf(unwritten, sizeof unwritten, "%s", line);
    }
}

static int run_verb(const cli_verb *verb, int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            cli_print_help(verb);
            return cli_done(NULL);
        }
    }
    cli_args args;
    int status = cli_parse(verb, argc, argv, &args);
    if (status == CLI_OK) {
        cli_picture_serve();
        status = cli_do_verb(verb, &args);
    }
    cli_args_free(&args);
    if (status == CLI_OK && unwritten[0] != '\0') {
        cli_say("vtac: %s\n", unwritten);
        status = CLI_FAILED;
    }
    return status;
}

/* The compiler takes and gives back megabytes for each model and each fold. That memory stays with the
 * process: asking the system again, page by page, takes a tenth of the time of a small model. Large tensors
 * go back. */
static void keep_memory(void)
{
    enum { TENSOR = 32 << 20, KEPT = 64 << 20 };
    (void)mallopt(M_MMAP_THRESHOLD, TENSOR);
    (void)mallopt(M_TRIM_THRESHOLD, KEPT);
}

/* A stack that ends in the middle of a verb would end the program without a word. */
static bool has_stack(void)
{
    static const rlim_t needed = 1 << 20;
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= needed) {
        return true;
    }
    cli_say("vtac: the stack may grow to %llu KiB and must be let grow to %llu; 'ulimit -s %llu' does that\n",
            (unsigned long long)limit.rlim_cur >> 10, (unsigned long long)needed >> 10,
            (unsigned long long)needed >> 10);
    return false;
}

int main(int argc, char **argv)
{
    (void)vta_standard_hold();
    if (!has_stack()) {
        return CLI_FAILED;
    }
    keep_memory();
    vta_log_to(VTA_LOG_WARNING, keep_unwritten, NULL);
    (void)signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error to report, not a way to die */
    (void)signal(SIGXFSZ, SIG_IGN); /* and so is a file that may grow no more */
    if (argc < 2) {
        cli_say("vtac: expected a verb (try 'vtac help')\n");
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
        cli_print("vtac %s, instruction set %d.%d\n", vta_version(), VTA_ISA_MAJOR, VTA_ISA_MINOR);
        return cli_done(NULL);
    }
    const cli_verb *verb = cli_verb_find(argv[1]);
    return verb == NULL ? unknown_verb(argv[1]) : run_verb(verb, argc - 2, argv + 2);
}
