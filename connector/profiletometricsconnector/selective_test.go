// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector

// tenAttributes extracts ten attributes as users write them: some match most
// samples of a payload, some a few, and some none.
func tenAttributes(config *Config) {
	other := "other"
	for _, attribute := range []AttributeConfig{
		{Key: "team", Value: `github\.com/(\w+)/`, From: []string{"function"}, Default: &other},
		{Key: "http.route", Value: `handlers\.\(\*API\)\.([A-Z][a-z]+)\d`, From: []string{"function"}},
		{Key: "library", Value: `/(?:usr/)?lib/(?:[\w-]+/)*([\w+-]+)\.so`, From: []string{"mapping"}},
		{Key: "source.root", Value: `^(/usr/local/go|/src|/app)/`, From: []string{"file"}, Default: &other},
		{Key: "runtime", Value: `^(runtime|java\.lang|node:internal|_PyEval)[./:]`, From: []string{"function"}},
		{Key: "gc", Value: `^runtime\.(?:gc(?:BgMarkWorker|Drain|Assist\w*)|scanobject|bgsweep)`, From: []string{"function"}},
		{Key: "database", Value: `(?i)(postgres|mysql|redis|mongo)`},
		{Key: "serialization", Value: `(?:encoding/)?(json|xml|gob|proto)[./]`},
		{Key: "rpc.method", Value: `google\.golang\.org/grpc.*\.(\w+)$`, From: []string{"function", "file"}},
		{Key: "crypto", Value: `crypto/(?:internal/)?(?:\w+/)*(aes|sha256|tls|x509)`},
	} {
		attribute.Type = attributeRegex
		config.Attributes = append(config.Attributes, attribute)
	}
}

// tenRules has a rule of each form that Pyroscope's documentation shows, on
// what application names, grouped by what tells processes apart.
func tenRules(application string) func(*Config) {
	return func(config *Config) {
		config.ExportRules = map[string]ExportRuleConfig{
			"profiled":            {Expr: application},
			"profiled_by_process": {Expr: application + `{process_executable_name!~"agent|sidecar"}`, Node: "total", GroupBy: []string{"service.name", "process_executable_name"}},
			"services":            {Expr: application + `{process.executable.name=~"service-.*"}`, GroupBy: []string{"process.executable.name"}},
			"one_service":         {Expr: application + `{process.executable.name="service-07"}`, Labels: []string{"container_id"}},
			"garbage_collection":  {Expr: application, Node: `runtime\.(gcBgMarkWorker|mallocgc|scanobject)`},
			"handlers":            {Expr: application + `{service.name!="batch"}`, Node: `handlers\.\(\*API\)\.`, GroupBy: []string{"process.executable.name"}},
			"type_checking":       {Expr: application, Node: `go/types\.\(\*Checker\)\.checkFiles`, GroupBy: []string{"service.name"}},
			"edge":                {Expr: application, Node: `Function00\d;[^;]*Function\d|mallocgc;runtime\.`},
			"leaf":                {Expr: application, Node: `Function\d+$|runtime\.memclrNoHeapPointers$`, GroupBy: []string{"process.executable.name"}},
			"stack_of_start":      {Expr: application, Node: `^runtime\.(main|goexit);main\.`},
		}
	}
}
