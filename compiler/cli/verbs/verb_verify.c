/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac verify: folders with a model and what it answers (verify_folder.h: ONNX's test cases, and models of
 * any kind), each compiled, run and compared. Shapes, axes and the like that an ONNX case passes as inputs
 * are bound to the values of its first data set where the model does not compile without them; the line says
 * so.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "onnx.pb-c.h"
#include "parcels.h"
#include "place.h"
#include "remote_host.h"
#include "stages.h"
#include "tensors.h"
#include "verify_folder.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/str.h"

static const cli_option options[] = {
    CLI_OFFLOAD_OPTIONS,
    {"--device", "URI", CLI_DEVICE, "vta: where it runs (default fsim)"},
    {"--host", "NAME", CLI_TEXT, "processor (default: the device's)"},
    {"-O", "N", CLI_TEXT, "0 to 3 (default 3)"},
    {"--rtol", "R", CLI_TEXT, "relative error that passes (default 1e-3)"},
    {"--atol", "A", CLI_TEXT, "absolute error that passes (default 1e-7)"},
    {"--dynamic", NULL, CLI_FLAG, "sizes that a model leaves open stay open"},
    {"--shape", "NAME=AxBxC", CLI_TEXT, "size of a dynamic input; ONNX: its case tells"},
    CLI_CONTEXT_HIDDEN,
    CLI_END_OPTIONS,
    {"--json", NULL, CLI_FLAG, "print JSON"},
};

typedef enum verify_outcome { PASSED, FAILED, UNSUPPORTED, OUTCOMES } verify_outcome;

typedef struct verification {
    const cli_args *args;
    double rtol, atol; /* below 0: by the model's kind */
    const char *host;
    int level;
    cli_offload offload;
    cli_shapes ends;           /* --output-value, --signature */
    vtac_artifact_image image; /* the compiled model */
    uint32_t count[OUTCOMES];
    char model[VERIFY_PATH]; /* of this case */
    bool is_onnx, is_random;
} verification;

typedef struct verdict {
    verify_outcome outcome;
    int bound_from; /* inputs from this one on that look like parameters were made constants */
    vta_diag diag;
} verdict;

enum { MAX_INPUTS = 16 }; /* as bound_from: none was */
static const size_t max_bytes = (size_t)1 << 31;

/* ---- binding inputs: a protobuf message may be given in pieces, so that a graph with one more initializer
 * is the file and a few bytes */

static void put_varint(vta_str *out, size_t value)
{
    while (value >= 0x80) {
        const uint8_t byte = (uint8_t)(value | 0x80);
        vta_str_append(out, &byte, 1);
        value >>= 7;
    }
    const uint8_t byte = (uint8_t)value;
    vta_str_append(out, &byte, 1);
}

static void put_initializer(vta_str *model, const uint8_t *tensor, size_t size)
{
    enum { GRAPH = 7 << 3 | 2, INITIALIZER = 5 << 3 | 2 };
    vta_str inner = {0};
    const uint8_t tags[] = {GRAPH, INITIALIZER};
    vta_str_append(&inner, &tags[1], 1);
    put_varint(&inner, size);
    vta_str_append(&inner, tensor, size);
    vta_str_append(model, &tags[0], 1);
    put_varint(model, inner.size);
    vta_str_append(model, inner.text, inner.size);
    model->failed = model->failed || inner.failed;
    vta_str_free(&inner);
}

/* True if a tensor looks like a parameter: integers or a single number, of one axis at most. */
static bool is_parameter(const vtac_tensor *t)
{
    return t->type.rank <= 1 && (vtac_dtype_kind(t->type.dtype) == 'i' || vtac_type_elements(&t->type) <= 8);
}

static void bind_parameters(const char *folder, int first, vta_str *model)
{
    for (int i = first; i < MAX_INPUTS; i++) {
        char path[4300];
        uint8_t *bytes;
        size_t size;
        vta_arena arena = {0};
        vtac_tensor tensor;
        (void)snprintf(path, sizeof path, "%s/test_data_set_0/input_%d.pb", folder, i);
        if (vta_file_read(path, max_bytes, &bytes, &size, NULL) != VTA_OK) {
            return;
        }
        if (vtac_onnx_tensor(bytes, size, path, &arena, &tensor, NULL) == VTA_OK && is_parameter(&tensor)) {
            put_initializer(model, bytes, size);
        }
        vta_arena_free(&arena);
        free(bytes);
    }
}

/* ---- one case */

