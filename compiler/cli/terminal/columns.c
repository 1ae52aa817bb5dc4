/* SPDX-License-Identifier: Apache-2.0
 *
 * See columns.h. Names of layers differ at both ends ("resnetv15_stage1_conv0_fwd", "..._conv1_fwd"), so that
 * what goes is the middle.
 */
#include "columns.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

int cli_columns(int fd)
{
    enum { USUAL = 80, MIN = 40 };
    struct winsize window = {0};
    if (ioctl(fd, TIOCGWINSZ, &window) != 0 || window.ws_col == 0) {
        return USUAL;
    }
    return window.ws_col < MIN ? MIN : window.ws_col;
}

/* True if a byte continues a character of UTF-8. */
static bool goes_on(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

const char *cli_elide(const char *text, int width, char *out, size_t size)
{
    enum { DOTS = 2 };
    const size_t length = strlen(text);
    size_t max = width < 0 ? 0 : (size_t)width;
    max = max < size ? max : size - 1;
    if (length <= max || max <= DOTS) {
        (void)snprintf(out, size, "%.*s", (int)max, text);
        return out;
    }
    size_t head = (max - DOTS) / 2;
    size_t tail = max - DOTS - head;
    while (head > 0 && goes_on(text[head])) {
        head--;
    }
    while (tail > 0 && goes_on(text[length - tail])) {
        tail--;
    }
    (void)snprintf(out, size, "%.*s..%s", (int)head, text, text + length - tail);
    return out;
}
