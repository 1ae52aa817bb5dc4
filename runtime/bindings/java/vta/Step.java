// SPDX-License-Identifier: Apache-2.0
package vta;

/** What a step of the last run took; seconds are of profiled runs. */
public record Step(String name, String op, boolean onAccelerator, double seconds, long cycles, long predicted, long flops) {}
