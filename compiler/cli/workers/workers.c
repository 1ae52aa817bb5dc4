/* SPDX-License-Identifier: Apache-2.0
 *
 * Handing out work on the command line. See workers.h.
 */
#include "workers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stages.h"
#include "vta/fail.h"
#include "vta/file.h"

enum { MAX_JOBS = 4096, MAX_WORDS = 64, MAX_LINE = 1 << 20 };

int cli_read_work(const cli_args *args, cli_work *out)
{
    static const char *const folders[] = {"--slurm", "--folder", "--join"};
    const char *jobs = cli_value(args, "--jobs");
    uint64_t number = 0;
    int given = 0;
    *out = (cli_work){0};
    if (jobs != NULL && (!cli_number(jobs, &number) || number == 0 || number > MAX_JOBS)) {
        return cli_usage(args, "'--jobs %s': expected a number from 1 to %d", jobs, MAX_JOBS);
    }
    out->options.workers = (uint32_t)number;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        const char *folder = cli_value(args, folders[i]);
        if (folder != NULL) {
            out->options.engine = VTAC_WORK_FOLDER;
            out->options.folder = folder;
            out->options.joins = i == 2;
            given++;
        }
    }
    if (given > 1) {
        return cli_usage(args, "one of --slurm, --folder, --join");
    }
    if (cli_value(args, "--sbatch") != NULL && cli_value(args, "--slurm") == NULL) {
        return cli_usage(args, "'--sbatch' goes with '--slurm'");
    }
    if (given == 0 && vtac_work_is_rank()) {
        out->options.engine = VTAC_WORK_MPI;
    }
    return CLI_OK;
}

static void quote_word(vta_str *out, const char *word)
{
    vta_str_put(out, " '");
    for (; *word != '\0'; word++) {
        if (*word == '\'') {
            vta_str_put(out, "'\\''");
        } else {
            vta_str_append(out, word, 1);
        }
    }
    vta_str_put(out, "'");
}

/* This program's own words, as a command of the shell that joins the folder instead. */
static vta_status joining_command(const char *folder, vta_str *out, vta_diag *diag)
{
    char program[4096];
    uint8_t *bytes = NULL;
    size_t size = 0;
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length < 0) {
        return vta_fail(diag, VTA_IO, "cannot tell where this program is (/proc/self/exe)");
    }
    program[length] = '\0';
    VTA_TRY(vta_file_read("/proc/self/cmdline", MAX_LINE, &bytes, &size, diag));
    vta_str_put(out, "exec");
    quote_word(out, program);
    const char *word = (const char *)bytes;
    const char *end = word + size;
    for (word += strlen(word) + 1; word < end; word += strlen(word) + 1) {
        if (strcmp(word, "--slurm") == 0 || strcmp(word, "--sbatch") == 0) {
            word += strlen(word) + 1;
        } else if (strncmp(word, "--slurm=", 8) != 0 && strncmp(word, "--sbatch=", 9) != 0) {
            quote_word(out, word);
        }
    }
    quote_word(out, "--join");
    quote_word(out, folder);
    free(bytes);
    return vta_allocated(!out->failed, diag);
}

typedef struct submission {
    vta_str array, output, wrap;
    const char *words[MAX_WORDS];
} submission;

static vta_status make_submission(const cli_args *args, vtac_work_options *o, submission *s, vta_diag *diag)
{
    uint32_t count = 0;
    size_t at = 0;
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const uint32_t jobs = o->workers > 0 ? o->workers : processors > 0 ? (uint32_t)processors : 1;
    VTA_TRY(joining_command(o->folder, &s->wrap, diag));
    vta_str_printf(&s->array, "--array=0-%" PRIu32, jobs - 1);
    vta_str_printf(&s->output, "--output=%s/log/%%A_%%a.txt", o->folder);
    s->words[count++] = "sbatch";
    s->words[count++] = "--parsable";
    s->words[count++] = "--requeue";
    s->words[count++] = "--job-name=vtac";
    s->words[count++] = s->array.text;
    s->words[count++] = s->output.text;
    for (const char *word = cli_next(args, "--sbatch", &at); word != NULL && count + 3 < MAX_WORDS;
         word = cli_next(args, "--sbatch", &at)) {
        s->words[count++] = word;
    }
    s->words[count++] = "--wrap";
    s->words[count++] = s->wrap.text;
    o->submit = s->words;
    return s->array.failed || s->output.failed ? vta_no_memory(diag) : VTA_OK;
}

static submission submitted; /* of the verb: there is one */

/* Says that a worker waits for its leader, who may come later; refuses what no leader can have made. */
static vta_status look_for_leader(const cli_args *args, const char *folder, vta_diag *diag)
{
    char key[4096];
    struct stat info;
    if (stat(folder, &info) == 0 && !S_ISDIR(info.st_mode)) {
        return vta_fail(diag, VTA_INVALID, "'--join %s': expected a folder, and it is none", folder);
    }
    if (snprintf(key, sizeof key, "%s/key", folder) >= (int)sizeof key) {
        return vta_fail(diag, VTA_RANGE, "'--join': the path of the folder is too long");
    }
    if (access(key, F_OK) != 0) {
        cli_stages_hide();
        cli_say("vtac %s: no work is in '%s' yet; waiting up to %d s for the one who leads it\n",
                args->verb->name, folder, VTAC_WORK_PATIENCE);
    }
    return VTA_OK;
}

vta_status cli_open_work(const cli_args *args, const cli_work *how, const char *key, vtac_work_fn *fn,
                         void *context, vtac_work **out, vta_diag *diag)
{
    vtac_work_options options = how->options;
    options.key = key;
    VTA_TRY(options.joins ? look_for_leader(args, options.folder, diag) : VTA_OK);
    if (cli_value(args, "--slurm") != NULL) {
        if (cli_here()->guest) {
            return vta_fail(diag, VTA_UNSUPPORTED, "'--slurm' is for the program vtac, not for its library");
        }
        VTA_TRY(make_submission(args, &options, &submitted, diag));
    }
    VTA_TRY(vtac_work_open(&options, fn, context, out, diag));
    const char *folder = cli_value(args, "--folder");
    if (*out != NULL && folder != NULL) {
        cli_stages_hide();
        cli_say(
            "vtac %s: the work in '%s' is done by whoever runs this command with '--join %s' in the place "
            "of '--folder'\n",
            args->verb->name, folder, folder);
    }
    if (*out != NULL) {
        cli_catch_signals(vtac_work_stop, *out);
    }
    return VTA_OK;
}

void cli_close_work(vtac_work *work)
{
    cli_catch_signals(NULL, NULL);
    vtac_work_close(work);
    if (!cli_here()->guest) {
        vta_str_free(&submitted.array);
        vta_str_free(&submitted.output);
        vta_str_free(&submitted.wrap);
    }
}
