/* SPDX-License-Identifier: Apache-2.0
 *
 * vta-run: a compiled model on a board, with the runtime and nothing else. Inputs and outputs are .npy files,
 * or raw bytes of a tensor's size.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vta/clock.h"
#include "vta/doctor.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/model.h"
#include "vta/order.h"
#include "vta/output_name.h"
#include "vta/str.h"
#include "vta/untrusted.h"

enum { MAX_INPUTS = 64, PREFIX = 10 /* of .npy: magic, version, size of the header */ };

typedef struct request {
    const char *model, *device, *output_dir;
    const char *inputs[MAX_INPUTS];
    uint32_t input_count;
    unsigned long repeat, threads;
    bool profile, doctor;
} request;

static const char usage[] =
    "usage: vta-run MODEL.so [--device URI] [--input FILE]... [--output-dir DIR]\n"
    "               [--repeat N] [--threads N] [--profile]\n"
    "       vta-run --doctor [--device URI]\n"
    "\n"
    "Runs a compiled model. Inputs come in the model's order, as .npy or raw bytes;\n"
    "those that are not given are zeros. Outputs go to DIR/NAME.npy.\n"
    "  --device URI      the accelerator: uio, fsim, ... (default: fsim)\n"
    "  --repeat N        run N times, print the fastest and the mean time\n"
    "  --profile         print each step's time and cycles\n"
    "  --doctor          say what is right and wrong with the device (default: uio)\n";

static int misuse(const char *what, const char *word)
{
    (void)fprintf(stderr, "vta-run: %s '%s' (try 'vta-run --help')\n", what, word);
    return 2;
}

/* ---- files */

static char kind_of(const vta_tensor_info *info)
{
    static const char kinds[] = {'i', 'u', 'f', '?',
                                 'u', '?', 'b'}; /* DLPack's codes; bfloat16 as its bits */
    return kinds[info->dtype_code < sizeof kinds ? info->dtype_code : 3];
}

static void put_header(const vta_tensor_info *info, vta_str *out)
{
    vta_str_printf(out, "{'descr': '%c%c%u', 'fortran_order': False, 'shape': (",
                   info->dtype_bits <= 8 ? '|' : '<', kind_of(info), (info->dtype_bits + 7U) / 8U);
    for (uint32_t i = 0; i < info->rank; i++) {
        vta_str_printf(out, "%lld,%s", (long long)info->dim[i], i + 1 < info->rank ? " " : "");
    }
    vta_str_put(out, "), }");
    while ((out->size + PREFIX + 1) % 64 != 0 && !out->failed) {
        vta_str_put(out, " ");
    }
    vta_str_put(out, "\n");
}

static vta_status write_output(const char *folder, const vta_model *model, uint32_t index, vta_diag *diag)
{
    const vta_tensor_info info = vta_model_output(model, index);
    char name[VTA_OUTPUT_NAME];
    VTA_TRY(vta_output_name(model, index, name, diag));
    vta_str path = {0};
    vta_str header = {0};
    vta_str file = {0};
    vta_str_printf(&path, "%s/%s.npy", folder, name);
    put_header(&info, &header);
    const uint8_t prefix[PREFIX] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)header.size, (uint8_t)(header.size >> 8)};
    vta_str_append(&file, prefix, sizeof prefix);
    vta_str_append(&file, header.text, header.size);
    vta_str_append(&file, vta_model_output_data(model, index), info.bytes);
    const vta_status status = path.failed || header.failed || file.failed
                                  ? vta_no_memory(diag)
                                  : vta_file_write(path.text, file.text, file.size, diag);
    vta_str_free(&path);
    vta_str_free(&header);
    vta_str_free(&file);
    return status;
}

/* The place where the elements begin; the whole file is raw where it has no header. SIZE_MAX: another type.
 * `columns`: the first axis counts fastest. */
