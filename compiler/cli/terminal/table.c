/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables and sentences that fit a terminal. See table.h.
 */
#include "table.h"

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "columns.h"
#include "format.h"
#include "ground.h"

enum { GAP = 2, MIN_NAME = 16, MIN_SENTENCE = 24, MAX_CELL = 400 };

typedef struct table_layout {
    const cli_column *columns;
    uint32_t column_count, rows;
    cli_row_fn *fill;
    const void *context;
    int width[CLI_MAX_COLUMNS]; /* 0: nothing is in it */
    bool heads;
} table_layout;

void cli_cell_print(cli_cell *cell, const char *fmt, ...)
{
    vta_str text = {0};
    va_list args;
    va_start(args, fmt);
    cli_format(&text, fmt, args);
    va_end(args);
    (void)snprintf(cell->own, sizeof cell->own, "%s", text.failed || text.text == NULL ? "" : text.text);
    vta_str_free(&text);
    cell->text = cell->own;
}

static int room_of_terminal(void)
{
    return !cli_here()->guest && isatty(STDOUT_FILENO) ? cli_columns(STDOUT_FILENO) : INT_MAX;
}

/* ---- widths */

static void read_row(const table_layout *t, uint32_t row, cli_cell *cells)
{
    for (uint32_t c = 0; c < t->column_count; c++) {
        cells[c].text = "";
    }
    t->fill(t->context, row, cells);
}

/* Makes each column as wide as its longest text; a column of texts is at least as wide as its head. */
static void measure_columns(table_layout *t)
{
    cli_cell cells[CLI_MAX_COLUMNS];
    for (uint32_t row = 0; row < t->rows; row++) {
        read_row(t, row, cells);
        for (uint32_t c = 0; c < t->column_count; c++) {
            const int length = (int)strlen(cells[c].text);
            t->width[c] = length > t->width[c] ? length : t->width[c];
        }
    }
    for (uint32_t c = 0; c < t->column_count; c++) {
        const int head = (int)strlen(t->columns[c].head);
        t->heads = t->heads || head > 0;
        t->width[c] = t->width[c] > 0 && head > t->width[c] ? head : t->width[c];
    }
}

/* Minimum width of a column. */
static int min_width(const table_layout *t, uint32_t c)
{
    const cli_fit fit = t->columns[c].fit;
    const int min = fit == CLI_NAME ? MIN_NAME : fit == CLI_SENTENCE ? MIN_SENTENCE : INT_MAX;
    return t->width[c] < min ? t->width[c] : min;
}

/* True if a column stands in the table that begins with column `from`; the first column stands in all tables.
 */
static bool is_in(const table_layout *t, uint32_t c, uint32_t from, uint32_t end)
{
    return t->width[c] > 0 && (c == 0 || (c >= from && c < end));
}

/* The first column that has no room beside the first one and those from `from` on. */
static uint32_t end_of_block(const table_layout *t, uint32_t from, int room)
{
    int used = min_width(t, 0);
    bool any = false;
    for (uint32_t c = from; c < t->column_count; c++) {
        used += t->width[c] > 0 ? GAP + min_width(t, c) : 0;
        if (any && used > room) {
            return c;
        }
        any = any || t->width[c] > 0;
    }
    return t->column_count;
}

/* The column that gives room next: the widest of those that may; column_count: none. */
static uint32_t widest_of(const table_layout *t, uint32_t from, uint32_t end)
{
    uint32_t widest = t->column_count;
    for (uint32_t c = 0; c < t->column_count; c++) {
        const bool may = is_in(t, c, from, end) && t->width[c] > min_width(t, c);
        if (may && (widest == t->column_count || t->width[c] >= t->width[widest])) {
            widest = c;
        }
    }
    return widest;
}

static void shrink_columns(table_layout *t, uint32_t from, uint32_t end, int room)
{
    int total = -GAP;
    for (uint32_t c = 0; c < t->column_count; c++) {
        total += is_in(t, c, from, end) ? GAP + t->width[c] : 0;
    }
    for (uint32_t c; total > room && (c = widest_of(t, from, end)) < t->column_count; total--) {
        t->width[c]--;
    }
}

/* ---- lines */

/* A line in the making: spaces are written when something follows them. */
typedef struct table_line {
    int at, pending;
} table_line;

