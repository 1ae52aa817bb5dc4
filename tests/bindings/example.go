// SPDX-License-Identifier: Apache-2.0

// The Go binding as a program uses it. Arguments: DEVICE MODEL TALKER
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"vtac.invalid/vta"
)

func require(good bool, what string) {
	if !good {
		_, _, line, _ := runtime.Caller(1)
		fmt.Fprintf(os.Stderr, "example.go:%d: %s\n", line, what)
		os.Exit(1)
	}
}

func must(err error) {
	if err != nil {
		_, _, line, _ := runtime.Caller(1)
		fmt.Fprintf(os.Stderr, "example.go:%d: %v\n", line, err)
		os.Exit(1)
	}
}

func picture(m *vta.Model, seed uint32) []float32 {
	values := make([]float32, m.Inputs()[0].Bytes/4)
	for i := range values {
		seed = seed*1664525 + 1013904223
		values[i] = float32(seed>>24) / 255
	}
	return values
}

func classify(m *vta.Model, seed uint32) []float32 {
	must(vta.Set(m, 0, picture(m, seed)))
	must(m.Run())
	scores, err := vta.Get[float32](m, 0)
	must(err)
	return scores
}

func max(x float32) float32 {
	if x > 0 {
		return x
	}
	return 0
}

func same(a, b []float32) bool { return reflect.DeepEqual(a, b) }

func failsWith(err error, status vta.Status, words string) bool {
	var told *vta.Error
	return errors.Is(err, status) && errors.As(err, &told) && strings.Contains(told.Text, words) && told.Status == status
}

// loads gives what the load of a program's angry function panics with.
func loads(path string, options vta.Options) (thrown any) {
	defer func() { thrown = recover() }()
	_, err := vta.Load(path, &options)
	return err
}

// inherited is what a child process has open.
func inherited() string {
	said, err := exec.Command("ls", "/proc/self/fd").Output()
	must(err)
	return string(said)
}

