/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of layers (layers.def).
 */
#include <string.h>

#include "keras.h"

static const vtac_keras_layer table[] = {
#define KERAS_LAYER(name, fn, how) {name, vtac_keras_make_##fn, how},
#include "layers.def"
};

static const struct {
    const char *class, *why;
} refused[] = {
#define KERAS_REFUSED(class, why) {class, why},
#include "layers.def"
};

const char *vtac_keras_why_not(const char *class)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (strcmp(refused[i].class, class) == 0) {
            return refused[i].why;
        }
    }
    return NULL;
}

const char *vtac_keras_bare_class(const char *class)
{
    const char *end = strrchr(class, '>');
    return end == NULL ? class : end + 1;
}

const vtac_keras_layer *vtac_keras_layer_find(const char *name)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(table[i].name, name) == 0) {
            return &table[i];
        }
    }
    return NULL;
}
