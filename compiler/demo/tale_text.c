/* SPDX-License-Identifier: Apache-2.0 */
#include "tale_text.h"

#include <string.h>

typedef enum word_kind { WORD_NAME, WORD_THING, WORD_COLOR, WORD_PLACE, WORD_OTHER, WORD_MARK } word_kind;

typedef struct tale_word {
    word_kind kind;
    const char *text;
} tale_word;

static const tale_word words[] = {
#define WORD(kind_, text_) {WORD_##kind_, text_},
#include "tale_words.def"
#undef WORD
};
enum { WORDS = sizeof words / sizeof words[0] };

uint32_t demo_tale_vocabulary(void)
{
    return TALE_FIRST_WORD + WORDS;
}

const char *demo_tale_word(uint32_t token, bool *mark)
{
    static const char *const first[] = {"<unk>", "<s>", "</s>"};
    *mark = token < TALE_FIRST_WORD || words[token - TALE_FIRST_WORD].kind == WORD_MARK;
    return token < TALE_FIRST_WORD ? first[token] : words[token - TALE_FIRST_WORD].text;
}

/* ---- chance */

static uint32_t draw_below(uint64_t *state, uint32_t end)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (uint32_t)((*state * UINT64_C(0x2545f4914f6cdd1d)) >> 40) % end;
}

static uint32_t token_of(const char *text)
{
    uint32_t i = 0;
    while (strcmp(words[i].text, text) != 0) {
        i++;
    }
    return TALE_FIRST_WORD + i;
}

/* Draws a word of a kind, but not `other`. */
static uint32_t draw_word(uint64_t *state, word_kind kind, uint32_t other)
{
    uint32_t first = 0;
    uint32_t count = 0;
    while (words[first].kind != kind) {
        first++;
    }
    while (words[first + count].kind == kind) {
        count++;
    }
    const uint32_t drawn = TALE_FIRST_WORD + first + draw_below(state, count);
    return drawn != other ? drawn : draw_word(state, kind, other);
}

/* ---- a tale */

typedef struct tale_state {
    tale *out;
    uint64_t chance;
    uint32_t names[2], thing, color;
    uint32_t owner;    /* of the thing: which of the two */
    uint32_t place[2]; /* of each of the two; 0: it was not told */
} tale_state;

static void add_token(tale_state *s, uint32_t token)
{
    s->out->tokens[s->out->count++] = token;
}

/* Adds the words of a sentence; `slots` stand for each '*'. */
static void add_sentence(tale_state *s, const char *sentence, const uint32_t *slots)
{
    char word[16];
    for (const char *at = sentence; *at != '\0'; at += *at == ' ') {
        const size_t size = strcspn(at, " ");
        memcpy(word, at, size);
        word[size] = '\0';
        add_token(s, word[0] == '*' ? *slots++ : token_of(word));
        at += size;
    }
}

static void add_event(tale_state *s)
{
    if (draw_below(&s->chance, 2) == 0) {
        const uint32_t slots[] = {s->names[s->owner], s->thing, s->names[1 - s->owner]};
        add_sentence(s, "* gives the * to * .", slots);
        s->owner = 1 - s->owner;
        return;
    }
    const uint32_t who = draw_below(&s->chance, 2);
    s->place[who] = draw_word(&s->chance, WORD_PLACE, s->place[who]);
    const uint32_t slots[] = {s->names[who], s->place[who]};
    add_sentence(s, "* goes to the * .", slots);
}

static void add_answer(tale_state *s, const char *before, uint32_t answer)
{
    add_sentence(s, before, &answer);
    s->out->answers[s->out->count] = true;
    add_token(s, answer);
    add_token(s, token_of("."));
}

static void add_question(tale_state *s)
{
    const uint32_t kind = draw_below(&s->chance, 3);
    const uint32_t who = s->place[0] == 0 || (s->place[1] != 0 && draw_below(&s->chance, 2) == 0);
    if (kind == 0) {
        add_sentence(s, "Who has the *", &s->thing);
        add_answer(s, "?", s->names[s->owner]);
    } else if (kind == 1 || s->place[who] == 0) {
        add_sentence(s, "What color is the *", &s->thing);
        add_answer(s, "?", s->color);
    } else {
        add_sentence(s, "Where is *", &s->names[who]);
        add_answer(s, "? In the", s->place[who]);
    }
}

void demo_tale_draw(uint64_t seed, uint32_t number, tale *out)
{
    tale_state s = {.out = out, .chance = (seed << 32 | number) * UINT64_C(0x9e3779b97f4a7c15) + 1};
    *out = (tale){0};
    s.names[0] = draw_word(&s.chance, WORD_NAME, 0);
    s.names[1] = draw_word(&s.chance, WORD_NAME, s.names[0]);
    s.thing = draw_word(&s.chance, WORD_THING, 0);
    s.color = draw_word(&s.chance, WORD_COLOR, 0);
    const uint32_t slots[] = {s.names[0], s.color, s.thing};
    add_token(&s, TALE_BEGIN);
    add_sentence(&s, "* has a * * .", slots);
    for (int i = 0; i < 3; i++) {
        add_event(&s);
    }
    for (int i = 0; i < 4; i++) {
        add_question(&s);
    }
    add_token(&s, TALE_END);
}
