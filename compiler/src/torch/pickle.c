/* SPDX-License-Identifier: Apache-2.0
 *
 * Pickles, without Python: a machine with a stack and a memo. A pickle may name the functions that PyTorch
 * writes, which rebuild tensors and lists, and its own classes, which become objects without code. It is
 * refused for any other name, so that nothing of a file is ever run.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "torch.h"

typedef struct torch_pickle {
    vtac_torch *im;
    const vtac_torch_archive *archive;
    const char *what, *folder;
    const uint8_t *at, *begin, *end;
    vtac_torch_list stack, memo;
    bool done;
} torch_pickle;

__attribute__((format(printf, 2, 3))) static void refuse_pickle(torch_pickle *p, const char *fmt, ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    vtac_make_fail(&p->im->maker, VTA_INVALID, "'%s', byte %zu: %s", p->what, (size_t)(p->at - p->begin),
                   text);
    p->at = p->end;
}

static void push_value(torch_pickle *p, vtac_torch_value v)
{
    vtac_torch_append(p->im, &p->stack, v);
}

static vtac_torch_value pop_value(torch_pickle *p)
{
    if (p->stack.count == 0) {
        refuse_pickle(p, "the stack is empty");
        return vtac_torch_none;
    }
    return p->stack.items[--p->stack.count];
}

/* `count` little-endian bytes; 0 behind the end. */
static uint64_t read_number(torch_pickle *p, unsigned count)
{
    uint64_t v = 0;
    if ((size_t)(p->end - p->at) < count) {
        refuse_pickle(p, "it is cut off");
        return 0;
    }
    for (unsigned i = 0; i < count; i++) {
        v |= (uint64_t)p->at[i] << (8 * i);
    }
    p->at += count;
    return v;
}

static const char *read_text(torch_pickle *p, uint64_t length)
{
    if ((uint64_t)(p->end - p->at) < length) {
        refuse_pickle(p, "a text is cut off");
        return "";
    }
    const char *text = vta_arena_string(&p->im->maker.graph->arena, (const char *)p->at, (size_t)length);
    p->at += length;
    if (text == NULL) {
        vtac_make_fail(&p->im->maker, VTA_NOMEM, "out of memory");
    }
    return text == NULL ? "" : text;
}

/* Up to the end of the line. */
static const char *read_line(torch_pickle *p)
{
    const uint8_t *end = memchr(p->at, '\n', (size_t)(p->end - p->at));
    const char *text = read_text(p, end == NULL ? (uint64_t)(p->end - p->at) + 1 : (uint64_t)(end - p->at));
    p->at += p->at < p->end;
    return text;
}

/* A whole number of up to 8 bytes, signed. */
static vtac_torch_value read_long(torch_pickle *p)
{
    const uint64_t length = read_number(p, 1);
    if (length > 8) {
        refuse_pickle(p, "an integer of %llu bytes, 8 at most are taken", (unsigned long long)length);
        return vtac_torch_integer(0);
    }
    uint64_t v = read_number(p, (unsigned)length);
    if (length > 0 && length < 8 && (v >> (8 * length - 1) & 1) != 0) {
        v |= ~(uint64_t)0 << (8 * length);
    }
    return vtac_torch_integer((int64_t)v);
}

static vtac_torch_value read_double(torch_pickle *p)
{
    uint64_t bits = 0;
    double f;
    for (unsigned i = 0; i < 8; i++) {
        bits = bits << 8 | read_number(p, 1);
    }
    memcpy(&f, &bits, sizeof f);
    return vtac_torch_real(f);
}

/* ---- parts of the stack */

/* Takes what lies behind the last mark, and the mark. */
static vtac_torch_value pop_marked(torch_pickle *p, vtac_torch_kind kind)
{
    uint32_t at = p->stack.count;
    while (at > 0 && p->stack.items[at - 1].kind != TORCH_MARK) {
        at--;
    }
    if (at == 0) {
        refuse_pickle(p, "there is no mark on the stack");
        return vtac_torch_none;
    }
    const vtac_torch_value list =
        vtac_torch_list_value(p->im, kind, p->stack.items + at, p->stack.count - at);
    p->stack.count = at - 1;
    return list;
}

