/* SPDX-License-Identifier: Apache-2.0
 *
 * The options of an import, as all importers read them.
 */
#ifndef VTAC_IMPORT_OPTIONS_H
#define VTAC_IMPORT_OPTIONS_H

#include "vtac/import.h"

/* The size that --shape gives an input; NULL: it gives none. */
const vtac_shape_option *vtac_import_shape(const vtac_import_options *options, const char *name);

/* True if a --shape of that name is for the input: TensorFlow's inputs end in ":0", which may be left out. */
bool vtac_shape_is_for(const char *name, const char *input);

/* Gives a line to options->note; nothing happens where there are no options, or nobody asked. */
__attribute__((format(printf, 2, 3))) void vtac_import_note(const vtac_import_options *options,
                                                            const char *fmt, ...);

#endif
