// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The manifests' directory and the namespace of what is in it.
const (
	manifests           = repository + "/k8s"
	kubernetesNamespace = "profiletometrics"
)

// kubernetes is the API server of a cluster without nodes and controllers: it
// judges and keeps objects, and nothing acts on them.
type kubernetes struct {
	bin string // directory of the programs
	url string
	ca  string // path of the certificate that signed the server's
	// admin is the path of a kubeconfig that may do everything.
	admin string
	home  string // where kubectl keeps what it learnt of the API
}

// TestKubernetes shares one API server, which takes some seconds to start.
func TestKubernetes(t *testing.T) {
	k := startKubernetes(t)
	// First, so that it meets nothing but what its commands have made.
	t.Run("documented commands do what they say", k.testDocumentedCommands)
	t.Run("the README's commands do what they say", k.testReadmeCommands)
	t.Run("manifests are accepted", k.testManifests)
	t.Run("pods are admitted", k.testPods)
	t.Run("mistakes are refused", k.testRefusals)
	t.Run("access is as little as needed", k.testAccess)
	t.Run("annotated pods are scraped", k.testDiscovery)
	t.Run("annotated pods are scraped by the distribution", k.testDiscoveryOfTheDistribution)
	t.Run("the operator's resource is accepted", k.testOperator)
}

func startKubernetes(t *testing.T) *kubernetes {
	t.Helper()
	bin := os.Getenv("KUBERNETES_BIN")
	require.NotEmpty(t, bin, "KUBERNETES_BIN is not set: run the tests with `make e2e`")
	dir := t.TempDir()
	ports := freePorts(t, 3)
	etcd, peers := "http://127.0.0.1:"+ports[0], "http://127.0.0.1:"+ports[1]

	store := start(t, nil, filepath.Join(bin, "etcd"), "--data-dir="+filepath.Join(dir, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls="+etcd, "--advertise-client-urls="+etcd,
		"--listen-peer-urls="+peers, "--initial-advertise-peer-urls="+peers, "--initial-cluster=default="+peers)
	store.awaitServing(t, etcd+"/health")

	k := &kubernetes{
		bin: bin, url: "https://127.0.0.1:" + ports[2], ca: filepath.Join(dir, "certificates", "apiserver.crt"),
		admin: filepath.Join(dir, "admin.yaml"), home: dir,
	}
	token := rand.Text()
	tokens := writeFile(t, filepath.Join(dir, "tokens.csv"), token+`,admin,admin,"system:masters"`)
	key := signingKey(t, filepath.Join(dir, "serviceaccounts.key"))
	server := start(t, nil, filepath.Join(bin, "kube-apiserver"), "--etcd-servers="+etcd,
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--secure-port="+ports[2],
		"--endpoint-reconciler-type=none", "--cert-dir="+filepath.Dir(k.ca), "--service-cluster-ip-range=10.0.0.0/24",
		"--authorization-mode=RBAC", "--token-auth-file="+tokens, "--allow-privileged",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+key, "--service-account-signing-key-file="+key,
		// It keeps volume claims until a controller, which is not there, says that no pod uses them.
		"--disable-admission-plugins=StorageObjectInUseProtection")
	// Asked to end, it waits for its watches; and without etcd it would wait for ever.
	t.Cleanup(server.kill)

	k.kubeconfig(t, k.admin, token)
	require.Eventually(t, func() bool {
		_, err := k.kubectl(t, "get", "--raw=/readyz")
		return err == nil
	}, time.Minute, pollInterval, "kube-apiserver does not become ready")
	return k
}

// signingKey makes the key that signs the tokens of service accounts.
func signingKey(t *testing.T, path string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	return writeFile(t, path, string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})))
}

// kubeconfig writes the file with which a client that has a token finds the server.
func (k *kubernetes) kubeconfig(t *testing.T, path, token string) string {
	t.Helper()
	return writeFile(t, path, fmt.Sprintf(`
apiVersion: v1
kind: Config
current-context: test
contexts: [{name: test, context: {cluster: test, user: test}}]
clusters: [{name: test, cluster: {server: %q, certificate-authority: %q}}]
users: [{name: test, user: {token: %q}}]
`, k.url, k.ca, token))
}

// environment is that of programs which ask the server as the administrator.
func (k *kubernetes) environment() []string {
	return []string{"PATH=" + k.bin + ":" + os.Getenv("PATH"), "HOME=" + k.home, "KUBECONFIG=" + k.admin}
}

// kubectl returns what kubectl prints. What it says besides, such as the
// server's warnings, is an error, too.
func (k *kubernetes) kubectl(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return k.kubectlWith(t, "", args...)
}

// kubectlWith runs kubectl with a text as its standard input.
func (k *kubernetes) kubectlWith(t *testing.T, input string, args ...string) (string, error) {
	t.Helper()
	// When a test has ended, too.
	command := exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(k.bin, "kubectl"), args...)
	command.Env = k.environment()
	command.Stdin = strings.NewReader(input)
	return outputOf(command)
}

// outputOf runs a command and returns its standard output. Anything on standard
// error is an error.
func outputOf(command *exec.Cmd) (string, error) {
	var said bytes.Buffer
	command.Stderr = &said
	output, err := command.Output()
	if said.Len() > 0 {
		err = errors.Join(err, errors.New(said.String()))
	}
	return string(output), err
}

// must is kubectl where an error ends the test.
func (k *kubernetes) must(t *testing.T, args ...string) string {
	t.Helper()
	output, err := k.kubectl(t, args...)
	require.NoError(t, err, "kubectl %s", strings.Join(args, " "))
	return output
}

// mustApply applies objects.
func (k *kubernetes) mustApply(t *testing.T, objects string) {
	t.Helper()
	_, err := k.kubectlWith(t, objects, "apply", "--server-side", "--validate=strict", "-f", "-")
	require.NoError(t, err)
}

func writeFile(t *testing.T, path, text string) string {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}
