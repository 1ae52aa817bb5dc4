// SPDX-License-Identifier: Apache-2.0
package vta;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Supplier;

/**
 * A compiled model on the accelerator, its simulators, or another machine.
 *
 * <pre>{@code
 * try (var model = new vta.Model("model.so", new vta.Options().device("ssh://pynq"))) {
 *     model.input(0).set(pixels);
 *     model.run();
 *     float[] scores = model.output(0).floats();
 * }
 * }</pre>
 *
 * Calls of one model wait for one another, so that threads may share it; {@link #cancel} and {@link #interrupt} wait
 * for nothing. Tensors lie in direct buffers, which outlive the model.
 */
public final class Model implements AutoCloseable {
    /** What is freed when the model is closed or forgotten; it keeps the memory that the library was given. */
    private static final class State implements Runnable {
        long handle;
        Device shared;
        final List<ByteBuffer> inputs = new ArrayList<>();
        final List<ByteBuffer> outputs = new ArrayList<>();

        @Override
        public void run() {
            if (handle != 0) {
                Native.close(handle);
                handle = 0;
            }
            if (shared != null) {
                shared.use(-1);
                shared = null;
            }
        }
    }

    private final State state = new State();
    private final Cleaner.Cleanable cleanable;
    private final Semaphore turn = new Semaphore(1, true);                      // one call at a time
    private final ReentrantReadWriteLock life = new ReentrantReadWriteLock(); // the handle stays while it is held
    private final String name;
    private final String uri;
    private final List<Tensor> inputs = new CopyOnWriteArrayList<>();
    private final List<Tensor> outputs = new CopyOnWriteArrayList<>();
    private boolean open; // whether sizes may change

    /** The release of the library that runs, "1.0.0". */
    public static String version() {
        return Native.text(Native.version());
    }

    public Model(String path) {
        this(path, new Options());
    }

    public Model(Path path, Options options) {
        this(path.toString(), options);
    }

    public Model(String path, Options options) {
        long shared = options.shared == null ? 0 : options.shared.use(1);
        state.shared = options.shared;
        try {
            state.handle = Native.load(Native.bytes(path), Native.bytes(options.uri), shared, options.threads, options.timeout,
                    options.priority, options.progress);
            name = Native.text(Native.name(state.handle));
            uri = Native.text(Native.uri(state.handle));
            place(true, state.inputs, inputs);
            place(false, state.outputs, outputs);
        } catch (Throwable thrown) {
            state.run();
            throw thrown;
        }
        cleanable = Native.CLEANER.register(this, state);
    }

    private void place(boolean input, List<ByteBuffer> kept, List<Tensor> tensors) {
        for (int i = 0; i < Native.tensors(state.handle, input); i++) {
            Tensor tensor = describe(input, i);
            kept.add(null);
            tensors.add(tensor);
            bind(input, i, tensor.memory(), tensor.size());
            open = open || tensor.size() == 0;
        }
    }

    private Tensor describe(boolean input, int index) {
        return new Tensor(this, input, index, Native.text(Native.tensorName(state.handle, input, index)),
                Native.tensorNumbers(state.handle, input, index));
    }

    /** Outputs whose size the run has decided lie elsewhere, in memory that the next one takes back. */
    private void ended() {
        for (int i = 0; open && i < outputs.size(); i++) {
            byte[] made = Native.fetch(state.handle, i, outputs.get(i).memory());
            if (made != null) {
                Tensor tensor = describe(false, i);
                tensor.data().put(made);
                outputs.set(i, tensor);
            }
        }
    }

    private void bind(boolean input, int index, ByteBuffer memory, int expected) {
        if (expected == 0 && memory.remaining() == 0) {
            return;
        }
        Native.bind(state.handle, input, index, memory, memory.position(), memory.remaining());
        (input ? state.inputs : state.outputs).set(index, memory);
    }

    /** Its turn, and a model that is not closed. */
    private <T> T during(Supplier<T> call) {
        turn.acquireUninterruptibly();
        try {
            alive();
            return call.get();
        } finally {
            turn.release();
            Reference.reachabilityFence(this);
        }
    }

    private void alive() {
        if (state.handle == 0) {
            throw VtaException.invalid("the model is closed");
        }
    }

    /** That of the ONNX graph. */
    public String name() {
        return name;
    }

    /** The URI of the device of its accelerator steps; "" where it has none. */
    public String device() {
        return uri;
    }

    public List<Tensor> inputs() {
        return Collections.unmodifiableList(inputs);
    }

    /** Sizes that only a run decides are those of the last one, and 0 before the first. */
    public List<Tensor> outputs() {
        return Collections.unmodifiableList(outputs);
    }

    /** Gives an input another size, where the model was compiled for more than one (vtac compile --dynamic): a new tensor. */
    public Tensor setShape(int index, long... shape) {
        inputs.get(index);
        return during(() -> {
            Native.reshape(state.handle, index, shape);
            open = true;
            Tensor tensor = describe(true, index);
            inputs.set(index, tensor);
            bind(true, index, tensor.memory(), tensor.size());
            return tensor;
        });
    }

    public Tensor input(int index) {
        return inputs.get(index);
    }

    public Tensor output(int index) {
        return outputs.get(index);
    }

