// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package aggregate

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPlacesTellWhichFindingsAddNothing(t *testing.T) {
	for name, test := range map[string]struct {
		extractors int
		ranks      rank
		exact      bool
	}{
		"one for each bit":                        {extractorsTold, ranksTold, true},
		"more extractors and ranks than bits":     {3 * extractorsTold, ranksTold + 3, false},
		"a single extractor that looks anywhere":  {1, ranksTold, true},
		"no extractors, which never find a thing": {0, ranksTold, true},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			for range 10_000 {
				nearer, farther := randomFindings(random, test.extractors, test.ranks), randomFindings(random, test.extractors, test.ranks)
				adds := false
				for i := range farther {
					adds = adds || farther[i].rank < nearer[i].rank
				}
				told := offersOf(farther)&^coversOf(nearer) != 0
				if test.exact {
					assert.Equal(t, adds, told, "%v before %v", nearer, farther)
				} else if adds {
					assert.True(t, told, "%v before %v", nearer, farther)
				}
			}
		})
	}
}

// randomFindings are mostly nowhere.
func randomFindings(random *rand.Rand, extractors int, ranks rank) []finding {
	findings := slices.Repeat([]finding{{rank: nowhere}}, extractors)
	for i := range findings {
		if random.IntN(3) == 0 {
			findings[i] = finding{rank(random.UintN(uint(ranks))), random.Int32N(3)}
		}
	}
	return findings
}
