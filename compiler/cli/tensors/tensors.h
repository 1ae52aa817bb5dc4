/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensors from and to files for the verbs that run models, and how results are compared.
 */
#ifndef VTAC_CLI_TENSORS_H
#define VTAC_CLI_TENSORS_H

#include "cli.h"
#include "vta/model.h"
#include "vta/str.h"
#include "vtac/onnx.h"

enum { CLI_MAX_SHAPES = 64 };

/* Options by which a verb reads a model: which of its ends are taken, and its file of weights. */
#define CLI_END_OPTIONS                                                                                      \
    {"--signature", "NAME", CLI_TEXT, "of several; --output-value NAME: an output"}, CLI_OUTPUT_OPTION
#define CLI_MODEL_OPTIONS                                                                                    \
    {"--weights", "FILE|int4", CLI_FILE, "Darknet's or 4 bits; --signature, --output-value: ends"},          \
        {"--signature", "NAME", CLI_TEXT, NULL}, CLI_OUTPUT_OPTION
#define CLI_OUTPUT_OPTION                                                                                    \
    {                                                                                                        \
        "--output-value", "NAME", CLI_TEXT, NULL                                                             \
    }

/* Caches of a decoder that get a fixed size, and an end of a state beside the other. HIDDEN: for a verb whose
 * help has no room for a line more. */
#define CLI_CONTEXT_OPTION                                                                                   \
    {                                                                                                        \
        "--context", "N:T", CLI_TEXT, "caches of N tokens, T (default 1) new ones a run"                     \
    }
#define CLI_CONTEXT_HIDDEN                                                                                   \
    {                                                                                                        \
        "--context", "N:T", CLI_TEXT, NULL                                                                   \
    }
#define CLI_STATE_OPTION                                                                                     \
    {"--context", "N:T", CLI_TEXT, "caches of N tokens, T a run; --state IN=OUT: a state"},                  \
    {                                                                                                        \
        "--state", "IN=OUT", CLI_TEXT, NULL                                                                  \
    }

/* --shape options, and the others that say how a model is read. */
typedef struct cli_shapes {
    char names[CLI_MAX_SHAPES][256];
    vtac_shape_option items[CLI_MAX_SHAPES];
    uint32_t count;
    const char *weights;                 /* --weights, or NULL */
    const char *outputs[CLI_MAX_SHAPES]; /* --output-value */
    uint32_t output_count;
    const char *signature; /* --signature, or NULL */
    char state_inputs[CLI_MAX_SHAPES][256];
    vtac_state_name states_named[CLI_MAX_SHAPES]; /* --state */
    uint32_t state_count;
    uint64_t context, step; /* --context N:T; 0: none */
    bool dynamic;           /* --dynamic */
    bool states;            /* the verb keeps a model's states */
} cli_shapes;
int cli_read_shapes(const cli_args *args, cli_shapes *out);

/* True for a word of --weights that is no file's name but a number of bits, as int4. */
bool cli_names_bits(const char *word);
/* The same for an importer, which borrows them; notes are not told. */
vtac_import_options cli_import_options(const cli_shapes *shapes);

/* A .npy file or a serialized TensorProto (.pb), by its name; memory is the arena's. */
vta_status cli_read_tensor(const char *path, vta_arena *arena, vtac_tensor *out, vta_diag *diag);
/* The contents of a .npy file, copied into the arena. */
vta_status cli_parse_npy(const uint8_t *bytes, size_t size, vta_arena *arena, vtac_tensor *out,
                         vta_diag *diag);
/* True where a member of an .npz archive ("x.npy") is called `name`. */
bool cli_member_is(const char *member, const char *name);
/* The member of an .npz archive for the input `name`: the one of that name; where `only`, the model has no
 * other input, and the archive's only member will do. */
vta_status cli_read_member(const char *path, const char *name, bool only, vta_arena *arena, vtac_tensor *out,
                           vta_diag *diag);
bool cli_is_float(vtac_dtype dtype);
/* Counts a tensor's NaN and infinities and warns of them in one line, which names the verb, the file and the
 * input: what a layer makes of them is no answer. */
typedef struct cli_nonfinite {
    uint64_t nans, infinities;
} cli_nonfinite;
cli_nonfinite cli_warn_nonfinite(const char *verb, const char *file, const char *input,
                                 const vtac_tensor *tensor);

/* NumPy's name of an element type ("float32"), NULL where it has none. */
const char *cli_npy_name(vtac_dtype dtype);
/* Adds the contents of a .npy file. */
void cli_format_npy(const vta_tensor_info *info, const void *data, vta_str *out);
vta_status cli_write_npy(const char *path, const vta_tensor_info *info, const void *data, vta_diag *diag);

vtac_dtype cli_dtype(const vta_tensor_info *info);
/* A tensor of the runtime, seen as the compiler's, and the other way; the latter borrows. */
vtac_tensor cli_as_tensor(const vta_tensor_info *info, const void *data);
vta_tensor_info cli_as_info(const vtac_type *type, const char *name);

/* The largest |a-b|, whether every element is within atol + rtol * |b| (NaN equals NaN), and the element that
 * is off most: of those that are not within it, where there are such. */
typedef struct cli_difference {
    bool equal;
    double worst;
    int64_t at;
    double got, expected;
} cli_difference;
cli_difference cli_compare_tensors(const vtac_tensor *got, const vtac_tensor *expected, double rtol,
                                   double atol);

#endif
