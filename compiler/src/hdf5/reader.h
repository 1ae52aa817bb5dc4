/* SPDX-License-Identifier: Apache-2.0
 *
 * HDF5 files in memory, read only, within their bounds whatever they say. A file is a superblock, which names
 * the root group; a group or data set is an object header, a list of messages; a group's links are messages,
 * a tree of symbols, or lie densely in a fractal heap; numbers lie in one piece or in chunks that a tree
 * finds.
 *
 * Every structure is read through a piece: a range of the file's bytes with a position. A read beyond its end
 * gives 0 and marks the piece as bad. All that goes from place to place takes steps, and a file has so many
 * of them that a sound one never needs all: trees that lead back into themselves end there.
 */
#ifndef VTAC_HDF5_READER_H
#define VTAC_HDF5_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vta/arena.h"
#include "vta/status.h"
#include "vtac/graph.h"

typedef struct vtac_h5_file {
    const uint8_t *bytes;
    size_t size;
    uint32_t offset_bytes, length_bytes; /* of an address, and of a size */
    uint64_t base;                       /* which addresses count from */
    uint64_t root;                       /* address of the root group's header */
    uint64_t steps;                      /* left */
} vtac_h5_file;

typedef struct vtac_h5_piece {
    const uint8_t *at, *end;
    bool bad;
} vtac_h5_piece;

/* ---- pieces */

/* `size` bytes at an address; bad where they are not all in the file. */
vtac_h5_piece vtac_h5_at(const vtac_h5_file *file, uint64_t address, uint64_t size);

/* All that follows an address. */
vtac_h5_piece vtac_h5_from(const vtac_h5_file *file, uint64_t address);

/* The next `bytes` bytes (at most 8) as a number, the lowest first. */
uint64_t vtac_h5_get(vtac_h5_piece *piece, uint32_t bytes);
uint64_t vtac_h5_get_address(const vtac_h5_file *file, vtac_h5_piece *piece);
uint64_t vtac_h5_get_length(const vtac_h5_file *file, vtac_h5_piece *piece);

void vtac_h5_skip(vtac_h5_piece *piece, uint64_t bytes);

/* The next `size` bytes as a piece of their own. */
vtac_h5_piece vtac_h5_take(vtac_h5_piece *piece, uint64_t size);

/* True if the next four bytes are `mark`, which are then behind. */
bool vtac_h5_is(vtac_h5_piece *piece, const char mark[4]);

/* True if an address leads somewhere: it is not the one of all ones. */
bool vtac_h5_leads(const vtac_h5_file *file, uint64_t address);

/* Takes steps; false: they are used up. */
bool vtac_h5_step(vtac_h5_file *file, uint64_t count);

/* Number of bytes that hold every number up to `value`. */
uint32_t vtac_h5_width(uint64_t value);

/* ---- files and object headers */

vta_status vtac_h5_open(const uint8_t *bytes, size_t size, vtac_h5_file *out, vta_diag *diag);

typedef enum vtac_h5_kind {
    VTAC_H5_SPACE = 0x01,
    VTAC_H5_LINKS = 0x02, /* where links lie densely */
    VTAC_H5_TYPE = 0x03,
    VTAC_H5_OLD_FILL = 0x04,
    VTAC_H5_FILL = 0x05,
    VTAC_H5_LINK = 0x06,
    VTAC_H5_EXTERNAL = 0x07,
    VTAC_H5_LAYOUT = 0x08,
    VTAC_H5_FILTERS = 0x0b,
    VTAC_H5_ATTRIBUTE = 0x0c,
    VTAC_H5_CONTINUED = 0x10,
    VTAC_H5_SYMBOLS = 0x11,
    VTAC_H5_ATTRIBUTES = 0x15, /* where attributes lie densely */
} vtac_h5_kind;

typedef struct vtac_h5_message {
    uint32_t kind;
    bool shared; /* it only names a message elsewhere */
    vtac_h5_piece body;
} vtac_h5_message;

