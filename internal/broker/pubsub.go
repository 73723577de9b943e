package broker

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/compute/metadata"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/credentials/oauth"
	"google.golang.org/grpc/keepalive"
)

const (
	// pubSubAudience is the service that a token of a service account is for, whatever the address: it may be regional or private.
	pubSubAudience = "https://pubsub.googleapis.com/"
	// googleHosts end like this. The machine's token is sent to no others: it opens more than Pub/Sub.
	googleHosts = ".googleapis.com"
	// pubSubAnswer bounds a response in bytes, as in Google's own client: several messages of up to 10 MB.
	pubSubAnswer = 20 << 20
	// pubSubPing is the time after which a silent connection is checked. Servers refuse clients that ask more often.
	pubSubPing = 5 * time.Minute
)

// PubSub is a connection to Google Pub/Sub. It connects for the first call, and again automatically.
type PubSub struct {
	*grpc.ClientConn

	mu      sync.Mutex
	failure error
}

// Failure returns why the connection couldn't be made the last time; nil if it could. Errors of calls have only its text.
func (p *PubSub) Failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failure
}

func (p *PubSub) remember(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failure = err
}

// DialPubSub returns a connection to Google Pub/Sub. Secret is the JSON key of a service account; without it, calls have the
// machine's own identity, which Google's metadata server knows. Without TLS, calls have no credentials. The error repeats nothing
// of the secret.
func DialPubSub(c Connection) (*PubSub, error) {
	p, host := &PubSub{}, c.Hosts[0]
	options := []grpc.DialOption{
		grpc.WithUserAgent(c.Name),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			conn, err := c.dial(ctx, "tcp", address)
			p.remember(err)
			return conn, err
		}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 5 * time.Second},
			MinConnectTimeout: dialTimeout,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pubSubPing}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(pubSubAnswer)),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
	}
	if c.Secure {
		calls, err := c.pubSubCredentials()
		if err != nil {
			return nil, err
		}
		options = append(options, grpc.WithPerRPCCredentials(calls),
			grpc.WithTransportCredentials(handshakes{credentials.NewTLS(c.tlsFor(host)), p.remember}))
	}
	conn, err := grpc.NewClient("passthrough:///"+host, options...)
	if err != nil {
		return nil, err
	}
	p.ClientConn = conn
	return p, nil
}

// handshakes remember their errors.
type handshakes struct {
	credentials.TransportCredentials

	remember func(error)
}

// ClientHandshake implements credentials.TransportCredentials.
func (h handshakes) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := h.TransportCredentials.ClientHandshake(ctx, authority, raw)
	h.remember(err)
	return conn, info, err
}

// Clone implements credentials.TransportCredentials.
func (h handshakes) Clone() credentials.TransportCredentials {
	return handshakes{h.TransportCredentials.Clone(), h.remember}
}

// pubSubCredentials returns what authenticates calls. A key signs its tokens here, without asking a server.
func (c Connection) pubSubCredentials() (credentials.PerRPCCredentials, error) {
	if c.Secret != "" {
		tokens, err := google.JWTAccessTokenSourceFromJSON([]byte(c.Secret), pubSubAudience)
		if err != nil { // its text may have parts of the key
			return nil, errors.New("the secret isn't the JSON key of a service account")
		}
		return oauth.TokenSource{TokenSource: tokens}, nil
	}
	if host, _, err := net.SplitHostPort(c.Hosts[0]); err != nil || !strings.HasSuffix(host, googleHosts) {
		return nil, errors.New("give a service account's JSON key as the secret: the machine's identity is only for " + googleHosts)
	}
	client := metadata.NewClient(&http.Client{Transport: &http.Transport{DialContext: c.dial, DisableKeepAlives: true}})
	return &machine{server: client, asking: make(chan struct{}, 1)}, nil
}

// machine is the machine's own identity.
type machine struct {
	server *metadata.Client
	asking chan struct{} // is full while a call uses token
	token  *oauth2.Token
}

// GetRequestMetadata implements credentials.PerRPCCredentials. It returns when the call ends, whatever the server does: a source
// of the OAuth library would have all calls wait for each other.
func (m *machine) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	select {
	case m.asking <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-m.asking }()
	if !m.token.Valid() {
		token, err := m.ask(ctx)
		if err != nil {
			return nil, err
		}
		m.token = token
	}
	return map[string]string{"authorization": "Bearer " + m.token.AccessToken}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (*machine) RequireTransportSecurity() bool { return true }

func (m *machine) ask(ctx context.Context) (*oauth2.Token, error) {
	text, err := m.server.GetWithContext(ctx, "instance/service-accounts/default/token")
	if err != nil {
		return nil, err
	}
	token := &oauth2.Token{}
	if err := json.Unmarshal([]byte(text), token); err != nil || token.AccessToken == "" {
		return nil, errors.New("the metadata server's answer has no token")
	}
	token.Expiry = time.Now().Add(time.Duration(token.ExpiresIn) * time.Second)
	return token, nil
}
