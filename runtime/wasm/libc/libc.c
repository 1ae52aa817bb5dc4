/* SPDX-License-Identifier: Apache-2.0
 *
 * As much of a C library as the runtime needs where there is nothing below it but linear memory: text, a heap
 * that grows the memory, numbers as text. The module asks its surroundings for one thing, the time.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

int errno;

/* ---- bytes and text */

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    return __builtin_memcpy(to, from, size); /* an instruction */
}

void *memmove(void *to, const void *from, size_t size)
{
    return __builtin_memmove(to, from, size);
}

void *memset(void *to, int byte, size_t size)
{
    return __builtin_memset(to, byte, size);
}

int memcmp(const void *a, const void *b, size_t size)
{
    const unsigned char *p = a;
    const unsigned char *q = b;
    for (size_t i = 0; i < size; i++) {
        if (p[i] != q[i]) {
            return p[i] - q[i];
        }
    }
    return 0;
}

void *memchr(const void *bytes, int byte, size_t size)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < size; i++) {
        if (p[i] == (unsigned char)byte) {
            return (void *)(uintptr_t)(p + i);
        }
    }
    return NULL;
}

size_t strlen(const char *text)
{
    size_t size = 0;
    while (text[size] != '\0') {
        size++;
    }
    return size;
}

int strncmp(const char *a, const char *b, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (a[i] != b[i] || a[i] == '\0') {
            return (unsigned char)a[i] - (unsigned char)b[i];
        }
    }
    return 0;
}

int strcmp(const char *a, const char *b)
{
    return strncmp(a, b, SIZE_MAX);
}

char *strchr(const char *text, int byte)
{
    return memchr(text, byte, strlen(text) + 1);
}

char *strrchr(const char *text, int byte)
{
    for (size_t i = strlen(text) + 1; i > 0; i--) {
        if (text[i - 1] == (char)byte) {
            return (char *)(uintptr_t)(text + i - 1);
        }
    }
    return NULL;
}

size_t strcspn(const char *text, const char *stops)
{
    size_t size = 0;
    while (text[size] != '\0' && strchr(stops, text[size]) == NULL) {
        size++;
    }
    return size;
}

size_t strspn(const char *text, const char *members)
{
    size_t size = 0;
    while (text[size] != '\0' && strchr(members, text[size]) != NULL) {
        size++;
    }
    return size;
}

char *strcpy(char *to, const char *from)
{
    return memcpy(to, from, strlen(from) + 1);
}

char *strdup(const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    return copy != NULL ? memcpy(copy, text, size) : NULL;
}

char *strerror(int number)
{
    static char text[] = "no memory";
    static char other[] = "not there";
    return number == ENOMEM ? text : other;
}

char *getenv(const char *name)
{
    (void)name;
    return NULL;
}

int isdigit(int byte)
{
    return byte >= '0' && byte <= '9';
}

