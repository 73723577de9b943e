package webhook

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"go.opentelemetry.io/otel/propagation"

	"holdfast/delivery"
	"holdfast/providers/auth"
	"holdfast/providers/jq"
)

const (
	headerID      = "webhook-id"
	headerEvent   = "holdfast-event-id" // Standard Webhooks do not sign it
	headerContent = "content-type"
	// headerDuplicate is the ID of the first event with the same content. The signature of Standard Webhooks doesn't cover it.
	headerDuplicate = "holdfast-possible-duplicate-of"
	contentJSON     = "application/json"
)

// maxBody bounds what an expression may make of an event, in bytes.
const maxBody = 4 << 20

// request makes the request of an attempt, signed now; or says what became of the attempt without one.
func (s *Sender) request(
	ctx context.Context, t delivery.Target, j delivery.Job, m delivery.Message,
) (*http.Request, *delivery.Result) {
	h := t.Destination.HTTP
	address, err := url.Parse(h.URL)
	if err != nil {
		return nil, misconfigured(codeAddress, "the address is malformed")
	}
	body, contentType, err := s.body(ctx, t.Subscription, m)
	if err != nil {
		unmade := delivery.Unmade("body_error", err)
		return nil, &unmade
	}
	unsigned := &auth.Request{
		Method: http.MethodPost, URL: h.URL, Path: address.EscapedPath(), Query: address.Query(), Body: body,
		Header: map[string][]string{headerContent: {contentType}, "user-agent": {s.agent}},
	}
	for name, value := range h.Headers {
		unsigned.SetHeader(strings.ToLower(name), value)
	}
	unsigned.SetHeader(headerID, j.ID())
	unsigned.SetHeader(headerEvent, j.EventID)
	if m.PossibleDuplicateOf != "" {
		unsigned.SetHeader(headerDuplicate, m.PossibleDuplicateOf)
	}
	if err := s.signers.sign(unsigned, h.Signature, signingSecrets(t), j.ID(), s.now()); err != nil {
		return nil, misconfigured(signCode(err), err.Error())
	}
	return newRequest(ctx, unsigned)
}

// signingSecrets are the secrets of a target as its signature needs them, the newest first. Those in a variable are used as they
// are.
func signingSecrets(t delivery.Target) []string {
	if h := t.Destination.HTTP; h.Secrets != "" || !h.IsStandard() {
		return t.Secrets
	}
	standard := make([]string, len(t.Secrets))
	for i, s := range t.Secrets {
		standard[i] = delivery.StandardSecret(s)
	}
	return standard
}

func newRequest(ctx context.Context, signed *auth.Request) (*http.Request, *delivery.Result) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, signed.URL, bytes.NewReader(signed.Body))
	if err != nil {
		return nil, misconfigured(codeAddress, "the address is malformed")
	}
	for name, values := range signed.Header {
		request.Header.Set(name, values[0])
	}
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(request.Header))
	return request, nil
}

// misconfigured is an attempt that failed because of what is configured: it counts nowhere, and waits until that is corrected.
func misconfigured(code, reason string) *delivery.Result {
	return &delivery.Result{Kind: delivery.Ours, Code: code, Error: reason}
}

// body is what is sent, and its type.
func (s *Sender) body(ctx context.Context, sub delivery.Subscription, m delivery.Message) ([]byte, string, error) {
	switch sub.Body {
	case "", delivery.BodyRaw:
		return m.Body, rawType(m), nil
	case delivery.BodyEnvelope:
		body, err := m.Envelope()
		return body, contentJSON, err
	}
	value, err := s.expressions.First(ctx, "body", delivery.JQ(sub.Body), m.Input())
	if err != nil {
		return nil, "", err
	}
	body, err := jq.Marshal(value, maxBody)
	return body, contentJSON, err
}

// rawType is the type that the bytes came with.
func rawType(m delivery.Message) string {
	kept := m.Receipt.Headers[headerContent]
	if kept == "" || strings.ContainsFunc(kept, unicode.IsControl) {
		return contentJSON
	}
	return kept
}
