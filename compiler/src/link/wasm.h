/* SPDX-License-Identifier: Apache-2.0
 *
 * What becomes a part of every model for WebAssembly, as runtime/wasm makes it: the runtime as an object, no
 * bytes where this vtac was built without clang; the binding for JavaScript and its generator of texts; the
 * page that shows a model, and the one in which a language model talks.
 */
#ifndef VTAC_WASM_H
#define VTAC_WASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vta/status.h"

extern const uint8_t vta_wasm_runtime[], vta_wasm_binding[], vta_wasm_page[], vta_wasm_generator[],
    vta_wasm_chat[];
extern const size_t vta_wasm_runtime_bytes, vta_wasm_binding_bytes, vta_wasm_page_bytes,
    vta_wasm_generator_bytes, vta_wasm_chat_bytes;

/* Writes a module's page. A model that `carries` states, with a tokenizer.json beside its page, is a language
 * model: its page is a chat. `settings`: JSON of the page of any other; NULL: none. */
vta_status vtac_write_page(const char *module, bool carries, const char *settings, const char *path,
                           vta_diag *diag);

#endif
