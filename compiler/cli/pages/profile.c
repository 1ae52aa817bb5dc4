/* SPDX-License-Identifier: Apache-2.0
 *
 * Collects a profile: from the model, and from the timeline that a simulator writes (one event a line).
 */
#include "profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vta/artifact.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/program.h"

enum { MAX_TRACKS = 4096 };

static const char *copy_text(cli_profile *p, const char *text)
{
    const char *copy = text != NULL ? vta_arena_string(&p->arena, text, strlen(text)) : NULL;
    return copy != NULL ? copy : "";
}

/* ---- from the model */

static vta_status take_steps(const vta_model *model, cli_profile *p, vta_diag *diag)
{
    const vta_step_profile *steps = vta_model_steps(model, &p->step_count);
    p->steps = vta_arena_array(&p->arena, (size_t)p->step_count + 1, sizeof *p->steps);
    if (p->steps == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t i = 0; i < p->step_count; i++) {
        p->steps[i] = steps[i];
        p->steps[i].name = copy_text(p, steps[i].name);
        p->steps[i].op = copy_text(p, steps[i].op);
    }
    return VTA_OK;
}

static vta_status take_layers(const vta_model *model, cli_profile *p, vta_diag *diag)
{
    const vta_layer_profile *layers = vta_model_layers(model, &p->layer_count);
    p->layers = vta_arena_array(&p->arena, (size_t)p->layer_count + 1, sizeof *p->layers);
    if (p->layers == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t i = 0; i < p->layer_count; i++) {
        p->layers[i] = layers[i];
        p->layers[i].name = copy_text(p, layers[i].name);
        p->layers[i].op = copy_text(p, layers[i].op);
        p->layers[i].schedule = copy_text(p, layers[i].schedule);
        p->layers[i].bound = copy_text(p, layers[i].bound);
    }
    return VTA_OK;
}

static vta_status take_launch(const vta_artifact_region *region, uint32_t step, cli_profile *p,
                              vta_diag *diag)
{
    vta_program program;
    VTA_TRY(vta_program_read(region->program, (size_t)region->program_bytes, "program", &program, diag));
    cli_launch *launch = &p->launches[p->launch_count];
    uint32_t *tags = vta_arena_array(&p->arena, (size_t)program.insn_count + 1, sizeof *tags);
    *launch = (cli_launch){.step = step, .insn_count = program.insn_count, .tags = tags};
    while (launch->first_layer < p->layer_count && p->layers[launch->first_layer].step != step) {
        launch->first_layer++;
    }
    while (launch->first_layer + launch->layer_count < p->layer_count &&
           p->layers[launch->first_layer + launch->layer_count].step == step) {
        launch->layer_count++;
    }
    if (tags != NULL && program.tags != NULL) {
        memcpy(tags, program.tags, program.insn_count * sizeof *tags);
    }
    p->launch_count++;
    p->config = program.config;
    p->has_config = true;
    p->constant_bytes += region->constant_bytes;
    p->work_bytes += region->work_bytes;
    p->program_bytes += (uint64_t)program.insn_count * VTA_INSN_BYTES;
    vta_program_free(&program);
    return vta_allocated(tags != NULL, diag);
}

vta_status cli_profile_take(const vta_model *model, const char *path, cli_profile *out, vta_diag *diag)
{
    *out = (cli_profile){.runs = 1};
    out->model = copy_text(out, path);
    out->device = copy_text(out, vta_model_device_uri(model));
    out->host_bytes = vta_model_workspace_bytes(model);
    const char *processor;
    out->host_estimate_s = vta_model_host_estimate(model, &processor);
    out->processor = copy_text(out, processor);
    VTA_TRY(take_steps(model, out, diag));
    VTA_TRY(take_layers(model, out, diag));
    out->launches = vta_arena_array(&out->arena, (size_t)out->step_count + 1, sizeof *out->launches);
    if (out->launches == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t i = 0; i < out->step_count; i++) {
        const vta_artifact_region *region = vta_model_region(model, i);
        if (region != NULL && region->program != NULL) {
            VTA_TRY(take_launch(region, i, out, diag));
        }
    }
    return VTA_OK;
}

void cli_profile_free(cli_profile *profile)
{
    free(profile->spans);
    vta_arena_free(&profile->arena);
    *profile = (cli_profile){0};
}

uint32_t cli_profile_layer(const cli_profile *p, const cli_span *span)
{
    const cli_launch *launch = &p->launches[span->launch];
    const uint32_t tag = span->insn < launch->insn_count ? launch->tags[span->insn] : 0;
    return launch->first_layer + (tag > 0 && tag < launch->layer_count ? tag : launch->layer_count) - 1;
}

/* ---- from the timeline: the device's own, so that its form is known; what is not in it is left out */

