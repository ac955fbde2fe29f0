// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"

	"github.com/profiletometrics/profiletometrics/connector/profiletometricsconnector"
	"github.com/profiletometrics/profiletometrics/internal/testprofile"
)

// FuzzConfig checks that no text makes loading or validating panic, and that
// what validates can be created, started, given profiles and shut down.
func FuzzConfig(f *testing.F) {
	for _, seed := range configSeeds(f) {
		f.Add(seed)
	}
	message := testprofile.New(f, twoSamples(), testprofile.Resource{
		Attributes: testprofile.Attributes{"service.name": "app"},
		Profiles: []testprofile.Profile{{
			SampleType: "inuse_space/bytes",
			Samples:    []testprofile.Sample{{Stack: testprofile.Stack("f", "main"), Values: []int64{1}}},
		}},
	})
	message.MarkReadOnly()
	f.Fuzz(func(t *testing.T, text []byte) {
		config, err := loadConfig(text)
		if err != nil {
			assert.NotEmpty(t, err.Error())
			return
		}
		factory := profiletometricsconnector.NewFactory()
		conn, err := factory.CreateProfilesToMetrics(t.Context(), settings(), config, consumertest.NewNop())
		require.NoError(t, err)
		require.NoError(t, conn.Start(t.Context(), componenttest.NewNopHost()))
		assert.NoError(t, conn.ConsumeProfiles(t.Context(), message))
		assert.NoError(t, conn.Shutdown(t.Context()))
	})
}

// configSeeds are the configurations of all other tests, good and bad.
func configSeeds(tb testing.TB) [][]byte {
	tb.Helper()
	seeds := [][]byte{nil, []byte(useEverything), []byte(lookEverywhere), []byte(publishedConfig)}
	for _, invalid := range invalidConfigs {
		seeds = append(seeds, []byte(invalid.yaml))
	}
	files, err := filepath.Glob(filepath.Join("testdata", "golden", "*", "config.yaml"))
	require.NoError(tb, err)
	require.NotEmpty(tb, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(tb, err)
		seeds = append(seeds, text)
	}
	return seeds
}
