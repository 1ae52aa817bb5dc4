/* SPDX-License-Identifier: Apache-2.0
 *
 * An array of the shape of the input is one sample; one that is longer along its first axis, or has one axis
 * more in front, is as many as fit. A picture is one, prepared as `vtac run` does it. Models of several
 * inputs take .npz archives with a member for each, of equally many samples.
 */
#include "calib.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../src/import/zip.h"
#include "picture.h"
#include "preprocess.h"
#include "stages.h"
#include "tensors.h"
#include "vta/fail.h"
#include "vta/file.h"

static const size_t max_bytes = (size_t)1 << 32;

/* Samples under construction. */
typedef struct pile {
    const vtac_graph *graph;
    vta_arena *arena;
    vtac_tensor *tensors; /* [room][inputs] */
    uint32_t count, room;
    const char *verb;
    const char *file; /* that is read */
    cli_preprocess preprocess;
    bool guessed;  /* it was told once what is done with a picture */
    bool pick;     /* arrays of other shapes are left out */
    vta_vec *scan; /* of vtac_type: the shapes alone are wanted, the inputs' of one sample after the other */
} pile;

static bool grow_pile(pile *p, uint32_t count)
{
    if (p->tensors != NULL && count <= p->room) {
        return true;
    }
    const uint32_t room = 2 * count;
    const size_t inputs = p->graph->input_count;
    vtac_tensor *larger = vta_arena_array(p->arena, room * inputs + 1, sizeof *larger);
    if (larger == NULL) {
        return false;
    }
    if (p->tensors != NULL) {
        memcpy(larger, p->tensors, p->count * inputs * sizeof *larger);
    }
    p->tensors = larger;
    p->room = room;
    return true;
}

/* Number of samples of a shape in an array; 0: the shapes do not fit. */
static uint32_t samples_in(const vtac_type *array, const vtac_type *sample)
{
    const bool stacked = array->rank == sample->rank + 1;
    if (!stacked && array->rank != sample->rank) {
        return 0;
    }
    for (uint32_t i = stacked ? 0 : 1; i < sample->rank; i++) {
        if (array->dim[i + (stacked ? 1U : 0U)] != sample->dim[i]) {
            return 0;
        }
    }
    if (array->rank == 0) {
        return 1;
    }
    const int64_t each = stacked || sample->dim[0] == 0 ? 1 : sample->dim[0];
    return array->dim[0] % each == 0 && array->dim[0] / each <= 1 << 20 ? (uint32_t)(array->dim[0] / each)
                                                                        : 0;
}

/* The array in the element type of the input: files often hold double or bytes where models take float. */
static vta_status convert_array(const pile *p, vtac_tensor *array, vtac_dtype dtype, vta_diag *diag)
{
    if (array->type.dtype == VTAC_F32 || dtype != VTAC_F32) {
        return VTA_OK;
    }
    const size_t count = (size_t)vtac_type_elements(&array->type);
    float *data = vta_arena_array(p->arena, count + 1, sizeof *data);
    if (data == NULL) {
        return vta_no_memory(diag);
    }
    for (size_t i = 0; i < count; i++) {
        data[i] = (float)vtac_tensor_float(array, (int64_t)i);
    }
    array->type.dtype = VTAC_F32;
    array->data = data;
    array->bytes = count * sizeof *data;
    return VTA_OK;
}

/* The shape of one sample in an array of an input whose sizes are open. */
static vta_status scan_array(const pile *p, const vtac_tensor *array, uint32_t input, vta_diag *diag)
{
    const vtac_value *value = &p->graph->values[p->graph->inputs[input]];
    const vtac_type *own = &value->type;
    const uint32_t stacked = array->type.rank == own->rank + 1;
    vtac_type type = *own;
    char is[128];
    if (array->type.rank != own->rank + stacked) {
        return vta_fail(diag, VTA_INVALID, "it is %s, input '%s' has %u axes",
                        vtac_type_text(&array->type, is, sizeof is), value->name, own->rank);
    }
    memcpy(type.dim, array->type.dim + stacked, own->rank * sizeof *type.dim);
    return vta_allocated(vta_vec_push(p->scan, &type) != NULL, diag);
}

