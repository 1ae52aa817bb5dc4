/* SPDX-License-Identifier: Apache-2.0
 *
 * Caffe: the network is a text (.prototxt), the weights are those of the layers of the same names in a
 * message (.caffemodel), which holds the network of the training as well; the network of the training is not
 * read. Layers are of the second version (`layer`, types as texts) or of the first (`layers`, types as
 * words).
 */
#include <stdlib.h>
#include <string.h>

#include "../import/pair.h"
#include "caffe.h"
#include "vta/fail.h"

typedef struct caffe_kind {
    const char *name, *old;
    uint32_t min, max;
    vtac_caffe_make_fn *make;
} caffe_kind;

static const caffe_kind kinds[] = {
#define VTAC_CAFFE_LAYER(group, name, old, min, max, fn) {name, old, min, max, vtac_caffe_make_##fn},
#include "layers.def"
};

static const caffe_kind *kind_of(const vtac_prototxt_field *layer)
{
    const bool old = strcmp(layer->name, "layers") == 0;
    const char *type = vtac_prototxt_word(layer, "type", "");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (type[0] != '\0' && strcmp(old ? kinds[i].old : kinds[i].name, type) == 0) {
            return &kinds[i];
        }
    }
    return NULL;
}

/* ---- fields */

static double number_in(vtac_caffe *c, const vtac_prototxt_field *message, const char *name, double otherwise)
{
    const char *word = vtac_prototxt_word(message, name, NULL);
    double value = otherwise;
    if (word != NULL && !vtac_prototxt_number(word, &value)) {
        vtac_make_fail(&c->net.maker, VTA_INVALID, "%s '%.40s' is no number", name, word);
        return otherwise;
    }
    return value;
}

int64_t vtac_caffe_int(vtac_caffe *c, const char *param, const char *name, int64_t otherwise, int64_t min,
                       int64_t max)
{
    const double value = number_in(c, vtac_prototxt_message(c->layer, param), name, (double)otherwise);
    if (value < (double)min || value > (double)max || value != (double)(int64_t)value) {
        vtac_make_fail(&c->net.maker, VTA_RANGE, "%s is %g, expected %lld to %lld", name, value,
                       (long long)min, (long long)max);
        return min;
    }
    return (int64_t)value;
}

double vtac_caffe_real(vtac_caffe *c, const char *param, const char *name, double otherwise)
{
    return number_in(c, vtac_prototxt_message(c->layer, param), name, otherwise);
}

bool vtac_caffe_flag(const vtac_caffe *c, const char *param, const char *name, bool otherwise)
{
    const char *word = vtac_caffe_word(c, param, name, otherwise ? "true" : "false");
    return word[0] == 't' || word[0] == 'T' || word[0] == '1';
}

const char *vtac_caffe_word(const vtac_caffe *c, const char *param, const char *name, const char *otherwise)
{
    return vtac_prototxt_word(vtac_prototxt_message(c->layer, param), name, otherwise);
}

uint32_t vtac_caffe_reals(vtac_caffe *c, const vtac_prototxt_field *message, const char *name, double *out,
                          uint32_t room)
{
    uint32_t count = 0;
    const vtac_prototxt_field *f = NULL;
    while ((f = vtac_prototxt_next(message, f, name)) != NULL) {
        double value = 0.0;
        if (count == room || f->value == NULL || !vtac_prototxt_number(f->value, &value)) {
            vtac_make_fail(&c->net.maker, VTA_INVALID, "line %u: %s is no number, or one of more than %u",
                           f->line, name, room);
            return 0;
        }
        out[count++] = value;
    }
    return count;
}

uint32_t vtac_caffe_ints(vtac_caffe *c, const vtac_prototxt_field *message, const char *name, int64_t *out,
                         uint32_t room)
{
    double values[CAFFE_MAX_ENDS];
    const uint32_t count =
        vtac_caffe_reals(c, message, name, values, room < CAFFE_MAX_ENDS ? room : CAFFE_MAX_ENDS);
    for (uint32_t i = 0; i < count; i++) {
        if (values[i] < -2147483648.0 || values[i] > 2147483647.0) {
            vtac_make_fail(&c->net.maker, VTA_RANGE, "%s is %g", name, values[i]);
            return 0;
        }
        out[i] = (int64_t)values[i];
    }
    return count;
}

