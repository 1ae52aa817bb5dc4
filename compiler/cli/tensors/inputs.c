/* SPDX-License-Identifier: Apache-2.0
 *
 * Inputs of a model from the command line. "NAME=FILE" is for the input of that name; files without a name
 * go to the inputs that none is named for, in turn, but for archives (.npz): each has a member for every
 * input.
 */
#include "inputs.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "parcels.h"
#include "picture.h"

int cli_read_inputs(const cli_args *args, cli_inputs *out)
{
    const char *how = cli_value(args, "--fill");
    const char *seed = cli_value(args, "--seed");
    vta_diag diag = {0};
    *out = (cli_inputs){.args = args, .fill = how != NULL ? how : "random", .seed = 1};
    if (strcmp(out->fill, "zeros") != 0 && strcmp(out->fill, "ones") != 0 &&
        strcmp(out->fill, "random") != 0) {
        return cli_usage(args, "--fill takes zeros, ones or random, not '%s'", how);
    }
    if (seed != NULL && !cli_number(seed, &out->seed)) {
        return cli_usage(args, "--seed takes a number, not '%s'", seed);
    }
    if (cli_preprocess_parse(cli_value(args, "--preprocess"), &out->preprocess, &diag) != VTA_OK) {
        return cli_usage(args, "--preprocess: %s", diag.text);
    }
    return CLI_OK;
}

/* ---- which file is for which input */

#define NOBODY UINT32_MAX

/* The input that "NAME=FILE" names. */
static uint32_t named_input(const vta_model *model, const char *text)
{
    const char *equals = strchr(text, '=');
    const size_t size = equals != NULL ? (size_t)(equals - text) : 0;
    for (uint32_t i = 0; equals != NULL && i < vta_model_input_count(model); i++) {
        const char *name = vta_model_input(model, i).name;
        if (strlen(name) == size && strncmp(name, text, size) == 0) {
            return i;
        }
    }
    return NOBODY;
}

static bool is_archive(const char *text)
{
    const size_t length = strlen(text);
    return length > 4 && strcmp(text + length - 4, ".npz") == 0;
}

static bool has_named(const cli_inputs *inputs, const vta_model *model, uint32_t input)
{
    size_t at = 0;
    bool found = false;
    for (const char *text = cli_next(inputs->args, "--input", &at); text != NULL;
         text = cli_next(inputs->args, "--input", &at)) {
        found = found || named_input(model, text) == input;
    }
    return found;
}

/* The inputs that no file is named for. */
static uint32_t count_unnamed(const cli_inputs *inputs, const vta_model *model)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < vta_model_input_count(model); i++) {
        count += !has_named(inputs, model, i);
    }
    return count;
}

/* The place of an input among those without names; NOBODY: files are named for it. */
static uint32_t unnamed_place(const cli_inputs *inputs, const vta_model *model, uint32_t input)
{
    uint32_t place = 0;
    for (uint32_t i = 0; i < input; i++) {
        place += !has_named(inputs, model, i);
    }
    return has_named(inputs, model, input) ? NOBODY : place;
}

/* The file for an input in run `which`, and how many there are for it. */
static const char *file_of(const cli_inputs *inputs, const vta_model *model, uint32_t input, uint32_t which,
                           uint32_t *count)
{
    const uint32_t turns = count_unnamed(inputs, model);
    const uint32_t place = unnamed_place(inputs, model, input);
    const char *found = NULL;
    uint32_t unnamed = 0;
    size_t at = 0;
    *count = 0;
    for (const char *text = cli_next(inputs->args, "--input", &at); text != NULL;
         text = cli_next(inputs->args, "--input", &at)) {
        const uint32_t name = named_input(model, text);
        const bool taken = is_archive(text) || (turns > 0 && unnamed % turns == place);
        const bool mine = name == input || (name == NOBODY && place < turns && taken);
        unnamed += name == NOBODY && !is_archive(text);
        if (mine && (*count)++ == which) {
            found = name == input ? strchr(text, '=') + 1 : text;
        }
    }
    return found;
}

vta_status cli_count_cases(const cli_inputs *inputs, const vta_model *model, uint32_t *out, vta_diag *diag)
{
    const uint32_t model_inputs = vta_model_input_count(model);
    const uint32_t unnamed = count_unnamed(inputs, model);
    uint32_t files = 0;
    size_t at = 0;
    for (const char *text = cli_next(inputs->args, "--input", &at); text != NULL;
         text = cli_next(inputs->args, "--input", &at)) {
        files += named_input(model, text) == NOBODY && !is_archive(text);
        const bool meant = strchr(text, '=') != NULL && access(text, F_OK) != 0;
        if (named_input(model, text) == NOBODY && (unnamed == 0 || meant)) {
            return vta_fail(diag, VTA_INVALID, "'%s' is for no input of the model, whose first is '%s'", text,
                            model_inputs > 0 ? vta_model_input(model, 0).name : "");
        }
    }
    if (unnamed > 0 && files > unnamed && files % unnamed != 0) {
        return vta_fail(diag, VTA_INVALID, "%u files without a name for the %u inputs of the model", files,
                        unnamed);
    }
    *out = 1;
    for (uint32_t i = 0; i < model_inputs; i++) {
        uint32_t count;
        (void)file_of(inputs, model, i, 0, &count);
        if (count > 1 && *out > 1 && count != *out) {
            return vta_fail(diag, VTA_INVALID,
                            "input '%s' has %u files, another one %u; give each as many, or one",
                            vta_model_input(model, i).name, count, *out);
        }
        *out = count > *out ? count : *out;
    }
    return VTA_OK;
}

