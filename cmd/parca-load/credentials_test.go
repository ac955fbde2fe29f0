// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTokenFileIsReadForEachRequest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	c := &credentials{tokenFile: file, headers: map[string]string{"x-scope-orgid": "tenant-1"}}
	for _, token := range []string{"first-token", "second-token"} {
		require.NoError(t, os.WriteFile(file, []byte(token+"\n"), 0o600))
		headers, err := c.GetRequestMetadata(t.Context())
		require.NoError(t, err)
		assert.Equal(t, map[string]string{"authorization": "Bearer " + token, "x-scope-orgid": "tenant-1"}, headers)
	}

	// An answer to an old request may come late.
	assert.Equal(t, "no [redacted], no [redacted] for [redacted]",
		c.redact("no first-token, no second-token for tenant-1"))

	require.NoError(t, os.Remove(file))
	_, err := c.GetRequestMetadata(t.Context())
	require.ErrorContains(t, err, "-token-file: open "+file)
}

func TestOfAHeaderTheSecretAloneIsRedacted(t *testing.T) {
	c := &credentials{headers: map[string]string{"authorization": "Basic dXNlcg=="}}
	assert.Equal(t, "[redacted], [redacted]", c.redact("Basic dXNlcg==, dXNlcg=="))
}

func TestWithoutSecretsNothingIsRedacted(t *testing.T) {
	assert.Equal(t, "as it is", (&credentials{}).redact("as it is"))
}
