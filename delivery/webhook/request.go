package webhook

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"

	"go.opentelemetry.io/otel/propagation"

	"holdfast/delivery"
	"holdfast/providers/auth"
)

const (
	headerID      = "webhook-id"
	headerEvent   = "holdfast-event-id" // not covered by the signature of Standard Webhooks
	headerContent = "content-type"
	// headerDuplicate is the ID of the first event with the same content. The signature of Standard Webhooks doesn't cover it.
	headerDuplicate = "holdfast-possible-duplicate-of"
)

// request builds and signs the request of an attempt, or returns the result of a failure.
func (s *Sender) request(
	ctx context.Context, t delivery.Target, j delivery.Job, m delivery.Message,
) (*http.Request, *delivery.Result) {
	h := t.Destination.HTTP
	address, err := url.Parse(h.URL)
	if err != nil {
		return nil, misconfigured(codeAddress, "the address is malformed")
	}
	body, err := s.expressions.Body(ctx, t.Subscription, m)
	if err != nil {
		failed := delivery.BuildFailure("body_error", err)
		return nil, &failed
	}
	unsigned := &auth.Request{
		Method: http.MethodPost, URL: h.URL, Path: address.EscapedPath(), Query: address.Query(), Body: body.Bytes,
		Header: map[string][]string{headerContent: {body.ContentType}, "user-agent": {s.agent}},
	}
	for name, value := range h.Headers {
		unsigned.SetHeader(strings.ToLower(name), value)
	}
	for _, one := range body.Attributes {
		unsigned.SetHeader("ce-"+one.Name, delivery.EscapedAttribute(one.Value))
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

// signingSecrets returns the secrets, newest first, in the form that the signature needs. Secrets in variables are used
// unchanged.
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

// misconfigured is the result of an attempt that can't succeed before the configuration is corrected.
func misconfigured(code, reason string) *delivery.Result {
	return &delivery.Result{Kind: delivery.Blocked, Code: code, Error: reason}
}