/* Shapes of the case's inputs, for those that the model leaves open. */
typedef struct case_shapes {
    vtac_shape_option items[MAX_INPUTS];
    char names[MAX_INPUTS][128];
    uint32_t count;
    bool hold; /* whatever the model says */
} case_shapes;

static void add_shape(case_shapes *shapes, const Onnx__TensorProto *tensor)
{
    vtac_shape_option *option = &shapes->items[shapes->count];
    char *name = shapes->names[shapes->count];
    if (tensor->name == NULL || tensor->name[0] == '\0' || strlen(tensor->name) >= sizeof shapes->names[0] ||
        tensor->n_dims > VTAC_MAX_RANK) {
        return;
    }
    memcpy(name, tensor->name, strlen(tensor->name) + 1);
    *option = (vtac_shape_option){.name = name, .rank = (uint32_t)tensor->n_dims};
    for (size_t i = 0; i < tensor->n_dims; i++) {
        option->dim[i] = tensor->dims[i];
    }
    shapes->count++;
}

static void read_shapes(const char *folder, case_shapes *shapes)
{
    for (int i = 0; i < MAX_INPUTS; i++) {
        char path[4300];
        uint8_t *bytes;
        size_t size;
        (void)snprintf(path, sizeof path, "%s/test_data_set_0/input_%d.pb", folder, i);
        if (vta_file_read(path, max_bytes, &bytes, &size, NULL) != VTA_OK) {
            return;
        }
        vta_arena arena = {0};
        vtac_tensor tensor;
        Onnx__TensorProto *proto = NULL;
        if (vtac_onnx_tensor(bytes, size, path, &arena, &tensor, NULL) == VTA_OK) { /* it is one, and sound */
            proto = onnx__tensor_proto__unpack(NULL, size, bytes);
        }
        if (proto != NULL) {
            add_shape(shapes, proto);
            onnx__tensor_proto__free_unpacked(proto, NULL);
        }
        vta_arena_free(&arena);
        free(bytes);
    }
}

static vta_status compile_bytes(verification *v, const char *folder, const case_shapes *shapes,
                                const vta_str *model, vta_diag *diag)
{
    const bool dynamic = cli_flag(v->args, "--dynamic");
    const vtac_import_options import = {.shapes = shapes->items,
                                        .shape_count = dynamic || v->ends.context > 0 ? 0 : shapes->count,
                                        .cache_tokens = (int64_t)v->ends.context,
                                        .new_tokens = (int64_t)v->ends.step,
                                        .shapes_hold = shapes->hold,
                                        .dynamic = dynamic};
    vtac_graph *graph = NULL;
    const char *name = strrchr(v->model, '/') + 1;
    VTA_TRY(vtac_onnx_parse((const uint8_t *)model->text, model->size, name, folder, &import, &graph, diag));
    const vta_status status = cli_compile_image(graph, v->host, v->level, &v->offload, &v->image, diag);
    vtac_graph_destroy(graph);
    return status;
}

/* A model of another kind says all of its shapes itself. */
static vta_status compile_file(verification *v, vta_diag *diag)
{
    const vtac_import_options import = cli_import_options(&v->ends);
    vtac_graph *graph = NULL;
    VTA_TRY(vtac_model_load(v->model, &import, &graph, diag));
    const vta_status status = cli_compile_image(graph, v->host, v->level, &v->offload, &v->image, diag);
    vtac_graph_destroy(graph);
    return status;
}

static vta_status compile_case(verification *v, const char *folder, verdict *out)
{
    uint8_t *bytes;
    size_t size;
    if (!v->is_onnx) {
        return compile_file(v, &out->diag);
    }
    VTA_TRY(vta_file_read(v->model, max_bytes, &bytes, &size, &out->diag));
    case_shapes *shapes = calloc(1, sizeof *shapes);
    vta_str model = {0};
    vta_str_append(&model, bytes, size);
    vta_status status = VTA_NOMEM;
    if (shapes == NULL || model.failed) {
        (void)vta_no_memory(&out->diag);
    } else {
        read_shapes(folder, shapes);
        status = compile_bytes(v, folder, shapes, &model, &out->diag);
        if (status == VTA_INVALID) { /* perhaps because of the shapes: those of the data hold */
            shapes->hold = true;
            vta_diag second = {0};
            const vta_status again = compile_bytes(v, folder, shapes, &model, &second);
            status = again == VTA_OK ? VTA_OK : status;
            out->diag = again == VTA_OK ? (vta_diag){0} : out->diag;
        }
        if (status == VTA_INVALID) {
            shapes->count = 0;
            out->diag = (vta_diag){0};
            status = compile_bytes(v, folder, shapes, &model, &out->diag);
        }
    }
    for (int first = 1; status == VTA_UNSUPPORTED && first >= 0; first--) { /* the data itself comes last */
        vta_str bound = {0};
        vta_diag second = {0};
        vta_str_append(&bound, bytes, size);
        bind_parameters(folder, first, &bound);
        if (!bound.failed && bound.size > size) {
            status = compile_bytes(v, folder, shapes, &bound, &second);
            out->bound_from = status == VTA_OK ? first : MAX_INPUTS;
            out->diag = status == VTA_OK ? (vta_diag){0} : second;
        }
        vta_str_free(&bound);
    }
    vta_str_free(&model);
    free(shapes);
    free(bytes);
    return status;
}

