/* SPDX-License-Identifier: Apache-2.0 */
#include "run_generate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive.h"
#include "layers.h"
#include "vta/clock.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/generate.h"
#include "vta/vec.h"

typedef struct text_call {
    const cli_args *args;
    vta_generate_options how;
    vta_vec prompt; /* uint32_t: --ids */
    vta_vec ids;    /* uint32_t: the new tokens */
    vta_str text;   /* of the new tokens */
    bool json;
    vta_status status; /* of what the callback does */
    vta_diag diag;
    uint64_t cycles; /* of the last run */
    vta_model *model;
} text_call;

/* ---- the command line */

static bool read_id(const char **at, uint32_t *id)
{
    char *end;
    errno = 0;
    const unsigned long long number = strtoull(*at, &end, 10);
    const bool good = **at >= '0' && **at <= '9' && errno == 0 && number < VTA_NO_TOKEN;
    *id = (uint32_t)number;
    *at = end;
    return good && (*end == '\0' || *end == ',');
}

/* Numbers with commas between them. */
static bool read_ids(const char *list, vta_vec *out)
{
    for (;; list++) {
        uint32_t id;
        if (!read_id(&list, &id) || (out != NULL && vta_vec_push(out, &id) == NULL)) {
            return false;
        }
        if (*list == '\0') {
            return true;
        }
    }
}

/* A number within [0, max] that is not an integer alone. */
static bool read_real(const cli_args *args, const char *option, double max, double *out)
{
    const char *text = cli_value(args, option);
    char *end = NULL;
    *out = text == NULL ? 0.0 : strtod(text, &end);
    return text == NULL || (end != text && *end == '\0' && *out >= 0.0 && *out <= max);
}

static bool read_whole(const cli_args *args, const char *option, uint64_t max, uint64_t *out)
{
    const char *text = cli_value(args, option);
    *out = 0;
    return text == NULL || (cli_number(text, out) && *out <= max);
}

static int read_generate(const cli_args *args, vta_generate_options *how)
{
    uint64_t top_k;
    *how =
        (vta_generate_options){.size = sizeof *how, .seed = 1, .ignore_end = cli_flag(args, "--ignore-end")};
    if (!read_whole(args, "--generate", 1000000000, &how->max_tokens) || how->max_tokens == 0) {
        return cli_usage(args, "--generate takes a number of tokens from 1 on, not '%s'",
                         cli_value(args, "--generate"));
    }
    if (!read_whole(args, "--top-k", UINT32_MAX, &top_k)) {
        return cli_usage(args, "--top-k takes a number of tokens, not '%s'", cli_value(args, "--top-k"));
    }
    if (!read_real(args, "--temperature", 1e6, &how->temperature)) {
        return cli_usage(args, "--temperature takes a number from 0 on, not '%s'",
                         cli_value(args, "--temperature"));
    }
    if (!read_real(args, "--top-p", 1.0, &how->top_p)) {
        return cli_usage(args, "--top-p takes a share between 0 and 1, not '%s'", cli_value(args, "--top-p"));
    }
    if (cli_value(args, "--seed") != NULL && !cli_number(cli_value(args, "--seed"), &how->seed)) {
        return cli_usage(args, "--seed takes a number, not '%s'", cli_value(args, "--seed"));
    }
    how->top_k = (uint32_t)top_k;
    return CLI_OK;
}

/* Options that only runs without --generate have, and the other way round. */
static int check_others(const cli_args *args)
{
    static const char *const others[] = {"--input",  "--preprocess", "--output-dir", "--top",   "--labels",
                                         "--repeat", "--jobs",       "--profile",    "--slurm", "--steps"};
    static const char *const own[] = {"--prompt",     "--ids",         "--save-inputs", "--tokenizer",
                                      "--keep",       "--temperature", "--top-k",       "--top-p",
                                      "--ignore-end", "--resume"};
    const bool generates = cli_flag(args, "--generate");
    for (size_t i = 0; generates && i < sizeof others / sizeof others[0]; i++) {
        if (cli_flag(args, others[i])) {
            return cli_usage(args, "%s does not go with --generate", others[i]);
        }
    }
    for (size_t i = 0; !generates && i < sizeof own / sizeof own[0]; i++) {
        if (cli_flag(args, own[i])) {
            return cli_usage(args, "%s needs --generate N", own[i]);
        }
    }
    return CLI_OK;
}

