// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package aggregate // import "github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector/internal/aggregate"

// places is a set of the ranks at which extractors find something: for each
// extractor one bit for each rank. It tells in one operation whether findings
// farther from the leaf can change what was found so far. Extractors beyond the
// sixteenth share bits, and the ranks beyond the fourth do; then the set tells
// less, but nothing wrong.
type places uint64

const (
	ranksTold      = 4
	extractorsTold = 64 / ranksTold
)

func placeOf(extractor int, r rank) places {
	return 1 << (extractor%extractorsTold*ranksTold + int(min(r, ranksTold-1)))
}

// offersOf are the places of all findings.
func offersOf(findings []finding) places {
	var offers places
	for i, f := range findings {
		if f.rank != nowhere {
			offers |= placeOf(i, f.rank)
		}
	}
	return offers
}

// coversOf are the places that have nothing to add: what an extractor finds at
// the same rank, or a worse one, loses.
func coversOf(findings []finding) places {
	covers := ^places(0)
	for i, f := range findings {
		for r := range rank(ranksTold) {
			if r < f.rank {
				covers &^= placeOf(i, r)
			}
		}
	}
	return covers
}
