/* SPDX-License-Identifier: Apache-2.0 */
#include "tale_export.h"

#include <stdlib.h>

#include "tale_text.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/str.h"
#include "vtac/zoo.h"

vta_status demo_tale_export(const tale_net *n, const char *path, vta_diag *diag)
{
    const vtac_zoo_sizes sizes = {.layers = n->sizes.layers,
                                  .width = n->sizes.width,
                                  .heads = n->sizes.heads,
                                  .words = n->sizes.vocabulary,
                                  .cache = true,
                                  .weights = n->parameters,
                                  .weight_count = n->parameter_count};
    return vtac_zoo_write("llama", 1, &sizes, path, diag);
}

/* A space in front of a word is part of its token; every word is as likely as every other. */
static void put_vocabulary(vta_str *out)
{
    for (uint32_t i = 0; i < demo_tale_vocabulary(); i++) {
        bool mark;
        const char *word = demo_tale_word(i, &mark);
        vta_str_printf(out, "%s[\"%s%s\", %d]", i == 0 ? "" : ", ", mark ? "" : "\xe2\x96\x81", word,
                       i < TALE_FIRST_WORD ? 0 : -1);
    }
}

static void put_special(vta_str *out)
{
    for (uint32_t i = 0; i < TALE_FIRST_WORD; i++) {
        bool mark;
        vta_str_printf(out, "%s{\"id\": %u, \"content\": \"%s\", \"special\": true, \"normalized\": false}",
                       i == 0 ? "" : ", ", i, demo_tale_word(i, &mark));
    }
}

vta_status demo_tale_export_tokenizer(const char *path, vta_diag *diag)
{
    static const char marks[] =
        "{\"type\": \"Metaspace\", \"replacement\": \"\xe2\x96\x81\", \"prepend_scheme\": \"always\"}";
    vta_str out = {0};
    vta_str_put(&out, "{\"version\": \"1.0\",\n \"added_tokens\": [");
    put_special(&out);
    vta_str_printf(&out, "],\n \"normalizer\": null,\n \"pre_tokenizer\": %s,\n \"decoder\": %s,\n", marks,
                   marks);
    vta_str_put(&out,
                " \"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": "
                "[{\"SpecialToken\": {\"id\": \"<s>\", \"type_id\": 0}}, {\"Sequence\": {\"id\": \"A\", "
                "\"type_id\": 0}}], \"special_tokens\": {\"<s>\": {\"id\": \"<s>\", \"ids\": [1], "
                "\"tokens\": [\"<s>\"]}}},\n \"model\": {\"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": [");
    put_vocabulary(&out);
    vta_str_put(&out, "]}}\n");
    const vta_status status =
        out.failed ? vta_no_memory(diag) : vta_file_write(path, out.text, out.size, diag);
    vta_str_free(&out);
    return status;
}
