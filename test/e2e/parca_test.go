// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	storepb "github.com/parca-dev/parca/gen/proto/go/parca/profilestore/v1alpha1"
	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const parcaConfig = `
object_storage: {bucket: {type: FILESYSTEM, config: {directory: %q}}}
`

// parca is a Parca server that keeps what it is sent on disk.
type parca struct {
	*process
	dir, address string
	queries      querypb.QueryServiceClient
	store        storepb.ProfileStoreServiceClient
}

func startParca(t *testing.T) *parca {
	t.Helper()
	p := &parca{dir: t.TempDir(), address: "127.0.0.1:" + freePorts(t, 1)[0]}
	config := fmt.Sprintf(parcaConfig, filepath.Join(p.dir, "bucket"))
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, "parca.yaml"), []byte(config), 0o600))

	conn, err := grpc.NewClient(p.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	p.queries, p.store = querypb.NewQueryServiceClient(conn), storepb.NewProfileStoreServiceClient(conn)
	p.run(t)
	return p
}

// run starts the server, the first time or again with the data that it has on disk.
func (p *parca) run(t *testing.T) {
	t.Helper()
	// The last ones keep it from asking servers elsewhere.
	p.process = start(t, nil, program(t, "PARCA_BIN"),
		"--config-path="+filepath.Join(p.dir, "parca.yaml"),
		"--http-address="+p.address,
		"--log-level=warn",
		"--enable-persistence",
		"--storage-path="+filepath.Join(p.dir, "storage"),
		"--storage-enable-wal",
		"--debuginfo-cache-dir="+filepath.Join(p.dir, "debuginfo"),
		"--debuginfod-upstream-servers=127.0.0.1:9",
		"--profile-share-server=127.0.0.1:9",
	)
	p.awaitServing(t, "http://"+p.address+"/metrics")
}

// write stores a profile of a series.
func (p *parca) write(ctx context.Context, labels map[string]string, prof *profile.Profile) error {
	var raw bytes.Buffer
	if err := prof.Write(&raw); err != nil {
		return err
	}
	set := &storepb.LabelSet{}
	for name, value := range labels {
		set.Labels = append(set.Labels, &storepb.Label{Name: name, Value: value})
	}
	_, err := p.store.WriteRaw(ctx, &storepb.WriteRawRequest{Series: []*storepb.RawProfileSeries{{
		Labels:  set,
		Samples: []*storepb.RawSample{{RawProfile: raw.Bytes()}},
	}}})
	return err
}

// merged returns everything that matches a query between two times, both included.
func (p *parca) merged(ctx context.Context, query string, from, to time.Time, groupBy ...string) (*profile.Profile, error) {
	request := &querypb.QueryRequest{
		Mode: querypb.QueryRequest_MODE_MERGE,
		Options: &querypb.QueryRequest_Merge{Merge: &querypb.MergeProfile{
			Query: query, Start: timestamppb.New(from), End: timestamppb.New(to),
		}},
		ReportType: querypb.QueryRequest_REPORT_TYPE_PPROF,
	}
	if len(groupBy) > 0 {
		request.GroupBy = &querypb.GroupBy{Fields: groupBy}
	}
	answer, err := p.queries.Query(ctx, request)
	if err != nil {
		return nil, err
	}
	return profile.ParseData(answer.GetPprof())
}
