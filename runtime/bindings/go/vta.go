// SPDX-License-Identifier: Apache-2.0

// Package vta runs compiled models on the accelerator, its simulators, or another machine.
//
//	model, err := vta.Load("model.so", &vta.Options{Device: "ssh://pynq"})
//	if err != nil { … }
//	defer model.Close()
//	err = vta.Set(model, 0, pixels)                 // a slice of the input's element type
//	err = model.Run()
//	scores, err := vta.Get[float32](model, 0)
//
// An error is an *Error, with the library's sentence and a Status to compare with: errors.Is(err, vta.IO). Calls of one
// model wait for one another, so that goroutines may share it; Cancel and Interrupt wait for nothing. What a function
// of the program panics with in the middle of a call comes out of that call.
//
// Tensors lie in memory of the library, which does not move: Input and Output give slices of it, until Close.
package vta

/*
#cgo pkg-config: vta
#include <stdlib.h>
#include <vta/driver.h>
#include <vta/model.h>

void vta_go_line(uintptr_t handle, char *line);

static void tell(void *context, const char *line)
{
	vta_go_line((uintptr_t)context, (char *)line);
}

// The function that is told while something is waited for; it stays as long as the device or the model.
static vta_progress *new_progress(uintptr_t handle)
{
	vta_progress *progress = calloc(1, sizeof *progress);
	if (progress != NULL) {
		progress->line = tell;
		progress->context = (void *)handle;
	}
	return progress;
}
*/
import "C"

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"runtime/cgo"
	"strings"
	"sync"
	"time"
	"unsafe"
)

// Status is why something failed. It is an error itself, for errors.Is.
type Status int

// The library's reasons.
const (
	NoMemory       Status = C.VTA_NOMEM
	IO             Status = C.VTA_IO
	Invalid        Status = C.VTA_INVALID
	Syntax         Status = C.VTA_SYNTAX
	Unsupported    Status = C.VTA_UNSUPPORTED
	Range          Status = C.VTA_RANGE
	IllegalProgram Status = C.VTA_ILLEGAL_PROGRAM
	IllegalInsn    Status = C.VTA_ILLEGAL_INSN
	BusError       Status = C.VTA_BUS_ERROR
	Timeout        Status = C.VTA_TIMEOUT
	ConfigMismatch Status = C.VTA_CONFIG_MISMATCH
	Busy           Status = C.VTA_BUSY
	NoDevice       Status = C.VTA_NO_DEVICE
	Protocol       Status = C.VTA_PROTOCOL
	Interrupted    Status = C.VTA_INTERRUPTED
)

func (s Status) Error() string { return C.GoString(C.vta_status_text(C.vta_status(s))) }

// Error is what the library refused or could not do, in its own sentence.
type Error struct {
	Status Status
	Text   string
}

func (e *Error) Error() string { return e.Text }

// Unwrap makes errors.Is(err, vta.IO) true of an error with that status.
func (e *Error) Unwrap() error { return e.Status }

func failure(status C.vta_status, diag *C.vta_diag) error {
	if status == C.VTA_OK {
		return nil
	}
	text := Status(status).Error()
	if diag.code != C.VTA_OK {
		text = C.GoString(&diag.text[0])
	}
	return &Error{Status(status), text}
}

func refuse(status Status, form string, values ...any) error {
	return &Error{status, fmt.Sprintf(form, values...)}
}

// Version is the release of the library that runs, "1.0.0".
func Version() string { return C.GoString(C.vta_version()) }

// teller passes lines to a function of the program. Nothing may be thrown through C: a panic waits for the end of the
// call.
type teller struct {
	line     func(string)
	handle   cgo.Handle
	progress *C.vta_progress
	thrown   any
}

func newTeller(line func(string)) *teller {
	if line == nil {
		return nil
	}
	t := &teller{line: line}
	t.handle = cgo.NewHandle(t)
	t.progress = C.new_progress(C.uintptr_t(t.handle))
	return t
}

func (t *teller) given() *C.vta_progress {
	if t == nil {
		return nil
	}
	return t.progress
}

func (t *teller) free() {
	if t != nil {
		t.handle.Delete()
		C.free(unsafe.Pointer(t.progress))
	}
}