static vtac_torch_value pop_tuple(torch_pickle *p, uint32_t count)
{
    if (p->stack.count < count) {
        refuse_pickle(p, "the stack is empty");
        return vtac_torch_none;
    }
    p->stack.count -= count;
    return vtac_torch_list_value(p->im, TORCH_TUPLE, p->stack.items + p->stack.count, count);
}

static void store_memo(torch_pickle *p, uint64_t place)
{
    if (place > (uint64_t)(p->end - p->begin) || p->stack.count == 0) {
        refuse_pickle(p, "place %llu of the memo", (unsigned long long)place);
        return;
    }
    while (p->memo.count <= place && p->im->maker.status == VTA_OK) {
        vtac_torch_append(p->im, &p->memo, (vtac_torch_value){TORCH_MARK, {0}});
    }
    if (p->im->maker.status == VTA_OK) {
        p->memo.items[place] = p->stack.items[p->stack.count - 1];
    }
}

static void load_memo(torch_pickle *p, uint64_t place)
{
    if (place >= p->memo.count || p->memo.items[place].kind == TORCH_MARK) {
        refuse_pickle(p, "place %llu of the memo is empty", (unsigned long long)place);
        return;
    }
    push_value(p, p->memo.items[place]);
}

/* Appends what lies behind the mark, or one value, to the list or the dictionary under it. */
static void extend_value(torch_pickle *p, vtac_torch_value more, vtac_torch_kind kind)
{
    const vtac_torch_value *to = p->stack.count == 0 ? NULL : &p->stack.items[p->stack.count - 1];
    const bool pairs = kind == TORCH_DICT;
    if (to == NULL || to->kind != kind || more.kind == TORCH_NONE || (pairs && more.list->count % 2 != 0)) {
        refuse_pickle(p, "items for what is no %s", vtac_torch_kind_name(kind));
        return;
    }
    for (uint32_t i = 0; i < more.list->count; i++) {
        vtac_torch_append(p->im, to->list, more.list->items[i]);
    }
}

/* ---- names, objects, tensors */

static const struct {
    const char *name;
    vtac_dtype dtype;
} types[] = {{"Float", VTAC_F32},
             {"Double", VTAC_F64},
             {"Half", VTAC_F16},
             {"BFloat16", VTAC_BF16},
             {"Long", VTAC_I64},
             {"Int", VTAC_I32},
             {"Short", VTAC_I16},
             {"Char", VTAC_I8},
             {"Byte", VTAC_U8},
             {"Bool", VTAC_BOOL},
             {"QInt8", VTAC_I8},
             {"QUInt8", VTAC_U8},
             {"QInt32", VTAC_I32},
             {"torch.float32", VTAC_F32},
             {"torch.float64", VTAC_F64},
             {"torch.float16", VTAC_F16},
             {"torch.bfloat16", VTAC_BF16},
             {"torch.int64", VTAC_I64},
             {"torch.int32", VTAC_I32},
             {"torch.int16", VTAC_I16},
             {"torch.int8", VTAC_I8},
             {"torch.uint8", VTAC_U8},
             {"torch.bool", VTAC_BOOL}};

/* The type of "torch.FloatStorage", or of "torch.float32". */
static vtac_dtype type_named(const char *name)
{
    char word[64];
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        (void)snprintf(word, sizeof word, "%sStorage", types[i].name);
        if (strcmp(types[i].name, name) == 0 || strcmp(word, dot == NULL ? name : dot + 1) == 0) {
            return types[i].dtype;
        }
    }
    return VTAC_NO_DTYPE;
}

static bool is_integer_list(const vtac_torch_value *v)
{
    const bool is_list = v->kind == TORCH_TUPLE || v->kind == TORCH_LIST;
    for (uint32_t i = 0; is_list && i < v->list->count; i++) {
        if (v->list->items[i].kind != TORCH_INT) {
            return false;
        }
    }
    return is_list && v->list->count <= VTAC_MAX_RANK;
}

