/* SPDX-License-Identifier: Apache-2.0
 *
 * CoreML's neural networks: the description of inputs and outputs, what is done to pictures before, and the
 * layers. Values are [batch][channels][rows][columns] here; an input or an output is
 * [channels][rows][columns], or a row.
 */
#include <string.h>

#include "coreml.h"
#include "vta/fail.h"

enum { DESCRIPTION = 2, INPUT = 1, OUTPUT = 10, NAME = 1, TYPE = 3, IMAGE = 4, ARRAY = 5 };
enum {
    LAYER = 1,
    PREPROCESSING = 2,
    ARRAY_MAPPING = 5,
    IMAGE_MAPPING = 6,
    LABELS = 100,
    PROBABILITIES = 200
};
enum { GRAYSCALE = 10, RGB = 20, BGR = 30 };

typedef struct coreml_kind {
    uint64_t field;
    const char *name;
    uint32_t min, max;
    vtac_coreml_make_fn *make;
} coreml_kind;

static const coreml_kind kinds[] = {
#define VTAC_COREML_LAYER(group, field, name, min, max, fn) {field, name, min, max, vtac_coreml_make_##fn},
#define VTAC_COREML_NAME(field, name)                       {field, name, 0, 0, NULL},
#include "layers.def"
};

/* The kind of a layer, and its parameters; NULL: it is none that is known. */
static const coreml_kind *kind_of(vtac_wire layer, vtac_wire_field *params)
{
    enum { FIRST_KIND = 100 };
    while (vtac_wire_next(&layer, params)) {
        for (size_t i = 0; params->number >= FIRST_KIND && i < sizeof kinds / sizeof kinds[0]; i++) {
            if (kinds[i].field == params->number && params->type == VTAC_WIRE_BYTES) {
                return &kinds[i];
            }
        }
        if (params->number >= FIRST_KIND) {
            return NULL;
        }
    }
    return NULL;
}

/* ---- inputs */

/* A picture's factor and its summands, or its mean picture, by the colours that the picture has. */
static vtac_id prepare_picture(vtac_coreml *c, vtac_wire step, vtac_id x, int64_t colours)
{
    enum { SCALER = 10, MEAN = 11, FACTOR = 10, BLUE = 20, GREEN = 21, RED = 22, GRAY = 30 };
    vtac_import_builder *m = &c->net.maker;
    const vtac_type type = vtac_made_type(m, x);
    vtac_wire scaler;
    vtac_wire mean;
    if (vtac_wire_message(step, SCALER, &scaler)) {
        const uint64_t order[] = {colours == BGR ? BLUE : RED, GREEN, colours == BGR ? RED : BLUE};
        float row[3];
        for (int i = 0; i < 3; i++) {
            row[i] = (float)vtac_wire_float(scaler, type.dim[0] == 1 ? GRAY : order[i], 0.0);
        }
        const vtac_type bias = {VTAC_F32, 3, {type.dim[0], 1, 1}};
        const double factor = vtac_wire_float(scaler, FACTOR, 0.0);
        x = vtac_make_linear(m, x, factor == 0.0 ? 1.0 : factor, 0.0);
        const bool none = row[0] == 0.0F && (type.dim[0] == 1 || (row[1] == 0.0F && row[2] == 0.0F));
        return none ? x : vtac_make2(m, VTAC_OP_ADD, x, vtac_make_constant(m, &bias, row));
    }
    if (vtac_wire_message(step, MEAN, &mean)) {
        return vtac_make2(m, VTAC_OP_SUB, x, vtac_coreml_weights(c, mean, type.dim, 3));
    }
    return x;
}

/* An input's type: a picture, or an array of 1, 3 or 5 axes. */
static bool read_type(vtac_coreml *c, vtac_wire feature, vtac_type *type, int64_t *colours)
{
    enum { WIDTH = 1, HEIGHT = 2, COLOURS = 3, SHAPE = 1 };
    const vtac_wire kind = vtac_coreml_message(feature, TYPE);
    vtac_wire own;
    *type = (vtac_type){.dtype = VTAC_F32};
    *colours = 0;
    if (vtac_wire_message(kind, IMAGE, &own)) {
        *colours = vtac_wire_int(own, COLOURS, RGB);
        type->rank = 3;
        type->dim[0] = *colours == GRAYSCALE ? 1 : 3;
        type->dim[1] = vtac_wire_int(own, HEIGHT, -1);
        type->dim[2] = vtac_wire_int(own, WIDTH, -1);
        return true;
    }
    if (vtac_wire_message(kind, ARRAY, &own)) {
        const size_t rank = vtac_wire_ints(own, SHAPE, type->dim, VTAC_MAX_RANK);
        type->rank = rank <= VTAC_MAX_RANK ? (uint32_t)rank : 0;
        return true;
    }
    vtac_make_fail(&c->net.maker, VTA_UNSUPPORTED, "input '%.80s' is neither a picture nor an array",
                   vtac_coreml_text(c, feature, NAME));
    return false;
}

