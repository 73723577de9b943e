package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"strings"
	"sync"
	"syscall"
	"time"

	"holdfast/delivery"
	"holdfast/internal/proxy"
)

// step is how far a request has come.
type step int

const (
	stepConnected step = iota + 1 // TCP
	stepSecured                   // the TLS handshake has ended, for https
	stepReady                     // the request has a connection
)

// clientCertificate says what happened when the endpoint asked for a client certificate.
type clientCertificate int

const (
	certificateMissing clientCertificate = iota + 1 // the destination has none
	certificateUnfit                                // the endpoint doesn't accept its authority or kind
	certificateSent
	certificateExpired // sent, although it has expired
)

// progress records how far a request has come. Dials and connections report to it from goroutines of their own.
type progress struct {
	// end is when the attempt ends; zero means that it has no deadline.
	end    time.Time
	secure bool

	mu          sync.Mutex
	step        step
	conn        net.Conn
	secured     *tls.Conn // made for this request
	certificate clientCertificate
	// reused: the connection has served earlier requests. written: the whole request was sent. answered: a first byte came back.
	reused, written, answered bool
}

type progressKey struct{}

// progressOf returns the progress of a context, or an unused one.
func progressOf(ctx context.Context) *progress {
	if p, ok := ctx.Value(progressKey{}).(*progress); ok {
		return p
	}
	return &progress{}
}

// withProgress returns a context that records the progress of one request to an address.
func withProgress(ctx context.Context, address string) (context.Context, *progress) {
	p := &progress{secure: strings.HasPrefix(strings.ToLower(address), "https:")}
	p.end, _ = ctx.Deadline()
	ctx = context.WithValue(ctx, progressKey{}, p)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: p.gotConn,
		GotFirstResponseByte: func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.answered = true
		},
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.written = info.Err == nil
		},
	}), p
}

func (p *progress) gotConn(info httptrace.GotConnInfo) {
	if c, ok := info.Conn.(*connection); ok {
		c.begin()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step, p.conn, p.reused = stepReady, info.Conn, info.Reused
}

func (p *progress) reached(s step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step = max(p.step, s)
}

func (p *progress) isSecured(c *tls.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step, p.secured = max(p.step, stepSecured), c
}

func (p *progress) asked(c clientCertificate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.certificate = c
}

// status returns the status that the endpoint has sent, although the rest of its response couldn't be read; 0 if none. Over
// HTTP/2 it isn't known.
func (p *progress) status() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c, ok := p.conn.(*connection); ok {
		return c.status()
	}
	return 0
}

// wasStale reports whether the request failed because the endpoint was just closing a kept connection: it came back without a
// byte. An HTTP/2 stream that was half sent, or that the endpoint has reset, doesn't count: the endpoint has decided something.
func (p *progress) wasStale(ctx context.Context, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reused || p.answered || ctx.Err() != nil {
		return false
	}
	_, isHTTP1 := p.conn.(*connection)
	return isHTTP1 || p.written && !strings.Contains(err.Error(), "stream error")
}

// failure says why there is no response.
func (p *progress) failure(err error) *Error {
	e := failure(err)
	if _, ok := errors.AsType[*proxy.Error](err); ok {
		return e // there was no connection to the endpoint
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.Code == codeConnection {
		if refused := p.refusal(); refused != nil {
			e = failure(refused)
		}
	}
	shaking := p.secure && p.step == stepConnected
	unproven := p.secure && !p.reused && !p.answered // in TLS 1.3, a refusal comes after the handshake
	switch {
	case e.Code == codeTimeout && p.step == 0:
		e.Reason = "connecting timed out: no response from the endpoint's host"
	case e.Code == codeTimeout && shaking:
		e.Reason = "the TLS handshake didn't end in time"
	case e.Code == codeConnection && (shaking || unproven && p.certificate != certificateSent && p.certificate != 0):
		e.Code, e.Reason = codeTLS, "TLS failed: the endpoint closed the connection during the handshake"+p.aboutCertificate()
	case isRemoteAlert(e), e.Code == codeConnection && unproven:
		e.Reason += p.aboutCertificate()
	}
	if e.Code == codeTLS && p.certificate == certificateExpired {
		e.Code = codeExpired
	}
	return e
}

// closeWait bounds the wait for a connection that has failed to be closed.
const closeWait = 100 * time.Millisecond

// refusal returns the alert with which the endpoint has refused the client certificate of this request. In TLS 1.3 it comes after
// the handshake, and the error of net/http may lack it, but a closed connection keeps it.
func (p *progress) refusal() error {
	if p.secured == nil || p.certificate == 0 || p.reused || p.answered {
		return nil
	}
	select {
	case <-p.secured.NetConn().(*closer).closed:
	case <-time.After(closeWait):
		return nil // it has failed otherwise, and others may be using it
	}
	if _, err := p.secured.Read(make([]byte, 1)); isRemoteAlert(err) {
		return err
	}
	return nil
}

// aboutCertificate names the likely cause of a handshake that the endpoint has refused after asking for a client certificate.
func (p *progress) aboutCertificate() string {
	switch p.certificate {
	case certificateMissing:
		return "; it asked for a client certificate, and the destination has none: set http.certificate and http.key"
	case certificateUnfit:
		return "; it asked for a client certificate of another authority or kind than http.certificate"
	case certificateExpired:
		return "; the client certificate in http.certificate has expired: replace it and its key"
	case certificateSent:
		return "; it got the certificate in http.certificate"
	}
	return ""
}

// connected reports whether the request has used a new connection.
func (p *progress) connected() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.step >= stepConnected && !p.reused
}

// reach returns whether the endpoint's host was reached. A refused connection comes from the host. A kept connection on which
// nothing came back shows nothing: the network may have gone.
func (p *progress) reach(e *Error) delivery.Reach {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.reused && !p.answered && e.Code == codeTimeout:
		return delivery.ReachUnknown
	case p.step > 0, errors.Is(e, syscall.ECONNREFUSED):
		return delivery.Reached
	case e.Code == codeTimeout, e.Code == codeDNS, e.Code == codeConnection:
		return delivery.Unreached
	}
	return delivery.ReachUnknown
}