// rethrow ends what was opened and goes on with the program's panic.
func (t *teller) rethrow(undo func()) {
	if t != nil && t.thrown != nil {
		thrown := t.thrown
		undo()
		panic(thrown)
	}
}

//export vta_go_line
func vta_go_line(handle C.uintptr_t, line *C.char) {
	t := cgo.Handle(handle).Value().(*teller)
	defer func() {
		if thrown := recover(); thrown != nil {
			t.thrown = thrown
		}
	}()
	if t.thrown == nil {
		t.line(C.GoString(line))
	}
}

// Device is an open device that several models share, each in turn.
type Device struct {
	mutex  sync.Mutex
	device *C.vta_device
	users  int
	tells  *teller
}

// Open opens a device by its URI; config names a configuration ("pynq", or a JSON file), or is "".
func Open(uri, config string, progress func(string)) (*Device, error) {
	var diag C.vta_diag
	var expected *C.vta_config
	if config != "" {
		name := C.CString(config)
		defer C.free(unsafe.Pointer(name))
		expected = (*C.vta_config)(C.calloc(1, C.sizeof_vta_config))
		defer C.free(unsafe.Pointer(expected))
		if status := C.vta_config_load(name, expected, &diag); status != C.VTA_OK {
			return nil, failure(status, &diag)
		}
	}
	name := C.CString(uri)
	defer C.free(unsafe.Pointer(name))
	d := &Device{tells: newTeller(progress)}
	status := C.vta_device_open_progress(name, expected, d.tells.given(), &d.device, &diag)
	d.tells.rethrow(d.release)
	if status != C.VTA_OK {
		d.release()
		return nil, failure(status, &diag)
	}
	runtime.SetFinalizer(d, (*Device).release)
	return d, nil
}

func (d *Device) release() {
	C.vta_device_close(d.device)
	d.device = nil
	d.tells.free()
	d.tells = nil
}

// URI is that of the device, a simulator's with the name of its configuration.
func (d *Device) URI() string {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.device == nil {
		return ""
	}
	return C.GoString(C.vta_device_uri(d.device))
}

// Close frees the device; it is refused while a model uses it.
func (d *Device) Close() error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.users > 0 {
		return refuse(Busy, "%d models use the device", d.users)
	}
	runtime.SetFinalizer(d, nil)
	d.release()
	return nil
}

// use is a model more, or less.
func (d *Device) use(more int) (*C.vta_device, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.device == nil {
		return nil, refuse(Invalid, "the device is closed")
	}
	d.users += more
	return d.device, nil
}

// Options say how a model is loaded; what is left out is the default.
type Options struct {
	Device   string        // URI; "": fsim
	Shared   *Device       // an open device in its place
	Threads  int           // of the host kernels; 0: VTAC_THREADS, or all cores
	Timeout  time.Duration // of each launch; 0: none
	Priority int           // of its launches on a shared device; higher ones go first
	Progress func(string)  // called with lines while there is something to wait for
}

// Tensor describes an input or an output.
type Tensor struct {
	Name  string
	Type  string // "float32"
	Shape []int
	Bytes int
}

// Step is what one step of the last run took.
type Step struct {
	Name, Op          string
	OnAccelerator     bool
	Time              time.Duration // of profiled runs
	Cycles, Predicted uint64
	Flops             uint64
}

// Model is a compiled model.
type Model struct {
	work   sync.Mutex   // one call at a time
	life   sync.RWMutex // the handle stays while it is held
	model  *C.vta_model
	shared *Device
	tells  *teller

	name, device    string
	words           sync.Mutex // of the descriptions: open sizes change
	inputs, outputs []Tensor
	open, started   bool // whether sizes may change; whether a run is to be waited for
}