static void put_text(table_line *l, const char *text, int length)
{
    if (length > 0) {
        cli_print("%*s%.*s", l->pending, "", length, text);
        l->at += l->pending + length;
        l->pending = 0;
    }
}

/* Length of a sentence's beginning that fits a line: up to a space, or as much as there is room for. */
static int break_of(const char *text, int room)
{
    const int length = (int)strlen(text);
    if (length <= room) {
        return length;
    }
    int at = room;
    while (at > 0 && text[at] != ' ') {
        at--;
    }
    return at > 0 ? at : room;
}

/* The part of a cell that this line holds, its length by *length; moves the text on to the rest. */
static const char *next_part(cli_cell *cell, cli_fit fit, int width, char *cut, int *length)
{
    const char *text = cell->text;
    if (fit == CLI_SENTENCE) {
        *length = break_of(text, width);
        cell->text = text + *length + strspn(text + *length, " ");
        return text;
    }
    cell->text = "";
    text = fit == CLI_NAME ? cli_elide(text, width, cut, MAX_CELL) : text;
    *length = (int)strlen(text);
    return text;
}

/* One line of a row; false: nothing is left of it. */
static bool print_line(const table_layout *t, uint32_t from, uint32_t end, cli_cell *cells)
{
    table_line l = {0};
    int begin = 0;
    bool more = false;
    for (uint32_t c = 0; c < end; c++) {
        if (!is_in(t, c, from, end)) {
            continue;
        }
        char cut[MAX_CELL];
        int length;
        const char *text = next_part(&cells[c], t->columns[c].fit, t->width[c], cut, &length);
        const int indent = t->columns[c].fit == CLI_FIGURE ? t->width[c] - length : 0;
        l.pending = begin + indent - l.at;
        put_text(&l, text, length);
        begin += t->width[c] + GAP;
        more = more || cells[c].text[0] != '\0';
    }
    cli_print("\n");
    return more;
}

static void print_row(const table_layout *t, uint32_t from, uint32_t end, cli_cell *cells)
{
    while (print_line(t, from, end, cells)) {
    }
}

/* True if a row has a cell in a table below the first. */
static bool has_any(const table_layout *t, uint32_t from, uint32_t end, const cli_cell *cells)
{
    for (uint32_t c = from; c < end; c++) {
        if (is_in(t, c, from, end) && cells[c].text[0] != '\0') {
            return true;
        }
    }
    return false;
}

/* The first column and those from `from` up to `end`. */
static void print_block(const table_layout *t, uint32_t from, uint32_t end)
{
    cli_cell cells[CLI_MAX_COLUMNS];
    for (uint32_t c = 0; c < t->column_count; c++) {
        cells[c].text = t->columns[c].head;
    }
    if (t->heads) {
        print_row(t, from, end, cells);
    }
    for (uint32_t row = 0; row < t->rows; row++) {
        read_row(t, row, cells);
        if (from == 1 || has_any(t, from, end, cells)) {
            print_row(t, from, end, cells);
        }
    }
}

void cli_table(const cli_column *columns, uint32_t column_count, uint32_t rows, cli_row_fn *fill,
               const void *context)
{
    table_layout all = {
        .columns = columns, .column_count = column_count, .rows = rows, .fill = fill, .context = context};
    const int room = room_of_terminal();
    measure_columns(&all);
    uint32_t from = 1;
    do {
        table_layout part = all;
        const uint32_t end = end_of_block(&all, from, room);
        shrink_columns(&part, from, end, room);
        cli_put(from > 1 ? "\n" : "");
        print_block(&part, from, end);
        from = end;
    } while (from < column_count);
}

void cli_sentence(int indent, const char *fmt, ...)
{
    vta_str text = {0};
    va_list args;
    va_start(args, fmt);
    cli_format(&text, fmt, args);
    vta_str_put(&text, "");
    va_end(args);
    const int room = room_of_terminal();
    int at = 0;
    for (const char *rest = text.failed ? "" : text.text; rest == text.text || *rest != '\0';) {
        const int length = break_of(rest, room - at);
        cli_print("%*s", at, "");
        cli_put_made(rest, (size_t)length);
        cli_put("\n");
        rest += length + (int)strspn(rest + length, " ");
        at = indent;
    }
    vta_str_free(&text);
}
