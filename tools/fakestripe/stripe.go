package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"holdfast/delivery/webhook"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/internal/config"
	"holdfast/internal/devstack/fakeapi"
	"holdfast/internal/stores"
	"holdfast/persistence"
	"holdfast/providers"
)

const (
	stripe     = "stripe"
	stripeHost = "api.stripe.com"
	stripeKey  = "STRIPE_API_KEY"

	// stripeEvents happen every stripeEvery until stripeSettled ago. So they have settled, and also a recovery that goes on from
	// that of an earlier start reads them.
	stripeEvents  = 100
	stripeEvery   = 30 * time.Second
	stripeSettled = 6 * time.Minute
	// Those from firstUnsent up to endOfUnsent are never sent.
	firstUnsent, endOfUnsent = 43, 57
	// stripeOnFor is since when recovery counts as switched on.
	stripeOnFor = 72 * time.Hour

	// lateFile has an event that was never sent, as a late delivery would bring it.
	lateFile = "late.json"
)

// fakeStripe is an account of Stripe on this machine, some of whose events are never sent.
type fakeStripe struct {
	style    fakeapi.Style
	events   []fakeapi.Event
	server   *fakeapi.HTTPS
	provider *providers.Provider
	store    *persistence.Store
	// sender sends the webhooks.
	sender *http.Client
}

// start serves the account's list of events on loopback, and switches recovery on as if that had been some days ago. The transport
// that it returns sends requests for Stripe's API to the fake, and others as in production.
func (f *fakeStripe) start(ctx context.Context, cfg config.Config) (http.RoundTripper, error) {
	f.style, f.sender = fakeapi.Styles()[stripe], &http.Client{Timeout: 30 * time.Second}
	begin := time.Now().Add(-stripeSettled - stripeEvents*stripeEvery)
	for n := range stripeEvents {
		f.events = append(f.events, fakeapi.Event{
			ID: fmt.Sprintf("evt_%d_%02d", begin.Unix(), n), Type: "customer.updated", Object: fmt.Sprintf("cus_%02d", n),
			Time: begin.Add(time.Duration(n) * stripeEvery),
		})
	}
	late := filepath.Join(cfg.Dev.Dir, lateFile)
	if err := os.WriteFile(late, f.style.Body(f.events[firstUnsent]), 0o600); err != nil {
		return nil, fmt.Errorf("write the event of a late delivery: %w", err)
	}
	if err := f.open(ctx, cfg); err != nil {
		return nil, err
	}
	var windows operation.DedupeWindows
	windows.Shortest, windows.Longest, windows.All = f.provider.DedupeWindows()
	since := time.Now().Add(-stripeOnFor)
	if err := f.store.Recoveries.SwitchOnSince(ctx, since, map[string]operation.DedupeWindows{stripe: windows}); err != nil {
		return nil, err
	}
	return f.serve(webhook.NewTransport(cfg.Deliveries.AllowedNetworks, nil))
}

func (f *fakeStripe) open(ctx context.Context, cfg config.Config) error {
	catalogue, err := providers.Load(cfg.Providers.Dir)
	if err != nil {
		return err
	}
	var ok bool
	if f.provider, ok = catalogue.WithSecrets(cfg.Secrets).Lookup(stripe); !ok {
		return errors.New("the fake Stripe needs the definition of stripe")
	}
	f.store, err = stores.OpenStore(ctx, cfg, nil)
	return err
}

// serve serves the API as Stripe's host. Only the fake's own transport trusts its certificate.
func (f *fakeStripe) serve(others http.RoundTripper) (apis http.RoundTripper, err error) {
	api := fakeapi.New(f.style)
	api.Add(f.events...)
	if f.server, err = fakeapi.Serve(stripeHost, api); err != nil {
		return nil, err
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(f.server.Certificate)
	return hostTransport{host: stripeHost, others: others, own: &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, "127.0.0.1:"+f.server.Port)
		},
		TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12},
	}}, nil
}

// send sends signed webhooks of all events but the unsent ones to the ingress, and waits until they are processed.
func (f *fakeStripe) send(ctx context.Context, cfg config.Config) error {
	sent := append(append([]fakeapi.Event{}, f.events[:firstUnsent]...), f.events[endOfUnsent:]...)
	for _, e := range sent {
		if err := f.post(ctx, cfg, e); err != nil {
			return fmt.Errorf("send %s: %w", e.ID, err)
		}
	}
	for _, e := range sent {
		if err := awaitEvent(ctx, f.store, e.ID); err != nil {
			return fmt.Errorf("wait for %s: %w", e.ID, err)
		}
	}
	return nil
}

func (f *fakeStripe) post(ctx context.Context, cfg config.Config, e fakeapi.Event) error {
	r, _, _ := f.provider.Envelope(e.Type, e.ID)
	r.URL, r.Body = "http://"+cfg.Ingress.Addr+r.Path, f.style.Body(e)
	if err := f.provider.SignWithSecrets(r, time.Now()); err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return err
	}
	for name, values := range r.Header {
		for _, value := range values {
			request.Header.Add(name, value)
		}
	}
	response, err := f.sender.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // only the status counts
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the ingress answered %s", response.Status)
	}
	return nil
}

func awaitEvent(ctx context.Context, store *persistence.Store, key string) error {
	for {
		_, err := store.Read.EventByKey(ctx, stripe, key)
		if !errors.Is(err, event.ErrNotFound) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (f *fakeStripe) stop() error {
	if f.store != nil {
		f.store.Close()
	}
	if f.server == nil {
		return nil
	}
	return f.server.Close()
}
