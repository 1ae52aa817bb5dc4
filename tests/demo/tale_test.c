/* SPDX-License-Identifier: Apache-2.0
 *
 * The language model's trainer: logits and loss against plain loops in doubles, slopes against differences of
 * that loss, tales whose answers follow from their sentences, and a tale learnt by heart.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "seed.h"
#include "tale_net.h"
#include "tale_text.h"

enum { MAX_ROWS = 64, MAX_COLUMNS = 64 };

typedef struct plain {
    const tale_sizes *s;
    const double *at; /* the next parameter */
    double x[MAX_ROWS][MAX_COLUMNS];
} plain;

static const double *take_weights(plain *p, uint32_t count)
{
    const double *taken = p->at;
    p->at += count;
    return taken;
}

static void plain_normalize(const plain *p, uint32_t row, const double *gain, double *out)
{
    double sum = 0.0;
    for (uint32_t c = 0; c < p->s->width; c++) {
        sum += p->x[row][c] * p->x[row][c] / p->s->width;
    }
    for (uint32_t c = 0; c < p->s->width; c++) {
        out[c] = p->x[row][c] / sqrt(sum + (double)TALE_EPSILON) * gain[c];
    }
}

static double plain_sum(const double *row, const double *weight, uint32_t in, uint32_t out, uint32_t column)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < in; i++) {
        sum += row[i] * weight[i * out + column];
    }
    return sum;
}

/* Column c of a head at a place, turned. */
static double turned(const plain *p, double rows[MAX_ROWS][MAX_COLUMNS], uint32_t row, uint32_t head,
                     uint32_t c)
{
    const uint32_t size = p->s->width / p->s->heads;
    const uint32_t half = size / 2;
    const double angle = row % p->s->context * pow(10000.0, -2.0 * (c % half) / size);
    const double *x = rows[row] + head * size;
    return c < half ? x[c] * cos(angle) - x[c + half] * sin(angle)
                    : x[c] * cos(angle) + x[c - half] * sin(angle);
}

static void plain_attend(plain *p)
{
    static double q[MAX_ROWS][MAX_COLUMNS], k[MAX_ROWS][MAX_COLUMNS], v[MAX_ROWS][MAX_COLUMNS];
    static double mixed[MAX_ROWS][MAX_COLUMNS];
    const uint32_t w = p->s->width;
    const uint32_t size = w / p->s->heads;
    const double *gain = take_weights(p, w);
    const double *const weights[] = {take_weights(p, w * w), take_weights(p, w * w), take_weights(p, w * w)};
    const double *output = take_weights(p, w * w);
    double(*const made[])[MAX_COLUMNS] = {q, k, v};
    const uint32_t rows = p->s->batch * p->s->context;
    for (uint32_t r = 0; r < rows; r++) {
        double norm[MAX_COLUMNS];
        plain_normalize(p, r, gain, norm);
        for (uint32_t i = 0; i < 3 * w; i++) {
            made[i / w][r][i % w] = plain_sum(norm, weights[i / w], w, w, i % w);
        }
    }
    memset(mixed, 0, sizeof mixed);
    for (uint32_t i = 0; i < rows * p->s->heads; i++) {
        const uint32_t r = i / p->s->heads;
        const uint32_t head = i % p->s->heads;
        double share[MAX_ROWS];
        double all = 0.0;
        for (uint32_t t = r / p->s->context * p->s->context; t <= r; t++) {
            share[t] = 0.0;
            for (uint32_t c = 0; c < size; c++) {
                share[t] += turned(p, q, r, head, c) * turned(p, k, t, head, c) / sqrt(size);
            }
            share[t] = exp(share[t]);
            all += share[t];
        }
        for (uint32_t t = r / p->s->context * p->s->context; t <= r; t++) {
            for (uint32_t c = head * size; c < (head + 1) * size; c++) {
                mixed[r][c] += share[t] / all * v[t][c];
            }
        }
    }
    for (uint32_t i = 0; i < rows * w; i++) {
        p->x[i / w][i % w] += plain_sum(mixed[i / w], output, w, w, i % w);
    }
}

