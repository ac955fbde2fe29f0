// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package testprofile

import (
	"fmt"
	"math/rand/v2"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// EBPF says how large a host's batch is.
type EBPF struct {
	Processes int
	Functions int // per process
	Samples   int
	Stacks    int // distinct ones
	// Order, unless 0, lists the same processes and functions in another order,
	// as a profiler does that meets them in another.
	Order uint64
}

// Host is the batch that a host of 50 processes sends, with 500 functions each
// and ten samples a stack.
func Host(samples int) EBPF {
	return EBPF{Processes: 50, Functions: 500, Samples: samples, Stacks: max(samples/10, 50)}
}

// Profiles builds the batch as an eBPF profiler sends it: each process a
// resource, samples that have timestamps and no values, the thread and the CPU
// as sample attributes, frame types on the locations, a third of the frames
// native and without lines, stacks of 10 to 60 frames. It is the same for the
// same size.
func (e EBPF) Profiles() pprofile.Profiles {
	h := &host{
		random:   rand.New(rand.NewPCG(uint64(e.Samples), uint64(e.Stacks))),
		profiles: pprofile.NewProfiles(),
		strings:  map[string]int32{},
	}
	h.tables = h.profiles.Dictionary()
	h.string("")
	h.tables.MappingTable().AppendEmpty()
	h.tables.LocationTable().AppendEmpty()
	h.tables.FunctionTable().AppendEmpty()
	h.tables.LinkTable().AppendEmpty()
	h.tables.AttributeTable().AppendEmpty()
	h.tables.StackTable().AppendEmpty()
	h.goFrame, h.nativeFrame = h.attribute("profile.frame.type", "go"), h.attribute("profile.frame.type", "native")
	for cpu := range 8 {
		h.cpus = append(h.cpus, h.attribute("cpu.logical_number", int64(cpu)))
	}
	for _, process := range e.order(e.Processes, 0) {
		h.addProcess(process, e)
	}
	return h.profiles
}

// order returns the numbers below n, in the order of a list.
func (e EBPF) order(n int, list uint64) []int {
	if e.Order != 0 {
		return rand.New(rand.NewPCG(e.Order, list)).Perm(n)
	}
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i
	}
	return numbers
}

type host struct {
	random               *rand.Rand
	profiles             pprofile.Profiles
	tables               pprofile.ProfilesDictionary
	strings              map[string]int32
	goFrame, nativeFrame int32
	cpus                 []int32
}

func (h *host) string(s string) int32 {
	if i, ok := h.strings[s]; ok {
		return i
	}
	i := int32(h.tables.StringTable().Len())
	h.tables.StringTable().Append(s)
	h.strings[s] = i
	return i
}

func (h *host) attribute(key string, value any) int32 {
	entry := h.tables.AttributeTable().AppendEmpty()
	entry.SetKeyStrindex(h.string(key))
	// The values are constants of this file.
	_ = entry.Value().FromRaw(value)
	return int32(h.tables.AttributeTable().Len() - 1)
}

func (h *host) addProcess(number int, e EBPF) {
	name := fmt.Sprintf("service-%02d", number)
	rp := h.profiles.ResourceProfiles().AppendEmpty()
	attributes := rp.Resource().Attributes()
	attributes.PutInt("process.pid", int64(1000+number))
	attributes.PutStr("process.executable.name", name)
	attributes.PutStr("process.executable.path", "/usr/bin/"+name)
	attributes.PutStr("container.id", fmt.Sprintf("%064x", number))
	sp := rp.ScopeProfiles().AppendEmpty()
	sp.Scope().SetName("go.opentelemetry.io/ebpf-profiler")
	profile := sp.Profiles().AppendEmpty()
	profile.SampleType().SetTypeStrindex(h.string("samples"))
	profile.SampleType().SetUnitStrindex(h.string("count"))
	profile.PeriodType().SetTypeStrindex(h.string("cpu"))
	profile.PeriodType().SetUnitStrindex(h.string("nanoseconds"))
	profile.SetPeriod(1e9 / 20)
	profile.SetTime(pcommon.Timestamp(1767225600e9))

	locations := h.addLocations(name, e.order(e.Functions, uint64(number)))
	stacks := h.addStacks(locations, e.Stacks/e.Processes)
	threads := h.addThreads(number)
	for range e.Samples / e.Processes {
		sample := profile.Samples().AppendEmpty()
		sample.SetStackIndex(stacks[h.skewed(len(stacks))])
		thread := threads[h.random.IntN(len(threads))]
		sample.AttributeIndices().Append(thread[0], thread[1], h.cpus[h.random.IntN(len(h.cpus))])
		sample.TimestampsUnixNano().Append(1767225600e9 + h.random.Uint64N(5e9))
	}
}

// skewed prefers low numbers, as hot stacks are few.
func (h *host) skewed(n int) int { return min(h.random.IntN(n), h.random.IntN(n)) }

func (h *host) addLocations(process string, functions []int) []int32 {
	mapping := h.tables.MappingTable().AppendEmpty()
	mapping.SetFilenameStrindex(h.string("/usr/lib/" + process + ".so"))
	mappingIndex := int32(h.tables.MappingTable().Len() - 1)
	var locations []int32
	for _, i := range functions {
		location := h.tables.LocationTable().AppendEmpty()
		location.SetAddress(h.random.Uint64())
		location.SetMappingIndex(mappingIndex)
		if i%3 == 0 {
			location.AttributeIndices().Append(h.nativeFrame)
		} else {
			function := h.tables.FunctionTable().AppendEmpty()
			function.SetNameStrindex(h.string(fmt.Sprintf("github.com/example/%s/internal/handlers.(*API).Function%03d", process, i)))
			function.SetFilenameStrindex(h.string(fmt.Sprintf("/src/%s/file%02d.go", process, i/20)))
			line := location.Lines().AppendEmpty()
			line.SetFunctionIndex(int32(h.tables.FunctionTable().Len() - 1))
			line.SetLine(int64(i))
			location.AttributeIndices().Append(h.goFrame)
		}
		locations = append(locations, int32(h.tables.LocationTable().Len()-1))
	}
	return locations
}

func (h *host) addStacks(locations []int32, n int) []int32 {
	var stacks []int32
	for range max(n, 1) {
		stack := h.tables.StackTable().AppendEmpty()
		for range 10 + h.random.IntN(51) {
			stack.LocationIndices().Append(locations[h.skewed(len(locations))])
		}
		stacks = append(stacks, int32(h.tables.StackTable().Len()-1))
	}
	return stacks
}

// addThreads returns the attributes of each thread: its name and its id.
func (h *host) addThreads(process int) [][2]int32 {
	var threads [][2]int32
	for i := range 10 {
		threads = append(threads, [2]int32{
			h.attribute("thread.name", fmt.Sprintf("worker-%d", i)),
			h.attribute("thread.id", int64(process*100+i)),
		})
	}
	return threads
}
