/* SPDX-License-Identifier: Apache-2.0
 *
 * Goals: a text of limits and an objective becomes steps in postfix order.
 */
#include "vtac/goal.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"
#include "vta/str.h"

enum { STACK = 32, NAME = 96, DEEPEST = 16 };

static const vtac_measure_row rows[VTAC_MEASURES] = {
#define VTAC_MEASURE(id, name, grows, unit, what) {name, unit, what, (grows) != 0},
#include "vtac/measures.def"
};

static const char *const of_networks[VTAC_NETWORK_MEASURES] = {"fps", "ms", "cycles"};

const vtac_measure_row *vtac_measure_rows(void)
{
    return rows;
}

typedef struct goal_reader {
    const char *text, *at;
    const char *const *networks;
    uint32_t network_count, depth;
    vtac_goal *goal;
    vtac_goal_clause *clause;
    vta_diag *diag;
} goal_reader;

static unsigned column_of(const goal_reader *r, const char *at)
{
    return (unsigned)(at - r->text) + 1;
}

static vta_status fault(const goal_reader *r, const char *at, const char *what)
{
    return vta_fail(r->diag, VTA_SYNTAX, "'%s': column %u: %s", r->text, column_of(r, at), what);
}

static void skip_blanks(goal_reader *r)
{
    r->at += strspn(r->at, " \t");
}

static bool is_of_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool take_word(goal_reader *r, const char *word)
{
    const size_t size = strlen(word);
    skip_blanks(r);
    if (strncmp(r->at, word, size) != 0 || is_of_name(r->at[size])) {
        return false;
    }
    r->at += size;
    return true;
}

static vta_status add_step(goal_reader *r, vtac_goal_step step)
{
    if (r->clause->count == VTAC_GOAL_STEPS) {
        return fault(r, r->at, "the expression is too long");
    }
    r->clause->steps[r->clause->count++] = step;
    return VTA_OK;
}

/* Names what there is, where a name is none. */
static vta_status no_measure(const goal_reader *r, const char *at, const char *name)
{
    const char *names[VTAC_MEASURES];
    vta_str list = {0};
    for (int i = 0; i < VTAC_MEASURES; i++) {
        names[i] = rows[i].name;
        vta_str_printf(&list, "%s%s", i > 0 ? ", " : "", rows[i].name);
    }
    const char *near = vta_nearest(name, names, VTAC_MEASURES);
    const vta_status status = vta_fail(
        r->diag, VTA_SYNTAX,
        "'%s': column %u: no measure is called '%s'%s%s%s; there are %s, and NETWORK.fps, .ms, .cycles",
        r->text, column_of(r, at), name, near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
        near != NULL ? "'?" : "", list.text != NULL ? list.text : "others");
    vta_str_free(&list);
    return status;
}

/* "tiny_kws.ms": behind a network's name, which may have dots itself. */
static vta_status read_of_network(goal_reader *r, uint32_t network)
{
    const char *begin = r->at;
    for (uint32_t m = 0; m < VTAC_NETWORK_MEASURES; m++) {
        const size_t size = strlen(of_networks[m]);
        if (strncmp(r->at, of_networks[m], size) == 0 && !is_of_name(r->at[size])) {
            r->at += size;
            return add_step(r, (vtac_goal_step){.op = 'o', .which = m, .network = network});
        }
    }
    return fault(r, begin, "a network has fps, ms and cycles");
}

static vta_status read_name(goal_reader *r)
{
    const char *begin = r->at;
    char name[NAME];
    for (uint32_t n = 0; n < r->network_count; n++) {
        const size_t size = strlen(r->networks[n]);
        if (strncmp(r->at, r->networks[n], size) == 0 && r->at[size] == '.') {
            r->at += size + 1;
            return read_of_network(r, n);
        }
    }
    while (is_of_name(*r->at)) {
        r->at++;
    }
    (void)snprintf(name, sizeof name, "%.*s", (int)(r->at - begin), begin);
    if (*r->at == '.') {
        return fault(r, begin, "no network of '--models' has that name");
    }
    for (uint32_t m = 0; m < VTAC_MEASURES; m++) {
        if (strcmp(name, rows[m].name) == 0) {
            return add_step(r, (vtac_goal_step){.op = 'm', .which = m});
        }
    }
    return no_measure(r, begin, name);
}

