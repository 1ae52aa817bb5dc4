/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiled models from C++17 and later: this one header over vta/model.h.
 *
 *     vta::model model("model.so", vta::options{}.on("ssh://pynq"));
 *
 *     model.set<float>(0, pixels);
 *
 *     model.run();
 *
 *     for (float score : model.output<float>(0)) { … }
 *
 * What fails throws vta::error with the library's sentence and status; vta::model::try_run and try_wait
 * return the status instead. Objects own what they open and can be moved. What a program's function throws in
 * the middle of a call comes out of that call.
 */
#ifndef VTA_HPP
#define VTA_HPP

#include <vta/driver.h>
#include <vta/model.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#if __has_include(<version>)
#    include <version>
#endif
#if defined(__cpp_lib_span)
#    include <span>
#endif

namespace vta {

#if defined(__cpp_lib_span)
template <typename T> using span = std::span<T>;
#else
/* As much of std::span as tensors need. */
template <typename T> class span {
  public:
    span() = default;
    span(T *data, std::size_t size) : data_(data), size_(size) {}
    template <typename C, typename = decltype(std::declval<C &>().data())>
    span(C &container)
        : data_(container.data()), size_(container.size()) // NOLINT(google-explicit-constructor)
    {
    }
    T *data() const
    {
        return data_;
    }
    std::size_t size() const
    {
        return size_;
    }
    std::size_t size_bytes() const
    {
        return size_ * sizeof(T);
    }
    bool empty() const
    {
        return size_ == 0;
    }
    T *begin() const
    {
        return data_;
    }
    T *end() const
    {
        return data_ + size_;
    }
    T &operator[](std::size_t i) const
    {
        return data_[i];
    }

  private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};
#endif

class error : public std::runtime_error {
  public:
    error(vta_status status, const vta_diag &diag)
        : std::runtime_error(diag.code != VTA_OK ? diag.text : vta_status_text(status)), status_(status)
    {
    }
    vta_status status() const noexcept
    {
        return status_;
    }

  private:
    vta_status status_;
};

inline void check(vta_status status, const vta_diag &diag)
{
    if (status != VTA_OK) {
        throw error(status, diag);
    }
}

/* The element types of tensors: DLPack's code and bits. */
template <typename T> struct element {
    static_assert(std::is_arithmetic<T>::value, "tensors hold numbers");
    static constexpr std::uint8_t code = std::is_same<T, bool>::value       ? 6
                                         : std::is_floating_point<T>::value ? 2
                                         : std::is_signed<T>::value         ? 0
                                                                            : 1;
    static constexpr std::uint8_t bits = 8 * sizeof(T);
};

class device {
  public:
    explicit device(const std::string &uri, const std::string &config = "")
    {
        vta_diag diag{};
        vta_config expected{};
        vta_device *opened = nullptr;
        if (!config.empty()) {
            check(vta_config_load(config.c_str(), &expected, &diag), diag);
        }
        check(vta_device_open(uri.c_str(), config.empty() ? nullptr : &expected, &opened, &diag), diag);
        handle_.reset(opened);
    }
    vta_device *get() const noexcept
    {
        return handle_.get();
    }
    std::string uri() const
    {
        return vta_device_uri(handle_.get());
    }
    const vta_config &config() const
    {
        return *vta_device_config(handle_.get());
    }

  private:
    struct closer {
        void operator()(vta_device *d) const noexcept
        {
            vta_device_close(d);
        }
    };
    std::unique_ptr<vta_device, closer> handle_;
};

struct options {
    std::string device;                  /* URI; "": fsim */
    const vta::device *shared = nullptr; /* in its place; must outlive the model */
    unsigned threads = 0;
    double timeout_s = 0;
    int priority = 0;
    std::function<void(const std::string &)> progress;

    options &&on(std::string uri) &&
    {
        device = std::move(uri);
        return std::move(*this);
    }
    options &&on(const vta::device &open) &&
    {
        shared = &open;
        return std::move(*this);
    }
    options &&with(unsigned workers) &&
    {
        threads = workers;
        return std::move(*this);
    }
};

class model {
  public:
    explicit model(const std::string &path, const options &how = {})
    {
        vta_diag diag{};
        vta_model *opened = nullptr;
        if (how.progress) {
            tells_.reset(new teller{how.progress, nullptr});
        }
        const vta_progress progress = {&model::tell, tells_.get(), nullptr};
        vta_model_options c{};
        c.size = sizeof c;
        c.threads = how.threads;
        c.device = how.device.empty() ? nullptr : how.device.c_str();
        c.progress = how.progress ? &progress : nullptr;
        c.timeout_s = how.timeout_s;
        c.shared = how.shared != nullptr ? how.shared->get() : nullptr;
        c.priority = how.priority;
        const vta_status status = vta_model_load(path.c_str(), &c, &opened, &diag);
        handle_.reset(opened);
        over(status, diag);
    }

    vta_model *get() const noexcept
    {
        return handle_.get();
    }
    std::string name() const
    {
        return vta_model_name(get());
    }
    std::string device_uri() const
    {
        return vta_model_device_uri(get());
    }
    std::uint32_t input_count() const
    {
        return vta_model_input_count(get());
    }
    std::uint32_t output_count() const
    {
        return vta_model_output_count(get());
    }
    vta_tensor_info input_info(std::uint32_t index) const
    {
        return vta_model_input(get(), index);
    }
    vta_tensor_info output_info(std::uint32_t index) const
    {
        return vta_model_output(get(), index);
    }
    std::uint64_t cycles() const
    {
        return vta_model_cycles(get());
    }

