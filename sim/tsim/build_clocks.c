/* SPDX-License-Identifier: Apache-2.0
 *
 * clocks.h: how the model that Verilator wrote keeps its clocks, for rtl_model.cc.
 *
 *   VTA_MODEL_UNITS(UNIT)         UNIT(name) for each pair of pins clk_NAME, awake_NAME
 *   VTA_MODEL_EDGES(CLOCK, UNIT, TWICE)
 *                                 for each trigger of the model: CLOCK(index) of clk, TWICE(index) of clk2x,
 *                                 UNIT(index, name) of clk_NAME
 *
 * The second one is there if all that Verilator's scheduler does in a cycle is to look which clocks have
 * risen: then who knows that can tell, and the look is saved. What is not understood here leaves it out, and
 * the model is evaluated the ordinary way.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build_internal.h"
#include "vta/fail.h"
#include "vta/file.h"

enum { NAME_SIZE = 64, TRIGGERS = 64 };

typedef struct trigger {
    unsigned index;
    char name[NAME_SIZE]; /* of the pin */
} trigger;

typedef struct findings {
    trigger triggers[TRIGGERS];
    uint32_t count;
    bool has_ico, has_nba, other; /* `other`: something that is not understood */
} findings;

static bool is_name(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static size_t name_length(const char *text)
{
    size_t length = 0;
    while (is_name(text[length])) {
        length++;
    }
    return length;
}

static const char *skip_spaces(const char *text)
{
    return text + strspn(text, " \t\r\n");
}

/* Moves over `word` and the spaces around it; NULL if something else is there. */
static const char *expect(const char *text, const char *word)
{
    if (text == NULL) {
        return NULL;
    }
    text = skip_spaces(text);
    const size_t length = strlen(word);
    return strncmp(text, word, length) == 0 ? skip_spaces(text + length) : NULL;
}

static const char *read_name(const char *text, char *name)
{
    const size_t length = text != NULL ? name_length(text) : 0;
    if (length == 0 || length >= NAME_SIZE) {
        return NULL;
    }
    memcpy(name, text, length);
    name[length] = '\0';
    return text + length;
}

/* "= ((IData)(vlSelf->PIN) & (~ (IData)(vlSelf->__VtrigrPREVIOUS__PIN)));" */
static bool is_edge(const char *text, char *pin)
{
    char previous[NAME_SIZE] = "";
    text = read_name(expect(expect(text, "="), "((IData)(vlSelf->"), pin);
    text = expect(expect(expect(expect(text, ")"), "&"), "(~"), "(IData)(vlSelf->");
    text = read_name(text, previous);
    const size_t a = strlen(previous), b = strlen(pin);
    return expect(text, ")));") != NULL && strncmp(previous, "__Vtrig", 7) == 0 && a > b &&
           strcmp(previous + a - b, pin) == 0;
}

/* Assignments to triggers: all must be rising edges of pins. */
static void find_triggers(const char *text, findings *found)
{
    static const char label[] = "__VactTriggered.at(";
    while ((text = strstr(text, label)) != NULL) {
        char *end = NULL;
        const unsigned long index = strtoul(text + sizeof label - 1, &end, 0);
        text = expect(end, "U)");
        if (text == NULL) {
            found->other = true;
            return;
        }
        if (*text != '=') {
            continue;
        }
        trigger t = {.index = (unsigned)index};
        if (found->count == TRIGGERS || !is_edge(text, t.name)) {
            found->other = true;
            return;
        }
        found->triggers[found->count++] = t;
    }
}

static void look_into(const char *text, findings *found)
{
    find_triggers(text, found);
    found->has_ico = found->has_ico || strstr(text, "__VicoTriggered.at(0U)") != NULL;
    found->has_nba = found->has_nba || strstr(text, "void Vvta_top___024root___eval_nba(") != NULL;
    found->other = found->other || strstr(text, "___act_comb") != NULL ||
                   strstr(text, "___act_sequent") != NULL || strstr(text, "__VicoTriggered.at(1U)") != NULL;
}

static vta_status read_text(const build_job *job, const char *name, uint8_t **bytes, vta_diag *diag)
{
    char path[BUILD_PATH];
    size_t size = 0;
    if (!vta_build_path(path, "%s/obj/%s", job->work, name)) {
        return vta_fail(diag, VTA_RANGE, "path too long");
    }
    return vta_file_read(path, BUILD_MODEL_LIMIT, bytes, &size, diag);
}

/* The pins clk_NAME, as "VL_IN8(&clk_NAME,". */
static void put_units(const char *header, vta_str *out)
{
    static const char label[] = "VL_IN8(&clk_";
    vta_str_put(out, "#define VTA_MODEL_UNITS(UNIT)");
    for (const char *at = header; (at = strstr(at, label)) != NULL;) {
        at += sizeof label - 1;
        vta_str_printf(out, " UNIT(%.*s)", (int)name_length(at), at);
    }
    vta_str_put(out, "\n");
}

static void put_edges(const findings *found, vta_str *out)
{
    vta_str_put(out, "#define VTA_MODEL_EDGES(CLOCK, UNIT, TWICE)");
    for (uint32_t i = 0; i < found->count; i++) {
        const trigger *t = &found->triggers[i];
        if (strcmp(t->name, "clk") == 0) {
            vta_str_printf(out, " CLOCK(%u)", t->index);
        } else if (strcmp(t->name, "clk2x") == 0) {
            vta_str_printf(out, " TWICE(%u)", t->index);
        } else {
            vta_str_printf(out, " UNIT(%u, %s)", t->index, t->name + strlen("clk_"));
        }
    }
    vta_str_put(out, "\nvoid Vvta_top___024root___eval_ico(Vvta_top___024root *);\n"
                     "void Vvta_top___024root___eval_nba(Vvta_top___024root *);\n");
}

/* One trigger for "clk", all others are of "clk2x" or "clk_NAME". */
static bool understood(const findings *found)
{
    uint32_t main_clocks = 0;
    for (uint32_t i = 0; i < found->count; i++) {
        const char *name = found->triggers[i].name;
        main_clocks += strcmp(name, "clk") == 0;
        if (strcmp(name, "clk2x") != 0 &&
            (strncmp(name, "clk", 3) != 0 || (name[3] != '\0' && name[3] != '_'))) {
            return false;
        }
    }
    return !found->other && found->has_ico && found->has_nba && main_clocks == 1;
}

static vta_status look_into_model(build_job *job, findings *found)
{
    char folder[BUILD_PATH];
    DIR *dir = vta_build_path(folder, "%s/obj", job->work) ? opendir(folder) : NULL;
    vta_status status = dir != NULL ? VTA_OK : vta_fail(job->diag, VTA_IO, "cannot read '%s'", folder);
    struct dirent *item;
    while (dir != NULL && status == VTA_OK && (item = readdir(dir)) != NULL) {
        if (strstr(item->d_name, "___024root") != NULL && strstr(item->d_name, ".cpp") != NULL) {
            uint8_t *bytes = NULL;
            status = read_text(job, item->d_name, &bytes, job->diag);
            if (bytes != NULL) {
                look_into((const char *)bytes, found);
            }
            free(bytes);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return status;
}

vta_status vta_build_write_clocks(build_job *job)
{
    findings found = {0};
    uint8_t *header = NULL;
    vta_str text = {0};
    char path[BUILD_PATH];
    VTA_TRY(read_text(job, "Vvta_top.h", &header, job->diag));
    if (header != NULL) {
        put_units((const char *)header, &text);
    }
    free(header);
    vta_status status = look_into_model(job, &found);
    if (status == VTA_OK && understood(&found)) {
        put_edges(&found, &text);
    }
    if (status == VTA_OK) {
        status = vta_build_path(path, "%s/clocks.h", job->work) && !text.failed
                     ? vta_file_write_scratch(path, text.text, text.size, job->diag)
                     : vta_no_memory(job->diag);
    }
    vta_str_free(&text);
    return status;
}