/* True where a word stands among others with spaces between. */
static bool is_among(const char *words, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)) != NULL; at++) {
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) {
            return length > 0;
        }
    }
    return false;
}

/* A failure where a message of the layer's has a field that is not known. */
static void check_fields(vtac_caffe *c)
{
    static const char *const known[][2] = {
#define VTAC_CAFFE_FIELDS(param, fields) {param, fields},
#include "fields.def"
    };
    for (const vtac_prototxt_field *param = c->layer->first; param != NULL; param = param->next) {
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
            const bool here = param->value == NULL && strcmp(param->name, known[i][0]) == 0;
            for (const vtac_prototxt_field *f = here ? param->first : NULL; f != NULL; f = f->next) {
                if (!is_among(known[i][1], f->name)) {
                    vtac_make_fail(
                        &c->net.maker, VTA_UNSUPPORTED,
                        "the field %.60s of %s in line %u is not known, and may change what it computes",
                        f->name, param->name, f->line);
                    return;
                }
            }
        }
    }
}

/* ---- weights */

enum { BLOB_DATA = 5, BLOB_DOUBLES = 8 };

/* All layers of the file of weights. */
static vta_status list_stored(vtac_caffe *c, vtac_wire message)
{
    enum { OLD_LAYER = 2, LAYER = 100, NAME = 1, BLOBS = 7, OLD_NAME = 4, OLD_BLOBS = 6 };
    vta_diag *diag = c->net.maker.diag;
    vtac_caffe_stored *all = vta_arena_array(&c->net.maker.graph->arena, CAFFE_MAX_LAYERS, sizeof *all);
    vtac_wire_field f;
    VTA_TRY(vta_allocated(all != NULL, diag));
    while (vtac_wire_next(&message, &f)) {
        const bool is_layer = f.number == LAYER || f.number == OLD_LAYER;
        if (!is_layer || f.type != VTAC_WIRE_BYTES) {
            continue;
        }
        if (c->stored_count == CAFFE_MAX_LAYERS) {
            return vta_fail(diag, VTA_RANGE, "the file of weights has more than %d layers", CAFFE_MAX_LAYERS);
        }
        vtac_caffe_stored *s = &all[c->stored_count++];
        s->bytes = f.bytes;
        s->blobs = f.number == LAYER ? BLOBS : OLD_BLOBS;
        (void)vtac_wire_message(f.bytes, f.number == LAYER ? NAME : OLD_NAME, &s->name);
    }
    c->stored = all;
    return message.at == message.end
               ? VTA_OK
               : vta_fail(diag, VTA_INVALID,
                          "the file of weights is cut off or damaged, %lld bytes before its end",
                          (long long)(message.end - message.at));
}

/* The stored layer of a name: most often the one behind that of the layer before. */
static const vtac_caffe_stored *stored_of(vtac_caffe *c, const char *name)
{
    for (uint32_t i = 0; i < c->stored_count; i++) {
        const uint32_t at = (c->next + i) % c->stored_count;
        if (vtac_wire_is(c->stored[at].name, name)) {
            c->next = at + 1;
            return &c->stored[at];
        }
    }
    return NULL;
}

static bool find_blob(const vtac_caffe *c, uint32_t number, vtac_wire *out)
{
    vtac_wire message = c->own == NULL ? (vtac_wire){NULL, NULL} : c->own->bytes;
    while (c->own != NULL && vtac_wire_each(&message, c->own->blobs, out)) {
        if (number-- == 0) {
            return true;
        }
    }
    return false;
}

static uint32_t count_blobs(const vtac_caffe *c)
{
    uint32_t count = 0;
    vtac_wire unused;
    while (count < CAFFE_MAX_ENDS && find_blob(c, count, &unused)) {
        count++;
    }
    return count;
}

/* The numbers of a blob, packed or one by one, floats or doubles; returns how many there are. `out` may be
 * NULL. */