/* ('storage', type, key, location, number of elements) */
static void push_storage(torch_pickle *p)
{
    const vtac_torch_value id = pop_value(p);
    char name[300];
    vtac_torch_storage *storage = vta_arena_alloc(&p->im->maker.graph->arena, sizeof *storage);
    if (id.kind != TORCH_TUPLE || id.list->count < 5 || id.list->items[1].kind != TORCH_NAME ||
        id.list->items[2].kind != TORCH_TEXT || storage == NULL) {
        refuse_pickle(p, "a reference that is no storage of a tensor");
        return;
    }
    const char *class = id.list->items[1].s;
    (void)snprintf(name, sizeof name, "%.100s/%.100s", p->folder, id.list->items[2].s);
    const vtac_zip_member *member = vtac_torch_member(p->im, p->archive, name);
    storage->dtype = type_named(class);
    if (member == NULL || (storage->dtype == VTAC_NO_DTYPE && strstr(class, "UntypedStorage") == NULL)) {
        refuse_pickle(p, "'%.100s' of the archive, of type %.80s, %s", name, class,
                      member == NULL ? "is missing" : "is not taken");
        return;
    }
    storage->bytes = member->bytes;
    storage->size = member->size;
    storage->swapped = p->archive->swapped;
    push_value(p, (vtac_torch_value){.kind = TORCH_STORAGE, .storage = storage});
}

/* (storage, offset, size, stride, ...), and the type for bytes without one */
static vtac_torch_value rebuild_tensor(torch_pickle *p, const vtac_torch_list *args, vtac_dtype dtype)
{
    const vtac_torch_value *a = args->items;
    if (args->count < 4 || a[0].kind != TORCH_STORAGE || a[1].kind != TORCH_INT || !is_integer_list(&a[2]) ||
        !is_integer_list(&a[3]) || a[2].list->count != a[3].list->count) {
        refuse_pickle(p, "a tensor without storage, size or strides, or of more than %d axes", VTAC_MAX_RANK);
        return vtac_torch_none;
    }
    vtac_type type = {.dtype = dtype == VTAC_NO_DTYPE ? a[0].storage->dtype : dtype,
                      .rank = a[2].list->count};
    int64_t stride[VTAC_MAX_RANK] = {0};
    for (uint32_t i = 0; i < type.rank; i++) {
        type.dim[i] = a[2].list->items[i].i;
        stride[i] = a[3].list->items[i].i;
    }
    return vtac_torch_stored(p->im, a[0].storage, a[1].i, &type, stride);
}

/* (storage, offset, size, stride, (scheme, scale, zero point) or (scheme, scales, zero points, axis), ...) */
static vtac_torch_value rebuild_quantized(torch_pickle *p, const vtac_torch_list *args)
{
    const vtac_torch_value out = rebuild_tensor(p, args, VTAC_NO_DTYPE);
    const vtac_torch_list *how =
        args->count > 4 && args->items[4].kind == TORCH_TUPLE ? args->items[4].list : NULL;
    if (out.kind != TORCH_TENSOR || how == NULL || how->count < 3) {
        refuse_pickle(p, "a quantized tensor without its scale");
        return out;
    }
    out.tensor->quantized = true;
    const vtac_torch_value *scale = &how->items[1];
    const vtac_torch_value *zero = &how->items[2];
    if (scale->kind == TORCH_FLOAT && zero->kind == TORCH_INT) {
        out.tensor->scale = scale->f;
        out.tensor->zero = zero->i;
    } else if (scale->kind == TORCH_TENSOR && zero->kind == TORCH_TENSOR && how->count > 3 &&
               how->items[3].kind == TORCH_INT) {
        out.tensor->scales = vtac_make_cast(&p->im->maker, vtac_torch_id(p->im, scale->tensor), VTAC_F32);
        out.tensor->zeros =
            vtac_make_cast(&p->im->maker, vtac_torch_id(p->im, zero->tensor), out.tensor->type.dtype);
        out.tensor->axis = how->items[3].i;
    } else {
        refuse_pickle(p, "a quantized tensor whose scale is no number and no tensor");
    }
    return out;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text);
    return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