// Load loads a compiled model; options may be nil.
func Load(path string, options *Options) (*Model, error) {
	if options == nil {
		options = &Options{}
	}
	if options.Threads < 0 || options.Threads > 1<<30 {
		return nil, refuse(Range, "%d threads; expected 0, for as many as there are cores, or more", options.Threads)
	}
	if options.Timeout < 0 {
		return nil, refuse(Range, "a timeout of %v; expected 0, for none, or more", options.Timeout)
	}
	if strings.ContainsRune(path, 0) || strings.ContainsRune(options.Device, 0) {
		return nil, refuse(Invalid, "a path or a URI with a character 0 in it")
	}
	m := &Model{tells: newTeller(options.Progress)}
	given := (*C.vta_model_options)(C.calloc(1, C.sizeof_vta_model_options))
	defer C.free(unsafe.Pointer(given))
	given.size = C.sizeof_vta_model_options
	given.threads = C.uint32_t(options.Threads)
	given.progress = m.tells.given()
	given.timeout_s = C.double(options.Timeout.Seconds())
	given.priority = C.int32_t(options.Priority)
	if options.Device != "" {
		given.device = C.CString(options.Device)
		defer C.free(unsafe.Pointer(given.device))
	}
	if options.Shared != nil {
		device, err := options.Shared.use(1)
		if err != nil {
			m.tells.free()
			return nil, err
		}
		given.shared = device
		m.shared = options.Shared
	}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var diag C.vta_diag
	status := C.vta_model_load(name, given, &m.model, &diag)
	m.tells.rethrow(m.release)
	if status != C.VTA_OK {
		m.release()
		return nil, failure(status, &diag)
	}
	m.describe()
	runtime.SetFinalizer(m, (*Model).release)
	return m, nil
}

func (m *Model) release() {
	C.vta_model_destroy(m.model)
	m.model = nil
	if m.shared != nil {
		_, _ = m.shared.use(-1)
		m.shared = nil
	}
	m.tells.free()
	m.tells = nil
}

// Close ends what was started and frees the model; slices of its tensors are not valid any more. More than once does
// nothing.
func (m *Model) Close() {
	m.Cancel()
	m.work.Lock()
	defer m.work.Unlock()
	m.life.Lock()
	defer m.life.Unlock()
	if m.model != nil {
		runtime.SetFinalizer(m, nil)
		m.release()
	}
}

// with calls f when it is its turn; f's panic is no reason to keep the turn.
func (m *Model) with(f func(diag *C.vta_diag) error) error {
	m.work.Lock()
	defer m.work.Unlock()
	defer runtime.KeepAlive(m)
	if m.model == nil {
		return refuse(Invalid, "the model is closed")
	}
	var diag C.vta_diag
	err := f(&diag)
	m.describe()
	if m.tells != nil && m.tells.thrown != nil {
		thrown := m.tells.thrown
		m.tells.thrown = nil
		panic(thrown)
	}
	return err
}

// describe keeps what the model is, and its tensors, where sizes are open or nothing is kept yet.
func (m *Model) describe() {
	m.words.Lock()
	defer m.words.Unlock()
	if m.started || m.inputs != nil && !m.open {
		return
	}
	m.name, m.device = C.GoString(C.vta_model_name(m.model)), C.GoString(C.vta_model_device_uri(m.model))
	m.inputs, m.outputs = []Tensor{}, []Tensor{}
	for i := C.uint32_t(0); i < C.vta_model_input_count(m.model); i++ {
		m.inputs = append(m.inputs, describe(C.vta_model_input(m.model, i)))
	}
	for i := C.uint32_t(0); i < C.vta_model_output_count(m.model); i++ {
		m.outputs = append(m.outputs, describe(C.vta_model_output(m.model, i)))
	}
	for _, tensor := range append(append([]Tensor{}, m.inputs...), m.outputs...) {
		m.open = m.open || tensor.Bytes == 0
	}
}

// Name is that of the ONNX graph.
func (m *Model) Name() string { return m.name }

// Device is the URI of the device of its accelerator steps; "" where it has none.
func (m *Model) Device() string { return m.device }

// Inputs describes them.
func (m *Model) Inputs() []Tensor {
	m.words.Lock()
	defer m.words.Unlock()
	return append([]Tensor{}, m.inputs...)
}

// Outputs describes them. Sizes that only a run decides are those of the last one, and 0 before the first.
func (m *Model) Outputs() []Tensor {
	m.words.Lock()
	defer m.words.Unlock()
	return append([]Tensor{}, m.outputs...)
}