static void plain_dense(plain *p)
{
    const uint32_t w = p->s->width;
    const uint32_t wide = p->s->wide;
    const double *gain = take_weights(p, w);
    const double *gate = take_weights(p, w * wide);
    const double *up = take_weights(p, w * wide);
    const double *down = take_weights(p, w * wide);
    for (uint32_t r = 0; r < p->s->batch * p->s->context; r++) {
        double norm[MAX_COLUMNS];
        double hidden[MAX_COLUMNS];
        plain_normalize(p, r, gain, norm);
        for (uint32_t c = 0; c < wide; c++) {
            const double g = plain_sum(norm, gate, w, wide, c);
            hidden[c] = g / (1.0 + exp(-g)) * plain_sum(norm, up, w, wide, c);
        }
        for (uint32_t c = 0; c < w; c++) {
            p->x[r][c] += plain_sum(hidden, down, wide, w, c);
        }
    }
}

/* The mean loss; `logits`, where it is not NULL, gets those of all rows. */
static double plain_loss(const tale_sizes *s, const double *parameters, const uint32_t *tokens,
                         const tale_targets *targets, double *logits)
{
    static plain p;
    p = (plain){.s = s, .at = parameters};
    const uint32_t rows = s->batch * s->context;
    const double *embedding = take_weights(&p, s->vocabulary * s->width);
    double loss = 0.0;
    double count = 0.0;
    for (uint32_t i = 0; i < rows * s->width; i++) {
        p.x[i / s->width][i % s->width] = embedding[tokens[i / s->width] * s->width + i % s->width];
    }
    for (uint32_t i = 0; i < s->layers; i++) {
        plain_attend(&p);
        plain_dense(&p);
    }
    const double *gain = take_weights(&p, s->width);
    const double *head = take_weights(&p, s->width * s->vocabulary);
    for (uint32_t r = 0; r < rows; r++) {
        double norm[MAX_COLUMNS];
        double all = 0.0;
        double wanted = 0.0;
        plain_normalize(&p, r, gain, norm);
        for (uint32_t c = 0; c < s->vocabulary; c++) {
            const double logit = plain_sum(norm, head, s->width, s->vocabulary, c);
            all += exp(logit);
            wanted = c == targets->tokens[r] ? logit : wanted;
            if (logits != NULL) {
                logits[r * s->vocabulary + c] = logit;
            }
        }
        loss += (double)targets->weights[r] * (log(all) - wanted);
        count += (double)targets->weights[r];
    }
    return loss / count;
}

static void draw_task(rng *r, const tale_sizes *s, uint32_t *tokens, uint32_t *targets, float *weights)
{
    for (uint32_t i = 0; i < s->batch * s->context; i++) {
        tokens[i] = (uint32_t)rng_between(r, 0, s->vocabulary - 1);
        targets[i] = (uint32_t)rng_between(r, 0, s->vocabulary - 1);
        weights[i] = i > 0 && rng_percent(r, 30) ? 0.0F : (float)rng_between(r, 1, 4);
    }
}

static void check_slopes(rng *r)
{
    const uint32_t heads = (uint32_t)rng_between(r, 1, 3);
    const tale_sizes s = {.vocabulary = (uint32_t)rng_between(r, 5, 20),
                          .width = heads * 2 * (uint32_t)rng_between(r, 1, 4),
                          .heads = heads,
                          .layers = (uint32_t)rng_between(r, 1, 3),
                          .wide = (uint32_t)rng_between(r, 3, 30),
                          .context = (uint32_t)rng_between(r, 2, 9),
                          .batch = (uint32_t)rng_between(r, 1, 3)};
    uint32_t tokens[MAX_ROWS];
    uint32_t wanted[MAX_ROWS];
    float weights[MAX_ROWS];
    const tale_targets targets = {wanted, weights};
    static double logits[MAX_ROWS * MAX_COLUMNS];
    vta_diag diag = {0};
    tale_net n;
    assert_int_equal(demo_tale_create(&s, rng_next(r), &n, &diag), VTA_OK);
    draw_task(r, &s, tokens, wanted, weights);
    double *parameters = calloc(n.parameter_count, sizeof *parameters);
    assert_non_null(parameters);
    for (size_t i = 0; i < n.parameter_count; i++) {
        n.parameters[i] += (float)rng_between(r, -20, 20) / 200.0F;
        parameters[i] = (double)n.parameters[i];
    }
    demo_tale_forward(&n, tokens);
    const double loss = plain_loss(&s, parameters, tokens, &targets, logits);
    for (uint32_t i = 0; i < n.rows * s.vocabulary; i++) {
        assert_true(fabs(logits[i] - (double)n.logits[i]) < 1e-4 * (1.0 + fabs(logits[i])));
    }
    assert_true(fabs((double)demo_tale_backward(&n, tokens, &targets) - loss) < 1e-4 * (1.0 + loss));
    for (int i = 0; i < 120; i++) {
        const size_t at = rng_next(r) % n.parameter_count;
        const double was = parameters[at];
        parameters[at] = was + 1e-4;
        const double above = plain_loss(&s, parameters, tokens, &targets, NULL);
        parameters[at] = was - 1e-4;
        const double below = plain_loss(&s, parameters, tokens, &targets, NULL);
        parameters[at] = was;
        const double slope = (above - below) / 2e-4;
        if (fabs(slope - (double)n.slopes[at]) > 1e-4 + 2e-3 * fabs(slope)) {
            fail_msg("parameter %zu of %zu: slope %g, by differences %g", at, n.parameter_count,
                     (double)n.slopes[at], slope);
        }
    }
    free(parameters);
    demo_tale_free(&n);
}

