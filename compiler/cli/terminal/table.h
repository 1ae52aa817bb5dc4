/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables on standard output. Where that is a terminal they fit it: names lose their middle, sentences go on
 * in the next line, and columns that find no room at all stand in a second table below, beside the first
 * column. Figures are never cut. Elsewhere every row is one line with everything in it.
 */
#ifndef VTAC_CLI_TABLE_H
#define VTAC_CLI_TABLE_H

#include <stdint.h>

typedef enum cli_fit {
    CLI_FIGURE,  /* to the right */
    CLI_WORD,    /* to the left, never cut */
    CLI_NAME,    /* to the left, may lose its middle */
    CLI_SENTENCE /* to the left, may take several lines */
} cli_fit;

typedef struct cli_column {
    const char *head; /* "": none; without any, there is no line of heads */
    cli_fit fit;
} cli_column;

/* A cell points to a text that lives as long as the table is printed, or to its own buffer. */
typedef struct cli_cell {
    const char *text;
    char own[64];
} cli_cell;

__attribute__((format(printf, 2, 3))) void cli_cell_print(cli_cell *cell, const char *fmt, ...);

enum { CLI_MAX_COLUMNS = 32 };

/* Puts the texts of a row into `cells`, which are empty before; called several times for each row. */
typedef void cli_row_fn(const void *context, uint32_t row, cli_cell *cells);

/* A column without a text in any row is left out. */
void cli_table(const cli_column *columns, uint32_t column_count, uint32_t rows, cli_row_fn *fill,
               const void *context);

/* A sentence and a newline; on a terminal broken between words where a line is full, and continued `indent`
 * to the right. */
__attribute__((format(printf, 2, 3))) void cli_sentence(int indent, const char *fmt, ...);

#endif
