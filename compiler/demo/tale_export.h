/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEMO_TALE_EXPORT_H
#define DEMO_TALE_EXPORT_H

#include "tale_net.h"

/* Writes the network as an ONNX model in the form in which Hugging Face exports decoders: the zoo's llama
 * with a cache, with these weights. */
vta_status demo_tale_export(const tale_net *n, const char *path, vta_diag *diag);

/* The tokenizer that belongs to it, as a tokenizer.json: a unigram of whole words. */
vta_status demo_tale_export_tokenizer(const char *path, vta_diag *diag);

#endif
