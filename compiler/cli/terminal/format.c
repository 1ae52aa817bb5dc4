/* SPDX-License-Identifier: Apache-2.0
 *
 * See format.h. A conversion is taken apart, its widths become numbers, and it is printed by itself with the
 * argument of its type.
 */
#include "format.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vta/untrusted.h"

static const char colors[][8] = {[CLI_RED] = "\033[31m", [CLI_GREEN] = "\033[32m", [CLI_USUAL] = "\033[0m"};

const char *cli_color_text(cli_color color, bool fancy)
{
    return fancy ? colors[color] : "";
}

static bool is_color(const char *text)
{
    for (size_t i = 0; i < sizeof colors / sizeof colors[0]; i++) {
        if (text == colors[i]) {
            return true;
        }
    }
    return false;
}

/* The arguments, by reference: what a callee takes is taken. */
typedef struct arguments {
    va_list list;
} arguments;

/* A conversion without its letter and its length ("%-8.3"), the length ("", "l", "ll", "z", "j", "t") and the
 * letter. */
typedef struct conversion {
    char spec[64];
    size_t size;
    int precision; /* -1: none */
    char length[3];
    char letter;
} conversion;

static void add_char(conversion *c, char letter)
{
    if (c->size + 1 < sizeof c->spec - 4) {
        c->spec[c->size++] = letter;
        c->spec[c->size] = '\0';
    }
}

static void add_number(conversion *c, int number)
{
    char digits[16];
    (void)snprintf(digits, sizeof digits, "%d", number);
    for (const char *d = digits; *d != '\0'; d++) {
        add_char(c, *d);
    }
}

/* Flags and width, then the precision, which %s handles by itself. */
static const char *read_width(conversion *c, const char *at, arguments *args)
{
    while (*at != '\0' && strchr("-+ #0", *at) != NULL) {
        add_char(c, *at++);
    }
    if (*at == '*') {
        add_number(c, va_arg(args->list, int));
        return at + 1;
    }
    while (*at >= '0' && *at <= '9') {
        add_char(c, *at++);
    }
    return at;
}

static const char *read_precision(conversion *c, const char *at, arguments *args)
{
    c->precision = -1;
    if (*at != '.') {
        return at;
    }
    at++;
    if (*at == '*') {
        c->precision = va_arg(args->list, int);
        return at + 1;
    }
    for (c->precision = 0; *at >= '0' && *at <= '9' && c->precision < 10000; at++) {
        c->precision = 10 * c->precision + (*at - '0');
    }
    return at;
}

/* Takes the conversion behind a '%' apart; returns what follows it. */
static const char *read_conversion(conversion *c, const char *at, arguments *args)
{
    *c = (conversion){.spec = "%", .size = 1};
    at = read_width(c, at, args);
    at = read_precision(c, at, args);
    for (size_t i = 0; *at != '\0' && strchr("hlzjt", *at) != NULL && i + 1 < sizeof c->length; i++) {
        c->length[i] = *at++;
    }
    c->letter = *at;
    return *at != '\0' ? at + 1 : at;
}

/* The specification with its precision, length and letter. */
static const char *whole_spec(conversion *c, const char *length)
{
    if (c->precision >= 0) {
        add_char(c, '.');
        add_number(c, c->precision);
    }
    for (; *length != '\0'; length++) {
        add_char(c, *length);
    }
    add_char(c, c->letter);
    return c->spec;
}

/* The formats below are parts of one that the compiler has checked. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static void put_integer(vta_str *out, conversion *c, arguments *args)
{
    const bool is_signed = c->letter == 'd' || c->letter == 'i';
    intmax_t value;
    if (strcmp(c->length, "l") == 0) {
        value = va_arg(args->list, long);
    } else if (strcmp(c->length, "ll") == 0) {
        value = va_arg(args->list, long long);
    } else if (strcmp(c->length, "z") == 0) {
        value = (intmax_t)va_arg(args->list, size_t);
    } else if (strcmp(c->length, "j") == 0) {
        value = va_arg(args->list, intmax_t);
    } else if (strcmp(c->length, "t") == 0) {
        value = va_arg(args->list, ptrdiff_t);
    } else if (is_signed) {
        value = va_arg(args->list, int);
    } else {
        value = (intmax_t)va_arg(args->list, unsigned);
    }
    vta_str_printf(out, whole_spec(c, "j"), value);
}

static void put_text(vta_str *out, conversion *c, const char *text)
{
    const char *given = text != NULL ? text : "(null)";
    const size_t size = c->precision >= 0 ? strnlen(given, (size_t)c->precision) : strlen(given);
    char *plain = malloc(size + 1);
    if (plain == NULL) {
        out->failed = true;
        return;
    }
    c->precision = -1;
    if (is_color(given)) {
        memcpy(plain, given, size);
        plain[size] = '\0';
    } else {
        (void)vta_make_plain(given, size, plain, size + 1);
    }
    vta_str_printf(out, whole_spec(c, ""), plain);
    free(plain);
}

static void put_conversion(vta_str *out, conversion *c, arguments *args)
{
    switch (c->letter) {
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
    case 'o': put_integer(out, c, args); break;
    case 'e':
    case 'f':
    case 'g':
    case 'a': vta_str_printf(out, whole_spec(c, ""), va_arg(args->list, double)); break;
    case 'c': {
        const char letter = (char)va_arg(args->list, int);
        vta_str_printf(out, whole_spec(c, ""), letter >= ' ' && letter < '\177' ? letter : '?');
        break;
    }
    case 's': put_text(out, c, va_arg(args->list, const char *)); break;
    case '%': vta_str_put(out, "%"); break;
    default: out->failed = true; break; /* no format of ours has another one */
    }
}

#pragma GCC diagnostic pop

void cli_format(vta_str *out, const char *fmt, va_list list)
{
    arguments args;
    va_copy(args.list, list);
    while (*fmt != '\0') {
        const size_t plain = strcspn(fmt, "%");
        vta_str_append(out, fmt, plain);
        fmt += plain;
        if (*fmt == '%') {
            conversion c;
            fmt = read_conversion(&c, fmt + 1, &args);
            put_conversion(out, &c, &args);
        }
    }
    va_end(args.list);
}

void cli_format_text(vta_str *out, const char *text)
{
    while (*text != '\0' && !out->failed) {
        const size_t size = strcspn(text, "\n\t");
        conversion c = {
            .precision = (int)(size < INT32_MAX ? size : INT32_MAX), .letter = 's', .spec = "%", .size = 1};
        if (size > 0) {
            put_text(out, &c, text);
        }
        text += size;
        if (*text != '\0') {
            vta_str_append(out, text++, 1);
        }
    }
}