/* Splits an array into samples first, first + 1, … of one input. */
static vta_status add_array(pile *p, vtac_tensor array, uint32_t input, uint32_t first, uint32_t *count,
                            vta_diag *diag)
{
    const vtac_value *value = &p->graph->values[p->graph->inputs[input]];
    char is[128];
    char should[128];
    /* the quantizer computes with floats, whatever floats the model takes */
    const vtac_dtype own = value->type.dtype;
    const vtac_dtype dtype = own == VTAC_F16 || own == VTAC_BF16 ? VTAC_F32 : own;
    *count = 0;
    if (p->scan != NULL) {
        *count = 1;
        return scan_array(p, &array, input, diag);
    }
    VTA_TRY(convert_array(p, &array, dtype, diag));
    *count = samples_in(&array.type, &value->type);
    if (*count == 0 && p->pick) {
        return VTA_OK;
    }
    if (*count == 0 || array.type.dtype != dtype) {
        return vta_fail(diag, VTA_INVALID,
                        "it is %s, input '%s' takes %s or several of these, one after the other",
                        vtac_type_text(&array.type, is, sizeof is), value->name,
                        vtac_type_text(&value->type, should, sizeof should));
    }
    if (!grow_pile(p, first + *count)) {
        return vta_no_memory(diag);
    }
    (void)cli_warn_nonfinite(p->verb, p->file, value->name, &array);
    const size_t bytes = array.bytes / *count;
    vtac_type type = value->type;
    type.dtype = dtype;
    for (uint32_t s = 0; s < *count; s++) {
        p->tensors[(size_t)(first + s) * p->graph->input_count + input] =
            (vtac_tensor){.type = type, .data = (const char *)array.data + s * bytes, .bytes = bytes};
    }
    return VTA_OK;
}

static vta_status only_input(const pile *p, vta_diag *diag)
{
    return p->graph->input_count == 1
               ? VTA_OK
               : vta_fail(diag, VTA_INVALID,
                          "the model has %u inputs; give .npz files with a member for each",
                          p->graph->input_count);
}

/* The input that a member of an archive is for: by its name, or the only one. */
static bool input_of(const vtac_graph *g, const char *member, uint32_t *input)
{
    for (uint32_t i = 0; i < g->input_count; i++) {
        if (cli_member_is(member, g->values[g->inputs[i]].name)) {
            *input = i;
            return true;
        }
    }
    *input = 0;
    return g->input_count == 1;
}

static vta_status add_member(pile *p, const vtac_zip_member *member, uint32_t input, uint32_t first,
                             uint32_t *count, vta_diag *diag)
{
    vtac_tensor array;
    VTA_TRY(cli_parse_npy(member->bytes, member->size, p->arena, &array, diag));
    return add_array(p, array, input, first, count, diag);
}

/* For one input, members are samples after samples; for several, each has the samples of one. */
static vta_status add_members(pile *p, const vtac_zip_member *members, uint32_t count, vta_diag *diag)
{
    const uint32_t inputs = p->graph->input_count;
    const uint32_t first = p->count;
    uint32_t matched = 0;
    for (uint32_t m = 0; m < count; m++) {
        uint32_t input;
        uint32_t here;
        if (!input_of(p->graph, members[m].name, &input)) {
            continue;
        }
        if (add_member(p, &members[m], input, inputs == 1 ? p->count : first, &here, diag) != VTA_OK) {
            return vta_context(diag, "%s", members[m].name);
        }
        if (inputs > 1 && here == 0) { /* of another size */
            p->count = first;
            return VTA_OK;
        }
        if (inputs > 1 && matched > 0 && first + here != p->count) {
            return vta_fail(diag, VTA_INVALID, "%s: it has %u samples, the member before it %u",
                            members[m].name, here, p->count - first);
        }
        p->count = inputs == 1 ? p->count + here : first + here;
        matched++;
    }
    return matched >= inputs ? VTA_OK
                             : vta_fail(diag, VTA_INVALID,
                                        "it has members for %u of %u inputs; members are named "
                                        "as the inputs",
                                        matched, inputs);
}

static bool ends_in(const char *text, const char *end)
{
    const size_t size = strlen(text);
    return size > strlen(end) && strcmp(text + size - strlen(end), end) == 0;
}

static vta_status add_archive(pile *p, const char *path, vta_diag *diag)
{
    uint8_t *bytes;
    size_t size;
    vtac_zip_member *members;
    uint32_t count;
    VTA_TRY(vta_file_read(path, max_bytes, &bytes, &size, diag));
    vta_status status = vtac_unzip(bytes, size, p->arena, &members, &count, diag);
    free(bytes);
    if (status == VTA_OK) {
        status = add_members(p, members, count, diag);
    }
    return status == VTA_OK ? VTA_OK : vta_context(diag, "%s", path);
}