// SetShape gives an input another size, where the model was compiled for more than one (vtac compile --dynamic). Slices of
// it are not valid any more; those of outputs, after the next run.
func (m *Model) SetShape(index int, shape ...int) error {
	return m.with(func(diag *C.vta_diag) error {
		dims := make([]C.int64_t, len(shape)+1)
		for i, dim := range shape {
			dims[i] = C.int64_t(dim)
		}
		m.open = true
		return failure(C.vta_model_set_input_shape(m.model, number(index), &dims[0], C.uint32_t(len(shape)), diag), diag)
	})
}

// Cycles are those of the accelerator in the last run; 0 where its device has no clock.
func (m *Model) Cycles() (cycles uint64) {
	_ = m.with(func(*C.vta_diag) error { cycles = uint64(C.vta_model_cycles(m.model)); return nil })
	return
}

var kinds = map[C.uint8_t]string{0: "int", 1: "uint", 2: "float", 4: "bfloat", 6: "bool"}

func typeOf(info C.vta_tensor_info) string {
	kind, known := kinds[info.dtype_code]
	if !known {
		kind = fmt.Sprintf("type%d_", info.dtype_code)
	}
	return fmt.Sprintf("%s%d", kind, info.dtype_bits)
}

func describe(info C.vta_tensor_info) Tensor {
	t := Tensor{C.GoString(info.name), typeOf(info), make([]int, info.rank), int(info.bytes)}
	for i, dim := range unsafe.Slice(info.dim, len(t.Shape)) {
		t.Shape[i] = int(dim)
	}
	return t
}

// Element is what a slice for a tensor may hold. Half precision and bfloat16 are given as their bits, in uint16.
type Element interface {
	~bool | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// elementType is how a tensor of T is called.
func elementType[T Element]() string {
	t := reflect.TypeOf(*new(T))
	kind := "uint"
	switch t.Kind() {
	case reflect.Bool:
		kind = "bool"
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		kind = "int"
	case reflect.Float32, reflect.Float64:
		kind = "float"
	}
	return fmt.Sprintf("%s%d", kind, 8*t.Size())
}

// fits refuses a slice of T where the tensor has other elements.
func fits[T Element](info C.vta_tensor_info, what string, index int) error {
	if info.name == nil {
		return refuse(Range, "%s %d does not exist", what, index)
	}
	has, given := typeOf(info), elementType[T]()
	if has != given && !(given == "uint16" && (has == "float16" || has == "bfloat16")) {
		return refuse(Invalid, "%s %d, '%s', has elements of %s, not %s", what, index, C.GoString(info.name), has, given)
	}
	return nil
}

// number is an index as the library takes it: beyond the last where it is negative.
func number(index int) C.uint32_t {
	if index < 0 || index > 1<<30 {
		return 1 << 30
	}
	return C.uint32_t(index)
}

func slice[T Element](data unsafe.Pointer, info C.vta_tensor_info) []T {
	return unsafe.Slice((*T)(data), int(uintptr(info.bytes)/unsafe.Sizeof(*new(T))))
}

// Input is the memory that runs read; it is the model's, and valid until Close.
func Input[T Element](m *Model, index int) (values []T, err error) {
	err = m.with(func(*C.vta_diag) error {
		info := C.vta_model_input(m.model, number(index))
		if err := fits[T](info, "input", index); err != nil {
			return err
		}
		values = slice[T](C.vta_model_input_data(m.model, number(index)), info)
		return nil
	})
	return
}

// Output is the memory that runs write; it is the model's, and valid until Close.
func Output[T Element](m *Model, index int) (values []T, err error) {
	err = m.with(func(*C.vta_diag) error {
		info := C.vta_model_output(m.model, number(index))
		if err := fits[T](info, "output", index); err != nil {
			return err
		}
		values = slice[T](unsafe.Pointer(C.vta_model_output_data(m.model, number(index))), info)
		return nil
	})
	return
}

// Set copies an input.
func Set[T Element](m *Model, index int, values []T) error {
	return m.with(func(diag *C.vta_diag) error {
		if err := fits[T](C.vta_model_input(m.model, number(index)), "input", index); err != nil {
			return err
		}
		size := C.size_t(uintptr(len(values)) * unsafe.Sizeof(*new(T)))
		var data unsafe.Pointer
		if len(values) > 0 {
			data = unsafe.Pointer(&values[0])
		}
		return failure(C.vta_model_set_input(m.model, number(index), data, size, diag), diag)
	})
}

// Get copies an output.
func Get[T Element](m *Model, index int) (values []T, err error) {
	err = m.with(func(diag *C.vta_diag) error {
		info := C.vta_model_output(m.model, number(index))
		if err := fits[T](info, "output", index); err != nil {
			return err
		}
		values = append([]T{}, slice[T](unsafe.Pointer(C.vta_model_output_data(m.model, number(index))), info)...)
		return nil
	})
	return
}

// Run is one inference.
func (m *Model) Run() error {
	return m.with(func(diag *C.vta_diag) error { return failure(C.vta_model_run(m.model, diag), diag) })
}

// RunContext is the same, ended when the context is: the error is the context's then.
func (m *Model) RunContext(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return m.with(func(diag *C.vta_diag) error {
		if status := C.vta_model_start(m.model, diag); status != C.VTA_OK {
			return failure(status, diag)
		}
		over := make(chan struct{})
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			select {
			case <-ctx.Done():
				C.vta_model_cancel(m.model)
			case <-over:
			}
		}()
		status := C.vta_model_wait(m.model, -1, diag)
		close(over)
		<-watched
		if status == C.VTA_INTERRUPTED && ctx.Err() != nil {
			return ctx.Err()
		}
		return failure(status, diag)
	})
}

