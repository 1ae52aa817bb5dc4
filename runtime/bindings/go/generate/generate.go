// SPDX-License-Identifier: Apache-2.0

// Package generate makes text with a compiled language model.
//
//	speaker, err := generate.Open("model.so", nil)      // with the tokenizer.json beside it
//	if err != nil { … }
//	defer speaker.Close()
//	_, err = speaker.Generate("Once upon a time", &generate.How{MaxTokens: 100}, func(t generate.Token) bool {
//		fmt.Print(t.Text)
//		return true
//	})
//
// Errors are those of package vta. Calls of one generator wait for one another, so that goroutines may share it; Cancel
// waits for nothing.
package generate

/*
#cgo pkg-config: vta
#cgo LDFLAGS: -lvta-generate
#include <stdlib.h>
#include <vta/generate.h>
*/
import "C"

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
	"unsafe"

	"vtac.invalid/vta"
)

// Options say how a model is opened; what is left out is the default.
type Options struct {
	Tokenizer string        // a tokenizer.json; "": the one beside the model, if there is one
	Device    string        // URI; "": fsim
	Threads   int           // of the host kernels; 0: VTAC_THREADS, or all cores
	Timeout   time.Duration // of each launch; 0: none
}

// How says how tokens are chosen.
type How struct {
	MaxTokens   uint64   // new ones; 0: until the model ends its text, or takes no more
	Temperature float64  // 0: always the largest
	TopK        uint32   // among so many of the largest; 0: among all
	TopP        float64  // among the largest that have this share together; 0: among all
	Seed        uint64   // of the random numbers
	Ends        []uint32 // tokens that end a text, besides those that the tokenizer calls so
	IgnoreEnd   bool     // goes on behind such a token
}

// Token is a new token, and the text that is complete with it. The last one may have the rest of the text alone: it is
// no token then.
type Token struct {
	ID   uint32
	Text string
	Rest bool
}

// End is why a text ended.
type End int

// The reasons.
const (
	Count   End = C.VTA_END_COUNT   // as many tokens as were asked for
	Text    End = C.VTA_END_TEXT    // the model ended its text
	Context End = C.VTA_END_CONTEXT // the model takes no more tokens
	Caller  End = C.VTA_END_CALLER  // the caller wanted no more
)

// Report tells of a generation.
type Report struct {
	PromptTokens, NewTokens uint64
	PromptTime, NewTime     time.Duration // up to the first new token; for those behind it
	End                     End
}

// Generator is a language model that speaks.
type Generator struct {
	work      sync.Mutex   // one call at a time
	life      sync.RWMutex // the handle stays while it is held
	generator *C.vta_generator
	model     *C.vta_model
	tokenizer *C.vta_tokenizer
	words     bool // there is a tokenizer
}

func failure(status C.vta_status, diag *C.vta_diag) error {
	if status == C.VTA_OK {
		return nil
	}
	text := vta.Status(status).Error()
	if diag.code != C.VTA_OK {
		text = C.GoString(&diag.text[0])
	}
	return &vta.Error{Status: vta.Status(status), Text: text}
}

func refuse(text string) error { return &vta.Error{Status: vta.Invalid, Text: text} }

// Open opens a compiled language model; options may be nil.
func Open(model string, options *Options) (*Generator, error) {
	if options == nil {
		options = &Options{}
	}
	words := options.Tokenizer
	if beside := filepath.Join(filepath.Dir(model), "tokenizer.json"); words == "" {
		if _, err := os.Stat(beside); err == nil {
			words = beside
		}
	}
	if strings.ContainsRune(model+words+options.Device, 0) {
		return nil, refuse("a path or a URI with a character 0 in it")
	}
	if options.Threads < 0 || options.Threads > 1<<30 || options.Timeout < 0 {
		return nil, &vta.Error{Status: vta.Range, Text: "expected 0 threads or more, and a timeout of 0 or more"}
	}
	g := &Generator{words: words != ""}
	var diag C.vta_diag
	status := g.open(model, words, options, &diag)
	if status != C.VTA_OK {
		g.release()
		return nil, failure(status, &diag)
	}
	runtime.SetFinalizer(g, (*Generator).release)
	return g, nil
}