/* The value of an input as layers see it. */
static vtac_id as_planes(vtac_coreml *c, vtac_id x, bool exact)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_type t = vtac_made_type(m, x);
    const int64_t row[] = {1, t.dim[0], 1, 1};
    const int64_t planes[] = {1, t.dim[0], t.dim[1], t.dim[2]};
    if (m->status != VTA_OK || exact) {
        return x;
    }
    if (t.rank == 1 || t.rank == 3) {
        return vtac_make_reshape(m, x, t.rank == 1 ? row : planes, 4);
    }
    if (t.rank == 5 && t.dim[0] == 1) {
        return vtac_make_reshape(m, x, t.dim + 1, 4);
    }
    vtac_make_fail(m, VTA_UNSUPPORTED, "an input of %u axes, or of several steps; 1 or 3 axes are taken",
                   t.rank);
    return 0;
}

static vta_status add_inputs(vtac_coreml *c, vtac_wire network)
{
    enum { FEATURE = 1 };
    vtac_wire description = vtac_coreml_message(c->model, DESCRIPTION);
    const bool exact = vtac_wire_int(network, ARRAY_MAPPING, 0) != 0;
    vtac_wire input;
    while (vtac_wire_each(&description, INPUT, &input)) {
        vtac_type type;
        int64_t colours;
        if (!read_type(c, input, &type, &colours)) {
            continue;
        }
        const char *name = vtac_coreml_text(c, input, NAME);
        vtac_id x = vtac_layered_input(&c->net, name, &type);
        vtac_wire steps = network;
        vtac_wire step;
        while (colours != 0 && c->net.maker.status == VTA_OK &&
               vtac_wire_each(&steps, PREPROCESSING, &step)) {
            const char *feature = vtac_coreml_text(c, step, FEATURE);
            const bool own = feature[0] == '\0' || strcmp(feature, name) == 0;
            x = own ? prepare_picture(c, step, x, colours) : x;
        }
        vtac_layered_set_constant(&c->net, name, as_planes(c, x, exact && colours == 0));
    }
    return c->net.maker.status;
}

/* ---- layers */

static vta_status read_ends(vtac_coreml *c, vtac_wire layer, const coreml_kind *kind)
{
    enum { LAYER_INPUT = 2, LAYER_OUTPUT = 3 };
    vtac_wire_field f;
    c->in_count = c->out_count = 0;
    while (vtac_wire_next(&layer, &f)) {
        if (f.type != VTAC_WIRE_BYTES || (f.number != LAYER_INPUT && f.number != LAYER_OUTPUT)) {
            continue;
        }
        if (c->in_count == COREML_MAX_ENDS || c->out_count == COREML_MAX_ENDS) {
            return vta_fail(c->net.maker.diag, VTA_RANGE, "more than %d inputs or outputs", COREML_MAX_ENDS);
        }
        const char *name = vtac_coreml_bytes_text(c, f.bytes);
        if (f.number == LAYER_INPUT) {
            c->in[c->in_count++] = vtac_layered_get(&c->net, name);
        } else {
            c->outputs[c->out_count++] = name;
        }
    }
    VTA_TRY(c->net.maker.status);
    for (uint32_t i = 0; i < c->in_count; i++) {
        if (vtac_coreml_type(c, i).rank != 4) {
            return vta_fail(c->net.maker.diag, VTA_UNSUPPORTED,
                            "an input of %u axes; those of pictures are taken", vtac_coreml_type(c, i).rank);
        }
    }
    return c->in_count >= kind->min && c->in_count <= kind->max && c->out_count > 0
               ? VTA_OK
               : vta_fail(c->net.maker.diag, VTA_INVALID,
                          "%u inputs and %u outputs, expected %u to %u inputs", c->in_count, c->out_count,
                          kind->min, kind->max);
}

