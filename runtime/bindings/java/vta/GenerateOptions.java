// SPDX-License-Identifier: Apache-2.0
package vta;

/** How a {@link Generator} chooses tokens. What is not said is the default: the largest, until the model ends its text. */
public final class GenerateOptions {
    long maxTokens;
    double temperature;
    int topK;
    double topP;
    long seed = 1;
    int[] ends;
    boolean ignoreEnd;

    /** New tokens at most; 0: until the model ends its text, or takes no more. */
    public GenerateOptions maxTokens(long tokens) {
        if (tokens < 0) {
            throw VtaException.invalid("%d tokens; expected 0, for as many as there will be, or more", tokens);
        }
        maxTokens = tokens;
        return this;
    }

    /** 0: always the largest, the first of equals. */
    public GenerateOptions temperature(double value) {
        temperature = value;
        return this;
    }

    /** Among so many of the largest; 0: among all. */
    public GenerateOptions topK(int count) {
        if (count < 0) {
            throw VtaException.invalid("the largest %d; expected 0, for all, or more", count);
        }
        topK = count;
        return this;
    }

    /** Among the largest that have this share together; 0: among all. */
    public GenerateOptions topP(double share) {
        topP = share;
        return this;
    }

    /** Of the random numbers. */
    public GenerateOptions seed(long number) {
        seed = number;
        return this;
    }

    /** Tokens that end a text, besides those that the tokenizer calls so. */
    public GenerateOptions ends(int... tokens) {
        ends = tokens.clone();
        return this;
    }

    /** Goes on behind such a token. */
    public GenerateOptions ignoreEnd(boolean goesOn) {
        ignoreEnd = goesOn;
        return this;
    }
}
