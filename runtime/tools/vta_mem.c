/* SPDX-License-Identifier: Apache-2.0
 *
 * vta-mem: one register of the processing system, by its physical address; for vta-load, as root.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char usage[] =
    "usage: vta-mem ADDRESS [MASK VALUE]\n"
    "\n"
    "Prints the 32-bit word at a physical address. With MASK and VALUE its bits of MASK\n"
    "are made those of VALUE first; a word that has them already is not written.\n"
    "The memory is /dev/mem below the folder VTA_ROOT (default: /).\n";

static bool read_number(const char *text, uint64_t max, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 0);
    return errno == 0 && end != text && *end == '\0' && *text != '-' && *out <= max;
}

static int access_word(uint64_t address, bool writes, uint32_t mask, uint32_t value)
{
    char path[4096];
    const char *root = getenv("VTA_ROOT");
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    (void)snprintf(path, sizeof path, "%s/dev/mem", root != NULL ? root : "");
    const int fd = open(path, O_RDWR | O_SYNC | O_CLOEXEC);
    void *mapped = fd < 0 ? MAP_FAILED
                          : mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                                 (off_t)(address / page * page));
    if (mapped == MAP_FAILED) {
        (void)fprintf(stderr, "vta-mem: cannot map 0x%" PRIx64 " of '%s': %s\n", address, path,
                      strerror(errno));
        return 1;
    }
    volatile uint32_t *word = (volatile uint32_t *)((uint8_t *)mapped + address % page);
    if (writes && (*word & mask) != (value & mask)) {
        *word = (*word & ~mask) | (value & mask);
    }
    (void)printf("0x%08" PRIx32 "\n", *word);
    (void)munmap(mapped, (size_t)page);
    (void)close(fd);
    return fflush(stdout) != 0;
}

int main(int argc, char **argv)
{
    uint64_t numbers[3] = {0};
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        return fputs(usage, stdout) < 0;
    }
    if (argc != 2 && argc != 4) {
        (void)fputs(usage, stderr);
        return 2;
    }
    for (int i = 1; i < argc; i++) {
        if (!read_number(argv[i], i == 1 ? INT64_MAX : UINT32_MAX, &numbers[i - 1])) {
            (void)fprintf(stderr, "vta-mem: '%s' is not a number that fits (try 'vta-mem --help')\n",
                          argv[i]);
            return 2;
        }
    }
    if (numbers[0] % sizeof(uint32_t) != 0) {
        (void)fprintf(stderr, "vta-mem: address '%s' is not a multiple of 4\n", argv[1]);
        return 2;
    }
    return access_word(numbers[0], argc == 4, (uint32_t)numbers[1], (uint32_t)numbers[2]);
}
