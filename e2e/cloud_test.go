package e2e

import (
	"encoding/pem"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Temporal refuses what Temporal Cloud refuses to a client with an API key: the operator service and the health check.
//   - `holdfast migrate` does the rest, and names the missing search attributes and the command that adds them
//   - with them it succeeds, doctor finds no problems, and an event is processed
func TestATemporalThatAddsNoSearchAttributes(t *testing.T) {
	t.Parallel()
	i := installationOn(t, cluster.Database(t))
	i.env = startCloud(t, i.temporal())
	out, err := i.run(t, "migrate")
	require.Error(t, err)
	require.Contains(t, out, "no search attribute EventType, Provider")
	require.Contains(t, out, "tcld namespace search-attributes add -n "+i.namespace+
		" --search-attribute EventType=Keyword --search-attribute Provider=Keyword")
	i.schedule(t, "holdfast-sweep-runs")
	f, err := i.doctor(t)
	require.Error(t, err)
	require.Equal(t, []string{"ok", "fail"}, []string{f.of("Temporal"), f.of("search attributes")})

	i.runTool(t, "temporal", "operator", "search-attribute", "create",
		"--name", "EventType", "--type", "Keyword", "--name", "Provider", "--type", "Keyword")
	eventually(t, time.Minute, "the attributes are known", func() error {
		if out, err := i.run(t, "migrate"); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	n := i.start(t, "serve")
	require.Equal(t, "accepted", n.send(t, someEvent()).state())
	i.awaitCount(t, time.Minute, 1, processedEvents)
	eventually(t, time.Minute, "all is well", func() error {
		f, _ = i.doctor(t)
		if failed := f.failed(); !slices.Equal(failed, []string{"fsync", "full_page_writes"}) {
			return fmt.Errorf("%v", failed)
		}
		return nil
	})
}

// startCloud acts as Temporal Cloud in front of a Temporal: TLS, an API key, and no calls outside of a namespace. It returns
// the clients' variables.
func startCloud(t *testing.T, address string) (env []string) {
	t.Helper()
	tls := httptest.NewTLSServer(nil)
	tls.Close()
	authority := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: tls.Certificate().Raw})
	require.NoError(t, os.WriteFile(authority, text, 0o600))
	behind, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(rawCodec{})))
	require.NoError(t, err)
	server := grpc.NewServer(grpc.Creds(credentials.NewServerTLSFromCert(&tls.TLS.Certificates[0])),
		grpc.ForceServerCodec(rawCodec{}), grpc.UnknownServiceHandler(forward(behind)))
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { server.Stop(); _ = behind.Close() })
	return []string{
		"TEMPORAL_ADDRESS=" + listener.Addr().String(), "TEMPORAL_API_KEY=the-key", "TEMPORAL_TLS_SERVER_CA_CERT_PATH=" + authority,
	}
}

// forward passes calls on, except for refused ones.
func forward(to *grpc.ClientConn) grpc.StreamHandler {
	return func(_ any, stream grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(stream)
		headers, _ := metadata.FromIncomingContext(stream.Context())
		switch {
		case !slices.Equal(headers.Get("authorization"), []string{"Bearer the-key"}):
			return status.Error(codes.Unauthenticated, "no API key")
		case strings.HasPrefix(method, "/temporal.api.operatorservice."), strings.HasPrefix(method, "/grpc.health."):
			return status.Error(codes.PermissionDenied, "Request unauthorized.")
		}
		headers = headers.Copy()
		headers.Delete("authorization")
		var request, response []byte
		if err := stream.RecvMsg(&request); err != nil {
			return err
		}
		ctx := metadata.NewOutgoingContext(stream.Context(), headers)
		if err := to.Invoke(ctx, method, &request, &response); err != nil {
			return err
		}
		return stream.SendMsg(&response)
	}
}

// rawCodec passes messages through as bytes.
type rawCodec struct{}

func (rawCodec) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

func (rawCodec) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = slices.Clone(data)
	return nil
}

func (rawCodec) Name() string { return "proto" }
