/* SPDX-License-Identifier: Apache-2.0
 *
 * See script.h: statements, functions, and the inputs of the program as a whole.
 */
#include <stdio.h>
#include <string.h>

#include "script.h"
#include "vta/fail.h"

static void run_block(vtac_torch *im, torch_frame *f, size_t indent);

/* ---- statements */

/* A condition or a length, which must be known. */
static bool read_condition(vtac_torch *im, torch_frame *f)
{
    vtac_torch_value v = vtac_script_read_expression(im, f);
    if (im->maker.status == VTA_OK && v.kind == TORCH_TENSOR && !vtac_torch_item(im, v, &v)) {
        vtac_script_refuse_code(
            im, &f->c,
            "an 'if' or a loop depends on what the run computes; that is not taken: export the model "
            "as .onnx, which has both");
        return false;
    }
    if (im->maker.status == VTA_OK && !vtac_torch_is_number(&v)) {
        vtac_script_refuse_code(im, &f->c, "a condition that is a %s", vtac_torch_kind_name(v.kind));
        return false;
    }
    return im->maker.status == VTA_OK && vtac_torch_number(&v) != 0.0;
}

static void skip_block(vtac_torch *im, torch_cursor *c, size_t indent)
{
    uint32_t lines = 0;
    for (size_t own = vtac_script_line_indent(c); own != SIZE_MAX && own > indent;
         own = vtac_script_line_indent(c)) {
        vtac_script_skip_line(c);
        lines++;
    }
    im->steps += lines / TORCH_COSTLY;
}

static void run_if(vtac_torch *im, torch_frame *f, size_t indent)
{
    const bool yes = read_condition(im, f);
    vtac_script_expect_byte(im, &f->c, ':');
    vtac_script_skip_line(&f->c);
    if (yes) {
        run_block(im, f, indent + 1);
    } else {
        skip_block(im, &f->c, indent);
    }
    if (f->returned || im->maker.status != VTA_OK || vtac_script_line_indent(&f->c) != indent) {
        return;
    }
    torch_cursor ahead = f->c;
    if (vtac_script_take_word(&ahead, "else") && vtac_script_take_byte(&ahead, ':')) {
        f->c = ahead;
        vtac_script_skip_line(&f->c);
        if (yes) {
            skip_block(im, &f->c, indent);
        } else {
            run_block(im, f, indent + 1);
        }
    }
}

/* for NAME in range(N): */
static void run_for(vtac_torch *im, torch_frame *f, size_t indent)
{
    const char *name = vtac_script_read_word(im, &f->c);
    vtac_torch_value n = vtac_torch_none;
    if (vtac_script_take_word(&f->c, "in") && vtac_script_take_word(&f->c, "range")) {
        n = vtac_script_read_expression(im, f);
    }
    if (n.kind == TORCH_TENSOR) {
        (void)vtac_torch_item(im, n, &n);
    }
    if (n.kind != TORCH_INT) {
        vtac_script_refuse_code(im, &f->c, "a loop whose length is not known");
    }
    vtac_script_expect_byte(im, &f->c, ':');
    vtac_script_skip_line(&f->c);
    const torch_cursor body = f->c;
    for (int64_t i = 0; i < n.i && im->maker.status == VTA_OK && !f->returned; i++) {
        f->c = body;
        (void)vtac_script_count_step(im, &f->c);
        vtac_script_set_variable(im, f, name, vtac_torch_integer(i));
        run_block(im, f, indent + 1);
    }
    if (im->maker.status == VTA_OK && !f->returned) {
        f->c = body;
        skip_block(im, &f->c, indent);
    }
}

static void run_while(vtac_torch *im, torch_frame *f, size_t indent)
{
    const torch_cursor head = f->c;
    while (read_condition(im, f) && !f->returned) {
        vtac_script_expect_byte(im, &f->c, ':');
        vtac_script_skip_line(&f->c);
        run_block(im, f, indent + 1);
        if (im->maker.status != VTA_OK || f->returned || !vtac_script_count_step(im, &f->c)) {
            return;
        }
        f->c = head;
    }
    vtac_script_skip_line(&f->c);
    skip_block(im, &f->c, indent);
}

/* The words before '=', with commas; `count` 0: the statement assigns nothing. */
static uint32_t read_targets(vtac_torch *im, torch_cursor *c, const char **names, uint32_t max)
{
    torch_cursor ahead = *c;
    uint32_t count = 0;
    do {
        vtac_script_skip_blanks(&ahead);
        if (ahead.at < ahead.end && *ahead.at == '=') {
            break; /* a comma stood behind the last name */
        }
        names[count] = vtac_script_read_word(im, &ahead);
        if (names[count][0] == '\0') {
            return 0;
        }
        count++;
    } while (count < max && vtac_script_take_byte(&ahead, ','));
    if (vtac_script_take_byte(&ahead, ':')) {
        vtac_script_skip_type(&ahead);
    }
    if (ahead.at + 1 >= ahead.end || !vtac_script_is_at(&ahead, '=') || ahead.at[1] == '=') {
        return 0;
    }
    ahead.at++;
    *c = ahead;
    return count;
}

