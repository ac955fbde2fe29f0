// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	grpccredentials "google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/profiletometrics/profiletometrics/internal/parcaapi"
)

// server is where Parca is.
type server struct {
	// address is host:port.
	address string
	tls     bool
}

// parseServer reads host:port, http://host[:port] or https://host[:port].
func parseServer(text string) (server, error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	// What is wrong with the URL is not repeated: a password in it would show.
	parsed, err := url.Parse(text)
	if err != nil {
		return server{}, errors.New("-url: it is not host:port, http://host:port or https://host:port")
	}
	ports := map[string]string{"http": "80", "https": "443"}
	port, known := ports[parsed.Scheme]
	switch {
	case !known:
		return server{}, fmt.Errorf("-url: the scheme %q is neither http nor https", parsed.Scheme)
	case parsed.User != nil:
		return server{}, errors.New("-url: user and password are not supported; use -token-file or -headers")
	case parsed.Hostname() == "":
		return server{}, errors.New("-url: there is no host")
	case strings.Trim(parsed.Path, "/") != "" || parsed.RawQuery != "" || parsed.Fragment != "":
		return server{}, errors.New("-url: nothing may follow the port, as gRPC knows no path")
	}
	if parsed.Port() != "" {
		port = parsed.Port()
	}
	if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
		return server{}, errors.New("-url: the port is not between 1 and 65535")
	}
	// The URL's parser lets pass what nothing can connect to, such as a lone "]".
	address := net.JoinHostPort(parsed.Hostname(), port)
	if host, _, err := net.SplitHostPort(address); err != nil || host != parsed.Hostname() {
		return server{}, errors.New("-url: the host is neither a name nor an IP address")
	}
	return server{address: address, tls: parsed.Scheme == "https"}, nil
}

func (s server) String() string {
	if s.tls {
		return "https://" + s.address
	}
	return "http://" + s.address
}

// loopback reports whether nobody else can listen to what is sent to the server.
func (s server) loopback() bool {
	host, _, _ := net.SplitHostPort(s.address) // valid since it was parsed
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// connect makes a connection; it does not wait for the server. TLS trusts the system's
// certificates, or those that SSL_CERT_FILE names.
func (s server) connect(secrets *credentials) (*grpc.ClientConn, error) {
	transport := insecure.NewCredentials()
	if s.tls {
		transport = grpccredentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
	}
	// With gRPC's scheme, as a host called unix would be taken for one; escaped for the zone of an
	// IPv6 address.
	target := url.URL{Scheme: "dns", Path: "/" + s.address}
	return grpc.NewClient(target.String(),
		grpc.WithTransportCredentials(transport),
		grpc.WithPerRPCCredentials(secrets),
		grpc.WithUserAgent("parca-load"),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(parcaapi.MaxReceiveBytes)),
	)
}