static uint64_t number_after(const char *line, const char *key)
{
    const char *at = strstr(line, key);
    return at != NULL ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* The text between the quotes after a key, in the arena. */
static const char *text_after(cli_profile *p, const char *line, const char *key)
{
    const char *at = strstr(line, key);
    if (at == NULL) {
        return "";
    }
    at += strlen(key);
    const char *copy = vta_arena_string(&p->arena, at, strcspn(at, "\""));
    return copy != NULL ? copy : "";
}

static bool is_launch(const char *line)
{
    return strncmp(line, "{\"ph\":\"i\"", 9) == 0;
}

static bool name_track(cli_profile *p, const char *line)
{
    const uint64_t track = number_after(line, "\"tid\":");
    if (strncmp(line, "{\"ph\":\"M\"", 9) != 0 || strstr(line, "thread_name") == NULL ||
        track >= MAX_TRACKS) {
        return false;
    }
    p->tracks[track] = text_after(p, line, "\"args\":{\"name\":\"");
    p->track_count = track >= p->track_count ? (uint32_t)track + 1 : p->track_count;
    return true;
}

/* Names repeat: one copy does for neighbours of a track, and there are few. */
static const char *span_name(cli_profile *p, const char *line)
{
    const char *name = strstr(line, "\"name\":\"");
    const size_t size = name != NULL ? strcspn(name + 8, "\"") : 0;
    for (size_t i = p->span_count; i > 0 && p->span_count - i < 64; i--) {
        const char *known = p->spans[i - 1].name;
        if (strlen(known) == size && name != NULL && strncmp(known, name + 8, size) == 0) {
            return known;
        }
    }
    return text_after(p, line, "\"name\":\"");
}

static vta_status add_span(cli_profile *p, const char *line, uint32_t launch, uint64_t shift, vta_diag *diag)
{
    if ((p->span_count & (p->span_count - 1)) == 0) {
        cli_span *grown = realloc(p->spans, (2 * p->span_count + 1) * sizeof *grown);
        if (grown == NULL) {
            return vta_no_memory(diag);
        }
        p->spans = grown;
    }
    const bool insn = strstr(line, "\"insn\":") != NULL;
    const cli_span span = {.start = number_after(line, "\"ts\":") - shift,
                           .length = number_after(line, "\"dur\":"),
                           .launch = launch,
                           .track = (uint32_t)number_after(line, "\"tid\":"),
                           .insn = insn ? (uint32_t)number_after(line, "\"insn\":") : CLI_NO_INSN,
                           .token = (uint32_t)number_after(line, "\"token_wait\":"),
                           .memory = (uint32_t)number_after(line, "\"memory_wait\":"),
                           .name = span_name(p, line)};
    if (span.track < MAX_TRACKS) {
        p->spans[p->span_count++] = span;
    }
    return VTA_OK;
}

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end != NULL ? end + 1 : line + strlen(line);
}

/* Events of the last `launch_count` launches; each is moved to where the one before ended. */
static vta_status read_events(cli_profile *p, char *text, vta_diag *diag)
{
    uint64_t launches = 0;
    for (const char *line = text; *line != '\0'; line = next_line(line)) {
        launches += is_launch(line);
    }
    uint64_t skipped = launches > p->launch_count ? launches - p->launch_count : 0;
    uint64_t shift = 0;
    uint64_t before = 0; /* cycles of the launches before this one */
    uint32_t launch = 0;
    bool inside = false;
    char *next;
    for (char *line = text; *line != '\0'; line = next) {
        char *end = line + strcspn(line, "\n");
        next = *end == '\n' ? end + 1 : end;
        *end = '\0'; /* what is looked for must be in this line */
        if (is_launch(line)) {
            if (skipped > 0) {
                skipped--;
                continue;
            }
            before += inside ? p->steps[p->launches[launch].step].cycles : 0;
            launch += inside;
            inside = true;
            shift = number_after(line, "\"ts\":") - before;
        } else if (!name_track(p, line) && inside && launch < p->launch_count &&
                   strncmp(line, "{\"ph\":\"X\"", 9) == 0) {
            VTA_TRY(add_span(p, line, launch, shift, diag));
        }
    }
    return VTA_OK;
}

vta_status cli_profile_timeline(cli_profile *p, const char *path, vta_diag *diag)
{
    const size_t max_bytes = (size_t)1 << 34;
    uint8_t *bytes;
    size_t size;
    VTA_TRY(vta_file_read(path, max_bytes, &bytes, &size, diag));
    p->tracks = vta_arena_array(&p->arena, MAX_TRACKS, sizeof *p->tracks);
    const vta_status status = p->tracks == NULL ? vta_no_memory(diag) : read_events(p, (char *)bytes, diag);
    free(bytes);
    return status;
}

/* ---- files */

static bool ends_with(const char *path, const char *end)
{
    const size_t size = strlen(path);
    return size >= strlen(end) && strcmp(path + size - strlen(end), end) == 0;
}

static const struct {
    const char *end;
    void (*write)(const cli_profile *profile, vta_str *out);
} forms[] = {{".html", cli_profile_page}, {"trace.json", cli_profile_trace}, {".json", cli_profile_json}};
enum { FORMS = sizeof forms / sizeof forms[0] };

bool cli_profile_knows(const char *path)
{
    bool known = false;
    for (size_t i = 0; i < FORMS; i++) {
        known = known || ends_with(path, forms[i].end);
    }
    return known;
}

vta_status cli_profile_write(const cli_profile *p, const char *path, vta_diag *diag)
{
    vta_str out = {0};
    size_t form = 0;
    while (form + 1 < FORMS && !ends_with(path, forms[form].end)) {
        form++;
    }
    forms[form].write(p, &out);
    const vta_status status =
        out.failed ? vta_no_memory(diag) : vta_file_write(path, out.text, out.size, diag);
    vta_str_free(&out);
    return status;
}