static size_t skip_header(const uint8_t *bytes, size_t size, const vta_tensor_info *info, bool *columns)
{
    char text[1024];
    char wanted[32];
    if (size < PREFIX || memcmp(bytes, "\x93NUMPY", 6) != 0) {
        return 0;
    }
    const size_t header = bytes[8] + 256U * bytes[9];
    if (bytes[6] != 1 || header >= sizeof text || PREFIX + header > size) {
        return SIZE_MAX;
    }
    memcpy(text, bytes + PREFIX, header);
    text[header] = '\0';
    (void)snprintf(wanted, sizeof wanted, "%c%u'", kind_of(info), (info->dtype_bits + 7U) / 8U);
    *columns = strstr(text, "'fortran_order': True") != NULL;
    const bool fits = strstr(text, wanted) != NULL && (!*columns || info->rank <= VTA_ORDER_AXES);
    return fits ? PREFIX + header : SIZE_MAX;
}

/* The elements in row-major order; `bytes` where they are. NULL: no memory. */
static uint8_t *rows_of(const vta_tensor_info *info, uint8_t *bytes, bool columns)
{
    uint8_t *rows = columns ? malloc(info->bytes + 1) : bytes;
    if (columns && rows != NULL) {
        vta_order_rows(info->dim, info->rank, (info->dtype_bits + 7U) / 8U, bytes, rows);
    }
    return rows;
}

static vta_status set_input(vta_model *model, uint32_t i, uint8_t *bytes, bool columns, vta_diag *diag)
{
    const vta_tensor_info info = vta_model_input(model, i);
    uint8_t *rows = rows_of(&info, bytes, columns);
    const vta_status status =
        rows == NULL ? vta_no_memory(diag) : vta_model_set_input(model, i, rows, info.bytes, diag);
    if (rows != bytes) {
        free(rows);
    }
    return status;
}

static vta_status read_input(vta_model *model, uint32_t i, const char *path, vta_diag *diag)
{
    const vta_tensor_info info = vta_model_input(model, i);
    uint8_t *bytes = NULL;
    size_t size = 0;
    VTA_TRY(vta_file_read(path, SIZE_MAX / 2, &bytes, &size, diag));
    bool columns = false;
    const size_t skip = skip_header(bytes, size, &info, &columns);
    const vta_status status =
        skip == SIZE_MAX || size - skip != info.bytes
            ? vta_fail(diag, VTA_INVALID, "%s: input '%s' needs %zu bytes of type '%c%u'", path, info.name,
                       info.bytes, kind_of(&info), (info.dtype_bits + 7U) / 8U)
            : set_input(model, i, bytes + skip, columns, diag);
    free(bytes);
    return status;
}

/* ---- running */

/* A name out of a model, made fit for the terminal. */
static const char *fit_name(const char *name, char *out, size_t size)
{
    return vta_make_plain(name, strlen(name), out, size);
}

static void print_steps(const vta_step_profile *steps, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        char op[64];
        char name[256];
        (void)printf("%10.3f ms  %-12s %s", 1e3 * steps[i].seconds, fit_name(steps[i].op, op, sizeof op),
                     fit_name(steps[i].name, name, sizeof name));
        if (steps[i].cycles > 0) {
            (void)printf("  %llu cycles, predicted %llu", (unsigned long long)steps[i].cycles,
                         (unsigned long long)steps[i].predicted);
        }
        (void)printf("\n");
    }
}

static vta_status run_model(const request *r, vta_model *model, vta_diag *diag)
{
    double best = 0.0;
    double sum = 0.0;
    for (unsigned long n = 0; n < r->repeat; n++) {
        const double begin = vta_now();
        VTA_TRY(vta_model_run(model, diag));
        const double seconds = vta_now() - begin;
        best = n == 0 || seconds < best ? seconds : best;
        sum += seconds;
    }
    (void)printf("time  %.3f ms (mean of %lu: %.3f ms)\n", 1e3 * best, r->repeat,
                 1e3 * sum / (double)r->repeat);
    if (r->profile) {
        const vta_step_profile *steps;
        uint32_t count;
        VTA_TRY(vta_model_profile(model, &steps, &count, diag));
        print_steps(steps, count);
    }
    return VTA_OK;
}