/* A parameter is what the first data set says: another one is of another model. */
static vta_status expect_bound(const char *folder, int i, const vtac_tensor *tensor, vta_diag *diag)
{
    char path[VERIFY_PATH];
    vta_arena arena = {0};
    vtac_tensor first;
    (void)snprintf(path, sizeof path, "%s/test_data_set_0/input_%d.pb", folder, i);
    vta_status status = cli_read_tensor(path, &arena, &first, diag);
    if (status == VTA_OK &&
        (first.bytes != tensor->bytes || memcmp(first.data, tensor->data, first.bytes) != 0)) {
        status = vta_fail(diag, VTA_UNSUPPORTED,
                          "input %d is a parameter, and another one than that of the first data set", i);
    }
    vta_arena_free(&arena);
    return status;
}

/* The name in a serialized TensorProto is what binds it; files without one go by their number. */
static vta_status load_inputs(vta_model *model, const char *folder, const cli_verify_set *set, int bound_from,
                              vta_diag *diag)
{
    const uint32_t count = vta_model_input_count(model);
    uint32_t next = 0;
    for (int i = 0; next < count || i < MAX_INPUTS; i++) {
        char path[VERIFY_PATH];
        vta_arena arena = {0};
        vtac_tensor tensor;
        const vta_tensor_info info = next < count ? vta_model_input(model, next) : (vta_tensor_info){0};
        cli_verify_file(set, true, (uint32_t)i, path);
        if (next >= count && (bound_from >= MAX_INPUTS || access(path, R_OK) != 0)) {
            break;
        }
        if (cli_is_parcel(&info)) {
            VTA_TRY(cli_give_parcel(model, next++, path, diag));
            continue;
        }
        vta_status status = cli_read_tensor(path, &arena, &tensor, diag);
        if (status == VTA_OK && i >= bound_from && is_parameter(&tensor)) {
            status = expect_bound(folder, i, &tensor, diag);
        } else if (status == VTA_OK && next < count) {
            (void)vta_model_set_input_shape(model, next, tensor.type.dim, tensor.type.rank, NULL);
            status = vta_model_set_input(model, next, tensor.data, tensor.bytes, diag);
            next++;
        }
        vta_arena_free(&arena);
        VTA_TRY(status);
    }
    return VTA_OK;
}

/* The data of ONNX's cases are worked out for them; beside other models lies what another engine gave. */
static double absolute_tolerance(const verification *v)
{
    return v->atol >= 0.0 ? v->atol : v->is_onnx ? 1e-7 : 1e-4;
}

/* Integers of another engine are to be equal. */
static double relative_tolerance(const verification *v, bool integers)
{
    return v->rtol >= 0.0 ? v->rtol : v->is_onnx || !integers ? 1e-3 : 0.0;
}

static vta_status check_parcel(const verification *v, vta_model *model, const char *path, uint32_t i,
                               verdict *out)
{
    vta_str expected = {0};
    const vta_tensor_info info = vta_model_output(model, i);
    vta_status status = cli_read_parcel(path, &expected, &out->diag);
    if (status == VTA_OK &&
        cli_compare_parcels(vta_model_output_data(model, i), info.bytes, expected.text, expected.size,
                            relative_tolerance(v, false), absolute_tolerance(v), &out->diag) != VTA_OK) {
        status = vta_context(&out->diag, "output %u", i);
    }
    vta_str_free(&expected);
    return status;
}