static vta_status add_picture(pile *p, const char *path, vta_diag *diag)
{
    VTA_TRY(only_input(p, diag));
    const vtac_value *value = &p->graph->values[p->graph->inputs[0]];
    const vta_tensor_info info = cli_as_info(&value->type, value->name);
    void *data = vta_arena_alloc(p->arena, info.bytes);
    const char *guessed;
    if (data == NULL || !grow_pile(p, p->count + 1)) {
        return vta_no_memory(diag);
    }
    VTA_TRY(cli_picture_input(path, &p->preprocess, &info, data, &guessed, diag));
    if (guessed != NULL && !p->guessed) {
        p->guessed = true;
        cli_stages_hide();
        cli_say_once("vtac %s: pictures are prepared as '%s'; --preprocess says otherwise\n", p->verb,
                     guessed);
    }
    p->tensors[p->count++] = (vtac_tensor){.type = value->type, .data = data, .bytes = info.bytes};
    return VTA_OK;
}

static vta_status add_any(pile *p, const char *path, vta_diag *diag)
{
    vtac_tensor array;
    uint32_t count = 0;
    if (ends_in(path, ".npz")) {
        return add_archive(p, path, diag);
    }
    if (cli_is_picture(path)) {
        return add_picture(p, path, diag);
    }
    VTA_TRY(cli_read_tensor(path, p->arena, &array, diag));
    vta_status status = VTA_OK;
    VTA_TRY_OUT(only_input(p, diag));
    VTA_TRY_OUT(add_array(p, array, 0, p->count, &count, diag));
out:
    p->count += count;
    return status == VTA_OK ? VTA_OK : vta_context(diag, "%s", path);
}

static vta_status add_file(pile *p, const char *path, vta_diag *diag)
{
    p->file = path;
    const vta_status status = add_any(p, path, diag);
    p->file = NULL;
    return status;
}

static int is_sample(const struct dirent *entry)
{
    return ends_in(entry->d_name, ".npy") || ends_in(entry->d_name, ".npz") ||
           ends_in(entry->d_name, ".pb") || cli_is_picture(entry->d_name);
}

static vta_status add_folder(pile *p, const char *folder, vta_diag *diag)
{
    struct dirent **entries;
    const int count = scandir(folder, &entries, is_sample, alphasort);
    if (count < 0) {
        return vta_fail(diag, VTA_IO, "cannot open '%s': %s", folder, strerror(errno));
    }
    vta_status status = VTA_OK;
    for (int i = 0; i < count; i++) {
        char path[4096];
        const int size = snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (status == VTA_OK) {
            status = size < (int)sizeof path ? add_file(p, path, diag)
                                             : vta_fail(diag, VTA_RANGE, "%s: the name is too long", folder);
        }
        free(entries[i]);
    }
    free(entries);
    if (status == VTA_OK && p->count == 0) {
        return vta_fail(diag, VTA_INVALID, "%s: no .npy, .npz, .pb, .png or .jpg file is in it", folder);
    }
    return status;
}

static vta_status add_path(pile *p, const char *path, vta_diag *diag)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        return vta_fail(diag, VTA_IO, "cannot open '%s': %s", path, strerror(errno));
    }
    return S_ISDIR(status.st_mode) ? add_folder(p, path, diag) : add_file(p, path, diag);
}

vta_status cli_read_samples(const cli_args *args, const vtac_graph *graph, vta_arena *arena,
                            const vtac_samples **out, vta_diag *diag)
{
    const char *path = cli_value(args, "--calib");
    if (vtac_quantize_check(graph, diag) != VTA_OK) {
        return vta_context(diag, "%s", args->operands[0]);
    }
    if (path == NULL) {
        cli_stages_hide();
        cli_say_once("vtac %s: %s: warning: no calibration inputs: ranges come from made-up ones and may not "
                     "fit; give real ones with --calib\n",
                     args->verb->name, args->operands[0]);
        *out = NULL;
        return VTA_OK;
    }
    pile p = {.graph = graph, .arena = arena, .verb = args->verb->name};
    VTA_TRY(cli_preprocess_parse(cli_value(args, "--preprocess"), &p.preprocess, diag));
    VTA_TRY(add_path(&p, path, diag));
    vtac_samples *samples = vta_arena_alloc(arena, sizeof *samples);
    if (samples == NULL) {
        return vta_no_memory(diag);
    }
    *samples = (vtac_samples){.tensors = p.tensors, .count = p.count, .inputs = graph->input_count};
    *out = samples;
    return VTA_OK;
}

vta_status cli_pick_samples(const char *path, const vtac_graph *graph, vta_arena *arena, vtac_samples *out,
                            vta_diag *diag)
{
    pile p = {.graph = graph, .arena = arena, .pick = true};
    VTA_TRY(add_path(&p, path, diag));
    *out = (vtac_samples){.tensors = p.tensors, .count = p.count, .inputs = graph->input_count};
    return VTA_OK;
}