/* An expression, or several with commas between them: a tuple. */
static vtac_torch_value read_values(vtac_torch *im, torch_frame *f)
{
    const vtac_torch_value first = vtac_script_read_expression(im, f);
    if (im->maker.status != VTA_OK || !vtac_script_is_at(&f->c, ',')) {
        return first;
    }
    const vtac_torch_value out = vtac_torch_list_value(im, TORCH_TUPLE, &first, 1);
    while (vtac_script_take_byte(&f->c, ',') && !vtac_script_is_at(&f->c, '\n') &&
           vtac_script_count_step(im, &f->c)) {
        vtac_torch_append(im, out.list, vtac_script_read_expression(im, f));
    }
    return out;
}

static void assign_values(vtac_torch *im, torch_frame *f, const char *const *names, uint32_t count,
                          bool several)
{
    const vtac_torch_value v = read_values(im, f);
    if (im->maker.status != VTA_OK) {
        return;
    }
    if (!several) {
        vtac_script_set_variable(im, f, names[0], v);
        return;
    }
    const bool is_list = v.kind == TORCH_TUPLE || v.kind == TORCH_LIST;
    if (!is_list || v.list->count != count) {
        vtac_script_refuse_code(im, &f->c, "%u names for a %s of %u", count, vtac_torch_kind_name(v.kind),
                                is_list ? v.list->count : 1);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        vtac_script_set_variable(im, f, names[i], v.list->items[i]);
    }
}

/* self.NAME = …; false: it is no such statement. */
static bool assign_attribute(vtac_torch *im, torch_frame *f)
{
    torch_cursor ahead = f->c;
    const char *object = vtac_script_read_word(im, &ahead);
    const vtac_torch_value *v = vtac_script_find_variable(im, f, object);
    if (v == NULL || v->kind != TORCH_OBJECT || !vtac_script_take_byte(&ahead, '.')) {
        return false;
    }
    vtac_torch_object *to = v->object;
    const char *name = vtac_script_read_word(im, &ahead);
    if (name[0] == '\0' || !vtac_script_is_at(&ahead, '=') ||
        (ahead.at + 1 < ahead.end && ahead.at[1] == '=')) {
        return false;
    }
    f->c = ahead;
    f->c.at++;
    vtac_script_set_attribute(im, to, name, vtac_script_read_expression(im, f));
    return true;
}

enum { MAX_TARGETS = 256 };

static void run_plain(vtac_torch *im, torch_frame *f)
{
    const char *names[MAX_TARGETS];
    const char *start = f->c.at;
    const uint32_t count = read_targets(im, &f->c, names, MAX_TARGETS);
    if (count > 0) {
        const bool several = memchr(start, ',', (size_t)(f->c.at - start)) != NULL &&
                             (count > 1 || memchr(start, ':', (size_t)(f->c.at - start)) == NULL);
        assign_values(im, f, names, count, several);
    } else if (!assign_attribute(im, f)) {
        (void)vtac_script_read_expression(im, f);
    }
    vtac_script_skip_blanks(&f->c);
    if (im->maker.status == VTA_OK && f->c.at < f->c.end && *f->c.at != '\n' && *f->c.at != '\r') {
        vtac_script_refuse_code(im, &f->c, "'%.*s' is not taken",
                                (int)(f->c.end - f->c.at < 20 ? f->c.end - f->c.at : 20), f->c.at);
    }
    vtac_script_skip_line(&f->c);
}

/* Says once where a failure lies. */
static void place_failure(vtac_torch *im, const torch_cursor *c, const char *at)
{
    unsigned line = 1;
    if (im->maker.status == VTA_OK || im->script->placed || im->again) {
        return;
    }
    for (const char *b = c->begin; b < at; b++) {
        line += *b == '\n';
    }
    im->script->placed = true;
    (void)vta_context(im->maker.diag, "'%.200s', line %u", c->file, line);
}

static void run_statement(vtac_torch *im, torch_frame *f, size_t indent)
{
    if (vtac_script_take_word(&f->c, "return")) {
        vtac_script_skip_blanks(&f->c);
        f->result = f->c.at < f->c.end && *f->c.at != '\n' ? read_values(im, f) : vtac_torch_none;
        f->returned = true;
    } else if (vtac_script_take_word(&f->c, "if")) {
        run_if(im, f, indent);
    } else if (vtac_script_take_word(&f->c, "for")) {
        run_for(im, f, indent);
    } else if (vtac_script_take_word(&f->c, "while")) {
        run_while(im, f, indent);
    } else if (vtac_script_take_word(&f->c, "pass")) {
        vtac_script_skip_line(&f->c);
    } else {
        run_plain(im, f);
    }
}

