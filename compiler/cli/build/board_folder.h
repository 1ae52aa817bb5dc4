/* SPDX-License-Identifier: Apache-2.0
 *
 * A folder that has all that makes a board, or a simulator, of a configuration: what `vtac build` writes.
 */
#ifndef VTAC_CLI_BOARD_FOLDER_H
#define VTAC_CLI_BOARD_FOLDER_H

#include "cli.h"
#include "vta/rtlbuild.h"
#include "vtac/explore.h"

/* A row of fpga/boards.txt. */
typedef struct cli_board {
    char name[32], family[16], part[48], words[64];
} cli_board;

/* Reads the table for a board. VTA_INVALID: it has none of that name; the message lists those that it has. */
vta_status cli_find_board(const char *name, const vta_rtl_sources *from, cli_board *out, vta_diag *diag);

/* The part of the board as explorations know it; false where they do not. */
bool cli_part_of_board(const cli_board *board, vtac_part *out);

/* Promises of the board. */
typedef struct cli_promises {
    const char *text;   /* of its README, or NULL */
    const char *folder; /* that cli_make_promise filled (promise.h), or NULL */
} cli_promises;

/* Writes the folder whole or not at all. `board` NULL: for a simulator alone. */
vta_status cli_write_board_folder(const char *folder, const vta_config *config, const cli_board *board,
                                  const vta_rtl_sources *from, const cli_promises *promises, vta_diag *diag);

#endif
