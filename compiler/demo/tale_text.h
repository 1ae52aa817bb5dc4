/* SPDX-License-Identifier: Apache-2.0
 *
 * Little tales: who has a thing, who gets it, who goes where, and four questions whose answers stand in the
 * tale. A tale follows from its seed and number.
 */
#ifndef DEMO_TALE_TEXT_H
#define DEMO_TALE_TEXT_H

#include <stdbool.h>
#include <stdint.h>

enum { TALE_TOKENS = 64, TALE_UNKNOWN = 0, TALE_BEGIN = 1, TALE_END = 2, TALE_FIRST_WORD = 3 };

typedef struct tale {
    uint32_t count;
    uint32_t tokens[TALE_TOKENS];
    bool answers[TALE_TOKENS]; /* a token that answers a question */
} tale;

/* The number of tokens: words, and three in front of them. */
uint32_t demo_tale_vocabulary(void);
/* A token's text; *mark: no space stands in front of it. */
const char *demo_tale_word(uint32_t token, bool *mark);

void demo_tale_draw(uint64_t seed, uint32_t number, tale *out);

#endif