/* The messages of a header, in their order. */
typedef struct vtac_h5_walk {
    vtac_h5_file *file;
    vtac_h5_piece here;
    uint32_t edition, flags;
    struct {
        uint64_t address, size;
    } more[64]; /* pieces of the header that continue it */
    uint32_t more_count, more_done;
    bool bad;
} vtac_h5_walk;

void vtac_h5_walk_header(vtac_h5_file *file, uint64_t address, vtac_h5_walk *walk);

/* The next message; false: there is none, or the walk is bad. */
bool vtac_h5_next(vtac_h5_walk *walk, vtac_h5_message *out);

/* The first message of a kind; false: the header has none that can be read. */
bool vtac_h5_message_of(vtac_h5_file *file, uint64_t address, vtac_h5_kind kind, vtac_h5_message *out);

/* ---- dense storage: objects in a fractal heap, named by the records of a tree */

/* An object of the heap; true ends the search. */
typedef bool vtac_h5_visit(void *context, vtac_h5_piece object);

/* Shows every object that the records of a tree name by an identifier at the byte `id_at` of each. False:
 * something there cannot be read. */
bool vtac_h5_dense(vtac_h5_file *file, uint64_t heap, uint64_t tree, uint32_t id_at, vtac_h5_visit *visit,
                   void *context);

/* ---- groups */

typedef enum vtac_h5_found { VTAC_H5_NONE, VTAC_H5_HERE, VTAC_H5_ELSEWHERE } vtac_h5_found;

/* The header of what a path names; ELSEWHERE: a step of it is no hard link. */
vtac_h5_found vtac_h5_find(vtac_h5_file *file, const char *path, uint64_t *header);

/* ---- attributes and data sets */

/* The attribute's texts. *count 0: it has none, or the header has no such attribute. */
vta_status vtac_h5_texts(vtac_h5_file *file, uint64_t header, const char *name, vta_arena *arena,
                         const char *const **out, size_t *count, vta_diag *diag);

/* The extent of a space; false: it cannot be read. `dims` has room for VTAC_MAX_RANK; a space of more axes
 * has its rank, and no dims. *count: its points. */
bool vtac_h5_space(const vtac_h5_file *file, vtac_h5_piece body, uint32_t *rank, uint64_t *dims,
                   uint64_t *count);

/* Numbers as a file stores them. */
typedef struct vtac_h5_number {
    uint32_t bytes;
    bool is_float, is_signed, is_big;
    uint32_t first_bit, bits;                                /* of an integer */
    uint32_t sign, exponent, exponents, fraction, fractions; /* bits of a float, and how many */
    int64_t bias;
} vtac_h5_number;

/* False: the type is no number that this reader knows. */
bool vtac_h5_number_of(vtac_h5_piece body, vtac_h5_number *out);

void vtac_h5_to_floats(const vtac_h5_number *type, const uint8_t *from, float *to, size_t count);

vta_status vtac_h5_floats(vtac_h5_file *file, uint64_t header, const char *path, vta_arena *arena,
                          vtac_tensor *out, vta_diag *diag);

/* Filters that a data set's numbers pass before they are stored. */
typedef struct vtac_h5_filters {
    uint32_t count;
    struct {
        uint32_t id, element; /* element: bytes of one, for a shuffle */
    } row[8];
} vtac_h5_filters;

vta_status vtac_h5_filters_of(vtac_h5_piece body, uint32_t element, vtac_h5_filters *out, vta_diag *diag);

enum { VTAC_H5_SPARE = 4 }; /* bytes of a sum that may stand behind the numbers meanwhile */

/* Undoes all filters but those of `mask` on `piece`: `size` bytes into `to`. `to` and `work` have room for
 * VTAC_H5_SPARE bytes more. */
bool vtac_h5_unfilter(const vtac_h5_filters *filters, uint32_t mask, vtac_h5_piece piece, uint8_t *to,
                      uint8_t *work, size_t size);

#endif
