/* SPDX-License-Identifier: Apache-2.0
 *
 * Text from a compiled language model, from C++17 and later: this one header over vta/generate.h.
 *
 *     vta::model model("model.so");
 *     vta::tokenizer words("tokenizer.json");
 *     vta::generator speaker(model, &words);
 *     speaker.generate("Once upon", {.max_tokens = 100}, [](std::uint32_t, std::string_view text) {
 *         std::cout << text << std::flush;
 *     });
 *
 * A function that returns false ends the text there; what it throws comes out of generate. The program is
 * linked with libvta-generate, too.
 */
#ifndef VTA_GENERATE_HPP
#define VTA_GENERATE_HPP

#include <vta/generate.h>

#include <cstdlib>
#include <string_view>

#include "vta.hpp"

namespace vta {

class tokenizer {
  public:
    explicit tokenizer(const std::string &path)
    {
        vta_diag diag = {};
        vta_tokenizer *opened = nullptr;
        check(vta_tokenizer_load(path.c_str(), &opened, &diag), diag);
        handle_.reset(opened);
    }
    const vta_tokenizer *get() const noexcept
    {
        return handle_.get();
    }
    std::vector<std::uint32_t> encode(std::string_view text, bool begin = true) const
    {
        vta_diag diag = {};
        std::uint32_t *ids = nullptr;
        std::size_t count = 0;
        check(vta_tokenizer_encode(get(), text.data(), text.size(), begin, &ids, &count, &diag), diag);
        const std::unique_ptr<std::uint32_t, releaser> owner(ids);
        return {ids, ids + count};
    }
    std::string decode(span<const std::uint32_t> ids) const
    {
        vta_diag diag = {};
        char *text = nullptr;
        std::size_t size = 0;
        check(vta_tokenizer_decode(get(), ids.data(), ids.size(), &text, &size, &diag), diag);
        const std::unique_ptr<char, releaser> owner(text);
        return {text, size};
    }

  private:
    struct closer {
        void operator()(vta_tokenizer *t) const noexcept
        {
            vta_tokenizer_destroy(t);
        }
    };
    struct releaser {
        void operator()(void *memory) const noexcept
        {
            std::free(memory);
        }
    };
    std::unique_ptr<vta_tokenizer, closer> handle_;
};

struct generate_options {
    std::uint64_t max_tokens = 0; /* 0: until the text or the context ends */
    double temperature = 0;
    std::uint32_t top_k = 0;
    double top_p = 0;
    std::uint64_t seed = 1;
    bool ignore_end = false;
};

/* The model and the tokenizer must outlive it; the model runs for nobody else meanwhile. */
class generator {
  public:
    explicit generator(model &speaks, const tokenizer *words = nullptr)
    {
        vta_diag diag = {};
        vta_generator *opened = nullptr;
        check(vta_generator_create(speaks.get(), words == nullptr ? nullptr : words->get(), &opened, &diag),
              diag);
        handle_.reset(opened);
    }
    vta_generator *get() const noexcept
    {
        return handle_.get();
    }
    std::uint32_t vocabulary() const noexcept
    {
        return vta_generator_vocabulary(get());
    }
    std::uint64_t context() const noexcept
    {
        return vta_generator_context(get());
    }

    /* Calls `told` with each new token and the text that is complete with it; the rest of the text comes with
     * VTA_NO_TOKEN. */
    template <typename F>
    vta_generate_report generate(std::string_view prompt, const generate_options &how, F &&told)
    {
        return run(how, told,
                   [&](const vta_generate_options *options, vta_generate_token *token, void *context,
                       vta_diag *diag) {
                       return vta_generate_text(get(), prompt.data(), prompt.size(), options, token, context,
                                                diag);
                   });
    }
    template <typename F>
    vta_generate_report generate(const std::vector<std::uint32_t> &prompt, const generate_options &how,
                                 F &&told)
    {
        return run(how, told,
                   [&](const vta_generate_options *options, vta_generate_token *token, void *context,
                       vta_diag *diag) {
                       return vta_generate(get(), prompt.data(), prompt.size(), options, token, context,
                                           diag);
                   });
    }

    /* Ends the generation that another thread is in; that one throws. */
    void cancel() noexcept
    {
        vta_generator_cancel(get());
    }
    void keep(const std::string &path) const
    {
        vta_diag diag = {};
        check(vta_generator_keep(get(), path.c_str(), &diag), diag);
    }
    void resume(const std::string &path)
    {
        vta_diag diag = {};
        check(vta_generator_resume(get(), path.c_str(), &diag), diag);
    }

  private:
    struct closer {
        void operator()(vta_generator *g) const noexcept
        {
            vta_generator_destroy(g);
        }
    };
    template <typename F> struct listener {
        F *told;
        std::exception_ptr thrown;
    };

    template <typename F> static int tell(void *context, std::uint32_t id, const char *text, std::size_t size)
    {
        auto *to = static_cast<listener<F> *>(context);
        try {
            if constexpr (std::is_convertible_v<decltype((*to->told)(id, std::string_view())), bool>) {
                return (*to->told)(id, std::string_view(text, size)) ? 0 : 1;
            } else {
                (*to->told)(id, std::string_view(text, size));
                return 0;
            }
        } catch (...) {
            to->thrown = std::current_exception();
            return 1;
        }
    }

    template <typename F, typename C>
    vta_generate_report run(const generate_options &how, F &told, const C &call)
    {
        vta_diag diag = {};
        vta_generate_options options = {};
        options.size = sizeof options;
        options.max_tokens = how.max_tokens;
        options.temperature = how.temperature;
        options.top_k = how.top_k;
        options.top_p = how.top_p;
        options.seed = how.seed;
        options.ignore_end = how.ignore_end;
        listener<F> to = {&told, nullptr};
        const vta_status status = call(&options, &tell<F>, &to, &diag);
        if (to.thrown != nullptr) {
            std::rethrow_exception(to.thrown);
        }
        check(status, diag);
        return vta_generator_report(get());
    }

    std::unique_ptr<vta_generator, closer> handle_;
};

} // namespace vta
#endif