static int64_t read_blob(vtac_wire blob, float *out)
{
    int64_t count = 0;
    vtac_wire_field f;
    while (vtac_wire_next(&blob, &f)) {
        const bool wide = f.number == BLOB_DOUBLES;
        const bool fits = f.type == VTAC_WIRE_BYTES || f.type == (wide ? VTAC_WIRE_EIGHT : VTAC_WIRE_FOUR);
        if ((f.number != BLOB_DATA && !wide) || !fits) {
            continue;
        }
        const size_t size = wide ? sizeof(double) : sizeof(float);
        const int64_t here = (f.bytes.end - f.bytes.at) / (int64_t)size;
        for (int64_t i = 0; out != NULL && i < here; i++) {
            double real = 0.0;
            memcpy(wide ? (void *)&real : (void *)&out[count + i], f.bytes.at + (size_t)i * size, size);
            out[count + i] = wide ? (float)real : out[count + i];
        }
        count += here;
    }
    return count;
}

int64_t vtac_caffe_weight_count(const vtac_caffe *c, uint32_t i)
{
    vtac_wire blob;
    return find_blob(c, i, &blob) ? read_blob(blob, NULL) : 0;
}

vtac_id vtac_caffe_weights(vtac_caffe *c, uint32_t i, const int64_t *dims, uint32_t rank)
{
    vtac_import_builder *m = &c->net.maker;
    vtac_type type = {.dtype = VTAC_F32, .rank = rank};
    vtac_wire blob;
    for (uint32_t a = 0; a < rank; a++) {
        type.dim[a] = dims[a];
    }
    const int64_t wanted = vtac_type_elements(&type);
    if (!find_blob(c, i, &blob)) {
        vtac_make_fail(m, VTA_INVALID, "the file of weights has %u blobs for it, it needs at least %u",
                       c->own_count, i + 1);
        return 0;
    }
    const int64_t count = read_blob(blob, NULL);
    if (count != wanted) {
        vtac_make_fail(m, VTA_INVALID, "blob %u has %lld weights, expected %lld", i, (long long)count,
                       (long long)wanted);
        return 0;
    }
    float *room = vtac_make_room(m, count, sizeof *room);
    if (room == NULL) {
        return 0;
    }
    (void)read_blob(blob, room);
    return vtac_make_borrowed(m, &type, room);
}

/* ---- values */

vtac_type vtac_caffe_type(const vtac_caffe *c, uint32_t i)
{
    return vtac_made_type(&c->net.maker, i < c->in_count ? c->in[i] : 0);
}

void vtac_caffe_set(vtac_caffe *c, uint32_t i, vtac_id id)
{
    if (i < c->out_count) {
        vtac_layered_set(&c->net, c->tops[i], id);
    }
}

/* ---- the network */

/* True where a rule of a layer holds for a run: phase TEST, level 0, stage "deploy". */
static bool rule_holds(const vtac_prototxt_field *rule)
{
    const char *phase = vtac_prototxt_word(rule, "phase", "TEST");
    const vtac_prototxt_field *f = NULL;
    bool holds = strcmp(phase, "TEST") == 0 || strcmp(phase, "1") == 0;
    while ((f = vtac_prototxt_next(rule, f, "stage")) != NULL) {
        holds = holds && f->value != NULL && strcmp(f->value, "deploy") == 0;
    }
    while ((f = vtac_prototxt_next(rule, f, "not_stage")) != NULL) {
        holds = holds && f->value != NULL && strcmp(f->value, "deploy") != 0;
    }
    return holds && strtod(vtac_prototxt_word(rule, "min_level", "0"), NULL) <= 0.0 &&
           strtod(vtac_prototxt_word(rule, "max_level", "0"), NULL) >= 0.0;
}

static bool is_included(const vtac_prototxt_field *layer)
{
    const vtac_prototxt_field *f = NULL;
    bool any = false;
    bool in = false;
    while ((f = vtac_prototxt_next(layer, f, "include")) != NULL) {
        any = true;
        in = in || rule_holds(f);
    }
    bool out = false;
    while ((f = vtac_prototxt_next(layer, f, "exclude")) != NULL) {
        out = out || rule_holds(f);
    }
    return any ? in : !out;
}

static bool is_layer(const vtac_prototxt_field *field)
{
    return field->value == NULL &&
           (strcmp(field->name, "layer") == 0 || strcmp(field->name, "layers") == 0) && is_included(field);
}

static void shape_of(vtac_caffe *c, const vtac_prototxt_field *message, vtac_type *type)
{
    *type = (vtac_type){.dtype = VTAC_F32};
    type->rank = vtac_caffe_ints(c, message, "dim", type->dim, VTAC_MAX_RANK);
}

