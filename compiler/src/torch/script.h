/* SPDX-License-Identifier: Apache-2.0
 *
 * TorchScript: the part of Python that PyTorch prints. Code is read and followed at once: calls of operators
 * make nodes, numbers and lists are computed, methods of modules are gone into. Conditions and lengths of
 * loops must be known while that happens. Steps and depth are limited.
 */
#ifndef VTAC_TORCH_SCRIPT_H
#define VTAC_TORCH_SCRIPT_H

#include "torch.h"

typedef struct torch_cursor {
    const char *at, *begin, *end, *file;
    uint32_t nest; /* inside so many brackets, lines may end */
} torch_cursor;

typedef struct torch_frame {
    torch_cursor c;
    vtac_torch_list variables; /* names and values in turn */
    bool returned;
    vtac_torch_value result;
} torch_frame;

struct vtac_torch_script {
    vtac_torch_value constants;
    bool placed; /* the message has the place */
};

enum { TORCH_COSTLY = 512 }; /* so many items of a search, or lines that are passed over, count as a step */

/* ---- words and lines (script_text.c) */

/* Fails, and ends the reading. */
void vtac_script_refuse_code(vtac_torch *im, torch_cursor *c, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static inline bool vtac_script_is_word_byte(char b)
{
    return (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') || (b >= '0' && b <= '9') || b == '_';
}

void vtac_script_skip_blanks(torch_cursor *c);
bool vtac_script_is_at(torch_cursor *c, char b);
bool vtac_script_take_byte(torch_cursor *c, char b);
void vtac_script_expect_byte(vtac_torch *im, torch_cursor *c, char b);

/* True, behind it, where the next word is this one. */
bool vtac_script_take_word(torch_cursor *c, const char *word);

/* The next word, "" where there is none. */
const char *vtac_script_read_word(vtac_torch *im, torch_cursor *c);

/* Moves behind a type: up to ',', '=', ')' or the end of the line outside of its own brackets. */
void vtac_script_skip_type(torch_cursor *c);
void vtac_script_skip_line(torch_cursor *c);

/* Blanks at the beginning of the line that c is at, past empty lines. SIZE_MAX: there is none. */
size_t vtac_script_line_indent(torch_cursor *c);

/* Counts a step of the program; false once it has failed, or takes too many. */
bool vtac_script_count_step(vtac_torch *im, torch_cursor *c);

/* Opens the text of a module's file: __torch__.a.b is code/__torch__/a/b.py. */
bool vtac_script_open_code(vtac_torch *im, const char *module, size_t length, torch_cursor *c);

/* Moves to behind "def NAME" or "class NAME" at this depth, before the next line that is less deep. */
bool vtac_script_find_definition(vtac_torch *im, torch_cursor *c, const char *what, const char *name,
                                 size_t indent);

/* Finds a function, or with `method` a method of a class, by its path. */
bool vtac_script_find_code(vtac_torch *im, const char *path, const char *method, torch_cursor *c);

/* ---- values (script_value.c) */

vtac_torch_value *vtac_script_find_variable(vtac_torch *im, const torch_frame *f, const char *name);
void vtac_script_set_variable(vtac_torch *im, torch_frame *f, const char *name, vtac_torch_value value);
void vtac_script_set_attribute(vtac_torch *im, vtac_torch_object *object, const char *name,
                               vtac_torch_value value);
vtac_torch_value vtac_script_read_expression(vtac_torch *im, torch_frame *f);

/* The operator's own name: "add" of "torch.add" and "ops.aten.add", "quantized.add" of "ops.quantized.add".
 */
const char *vtac_script_plain_name(const char *name);

/* ---- functions (script.c) */

/* Runs the function whose name `def` is behind. */
vtac_torch_value vtac_script_call_function(vtac_torch *im, const torch_cursor *def,
                                           const vtac_torch_value *args, uint32_t count,
                                           const vtac_torch_named *named, uint32_t named_count);

#endif