const char *cli_case_name(const cli_inputs *inputs, const vta_model *model, uint32_t which)
{
    for (uint32_t i = 0; i < vta_model_input_count(model); i++) {
        uint32_t count;
        const char *path = file_of(inputs, model, i, which, &count);
        if (path != NULL && (count > 1 || which == 0)) {
            return path;
        }
    }
    return NULL;
}

/* ---- numbers */

uint64_t cli_fill_state(uint64_t seed)
{
    return seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

void cli_fill_input(vta_model *model, uint32_t i, const char *how, uint64_t *state)
{
    const vta_tensor_info info = vta_model_input(model, i);
    const vtac_dtype dtype = cli_dtype(&info);
    uint8_t *data = vta_model_input_data(model, i);
    const size_t size = vtac_dtype_bytes(dtype);
    for (size_t at = 0; at + size <= info.bytes; at += size) {
        const uint64_t bits = how[0] == 'r' ? next_random(state) : how[0] == 'o';
        const double unit = how[0] == 'r' ? (double)(bits >> 11) * 0x1p-52 - 1.0 : (double)bits;
        const float narrow = (float)unit;
        uint32_t word;
        memcpy(&word, &narrow, sizeof word);
        const uint16_t brain = (uint16_t)(word >> 16);
        const uint16_t half = how[0] == 'r' ? (uint16_t)(0x3000 + (bits & 0x87ff)) : bits != 0 ? 0x3c00 : 0;
        const uint8_t bit = bits & 1;
        const void *from = dtype == VTAC_F32    ? (const void *)&narrow
                           : dtype == VTAC_F64  ? (const void *)&unit
                           : dtype == VTAC_BF16 ? (const void *)&brain
                           : dtype == VTAC_F16  ? (const void *)&half
                           : dtype == VTAC_BOOL ? (const void *)&bit
                                                : (const void *)&bits;
        memcpy(data + at, from, size);
    }
}

/* ---- a run */

/* Floats of another width in the width of the input, rounded as NumPy's astype does; told where it costs
 * digits. */
static void round_floats(const char *path, const vtac_tensor *from, vta_model *model, uint32_t i)
{
    const vta_tensor_info info = vta_model_input(model, i);
    float *to = vta_model_input_data(model, i);
    bool exact = true;
    for (size_t e = 0; e < info.bytes / sizeof *to; e++) {
        const double number = vtac_tensor_float(from, (int64_t)e);
        to[e] = (float)number;
        exact = exact && ((double)to[e] == number || number != number);
    }
    if (!exact) {
        cli_say_once("vtac: %s: numbers of %s are rounded to f32, as input '%s' takes them\n", path,
                     vtac_dtype_name(from->type.dtype), info.name);
    }
}

/* True for floats that round_floats takes. */
static bool are_other_floats(const vtac_tensor *given, const vtac_type *own)
{
    return own->dtype == VTAC_F32 && given->type.dtype != VTAC_F32 && cli_is_float(given->type.dtype);
}

static vta_status refuse_tensor(const char *path, const vtac_tensor *given, const vtac_tensor *own,
                                const char *name, vta_diag *diag)
{
    char is[160];
    char wanted[160];
    char hint[64] = "";
    const char *type = cli_npy_name(own->type.dtype);
    if (given->type.dtype != own->type.dtype && type != NULL &&
        vtac_type_elements(&given->type) == vtac_type_elements(&own->type)) {
        (void)snprintf(hint, sizeof hint, "; in NumPy: x.astype('%s')", type);
    }
    return vta_fail(diag, VTA_INVALID, "%s: it is %s, input '%s' needs %s%s", path,
                    vtac_type_text(&given->type, is, sizeof is), name,
                    vtac_type_text(&own->type, wanted, sizeof wanted), hint);
}

static vta_status give_tensor(vta_model *model, uint32_t i, const char *path, vta_arena *arena,
                              vta_diag *diag)
{
    vtac_tensor tensor;
    VTA_TRY(is_archive(path) ? cli_read_member(path, vta_model_input(model, i).name,
                                               vta_model_input_count(model) == 1, arena, &tensor, diag)
                             : cli_read_tensor(path, arena, &tensor, diag));
    vta_diag why = {0};
    const vta_status fits = vta_model_set_input_shape(model, i, tensor.type.dim, tensor.type.rank, &why);
    const vta_tensor_info info = vta_model_input(model, i);
    const vtac_tensor own = cli_as_tensor(&info, NULL);
    const bool other = are_other_floats(&tensor, &own.type);
    const bool fitting = other || tensor.type.dtype == own.type.dtype;
    if (fits == VTA_RANGE && fitting) { /* one of open sizes */
        return vta_fail(diag, VTA_INVALID, "%s: %s", path, why.text);
    }
    if (!fitting || vtac_type_elements(&tensor.type) != vtac_type_elements(&own.type)) {
        return refuse_tensor(path, &tensor, &own, info.name, diag);
    }
    if (other) {
        round_floats(path, &tensor, model, i);
        return VTA_OK;
    }
    return vta_model_set_input(model, i, tensor.data, tensor.bytes, diag);
}

static vta_status give_picture(cli_inputs *inputs, vta_model *model, uint32_t i, const char *path,
                               vta_diag *diag)
{
    const vta_tensor_info info = vta_model_input(model, i);
    const char *guessed;
    VTA_TRY(
        cli_picture_input(path, &inputs->preprocess, &info, vta_model_input_data(model, i), &guessed, diag));
    if (guessed != NULL && !inputs->guessed) {
        inputs->guessed = true;
        cli_say_once("vtac %s: pictures are prepared as '%s'; --preprocess says otherwise\n",
                     inputs->args->verb->name, guessed);
    }
    return VTA_OK;
}

static void look_at_numbers(cli_inputs *inputs, vta_model *model, uint32_t i, const char *path)
{
    const vta_tensor_info info = vta_model_input(model, i);
    if (!cli_is_parcel(&info)) {
        const vtac_tensor tensor = cli_as_tensor(&info, vta_model_input_data(model, i));
        const cli_nonfinite found = cli_warn_nonfinite(inputs->args->verb->name, path, info.name, &tensor);
        inputs->nans += found.nans;
        inputs->infinities += found.infinities;
    }
}

static vta_status give_input(cli_inputs *inputs, vta_model *model, uint32_t i, const char *path,
                             vta_diag *diag)
{
    vta_arena arena = {0};
    const vta_tensor_info info = vta_model_input(model, i);
    const vta_status status = cli_is_parcel(&info)   ? cli_give_parcel(model, i, path, diag)
                              : cli_is_picture(path) ? give_picture(inputs, model, i, path, diag)
                                                     : give_tensor(model, i, path, &arena, diag);
    vta_arena_free(&arena);
    return status;
}

/* An input that nobody gives has one of each size that is left open. */
static void give_size(const cli_inputs *inputs, vta_model *model, uint32_t i)
{
    const vta_tensor_info info = vta_model_input(model, i);
    vtac_type type = cli_as_tensor(&info, NULL).type;
    bool open = false;
    for (uint32_t k = 0; k < type.rank; k++) {
        open = open || type.dim[k] == 0;
        type.dim[k] = type.dim[k] == 0 ? 1 : type.dim[k];
    }
    vta_diag fixed = {0};
    if (!open || vta_model_set_input_shape(model, i, type.dim, type.rank, &fixed) != VTA_OK) {
        return; /* the model is of size 0, or refuses the size of 1 when it runs */
    }
    char text[160];
    cli_say_once(
        "vtac %s: input '%s' leaves sizes open, and is made up as %s; --input NAME=FILE gives another\n",
        inputs->args->verb->name, info.name, vtac_type_text(&type, text, sizeof text));
}

vta_status cli_bind_case(cli_inputs *inputs, vta_model *model, uint32_t which, vta_diag *diag)
{
    uint64_t state = cli_fill_state(inputs->seed + which);
    inputs->nans = inputs->infinities = 0;
    for (uint32_t i = 0; i < vta_model_input_count(model); i++) {
        uint32_t count;
        const char *path = file_of(inputs, model, i, which, &count);
        path = path == NULL && count == 1 ? file_of(inputs, model, i, 0, &count) : path;
        const vta_tensor_info info = vta_model_input(model, i);
        if (path == NULL && cli_is_parcel(&info)) {
            return vta_fail(
                diag, VTA_INVALID,
                "input '%s' is a sequence, texts or optional, which are not made up; give it with --input",
                info.name);
        }
        if (path != NULL) {
            VTA_TRY(give_input(inputs, model, i, path, diag));
            look_at_numbers(inputs, model, i, path);
        } else {
            give_size(inputs, model, i);
            cli_fill_input(model, i, inputs->fill, &state);
        }
    }
    return VTA_OK;
}