static void test_slopes(void **state)
{
    rng r = rng_split(test_seed("demo_tale slopes"), 0);
    (void)state;
    for (int i = 0; i < 12; i++) {
        check_slopes(&r);
    }
}

/* ---- tales */

static bool is_word(const tale *t, uint32_t at, const char *word)
{
    bool mark;
    return at < t->count && strcmp(demo_tale_word(t->tokens[at], &mark), word) == 0;
}

/* The answer that the sentences in front of a question give: the last one told of it. */
static uint32_t answer_of(const tale *t, uint32_t question, uint32_t about)
{
    uint32_t answer = 0;
    for (uint32_t i = 1; i < question; i++) {
        const bool has = is_word(t, i + 1, "has") && is_word(t, i + 2, "a");
        if (is_word(t, question, "Who") && has && t->tokens[i + 4] == about) {
            answer = t->tokens[i];
        } else if (is_word(t, question, "Who") && is_word(t, i + 1, "gives") && t->tokens[i + 3] == about) {
            answer = t->tokens[i + 5];
        } else if (is_word(t, question, "What") && has && t->tokens[i + 4] == about) {
            answer = t->tokens[i + 3];
        } else if (is_word(t, question, "Where") && is_word(t, i + 1, "goes") && t->tokens[i] == about) {
            answer = t->tokens[i + 4];
        }
    }
    return answer;
}

static void test_tales(void **state)
{
    rng r = rng_split(test_seed("demo_tale tales"), 0);
    const uint64_t seed = rng_next(&r) % 1000000;
    (void)state;
    for (uint32_t i = 0; i < 2000; i++) {
        tale t;
        uint32_t answers = 0;
        demo_tale_draw(seed, i, &t);
        assert_in_range(t.count, 20, TALE_TOKENS);
        assert_int_equal(t.tokens[0], TALE_BEGIN);
        assert_int_equal(t.tokens[t.count - 1], TALE_END);
        for (uint32_t k = 1; k < t.count; k++) {
            if (!t.answers[k]) {
                continue;
            }
            uint32_t question = k;
            while (!is_word(&t, question, "?")) {
                question--;
            }
            const uint32_t about = t.tokens[question - 1];
            while (!is_word(&t, question - 1, ".")) {
                question--;
            }
            assert_int_equal(t.tokens[k], answer_of(&t, question, about));
            answers++;
        }
        assert_int_equal(answers, 4);
    }
}

/* ---- learning */

static void test_by_heart(void **state)
{
    const tale_sizes s = {.vocabulary = demo_tale_vocabulary(),
                          .width = 16,
                          .heads = 2,
                          .layers = 1,
                          .wide = 32,
                          .context = 48,
                          .batch = 1};
    uint32_t tokens[48];
    uint32_t wanted[48];
    float weights[48];
    const tale_targets targets = {wanted, weights};
    vta_diag diag = {0};
    tale_net n;
    tale t;
    (void)state;
    demo_tale_draw(5, 0, &t);
    for (uint32_t i = 0; i < s.context; i++) {
        tokens[i] = i < t.count ? t.tokens[i] : TALE_END;
        wanted[i] = i + 1 < t.count ? t.tokens[i + 1] : TALE_END;
        weights[i] = i + 1 < t.count ? 1.0F : 0.0F;
    }
    assert_int_equal(demo_tale_create(&s, 3, &n, &diag), VTA_OK);
    const float before = demo_tale_learn(&n, tokens, &targets, 0.01F);
    float after = before;
    for (int i = 0; i < 150; i++) {
        after = demo_tale_learn(&n, tokens, &targets, 0.01F);
    }
    assert_true(before > 2.5F && after < 0.05F);
    demo_tale_free(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slopes),
        cmocka_unit_test(test_tales),
        cmocka_unit_test(test_by_heart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