static vta_status use_model(const request *r, vta_model *model, vta_diag *diag)
{
    if (r->input_count > vta_model_input_count(model)) {
        return vta_fail(diag, VTA_INVALID, "%u inputs are given, the model has %u", r->input_count,
                        vta_model_input_count(model));
    }
    for (uint32_t i = 0; i < r->input_count; i++) {
        VTA_TRY(read_input(model, i, r->inputs[i], diag));
    }
    VTA_TRY(run_model(r, model, diag));
    if (r->output_dir == NULL) {
        return VTA_OK;
    }
    VTA_TRY(vta_folder_make(r->output_dir, 0777, diag));
    for (uint32_t i = 0; i < vta_model_output_count(model); i++) {
        VTA_TRY(write_output(r->output_dir, model, i, diag));
    }
    return VTA_OK;
}

/* ---- arguments */

static bool number(const char *text, unsigned long *out)
{
    char *end;
    errno = 0;
    *out = strtoul(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *out > 0 && *text != '-';
}

/* 0, or the exit status of a misuse. */
static int parse(int argc, char **argv, request *r)
{
    *r = (request){.repeat = 1};
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (strcmp(word, "--profile") == 0) {
            r->profile = true;
        } else if (strcmp(word, "--doctor") == 0) {
            r->doctor = true;
        } else if (word[0] != '-') {
            if (r->model != NULL) {
                return misuse("unexpected", word);
            }
            r->model = word;
        } else if (i + 1 == argc) {
            return misuse("unknown option, or one without its value:", word);
        } else if (strcmp(word, "--device") == 0) {
            r->device = argv[++i];
        } else if (strcmp(word, "--output-dir") == 0) {
            r->output_dir = argv[++i];
        } else if (strcmp(word, "--input") == 0 && r->input_count < MAX_INPUTS) {
            r->inputs[r->input_count++] = argv[++i];
        } else if (strcmp(word, "--repeat") == 0 || strcmp(word, "--threads") == 0) {
            unsigned long *value = strcmp(word, "--repeat") == 0 ? &r->repeat : &r->threads;
            if (!number(argv[++i], value)) {
                return misuse("not a number above 0:", argv[i]);
            }
        } else {
            return misuse("unknown option", word);
        }
    }
    if (r->doctor) {
        return r->model == NULL ? 0 : misuse("--doctor takes no model:", r->model);
    }
    return r->model != NULL ? 0 : misuse("a model is missing before the end of", argv[0]);
}

/* ---- the device itself */

static int look(const char *uri)
{
    static const char *const words[VTA_FINDINGS] = {"ok", "FAILED", "skipped"};
    vta_doctor_row rows[VTA_DOCTOR_ROWS];
    uint32_t count = 0;
    bool good = true;
    vta_doctor(uri != NULL ? uri : "uio", NULL, rows, &count);
    for (uint32_t i = 0; i < count; i++) {
        (void)printf("%-7s %-15s %s\n", words[rows[i].finding], rows[i].name, rows[i].text);
        good = good && rows[i].finding != VTA_FINDING_BAD;
    }
    return fflush(stdout) != 0 || !good;
}

int main(int argc, char **argv)
{
    request r;
    (void)vta_standard_hold();
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        return fputs(usage, stdout) < 0;
    }
    const int wrong = parse(argc, argv, &r);
    if (wrong != 0) {
        return wrong;
    }
    if (r.doctor) {
        return look(r.device);
    }
    vta_diag diag = {0};
    vta_model *model = NULL;
    const vta_model_options options = {.device = r.device, .threads = (uint32_t)r.threads};
    vta_status status = vta_model_load(r.model, &options, &model, &diag);
    status = status == VTA_OK ? use_model(&r, model, &diag) : status;
    vta_model_destroy(model);
    if (status != VTA_OK) {
        (void)fprintf(stderr, "vta-run: %s\n", diag.text);
        return 1;
    }
    return fflush(stdout) != 0;
}
