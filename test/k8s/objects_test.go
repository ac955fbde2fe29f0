// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	manifests = "../../k8s"
	namespace = "profiletometrics"
)

// object is one object of a manifest, as the API server would see it.
type object struct {
	runtime.Object
	meta metav1.Object
	kind string
}

func (o object) String() string {
	return o.kind + " " + o.meta.GetName()
}

// decode returns the objects of a YAML stream. A field that the object's type
// does not have, or that stands twice, is an error.
func decode(stream []byte) ([]object, error) {
	strict := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme,
		json.SerializerOptions{Yaml: true, Strict: true})
	var objects []object
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(stream)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		decoded, kind, err := strict.Decode(document, nil, nil)
		if err != nil {
			return nil, err
		}
		meta, ok := decoded.(metav1.Object)
		if !ok {
			return nil, errors.New(kind.String() + " has no metadata")
		}
		objects = append(objects, object{Object: decoded, meta: meta, kind: kind.Kind})
	}
}

// render returns what kustomize makes of a directory below k8s.
func render(t *testing.T, directory string) []object {
	t.Helper()
	return kustomize(t, filepath.Join(manifests, directory))
}

// kustomize returns what kustomize makes of a directory.
func kustomize(t *testing.T, directory string) []object {
	t.Helper()
	kubectl, err := exec.LookPath("kubectl")
	require.NoError(t, err, "kubectl, which has kustomize, is not on the PATH: run the tests with `make k8s-test`")
	command := exec.CommandContext(t.Context(), kubectl, "kustomize", directory)
	var complaints bytes.Buffer
	command.Stderr = &complaints
	stream, err := command.Output()
	require.NoError(t, err, "%s", complaints.String())
	require.Empty(t, complaints.String(), "kustomize warns")
	objects, err := decode(stream)
	require.NoError(t, err)
	return objects
}

// all returns the objects of a type.
func all[T runtime.Object](objects []object) []T {
	var found []T
	for _, o := range objects {
		if typed, ok := o.Object.(T); ok {
			found = append(found, typed)
		}
	}
	return found
}

// named returns the object of a type and name, and fails if there is none.
func named[T runtime.Object](t *testing.T, objects []object, name string) T {
	t.Helper()
	for _, o := range objects {
		if typed, ok := o.Object.(T); ok && o.meta.GetName() == name {
			return typed
		}
	}
	var none T
	require.FailNow(t, "missing object", "no %T is named %q", none, name)
	return none
}

// workload returns the only object that runs pods, and what it runs.
func workload(t *testing.T, objects []object) (object, corev1.PodTemplateSpec) {
	t.Helper()
	var found []object
	var template corev1.PodTemplateSpec
	for _, o := range objects {
		switch typed := o.Object.(type) {
		case *appsv1.Deployment:
			template = typed.Spec.Template
		case *appsv1.DaemonSet:
			template = typed.Spec.Template
		default:
			continue
		}
		found = append(found, o)
	}
	require.Len(t, found, 1, "objects that run pods")
	require.Len(t, template.Spec.Containers, 1)
	return found[0], template
}