int isxdigit(int byte)
{
    return isdigit(byte) || (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
}

int isalpha(int byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

int isalnum(int byte)
{
    return isalpha(byte) || isdigit(byte);
}

int isspace(int byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

int isprint(int byte)
{
    return byte >= ' ' && byte <= '~';
}

int tolower(int byte)
{
    return byte >= 'A' && byte <= 'Z' ? byte - 'A' + 'a' : byte;
}

int toupper(int byte)
{
    return byte >= 'a' && byte <= 'z' ? byte - 'a' + 'A' : byte;
}

static unsigned digit_of(char byte)
{
    return isdigit(byte) ? (unsigned)(byte - '0') : isalpha(byte) ? (unsigned)(tolower(byte) - 'a') + 10 : 99;
}

/* Digits alone: no sign; a base of 0 is 16 behind "0x", otherwise 10. */
unsigned long long strtoull(const char *text, char **end, int base)
{
    unsigned long long value = 0;
    const char *at = text;
    while (isspace(*at)) {
        at++;
    }
    const bool hex = at[0] == '0' && (at[1] == 'x' || at[1] == 'X') && isxdigit(at[2]);
    if (hex && (base == 0 || base == 16)) {
        at += 2;
        base = 16;
    }
    base = base == 0 ? 10 : base;
    const char *first = at;
    for (; digit_of(*at) < (unsigned)base; at++) {
        unsigned long long more = 0;
        if (__builtin_mul_overflow(value, (unsigned long long)base, &more) ||
            __builtin_add_overflow(more, (unsigned long long)digit_of(*at), &value)) {
            value = UINT64_MAX;
        }
    }
    if (end != NULL) {
        *end = (char *)(uintptr_t)(at != first ? at : text);
    }
    return value;
}

static double power_of_ten(int exponent)
{
    double value = 1;
    for (; exponent > 0 && value < 1e300; exponent--) {
        value *= 10;
    }
    return value;
}

/* Decimal numbers, exact where the digits are an integer below 2^53 and the exponent is at most 22. */
double strtod(const char *text, char **end)
{
    const char *at = text;
    const bool negative = *at == '-';
    at += *at == '-' || *at == '+';
    double value = 0;
    int exponent = 0;
    const char *first = at;
    for (; isdigit(*at); at++) {
        value = value * 10 + (*at - '0');
    }
    bool any = at != first;
    if (*at == '.') {
        for (at++; isdigit(*at); at++, any = true) {
            value = value * 10 + (*at - '0');
            exponent--;
        }
    }
    if (any && (*at == 'e' || *at == 'E')) {
        const char *more = at + 1;
        const bool minus = *more == '-';
        more += *more == '-' || *more == '+';
        if (isdigit(*more)) {
            const unsigned long long size = strtoull(more, (char **)(uintptr_t)&at, 10);
            const int given = size > 9999 ? 9999 : (int)size;
            exponent += minus ? -given : given;
        }
    }
    value = exponent < 0 ? value / power_of_ten(-exponent) : value * power_of_ten(exponent);
    if (end != NULL) {
        *end = (char *)(uintptr_t)(any ? at : text);
    }
    return negative ? -value : value;
}

double floor(double x)
{
    return __builtin_floor(x); /* an instruction */
}

/* ---- arithmetic that the compiler calls by these names */

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;

/* The lower 64 bits' product in four parts; the upper ones meet them once. */
wide __multi3(wide a, wide b);
wide __multi3(wide a, wide b)
{
    const uint64_t mask = UINT32_MAX;
    const uint64_t x = (uint64_t)a;
    const uint64_t y = (uint64_t)b;
    const uint64_t low = (x & mask) * (y & mask);
    const uint64_t one = (x >> 32) * (y & mask) + (low >> 32);
    const uint64_t two = (x & mask) * (y >> 32) + (one & mask);
    const uint64_t high = (x >> 32) * (y >> 32) + (one >> 32) + (two >> 32);
    const uint64_t upper = high + (uint64_t)(a >> 64) * y + x * (uint64_t)(b >> 64);
    return (wide)((unsigned_wide)upper << 64 | ((two << 32) | (low & mask)));
}

/* The rest of x / y as C has it, exact: the divisor is taken away at each power of two at which it fits. */
double fmod(double x, double y);
double fmod(double x, double y)
{
    double rest = __builtin_fabs(x);
    const double divisor = __builtin_fabs(y);
    if (!(rest < INFINITY) || !(divisor > 0)) {
        return NAN;
    }
    while (rest >= divisor) {
        double max = divisor;
        while (max <= rest - max) {
            max *= 2;
        }
        rest -= max;
    }
    return __builtin_copysign(rest, x);
}

float fmodf(float x, float y);
float fmodf(float x, float y)
{
    return (float)fmod(x, y); /* which is a float */
}

/* ---- the heap: blocks one behind the other to the end of memory, a head of two words before each */

typedef struct head {
    size_t size;   /* with the head, a multiple of UNIT; its lowest bit: taken */
    size_t before; /* of the block before it; 0: the first */
} head;
enum { UNIT = 16, PAGE = 65536 };
_Static_assert(sizeof(head) <= UNIT, "a head fits before a block");

extern unsigned char __heap_base; /* behind data and stack: the linker's */
static uintptr_t first, end;      /* of the heap; the last head, of size UNIT, is taken and ends it */

static head *head_at(uintptr_t at)
{
    return (head *)at;
}

static size_t size_of(uintptr_t at)
{
    return head_at(at)->size & ~(size_t)1;
}

static bool taken(uintptr_t at)
{
    return (head_at(at)->size & 1) != 0;
}

/* A block of that size at `at`, and the word about it behind it. */
static void lay(uintptr_t at, size_t size, size_t before, bool is_taken)
{
    *head_at(at) = (head){size | (is_taken ? 1 : 0), before};
    head_at(at + size)->before = size;
}

/* Joined with free neighbours on both sides. */
static uintptr_t join(uintptr_t at)
{
    size_t size = size_of(at);
    size_t before = head_at(at)->before;
    if (!taken(at + size)) {
        size += size_of(at + size);
    }
    if (before != 0 && !taken(at - before)) {
        at -= before;
        size += before;
        before = head_at(at)->before;
    }
    lay(at, size, before, false);
    return at;
}

/* At least that much more behind what there is; the address of the free block, 0 without memory. */
static uintptr_t grow(size_t size)
{
    if (first == 0) {
        first = end = ((uintptr_t)&__heap_base + UNIT - 1) / UNIT * UNIT;
        const size_t there = __builtin_wasm_memory_size(0) * (size_t)PAGE - first;
        if (there < 2 * UNIT && __builtin_wasm_memory_grow(0, 1) == SIZE_MAX) {
            first = 0;
            return 0;
        }
        end = __builtin_wasm_memory_size(0) * (size_t)PAGE - UNIT;
        *head_at(end) = (head){UNIT | 1, 0};
        lay(first, end - first, 0, false);
        return grow(size);
    }
    const size_t last = head_at(end)->before;
    const bool fits = last != 0 && !taken(end - last) && last >= size;
    if (fits) {
        return end - last;
    }
    const size_t pages = size / PAGE + 2;
    if (size > SIZE_MAX - 2 * (size_t)PAGE || __builtin_wasm_memory_grow(0, pages) == SIZE_MAX) {
        return 0;
    }
    const uintptr_t at = end;
    end += pages * PAGE;
    *head_at(end) = (head){UNIT | 1, 0};
    lay(at, pages * PAGE, last, false);
    return join(at);
}

/* The part of a free block that is not needed stays free. */
static void *take(uintptr_t at, size_t size)
{
    const size_t all = size_of(at);
    const size_t before = head_at(at)->before;
    if (all - size >= 2 * UNIT) {
        lay(at, size, before, true);
        lay(at + size, all - size, size, false);
    } else {
        lay(at, all, before, true);
    }
    return (void *)(at + UNIT);
}

void *malloc(size_t bytes)
{
    if (bytes > SIZE_MAX / 2) {
        errno = ENOMEM;
        return NULL;
    }
    const size_t size = (bytes + 2 * UNIT - 1) / UNIT * UNIT;
    for (uintptr_t at = first; first != 0 && at < end; at += size_of(at)) {
        if (!taken(at) && size_of(at) >= size) {
            return take(at, size);
        }
    }
    const uintptr_t at = grow(size);
    if (at == 0) {
        errno = ENOMEM;
        return NULL;
    }
    return take(at, size);
}

void free(void *memory)
{
    if (memory != NULL) {
        const uintptr_t at = (uintptr_t)memory - UNIT;
        head_at(at)->size &= ~(size_t)1;
        (void)join(at);
    }
}

void *calloc(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    void *memory = malloc(bytes);
    return memory != NULL ? memset(memory, 0, bytes) : NULL;
}

void *realloc(void *memory, size_t bytes)
{
    if (memory == NULL) {
        return malloc(bytes);
    }
    const size_t had = size_of((uintptr_t)memory - UNIT) - UNIT;
    if (bytes <= had) {
        return memory;
    }
    void *more = malloc(bytes);
    if (more != NULL) {
        memcpy(more, memory, had);
        free(memory);
    }
    return more;
}

/* A block with room, cut so that what is given begins where it should. */
void *aligned_alloc(size_t alignment, size_t bytes)
{
    if (alignment <= UNIT) {
        return malloc(bytes);
    }
    if (bytes > SIZE_MAX / 2 || alignment > SIZE_MAX / 4) {
        errno = ENOMEM;
        return NULL;
    }
    void *memory = malloc(bytes + alignment + UNIT);
    if (memory == NULL || (uintptr_t)memory % alignment == 0) {
        return memory;
    }
    const uintptr_t at = (uintptr_t)memory - UNIT;
    const uintptr_t to = ((uintptr_t)memory + UNIT) / alignment * alignment + alignment - UNIT;
    const size_t all = size_of(at);
    const size_t lead = to - at;
    lay(at, lead, head_at(at)->before, true);
    lay(to, all - lead, lead, true);
    free(memory);
    return (void *)(to + UNIT);
}

void *mmap(void *at, size_t bytes, int protection, int flags, int file, long long offset)
{
    (void)protection;
    (void)offset;
    if (at != NULL || file != -1 || (flags & MAP_ANONYMOUS) == 0) {
        return MAP_FAILED;
    }
    void *memory = aligned_alloc(4096, bytes);
    return memory != NULL ? memset(memory, 0, bytes) : MAP_FAILED;
}

int munmap(void *at, size_t bytes)
{
    (void)bytes;
    free(at);
    return 0;
}

_Noreturn void abort(void)
{
    __builtin_trap();
}

/* ---- order: by exchanging over gaps that halve */

void qsort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    unsigned char *p = items;
    for (size_t gap = count / 2; gap > 0; gap /= 2) {
        for (size_t i = gap; i < count; i++) {
            for (size_t k = i; k >= gap && compare(p + (k - gap) * size, p + k * size) > 0; k -= gap) {
                for (size_t b = 0; b < size; b++) {
                    const unsigned char other = p[(k - gap) * size + b];
                    p[(k - gap) * size + b] = p[k * size + b];
                    p[k * size + b] = other;
                }
            }
        }
    }
}

/* ---- the time */

__attribute__((import_module("env"), import_name("now"))) double vta_wasm_now(void); /* seconds */

int clock_gettime(clockid_t clock, struct timespec *out)
{
    (void)clock;
    const double now = vta_wasm_now();
    out->tv_sec = (time_t)now;
    out->tv_nsec = (long)((now - (double)out->tv_sec) * 1e9);
    return 0;
}

/* ---- numbers as text */

typedef struct printer {
    char *to;
    size_t size, count;
} printer;

/* %[flags][width][.precision]: what stands before the letter. */
typedef struct form {
    bool left, zeros, plus, alternate;
    int width, precision, longs;
} form;

static void put(printer *p, char byte)
{
    if (p->count + 1 < p->size) {
        p->to[p->count] = byte;
    }
    p->count++;
}

static void put_times(printer *p, char byte, int times)
{
    for (int i = 0; i < times; i++) {
        put(p, byte);
    }
}

/* A sign or prefix and a text, in its field. */
static void put_field(printer *p, const form *f, const char *sign, const char *text, int size, int zeros)
{
    const int all = (int)strlen(sign) + zeros + size;
    const int fill = f->width > all ? f->width - all : 0;
    put_times(p, ' ', f->left || f->zeros ? 0 : fill);
    for (; *sign != '\0'; sign++) {
        put(p, *sign);
    }
    put_times(p, '0', zeros + (f->zeros && !f->left ? fill : 0));
    for (int i = 0; i < size; i++) {
        put(p, text[i]);
    }
    put_times(p, ' ', f->left ? fill : 0);
}

static void put_number(printer *p, form *f, unsigned long long value, const char *sign, unsigned base,
                       bool large)
{
    char digits[24];
    int size = 0;
    for (; value != 0 || (size == 0 && f->precision != 0); value /= base) {
        const char digit = "0123456789abcdef"[value % base];
        digits[sizeof digits - 1 - (size_t)size++] = large ? (char)toupper(digit) : digit;
    }
    f->zeros = f->zeros && f->precision < 0;
    put_field(p, f, sign, digits + sizeof digits - (size_t)size, size,
              f->precision > size ? f->precision - size : 0);
}

static unsigned long long next_unsigned(const form *f, va_list *arguments)
{
    return f->longs >= 2 ? va_arg(*arguments, unsigned long long) : va_arg(*arguments, unsigned long);
}

static long long next_signed(const form *f, va_list *arguments)
{
    return f->longs >= 2 ? va_arg(*arguments, long long) : va_arg(*arguments, long);
}

/* As %f has it, six digits unless told; enough for a line about seconds. */
static void put_real(printer *p, form *f, double value)
{
    char text[48];
    int size = 0;
    const int places = f->precision < 0 ? 6 : f->precision > 9 ? 9 : f->precision;
    const bool negative = value < 0;
    double scale = 1;
    for (int i = 0; i < places; i++) {
        scale *= 10;
    }
    value = (negative ? -value : value) * scale + 0.5;
    if (!(value < 1e18)) {
        put_field(p, f, negative ? "-" : "", "inf", 3, 0);
        return;
    }
    unsigned long long whole = (unsigned long long)value;
    for (int i = 0; whole != 0 || i <= places; i++) {
        if (i == places && places > 0) {
            text[sizeof text - 1 - (size_t)size++] = '.';
        }
        text[sizeof text - 1 - (size_t)size++] = (char)('0' + whole % 10);
        whole /= 10;
    }
    put_field(p, f, negative ? "-" : f->plus ? "+" : "", text + sizeof text - (size_t)size, size, 0);
}

static void put_argument(printer *p, form *f, char letter, va_list *arguments)
{
    switch (letter) {
    case 'd':
    case 'i': {
        const long long value = next_signed(f, arguments);
        const unsigned long long size = value < 0 ? 0 - (unsigned long long)value : (unsigned long long)value;
        put_number(p, f, size, value < 0 ? "-" : f->plus ? "+" : "", 10, false);
        break;
    }
    case 'u': put_number(p, f, next_unsigned(f, arguments), "", 10, false); break;
    case 'x':
    case 'X': {
        const unsigned long long value = next_unsigned(f, arguments);
        put_number(p, f, value, f->alternate && value != 0 ? "0x" : "", 16, letter == 'X');
        break;
    }
    case 'p': put_number(p, f, (uintptr_t)va_arg(*arguments, void *), "0x", 16, false); break;
    case 'c': {
        const char byte = (char)va_arg(*arguments, int);
        put_field(p, f, "", &byte, 1, 0);
        break;
    }
    case 's': {
        const char *text = va_arg(*arguments, const char *);
        int size = 0;
        while ((f->precision < 0 || size < f->precision) && text[size] != '\0') {
            size++;
        }
        put_field(p, f, "", text, size, 0);
        break;
    }
    case 'f':
    case 'g':
    case 'e': put_real(p, f, va_arg(*arguments, double)); break;
    default: put(p, letter); break;
    }
}

static int read_size(const char **at, va_list *arguments)
{
    int size = 0;
    if (**at == '*') {
        (*at)++;
        return va_arg(*arguments, int);
    }
    for (; isdigit(**at); (*at)++) {
        size = size * 10 + (**at - '0');
    }
    return size;
}

static form read_form(const char **at, va_list *arguments)
{
    form f = {.precision = -1};
    for (;; (*at)++) {
        switch (**at) {
        case '-': f.left = true; continue;
        case '0': f.zeros = true; continue;
        case '+': f.plus = true; continue;
        case '#': f.alternate = true; continue;
        case ' ': continue;
        default: break;
        }
        break;
    }
    f.width = read_size(at, arguments);
    if (f.width < 0) {
        f.left = true;
        f.width = -f.width;
    }
    if (**at == '.') {
        (*at)++;
        f.precision = read_size(at, arguments);
    }
    for (; **at == 'l' || **at == 'z' || **at == 'h' || **at == 't' || **at == 'j'; (*at)++) {
        f.longs += **at == 'l' ? 1 : **at == 'j' ? 2 : 0;
    }
    return f;
}

int vsnprintf(char *to, size_t size, const char *text, va_list given)
{
    printer p = {to, size, 0};
    va_list arguments;
    va_copy(arguments, given);
    while (*text != '\0') {
        const char byte = *text++;
        if (byte != '%') {
            put(&p, byte);
            continue;
        }
        form f = read_form(&text, &arguments);
        put_argument(&p, &f, *text, &arguments);
        text += *text != '\0';
    }
    va_end(arguments);
    if (size > 0) {
        to[p.count < size ? p.count : size - 1] = '\0';
    }
    return (int)p.count;
}

int snprintf(char *to, size_t size, const char *text, ...)
{
    va_list arguments;
    va_start(arguments, text);
    const int count = vsnprintf(to, size, text, arguments);
    va_end(arguments);
    return count;
}