static vta_status read_sum(goal_reader *r);

static vta_status read_factor(goal_reader *r)
{
    skip_blanks(r);
    if (*r->at == '(' || *r->at == '-') {
        const char *begin = r->at++;
        if (++r->depth > DEEPEST) {
            return fault(r, begin, "too many parentheses");
        }
        VTA_TRY(*begin == '(' ? read_sum(r) : read_factor(r));
        r->depth--;
        if (*begin == '-') {
            return add_step(r, (vtac_goal_step){.op = '~'});
        }
        skip_blanks(r);
        if (*r->at != ')') {
            return fault(r, r->at, "expected ')'");
        }
        r->at++;
        return VTA_OK;
    }
    if (isdigit((unsigned char)*r->at) || *r->at == '.') {
        char *end;
        const double number = strtod(r->at, &end);
        if (end == r->at || is_of_name(*end)) {
            return fault(r, end, "expected a number");
        }
        r->at = end;
        return add_step(r, (vtac_goal_step){.op = 'n', .number = number});
    }
    return is_of_name(*r->at) ? read_name(r) : fault(r, r->at, "expected a measure, a number or '('");
}

static vta_status read_product(goal_reader *r)
{
    VTA_TRY(read_factor(r));
    for (skip_blanks(r); *r->at == '*' || *r->at == '/'; skip_blanks(r)) {
        const char op = *r->at++;
        VTA_TRY(read_factor(r));
        VTA_TRY(add_step(r, (vtac_goal_step){.op = op}));
    }
    return VTA_OK;
}

static vta_status read_sum(goal_reader *r)
{
    VTA_TRY(read_product(r));
    for (skip_blanks(r); *r->at == '+' || *r->at == '-'; skip_blanks(r)) {
        const char op = *r->at++;
        VTA_TRY(read_product(r));
        VTA_TRY(add_step(r, (vtac_goal_step){.op = op}));
    }
    return VTA_OK;
}

/* An objective: a measure has its own direction, anything else needs 'max' or 'min'. What is to be maximal is
 * negated. */
static vta_status read_direction(goal_reader *r, const char *begin, bool max, bool min)
{
    const vtac_goal_clause *c = r->clause;
    const vtac_goal_step *only = c->count == 1 ? &c->steps[0] : NULL;
    const bool known = only != NULL && only->op != 'n';
    if (!known && !max && !min) {
        return fault(r, begin, "say 'max' or 'min' before an expression that is the objective");
    }
    const bool grows = known && (only->op == 'm' ? rows[only->which].grows : only->which == VTAC_NETWORK_FPS);
    return max || (grows && !min) ? add_step(r, (vtac_goal_step){.op = '~'}) : VTA_OK;
}

/* "left < right" is kept where left - right < 0. */
static vta_status read_clause(goal_reader *r)
{
    skip_blanks(r);
    const char *begin = r->at;
    const bool max = take_word(r, "max"), min = !max && take_word(r, "min");
    vtac_goal_clause *c = r->clause;
    VTA_TRY(read_sum(r));
    skip_blanks(r);
    const char op = *r->at;
    if (op != '<' && op != '>') {
        VTA_TRY(read_direction(r, begin, max, min));
    } else {
        if (max || min) {
            return fault(r, begin, "a limit has no 'max' or 'min'");
        }
        r->at++;
        c->limit = true;
        c->strict = *r->at != '=';
        r->at += *r->at == '=';
        VTA_TRY(read_sum(r));
        VTA_TRY(add_step(r, (vtac_goal_step){.op = '-'}));
        VTA_TRY(op == '>' ? add_step(r, (vtac_goal_step){.op = '~'}) : VTA_OK);
        skip_blanks(r);
    }
    c->at = (uint32_t)(begin - r->text);
    c->length = (uint32_t)(r->at - begin);
    while (c->length > 0 && begin[c->length - 1] == ' ') {
        c->length--;
    }
    return VTA_OK;
}