func (g *Generator) open(model, words string, options *Options, diag *C.vta_diag) C.vta_status {
	path := C.CString(model)
	defer C.free(unsafe.Pointer(path))
	given := (*C.vta_model_options)(C.calloc(1, C.sizeof_vta_model_options))
	defer C.free(unsafe.Pointer(given))
	given.size = C.sizeof_vta_model_options
	given.threads = C.uint32_t(options.Threads)
	given.timeout_s = C.double(options.Timeout.Seconds())
	if options.Device != "" {
		given.device = C.CString(options.Device)
		defer C.free(unsafe.Pointer(given.device))
	}
	if words != "" {
		name := C.CString(words)
		defer C.free(unsafe.Pointer(name))
		if status := C.vta_tokenizer_load(name, &g.tokenizer, diag); status != C.VTA_OK {
			return status
		}
	}
	if status := C.vta_model_load(path, given, &g.model, diag); status != C.VTA_OK {
		return status
	}
	return C.vta_generator_create(g.model, g.tokenizer, &g.generator, diag)
}

func (g *Generator) release() {
	C.vta_generator_destroy(g.generator)
	C.vta_model_destroy(g.model)
	C.vta_tokenizer_destroy(g.tokenizer)
	g.generator, g.model, g.tokenizer = nil, nil, nil
}

// Close ends what another goroutine generates and frees the model. More than once does nothing.
func (g *Generator) Close() {
	g.Cancel()
	g.work.Lock()
	defer g.work.Unlock()
	g.life.Lock()
	defer g.life.Unlock()
	if g.generator != nil {
		runtime.SetFinalizer(g, nil)
		g.release()
	}
}

// Cancel makes the generation that another goroutine is in end soon, with vta.Interrupted. The generator can be used again.
func (g *Generator) Cancel() {
	g.life.RLock()
	defer g.life.RUnlock()
	if g.generator != nil {
		C.vta_generator_cancel(g.generator)
	}
}

// with calls f when it is its turn.
func (g *Generator) with(f func(diag *C.vta_diag) C.vta_status) error {
	g.work.Lock()
	defer g.work.Unlock()
	defer runtime.KeepAlive(g)
	if g.generator == nil {
		return refuse("the generator is closed")
	}
	var diag C.vta_diag
	return failure(f(&diag), &diag)
}

func numbers(ids []uint32) (*C.uint32_t, C.size_t) {
	if len(ids) == 0 {
		return nil, 0
	}
	return (*C.uint32_t)(unsafe.Pointer(&ids[0])), C.size_t(len(ids))
}

// Vocabulary is the number of tokens among which the model chooses; 0: only its first run tells.
func (g *Generator) Vocabulary() uint32 {
	var count uint32
	_ = g.with(func(*C.vta_diag) C.vta_status {
		count = uint32(C.vta_generator_vocabulary(g.generator))
		return C.VTA_OK
	})
	return count
}

// Context is the number of tokens that the model takes at most; 0: any.
func (g *Generator) Context() uint64 {
	var count uint64
	_ = g.with(func(*C.vta_diag) C.vta_status {
		count = uint64(C.vta_generator_context(g.generator))
		return C.VTA_OK
	})
	return count
}

// Encode gives the tokens of a text; begin: with those that the tokenizer puts in front of each.
func (g *Generator) Encode(text string, begin bool) ([]uint32, error) {
	if !g.words {
		return nil, refuse("a text needs a tokenizer; without one a prompt is tokens")
	}
	var ids []uint32
	err := g.with(func(diag *C.vta_diag) C.vta_status {
		chars := C.CString(text)
		defer C.free(unsafe.Pointer(chars))
		var made *C.uint32_t
		var count C.size_t
		var first C.int
		if begin {
			first = 1
		}
		status := C.vta_tokenizer_encode(g.tokenizer, chars, C.size_t(len(text)), first, &made, &count, diag)
		if status == C.VTA_OK {
			ids = append([]uint32{}, unsafe.Slice((*uint32)(unsafe.Pointer(made)), int(count))...)
			C.free(unsafe.Pointer(made))
		}
		return status
	})
	return ids, err
}