static vta_status check_output(const verification *v, vta_model *model, const cli_verify_set *set, uint32_t i,
                               verdict *out)
{
    char path[VERIFY_PATH];
    vtac_tensor expected;
    vta_arena arena = {0};
    cli_verify_file(set, false, i, path);
    const vta_tensor_info info = vta_model_output(model, i);
    if (cli_is_parcel(&info)) {
        return check_parcel(v, model, path, i, out);
    }
    vta_status status = cli_read_tensor(path, &arena, &expected, &out->diag);
    double rtol = status == VTA_OK ? relative_tolerance(v, vtac_dtype_kind(expected.type.dtype) != 'f') : 0.0;
    if (status == VTA_OK && info.dtype_code == vtac_dtype_code(VTAC_BF16) &&
        expected.type.dtype == VTAC_U16) {
        /* ONNX's older cases have its bits, and cut off what does not fit: a step below the nearest. */
        expected.type.dtype = VTAC_BF16;
        rtol = rtol > 0x1p-7 ? rtol : 0x1p-7;
    }
    if (status == VTA_OK) {
        const vtac_tensor got = cli_as_tensor(&info, vta_model_output_data(model, i));
        char a[160];
        char b[160];
        const cli_difference d = cli_compare_tensors(&got, &expected, rtol, absolute_tolerance(v));
        if (!vtac_type_equal(&got.type, &expected.type)) {
            status =
                vta_fail(&out->diag, VTA_INVALID, "output %u is %s, expected %s", i,
                         vtac_type_text(&got.type, a, sizeof a), vtac_type_text(&expected.type, b, sizeof b));
        } else if (!d.equal && v->is_random) {
            status =
                vta_fail(&out->diag, VTA_UNSUPPORTED,
                         "output %u has the right type and sizes, but its values are random numbers, and "
                         "the standard does not say which",
                         i);
        } else if (!d.equal) {
            status = vta_fail(&out->diag, VTA_INVALID,
                              "output %u differs by up to %.3g: element %lld is %.9g, expected %.9g", i,
                              d.worst, (long long)d.at, d.got, d.expected);
        }
    }
    vta_arena_free(&arena);
    return status;
}

/* True if a model draws random numbers: the standard leaves their values to the implementation. */
static bool draws_numbers(Onnx__NodeProto *const *nodes, size_t count)
{
    bool draws = false;
    for (size_t i = 0; i < count; i++) {
        const char *type = nodes[i]->op_type != NULL ? nodes[i]->op_type : "";
        draws = draws || strncmp(type, "Random", 6) == 0 || strcmp(type, "Bernoulli") == 0 ||
                strcmp(type, "Multinomial") == 0;
    }
    return draws;
}

static bool is_random(const char *path)
{
    uint8_t *bytes;
    size_t size;
    if (vta_file_read(path, max_bytes, &bytes, &size, NULL) != VTA_OK) {
        return false;
    }
    Onnx__ModelProto *model = onnx__model_proto__unpack(NULL, size, bytes); /* it was compiled: it is sound */
    bool random = model != NULL && draws_numbers(model->graph->node, model->graph->n_node);
    for (size_t i = 0; model != NULL && i < model->n_functions; i++) {
        random = random || draws_numbers(model->functions[i]->node, model->functions[i]->n_node);
    }
    if (model != NULL) {
        onnx__model_proto__free_unpacked(model, NULL);
    }
    free(bytes);
    return random;
}

static vta_status run_set(const verification *v, vta_model *model, const char *folder,
                          const cli_verify_set *set, verdict *out)
{
    VTA_TRY(load_inputs(model, folder, set, out->bound_from, &out->diag));
    cli_stage("running", set->begin, 0, 0);
    VTA_TRY(cli_run_model(model, &out->diag));
    for (uint32_t i = 0; i < vta_model_output_count(model); i++) {
        VTA_TRY(check_output(v, model, set, i, out));
    }
    return VTA_OK;
}

/* All data sets, one after the other, on one loaded model. */
static vta_status run_sets(const verification *v, const char *folder, verdict *out)
{
    vtac_loaded loaded;
    const vta_model_options model_options = {.threads = 1, .device = cli_value(v->args, "--device")};
    VTA_TRY(cli_place_image(&v->image, &model_options, &loaded, &out->diag));
    vta_status status = VTA_OK;
    bool found = true;
    for (uint32_t i = 0; status == VTA_OK && found; i++) {
        cli_verify_set set;
        status = cli_verify_find_set(folder, i, &set, &found, &out->diag);
        if (status == VTA_OK && found && (status = run_set(v, loaded.model, folder, &set, out)) != VTA_OK) {
            (void)vta_context(&out->diag, "%s", set.begin + strlen(folder) + 1);
        }
    }
    vtac_unload(&loaded);
    return status;
}

