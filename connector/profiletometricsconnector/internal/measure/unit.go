// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package measure // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/measure"

import "strings"

// Dimension is what a unit counts. Units of one dimension convert into each
// other, units of different ones never do.
type Dimension uint8

const (
	// Other is anything without a conversion: objects, goroutines, events.
	Other Dimension = iota
	// Time is counted in nanoseconds.
	Time
	// Bytes are counted one by one.
	Bytes

	dimensions = iota
)

// Unit is one way of writing a quantity.
type Unit struct {
	Dimension Dimension
	// Factor says how many base units (nanoseconds, bytes) one of these is; 1
	// for a unit of dimension Other.
	Factor int64
	// UCUM is the unit's name in OpenTelemetry metrics; empty for a unit of
	// dimension Other, which keeps the name it came with.
	UCUM string
}

// ParseUnit finds the unit that a profile or a configuration names. Names are
// pprof's (google/pprof, internal/measurement) and UCUM's and are read without
// regard to case where that leaves them distinct. pprof's "kilobyte", "kb"
// and their like are powers of 1024, as pprof reports them; UCUM's decimal
// "kBy" and its like are powers of 1000. An unknown name is a unit of
// dimension Other.
func ParseUnit(name string) Unit {
	if unit, ok := exactUnits[name]; ok {
		return unit
	}
	if unit, ok := foldedUnits[strings.ToLower(name)]; ok {
		return unit
	}
	return Unit{Dimension: Other, Factor: 1}
}

const (
	microsecond = 1000
	millisecond = 1000 * microsecond
	second      = 1000 * millisecond

	kibi = 1 << 10
	mebi = 1 << 20
	gibi = 1 << 30
	tebi = 1 << 40
)

// exactUnits are the names whose case matters: UCUM tells "ms" from "Ms".
var exactUnits = map[string]Unit{
	"By":   {Bytes, 1, "By"},
	"kBy":  {Bytes, 1_000, "kBy"},
	"MBy":  {Bytes, 1_000_000, "MBy"},
	"GBy":  {Bytes, 1_000_000_000, "GBy"},
	"KiBy": {Bytes, kibi, "KiBy"},
	"MiBy": {Bytes, mebi, "MiBy"},
	"GiBy": {Bytes, gibi, "GiBy"},
	"TiBy": {Bytes, tebi, "TiBy"},
}

// foldedUnits are written in lower case.
var foldedUnits = alias(
	names{Unit{Time, 1, "ns"}, []string{"ns", "nsec", "nanosecond", "nanoseconds"}},
	names{Unit{Time, microsecond, "us"}, []string{"us", "µs", "μs", "usec", "microsecond", "microseconds"}},
	names{Unit{Time, millisecond, "ms"}, []string{"ms", "msec", "millisecond", "milliseconds"}},
	names{Unit{Time, second, "s"}, []string{"s", "sec", "second", "seconds"}},
	names{Unit{Bytes, 1, "By"}, []string{"by", "b", "byte", "bytes"}},
	names{Unit{Bytes, kibi, "KiBy"}, []string{"kb", "kib", "kiby", "kbyte", "kbytes", "kilobyte", "kilobytes", "kibibyte", "kibibytes"}},
	names{Unit{Bytes, mebi, "MiBy"}, []string{"mb", "mib", "miby", "mbyte", "mbytes", "megabyte", "megabytes", "mebibyte", "mebibytes"}},
	names{Unit{Bytes, gibi, "GiBy"}, []string{"gb", "gib", "giby", "gbyte", "gbytes", "gigabyte", "gigabytes", "gibibyte", "gibibytes"}},
	names{Unit{Bytes, tebi, "TiBy"}, []string{"tb", "tib", "tiby", "tbyte", "tbytes", "terabyte", "terabytes", "tebibyte", "tebibytes"}},
)

type names struct {
	unit    Unit
	aliases []string
}

func alias(groups ...names) map[string]Unit {
	table := make(map[string]Unit)
	for _, group := range groups {
		for _, name := range group.aliases {
			table[name] = group.unit
		}
	}
	return table
}
