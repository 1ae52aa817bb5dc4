// SPDX-License-Identifier: Apache-2.0
package vta;

import java.nio.charset.StandardCharsets;

/** What the library refused or could not do, in its own sentence. */
public class VtaException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final String status;

    VtaException(String text, String status) {
        super(text);
        this.status = status;
    }

    /** The status in words, "no such device". */
    public String status() {
        return status;
    }

    /** An argument, a file or a program that makes no sense. */
    public static class Invalid extends VtaException {
        private static final long serialVersionUID = 1;

        Invalid(String text, String status) {
            super(text, status);
        }
    }

    /** A device or a file that is not there, is in use, or is lost. */
    public static class Unavailable extends VtaException {
        private static final long serialVersionUID = 1;

        Unavailable(String text, String status) {
            super(text, status);
        }
    }

    /** There is no memory for it. */
    public static class NoMemory extends VtaException {
        private static final long serialVersionUID = 1;

        NoMemory(String text, String status) {
            super(text, status);
        }
    }

    /** A launch took longer than its time. */
    public static class TimedOut extends VtaException {
        private static final long serialVersionUID = 1;

        TimedOut(String text, String status) {
            super(text, status);
        }
    }

    /** {@link Model#cancel} or {@link Model#interrupt} ended the run. */
    public static class Interrupted extends VtaException {
        private static final long serialVersionUID = 1;

        Interrupted(String text, String status) {
            super(text, status);
        }
    }

    /** What the library said: the exception of its status. Called from C. */
    static VtaException of(byte[] status, byte[] text) {
        String why = new String(status, StandardCharsets.UTF_8);
        String said = new String(text, StandardCharsets.UTF_8);
        switch (why) {
            case "invalid argument":
            case "malformed input":
            case "value out of range":
            case "illegal program":
            case "illegal instruction":
                return new Invalid(said, why);
            case "input/output error":
            case "no such device":
            case "device busy":
                return new Unavailable(said, why);
            case "out of memory":
                return new NoMemory(said, why);
            case "timeout":
                return new TimedOut(said, why);
            case "interrupted":
                return new Interrupted(said, why);
            default:
                return new VtaException(said, why);
        }
    }

    /** What this side refuses. */
    static Invalid invalid(String form, Object... values) {
        return new Invalid(String.format(form, values), "invalid argument");
    }
}
