// SPDX-License-Identifier: Apache-2.0
package vta;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/** An input or an output: what it is, and its memory, which stays valid whatever becomes of the model. */
public final class Tensor {
    private final Model model;
    private final boolean input;
    private final int index;
    private final String name;
    private final String type;
    private final long[] shape;
    private final ByteBuffer memory;

    Tensor(Model model, boolean input, int index, String name, long[] numbers) {
        this.model = model;
        this.input = input;
        this.index = index;
        this.name = name;
        type = kind((int) numbers[0]) + numbers[1];
        shape = Arrays.copyOfRange(numbers, 3, numbers.length);
        if (numbers[2] > Integer.MAX_VALUE) {
            throw VtaException.invalid("'%s' has %d bytes; a buffer of Java has at most %d", name, numbers[2], Integer.MAX_VALUE);
        }
        memory = ByteBuffer.allocateDirect((int) numbers[2]).order(ByteOrder.nativeOrder());
    }

    private static String kind(int code) {
        switch (code) {
            case 0:
                return "int";
            case 1:
                return "uint";
            case 2:
                return "float";
            case 4:
                return "bfloat";
            case 6:
                return "bool";
            default:
                return "type" + code + "_";
        }
    }

    public String name() {
        return name;
    }

    /** "float32". */
    public String type() {
        return type;
    }

    public long[] shape() {
        return shape.clone();
    }

    /** Its size in bytes. */
    public int size() {
        return memory.capacity();
    }

    /** A view of its memory, in the byte order of this machine; runs read or write it. */
    public ByteBuffer data() {
        return memory.duplicate().order(ByteOrder.nativeOrder());
    }

    ByteBuffer memory() {
        return memory;
    }

    private ByteBuffer open(int elements, int bytes, String... types) {
        if (!Arrays.asList(types).contains(type)) {
            throw VtaException.invalid("'%s' has elements of %s, not %s", name, type, String.join(" or ", types));
        }
        if (elements >= 0 && (long) elements * bytes != size()) {
            throw VtaException.invalid("'%s' has %d elements, not %d", name, size() / bytes, elements);
        }
        return data();
    }

    private void written() {
        model.own(this, input, index);
    }

    public void set(float[] values) {
        open(values.length, 4, "float32").asFloatBuffer().put(values);
        written();
    }

    public void set(double[] values) {
        open(values.length, 8, "float64").asDoubleBuffer().put(values);
        written();
    }

    public void set(int[] values) {
        open(values.length, 4, "int32", "uint32").asIntBuffer().put(values);
        written();
    }

    public void set(long[] values) {
        open(values.length, 8, "int64", "uint64").asLongBuffer().put(values);
        written();
    }

    /** Half precision and bfloat16 as their bits. */
    public void set(short[] values) {
        open(values.length, 2, "int16", "uint16", "float16", "bfloat16").asShortBuffer().put(values);
        written();
    }

    /** Bytes, of any type. */
    public void set(byte[] values) {
        set(ByteBuffer.wrap(values));
    }

    /** What remains in the buffer, of any type. */
    public void set(ByteBuffer values) {
        if (values.remaining() != size()) {
            throw VtaException.invalid("'%s' has %d bytes, not %d", name, size(), values.remaining());
        }
        data().put(values.duplicate());
        written();
    }

    public float[] floats() {
        float[] values = new float[size() / 4];
        open(-1, 4, "float32").asFloatBuffer().get(values);
        return values;
    }

    public double[] doubles() {
        double[] values = new double[size() / 8];
        open(-1, 8, "float64").asDoubleBuffer().get(values);
        return values;
    }

    public int[] ints() {
        int[] values = new int[size() / 4];
        open(-1, 4, "int32", "uint32").asIntBuffer().get(values);
        return values;
    }

    public long[] longs() {
        long[] values = new long[size() / 8];
        open(-1, 8, "int64", "uint64").asLongBuffer().get(values);
        return values;
    }

    public short[] shorts() {
        short[] values = new short[size() / 2];
        open(-1, 2, "int16", "uint16", "float16", "bfloat16").asShortBuffer().get(values);
        return values;
    }

    public byte[] bytes() {
        byte[] values = new byte[size()];
        data().get(values);
        return values;
    }

    @Override
    public String toString() {
        return name + ": " + type + Arrays.toString(shape);
    }
}
