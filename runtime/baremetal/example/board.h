/* SPDX-License-Identifier: Apache-2.0
 *
 * What the example's main.c asks of a board.
 */
#ifndef VTA_EXAMPLE_BOARD_H
#define VTA_EXAMPLE_BOARD_H

#include "vta/model.h"

/* Text, and the program's end, on the board's console. */
void board_say(const char *text);
_Noreturn void board_end(int status);

/* The accelerator, set up; NULL where the board has none. */
const vta_model_options *board_accelerator(void);

#endif
