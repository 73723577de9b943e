package broker_test

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"holdfast/internal/broker"
)

// topics answers with the credentials that it gets.
type topics struct {
	pubsubpb.UnimplementedPublisherServer
}

func (topics) GetTopic(ctx context.Context, _ *pubsubpb.GetTopicRequest) (*pubsubpb.Topic, error) {
	got, _ := metadata.FromIncomingContext(ctx)
	return &pubsubpb.Topic{Name: strings.Join(got["authorization"], ",")}, nil
}

// startTopics starts a server with TLS, and returns the connection to it as if it were Google's.
func startTopics(t *testing.T) broker.Connection {
	t.Helper()
	service := grpc.NewServer()
	pubsubpb.RegisterPublisherServer(service, topics{})
	s := httptest.NewUnstartedServer(service)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	trusted := x509.NewCertPool()
	trusted.AddCert(s.Certificate())
	address, err := broker.ParseAddress("pubsub", "https://pubsub.googleapis.com")
	require.NoError(t, err)
	return broker.Connection{
		Address: address, Name: "holdfast", TLS: &tls.Config{RootCAs: trusted, ServerName: "example.com", MinVersion: tls.VersionTLS12},
		Dial: func(ctx context.Context, network, to string) (net.Conn, error) {
			if strings.HasSuffix(to, ":443") {
				to = s.Listener.Addr().String()
			}
			return new(net.Dialer).DialContext(ctx, network, to)
		},
	}
}

// credentialsOf returns the credentials of a call.
func credentialsOf(t *testing.T, p *broker.PubSub) (string, error) {
	t.Helper()
	t.Cleanup(func() { _ = p.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	got, err := pubsubpb.NewPublisherClient(p).GetTopic(ctx, &pubsubpb.GetTopicRequest{Topic: "t"})
	return got.GetName(), err
}

// serviceAccount returns the key of a service account.
func serviceAccount(t *testing.T) (key string, private *rsa.PrivateKey) {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	text, err := json.MarshalIndent(map[string]string{
		"type": "service_account", "client_email": "shop@example.iam.gserviceaccount.com", "private_key_id": "k1",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})), "token_uri": "https://evil.example.com",
	}, "", "  ")
	require.NoError(t, err)
	return string(text), private
}

// The key of a service account signs its tokens: no other server is asked, whatever the key says.
func TestAServiceAccountAuthenticates(t *testing.T) {
	t.Parallel()
	c := startTopics(t)
	var private *rsa.PrivateKey
	c.Secret, private = serviceAccount(t)
	p, err := broker.DialPubSub(c)
	require.NoError(t, err)
	got, err := credentialsOf(t, p)
	require.NoError(t, err)
	require.NoError(t, p.Failure())
	token, ok := strings.CutPrefix(got, "Bearer ")
	require.True(t, ok, got)
	end := strings.LastIndex(token, ".")
	signed, encoded := token[:end], token[end+1:]
	signature, err := base64.RawURLEncoding.DecodeString(encoded)
	require.NoError(t, err)
	digest := sha256.Sum256([]byte(signed))
	require.NoError(t, rsa.VerifyPKCS1v15(&private.PublicKey, crypto.SHA256, digest[:], signature))
	_, encoded, _ = strings.Cut(signed, ".")
	claims, err := base64.RawURLEncoding.DecodeString(encoded)
	require.NoError(t, err)
	require.Contains(t, string(claims), `"iss":"shop@example.iam.gserviceaccount.com"`)
	require.Contains(t, string(claims), `"aud":"https://pubsub.googleapis.com/"`)

	c.TLS = &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	p, err = broker.DialPubSub(c)
	require.NoError(t, err)
	_, err = credentialsOf(t, p)
	require.Error(t, err)
	var untrusted *tls.CertificateVerificationError
	require.ErrorAs(t, p.Failure(), &untrusted)
}

// Without a key, the metadata server says who the machine is. Its token goes to Google only.
func TestTheMachineAuthenticates(t *testing.T) {
	silent := make(chan struct{})
	var isSilent atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isSilent.Load() {
			<-silent
		}
		if r.Header.Get("Metadata-Flavor") == "Google" && strings.HasSuffix(r.URL.Path, "/instance/service-accounts/default/token") {
			_, _ = w.Write([]byte(`{"access_token":"of the machine","expires_in":3600,"token_type":"Bearer"}`))
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(silent) })
	t.Setenv("GCE_METADATA_HOST", server.Listener.Addr().String())
	c := startTopics(t)
	p, err := broker.DialPubSub(c)
	require.NoError(t, err)
	got, err := credentialsOf(t, p)
	require.NoError(t, err)
	require.Equal(t, "Bearer of the machine", got)

	isSilent.Store(true) // calls don't wait for each other then
	p, err = broker.DialPubSub(c)
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	began := time.Now()
	var calls sync.WaitGroup
	for range 10 {
		calls.Go(func() {
			_, err := pubsubpb.NewPublisherClient(p).GetTopic(ctx, &pubsubpb.GetTopicRequest{Topic: "t"})
			assert.Error(t, err)
		})
	}
	calls.Wait()
	require.Less(t, time.Since(began), 10*time.Second)

	for _, host := range []string{"pubsub.example.com:443", "googleapis.com.example.com:443", "evil-googleapis.com:443"} {
		c.Hosts = []string{host}
		_, err = broker.DialPubSub(c)
		require.ErrorContains(t, err, "JSON key")
	}
	c.Secret = `{"type":"external_account","private_key":"hunter2"}`
	_, err = broker.DialPubSub(c)
	require.ErrorContains(t, err, "isn't the JSON key")
	require.NotContains(t, err.Error(), "hunter2")
}