// Decode gives the text of tokens.
func (g *Generator) Decode(ids []uint32) (string, error) {
	if !g.words {
		return "", refuse("tokens have a text where there is a tokenizer")
	}
	var text string
	err := g.with(func(diag *C.vta_diag) C.vta_status {
		var made *C.char
		var size C.size_t
		first, count := numbers(ids)
		status := C.vta_tokenizer_decode(g.tokenizer, first, count, &made, &size, diag)
		if status == C.VTA_OK {
			text = C.GoStringN(made, C.int(size))
			C.free(unsafe.Pointer(made))
		}
		return status
	})
	return text, err
}

// Generate calls told with each new token behind a text, until that returns false; how and told may be nil.
// told may call Cancel and nothing else of g: other calls wait for the end of Generate.
func (g *Generator) Generate(prompt string, how *How, told func(Token) bool) (Report, error) {
	ids, err := g.Encode(prompt, true)
	if err != nil {
		return Report{}, err
	}
	return g.GenerateTokens(ids, how, told)
}

// GenerateTokens does the same behind tokens.
func (g *Generator) GenerateTokens(prompt []uint32, how *How, told func(Token) bool) (Report, error) {
	if how == nil {
		how = &How{}
	}
	var report Report
	err := g.with(func(diag *C.vta_diag) C.vta_status {
		stopped, status := g.speak(prompt, how, told, diag)
		made := C.vta_generator_report(g.generator)
		report = Report{uint64(made.prompt_tokens), uint64(made.new_tokens), seconds(made.prompt_seconds), seconds(made.new_seconds),
			End(made.end)}
		if stopped {
			report.End = Caller
		}
		return status
	})
	return report, err
}

func seconds(s C.double) time.Duration { return time.Duration(float64(s) * float64(time.Second)) }

// speak is true if the caller wanted no more.
func (g *Generator) speak(prompt []uint32, how *How, told func(Token) bool, diag *C.vta_diag) (bool, C.vta_status) {
	options := (*C.vta_generate_options)(C.calloc(1, C.sizeof_vta_generate_options))
	defer C.free(unsafe.Pointer(options))
	options.size = C.sizeof_vta_generate_options
	options.max_tokens = C.uint64_t(how.MaxTokens)
	options.temperature, options.top_k = C.double(how.Temperature), C.uint32_t(how.TopK)
	options.top_p, options.seed = C.double(how.TopP), C.uint64_t(how.Seed)
	if how.IgnoreEnd {
		options.ignore_end = 1
	}
	if len(how.Ends) > 0 { // C keeps no pointer of Go's
		const each = int(unsafe.Sizeof(how.Ends[0]))
		options.ends = (*C.uint32_t)(C.malloc(C.size_t(each * len(how.Ends))))
		defer C.free(unsafe.Pointer(options.ends))
		copy(unsafe.Slice((*uint32)(unsafe.Pointer(options.ends)), len(how.Ends)), how.Ends)
		options.end_count = C.size_t(len(how.Ends))
	}
	first, count := numbers(prompt)
	if status := C.vta_generate_begin(g.generator, first, count, options, diag); status != C.VTA_OK {
		return false, status
	}
	for {
		var id C.uint32_t
		var text *C.char
		var size C.size_t
		if status := C.vta_generate_next(g.generator, &id, &text, &size, diag); status != C.VTA_OK {
			return false, status
		}
		rest := id == C.VTA_NO_TOKEN
		if (!rest || size > 0) && told != nil && !told(Token{uint32(id), C.GoStringN(text, C.int(size)), rest}) && !rest {
			return true, C.VTA_OK
		}
		if rest {
			return false, C.VTA_OK
		}
	}
}

// Keep keeps the last generation in a file: its tokens, and the states that hold them.
func (g *Generator) Keep(path string) error { return g.file(path, true) }

// Resume makes the next generation go on behind the one that was kept.
func (g *Generator) Resume(path string) error { return g.file(path, false) }

func (g *Generator) file(path string, keep bool) error {
	if strings.ContainsRune(path, 0) {
		return refuse("a path with a character 0 in it")
	}
	return g.with(func(diag *C.vta_diag) C.vta_status {
		name := C.CString(path)
		defer C.free(unsafe.Pointer(name))
		if keep {
			return C.vta_generator_keep(g.generator, name, diag)
		}
		return C.vta_generator_resume(g.generator, name, diag)
	})
}