static vta_status read_clauses(goal_reader *r)
{
    uint32_t objectives = 0;
    for (bool more = true; more;) {
        if (r->goal->count == VTAC_GOAL_CLAUSES) {
            return fault(r, r->at, "too many parts");
        }
        r->clause = &r->goal->clauses[r->goal->count++];
        VTA_TRY(read_clause(r));
        objectives += !r->clause->limit;
        if (objectives > 1) {
            return fault(r, r->text + r->clause->at, "a second objective; limits have '<' or '>'");
        }
        more = take_word(r, "and");
    }
    skip_blanks(r);
    if (*r->at != '\0') {
        return fault(r, r->at, "expected 'and', a comparison or the end");
    }
    return objectives == 1 ? VTA_OK
                           : fault(r, r->at, "limits alone; what is to be best of those that keep them?");
}

vta_status vtac_goal_parse(const char *text, const char *const *networks, uint32_t count, vtac_goal *out,
                           vta_diag *diag)
{
    *out = (vtac_goal){0};
    goal_reader r = {
        .text = text, .at = text, .networks = networks, .network_count = count, .goal = out, .diag = diag};
    if (strlen(text) >= VTAC_GOAL_TEXT) {
        return vta_fail(diag, VTA_RANGE, "an objective has up to %d characters", VTAC_GOAL_TEXT - 1);
    }
    memcpy(out->text, text, strlen(text) + 1);
    return read_clauses(&r);
}

/* A clause's value; NAN where a measure is not known. Its text has been read, so that the stack holds. */
static double value_of(const vtac_goal_clause *c, const vtac_measured *m)
{
    double stack[VTAC_GOAL_STEPS + 2] = {0};
    uint32_t top = 1;
    for (uint32_t i = 0; i < c->count; i++) {
        const vtac_goal_step *s = &c->steps[i];
        switch (s->op) {
        case 'n': stack[++top] = s->number; break;
        case 'm': stack[++top] = m->all[s->which]; break;
        case 'o': stack[++top] = m->networks[s->network][s->which]; break;
        case '~': stack[top] = -stack[top]; break;
        case '+': stack[top - 1] += stack[top]; break;
        case '-': stack[top - 1] -= stack[top]; break;
        case '*': stack[top - 1] *= stack[top]; break;
        case '/': stack[top - 1] /= stack[top]; break;
        default: break;
        }
        top -= s->op == '+' || s->op == '-' || s->op == '*' || s->op == '/';
    }
    return stack[top];
}

double vtac_goal_score(const vtac_goal *goal, const vtac_measured *measured)
{
    double score = HUGE_VAL;
    for (uint32_t i = 0; i < goal->count; i++) {
        if (!goal->clauses[i].limit) {
            score = value_of(&goal->clauses[i], measured);
        }
    }
    return isnan(score) ? HUGE_VAL : score;
}

int vtac_goal_broken(const vtac_goal *goal, const vtac_measured *measured)
{
    for (uint32_t i = 0; i < goal->count; i++) {
        const vtac_goal_clause *c = &goal->clauses[i];
        const double over = c->limit ? value_of(c, measured) : -1;
        if (isnan(over) || over > 0 || (c->strict && over >= 0)) {
            return (int)i;
        }
    }
    return -1;
}

bool vtac_goal_reads(const vtac_goal *goal, vtac_measure measure)
{
    bool found = false;
    for (uint32_t i = 0; i < goal->count; i++) {
        for (uint32_t k = 0; k < goal->clauses[i].count; k++) {
            const vtac_goal_step *s = &goal->clauses[i].steps[k];
            found = found || (s->op == 'm' && s->which == (uint32_t)measure);
        }
    }
    return found;
}