/* `input` at the top of the file, each with an `input_shape` or four `input_dim`. */
static void add_inputs(vtac_caffe *c, const vtac_prototxt_field *root)
{
    int64_t dims[CAFFE_MAX_ENDS];
    const uint32_t dim_count = vtac_caffe_ints(c, root, "input_dim", dims, sizeof dims / sizeof dims[0]);
    const vtac_prototxt_field *shape = NULL;
    const vtac_prototxt_field *input = NULL;
    for (uint32_t i = 0; (input = vtac_prototxt_next(root, input, "input")) != NULL; i++) {
        vtac_type type = {.dtype = VTAC_F32};
        shape = i == 0 || shape != NULL ? vtac_prototxt_next(root, shape, "input_shape") : NULL;
        if (shape != NULL) {
            shape_of(c, shape, &type);
        } else if (4 * (i + 1) <= dim_count) {
            type.rank = 4;
            memcpy(type.dim, dims + 4 * (size_t)i, 4 * sizeof dims[0]);
        }
        if (input->value != NULL) {
            (void)vtac_layered_input(&c->net, input->value, &type);
        }
    }
}

void vtac_caffe_make_input(vtac_caffe *c)
{
    const vtac_prototxt_field *param = vtac_prototxt_message(c->layer, "input_param");
    const vtac_prototxt_field *shape = NULL;
    for (uint32_t i = 0; i < c->out_count; i++) {
        const vtac_prototxt_field *next = vtac_prototxt_next(param, shape, "shape");
        vtac_type type;
        shape = next == NULL ? shape : next; /* one shape may be that of all tops */
        shape_of(c, shape, &type);
        (void)vtac_layered_input(&c->net, c->tops[i], &type);
    }
}

/* The bottoms that are read of a layer, from the first on: those of losses are targets, too. */
static uint32_t bottoms_of(const caffe_kind *kind)
{
    const bool first =
        kind->make == vtac_caffe_make_softmax_loss || kind->make == vtac_caffe_make_sigmoid_loss;
    return kind->make == vtac_caffe_make_nothing ? 0 : first ? 1 : CAFFE_MAX_ENDS;
}

