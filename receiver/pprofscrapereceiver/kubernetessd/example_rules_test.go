// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetessd

import (
	"net"
	"net/url"
	"regexp"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/profiletometrics/profiletometrics/receiver/pprofscrapereceiver/internal/discovery"
)

// jobOfExample is the job of that name of the documented configuration.
func jobOfExample(t *testing.T, name string) *discovery.Job {
	t.Helper()
	for _, s := range loadExample(t, "http://localhost").ScrapeConfigs {
		if s.JobName != name {
			continue
		}
		rules, errs := discovery.ParseRules(s.RelabelConfigs)
		require.Empty(t, errs)
		job := &discovery.Job{Name: name, Scheme: s.Scheme, Rules: rules, Profiles: map[string]*url.URL{}}
		for profile, p := range s.Target.Profiles {
			if p.Enabled {
				job.Profiles[profile] = &url.URL{Path: p.Path}
			}
		}
		return job
	}
	require.Fail(t, "no job "+name)
	return nil
}

var notInLabels = regexp.MustCompile(`[^a-zA-Z0-9_]`)

// podGroup is the group that Prometheus makes of a pod with these annotations and
// container ports by name; other labels replace those of a running pod.
func podGroup(ip string, annotations, ports map[string]string, others model.LabelSet) *targetgroup.Group {
	const meta = "__meta_kubernetes_"
	group := &targetgroup.Group{Labels: model.LabelSet{
		meta + "namespace": "shop", meta + "pod_name": "cart-0", meta + "pod_uid": "u", meta + "pod_node_name": "n",
		meta + "pod_ip": model.LabelValue(ip), meta + "pod_phase": "Running", meta + "pod_ready": "true",
	}}
	for key, value := range annotations {
		label := meta + "pod_annotation_" + notInLabels.ReplaceAllString(key, "_")
		group.Labels[model.LabelName(label)] = model.LabelValue(value)
	}
	for name, value := range others {
		group.Labels[meta+name] = value
	}
	if len(ports) == 0 {
		group.Targets = []model.LabelSet{{model.AddressLabel: model.LabelValue(ip)}}
	}
	for name, port := range ports {
		group.Targets = append(group.Targets, model.LabelSet{
			model.AddressLabel:                 model.LabelValue(net.JoinHostPort(ip, port)),
			meta + "pod_container_port_name":   model.LabelValue(name),
			meta + "pod_container_port_number": model.LabelValue(port),
			meta + "pod_container_init":        "false",
		})
	}
	return group
}

