// SPDX-License-Identifier: Apache-2.0
package vta;

import java.lang.ref.Cleaner;
import java.util.function.Consumer;

/** An open device, which several models share, each in turn. */
public final class Device implements AutoCloseable {
    private static final class State implements Runnable {
        long handle;

        @Override
        public void run() {
            if (handle != 0) {
                Native.closeDevice(handle);
                handle = 0;
            }
        }
    }

    private final State state = new State();
    private final Cleaner.Cleanable cleanable;
    private final String uri;
    private int users;

    /** By its URI, in the configuration that it has. */
    public Device(String uri) {
        this(uri, null, null);
    }

    /** {@code config} names a configuration ("pynq", or a JSON file), or is null; {@code progress} may be null. */
    public Device(String uri, String config, Consumer<String> progress) {
        state.handle = Native.openDevice(Native.bytes(uri), Native.bytes(config), progress);
        cleanable = Native.CLEANER.register(this, state);
        this.uri = Native.text(Native.deviceUri(state.handle));
    }

    /** As it was opened, a simulator's with the name of its configuration. */
    public String uri() {
        return uri;
    }

    synchronized long use(int more) {
        if (state.handle == 0) {
            throw VtaException.invalid("the device is closed");
        }
        users += more;
        return state.handle;
    }

    /** Frees the device; refused while a model uses it. More than once does nothing. */
    @Override
    public synchronized void close() {
        if (users > 0) {
            throw new VtaException.Unavailable(users + " models use the device", "device busy");
        }
        cleanable.clean();
    }
}
