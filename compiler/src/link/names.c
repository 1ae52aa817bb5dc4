/* SPDX-License-Identifier: Apache-2.0
 *
 * Libraries with names alone, as ELF: a table of symbols, its strings, and a dynamic section that says what
 * the library is called. That is all that a linker reads of a library beside its header. See names.h.
 */
#include "names.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "vta/file.h"

enum { MAX = 4096 };
enum { SYMBOLS = 1, STRINGS, DYNAMIC, CODE, SECTIONS };

typedef struct name_maker {
    uint8_t bytes[MAX];
    size_t at; /* beyond MAX, nothing is kept */
    bool is_wide;
} name_maker;

static void put_bytes(name_maker *m, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++, m->at++) {
        if (m->at < MAX) {
            m->bytes[m->at] = (uint8_t)(value >> (8 * i));
        }
    }
}

static void put_half(name_maker *m, uint32_t value)
{
    put_bytes(m, value, 2);
}

static void put_word(name_maker *m, uint32_t value)
{
    put_bytes(m, value, 4);
}

/* An address or a size, as long as the processor's. */
static void put_address(name_maker *m, uint64_t value)
{
    put_bytes(m, value, m->is_wide ? 8 : 4);
}

static void put_text(name_maker *m, const char *text)
{
    do {
        put_bytes(m, (uint8_t)*text, 1);
    } while (*text++ != '\0');
}

/* A function at the beginning of the code; without a name, the empty first row that each table has. */
static void put_symbol(name_maker *m, uint32_t name)
{
    const uint8_t info = name == 0 ? 0 : ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    const uint32_t section = name == 0 ? 0 : CODE;
    put_word(m, name);
    if (!m->is_wide) {
        put_address(m, 0);
        put_address(m, 0);
    }
    put_half(m, info); /* and st_other, which is 0 */
    put_half(m, section);
    if (m->is_wide) {
        put_address(m, 0);
        put_address(m, 0);
    }
}

typedef struct section {
    uint32_t type, link, info;
    uint64_t flags, offset, size, entry;
} section;

static void put_section(name_maker *m, const section *s)
{
    put_word(m, 0);
    put_word(m, s->type);
    put_address(m, s->flags);
    put_address(m, 0);
    put_address(m, s->offset);
    put_address(m, s->size);
    put_word(m, s->link);
    put_word(m, s->info);
    put_address(m, s->type == SHT_NULL ? 0 : 8);
    put_address(m, s->entry);
}

/* The header: its first bytes, processor and flags are the object's. */
static void put_header(name_maker *m, const uint8_t *object, size_t sections)
{
    const size_t flags = m->is_wide ? offsetof(Elf64_Ehdr, e_flags) : offsetof(Elf32_Ehdr, e_flags);
    memcpy(m->bytes, object, EI_NIDENT);
    m->at = EI_NIDENT;
    put_half(m, ET_DYN);
    put_half(m, object[offsetof(Elf64_Ehdr, e_machine)] |
                    (uint32_t)object[offsetof(Elf64_Ehdr, e_machine) + 1] << 8);
    put_word(m, EV_CURRENT);
    put_address(m, 0);
    put_address(m, 0);
    put_address(m, sections);
    for (size_t i = 0; i < 4; i++) {
        put_bytes(m, object[flags + i], 1);
    }
    put_half(m, m->is_wide ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr));
    put_half(m, 0);
    put_half(m, 0);
    put_half(m, m->is_wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr));
    put_half(m, SECTIONS);
    put_half(m, STRINGS); /* names of sections, of which there is the empty one */
}

static void put_strings(name_maker *m, const char *soname, const char *const *names)
{
    put_text(m, "");
    put_text(m, soname);
    for (; *names != NULL; names++) {
        put_text(m, *names);
    }
}

static void put_symbols(name_maker *m, const char *soname, const char *const *names)
{
    uint32_t name = 1 + (uint32_t)strlen(soname) + 1;
    put_symbol(m, 0);
    for (; *names != NULL; names++) {
        put_symbol(m, name);
        name += (uint32_t)strlen(*names) + 1;
    }
}

/* Writes the parts behind the header and notes their places; returns the place of the table of sections. */
static size_t put_parts(name_maker *m, const char *soname, const char *const *names)
{
    const size_t symbols = m->at;
    put_symbols(m, soname, names);
    const size_t dynamic = m->at;
    put_address(m, DT_SONAME);
    put_address(m, 1);
    put_address(m, DT_NULL);
    put_address(m, 0);
    const size_t strings = m->at;
    put_strings(m, soname, names);
    put_bytes(m, 0, (8 - m->at % 8) % 8);
    const size_t sections = m->at;
    const section all[SECTIONS] = {
        [SYMBOLS] = {.type = SHT_DYNSYM,
                     .flags = SHF_ALLOC,
                     .link = STRINGS,
                     .info = 1, /* the first that others see */
                     .offset = symbols,
                     .size = dynamic - symbols,
                     .entry = m->is_wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym)},
        [STRINGS] = {.type = SHT_STRTAB, .flags = SHF_ALLOC, .offset = strings, .size = sections - strings},
        [DYNAMIC] = {.type = SHT_DYNAMIC,
                     .flags = SHF_ALLOC,
                     .link = STRINGS,
                     .offset = dynamic,
                     .size = strings - dynamic,
                     .entry = m->is_wide ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn)},
        [CODE] = {.type = SHT_NOBITS, .flags = SHF_ALLOC | SHF_EXECINSTR, .offset = sections, .size = 8},
    };
    for (size_t i = 0; i < SECTIONS; i++) {
        put_section(m, &all[i]);
    }
    return sections;
}

vta_status vtac_write_names(const uint8_t *object, size_t bytes, const char *soname, const char *const *names,
                            const char *path, vta_diag *diag)
{
    if (bytes < sizeof(Elf64_Ehdr) || memcmp(object, ELFMAG, SELFMAG) != 0 ||
        object[EI_DATA] != ELFDATA2LSB) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "the processor's objects are no little-endian ELF, which a link needs");
    }
    name_maker m = {.is_wide = object[EI_CLASS] == ELFCLASS64};
    put_header(&m, object, 0);
    const size_t sections = put_parts(&m, soname, names);
    const size_t size = m.at;
    if (size > MAX) {
        return vta_fail(diag, VTA_RANGE, "the names of '%s' take %zu bytes; there is room for %d", soname,
                        size, MAX);
    }
    put_header(&m, object, sections); /* again, now that their place is known */
    return vta_file_write(path, m.bytes, size, diag);
}
