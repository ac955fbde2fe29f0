// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"strings"
	"sync"
)

// authorization is the header of a bearer token.
const authorization = "authorization"

// credentials are sent with each request, and shown nowhere. They are gRPC's
// credentials.PerRPCCredentials. They must not be copied once in use.
type credentials struct {
	token     string
	tokenFile string
	headers   map[string]string

	mu sync.Mutex
	// sent are all tokens that were read from the file; it seldom changes.
	sent []string
}

var (
	headerName  = regexp.MustCompile(`^[0-9a-z_.-]+$`)
	headerValue = regexp.MustCompile(`^[[:print:]]*$`)
)

// parseHeaders reads a list of name=value. Errors do not contain values, which may be secret.
func parseHeaders(text string) (map[string]string, error) {
	headers := map[string]string{}
	for i, element := range list(text) {
		name, value, found := strings.Cut(element, "=")
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
		switch {
		case !found:
			return nil, fmt.Errorf("-headers: element %d is not name=value", i+1)
		case !headerName.MatchString(name) || strings.HasPrefix(name, "grpc-") || strings.HasSuffix(name, "-bin"):
			return nil, fmt.Errorf("-headers: the name of element %d is not allowed in gRPC", i+1)
		case !headerValue.MatchString(value):
			return nil, fmt.Errorf("-headers: the value of %q has other characters than printable ASCII", name)
		}
		if _, twice := headers[name]; twice {
			return nil, fmt.Errorf("-headers: %q is there twice", name)
		}
		headers[name] = value
	}
	return headers, nil
}

// validate reads the token file, so that a wrong name is found at the start.
func (c *credentials) validate() error {
	if c.token != "" && c.tokenFile != "" {
		return errors.New("-token and -token-file: only one may be given")
	}
	if _, found := c.headers[authorization]; found && (c.token != "" || c.tokenFile != "") {
		return errors.New("-headers: authorization is what -token and -token-file send")
	}
	if _, err := c.bearer(); err != nil {
		return err
	}
	return nil
}

// any reports whether something is sent that nobody else should see.
func (c *credentials) any() bool {
	return c.token != "" || c.tokenFile != "" || len(c.headers) > 0
}

// bearer returns the token; empty if there is none.
func (c *credentials) bearer() (string, error) {
	if c.tokenFile == "" {
		if !headerValue.MatchString(c.token) {
			return "", errors.New("-token: it has other characters than printable ASCII")
		}
		return c.token, nil
	}
	content, err := os.ReadFile(c.tokenFile)
	if err != nil {
		return "", fmt.Errorf("-token-file: %w", err)
	}
	token := strings.TrimSpace(string(content))
	if token == "" || !headerValue.MatchString(token) {
		return "", fmt.Errorf("-token-file: %s does not hold one token", c.tokenFile)
	}
	c.remember(token)
	return token, nil
}

func (c *credentials) remember(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.sent) == 0 || c.sent[len(c.sent)-1] != token {
		c.sent = append(c.sent, token)
	}
}

// GetRequestMetadata returns the headers of a request.
func (c *credentials) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	token, err := c.bearer()
	if err != nil {
		return nil, err
	}
	if token == "" {
		return c.headers, nil
	}
	headers := map[string]string{authorization: "Bearer " + token}
	maps.Copy(headers, c.headers)
	return headers, nil
}

// RequireTransportSecurity allows plaintext: Parca itself has no TLS.
func (*credentials) RequireTransportSecurity() bool { return false }

// redact removes tokens and values of headers from what the server said.
func (c *credentials) redact(text string) string {
	c.mu.Lock()
	secrets := append([]string{c.token}, c.sent...)
	c.mu.Unlock()
	for name, value := range c.headers {
		secrets = append(secrets, value)
		if name == authorization { // a scheme, a space, the secret
			_, secret, _ := strings.Cut(value, " ")
			secrets = append(secrets, secret)
		}
	}
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	return text
}
