// SPDX-License-Identifier: Apache-2.0
package vta;

import java.lang.ref.Cleaner;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;

/** The calls of vta/model.h and vta/generate.h as C sees them (vta_jni.c, vta_generate_jni.c). Texts are UTF-8, those that go in end with a 0. */
final class Native {
    static final Cleaner CLEANER = Cleaner.create();

    static {
        System.loadLibrary("vta_jni");
    }

    private Native() {}

    static byte[] bytes(String text) {
        if (text != null && text.indexOf(0) >= 0) {
            throw VtaException.invalid("a path or a URI with a character 0 in it");
        }
        return text == null ? null : (text + "\0").getBytes(StandardCharsets.UTF_8);
    }

    static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    static native byte[] version();

    static native long openDevice(byte[] uri, byte[] config, Consumer<String> progress);

    static native void closeDevice(long device);

    static native byte[] deviceUri(long device);

    static native long load(byte[] path, byte[] uri, long shared, int threads, double timeout, int priority,
            Consumer<String> progress);

    static native void close(long model);

    static native byte[] name(long model);

    static native byte[] uri(long model);

    static native long cycles(long model);

    /** Names of inputs or outputs, one after the other; what else is known of number {@code index}: DLPack's code, bits,
     *  bytes, then the dimensions. */
    static native byte[] tensorName(long model, boolean input, int index);

    static native long[] tensorNumbers(long model, boolean input, int index);

    static native int tensors(long model, boolean input);

    static native void bind(long model, boolean input, int index, ByteBuffer memory, long position, long bytes);

    static native void reshape(long model, int index, long[] shape);

    /** What an output holds; null: it lies in this memory, where it was bound. */
    static native byte[] fetch(long model, int index, ByteBuffer memory);

    static native void run(long model, boolean profiled);

    static native void start(long model);

    /** Whether it is over. */
    static native boolean await(long model, double seconds);

    static native void cancel(long model);

    static native void interrupt(long model);

    static native Step[] steps(long model);

    static native long openGenerator(byte[] path, byte[] tokenizer, byte[] uri, int threads, double timeout);

    static native void closeGenerator(long generator);

    static native void cancelGenerator(long generator);

    static native long vocabulary(long generator);

    static native long context(long generator);

    static native int[] encode(long generator, byte[] text, boolean begin);

    static native byte[] decode(long generator, int[] tokens);

    static native void begin(long generator, int[] prompt, long maxTokens, double temperature, int topK, double topP,
            long seed, int[] ends, boolean ignoreEnd);

    /** The next token, or -1 at the end, and the text that is complete with it. */
    static native long next(long generator, byte[][] text);

    static native double[] report(long generator);

    /** Keeps the last generation in a file, or makes the next one resume it. */
    static native void keep(long generator, byte[] path, boolean resume);

    /** A line for the program's function. Called from C. */
    static void tell(Consumer<String> progress, byte[] line) {
        progress.accept(text(line));
    }

    /** A row of the profile. Called from C. */
    static Step step(byte[] name, byte[] op, boolean onAccelerator, double seconds, long cycles, long predicted, long flops) {
        return new Step(text(name), text(op), onAccelerator, seconds, cycles, predicted, flops);
    }
}
