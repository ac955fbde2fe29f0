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

// Scale multiplies many numbers by one.
type Scale struct {
	factor int64
	// inRange is the largest number whose product is sure to be in range.
	inRange uint64
}

// By returns the scale of a factor.
func By(factor int64) Scale {
	if factor <= 0 {
		return Scale{factor: factor}
	}
	return Scale{factor, math.MaxInt64 / uint64(factor)}
}

// Of returns a times the factor, or the nearest representable number.
func (s Scale) Of(a int64) int64 {
	// As an unsigned number, a negative one is out of range.
	if uint64(a) <= s.inRange {
		return a * s.factor
	}
	return Multiply(a, s.factor)
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