static vta_status import_layer(vtac_coreml *c, vtac_wire layer, uint32_t number)
{
    vtac_wire_field params;
    const coreml_kind *kind = kind_of(layer, &params);
    const char *name = vtac_coreml_text(c, layer, NAME);
    vtac_layered_at(&c->net, name, number);
    vta_status status = kind == NULL ? VTA_UNSUPPORTED : read_ends(c, layer, kind);
    if (status == VTA_OK && kind != NULL) {
        c->layer = params.bytes;
        kind->make(c);
        status = c->net.maker.status;
    }
    return status == VTA_OK ? VTA_OK
                            : vta_context(c->net.maker.diag, "layer %u '%.80s' (%s)", number, name,
                                          kind == NULL ? "" : kind->name);
}

static vta_status check_layers(vtac_coreml *c, vtac_wire network)
{
    vtac_wire layer;
    vtac_wire_field params;
    uint32_t count = 0;
    while (vtac_wire_each(&network, LAYER, &layer) && ++count <= COREML_MAX_LAYERS) {
        const coreml_kind *kind = kind_of(layer, &params);
        if (kind == NULL) {
            vtac_layered_miss(&c->net, "a layer of another kind");
        } else if (kind->make == NULL) {
            vtac_layered_miss(&c->net, kind->name);
        }
    }
    if (count > COREML_MAX_LAYERS) {
        return vta_fail(c->net.maker.diag, VTA_RANGE, "it has more than %d layers", COREML_MAX_LAYERS);
    }
    return vtac_layered_missing(&c->net, "layers");
}

/* ---- outputs */

static void add_output(vtac_coreml *c, const char *name, bool exact)
{
    vtac_import_builder *m = &c->net.maker;
    vtac_id y = vtac_layered_get(&c->net, name);
    const vtac_type type = vtac_made_type(m, y);
    if (m->status == VTA_OK && !exact && type.rank == 4 && type.dim[0] == 1) {
        const int64_t dims[] = {type.dim[1], type.dim[2], type.dim[3]};
        y = vtac_make_reshape(m, y, dims, 3);
    }
    vtac_layered_add_output(&c->net, name, y);
}

/* A classifier's probabilities are those of a layer that it names, or of the last. */
static void add_probabilities(vtac_coreml *c, vtac_wire network, const char *last, bool exact)
{
    const char *name = vtac_coreml_text(c, network, PROBABILITIES);
    vtac_wire labels = vtac_coreml_message(network, LABELS);
    vtac_wire_field f;
    uint32_t count = 0;
    while (vtac_wire_next(&labels, &f)) {
        count++;
    }
    vtac_import_note(c->net.options,
                     "the model has names for %u classes; `vtac run --labels FILE` takes them from a file",
                     count);
    add_output(c, name[0] != '\0' && vtac_layered_look(&c->net, name) != 0 ? name : last, exact);
}

static vta_status add_outputs(vtac_coreml *c, vtac_wire network, bool classifier, const char *last)
{
    vtac_wire description = vtac_coreml_message(c->model, DESCRIPTION);
    const bool exact = vtac_wire_int(network, ARRAY_MAPPING, 0) != 0;
    bool added = false;
    vtac_wire output;
    while (vtac_wire_each(&description, OUTPUT, &output)) {
        const char *name = vtac_coreml_text(c, output, NAME);
        if (!classifier || vtac_layered_look(&c->net, name) != 0) {
            add_output(c, name, exact);
        } else if (!added) { /* the class and the dictionary of probabilities are one output here */
            add_probabilities(c, network, last, exact);
            added = true;
        }
    }
    return vtac_layered_outputs(&c->net, "a model without outputs");
}

vta_status vtac_coreml_network(vtac_coreml *c, vtac_wire network, bool classifier)
{
    vtac_wire layers = network;
    vtac_wire layer;
    uint32_t number = 0;
    const char *last = "";
    VTA_TRY(check_layers(c, network));
    VTA_TRY(add_inputs(c, network));
    while (vtac_wire_each(&layers, LAYER, &layer)) {
        VTA_TRY(import_layer(c, layer, number++));
        last = c->outputs[0];
    }
    return add_outputs(c, network, classifier, last);
}
