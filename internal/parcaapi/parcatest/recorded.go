// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package parcatest

import (
	"embed"
	"encoding/json"
	"path"
	"sync"
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

// Recorded returns all recorded exchanges, in order. They are not to be changed.
func Recorded(tb testing.TB) []Exchange {
	tb.Helper()
	exchanges, err := recorded()
	require.NoError(tb, err)
	return exchanges
}

var recorded = sync.OnceValues(func() ([]Exchange, error) {
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
	data, err := testdata.ReadFile("testdata/index.json")
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &index); err != nil {
		return nil, err
	}
	exchanges := make([]Exchange, 0, len(index))
	for _, entry := range index {
		e := Exchange{Seq: entry.Seq, Name: entry.Name, Method: path.Base(entry.Method)}
		if e.Request, err = message(entry.RequestType, entry.RequestFile); err != nil {
			return nil, err
		}
		if entry.Code != uint32(codes.OK) {
			e.Err = status.Error(codes.Code(entry.Code), entry.Message)
		} else if e.Response, err = message(entry.ResponseType, entry.ResponseFile); err != nil {
			return nil, err
		}
		exchanges = append(exchanges, e)
	}
	return exchanges, nil
})

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

func message(typeName, file string) (proto.Message, error) {
	t, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(typeName))
	if err != nil {
		return nil, err
	}
	data, err := testdata.ReadFile(path.Join("testdata", file))
	if err != nil {
		return nil, err
	}
	m := t.New().Interface()
	return m, proto.Unmarshal(data, m)
}
