// SPDX-License-Identifier: Apache-2.0

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.CancellationException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import vta.Device;
import vta.Model;
import vta.Options;
import vta.Step;
import vta.Tensor;
import vta.VtaException;

/** The Java binding as a program uses it. Arguments: DEVICE MODEL TALKER */
public final class Example {
    interface Call {
        void call() throws Exception;
    }

    static void require(boolean good, String what) {
        if (!good) {
            throw new AssertionError(what);
        }
    }

    static <T extends Throwable> T raises(Class<T> kind, Call call) throws Exception {
        try {
            call.call();
        } catch (Throwable thrown) {
            boolean told = thrown.getMessage() != null || thrown instanceof CancellationException;
            require(kind.isInstance(thrown) && told, kind + ", not " + thrown);
            return kind.cast(thrown);
        }
        throw new AssertionError(kind + " was not thrown");
    }

    static float[] picture(Tensor tensor, int seed) {
        float[] values = new float[tensor.size() / 4];
        for (int i = 0; i < values.length; i++) {
            seed = seed * 1664525 + 1013904223;
            values[i] = (seed >>> 24) / 255f;
        }
        return values;
    }

    static float[] classify(Model model, int seed) {
        model.input(0).set(picture(model.input(0), seed));
        model.run();
        return model.output(0).floats();
    }

    /** What a child process has open. */
    static String inherited() throws Exception {
        Process child = new ProcessBuilder("ls", "/proc/self/fd").start();
        return new String(child.getInputStream().readAllBytes());
    }