/* The functions that PyTorch's own pickles call. */
static void push_call(torch_pickle *p)
{
    const vtac_torch_value args = pop_value(p);
    const vtac_torch_value f = pop_value(p);
    vtac_torch_value out = vtac_torch_none;
    const char *name = f.kind == TORCH_NAME ? f.s : "a value";
    const uint32_t count = args.kind == TORCH_TUPLE ? args.list->count : 0;
    if (args.kind != TORCH_TUPLE) {
        refuse_pickle(p, "a call without arguments");
    } else if (strcmp(name, "torch._utils._rebuild_tensor_v2") == 0 ||
               strcmp(name, "torch._utils._rebuild_tensor") == 0) {
        out = rebuild_tensor(p, args.list, VTAC_NO_DTYPE);
    } else if (strcmp(name, "torch._utils._rebuild_tensor_v3") == 0 && count > 6 &&
               args.list->items[6].kind == TORCH_NAME) {
        out = rebuild_tensor(p, args.list, type_named(args.list->items[6].s));
    } else if (strcmp(name, "torch._utils._rebuild_qtensor") == 0) {
        out = rebuild_quantized(p, args.list);
    } else if (strcmp(name, "collections.OrderedDict") == 0) {
        out = vtac_torch_list_value(p->im, TORCH_DICT, NULL, 0);
    } else if (count > 0 &&
               (strncmp(name, "torch._utils._rebuild_parameter", 31) == 0 ||
                strncmp(name, "torch.jit._pickle.", 18) == 0 || strcmp(name, "torch.device") == 0 ||
                ends_with(name, ".Size") || ends_with(name, "._get_layout"))) {
        out = args.list->items[0];
    } else {
        refuse_pickle(p,
                      "it calls '%.100s', which is none of the functions that PyTorch writes; nothing of a "
                      "file is run",
                      name);
    }
    push_value(p, out);
}

static void push_object(torch_pickle *p)
{
    const vtac_torch_value args = pop_value(p);
    const vtac_torch_value class = pop_value(p);
    vtac_torch_object *object = vta_arena_alloc(&p->im->maker.graph->arena, sizeof *object);
    const bool ours = class.kind == TORCH_NAME && strncmp(class.s, "__torch__.", 10) == 0;
    if (!ours || args.kind != TORCH_TUPLE || args.list->count > 0 || object == NULL) {
        refuse_pickle(p, "an object of class '%.100s', which is none of the file's own",
                      class.kind == TORCH_NAME ? class.s : "?");
        return;
    }
    object->class = class.s;
    object->attrs = vtac_torch_list_value(p->im, TORCH_LIST, NULL, 0).list;
    push_value(p, (vtac_torch_value){.kind = TORCH_OBJECT, .object = object});
}

/* Gives an object its state; what PyTorch keeps beside a dictionary of tensors has no meaning here. */
static void set_state(torch_pickle *p)
{
    const vtac_torch_value state = pop_value(p);
    const vtac_torch_value *to = p->stack.count == 0 ? NULL : &p->stack.items[p->stack.count - 1];
    if (to == NULL || (to->kind != TORCH_OBJECT && to->kind != TORCH_DICT && to->kind != TORCH_TENSOR)) {
        refuse_pickle(p, "a state for what is no object");
    } else if (to->kind == TORCH_OBJECT && state.kind == TORCH_DICT) {
        to->object->attrs = state.list;
    } else if (to->kind == TORCH_OBJECT) {
        to->object->state = state;
    }
}

static void push_name(torch_pickle *p, const char *module, const char *name)
{
    char text[600];
    (void)snprintf(text, sizeof text, "%.300s.%.200s", module, name);
    vtac_torch_value v = vtac_torch_string(vta_arena_string(&p->im->maker.graph->arena, text, strlen(text)));
    v.kind = TORCH_NAME;
    v.s = v.s == NULL ? "" : v.s;
    push_value(p, v);
}

/* ---- instructions */

