/* SPDX-License-Identifier: Apache-2.0
 *
 * The C++ binding as a program uses it. Arguments: DEVICE MODEL TALKER
 */
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vta.hpp>

static void require(bool good, const char *what, int line)
{
    if (!good) {
        std::fprintf(stderr, "example.cc:%d: %s\n", line, what);
        std::exit(1);
    }
}
#define REQUIRE(what) require((what), #what, __LINE__)

static std::vector<float> picture(const vta::model &m, unsigned seed)
{
    std::vector<float> values(m.input_info(0).bytes / sizeof(float));
    for (float &v : values) {
        seed = seed * 1664525U + 1013904223U;
        v = static_cast<float>(seed >> 24) / 255;
    }
    return values;
}

static std::vector<float> classify(vta::model &m, unsigned seed)
{
    m.set(0, picture(m, seed));
    m.run();
    const auto scores = m.output<float>(0);
    return {scores.begin(), scores.end()};
}

template <typename F> static vta_status thrown_by(F &&f)
{
    try {
        f();
    } catch (const vta::error &e) {
        REQUIRE(std::strlen(e.what()) > 5);
        return e.status();
    }
    return VTA_OK;
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 4);
    const std::string uri = argv[1], path = argv[2];
    vta::model m(path, vta::options{}.on(uri).with(2));
    std::printf("%s on %s: %u input, %u output\n", m.name().c_str(), m.device_uri().c_str(), m.input_count(),
                m.output_count());
    const auto one = classify(m, 1), two = classify(m, 2);
    REQUIRE(one != two && classify(m, 1) == one);
    REQUIRE(!m.profile().empty());

    /* started, in memory of ours, with a descriptor */
    auto mine = picture(m, 2);
    std::vector<float> result(two.size());
    m.bind_input<float>(0, vta::span<const float>(mine.data(), mine.size()));
    m.bind_output<float>(0, vta::span<float>(result.data(), result.size()));
    pollfd slot{m.descriptor(), POLLIN, 0};
    m.start();
    REQUIRE(poll(&slot, 1, 100000) == 1 && m.wait() && result == two);
    m.start();
    m.cancel();
    const vta_status ended = m.try_wait();
    REQUIRE(ended == VTA_OK || ended == VTA_INTERRUPTED);

    /* moved, and errors */
    vta::model moved = std::move(m);
    REQUIRE(thrown_by([&] { moved.set<float>(0, std::vector<float>(3)); }) == VTA_INVALID);
    REQUIRE(thrown_by([&] { moved.set<int>(0, std::vector<int>(3)); }) == VTA_INVALID);
    REQUIRE(thrown_by([&] { (void)moved.output<float>(7); }) == VTA_RANGE);
    REQUIRE(thrown_by([&] { vta::model("no such file"); }) == VTA_IO);
    REQUIRE(thrown_by([&] { moved.wait(); }) == VTA_INVALID);

    /* threads of the program on one device, which is free for it */
    {
        vta::model gone = std::move(moved);
    }
    if (uri.compare(0, 5, "pipe:") != 0 && uri.compare(0, 4, "ssh:") != 0) {
        vta::device shared(uri, "pynq");
        std::atomic<int> good{0};
        std::vector<std::thread> pool;
        for (int i = 0; i < 4; i++) {
            pool.emplace_back([&, i] {
                vta::model own(path, vta::options{}.on(shared).with(1));
                for (unsigned round = 0; round < 4; round++) {
                    good += classify(own, 1 + (round + i) % 2) == ((round + i) % 2 == 0 ? one : two);
                }
            });
        }
        for (auto &thread : pool) {
            thread.join();
        }
        REQUIRE(good == 16);
    }

    /* a function that throws comes out of the load that called it */
    vta::options talking;
    talking.device = std::string("pipe:") + argv[3];
    talking.progress = [](const std::string &) { throw 42; };
    int caught = 0;
    try {
        vta::model never(path, talking);
    } catch (int number) {
        caught = number;
    }
    REQUIRE(caught == 42);

    /* sizes that the model leaves open */
    vta::model open(path.substr(0, path.rfind('/') + 1) + "open.so");
    for (const std::int64_t rows : {2, 5, 1}) {
        open.set_shape(0, {rows, 4});
        auto x = open.input<float>(0);
        REQUIRE(x.size() == static_cast<std::size_t>(rows) * 4);
        for (std::size_t i = 0; i < x.size(); i++) {
            x[i] = static_cast<float>((7 * i + static_cast<std::size_t>(rows)) % 5) - 2;
        }
        open.run();
        const auto y = open.output<float>(0);
        const auto z = open.output<std::int64_t>(1);
        std::size_t positive = 0;
        for (std::size_t i = 0; i < x.size(); i++) {
            REQUIRE(y[i] == (x[i] > 0 ? x[i] : 0));
            if (x[i] > 0) {
                REQUIRE(z[positive] == static_cast<std::int64_t>(i / 4));
                positive++;
            }
        }
        REQUIRE(y.size() == x.size() && positive > 0 && z.size() == 2 * positive);
    }
    REQUIRE(thrown_by([&] { open.set_shape(0, {2, 5}); }) == VTA_RANGE);

    // After a run that fails nothing is left of the output of the one before, whose memory is gone.
    vta::model reshaped(path.substr(0, path.rfind('/') + 1) + "reshaped.so");
    for (const std::int64_t rows : {2, 5}) {
        reshaped.set_shape(0, {rows, 4});
        auto x = reshaped.input<float>(0);
        auto shape = reshaped.input<std::int64_t>(1);
        for (std::size_t i = 0; i < x.size(); i++) {
            x[i] = static_cast<float>(i) - 3;
        }
        shape[0] = 4;
        shape[1] = rows;
        reshaped.run();
        const auto z = reshaped.output<float>(0);
        REQUIRE(z.size() == x.size() && z[1] >= 0 && z[z.size() - 1] > 3.5F);
        shape[1] = rows + 1;
        REQUIRE(thrown_by([&] { reshaped.run(); }) != VTA_OK);
        REQUIRE(reshaped.output<float>(0).size() == 0);
    }
    REQUIRE(thrown_by([&] { vta::model(path).set_shape(0, {2, 5}); }) == VTA_INVALID);

    if (uri.compare(0, 4, "fsim") == 0) {
        vta::model again(path, vta::options{}.on(uri).with(3));
        REQUIRE(classify(again, 2) == two);
        const pid_t child = fork();
        if (child == 0) {
            _exit(classify(again, 1) == one && classify(again, 2) == two ? 0 : 1);
        }
        int status = 1;
        REQUIRE(waitpid(child, &status, 0) == child && status == 0 && classify(again, 1) == one);
    }
    std::printf("example.cc: %s: good\n", uri.c_str());
    return 0;
}