    public Tensor input(String named) {
        return find(inputs, named);
    }

    public Tensor output(String named) {
        return find(outputs, named);
    }

    private static Tensor find(List<Tensor> tensors, String named) {
        for (Tensor tensor : tensors) {
            if (tensor.name().equals(named)) {
                return tensor;
            }
        }
        throw new NoSuchElementException("the model has no '" + named + "'; it has " + tensors);
    }

    /** The tensor's own memory again, where another was bound. */
    void own(Tensor tensor, boolean input, int index) {
        turn.acquireUninterruptibly();
        try {
            if (input && inputs.get(index) != tensor) {
                throw VtaException.invalid("input '%s' has another size now; take it from the model again", tensor.name());
            }
            if (state.handle != 0 && tensor.size() > 0 && (input ? state.inputs : state.outputs).get(index) != tensor.memory()) {
                bind(input, index, tensor.memory(), tensor.size());
            }
        } finally {
            turn.release();
            Reference.reachabilityFence(this);
        }
    }

    /** Runs read what remains in this direct buffer, where it lies, until the input is set; null: the tensor's own memory. */
    public void bindInput(int index, ByteBuffer memory) {
        rebind(true, index, memory);
    }

    /** Runs write into this direct buffer; null: into the tensor's own memory again. */
    public void bindOutput(int index, ByteBuffer memory) {
        rebind(false, index, memory);
    }

    private void rebind(boolean input, int index, ByteBuffer memory) {
        Tensor tensor = (input ? inputs : outputs).get(index);
        ByteBuffer own = memory == null ? tensor.memory() : memory.slice();
        if (!own.isDirect() || (!input && own.isReadOnly())) {
            throw VtaException.invalid("only a direct buffer%s can be bound", input ? "" : " that may be written");
        }
        during(() -> {
            bind(input, index, own, tensor.size());
            return null;
        });
    }

    /** One inference. */
    public void run() {
        during(() -> {
            Native.run(state.handle, false);
            ended();
            return null;
        });
    }

    /** The same with a clock round each step. */
    public List<Step> profile() {
        return during(() -> {
            Native.run(state.handle, true);
            ended();
            return List.of(Native.steps(state.handle));
        });
    }

    /** What the last run left: cycles always, seconds from profiled runs alone. */
    public List<Step> steps() {
        return during(() -> List.of(Native.steps(state.handle)));
    }

    /** Of the accelerator, in the last run; 0 where its device has no clock. */
    public long cycles() {
        return during(() -> Native.cycles(state.handle));
    }

    /** Begins an inference and returns; {@link #await} ends it. */
    public void start() {
        during(() -> {
            Native.start(state.handle);
            return null;
        });
    }

    /** Waits for what was started. */
    public void await() {
        during(() -> awaited(-1));
    }

    /** Whether what was started is over within that time; then its exception, if it has one. */
    public boolean await(Duration limit) {
        return during(() -> awaited(Math.max(0, limit.toNanos() / 1e9)));
    }

    private boolean awaited(double seconds) {
        boolean over = Native.await(state.handle, seconds);
        if (over) {
            ended();
        }
        return over;
    }

    /** An inference that ends by itself; cancelling the future ends it soon. Until then other calls wait. */
    public CompletableFuture<List<Tensor>> runAsync() {
        CompletableFuture<List<Tensor>> future = new CompletableFuture<>() {
            @Override
            public boolean cancel(boolean may) {
                boolean first = super.cancel(may);
                if (first) {
                    Model.this.cancel();
                }
                return first;
            }
        };
        turn.acquireUninterruptibly();
        boolean started = false;
        try {
            alive();
            Thread waiter = new Thread(() -> {
                Throwable thrown = null;
                try {
                    awaited(-1);
                } catch (Throwable t) {
                    thrown = t;
                } finally {
                    turn.release();
                }
                if (thrown == null) {
                    future.complete(outputs());
                } else {
                    future.completeExceptionally(thrown);
                }
            }, "vta " + name);
            waiter.setDaemon(true);
            Native.start(state.handle);
            started = true;
            waiter.start();
        } catch (Throwable thrown) {
            if (started) { // no thread is to be had
                Native.cancel(state.handle);
                Native.await(state.handle, -1);
            }
            turn.release();
            throw thrown;
        }
        return future;
    }

    /** Ends what was started, soon; it is still to be waited for. From every thread. */
    public void cancel() {
        stop(Native::cancel);
    }

    /** Ends the run that another thread is in, or the next one. From every thread. */
    public void interrupt() {
        stop(Native::interrupt);
    }

    private void stop(java.util.function.LongConsumer how) {
        life.readLock().lock();
        try {
            if (state.handle != 0) {
                how.accept(state.handle);
            }
        } finally {
            life.readLock().unlock();
            Reference.reachabilityFence(this);
        }
    }

    /** Ends what was started and frees the model; its tensors stay. More than once does nothing. */
    @Override
    public void close() {
        cancel();
        turn.acquireUninterruptibly();
        life.writeLock().lock();
        try {
            cleanable.clean();
        } finally {
            life.writeLock().unlock();
            turn.release();
        }
    }

    @Override
    public String toString() {
        return name + " on " + uri + ": " + inputs + " -> " + outputs;
    }
}
