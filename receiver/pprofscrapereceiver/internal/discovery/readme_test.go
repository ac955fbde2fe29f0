// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheReadmeListsTheLabelsThatStandForAttributes(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	for label := range attributeOfLabel {
		assert.Contains(t, string(readme), "`"+label+"`")
	}
}