// Profile runs with a clock round each step.
func (m *Model) Profile() ([]Step, error) {
	err := m.with(func(diag *C.vta_diag) error {
		var steps *C.vta_step_profile
		var count C.uint32_t
		return failure(C.vta_model_profile(m.model, &steps, &count, diag), diag)
	})
	if err != nil {
		return nil, err
	}
	return m.Steps(), nil
}

// Steps are what the last run left: cycles always, times from profiled runs alone.
func (m *Model) Steps() (steps []Step) {
	_ = m.with(func(*C.vta_diag) error {
		var count C.uint32_t
		rows := C.vta_model_steps(m.model, &count)
		for _, row := range unsafe.Slice(rows, int(count)) {
			steps = append(steps, Step{C.GoString(row.name), C.GoString(row.op), row.on_accelerator != 0,
				time.Duration(float64(row.seconds) * float64(time.Second)), uint64(row.cycles), uint64(row.predicted),
				uint64(row.flops)})
		}
		return nil
	})
	return
}

// Start begins an inference and returns; Wait ends it.
func (m *Model) Start() error {
	return m.with(func(diag *C.vta_diag) error {
		status := C.vta_model_start(m.model, diag)
		m.started = m.started || status == C.VTA_OK
		return failure(status, diag)
	})
}

// Wait says whether what was started is over within that time, and how it ended; below 0 it waits for ever.
func (m *Model) Wait(limit time.Duration) (over bool, err error) {
	seconds := C.double(limit.Seconds())
	if limit < 0 {
		seconds = -1
	}
	err = m.with(func(diag *C.vta_diag) error {
		status := C.vta_model_wait(m.model, seconds, diag)
		over = status != C.VTA_TIMEOUT || diag.code != C.VTA_OK
		if !over {
			return nil
		}
		m.started = false
		return failure(status, diag)
	})
	return
}

// Cancel makes what was started end soon; it is still to be waited for. From any goroutine.
func (m *Model) Cancel() {
	m.life.RLock()
	defer m.life.RUnlock()
	if m.model != nil {
		C.vta_model_cancel(m.model)
	}
}

// Interrupt ends the run that another goroutine is in, or the next one. From any goroutine.
func (m *Model) Interrupt() {
	m.life.RLock()
	defer m.life.RUnlock()
	if m.model != nil {
		C.vta_model_interrupt(m.model)
	}
}

// String is for people.
func (m *Model) String() string {
	return fmt.Sprintf("%s on %s: %v -> %v", m.Name(), m.Device(), m.Inputs(), m.Outputs())
}
