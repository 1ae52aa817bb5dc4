// SPDX-License-Identifier: Apache-2.0

// Speak has a language model say what stands behind each prompt, and prints the tokens and the text's bytes. Then it does
// what a program may do wrong, and has the model speak again.
//
// usage: speak MODEL TEMPERATURE K P SEED TOKENS PROMPT...
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"vtac.invalid/vta"
	"vtac.invalid/vta/generate"
)

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func demand(holds bool, what string) {
	if !holds {
		fmt.Println("not so:", what)
		os.Exit(1)
	}
}

func number(text string) float64 {
	value, err := strconv.ParseFloat(text, 64)
	check(err)
	return value
}

func speak(g *generate.Generator, prompt string, how *generate.How) string {
	var ids, text strings.Builder
	report, err := g.Generate(prompt, how, func(t generate.Token) bool {
		if !t.Rest {
			fmt.Fprintf(&ids, " %d", t.ID)
		}
		text.WriteString(t.Text)
		return true
	})
	check(err)
	demand(report.NewTokens == how.MaxTokens && report.End == generate.Count && report.NewTime > 0, "a report")
	return fmt.Sprintf("%s | %x", ids.String(), text.String())
}

func refused(err error, part string) {
	demand(err != nil && strings.Contains(err.Error(), part) && !strings.Contains(err.Error(), "\n"), part+": "+fmt.Sprint(err))
}

func mistakes(g *generate.Generator, model string, how *generate.How) {
	_, err := g.GenerateTokens([]uint32{1 << 30}, how, nil)
	refused(err, "outside of the model's vocabulary")
	_, err = g.GenerateTokens(nil, how, nil)
	refused(err, "no tokens")
	_, err = g.Generate("Tom", &generate.How{Temperature: -1}, nil)
	refused(err, "temperature")
	_, err = generate.Open(model+".none", nil)
	refused(err, model+".none")
	_, err = generate.Open(model, &generate.Options{Tokenizer: "none.json"})
	refused(err, "none.json")
	count := 0
	report, err := g.Generate("Tom", how, func(generate.Token) bool { count++; return count < 3 })
	check(err)
	demand(count == 3 && report.End == generate.Caller && report.NewTokens == 3, "the caller ends it")
	_, err = g.Generate("Tom", how, func(generate.Token) bool { g.Cancel(); return true })
	demand(errors.Is(err, vta.Interrupted), "cancelled")
}

func main() {
	args := os.Args[1:]
	how := &generate.How{MaxTokens: uint64(number(args[5])), Temperature: number(args[1]), TopK: uint32(number(args[2])),
		TopP: number(args[3]), Seed: uint64(number(args[4])), IgnoreEnd: true}
	g, err := generate.Open(args[0], nil)
	check(err)
	demand(g.Context() == 64, "the context")
	first := ""
	for _, prompt := range args[6:] {
		first = speak(g, prompt, how)
		fmt.Println(first)
		ids, err := g.Encode(prompt, false)
		check(err)
		text, err := g.Decode(ids)
		check(err)
		demand(text == prompt, "the tokens of a text are that text")
	}
	check(g.Keep("kept"))
	mistakes(g, args[0], how)
	demand(speak(g, args[len(args)-1], how) == first, "it speaks as before")
	check(g.Resume("kept"))
	_, err = g.Generate(" Tom", &generate.How{MaxTokens: 2, IgnoreEnd: true}, nil)
	check(err)
	g.Close()
	_, err = g.Generate("Tom", how, nil)
	refused(err, "closed")
}
