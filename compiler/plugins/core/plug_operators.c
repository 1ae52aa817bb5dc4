/* SPDX-License-Identifier: Apache-2.0
 *
 * The operators that the compiler has, as `vtac ops` lists them: asked once in a process.
 */
#include <cjson/cJSON.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "plug.h"
#include "vta/str.h"
#include "vtac.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char **names; /* "domain/name", in order; they stay for as long as the library is loaded */
static size_t name_count;

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static char *join_name(const char *domain, const char *name)
{
    vta_str text = {0};
    vta_str_printf(&text, "%s/%s", strcmp(domain, "ai.onnx") == 0 ? "" : domain, name);
    return vta_str_take(&text);
}

static void list_names(const cJSON *rows)
{
    const cJSON *row = NULL;
    names = calloc((size_t)cJSON_GetArraySize(rows) + 1, sizeof *names);
    cJSON_ArrayForEach(row, rows)
    {
        const char *domain = cJSON_GetStringValue(cJSON_GetObjectItem(row, "domain"));
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItem(row, "name"));
        const bool has = names != NULL && cJSON_IsTrue(cJSON_GetObjectItem(row, "compiled"));
        char *text = has && domain != NULL && name != NULL ? join_name(domain, name) : NULL;
        if (text != NULL) {
            names[name_count++] = text;
        }
    }
    if (names != NULL) {
        qsort(names, name_count, sizeof *names, compare_names);
    }
}

__attribute__((destructor)) static void free_names(void)
{
    for (size_t i = 0; i < name_count; i++) {
        free(names[i]);
    }
    free(names);
}

static void ask_names(void)
{
    const char *const words[] = {"ops", "--json", NULL};
    char *answer = NULL;
    if (libvtac_verb(words, NULL, &answer) == LIBVTAC_OK && answer != NULL) {
        cJSON *rows = cJSON_Parse(answer);
        list_names(rows);
        cJSON_Delete(rows);
    }
    libvtac_free(answer);
}

bool vtac_plug_has_operator(const char *domain, const char *name)
{
    (void)pthread_once(&once, ask_names);
    char *text = join_name(domain, name);
    const bool has = text != NULL && names != NULL &&
                     bsearch(&text, names, name_count, sizeof *names, compare_names) != NULL;
    free(text);
    return has;
}
