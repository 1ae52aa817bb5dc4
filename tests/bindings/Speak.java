// SPDX-License-Identifier: Apache-2.0

import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import vta.GenerateOptions;
import vta.Generator;
import vta.Options;
import vta.VtaException;

/**
 * Has a language model say what stands behind each prompt, and prints the tokens and the text's bytes. Then it does what a
 * program may do wrong, and has the model speak again.
 *
 * usage: Speak MODEL TEMPERATURE K P SEED TOKENS PROMPT...
 */
public class Speak {
    static void demand(boolean holds, String what) {
        if (!holds) {
            throw new IllegalStateException("not so: " + what);
        }
    }

    static String speak(Generator g, String prompt, GenerateOptions how, long tokens) {
        var ids = new StringBuilder();
        var text = new StringBuilder();
        var report = g.generate(prompt, how, (id, piece) -> {
            ids.append(id < 0 ? "" : " " + id);
            text.append(piece);
            return true;
        });
        demand(report.newTokens() == tokens && report.end() == Generator.End.COUNT && report.newSeconds() > 0, "a report");
        return ids + " | " + HexFormat.of().formatHex(text.toString().getBytes(StandardCharsets.UTF_8));
    }

    static void refused(Runnable call, String part) {
        String said = "nothing";
        try {
            call.run();
        } catch (VtaException thrown) {
            said = thrown.getMessage();
        }
        demand(said.contains(part) && !said.contains("\n"), part + ": " + said);
    }

    static void mistakes(Generator g, String model, GenerateOptions how) {
        Generator.Listener deaf = (id, text) -> true;
        refused(() -> g.generate(new int[] {1 << 30}, how, deaf), "outside of the model's vocabulary");
        refused(() -> g.generate(new int[0], how, deaf), "no tokens");
        refused(() -> g.generate("Tom", new GenerateOptions().temperature(-1), deaf), "temperature");
        refused(() -> new GenerateOptions().topK(-1), "0, for all");
        refused(() -> new Generator(model + ".none"), model + ".none");
        refused(() -> new Generator(model, "none.json", new Options()), "none.json");
        int[] count = {0};
        var report = g.generate("Tom", how, (id, text) -> ++count[0] < 3);
        demand(count[0] == 3 && report.end() == Generator.End.CALLER && report.newTokens() == 3, "the caller ends it");
        List<Runnable> calls = List.of(() -> g.decode(1), () -> g.encode("Tom", false), g::close, () -> g.keep("kept"), g::context);
        for (Runnable call : calls) { // each would wait for the generation that waits for it
            g.generate("Tom", how, (id, text) -> {
                refused(call, "a listener has called its own generator");
                return false;
            });
        }
        boolean interrupted = false;
        try {
            g.generate("Tom", how, (id, text) -> {
                g.cancel();
                return true;
            });
        } catch (VtaException.Interrupted thrown) {
            interrupted = true;
        }
        demand(interrupted, "cancelled");
    }

    public static void main(String[] words) {
        long tokens = Long.parseLong(words[5]);
        var how = new GenerateOptions().maxTokens(tokens).temperature(Double.parseDouble(words[1])).topK(Integer.parseInt(words[2]))
                .topP(Double.parseDouble(words[3])).seed(Long.parseLong(words[4])).ignoreEnd(true);
        var closed = new Generator(words[0]);
        try (var g = new Generator(words[0])) {
            demand(g.context() == 64, "the context");
            String first = "";
            for (int i = 6; i < words.length; i++) {
                first = speak(g, words[i], how, tokens);
                System.out.println(first);
                demand(g.decode(g.encode(words[i], false)).equals(words[i]), "the tokens of a text are that text");
            }
            g.keep("kept");
            mistakes(g, words[0], how);
            demand(speak(g, words[words.length - 1], how, tokens).equals(first), "it speaks as before");
            g.resume("kept");
            g.generate(" Tom", new GenerateOptions().maxTokens(2).ignoreEnd(true), (id, text) -> true);
        }
        closed.close();
        refused(() -> closed.generate("Tom", how, (id, text) -> true), "closed");
    }
}
