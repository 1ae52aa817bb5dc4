/* SPDX-License-Identifier: Apache-2.0
 *
 * The client's end of a connection whose other end says what a script says and is gone then.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "temporary.h"
#include "vta/remote.h"

typedef struct script {
    char path[TEMPORARY_PATH], uri[TEMPORARY_PATH + 40];
    vta_channel channel;
    uint32_t id; /* of the last reply */
} script;

static void begin(script *s)
{
    *s = (script){0};
    assert_true(temporary_file(s->path, ""));
    const int file = open(s->path, O_WRONLY);
    assert_true(file >= 0);
    (void)snprintf(s->uri, sizeof s->uri, "pipe:cat '%s'; exec cat >/dev/null", s->path);
    vta_channel_init(&s->channel, -1, file, 1.0);
}

static void end(script *s)
{
    assert_int_equal(close(s->channel.out), 0);
    assert_int_equal(unlink(s->path), 0);
}

static void reply(script *s, vta_str *content)
{
    assert_int_equal(vta_channel_send(&s->channel, VTA_WIRE_REPLY, ++s->id, content, NULL), VTA_OK);
    vta_str_free(content);
}

static void greet(script *s, const char *machine)
{
    vta_str c = {0};
    vta_put_u32(&c, VTA_OK);
    vta_put_text(&c, "");
    vta_put_u32(&c, VTA_WIRE_PROTOCOL);
    vta_put_text(&c, "1.2.3");
    vta_put_text(&c, machine);
    reply(s, &c);
}

static vta_remote *open_script(const script *s)
{
    vta_remote_place place;
    vta_remote *remote = NULL;
    vta_diag diag = {0};
    const vta_remote_options options = {0};
    assert_int_equal(vta_remote_parse(s->uri, &place, &diag), VTA_OK);
    if (vta_remote_open(&place, &options, &remote, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    vta_remote_place_free(&place);
    return remote;
}

/* The first call after the other side has gone says so; those behind it, that nothing will come of them. */
static void a_lost_connection_stays_lost(void **state)
{
    (void)state;
    static const char *const machines[] = {"arm", "riscv64"};
    for (int i = 0; i < 2; i++) {
        script s;
        begin(&s);
        greet(&s, machines[i]);
        vta_remote *remote = open_script(&s);
        assert_string_equal(vta_remote_machine(remote), machines[i]);
        assert_string_equal(vta_remote_release(remote), "1.2.3");
        for (int call = 0; call < 3; call++) {
            vta_str request = {0};
            vta_content content;
            vta_diag diag = {0};
            assert_int_equal(vta_remote_call(remote, VTA_WIRE_RESET, &request, &content, &diag), VTA_IO);
            assert_string_equal(diag.text, call == 0
                                               ? "pipe: the other side has closed the connection"
                                               : "pipe: the connection was lost; open the device again");
        }
        vta_remote_close(remote);
        end(&s);
    }
}

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
    (void)number;
    signals = signals + 1;
}

/* Writing to a peer that is gone is a failure and no signal; one that was waiting before stays. */
static void a_dead_peer_is_no_signal(void **state)
{
    (void)state;
    const struct sigaction count = {.sa_handler = count_signal};
    struct sigaction was, now;
    assert_int_equal(sigaction(SIGPIPE, &count, &was), 0);
    for (int waiting = 0; waiting < 2; waiting++) {
        int ends[2];
        sigset_t broken, before, pending;
        vta_channel channel;
        vta_diag diag = {0};
        (void)sigemptyset(&broken);
        (void)sigaddset(&broken, SIGPIPE);
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(close(ends[0]), 0);
        if (waiting) {
            assert_int_equal(pthread_sigmask(SIG_BLOCK, &broken, &before), 0);
            assert_int_equal(raise(SIGPIPE), 0);
        }
        vta_channel_init(&channel, -1, ends[1], 1.0);
        assert_int_equal(vta_channel_send(&channel, VTA_WIRE_RESET, 1, NULL, &diag), VTA_IO);
        assert_string_equal(diag.text, "the other side has closed the connection");
        vta_channel_free(&channel);
        assert_int_equal(close(ends[1]), 0);
        assert_int_equal(signals, 0);
        assert_int_equal(sigpending(&pending), 0);
        assert_int_equal(sigismember(&pending, SIGPIPE), waiting);
        if (waiting) {
            assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
            assert_int_equal(signals, 1);
        }
    }
    assert_int_equal(sigaction(SIGPIPE, &was, &now), 0);
    assert_true(now.sa_handler == count_signal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_lost_connection_stays_lost),
                                       cmocka_unit_test(a_dead_peer_is_no_signal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
