// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// Package testprofile builds small, valid profiles that a reader can check by
// eye: as Go values, or in a YAML notation for golden inputs. Both are the same
// structure; [Parse] reads the notation into a [Script], [Batch.Profiles] turns
// each batch into OTLP profiles with a conformant dictionary (the zero entry
// first in every table, no entry twice).
//
// # Notation
//
// A document is one batch, or a list of batches that arrive one after another:
//
//	resources: [ … ]               # one batch
//
//	batches:                       # or several
//	  - resources: [ … ]
//	  - after: 10s                 # time that passes before this batch
//	    resources: [ … ]
//	wait: 30s                      # time that passes after the last batch
//
// A resource has attributes, and scopes or, for one scope without a name,
// profiles:
//
//	resources:
//	  - attributes: {process.executable.name: api, process.pid: 12}
//	    scopes:
//	      - name: otel.ebpf
//	        version: "1.0"
//	        attributes: {…}
//	        profiles: [ … ]
//	  - profiles: [ … ]
//
// A profile; everything but the samples may be left out:
//
//	sample_type: cpu/nanoseconds   # type/unit
//	period_type: cpu/nanoseconds
//	period: 10000000
//	time: 2000-01-01T00:00:00Z
//	duration: 10s
//	attributes: {…}
//	samples: [ … ]
//
// A sample; everything may be left out:
//
//	stack: [main.leaf, main.mid, main.root]   # leaf first
//	values: [10, 20]
//	timestamps: [1, 2, 3]                     # nanoseconds since 1970
//	attributes: {thread.name: worker}
//	link: {trace_id: 0102030405060708090a0b0c0d0e0f10, span_id: 0102030405060708}
//
// A location of a stack is written as one string:
//
//	main.leaf              a function
//	main.leaf@main.go:12   … with its source file and, if wanted, the line
//	inner|outer            inlined lines, the innermost first
//	"@/usr/lib/libc.so"    a native frame without lines in this mapping
//	"?"                    a location with neither lines nor mapping;
//	                       among inlined lines, a line without a function
//
// or, for what does not fit into a string, as a mapping; each key may be left
// out, and a line is a string as above or a mapping itself:
//
//	lines: [{name: f, system_name: _Z1fv, file: f.cc, line: 12}, outer@g.cc]
//	mapping: /usr/bin/app
//	address: 4096
//	attributes: {…}
//
// Attribute values keep their YAML type: string, integer, float, boolean, list
// or mapping. Attributes of profiles, samples and locations may have a unit,
// written {value: 512, unit: bytes}.
//
// A key that is not listed here is an error.
package testprofile
