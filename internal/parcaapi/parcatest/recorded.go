// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcatest

import (
	"embed"
	"encoding/json"
	"path"
	"testing"
	"time"

	_ "github.com/parca-dev/parca/gen/proto/go/parca/profilestore/v1alpha1" // for the types of recorded writes
	_ "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// T0 is the time of the first recorded profile.
var T0 = time.Date(2026, time.July, 1, 12, 0, 0, 0, time.UTC)

//go:embed testdata
var testdata embed.FS

// Exchange is a recorded request and its answer.
type Exchange struct {
	Seq      int    // when, from 1; the server was poisoned by 54
	Name     string // such as merge_T1_T2_closed
	Method   string // its name without the service's
	Request  proto.Message
	Response proto.Message // nil if the call failed
	Err      error         // of gRPC's status
}

// Recorded returns all recorded exchanges, in order.
func Recorded(tb testing.TB) []Exchange {
	tb.Helper()
	var index []struct {
		Seq          int    `json:"seq"`
		Name         string `json:"name"`
		Method       string `json:"method"`
		RequestType  string `json:"request_type"`
		ResponseType string `json:"response_type"`
		RequestFile  string `json:"request_file"`
		ResponseFile string `json:"response_file"`
		Code         uint32 `json:"grpc_code_num"`
		Message      string `json:"grpc_message"`
	}
	require.NoError(tb, json.Unmarshal(read(tb, "index.json"), &index))
	exchanges := make([]Exchange, 0, len(index))
	for _, entry := range index {
		e := Exchange{
			Seq: entry.Seq, Name: entry.Name, Method: path.Base(entry.Method),
			Request: message(tb, entry.RequestType, entry.RequestFile),
		}
		if entry.Code == uint32(codes.OK) {
			e.Response = message(tb, entry.ResponseType, entry.ResponseFile)
		} else {
			e.Err = status.Error(codes.Code(entry.Code), entry.Message)
		}
		exchanges = append(exchanges, e)
	}
	return exchanges
}

// Named returns one recorded exchange.
func Named(tb testing.TB, name string) Exchange {
	tb.Helper()
	for _, e := range Recorded(tb) {
		if e.Name == name {
			return e
		}
	}
	require.FailNow(tb, "nothing is recorded as "+name)
	return Exchange{}
}

func message(tb testing.TB, typeName, file string) proto.Message {
	tb.Helper()
	t, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(typeName))
	require.NoError(tb, err)
	m := t.New().Interface()
	require.NoError(tb, proto.Unmarshal(read(tb, file), m), file)
	return m
}

func read(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := testdata.ReadFile(path.Join("testdata", name))
	require.NoError(tb, err)
	return data
}
