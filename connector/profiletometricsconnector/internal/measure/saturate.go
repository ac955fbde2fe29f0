// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package measure // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/measure"

import (
	"math"
	"math/bits"
)

// Add returns a + b, or the nearest representable number where the sum is out
// of range: a counter that stands still is wrong by less than one that wraps.
func Add(a, b int64) int64 {
	sum := a + b
	// Overflow shows as a sum whose sign differs from that of both operands.
	if (a^sum)&(b^sum) < 0 {
		return limit(a < 0)
	}
	return sum
}

// Multiply returns a × b, or the nearest representable number.
func Multiply(a, b int64) int64 {
	negative := (a < 0) != (b < 0)
	high, low := bits.Mul64(magnitude(a), magnitude(b))
	if high != 0 || low > math.MaxInt64 {
		return limit(negative)
	}
	if negative {
		return -int64(low)
	}
	return int64(low)
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

func limit(negative bool) int64 {
	if negative {
		return math.MinInt64
	}
	return math.MaxInt64
}
