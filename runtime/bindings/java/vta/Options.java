// SPDX-License-Identifier: Apache-2.0
package vta;

import java.time.Duration;
import java.util.function.Consumer;

/** How a model is loaded; what is not said is the default. */
public final class Options {
    String uri;
    Device shared;
    int threads;
    double timeout;
    int priority;
    Consumer<String> progress;

    /** The device of the accelerator steps by its URI; unless told, "fsim". */
    public Options device(String uri) {
        this.uri = uri;
        return this;
    }

    /** An open device, which other models use, too. */
    public Options device(Device shared) {
        this.shared = shared;
        return this;
    }

    /** Threads of the host kernels; 0: VTAC_THREADS of the environment, or all cores. */
    public Options threads(int threads) {
        if (threads < 0) {
            throw VtaException.invalid("%d threads; expected 0, for as many as there are cores, or more", threads);
        }
        this.threads = threads;
        return this;
    }

    /** The longest that a launch may take; zero: no limit. */
    public Options timeout(Duration timeout) {
        if (timeout.isNegative()) {
            throw VtaException.invalid("a timeout of %s; expected zero, for none, or more", timeout);
        }
        this.timeout = timeout.getSeconds() + timeout.getNano() / 1e9;
        return this;
    }

    /** Of the launches on a shared device; higher ones go first. */
    public Options priority(int priority) {
        this.priority = priority;
        return this;
    }

    /** Called with lines while there is something to wait for. What it throws comes out of the load. */
    public Options progress(Consumer<String> progress) {
        this.progress = progress;
        return this;
    }
}