func TestTheRulesOfTheExampleFollowTheAnnotations(t *testing.T) {
	const (
		grafana = "kubernetes-pods"
		parca   = "kubernetes-pods-parca"
		prefix  = "profiles.grafana.com/"
	)
	ports := map[string]string{"http": "8080", "debug": "6060"}
	for _, tc := range []struct {
		name, job   string
		ip          string
		annotations map[string]string
		ports       map[string]string
		others      model.LabelSet
		want        map[string][]string // URLs by profile
	}{
		{
			"each profile has a port of its own", grafana, "10.0.0.1",
			map[string]string{
				prefix + "cpu.scrape": "true", prefix + "cpu.port": "1", prefix + "memory.scrape": "true", prefix + "memory.port": "2",
				prefix + "mutex.scrape": "true", prefix + "mutex.port": "2",
			},
			ports, nil,
			map[string][]string{
				"cpu":    {"http://10.0.0.1:1/debug/pprof/profile"},
				"memory": {"http://10.0.0.1:2/debug/pprof/allocs"},
				"mutex":  {"http://10.0.0.1:2/debug/pprof/mutex"},
			},
		},
		{
			"a port by its name", grafana, "10.0.0.1",
			map[string]string{prefix + "block.scrape": "true", prefix + "block.port_name": "debug"},
			ports, nil,
			map[string][]string{"block": {"http://10.0.0.1:6060/debug/pprof/block"}},
		},
		{
			"every port where none is annotated", grafana, "10.0.0.1",
			map[string]string{prefix + "cpu.scrape": "true"},
			ports, nil,
			map[string][]string{"cpu": {
				"http://10.0.0.1:6060/debug/pprof/profile", "http://10.0.0.1:8080/debug/pprof/profile",
			}},
		},
		{
			"a scheme and a path", grafana, "10.0.0.1",
			map[string]string{
				prefix + "fgprof.scrape": "true", prefix + "fgprof.port": "1", prefix + "fgprof.scheme": "https", prefix + "fgprof.path": "/f",
				prefix + "goroutine.scrape": "true", prefix + "goroutine.port": "1",
			},
			nil, nil,
			map[string][]string{"fgprof": {"https://10.0.0.1:1/f"}, "goroutine": {"http://10.0.0.1:1/debug/pprof/goroutine"}},
		},
		{
			"an IPv6 pod", grafana, "fd00::1",
			map[string]string{prefix + "cpu.scrape": "true", prefix + "cpu.port": "1"},
			ports, nil,
			map[string][]string{"cpu": {"http://[fd00::1]:1/debug/pprof/profile"}},
		},
		{"no port at all", grafana, "10.0.0.1", map[string]string{prefix + "cpu.scrape": "true"}, nil, nil, nil},
		{"nothing annotated", grafana, "10.0.0.1", nil, ports, nil, nil},
		{
			"a pod that has ended", grafana, "10.0.0.1",
			map[string]string{prefix + "cpu.scrape": "true", prefix + "cpu.port": "1"},
			ports,
			model.LabelSet{"pod_phase": "Succeeded"},
			nil,
		},
		{
			"Parca's annotations", parca, "10.0.0.1",
			map[string]string{"parca.dev/scrape": "true", "parca.dev/port": "7", "parca.dev/scheme": "https"},
			ports, nil,
			map[string][]string{
				"cpu":    {"https://10.0.0.1:7/debug/pprof/profile"},
				"memory": {"https://10.0.0.1:7/debug/pprof/allocs"},
			},
		},
		{"Parca's annotations say no", parca, "10.0.0.1", map[string]string{"parca.dev/scrape": "false", "parca.dev/port": "7"}, ports, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			outcome := jobOfExample(t, tc.job).Targets([]*targetgroup.Group{podGroup(tc.ip, tc.annotations, tc.ports, tc.others)})
			assert.Empty(t, outcome.Invalid)
			var got map[string][]string
			for _, target := range outcome.Targets {
				for profile, path := range target.Paths {
					if got == nil {
						got = map[string][]string{}
					}
					got[profile] = append(got[profile], target.Endpoint+path)
				}
			}
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestTheServiceOfAPodIsNamedByItsLabels(t *testing.T) {
	for _, tc := range []struct {
		name   string
		others model.LabelSet
		want   string
	}{
		{"app.kubernetes.io/name", model.LabelSet{"pod_label_app_kubernetes_io_name": "cart", "pod_label_app": "x"}, "cart"},
		{"app", model.LabelSet{"pod_label_app": "cart"}, "cart"},
		{"neither", nil, "kubernetes-pods-parca"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			group := podGroup("10.0.0.1", map[string]string{"parca.dev/scrape": "true", "parca.dev/port": "7"}, nil, tc.others)
			outcome := jobOfExample(t, "kubernetes-pods-parca").Targets([]*targetgroup.Group{group})
			require.Len(t, outcome.Targets, 1)
			assert.Equal(t, map[string]any{
				"service.name": tc.want, "service.instance.id": "10.0.0.1:7",
				"k8s.namespace.name": "shop", "k8s.pod.name": "cart-0", "k8s.pod.uid": "u", "k8s.node.name": "n",
			}, discovery.Attributes(outcome.Targets[0].Labels))
		})
	}
}
