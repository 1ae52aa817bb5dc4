/* SPDX-License-Identifier: Apache-2.0
 *
 * One line on a terminal that says how far something is, written anew five times a second.
 */
#ifndef VTAC_CLI_TICKER_H
#define VTAC_CLI_TICKER_H

#include <stddef.h>

/* Work that is shorter than this needs no line. */
#define CLI_PATIENCE_S 2.0

/* Writes the line to show after `seconds`, "" for none; called on a thread of its own. */
typedef void cli_line_fn(void *context, double seconds, char *text, size_t size);

typedef struct cli_ticker cli_ticker;

/* NULL, which the others take, where standard error is no terminal. */
cli_ticker *cli_ticker_begin(cli_line_fn *line, void *context);

/* The same; where standard error is no terminal, the line is written out every CLI_REPORT_S seconds. */
#define CLI_REPORT_S 30.0
cli_ticker *cli_ticker_begin_anywhere(cli_line_fn *line, void *context);

/* Takes the line away before something else is printed; it comes back by itself. */
void cli_ticker_hide(cli_ticker *ticker);
void cli_ticker_end(cli_ticker *ticker);

/* "12 s", "3.5 min". */
const char *cli_duration(double seconds, char *text, size_t size);

#endif