/* True if one of the sizes before is the same. */
static bool is_known_size(const vtac_type *types, uint32_t inputs, size_t at)
{
    bool known = false;
    for (size_t k = 0; k < at && !known; k++) {
        known = true;
        for (uint32_t i = 0; i < inputs; i++) {
            known = known && vtac_type_equal(&types[k * inputs + i], &types[at * inputs + i]);
        }
    }
    return known;
}

vta_status cli_scan_sizes(const char *path, const vtac_graph *graph, vta_vec *out, vta_diag *diag)
{
    vta_arena arena = {0};
    pile p = {.graph = graph, .arena = &arena, .scan = out};
    const vta_status status = add_path(&p, path, diag);
    const uint32_t inputs = graph->input_count;
    vtac_type *types = out->items;
    size_t kept = 0;
    for (size_t k = 0; inputs > 0 && k < out->count / inputs; k++) {
        memmove(&types[kept * inputs], &types[k * inputs], inputs * sizeof *types);
        kept += !is_known_size(types, inputs, kept);
    }
    out->count = kept * inputs;
    vta_arena_free(&arena);
    return status;
}

int cli_read_method(const cli_args *args, vtac_range_method *out)
{
    const char *name = cli_value(args, "--method");
    *out = name == NULL ? VTAC_RANGE_DEFAULT : vtac_range_method_find(name);
    return *out == VTAC_RANGE_COUNT
               ? cli_usage(args, "--method takes minmax, percentile, mse, entropy or room, not '%s'", name)
               : CLI_OK;
}

int cli_read_width(const cli_args *args, vtac_quantize_options *how)
{
    static const char narrow[] = "int4:";
    size_t at = 0;
    uint64_t block = 0;
    for (const char *word = cli_next(args, "--weights", &at); word != NULL;
         word = cli_next(args, "--weights", &at)) {
        if (!cli_names_bits(word)) {
            continue;
        }
        const bool blocks = strncmp(word, narrow, sizeof narrow - 1) == 0;
        if (strcmp(word, "int8") != 0 && strcmp(word, "int4") != 0 &&
            (!blocks || !cli_number(word + sizeof narrow - 1, &block) ||
             (block != 32 && block != 64 && block != 128))) {
            return cli_usage(args, "--weights takes int8, int4, int4:32, int4:64 or int4:128, not '%s'",
                             word);
        }
        how->weight_bits = strcmp(word, "int8") == 0 ? 8 : 4;
        how->weight_block = blocks ? (uint32_t)block : 0;
    }
    return how->weight_block > 0 && !how->per_channel
               ? cli_usage(args, "blocks of weights have scales of their own; leave out --per-tensor")
               : CLI_OK;
}

int cli_check_preprocess(const cli_args *args)
{
    cli_preprocess preprocess;
    vta_diag diag = {0};
    return cli_preprocess_parse(cli_value(args, "--preprocess"), &preprocess, &diag) == VTA_OK
               ? CLI_OK
               : cli_usage(args, "--preprocess: %s", diag.text);
}

vta_status cli_quantize_float(const cli_args *args, vtac_graph *graph, vtac_quantize_report *report,
                              vta_diag *diag)
{
    vtac_quantize_options options = VTAC_QUANTIZE_DEFAULTS;
    vta_arena arena = {0};
    const vtac_samples *samples = NULL;
    if (cli_read_method(args, &options.method) != CLI_OK || cli_read_width(args, &options) != CLI_OK) {
        return vta_fail(diag, VTA_INVALID, "--method names no method, or --weights no bits");
    }
    if (!vtac_quantizable(graph) || graph->flow != NULL) { /* of its parts no samples can be made up */
        return options.weight_bits == 0
                   ? VTA_OK
                   : vta_fail(diag, VTA_UNSUPPORTED,
                              "%s: --weights %s is for a model of floats, and this one is of integers or has "
                              "nothing to quantize; leave it out",
                              args->operands[0], options.weight_bits == 4 ? "int4" : "int8");
    }
    options.progress = cli_stages();
    if (graph->state_count > 0) { /* there are no samples of them */
        cli_say_once("vtac %s: %s: it is quantized without its states: each run starts anew\n",
                     args->verb->name, args->operands[0]);
        VTA_TRY(vtac_forget_states(graph, diag));
    }
    vta_status status = VTA_OK;
    VTA_TRY_OUT(cli_read_samples(args, graph, &arena, &samples, diag));
    VTA_TRY_OUT(vtac_quantize(graph, samples, &options, report, diag));
out:
    vta_arena_free(&arena);
    return status;
}