/* The lines that are at least so deep. */
static void run_block(vtac_torch *im, torch_frame *f, size_t indent)
{
    im->depth++;
    while (!f->returned && vtac_script_count_step(im, &f->c)) {
        const size_t own = vtac_script_line_indent(&f->c);
        if (own == SIZE_MAX || own < indent) {
            break;
        }
        const char *start = f->c.at += own;
        run_statement(im, f, own);
        place_failure(im, &f->c, start);
    }
    im->depth--;
}

/* ---- functions */

/* Parameters behind '(': names, and the values of those that are not given. */
static void bind_parameters(vtac_torch *im, torch_frame *f, const vtac_torch_value *args, uint32_t count,
                            const vtac_torch_named *named, uint32_t named_count)
{
    uint32_t i = 0;
    vtac_script_expect_byte(im, &f->c, '(');
    f->c.nest = 1;
    while (!vtac_script_is_at(&f->c, ')') && vtac_script_count_step(im, &f->c)) {
        const char *name = vtac_script_read_word(im, &f->c);
        vtac_torch_value value = vtac_torch_none;
        bool given = i < count;
        vtac_script_skip_type(&f->c);
        if (vtac_script_take_byte(&f->c, '=')) {
            value = vtac_script_read_expression(im, f);
            given = true;
        }
        value = i < count ? args[i] : value;
        for (uint32_t k = 0; k < named_count; k++) {
            const bool own = strcmp(named[k].name, name) == 0;
            value = own ? named[k].value : value;
            given = given || own;
        }
        if (!given) {
            vtac_script_refuse_code(im, &f->c, "the argument '%.60s' is not given", name);
        }
        vtac_script_set_variable(im, f, name, value);
        i++;
        (void)vtac_script_take_byte(&f->c, ',');
    }
    f->c.nest = 0;
}

vtac_torch_value vtac_script_call_function(vtac_torch *im, const torch_cursor *def,
                                           const vtac_torch_value *args, uint32_t count,
                                           const vtac_torch_named *named, uint32_t named_count)
{
    torch_frame *f = vtac_make_room(&im->maker, 1, sizeof *f);
    if (f == NULL) {
        return vtac_torch_none;
    }
    im->depth += 4;
    f->c = *def;
    bind_parameters(im, f, args, count, named, named_count);
    vtac_script_skip_line(&f->c);
    const size_t indent = vtac_script_line_indent(&f->c);
    if (indent != SIZE_MAX && indent > 0) {
        run_block(im, f, indent);
    }
    im->depth -= 4;
    return f->result;
}

/* ---- the program */

typedef struct torch_ends {
    vtac_torch_value args[TORCH_MAX_INPUTS];
    vtac_torch_named named[TORCH_MAX_INPUTS];
    uint32_t count;
    char missing[300];
    const char *first; /* of those */
} torch_ends;

/* An input for a parameter that is a tensor. What has a value of its own needs none. */
static void read_parameter(vtac_torch *im, torch_frame *f, torch_ends *ends)
{
    const char *name = vtac_script_read_word(im, &f->c);
    (void)vtac_script_take_byte(&f->c, ':');
    vtac_script_skip_blanks(&f->c);
    const char *type = f->c.at;
    vtac_script_skip_type(&f->c);
    const size_t length = (size_t)(f->c.at - type);
    const bool tensor = length == 6 && memcmp(type, "Tensor", 6) == 0;
    const bool maybe = length == 16 && memcmp(type, "Optional[Tensor]", 16) == 0;
    bool own = false;
    if (vtac_script_take_byte(&f->c, '=')) {
        (void)vtac_script_read_expression(im, f);
        own = true;
    }
    vtac_torch_named *n = &ends->named[ends->count];
    if ((tensor || maybe) && vtac_import_shape(im->options, name) != NULL) {
        *n = (vtac_torch_named){name, vtac_torch_input(im, name, NULL)};
        ends->count++;
    } else if (maybe && !own) {
        *n = (vtac_torch_named){name, vtac_torch_none};
        ends->count++;
    } else if (tensor) {
        const size_t used = strlen(ends->missing);
        ends->first = used == 0 ? name : ends->first;
        (void)snprintf(ends->missing + used, sizeof ends->missing - used, "%s'%.60s'", used == 0 ? "" : ", ",
                       name);
    } else if (!own) {
        vtac_make_fail(&im->maker, VTA_UNSUPPORTED,
                       "input '%.60s' is of type %.*s; tensors are taken: trace the model, or give the "
                       "argument a default",
                       name, (int)(length < 60 ? length : 60), type);
    }
}