int cli_check_generate(const cli_args *args)
{
    vta_generate_options how;
    if (check_others(args) != CLI_OK) {
        return CLI_USAGE;
    }
    if (!cli_flag(args, "--generate")) {
        return CLI_OK;
    }
    const char *ids = cli_value(args, "--ids");
    if (args->operand_count != 1) {
        return cli_usage(args, "--generate takes one model");
    }
    if ((ids == NULL) == (cli_value(args, "--prompt") == NULL)) {
        return cli_usage(args, "--generate needs one of --prompt TEXT and --ids LIST");
    }
    if (ids != NULL && !read_ids(ids, NULL)) {
        return cli_usage(args, "--ids takes numbers of tokens with commas between them, not '%s'", ids);
    }
    return read_generate(args, &how);
}

/* ---- results */

/* The inputs of the run that made the token, as an archive of --save-inputs. */
static vta_status save_inputs(text_call *call)
{
    char path[4096];
    const char *folder = cli_value(call->args, "--save-inputs");
    if (folder == NULL) {
        return VTA_OK;
    }
    VTA_TRY(vta_folder_make(folder, 0777, &call->diag));
    const int size = snprintf(path, sizeof path, "%s/%06zu.npz", folder, call->ids.count);
    return size < 0 || (size_t)size >= sizeof path
               ? vta_fail(&call->diag, VTA_RANGE, "%s: the name is too long", folder)
               : cli_save_inputs(call->model, path, &call->diag);
}

static vta_status keep_token(text_call *call, uint32_t id, const char *text, size_t size)
{
    call->cycles = vta_model_cycles(call->model);
    vta_str_append(&call->text, text, size);
    if (call->text.failed || (id != VTA_NO_TOKEN && vta_vec_push(&call->ids, &id) == NULL)) {
        return vta_no_memory(&call->diag);
    }
    return id == VTA_NO_TOKEN ? VTA_OK : save_inputs(call);
}

/* Shows a piece of text, or the number of a token where there is no text. */
static int show_token(void *context, uint32_t id, const char *text, size_t size)
{
    text_call *call = context;
    const size_t before = call->text.size;
    call->status = keep_token(call, id, text, size);
    if (call->status != VTA_OK) {
        return 1;
    }
    if (!call->json && cli_flag(call->args, "--ids")) {
        id != VTA_NO_TOKEN ? cli_print(call->ids.count > 1 ? ",%u" : "%u", id) : (void)0;
    } else if (!call->json && size > 0) {
        cli_put(call->text.text + before);
    }
    cli_flush();
    return 0;
}

static double rate_of(const vta_generate_report *r)
{
    return r->new_tokens > 1 && r->new_seconds > 0.0 ? (double)(r->new_tokens - 1) / r->new_seconds : 0.0;
}

/* Tokens a second of the accelerator alone, at the clock that its configuration is for; 0: it counts no
 * cycles.
 */
static double board_rate_of(const text_call *call)
{
    const vta_device *device = vta_model_device(call->model);
    return device != NULL && call->cycles > 0
               ? 1e6 * vta_device_config(device)->clock_mhz / (double)call->cycles
               : 0.0;
}

static const char *end_name(vta_generate_end end)
{
    static const char *const names[] = {"count", "end of text", "context", "stopped"};
    return names[end];
}

static void print_json(const text_call *call, const vta_generate_report *r)
{
    const uint32_t *ids = call->ids.items;
    cli_print("{\"model\": ");
    cli_json_string(call->args->operands[0]);
    cli_print(", \"prompt_tokens\": %llu, \"new_tokens\": %llu, \"prompt_s\": %.6f, \"new_s\": %.6f, "
              "\"tokens_per_s\": %.3f, \"end\": \"%s\", \"cycles\": %llu, \"accelerator_tokens_per_s\": "
              "%.3f, \"ids\": [",
              (unsigned long long)r->prompt_tokens, (unsigned long long)r->new_tokens, r->prompt_seconds,
              r->new_seconds, rate_of(r), end_name(r->end), (unsigned long long)call->cycles,
              board_rate_of(call));
    for (size_t i = 0; i < call->ids.count; i++) {
        cli_print(i > 0 ? ", %u" : "%u", ids[i]);
    }
    cli_print("], \"text\": ");
    cli_json_string(call->text.text == NULL ? "" : call->text.text);
    if (cli_flag(call->args, "--layers")) {
        cli_layers_json(call->model);
    }
    cli_print("}\n");
}

static void say_rates(const text_call *call, const vta_generate_report *r)
{
    if (!isatty(STDERR_FILENO) && !cli_flag(call->args, "--layers")) {
        return;
    }
    cli_say("%llu tokens behind %llu: %.3f s for the first, then %.1f tokens a second; ended by: %s\n",
            (unsigned long long)r->new_tokens, (unsigned long long)r->prompt_tokens, r->prompt_seconds,
            rate_of(r), end_name(r->end));
    if (call->cycles > 0) {
        cli_say("%llu cycles of the accelerator for the last token: %.1f tokens a second at %u MHz, without "
                "the host\n",
                (unsigned long long)call->cycles, board_rate_of(call),
                vta_device_config(vta_model_device(call->model))->clock_mhz);
    }
}