static bool run_plain(torch_pickle *p, unsigned code)
{
    switch (code) {
    case 0x80: (void)read_number(p, 1); break; /* the protocol */
    case 0x95: (void)read_number(p, 8); break; /* a frame's length */
    case '.': p->done = true; break;
    case '(': push_value(p, (vtac_torch_value){TORCH_MARK, {0}}); break;
    case 'N': push_value(p, vtac_torch_none); break;
    case 0x88: push_value(p, vtac_torch_bool(true)); break;
    case 0x89: push_value(p, vtac_torch_bool(false)); break;
    case 'K': push_value(p, vtac_torch_integer((int64_t)read_number(p, 1))); break;
    case 'M': push_value(p, vtac_torch_integer((int64_t)read_number(p, 2))); break;
    case 'J': push_value(p, vtac_torch_integer((int32_t)read_number(p, 4))); break;
    case 0x8a: push_value(p, read_long(p)); break;
    case 'G': push_value(p, read_double(p)); break;
    case 'X': push_value(p, vtac_torch_string(read_text(p, read_number(p, 4)))); break;
    case 0x8c: push_value(p, vtac_torch_string(read_text(p, read_number(p, 1)))); break;
    default: return false;
    }
    return true;
}

static bool run_memo(torch_pickle *p, unsigned code)
{
    switch (code) {
    case 'q': store_memo(p, read_number(p, 1)); break;
    case 'r': store_memo(p, read_number(p, 4)); break;
    case 0x94: store_memo(p, p->memo.count); break;
    case 'h': load_memo(p, read_number(p, 1)); break;
    case 'j': load_memo(p, read_number(p, 4)); break;
    case '0': (void)pop_value(p); break;
    default: return false;
    }
    return true;
}

static bool run_list(torch_pickle *p, unsigned code)
{
    switch (code) {
    case ')': push_value(p, pop_tuple(p, 0)); break;
    case 0x85: push_value(p, pop_tuple(p, 1)); break;
    case 0x86: push_value(p, pop_tuple(p, 2)); break;
    case 0x87: push_value(p, pop_tuple(p, 3)); break;
    case 't': push_value(p, pop_marked(p, TORCH_TUPLE)); break;
    case ']': push_value(p, vtac_torch_list_value(p->im, TORCH_LIST, NULL, 0)); break;
    case '}': push_value(p, vtac_torch_list_value(p->im, TORCH_DICT, NULL, 0)); break;
    case 'l': push_value(p, pop_marked(p, TORCH_LIST)); break;
    case 'a': extend_value(p, pop_tuple(p, 1), TORCH_LIST); break;
    case 'e': extend_value(p, pop_marked(p, TORCH_LIST), TORCH_LIST); break;
    case 's': extend_value(p, pop_tuple(p, 2), TORCH_DICT); break;
    case 'u': extend_value(p, pop_marked(p, TORCH_LIST), TORCH_DICT); break;
    default: return false;
    }
    return true;
}

static bool run_object(torch_pickle *p, unsigned code)
{
    if (code == 'c') {
        const char *module = read_line(p);
        push_name(p, module, read_line(p));
    } else if (code == 0x93) {
        const vtac_torch_value name = pop_value(p);
        const vtac_torch_value module = pop_value(p);
        const bool texts = name.kind == TORCH_TEXT && module.kind == TORCH_TEXT;
        push_name(p, texts ? module.s : "?", texts ? name.s : "?");
    } else if (code == 'R') {
        push_call(p);
    } else if (code == 0x81) {
        push_object(p);
    } else if (code == 'b') {
        set_state(p);
    } else if (code == 'Q') {
        push_storage(p);
    } else {
        return false;
    }
    return true;
}

vtac_torch_value vtac_torch_unpickle(vtac_torch *im, const vtac_torch_archive *archive, const char *name,
                                     const char *folder)
{
    const vtac_zip_member *member = vtac_torch_member(im, archive, name);
    if (im->maker.status != VTA_OK || member == NULL) {
        vtac_make_fail(&im->maker, VTA_INVALID, "'%s' is missing from the archive", name);
        return vtac_torch_none;
    }
    torch_pickle p = {.im = im,
                      .archive = archive,
                      .what = name,
                      .folder = folder,
                      .begin = member->bytes,
                      .at = member->bytes,
                      .end = member->bytes + member->size};
    while (!p.done && p.at < p.end && im->maker.status == VTA_OK) {
        const unsigned code = *p.at++;
        if (!run_plain(&p, code) && !run_memo(&p, code) && !run_list(&p, code) && !run_object(&p, code)) {
            refuse_pickle(&p, "instruction 0x%02x is none that PyTorch writes", code);
        }
    }
    if (!p.done) {
        refuse_pickle(&p, "it ends before its value");
    }
    return pop_value(&p);
}