func main() {
	uri, path, talker := os.Args[1], os.Args[2], os.Args[3]
	before := inherited()

	// Load, describe, set, run, get, profile.
	model, err := vta.Load(path, &vta.Options{Device: uri, Threads: 2})
	must(err)
	fmt.Println(model)
	x, y := model.Inputs()[0], model.Outputs()[0]
	require(x.Type == "float32" && len(x.Shape) == 4 && x.Bytes == 4*x.Shape[0]*x.Shape[1]*x.Shape[2]*x.Shape[3], "the input")
	one, two := classify(model, 1), classify(model, 2)
	require(!same(one, two) && same(classify(model, 1), one) && len(one)*4 == y.Bytes, "twice with different data")
	steps, err := model.Profile()
	must(err)
	var cycles, predicted uint64
	var spent time.Duration
	for _, step := range steps {
		cycles += step.Cycles
		predicted += step.Predicted
		spent += step.Time
		require(step.Name != "" && step.OnAccelerator == (step.Predicted > 0), step.Name)
	}
	require(cycles == model.Cycles() && predicted > 0 && spent > 0, "the profile")

	// Memory of the model's, without a copy.
	pixels, err := vta.Input[float32](model, 0)
	must(err)
	scores, err := vta.Output[float32](model, 0)
	must(err)
	copy(pixels, picture(model, 2))
	must(model.Run())
	require(same(scores, two), "written in place")

	// Started; ended by a context; cancelled; interrupted.
	must(model.Start())
	require(failsWith(model.Run(), vta.Busy, "") || failsWith(model.Run(), vta.Invalid, ""), "a run within a run")
	for {
		over, err := model.Wait(10 * time.Millisecond)
		must(err)
		if over {
			break
		}
	}
	require(same(scores, two), "started")
	must(model.RunContext(context.Background()))
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	require(errors.Is(model.RunContext(gone), context.Canceled), "a context that is over")
	soon, cancel := context.WithTimeout(context.Background(), time.Microsecond)
	if err := model.RunContext(soon); err != nil {
		require(errors.Is(err, context.DeadlineExceeded), err.Error())
	}
	cancel()
	must(model.Start())
	model.Cancel()
	if _, err := model.Wait(-1); err != nil {
		require(errors.Is(err, vta.Interrupted), err.Error())
	}
	model.Interrupt()
	require(errors.Is(model.Run(), vta.Interrupted), "interrupted")
	require(same(classify(model, 1), one), "after an interruption")

	// Errors are of the language.
	require(failsWith(vta.Set(model, 0, make([]float32, 3)), vta.Invalid, "12"), "too few values")
	require(failsWith(vta.Set(model, 0, []float32{}), vta.Invalid, ""), "no values")
	require(failsWith(vta.Set(model, 0, make([]int32, 3)), vta.Invalid, "float32, not int32"), "another type")
	_, err = vta.Get[float32](model, 7)
	require(failsWith(err, vta.Range, "output 7"), "an output too many")
	_, err = vta.Input[float32](model, -1)
	require(failsWith(err, vta.Range, "input -1"), "an input too few")
	_, err = vta.Load("no such file.so", nil)
	require(failsWith(err, vta.IO, "no such file.so"), "no file")
	_, err = vta.Load(path, &vta.Options{Device: "nonsense"})
	require(failsWith(err, vta.NoDevice, "nonsense"), "no device")
	_, err = model.Wait(0)
	require(failsWith(err, vta.Invalid, ""), "nothing was started")
	_, err = vta.Open("fsim", "no such configuration", nil)
	require(err != nil, "no configuration")

	// A function that panics: it comes out of the load that called it.
	require(loads(path, vta.Options{Device: "pipe:" + talker, Progress: func(string) { panic(42) }}) == 42, "the panic")
	var lines []string
	_, err = vta.Load(path, &vta.Options{Device: "pipe:" + talker, Progress: func(line string) { lines = append(lines, line) }})
	require(err != nil && len(lines) == 1 && lines[0] == "pipe: there is something to wait for", "the line")

	// Goroutines: of one model, and with models of their own on one device.
	var group sync.WaitGroup
	for i := 0; i < 4; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			must(model.Run())
			_ = model.Steps()
		}()
	}
	group.Wait()
	if !strings.HasPrefix(uri, "pipe:") && !strings.HasPrefix(uri, "ssh:") {
		if strings.HasPrefix(uri, "uio") { // one at a time opens a board
			model.Close()
		}
		shared, err := vta.Open(uri, "", nil)
		must(err)
		for i := 0; i < 4; i++ {
			group.Add(1)
			go func(i int) {
				defer group.Done()
				own, err := vta.Load(path, &vta.Options{Shared: shared, Threads: 1, Priority: i % 2})
				must(err)
				defer own.Close()
				for round := 0; round < 3; round++ {
					seed := uint32(1 + (round+i)%2)
					require(same(classify(own, seed), map[uint32][]float32{1: one, 2: two}[seed]), "shared")
				}
			}(i)
		}
		group.Wait()
		user, err := vta.Load(path, &vta.Options{Shared: shared})
		must(err)
		require(failsWith(shared.Close(), vta.Busy, ""), "a device in use")
		user.Close()
		must(shared.Close())
		_, err = vta.Load(path, &vta.Options{Shared: shared})
		require(failsWith(err, vta.Invalid, "closed"), "a closed device")
	}

	// Sizes that the model leaves open.
	open, err := vta.Load(filepath.Join(filepath.Dir(path), "open.so"), nil)
	must(err)
	for _, rows := range []int{2, 5, 1} {
		must(open.SetShape(0, rows, 4))
		values, made := make([]float32, 4*rows), []float32{}
		var places []int64
		for i := range values {
			values[i] = float32((7*i+rows)%5 - 2)
			if values[i] > 0 {
				places = append(places, int64(i/4))
			}
			made = append(made, max(values[i]))
		}
		must(vta.Set(open, 0, values))
		must(open.Run())
		y, err := vta.Get[float32](open, 0)
		must(err)
		z, err := vta.Get[int64](open, 1)
		must(err)
		require(same(y, made) && len(places) > 0 && reflect.DeepEqual(z[:len(places)], places), "open sizes")
		require(reflect.DeepEqual(open.Outputs()[1].Shape, []int{2, len(places)}), "the shape of an output")
		require(reflect.DeepEqual(open.Inputs()[0].Shape, []int{rows, 4}), "the shape of an input")
	}
	require(failsWith(open.SetShape(0, 2, 5), vta.Range, "axis 1 is 5"), "another width")
	require(failsWith(open.SetShape(7, 2, 5), vta.Range, ""), "no such input")
	open.Close()

	// The program's signals stay its own, and its children get nothing of ours.
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGUSR1)
	must(syscall.Kill(os.Getpid(), syscall.SIGUSR1))
	<-heard
	require(inherited() == before, "descriptors that a child gets")

	model.Close()
	model.Close()
	require(failsWith(model.Run(), vta.Invalid, "closed"), "a closed model")
	fmt.Println("example.go: " + uri + ": good")
}