    /* Views of the tensors' memory; T must be their element type. */
    template <typename T> span<T> input(std::uint32_t index)
    {
        return view<T>(input_info(index), vta_model_input_data(get(), index), "input", index);
    }
    template <typename T> span<const T> output(std::uint32_t index) const
    {
        return view<const T>(output_info(index), vta_model_output_data(get(), index), "output", index);
    }

    /* Copies. */
    template <typename T> void set(std::uint32_t index, span<const T> values)
    {
        vta_diag diag{};
        same_type<T>(input_info(index), "input", index);
        check(vta_model_set_input(get(), index, values.data(), values.size() * sizeof(T), &diag), diag);
    }
    template <typename T> void set(std::uint32_t index, const std::vector<T> &values)
    {
        set<T>(index, span<const T>(values.data(), values.size()));
    }

    /* Another size of an input, where the model was compiled for more than one (vtac compile --dynamic): its
     * description and views are new then, those of outputs after the next run. */
    void set_shape(std::uint32_t index, const std::vector<std::int64_t> &shape)
    {
        vta_diag diag{};
        check(vta_model_set_input_shape(get(), index, shape.data(), static_cast<std::uint32_t>(shape.size()),
                                        &diag),
              diag);
    }

    /* Runs read and write there, until another is bound; the memory stays the caller's. */
    template <typename T> void bind_input(std::uint32_t index, span<const T> values)
    {
        vta_diag diag{};
        same_type<T>(input_info(index), "input", index);
        check(vta_model_bind_input(get(), index, values.data(), values.size() * sizeof(T), &diag), diag);
    }
    template <typename T> void bind_output(std::uint32_t index, span<T> values)
    {
        vta_diag diag{};
        same_type<T>(output_info(index), "output", index);
        check(vta_model_bind_output(get(), index, values.data(), values.size() * sizeof(T), &diag), diag);
    }

    void run()
    {
        vta_diag diag{};
        over(vta_model_run(get(), &diag), diag);
    }
    vta_status try_run(vta_diag *diag = nullptr) noexcept
    {
        return vta_model_run(get(), diag);
    }

    /* Runs with a clock round each step; the steps are the model's until the next run. */
    span<const vta_step_profile> profile()
    {
        vta_diag diag{};
        const vta_step_profile *steps = nullptr;
        std::uint32_t count = 0;
        over(vta_model_profile(get(), &steps, &count, &diag), diag);
        return span<const vta_step_profile>(steps, count);
    }

    void start()
    {
        vta_diag diag{};
        check(vta_model_start(get(), &diag), diag);
    }
    /* True if it is over; below 0 waits for ever. Throws what it ended with. */
    bool wait(double timeout_s = -1)
    {
        vta_diag diag{};
        const vta_status status = vta_model_wait(get(), timeout_s, &diag);
        if (status == VTA_TIMEOUT && diag.code == VTA_OK) {
            return false;
        }
        over(status, diag);
        return true;
    }
    vta_status try_wait(double timeout_s = -1, vta_diag *diag = nullptr) noexcept
    {
        return vta_model_wait(get(), timeout_s, diag);
    }
    void cancel() noexcept
    {
        vta_model_cancel(get());
    }
    void interrupt() noexcept
    {
        vta_model_interrupt(get());
    }
    int descriptor()
    {
        vta_diag diag{};
        const int fd = vta_model_descriptor(get(), &diag);
        check(fd < 0 ? diag.code : VTA_OK, diag);
        return fd;
    }

  private:
    struct teller {
        std::function<void(const std::string &)> line;
        std::exception_ptr thrown;
    };
    /* Nothing may be thrown through C: what is, waits for the end of the call. */
    static void tell(void *context, const char *line)
    {
        auto *self = static_cast<teller *>(context);
        try {
            if (!self->thrown) {
                self->line(line);
            }
        } catch (...) {
            self->thrown = std::current_exception();
        }
    }

    /* The end of a call: what the program's function threw in it, or what the library said. */
    void over(vta_status status, const vta_diag &diag)
    {
        if (tells_ && tells_->thrown) {
            std::rethrow_exception(std::exchange(tells_->thrown, nullptr));
        }
        check(status, diag);
    }

    template <typename T>
    static void same_type(const vta_tensor_info &info, const char *what, std::uint32_t index)
    {
        using plain = typename std::remove_cv<T>::type;
        vta_diag diag{};
        if (info.name == nullptr) {
            check(vta_fail(&diag, VTA_RANGE, "%s %u does not exist", what, index), diag);
        }
        const bool halves =
            std::is_same<plain, std::uint16_t>::value && info.dtype_bits == 16 &&
            (info.dtype_code == 2 || info.dtype_code == 4); /* float16 and bfloat16, as their bits */
        if (!halves && (info.dtype_code != element<plain>::code || info.dtype_bits != element<plain>::bits)) {
            check(vta_fail(&diag, VTA_INVALID,
                           "%s %u has elements of DLPack type %u with %u bits, not %u with %u", what, index,
                           info.dtype_code, info.dtype_bits, element<plain>::code, element<plain>::bits),
                  diag);
        }
    }
    template <typename T>
    static span<T> view(const vta_tensor_info &info, const void *data, const char *what, std::uint32_t index)
    {
        same_type<T>(info, what, index);
        return span<T>(static_cast<T *>(const_cast<void *>(data)), info.bytes / sizeof(T));
    }

    struct closer {
        void operator()(vta_model *m) const noexcept
        {
            vta_model_destroy(m);
        }
    };
    std::unique_ptr<teller> tells_; /* outlives what tells it */
    std::unique_ptr<vta_model, closer> handle_;
};

} // namespace vta

#endif