    public static void main(String[] arguments) throws Exception {
        String uri = arguments[0];
        String path = arguments[1];
        String talker = "pipe:" + arguments[2];
        String before = inherited();

        // Load, describe, set, run, get, profile.
        Tensor kept;
        float[] one;
        float[] two;
        Model model = new Model(path, new Options().device(uri).threads(2));
        try (model) {
            System.out.println(model);
            Tensor x = model.input(0);
            Tensor y = model.outputs().get(0);
            kept = y;
            long elements = Arrays.stream(x.shape()).reduce(1, (a, b) -> a * b);
            require(x.type().equals("float32") && x.shape().length == 4 && x.size() == 4 * elements, "the input");
            one = classify(model, 1);
            two = classify(model, 2);
            require(!Arrays.equals(one, two) && Arrays.equals(classify(model, 1), one), "twice with different data");
            require(one.length * 4 == y.size() && model.input(x.name()) == x && model.output(y.name()) == y, "names");
            model.input(0).set(picture(x, 2));
            List<Step> steps = model.profile();
            require(Arrays.equals(y.floats(), two), "a profiled run");
            require(steps.stream().mapToLong(Step::cycles).sum() == model.cycles(), "cycles");
            require(steps.stream().anyMatch(s -> s.onAccelerator() && s.predicted() > 0)
                    && steps.stream().mapToDouble(Step::seconds).sum() > 0 && model.steps().size() == steps.size(), "steps");

            // Nothing is copied: what is bound is read and written where it lies.
            ByteBuffer mine = ByteBuffer.allocateDirect(x.size() + 64).order(ByteOrder.nativeOrder());
            ByteBuffer result = ByteBuffer.allocateDirect(y.size()).order(ByteOrder.nativeOrder());
            mine.position(64);
            model.bindInput(0, mine);
            model.bindOutput(0, result);
            mine.slice().order(ByteOrder.nativeOrder()).asFloatBuffer().put(picture(x, 1));
            y.set(new float[two.length]); // its own memory again
            model.bindOutput(0, result);
            model.run();
            float[] got = new float[one.length];
            result.asFloatBuffer().get(got);
            require(Arrays.equals(got, one) && Arrays.equals(y.floats(), new float[one.length]), "bound");
            mine = null;
            System.gc(); // what is bound is kept
            model.bindOutput(0, null);
            model.run();
            require(Arrays.equals(y.floats(), one), "the model's own again");
            ByteBuffer raw = ByteBuffer.allocate(x.size()).order(ByteOrder.nativeOrder());
            raw.asFloatBuffer().put(picture(x, 2));
            x.set(raw);
            model.run();
            require(Arrays.equals(y.floats(), two), "bytes");

            // Started, awaited, cancelled, interrupted.
            model.start();
            raises(VtaException.class, model::run);
            while (!model.await(Duration.ofMillis(10))) {
                Thread.onSpinWait();
            }
            require(Arrays.equals(y.floats(), two), "started");
            require(model.runAsync().thenApply(outputs -> outputs.get(0).floats()).get().length == two.length, "a future");
            var future = model.runAsync();
            if (future.cancel(true)) {
                raises(CancellationException.class, future::get);
            }
            require(Arrays.equals(classify(model, 1), one), "after a future that was cancelled");
            model.interrupt();
            raises(VtaException.Interrupted.class, model::run);
            require(Arrays.equals(classify(model, 2), two), "after an interruption");

            // Errors are of the language.
            require(raises(VtaException.Invalid.class, () -> x.set(new float[3])).getMessage().contains("not 3"), "too few");
            require(raises(VtaException.Invalid.class, () -> x.set(new int[3])).getMessage().contains("float32, not int32"), "type");
            raises(VtaException.Invalid.class, () -> y.longs());
            raises(IndexOutOfBoundsException.class, () -> model.output(7));
            raises(NoSuchElementException.class, () -> model.input("nothing"));
            raises(VtaException.Invalid.class, model::await);
            raises(VtaException.Invalid.class, () -> model.bindInput(0, ByteBuffer.allocate(x.size())));
            raises(VtaException.Invalid.class, () -> model.bindInput(0, ByteBuffer.allocateDirect(8)));
            VtaException error = raises(VtaException.Unavailable.class, () -> new Model("kein Mödel \uD83D\uDE80.so"));
            require(error.status().equals("input/output error") && error.getMessage().contains("kein Mödel \uD83D\uDE80.so"),
                    error.getMessage());
            raises(VtaException.Unavailable.class, () -> new Model(path, new Options().device("nonsense")));
            raises(VtaException.class, () -> new Device("fsim", "no such configuration", null));
            raises(VtaException.Invalid.class, () -> new Options().threads(-1));

            // Threads on one model take turns.
            var pool = Executors.newFixedThreadPool(4);
            List<Future<?>> runs = new ArrayList<>();
            for (int i = 0; i < 6; i++) {
                runs.add(pool.submit(() -> {
                    model.run();
                    model.steps();
                }));
            }
            for (var run : runs) {
                run.get();
            }
            pool.shutdown();
        }
        raises(VtaException.Invalid.class, model::run);
        model.close();
        model.cancel();
        require(Arrays.equals(kept.floats(), two), "a tensor outlives its model");

        // A function that throws: it comes out of the load that called it.
        require(raises(ArithmeticException.class, () -> new Model(path, new Options().device(talker).progress(line -> {
            throw new ArithmeticException(line);
        }))).getMessage().equals("pipe: there is something to wait for"), "thrown");
        List<String> lines = new ArrayList<>();
        raises(VtaException.class, () -> new Model(path, new Options().device(talker).progress(lines::add)));
        require(lines.equals(List.of("pipe: there is something to wait for")), lines.toString());

        // A thread pool of ours: a model for each thread, on one device.
        if (!uri.startsWith("pipe:") && !uri.startsWith("ssh:")) {
            Device device = new Device(uri);
            var pool = Executors.newFixedThreadPool(4);
            List<Future<?>> work = new ArrayList<>();
            for (int number = 0; number < 6; number++) {
                int first = number;
                work.add(pool.submit(() -> {
                    try (Model own = new Model(path, new Options().device(device).threads(1).priority(first % 2))) {
                        for (int i = 0; i < 3; i++) {
                            int seed = 1 + (first + i) % 2;
                            require(Arrays.equals(classify(own, seed), seed == 1 ? one : two), "shared");
                        }
                    }
                }));
            }
            for (var task : work) {
                task.get();
            }
            pool.shutdown();
            require(pool.awaitTermination(10, TimeUnit.SECONDS), "the pool ends");
            Model user = new Model(path, new Options().device(device));
            raises(VtaException.Unavailable.class, device::close);
            user.close();
            device.close();
            device.close();
            raises(VtaException.Invalid.class, () -> new Model(path, new Options().device(device)));
        }

        // Sizes that the model leaves open.
        try (Model sized = new Model(Path.of(path).resolveSibling("open.so"), new Options())) {
            Tensor first = sized.input(0);
            for (int rows : new int[] {2, 5, 1}) {
                float[] values = new float[4 * rows];
                int positive = 0;
                for (int i = 0; i < values.length; i++) {
                    values[i] = (7 * i + rows) % 5 - 2;
                    positive += values[i] > 0 ? 1 : 0;
                }
                sized.setShape(0, rows, 4).set(values);
                sized.run();
                float[] made = sized.output(0).floats();
                long[] places = sized.output("z").longs();
                require(Arrays.equals(sized.output(1).shape(), new long[] {2, positive}) && positive > 0, "the run's size");
                for (int i = 0, seen = 0; i < values.length; i++) {
                    require(made[i] == Math.max(values[i], 0), "Relu");
                    require(values[i] <= 0 || places[seen++] == i / 4, "NonZero");
                }
            }
            raises(VtaException.Invalid.class, () -> first.set(new float[first.size() / 4]));
            raises(VtaException.Invalid.class, () -> sized.setShape(0, 2, 5));
            raises(IndexOutOfBoundsException.class, () -> sized.setShape(3, 2, 5));
        }

        // What is forgotten is freed, sooner or later: descriptors tell.
        for (int i = 0; i < 20; i++) {
            Model forgotten = new Model(Path.of(path), new Options().threads(1));
            forgotten.start();
            forgotten.await();
        }
        long open = 0;
        for (int i = 0; i < 100; i++) {
            System.gc();
            Thread.sleep(20);
            try (var files = Files.list(Path.of("/proc/self/fd"))) {
                open = files.count();
            }
            if (open < 30) {
                break;
            }
        }
        require(open < 30, open + " descriptors are open");
        require(inherited().equals(before), "descriptors that a child gets");
        System.out.println("Example.java: " + uri + ": good");
    }
}
