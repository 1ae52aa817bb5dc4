/* SPDX-License-Identifier: Apache-2.0 */
#include "tale_train.h"

#include "tale_text.h"
#include "vtac/exact.h"

enum { BATCH = 8, RISE = 60, REPORT_EVERY = 50, SEED_LEARN = 1 };

/* Tales side by side: each token and the one behind it. Answers count more than what is drawn; what stands
 * behind the end of a tale counts nothing. */
typedef struct tale_batch {
    uint32_t tokens[BATCH * TALE_TOKENS], targets[BATCH * TALE_TOKENS];
    float weights[BATCH * TALE_TOKENS];
    bool answers[BATCH * TALE_TOKENS]; /* the target is one */
} tale_batch;

static void draw_batch(uint64_t seed, uint32_t first, tale_batch *out)
{
    static const float answer_weight = 5.0F;
    tale t;
    for (uint32_t i = 0; i < BATCH * TALE_TOKENS; i++) {
        const uint32_t at = i % TALE_TOKENS;
        if (at == 0) {
            demo_tale_draw(seed, first + i / TALE_TOKENS, &t);
        }
        const bool inside = at + 1 < t.count;
        out->tokens[i] = at < t.count ? t.tokens[at] : TALE_END;
        out->targets[i] = inside ? t.tokens[at + 1] : TALE_END;
        out->answers[i] = inside && t.answers[at + 1];
        out->weights[i] = out->answers[i] ? answer_weight : inside ? 1.0F : 0.0F;
    }
}

/* Up over the first steps, then down along half a cosine. */
static float rate_at(uint32_t step, uint32_t steps)
{
    static const float max = 0.003F;
    const float at = step < RISE ? 0.0F : (float)(step - RISE) / (float)(steps > RISE ? steps - RISE : 1);
    const float rise = step < RISE ? (float)(step + 1) / (float)RISE : 1.0F;
    return max * rise * (0.5F + 0.5F * (float)vtac_cos(3.14159265 * (double)at));
}

vta_status demo_tale_train(const tale_options *options, tale_net *out, vta_diag *diag)
{
    const tale_sizes sizes = {.vocabulary = demo_tale_vocabulary(),
                              .width = 64,
                              .heads = 4,
                              .layers = 2,
                              .wide = 192,
                              .context = TALE_TOKENS,
                              .batch = BATCH};
    tale_batch b;
    const tale_targets targets = {b.targets, b.weights};
    float loss = 0.0F;
    VTA_TRY(demo_tale_create(&sizes, options->seed, out, diag));
    for (uint32_t step = 0; step < options->steps; step++) {
        draw_batch(SEED_LEARN, step * BATCH, &b);
        loss += demo_tale_learn(out, b.tokens, &targets, rate_at(step, options->steps));
        if ((step + 1) % REPORT_EVERY == 0 && options->report != NULL) {
            options->report(options->context, step + 1, loss / REPORT_EVERY);
            loss = 0.0F;
        }
    }
    return VTA_OK;
}

/* The likeliest token behind a row. */
static uint32_t likeliest(const tale_net *n, uint32_t row)
{
    const float *logits = n->logits + (size_t)row * n->sizes.vocabulary;
    uint32_t best = 0;
    for (uint32_t c = 1; c < n->sizes.vocabulary; c++) {
        best = logits[c] > logits[best] ? c : best;
    }
    return best;
}

float demo_tale_score(tale_net *n, uint64_t seed, uint32_t tales)
{
    tale_batch b;
    uint32_t right = 0;
    uint32_t all = 0;
    for (uint32_t first = 0; first < tales; first += BATCH) {
        draw_batch(seed, first, &b);
        demo_tale_forward(n, b.tokens);
        for (uint32_t i = 0; i < BATCH * TALE_TOKENS && first + i / TALE_TOKENS < tales; i++) {
            all += b.answers[i];
            right += b.answers[i] && likeliest(n, i) == b.targets[i];
        }
    }
    return all == 0 ? 0.0F : (float)right / (float)all;
}