/* One input for each parameter behind the first, which is the object. */
static void read_parameters(vtac_torch *im, const torch_cursor *def, torch_ends *ends)
{
    torch_frame f = {.c = *def};
    vtac_script_expect_byte(im, &f.c, '(');
    f.c.nest = 1;
    for (uint32_t i = 0; !vtac_script_is_at(&f.c, ')') && vtac_script_count_step(im, &f.c); i++) {
        if (i == 0) {
            (void)vtac_script_read_word(im, &f.c);
            vtac_script_skip_type(&f.c);
        } else if (ends->count < TORCH_MAX_INPUTS - 1) {
            read_parameter(im, &f, ends);
        } else {
            vtac_script_refuse_code(im, &f.c, "more than %d inputs", TORCH_MAX_INPUTS - 2);
        }
        (void)vtac_script_take_byte(&f.c, ',');
    }
    if (im->maker.status == VTA_OK && ends->missing[0] != '\0') {
        vtac_make_fail(&im->maker, VTA_INVALID,
                       "a TorchScript holds no shapes of its inputs: give one for %s, as in --shape "
                       "%.60s=1x3x224x224",
                       ends->missing, ends->first);
    }
}

/* The operator that is called at a place of code: "torch.NAME(" or "ops.SPACE.NAME(". False: none. */
static bool operator_at(const torch_cursor *c, char *name, size_t size)
{
    torch_cursor ahead = *c;
    const bool begins = c->at == c->begin || (!vtac_script_is_word_byte(c->at[-1]) && c->at[-1] != '.');
    if (!begins || (!vtac_script_take_word(&ahead, "torch") && !vtac_script_take_word(&ahead, "ops")) ||
        ahead.at == ahead.end || *ahead.at != '.') {
        return false;
    }
    while (ahead.at < ahead.end && (vtac_script_is_word_byte(*ahead.at) || *ahead.at == '.')) {
        ahead.at++;
    }
    (void)snprintf(name, size, "%.*s", (int)(ahead.at - c->at < 90 ? ahead.at - c->at : 90), c->at);
    return ahead.at < ahead.end && *ahead.at == '(';
}

static bool names_item(const char *list, const char *name)
{
    const size_t length = strlen(name);
    if (length == 0) { /* "torch.(" names nothing */
        return true;
    }
    for (const char *at = strstr(list, name); at != NULL; at = strstr(at + 1, name)) {
        if ((at == list || at[-1] == ' ') && (at[length] == ',' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

void vtac_torch_list_unknown(const vtac_torch *im, char *list, size_t size)
{
    char name[100];
    for (uint32_t i = 0; i < im->archive.count; i++) {
        const vtac_zip_member *m = &im->archive.members[i];
        const size_t length = strlen(m->name);
        const char *text = (const char *)m->bytes;
        torch_cursor c = {.at = text, .begin = text, .end = text + m->size};
        for (; length > 3 && strcmp(m->name + length - 3, ".py") == 0 && c.at < c.end; c.at++) {
            if ((*c.at != 't' && *c.at != 'o') || !operator_at(&c, name, sizeof name)) {
                continue;
            }
            const char *plain = vtac_script_plain_name(name);
            const size_t used = strlen(list);
            if (!vtac_torch_is_known(plain) && !names_item(list, plain) && used + strlen(plain) + 3 < size) {
                (void)snprintf(list + used, size - used, "%s%s", used == 0 ? "" : ", ", plain);
            }
        }
    }
}

void vtac_torch_run_script(vtac_torch *im)
{
    struct vtac_torch_script script = {.placed = false};
    torch_cursor def;
    im->script = &script;
    const vtac_torch_value root = vtac_torch_unpickle(im, &im->archive, "data.pkl", "data");
    if (vtac_torch_member(im, &im->archive, "constants.pkl") != NULL) {
        script.constants = vtac_torch_unpickle(im, &im->archive, "constants.pkl", "constants");
    }
    if (im->maker.status != VTA_OK) {
        return;
    }
    if (root.kind != TORCH_OBJECT || !vtac_script_find_code(im, root.object->class, "forward", &def)) {
        vtac_make_fail(&im->maker, VTA_INVALID, "its first object is no module with a method 'forward'");
        return;
    }
    torch_ends *ends = vtac_make_room(&im->maker, 1, sizeof *ends);
    if (ends == NULL) {
        return;
    }
    read_parameters(im, &def, ends);
    if (im->maker.status != VTA_OK) {
        return;
    }
    const vtac_torch_value out = vtac_script_call_function(im, &def, &root, 1, ends->named, ends->count);
    if (im->maker.status == VTA_OK) {
        vtac_torch_output(im, &out, "output");
    }
}