static void run_case(verification *v, const char *given, verdict *out)
{
    char folder[VERIFY_FOLDER];
    vta_status status = cli_verify_find_model(given, folder, v->model, &v->is_onnx, &out->diag);
    if (status != VTA_OK) {
        out->outcome = FAILED;
        return;
    }
    status = compile_case(v, folder, out);
    v->is_random = status == VTA_OK && v->is_onnx && is_random(v->model);
    if (status == VTA_OK) {
        status = run_sets(v, folder, out);
    }
    out->outcome = status == VTA_OK ? PASSED : status == VTA_UNSUPPORTED ? UNSUPPORTED : FAILED;
    vtac_artifact_image_free(&v->image);
}

static void report_verdict(verification *v, const char *folder, const verdict *result)
{
    static const char *const words[] = {"PASS", "FAIL", "UNSUPPORTED"};
    const uint32_t before = v->count[PASSED] + v->count[FAILED] + v->count[UNSUPPORTED];
    if (cli_flag(v->args, "--json")) {
        cli_put(before == 0 ? "{\"cases\": [" : ",\n ");
        cli_print("{\"case\": ");
        cli_json_string(folder);
        cli_print(", \"result\": \"%s\", \"bound\": %s, \"reason\": ", words[result->outcome],
                  result->bound_from < MAX_INPUTS ? "true" : "false");
        cli_json_string(result->diag.text);
        cli_print("}");
    } else {
        cli_print("%s %s%s%s%s\n", words[result->outcome], folder,
                  result->bound_from < MAX_INPUTS ? " (parameters bound to the values of the case)" : "",
                  result->outcome == PASSED ? "" : ": ", result->outcome == PASSED ? "" : result->diag.text);
    }
    cli_flush();
    v->count[result->outcome]++;
}

static int read_tolerance(const cli_args *args, const char *name, double *value)
{
    const char *text = cli_value(args, name);
    char *end = NULL;
    if (text == NULL) {
        return CLI_OK;
    }
    *value = strtod(text, &end);
    return end != text && *end == '\0' && *value >= 0
               ? CLI_OK
               : cli_usage(args, "%s takes a number, not '%s'", name, text);
}

static int run_verify(const cli_args *args)
{
    uint64_t level = 3;
    const char *asked = cli_value(args, "-O");
    const char *host = cli_value(args, "--host");
    verification v = {.args = args, .rtol = -1.0, .atol = -1.0, .host = host == NULL ? "host" : host};
    if (asked != NULL && (!cli_number(asked, &level) || level > 3)) {
        return cli_usage(args, "-O takes 0 to 3, not '%s'", asked);
    }
    if (cli_read_offload(args, &v.offload) != CLI_OK || cli_read_shapes(args, &v.ends) != CLI_OK) {
        return CLI_USAGE;
    }
    if (read_tolerance(args, "--rtol", &v.rtol) != CLI_OK ||
        read_tolerance(args, "--atol", &v.atol) != CLI_OK) {
        return CLI_USAGE;
    }
    v.level = (int)level;
    vta_diag away = {0};
    if (host == NULL && cli_host_of(cli_value(args, "--device"), &v.host, &away) != VTA_OK) {
        return cli_fail(args, &away);
    }
    cli_stages_begin();
    cli_die_tidily();
    for (size_t i = 0; i < args->operand_count; i++) {
        verdict result = {.bound_from = MAX_INPUTS};
        cli_stages_outer("case", i, args->operand_count);
        run_case(&v, args->operands[i], &result);
        cli_stages_hide();
        if (cli_go_on(&away) != VTA_OK) {
            return cli_fail(args, &away);
        }
        report_verdict(&v, args->operands[i], &result);
    }
    cli_stages_end();
    cli_print(cli_flag(args, "--json") ? "],\n \"passed\": %u, \"failed\": %u, \"unsupported\": %u}\n"
                                       : "%u passed, %u failed, %u unsupported\n",
              v.count[PASSED], v.count[FAILED], v.count[UNSUPPORTED]);
    const int done = cli_done(args);
    return v.count[FAILED] > 0 ? CLI_FAILED : done;
}

const cli_verb cli_verb_verify = {
    .name = "verify",
    .operands = "DIR...",
    .summary = "run test-case folders and compare",
    .more = "DIR has a model of any kind, and test_data_set_N/input_K.pb, output_K.pb (or\n"
            ".npy) as ONNX's cases, or NAME_in0.npy, NAME_out0.npy and so on; of several\n"
            "models, the file that is given instead. Beside models that are not ONNX,\n"
            "integers are to be equal, floats within 1e-4.\n\n"
            "With --target vta, quantized operators run on the device, others on the host:\n"
            "floats stay floats, and the tolerances are the same. What neither can do is\n"
            "UNSUPPORTED, with the reason.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .min = 1,
    .max = 1000000,
    .run = run_verify,
};
