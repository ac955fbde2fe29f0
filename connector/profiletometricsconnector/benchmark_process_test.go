// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkProcess measures what conversion adds to the CPU time of a process
// that decodes batches, the collection of garbage included. Decoding leaves
// nearly all of the garbage, and BenchmarkConsumeProfiles counts the work of
// neither with it; this is what a Collector pays. With the same phases, it
// reports
//
//	a    decoding a batch,
//	c/a  by how much that grows if the batch is converted with the defaults,
//	d/a  the same with ten regex attributes and ten export rules.
//
// Phases take turns in blocks long enough for several collections. Differences of
// times are noisier than times: read it on an otherwise idle machine.
func BenchmarkProcess(b *testing.B) {
	const samplesOfBlock = 400_000
	for _, payload := range payloads(b) {
		b.Run(payload.name, func(b *testing.B) {
			encodings, samples := payload.encodings(b)
			defaults := steadyConnector(b, decode(b, encodings[0]), payload.change)
			selective := steadyConnector(b, decode(b, encodings[0]), payload.change, tenAttributes, tenRules(payload.application))
			block := max(1, samplesOfBlock/samples)
			measure := func(convert func(encoded []byte)) time.Duration {
				begun := processTime(b)
				for i := range block {
					convert(encodings[i%len(encodings)])
				}
				return (processTime(b) - begun) / time.Duration(block)
			}
			var a, c, d times
			b.ResetTimer()
			for range b.N {
				a = append(a, measure(func(encoded []byte) { decode(b, encoded) }))
				c = append(c, measure(func(encoded []byte) {
					require.NoError(b, defaults.ConsumeProfiles(b.Context(), decode(b, encoded)))
				}))
				d = append(d, measure(func(encoded []byte) {
					require.NoError(b, selective.ConsumeProfiles(b.Context(), decode(b, encoded)))
				}))
			}
			b.StopTimer()

			b.ReportMetric(a.median()/float64(samples), "a-cpu-ns/sample")
			b.ReportMetric(c.median()/a.median()-1, "c/a")
			b.ReportMetric(d.median()/a.median()-1, "d/a")
			b.ReportMetric(0, "ns/op")
		})
	}
}