bool vtac_caffe_is_taken(const vtac_caffe *c, const char *name)
{
    for (const vtac_prototxt_field *layer = c->root->first; layer != NULL; layer = layer->next) {
        const caffe_kind *kind = is_layer(layer) ? kind_of(layer) : NULL;
        const vtac_prototxt_field *f = NULL;
        for (uint32_t left = kind == NULL ? 0 : bottoms_of(kind); left > 0; left--) {
            f = vtac_prototxt_next(layer, f, "bottom");
            if (f == NULL) {
                break;
            }
            if (f->value != NULL && strcmp(f->value, name) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Bottoms and tops of the layer. */
static void read_ends(vtac_caffe *c, const caffe_kind *kind)
{
    const vtac_prototxt_field *f = NULL;
    c->in_count = c->out_count = 0;
    const uint32_t room = bottoms_of(kind);
    while ((f = vtac_prototxt_next(c->layer, f, "bottom")) != NULL && c->in_count < room) {
        c->in[c->in_count++] = vtac_layered_get(&c->net, f->value == NULL ? "" : f->value);
    }
    const bool more = f != NULL && room == CAFFE_MAX_ENDS;
    f = NULL;
    while ((f = vtac_prototxt_next(c->layer, f, "top")) != NULL && c->out_count < CAFFE_MAX_ENDS) {
        c->tops[c->out_count++] = f->value == NULL ? "" : f->value;
    }
    if (more || f != NULL || c->in_count < kind->min || c->in_count > kind->max) {
        vtac_make_fail(&c->net.maker, VTA_INVALID, "%u bottoms, expected %u to %u, and at most %d tops",
                       c->in_count, kind->min, kind->max, CAFFE_MAX_ENDS);
    }
}

static vta_status import_layer(vtac_caffe *c, const vtac_prototxt_field *layer, uint32_t number)
{
    vtac_import_builder *m = &c->net.maker;
    const caffe_kind *kind = kind_of(layer);
    const char *name = vtac_prototxt_word(layer, "name", "");
    if (kind->make == vtac_caffe_make_nothing) {
        return VTA_OK;
    }
    c->layer = layer;
    c->own = stored_of(c, name);
    c->own_count = count_blobs(c);
    vtac_layered_at(&c->net, name, number);
    read_ends(c, kind);
    check_fields(c);
    if (m->status == VTA_OK) {
        kind->make(c);
    }
    return m->status == VTA_OK
               ? VTA_OK
               : vta_context(m->diag, "layer '%.80s' (%s), line %u", name, kind->name, layer->line);
}

static vta_status check_kinds(vtac_caffe *c, const vtac_prototxt_field *root)
{
    uint32_t count = 0;
    for (const vtac_prototxt_field *f = root->first; f != NULL; f = f->next) {
        if (!is_layer(f)) {
            continue;
        }
        if (vtac_prototxt_message(f, "layer") != NULL) {
            return vta_fail(
                c->net.maker.diag, VTA_UNSUPPORTED,
                "line %u: layers of Caffe's version 0; make them new by its upgrade_net_proto_text", f->line);
        }
        if (kind_of(f) == NULL) {
            vtac_layered_miss(&c->net, vtac_prototxt_word(f, "type", "a layer without a type"));
        }
        count++;
    }
    if (count > CAFFE_MAX_LAYERS) {
        return vta_fail(c->net.maker.diag, VTA_RANGE, "it has more than %d layers", CAFFE_MAX_LAYERS);
    }
    return vtac_layered_missing(&c->net, "layers");
}

/* A network without another output gives what its layers of Silence take. */
static void show_silenced(vtac_caffe *c)
{
    vtac_layered *l = &c->net;
    for (uint32_t i = 0; i < l->count; i++) {
        if (l->values[i].may_end && !l->values[i].used) {
            return;
        }
    }
    for (const vtac_prototxt_field *layer = c->root->first; layer != NULL; layer = layer->next) {
        const caffe_kind *kind = is_layer(layer) ? kind_of(layer) : NULL;
        const vtac_prototxt_field *f = NULL;
        if (kind == NULL || kind->make != vtac_caffe_make_silence) {
            continue;
        }
        while ((f = vtac_prototxt_next(layer, f, "bottom")) != NULL) {
            for (uint32_t i = 0; f->value != NULL && i < l->count; i++) {
                const bool here = strcmp(l->values[i].name, f->value) == 0;
                l->values[i].used = l->values[i].used && !here;
            }
        }
    }
}

static vta_status import_net(vtac_caffe *c, const vtac_prototxt_field *root)
{
    uint32_t number = 0;
    c->root = root;
    VTA_TRY(check_kinds(c, root));
    add_inputs(c, root);
    VTA_TRY(c->net.maker.status);
    for (const vtac_prototxt_field *f = root->first; f != NULL; f = f->next) {
        if (is_layer(f)) {
            VTA_TRY(import_layer(c, f, number++));
        }
    }
    show_silenced(c);
    vtac_layered_ends(&c->net);
    return c->net.maker.status;
}

vta_status vtac_caffe_parse(const vtac_model_file *file, const uint8_t *weights, size_t size,
                            const vtac_import_options *options, vtac_graph **out, vta_diag *diag)
{
    vtac_caffe c = {.stored_count = 0};
    vtac_prototxt_field root;
    VTA_TRY(vtac_layered_begin(&c.net, "caffe", options, diag));
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vtac_prototxt_parse(file, &c.net.maker.graph->arena, &root, diag));
    VTA_TRY_OUT(list_stored(&c, (vtac_wire){weights, weights + size}));
    VTA_TRY_OUT(import_net(&c, &root));
out:
    return vtac_layered_end(&c.net, status, file->path, out);
}

vta_status vtac_load_caffe(const vtac_model_file *file, const vtac_import_options *options, vtac_graph **out,
                           vta_diag *diag)
{
    static const vtac_file_pair weights_of = {false,         "its weights", ".prototxt",
                                              ".caffemodel", "_iter_",      true};
    return vtac_load_pair(file, &weights_of, vtac_caffe_parse, options, out, diag);
}

vta_status vtac_load_caffemodel(const vtac_model_file *file, const vtac_import_options *options,
                                vtac_graph **out, vta_diag *diag)
{
    static const vtac_file_pair net_of = {true, "its network", ".caffemodel", ".prototxt", "_iter_", true};
    return vtac_load_pair(file, &net_of, vtac_caffe_parse, options, out, diag);
}
