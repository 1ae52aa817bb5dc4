/* SPDX-License-Identifier: Apache-2.0
 *
 * The register page through UIO. A register is a word of the mapping. The end of a run is an interrupt: a
 * number to read from the node, once a 1 has been written to it; where none comes, looking often enough does.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "registers.h"
#include "uio.h"
#include "vta/clock.h"
#include "vta/uio.h"

enum { RUN_LOCK = 0, TURN_LOCK = 1 }; /* bytes of the node, side by side */

static void nap(double seconds)
{
    const struct timespec time = {.tv_nsec = (long)(seconds * 1e9)};
    (void)nanosleep(&time, NULL);
}

/* ---- registers */

static _Thread_local double waited_s;

double vta_uio_waited(void)
{
    return waited_s;
}

static double processor_seconds(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static uint32_t page_read(void *context, uint32_t offset)
{
    const uio_page *page = context;
    return vta_register_read(page->words, offset);
}

static void unmask(const uio_page *page)
{
    const uint32_t on = 1;
    if (page->has_irq && write(page->unmask_fd, &on, sizeof on) < 0) {
        return; /* a device without a switch: its interrupt is always on */
    }
}

/* The kernel masks an interrupt when it comes. It is switched on here alone, before a start, when the
 * accelerator has been told that the last one was seen: earlier, the line would still be up and give a second
 * one. The interrupt of a run whose end was seen without it, or of another process, would end the first sleep
 * of this run: it is taken. */
static void expect_interrupt(uio_page *page)
{
    struct pollfd slot = {.fd = page->irq_fd, .events = POLLIN};
    uint32_t count;
    if (page->has_irq && poll(&slot, 1, 0) > 0 && (slot.revents & POLLIN) != 0) {
        (void)!read(page->irq_fd, &count, sizeof count);
    }
    unmask(page);
}

static void page_write(void *context, uint32_t offset, uint32_t value)
{
    const double patience_s = 10.0;
    uio_page *page = context;
    if (offset == VTA_REG_CONTROL && VTA_REG_GET(CONTROL_START, value) != 0) {
        expect_interrupt(page);
    }
    vta_register_write(page->words, offset, value);
    if (offset == VTA_REG_CONTROL) {
        page->started = VTA_REG_GET(CONTROL_START, value) != 0;
        page->still_since = 0;
    }
    if (!vta_register_acts(offset) || page->deaf) {
        return;
    }
    if ((page_read(page, offset) & value) == 0) {
        return;
    }
    const double begin = processor_seconds();
    const double end = vta_now() + patience_s;
    double pause_s = 1e-6;
    while ((page_read(page, offset) & value) != 0 && !page->deaf) {
        page->deaf = vta_now() > end;
        nap(pause_s);
        pause_s += pause_s < 1e-3 ? pause_s : 0;
    }
    waited_s += processor_seconds() - begin;
}

vta_status vta_uio_page_check(const uio_page *page, vta_diag *diag)
{
    if (page->is_lost) {
        return vta_fail(
            diag, VTA_NO_DEVICE,
            "device '%s' is gone: the kernel's driver has let go of it; open it again when it is back",
            page->where);
    }
    return !page->deaf ? VTA_OK
                       : vta_fail(diag, VTA_NO_DEVICE,
                                  "device '%s' takes no command: its clock stands, or it is not loaded; load "
                                  "the bitstream again",
                                  page->where);
}

static bool has_ended(const uio_page *page)
{
    const uint32_t status = page->words[VTA_REG_STATUS / 4];
    return VTA_REG_GET(STATUS_DONE, status) != 0 || VTA_REG_GET(STATUS_ERROR, status) != 0;
}

/* ---- waiting */

/* Sleeps until an interrupt, or `seconds`. */
static void sleep_for(uio_page *page, double seconds)
{
    enum { MISSES = 3 };
    const double poll_s = 2e-4;
    struct pollfd slot = {.fd = page->irq_fd, .events = POLLIN};
    uint32_t count;
    if (!page->has_irq || page->irq_misses >= MISSES) {
        nap(seconds < poll_s ? seconds : poll_s);
        return;
    }
    if (poll(&slot, 1, (int)(seconds * 1e3) + 1) <= 0) {
        page->irq_misses += has_ended(page);
        return;
    }
    if ((slot.revents & POLLIN) == 0 || read(page->irq_fd, &count, sizeof count) != sizeof count) {
        page->has_irq =
            false; /* a node without an interrupt answers so, and one that its driver has let go of */
        page->is_lost = page->had_irq;
        return;
    }
    page->had_irq = true;
    page->irq_misses = 0;
    if (!has_ended(page)) {
        unmask(page); /* it was for nothing */
    }
}

/* A run whose clock does not advance for seconds is over. A reset has no clock to look at. */
static vta_status check_progress(uio_page *page, vta_diag *diag)
{
    const double max_s = 5.0;
    const uint32_t cycles = page_read(page, VTA_REG_CYCLES);
    if (!page->started) {
        return VTA_OK;
    }
    if (cycles != page->cycles || page->still_since == 0) {
        page->cycles = cycles;
        page->still_since = vta_now();
    }
    return vta_now() - page->still_since < max_s
               ? VTA_OK
               : vta_fail(
                     diag, VTA_TIMEOUT,
                     "device '%s' has stopped in the middle of a run: its cycle counter has stood at %u for "
                     "%g s; load the bitstream again",
                     page->where, cycles, max_s);
}

static vta_status page_wait(void *context, double seconds, vta_diag *diag)
{
    const double slice_s = 0.01; /* so long at most does the end of a run go unseen without an interrupt */
    uio_page *page = context;
    double left = seconds;
    double end = 0; /* known when the first sleep was not enough: a look at the clock costs a board's
                     * processor as much as all registers of a start */
    while (left > 0) {
        const double slice = left < slice_s ? left : slice_s;
        sleep_for(page, slice);
        VTA_TRY(vta_uio_page_check(page, diag));
        if (has_ended(page)) {
            return VTA_OK;
        }
        end = end > 0 ? end : vta_now() + seconds - slice;
        left = end - vta_now();
    }
    return check_progress(page, diag);
}

/* ---- turns */

/* True where somebody asked the wait to end, by either of the two ways to ask. */
static bool is_given_up(const uio_turn *turn)
{
    return vta_stop_wanted(turn->stop) ||
           (turn->progress.waits != NULL && turn->progress.waits(turn->progress.context, false));
}

static vta_status interrupted(const uio_page *page, vta_diag *diag)
{
    return vta_fail(diag, VTA_INTERRUPTED, "interrupted while another process used device '%s'", page->where);
}

/* The run lock is that of the run; whoever waits for it holds the turn lock, so that one who has just run
 * comes after him. */
static vta_status wait_for_turn(uio_page *page, const uio_turn *turn, vta_diag *diag)
{
    const double pause_s = 5e-4, quiet_s = 1.0;
    bool told = turn->progress.line == NULL;
    bool has_turn = false;
    if (vta_uio_lock(page->fd, RUN_LOCK, 2)) { /* nobody runs and nobody waits: both bytes at once */
        return VTA_OK;
    }
    const double begin = vta_now();
    for (;;) {
        has_turn = has_turn || vta_uio_lock(page->fd, TURN_LOCK, 1);
        if (has_turn && vta_uio_lock(page->fd, RUN_LOCK, 1)) {
            return VTA_OK;
        }
        if (is_given_up(turn)) {
            return interrupted(page, diag);
        }
        if (vta_now() - begin > turn->wait_s) {
            return vta_fail(diag, VTA_BUSY,
                            "another process has used device '%s' for %g s; end it, or wait longer "
                            "with '?queue=SECONDS'",
                            page->where, turn->wait_s);
        }
        if (!told && vta_now() - begin > quiet_s) {
            told = true;
            turn->progress.line(turn->progress.context, "waiting for another process to end its run");
        }
        nap(pause_s);
    }
}

vta_status vta_uio_page_acquire(uio_page *page, const uio_turn *turn, vta_diag *diag)
{
    const vta_status status = wait_for_turn(page, turn, diag);
    vta_uio_unlock(page->fd, TURN_LOCK, 1);
    const bool ended = turn->progress.waits != NULL && turn->progress.waits(turn->progress.context, true);
    if (status == VTA_OK && ended) { /* at the very moment when its turn came */
        vta_uio_page_release(page);
        return interrupted(page, diag);
    }
    return status;
}

void vta_uio_page_release(uio_page *page)
{
    vta_uio_unlock(page->fd, RUN_LOCK, 1);
}

/* ---- opening */

/* The interrupt of a virtual board: two FIFOs beside the page, for the number and for the switch. */
static vta_status open_fifos(const uio_node *node, uio_page *page, vta_diag *diag)
{
    char path[UIO_PATH + 16];
    (void)snprintf(path, sizeof path, "%s.irq", node->node);
    VTA_TRY(vta_uio_open_node(path, O_RDWR | O_NONBLOCK, &page->irq_fd, diag));
    (void)snprintf(path, sizeof path, "%s.unmask", node->node);
    return vta_uio_open_node(path, O_RDWR | O_NONBLOCK, &page->unmask_fd, diag);
}

static vta_status open_parts(const uio_node *node, uio_page *page, vta_diag *diag)
{
    if (node->bytes < VTA_REG_PAGE_BYTES) {
        return vta_fail(diag, VTA_NO_DEVICE,
                        "the register page of '%s' has %llu bytes, not %d; its device tree "
                        "is of another release",
                        node->node, (unsigned long long)node->bytes, VTA_REG_PAGE_BYTES);
    }
    VTA_TRY(vta_uio_open_node(node->node, O_RDWR, &page->fd, diag));
    page->irq_fd = page->fd;
    page->unmask_fd = page->fd;
    if (vta_uio_is_virtual(page->fd)) {
        page->irq_fd = -1;
        page->unmask_fd = -1;
        VTA_TRY(open_fifos(node, page, diag));
    }
    void *mapped = mmap(NULL, VTA_REG_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, page->fd, 0);
    if (mapped == MAP_FAILED) {
        return vta_fail(diag, VTA_IO, "cannot map the register page of '%s'", node->node);
    }
    page->mapped = mapped;
    page->words = mapped;
    return VTA_OK;
}

vta_status vta_uio_page_open(const uio_node *node, const char *where, uio_page *out, vta_diag *diag)
{
    *out = (uio_page){.where = where, .fd = -1, .irq_fd = -1, .unmask_fd = -1, .has_irq = true};
    out->mmio = (vta_mmio){.context = out, .read = page_read, .write = page_write, .wait = page_wait};
    const vta_status status = open_parts(node, out, diag);
    if (status != VTA_OK) {
        vta_uio_page_close(out);
    }
    return status;
}

void vta_uio_page_close(uio_page *page)
{
    if (page->words != NULL) {
        (void)munmap(page->mapped, VTA_REG_PAGE_BYTES);
    }
    if (page->irq_fd >= 0 && page->irq_fd != page->fd) {
        (void)close(page->irq_fd);
    }
    if (page->unmask_fd >= 0 && page->unmask_fd != page->fd) {
        (void)close(page->unmask_fd);
    }
    if (page->fd >= 0) {
        (void)close(page->fd);
    }
    *page = (uio_page){.fd = -1, .irq_fd = -1, .unmask_fd = -1};
}