static void print_result(const text_call *call, const vta_generator *generator)
{
    const vta_generate_report r = vta_generator_report(generator);
    if (call->json) {
        print_json(call, &r);
        return;
    }
    cli_print("\n");
    cli_flush();
    say_rates(call, &r);
    if (cli_flag(call->args, "--layers")) {
        cli_layers_text(call->model);
    }
}

/* ---- a run */

static void stop_generator(void *generator)
{
    vta_generator_cancel(generator);
}

/* The tokenizer that was named, or the one that lies beside the model; none for a run of tokens alone. */
static vta_status load_tokenizer(const cli_args *args, vta_tokenizer **out, vta_diag *diag)
{
    const char *named = cli_value(args, "--tokenizer");
    const char *model = args->operands[0];
    const char *slash = strrchr(model, '/');
    char path[4096];
    struct stat about;
    *out = NULL;
    const int size = snprintf(path, sizeof path, "%.*stokenizer.json",
                              slash == NULL ? 0 : (int)(slash - model + 1), model);
    const bool beside = size > 0 && (size_t)size < sizeof path && stat(path, &about) == 0;
    if (named == NULL && (!beside || cli_flag(args, "--ids"))) {
        return cli_flag(args, "--ids")
                   ? VTA_OK
                   : vta_fail(
                         diag, VTA_IO,
                         "no tokenizer.json beside the model; give it by --tokenizer, or tokens by --ids");
    }
    return vta_tokenizer_load(named != NULL ? named : path, out, diag);
}

static vta_status run_generator(text_call *call, vta_generator *generator, vta_diag *diag)
{
    const char *prompt = cli_value(call->args, "--prompt");
    cli_catch_signals(stop_generator, generator);
    const vta_status status = prompt != NULL ? vta_generate_text(generator, prompt, strlen(prompt),
                                                                 &call->how, show_token, call, diag)
                                             : vta_generate(generator, call->prompt.items, call->prompt.count,
                                                            &call->how, show_token, call, diag);
    cli_catch_signals(NULL, NULL);
    if (status != VTA_OK && call->ids.count > 0 && !call->json) {
        cli_print("\n"); /* the text ends here */
    }
    if (status == VTA_OK && call->status != VTA_OK) {
        return vta_fail(diag, call->status, "%s", call->diag.text);
    }
    return status;
}

/* The generation that --resume names is in front of this one; --keep names the file that keeps both. */
static vta_status run_kept(text_call *call, vta_generator *generator, vta_diag *diag)
{
    const char *from = cli_value(call->args, "--resume");
    const char *to = cli_value(call->args, "--keep");
    VTA_TRY(from == NULL ? VTA_OK : vta_generator_resume(generator, from, diag));
    VTA_TRY(run_generator(call, generator, diag));
    return to == NULL ? VTA_OK : vta_generator_keep(generator, to, diag);
}

static vta_status run_text(text_call *call, const vta_model_options *options, vta_diag *diag)
{
    vta_tokenizer *tokenizer = NULL;
    vta_generator *generator = NULL;
    vta_status status = VTA_OK;
    VTA_TRY_OUT(load_tokenizer(call->args, &tokenizer, diag));
    VTA_TRY_OUT(vta_model_load(call->args->operands[0], options, &call->model, diag));
    VTA_TRY_OUT(vta_generator_create(call->model, tokenizer, &generator, diag));
    VTA_TRY_OUT(run_kept(call, generator, diag));
    print_result(call, generator);
out:
    vta_generator_destroy(generator);
    vta_model_destroy(call->model);
    vta_tokenizer_destroy(tokenizer);
    return status;
}

int cli_generate(const cli_args *args, const vta_model_options *options)
{
    vta_diag diag = {0};
    text_call call = {.args = args,
                      .prompt.item_size = sizeof(uint32_t),
                      .ids.item_size = sizeof(uint32_t),
                      .json = cli_flag(args, "--json")};
    const char *ids = cli_value(args, "--ids");
    if (read_generate(args, &call.how) != CLI_OK) {
        return CLI_USAGE;
    }
    const bool read = ids == NULL || read_ids(ids, &call.prompt);
    const vta_status status = read ? run_text(&call, options, &diag) : vta_no_memory(&diag);
    vta_vec_free(&call.prompt);
    vta_vec_free(&call.ids);
    vta_str_free(&call.text);
    return status == VTA_OK ? cli_done(args) : cli_fail_model(args, &diag);
}
