/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings of a page, as JSON.
 */
#include "page_settings.h"

#include "html.h"
#include "outputs.h"
#include "preprocess.h"
#include "vta/fail.h"
#include "vta/str.h"

static vta_status put_classes(const char *path, vta_str *to, vta_diag *diag)
{
    cli_outputs outputs = {0};
    const vta_status status = cli_read_labels(path, &outputs, diag);
    vta_str_put(to, "\"classes\": [");
    for (uint64_t i = 0; status == VTA_OK && i < outputs.labels.count; i++) {
        vta_str_put(to, i > 0 ? ", " : "");
        cli_put_json(to, outputs.labels.line[i]);
    }
    vta_str_put(to, "]");
    cli_free_outputs(&outputs);
    return status;
}

static void put_three(vta_str *to, const char *name, const double *value)
{
    vta_str_printf(to, ", \"%s\": [%.17g, %.17g, %.17g]", name, value[0], value[1], value[2]);
}

static vta_status put_preprocess(const char *how, vta_str *to, vta_diag *diag)
{
    cli_preprocess p;
    VTA_TRY(cli_preprocess_parse(how, &p, diag));
    vta_str_put(to, "\"preprocess\": {\"name\": ");
    cli_put_json(to, how);
    vta_str_printf(to, ", \"scale\": %.17g, \"bgr\": %s, \"crop\": %.17g", p.scale, p.bgr ? "true" : "false",
                   p.crop);
    put_three(to, "mean", p.mean);
    put_three(to, "std", p.std);
    vta_str_put(to, "}");
    return VTA_OK;
}

vta_status cli_page_settings(const cli_args *args, char **out, vta_diag *diag)
{
    const char *classes = cli_value(args, "--classes"), *how = cli_value(args, "--preprocess");
    vta_str text = {0};
    *out = NULL;
    if (classes == NULL && how == NULL) {
        return VTA_OK;
    }
    vta_str_put(&text, "{");
    vta_status status = classes != NULL ? put_classes(classes, &text, diag) : VTA_OK;
    vta_str_put(&text, classes != NULL && how != NULL ? ", " : "");
    status = status == VTA_OK && how != NULL ? put_preprocess(how, &text, diag) : status;
    vta_str_put(&text, "}");
    if (status == VTA_OK) {
        *out = vta_str_take(&text);
        status = *out != NULL ? VTA_OK : vta_no_memory(diag);
    }
    vta_str_free(&text);
    return status;
}
