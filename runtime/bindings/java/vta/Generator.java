// SPDX-License-Identifier: Apache-2.0
package vta;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Supplier;

/**
 * A compiled language model that speaks, with a tokenizer.json: the one beside it, unless told.
 *
 * <pre>{@code
 * try (var speaker = new vta.Generator("model.so")) {
 *     speaker.generate("Once upon a time", new vta.GenerateOptions().maxTokens(100), (id, text) -> {
 *         System.out.print(text);
 *         return true;
 *     });
 * }
 * }</pre>
 *
 * Calls of one generator wait for one another; {@link #cancel} waits for nothing, and a listener may call nothing else of its generator.
 */
public final class Generator implements AutoCloseable {
    /** Hears of tokens. */
    @FunctionalInterface
    public interface Listener {
        /** A new token, and the text that is complete with it; the rest of a text comes with -1. False: no more. */
        boolean token(int id, String text);
    }

    /** Why a text ended. */
    public enum End {
        /** As many tokens as were asked for. */
        COUNT,
        /** The model ended its text. */
        TEXT,
        /** The model takes no more tokens. */
        CONTEXT,
        /** The listener wanted no more. */
        CALLER
    }

    /** What a generation took; seconds up to the first new token, and for those behind it. */
    public record Report(long promptTokens, long newTokens, double promptSeconds, double newSeconds, End end) {}

    private static final class State implements Runnable {
        long handle;

        @Override
        public void run() {
            if (handle != 0) {
                Native.closeGenerator(handle);
                handle = 0;
            }
        }
    }

    private final State state = new State();
    private final Cleaner.Cleanable cleanable;
    private final Semaphore turn = new Semaphore(1, true);                      // one call at a time
    private final ReentrantReadWriteLock life = new ReentrantReadWriteLock(); // the handle stays while it is held
    private final boolean words;
    private volatile Thread speaker; // whose turn it is

    public Generator(String path) {
        this(path, null, new Options());
    }

    /** The tokenizer may be null: the one beside the model, if there is one. Of the options, a device by its URI, threads and
     *  timeout count. */
    public Generator(String path, String tokenizer, Options options) {
        if (options.shared != null || options.progress != null) {
            throw VtaException.invalid("a generator opens its device itself, and tells nothing while it waits");
        }
        Path beside = Path.of(path).resolveSibling("tokenizer.json");
        String given = tokenizer != null ? tokenizer : Files.exists(beside) ? beside.toString() : null;
        words = given != null;
        state.handle = Native.openGenerator(Native.bytes(path), Native.bytes(given), Native.bytes(options.uri), options.threads,
                options.timeout);
        cleanable = Native.CLEANER.register(this, state);
    }

    /** A listener that called its own generator would wait for itself. */
    private void refuseListener() {
        if (speaker == Thread.currentThread()) {
            throw VtaException.invalid("a listener has called its own generator, which waits for it; return from the listener first");
        }
    }

    private void takeTurn() {
        refuseListener();
        turn.acquireUninterruptibly();
        speaker = Thread.currentThread();
    }

    private void endTurn() {
        speaker = null;
        turn.release();
    }

    private <T> T during(Supplier<T> call) {
        takeTurn();
        try {
            if (state.handle == 0) {
                throw VtaException.invalid("the generator is closed");
            }
            return call.get();
        } finally {
            endTurn();
            Reference.reachabilityFence(this);
        }
    }

    /** The number of tokens among which the model chooses; 0: only its first run tells. */
    public long vocabulary() {
        return during(() -> Native.vocabulary(state.handle));
    }

    /** The number of tokens that the model takes at most; 0: any. */
    public long context() {
        return during(() -> Native.context(state.handle));
    }

    private void needWords() {
        if (!words) {
            throw VtaException.invalid("a text needs a tokenizer; without one a prompt is tokens");
        }
    }

    /** The tokens of a text; begin: with those that the tokenizer puts in front of each. */
    public int[] encode(String text, boolean begin) {
        needWords();
        byte[] bytes = (text + "\0").getBytes(StandardCharsets.UTF_8);
        return during(() -> Native.encode(state.handle, bytes, begin));
    }

    /** The text of tokens. */
    public String decode(int... tokens) {
        needWords();
        return during(() -> Native.text(Native.decode(state.handle, tokens)));
    }

    /** Tells the listener of each new token behind a text. */
    public Report generate(String prompt, GenerateOptions how, Listener listener) {
        return generate(encode(prompt, true), how, listener);
    }

    /** The same behind tokens. */
    public Report generate(int[] prompt, GenerateOptions how, Listener listener) {
        return during(() -> {
            Native.begin(state.handle, prompt, how.maxTokens, how.temperature, how.topK, how.topP, how.seed, how.ends,
                    how.ignoreEnd);
            boolean stopped = speak(listener);
            double[] r = Native.report(state.handle);
            return new Report((long) r[0], (long) r[1], r[2], r[3], stopped ? End.CALLER : End.values()[(int) r[4]]);
        });
    }

    /** True if the listener wanted no more. */
    private boolean speak(Listener listener) {
        byte[][] text = new byte[1][];
        while (true) {
            long id = Native.next(state.handle, text);
            boolean told = id >= 0 || text[0].length > 0;
            if (told && !listener.token((int) id, Native.text(text[0])) && id >= 0) {
                return true;
            }
            if (id < 0) {
                return false;
            }
        }
    }

    /** Makes the generation that another thread is in end soon, with {@link VtaException.Interrupted}. */
    public void cancel() {
        life.readLock().lock();
        try {
            if (state.handle != 0) {
                Native.cancelGenerator(state.handle);
            }
        } finally {
            life.readLock().unlock();
        }
    }

    /** Keeps the last generation in a file: its tokens, and the states that hold them. */
    public void keep(String path) {
        file(path, false);
    }

    /** The next generation goes on behind the one that was kept. */
    public void resume(String path) {
        file(path, true);
    }

    private void file(String path, boolean resume) {
        byte[] name = Native.bytes(path);
        during(() -> {
            Native.keep(state.handle, name, resume);
            return null;
        });
    }

    /** Ends what another thread generates and frees the model. */
    @Override
    public void close() {
        refuseListener();
        cancel();
        takeTurn();
        life.writeLock().lock();
        try {
            cleanable.clean();
        } finally {
            life.writeLock().unlock();
            endTurn();
        }
    }
}
