/* SPDX-License-Identifier: Apache-2.0
 *
 * The seal of compiled models. A shared object that is cut off or damaged crashes the system's loader, so
 * that every byte is checked before it is asked.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "seal.h"
#include "vta/artifact.h"
#include "vta/file.h"
#include "vta/hash.h"
#include "vta/model.h"

/* FNV-1a over words of eight bytes, then over the bytes that remain: parts before the last one are whole
 * words.
 */
__attribute__((noinline)) static uint64_t hash_on(uint64_t hash, const uint8_t *bytes, size_t size)
{
    size_t i = 0;
    for (; i + sizeof(uint64_t) <= size; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, bytes + i, sizeof word);
        hash = vta_hash_word(hash, word);
        hash ^= hash >> 32; /* a product carries upwards alone */
    }
    return vta_hash_bytes(hash, bytes + i, size - i);
}

uint64_t vta_artifact_hash(const void *data, size_t size)
{
    return hash_on(VTA_HASH_START, data, size);
}

/* Reads `size` bytes or what is left of the file; -1: errno says why not. */
static ssize_t read_part(int file, uint8_t *bytes, size_t size)
{
    size_t count = 0;
    ssize_t got = 1;
    while (count < size && got != 0) {
        got = read(file, bytes + count, size - count);
        if (got < 0 && errno != EINTR) {
            return -1;
        }
        count += got > 0 ? (size_t)got : 0;
    }
    return (ssize_t)count;
}

/* Hashes the file part by part, since whoever compiles has its weights in memory already, and appends the
 * seal. */
static bool seal_open_file(int file)
{
    enum { PART = 4096 };
    uint8_t bytes[PART];
    vta_artifact_seal seal = {VTA_ARTIFACT_SEAL_MAGIC, VTA_HASH_START};
    ssize_t count = PART;
    while (count == PART) {
        count = read_part(file, bytes, PART);
        seal.hash = hash_on(seal.hash, bytes, count > 0 ? (size_t)count : 0);
    }
    return count >= 0 && vta_write_all(file, &seal, sizeof seal) == 0;
}

vta_status vta_artifact_seal_file(const char *path, vta_diag *diag)
{
    int file;
    do {
        file = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
    } while (file < 0 && errno == EINTR);
    bool ok = file >= 0 && seal_open_file(file);
    ok = (file < 0 || close(file) == 0 || errno == EINTR) && ok;
    return ok ? VTA_OK : vta_fail(diag, VTA_IO, "cannot write '%s': %s", path, strerror(errno));
}

/* ---- the check ---- */

static const char *machine_name(unsigned machine)
{
    static const struct {
        unsigned machine;
        const char *name;
    } names[] = {{EM_X86_64, "x86-64"}, {EM_386, "x86"},     {EM_AARCH64, "aarch64"},
                 {EM_ARM, "arm"},       {EM_RISCV, "riscv"}, {EM_PPC64, "ppc64"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].machine == machine) {
            return names[i].name;
        }
    }
    return "another processor";
}

static unsigned own_machine(void)
{
#if defined(__x86_64__)
    return EM_X86_64;
#elif defined(__aarch64__)
    return EM_AARCH64;
#elif defined(__arm__)
    return EM_ARM;
#elif defined(__riscv)
    return EM_RISCV;
#else
    return EM_NONE;
#endif
}

vta_status vta_seal_check(const uint8_t *bytes, size_t size, vta_diag *diag)
{
    ElfW(Ehdr) header;
    vta_artifact_seal seal;
    if (size < SELFMAG || memcmp(bytes, ELFMAG, SELFMAG) != 0) {
        return vta_fail(diag, VTA_SYNTAX, "it is not a compiled model; 'vtac compile' makes them");
    }
    if (size >= sizeof header + sizeof seal) {
        memcpy(&seal, bytes + size - sizeof seal, sizeof seal);
    }
    if (size < sizeof header + sizeof seal || seal.magic != VTA_ARTIFACT_SEAL_MAGIC) {
        return vta_fail(diag, VTA_SYNTAX, "it is cut off, or is no model that 'vtac compile' wrote");
    }
    if (vta_artifact_hash(bytes, size - sizeof seal) != seal.hash) {
        return vta_fail(diag, VTA_SYNTAX, "it is damaged (its checksum differs); compile or copy it again");
    }
    memcpy(&header, bytes, sizeof header);
    if (header.e_machine != own_machine() ||
        header.e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "it was compiled for %s, this machine is %s; compile it with --host for this one",
                        machine_name(header.e_machine), machine_name(own_machine()));
    }
    return VTA_OK;
}
