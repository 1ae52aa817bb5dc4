/* SPDX-License-Identifier: Apache-2.0
 *
 * steps_test MODEL.so DEVICE: a language model says tokens behind a prompt, and no step behind the first ones
 * asks for memory. DEVICE: a driver's URI, which a model without a region does not open. The prompt's tokens
 * are drawn from the seed; greedy, then by chance.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "seed.h"
#include "vta/generate.h"

enum { PROMPT = 3, WARM = 2, STEPS = 12, WORDS = 60 };

/* Of glibc: what its own malloc is called. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *p, size_t size);

static uint64_t asked;

void *malloc(size_t size)
{
    asked++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    asked++;
    return __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
    asked++;
    return __libc_realloc(p, size);
}

static vta_status say(vta_generator *generator, uint64_t seed, double temperature, uint64_t *more,
                      vta_diag *diag)
{
    uint32_t prompt[PROMPT];
    const vta_generate_options how = {.size = sizeof how,
                                      .max_tokens = WARM + STEPS,
                                      .temperature = temperature,
                                      .top_p = 0.9,
                                      .seed = seed,
                                      .ignore_end = 1};
    for (uint32_t i = 0; i < PROMPT; i++) {
        prompt[i] = (uint32_t)((seed >> (8 * i)) % WORDS);
    }
    vta_status status = vta_generate_begin(generator, prompt, PROMPT, &how, diag);
    for (uint32_t i = 0; status == VTA_OK && i < WARM + STEPS; i++) {
        uint32_t id;
        const char *text;
        size_t size;
        const uint64_t before = asked;
        status = vta_generate_next(generator, &id, &text, &size, diag);
        *more += i < WARM ? 0 : asked - before;
    }
    return status;
}

static vta_status say_twice(vta_model *model, uint64_t more[2], vta_diag *diag)
{
    const uint64_t seed = test_seed("generate_steps");
    vta_generator *generator = NULL;
    vta_status status = vta_generator_create(model, NULL, &generator, diag);
    for (uint32_t round = 0; status == VTA_OK && round < 2; round++) {
        status = say(generator, seed + round, round, &more[round], diag);
    }
    vta_generator_destroy(generator);
    return status;
}

static vta_status try_model(const char *file, const char *uri, vta_diag *diag)
{
    const vta_model_options options = {.size = sizeof options, .device = uri, .threads = 1};
    vta_model *model = NULL;
    uint64_t more[2] = {0, 0};
    VTA_TRY(vta_model_load(file, &options, &model, diag));
    const vta_status status = say_twice(model, more, diag);
    vta_model_destroy(model);
    VTA_TRY(status);
    (void)printf("%s on %s: %d steps asked for memory %" PRIu64 " times, by chance %" PRIu64 "\n", file, uri,
                 STEPS, more[0], more[1]);
    return more[0] + more[1] > 0 ? vta_fail(diag, VTA_INVALID, "a step asks for memory") : VTA_OK;
}

int main(int argc, char **argv)
{
    vta_diag diag = {0};
    if (argc != 3) {
        (void)fprintf(stderr, "usage: steps_test MODEL.so DEVICE\n");
        return 2;
    }
    if (try_model(argv[1], argv[2], &diag) != VTA_OK) {
        (void)fprintf(stderr, "steps_test: %s\n", diag.text);
        return 1;
    }
    return 0;
}
