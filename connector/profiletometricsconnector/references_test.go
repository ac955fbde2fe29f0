// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricsconnector_test

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/profiletometrics/profiletometrics/internal/testprofile"
)

// What a sender writes by reference, in the way of OTLP, arrives by gRPC without
// its keys.
func TestAttributesWrittenByReferenceAreNamed(t *testing.T) {
	message := testprofile.New(t, testprofile.Resource{
		Attributes: testprofile.Attributes{"service.name": "checkout", "process.pid": int64(7)},
		Profiles: []testprofile.Profile{{
			SampleType: "cpu/nanoseconds",
			Samples:    []testprofile.Sample{{Stack: testprofile.Stack("main.hot"), Values: []int64{5e9}}},
		}},
	})
	message.ResourceProfiles().At(0).ScopeProfiles().At(0).Scope().Attributes().PutStr("team", "payments")
	received := sendByReference(t, message)
	_, hasName := received.ResourceProfiles().At(0).Resource().Attributes().Get("service.name")
	require.False(t, hasName, "the receiver names attributes now: withNamedAttributes has no work left")
	before := copyOf(received)

	emitted := convert(t, "dimensions: [team]", received)
	require.Len(t, emitted, 1)
	require.Equal(t, 1, emitted[0].ResourceMetrics().Len())
	resource := emitted[0].ResourceMetrics().At(0)
	assert.Equal(t, map[string]any{"service.name": "checkout", "process.pid": int64(7)}, resource.Resource().Attributes().AsRaw())
	point := resource.ScopeMetrics().At(0).Metrics().At(0).Sum().DataPoints().At(0)
	assert.Equal(t, map[string]any{"team": "payments"}, point.Attributes().AsRaw())
	assert.InDelta(t, 5.0, point.DoubleValue(), 0)
	assert.Equal(t, before, copyOf(received), "the input is not changed")
}

func copyOf(profiles pprofile.Profiles) pprofile.Profiles {
	copied := pprofile.NewProfiles()
	profiles.CopyTo(copied)
	return copied
}

// A reference that leads nowhere, and a key that is empty, are no reason to lose
// the rest.
func TestAnAttributeWithoutANameIsKeptAsItIs(t *testing.T) {
	message := cpuOf(t, 1)
	attributes := message.ResourceProfiles().At(0).Resource().Attributes()
	attributes.PutStr("service.name", "checkout")
	attributes.PutStr("", "nobody")
	attributes.PutEmpty("nothing")
	emitted := convert(t, "", message)
	require.Len(t, emitted, 1)
	assert.Equal(t, map[string]any{"service.name": "checkout", "": "nobody", "nothing": nil},
		emitted[0].ResourceMetrics().At(0).Resource().Attributes().AsRaw())
}

// sendByReference sends profiles as a message whose attributes refer to its
// string table, and returns what a gRPC server gets.
func sendByReference(t *testing.T, profiles pprofile.Profiles) pprofile.Profiles {
	t.Helper()
	encoded, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(profiles)
	require.NoError(t, err)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	sink := &profilesSink{}
	server := grpc.NewServer()
	pprofileotlp.RegisterGRPCServer(server, sink)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	defer func() {
		server.Stop()
		require.NoError(t, <-ended)
	}()
	client, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	const method = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
	require.NoError(t, client.Invoke(t.Context(), method, encoded, new([]byte), grpc.ForceCodec(asEncoded{})))
	return sink.received
}

type profilesSink struct {
	pprofileotlp.UnimplementedGRPCServer
	received pprofile.Profiles
}

func (s *profilesSink) Export(_ context.Context, request pprofileotlp.ExportRequest) (pprofileotlp.ExportResponse, error) {
	s.received = request.Profiles()
	return pprofileotlp.NewExportResponse(), nil
}

// asEncoded is a codec for messages that are encoded already.
type asEncoded struct{}

func (asEncoded) Name() string                       { return "proto" }
func (asEncoded) Marshal(v any) ([]byte, error)      { return v.([]byte), nil }
func (asEncoded) Unmarshal(data []byte, v any) error { *v.(*[]byte) = data; return nil }
