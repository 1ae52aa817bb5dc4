/* SPDX-License-Identifier: Apache-2.0
 *
 * A language model from C++: tokens and texts as JSON lines, ended by the callback, by what it throws, by
 * another thread, refused; after each of these it says the same again. Arguments: MODEL.so TOKENIZER.json
 * COUNT PROMPT */
#include <iostream>
#include <thread>

#include "vta_generate.hpp"

namespace {

std::string said;

void say(vta::generator &speaker, const std::string &prompt, std::uint64_t count)
{
    vta::generate_options how;
    how.max_tokens = count;
    how.ignore_end = true;
    said.clear();
    const vta_generate_report report =
        speaker.generate(prompt, how, [](std::uint32_t, std::string_view text) { said += text; });
    std::cout << report.new_tokens << ' ' << said << '\n';
}

template <typename F> void refuses(F &&call)
{
    try {
        call();
        std::cout << "not refused\n";
    } catch (const vta::error &error) {
        std::cout << "refused: " << error.what() << '\n';
    } catch (const std::runtime_error &error) {
        std::cout << "thrown: " << error.what() << '\n';
    }
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 5) {
        return 2;
    }
    vta::model model(argv[1]);
    const vta::tokenizer words(argv[2]);
    vta::generator speaker(model, &words);
    const std::uint64_t count = std::stoull(argv[3]);
    const std::string prompt = argv[4];
    vta::generate_options how;
    how.ignore_end = true;
    how.max_tokens = count;

    const std::vector<std::uint32_t> ids = words.encode(prompt);
    std::cout << (words.decode(ids) == prompt ? "the same text again" : "another text") << '\n';
    say(speaker, prompt, count);
    std::uint64_t seen = 0;
    const vta_generate_report report =
        speaker.generate(prompt, how, [&](std::uint32_t, std::string_view) { return ++seen < 3; });
    std::cout << "ended " << report.new_tokens << '\n';
    refuses([&] {
        speaker.generate(prompt, how,
                         [](std::uint32_t, std::string_view) { throw std::runtime_error("enough"); });
    });
    say(speaker, prompt, count);
    refuses([&] {
        speaker.generate(prompt, how, [&](std::uint32_t, std::string_view) {
            std::thread([&] { speaker.cancel(); }).join();
        });
    });
    say(speaker, prompt, count);
    const std::vector<std::uint32_t> outside = {1, 4000000000U};
    refuses([&] { speaker.generate(outside, how, [](std::uint32_t, std::string_view) {}); });
    refuses([&] { speaker.resume("nowhere.bin"); });
    refuses([&] { vta::tokenizer("nowhere.json"); });
    say(speaker, prompt, count);
    return 0;
}
