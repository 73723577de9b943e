package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"holdfast/internal/config"
	"holdfast/providers"
)

// sendOptions say what to send, where, and how often.
type sendOptions struct {
	provider, eventType string
	url                 string // "" means the ingress of the configuration
	file                string // "" means the definition's sample
	headers             []string
	secret              string // "" means the configured ones
	load                load
}

func sendCommand() *cobra.Command {
	var o sendOptions
	command := &cobra.Command{
		Use:     "send PROVIDER [TYPE]",
		Short:   "Send correctly signed events, as the provider would, to any address (exit 1 if one is not accepted)",
		GroupID: groupOperate,
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			o.provider = args[0]
			if len(args) > 1 {
				o.eventType = args[1]
			}
			cfg, isDev, err := config.LoadBesideDev()
			if err != nil {
				return err
			}
			return send(c, cfg, isDev, o)
		},
	}
	flags := command.Flags()
	flags.StringVar(&o.url, "url", "", "where to send it, with or without a path (default: the ingress of the configuration)")
	flags.StringVar(&o.file, "file", "", "file with the body to send, - is standard input (default: the definition's sample)")
	flags.StringArrayVar(&o.headers, "header", nil, "a header as 'Name: value'; may be given many times")
	flags.StringVar(&o.secret, "secret", "", "what to sign with (default: the configured secrets)")
	o.load.flags(flags)
	return command
}

func send(c *cobra.Command, cfg config.Config, isDev bool, o sendOptions) error {
	if err := o.load.check(); err != nil {
		return err
	}
	catalogue, err := providers.Load(cfg.Providers.Dir)
	if err != nil {
		return err
	}
	catalogue = catalogue.WithSecrets(func(name string) []string {
		if o.secret != "" {
			return []string{o.secret}
		}
		return cfg.Secrets(name)
	})
	provider, err := findProvider(catalogue, o.provider)
	if err != nil {
		return err
	}
	s, err := newSender(c.InOrStdin(), cfg, provider, o)
	if err != nil {
		return err
	}
	if o.load.count > 1 {
		return o.load.run(c.Context(), s, c.OutOrStdout(), c.ErrOrStderr())
	}
	answer, err := s.send(c.Context(), 0)
	if err != nil {
		return err
	}
	return answer.report(c.OutOrStdout(), cfg, isDev)
}

// sender makes, signs and sends the events of one run.
type sender struct {
	provider  *providers.Provider
	eventType string
	body      []byte // nil means the sample
	headers   []string
	target    *url.URL
	// public is what the receiver calls itself, for schemes that sign the URL; "" if that is the target.
	public  string
	run     string    // begins the ids of the run's events
	started time.Time // of the run, and of its events: the same event has the same bytes whenever it is sent
	client  *http.Client
}

func newSender(stdin io.Reader, cfg config.Config, p *providers.Provider, o sendOptions) (*sender, error) {
	s := &sender{
		provider: p, eventType: o.eventType, headers: o.headers, run: strings.ReplaceAll(uuid.NewString(), "-", "")[:16],
		started: time.Now(), client: newClient(o.load.concurrency),
	}
	if types := p.SampleTypes(); s.eventType == "" && o.file == "" && len(types) > 0 {
		s.eventType = types[0]
	}
	var err error
	if o.file != "" {
		if s.body, err = readBody(stdin, o.file); err != nil {
			return nil, err
		}
	}
	if o.url == "" {
		o.url = "http://" + reachable(cfg.Ingress.Addr)
		s.public = strings.TrimSuffix(cfg.Ingress.PublicURL, "/")
	}
	s.target, err = url.Parse(o.url)
	if err != nil || s.target.Host == "" || (s.target.Scheme != "http" && s.target.Scheme != "https") {
		return nil, fmt.Errorf("%q is no address to send to: want http://host or http://host/path", o.url)
	}
	return s, nil
}

// reachable turns an address to listen on into one to call: every interface is also the loopback.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if address, _ := netip.ParseAddr(host); err == nil && (host == "" || address.IsUnspecified()) {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return listen
}

func newClient(connections int) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = connections
	return &http.Client{
		Transport:     transport,
		Timeout:       30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// request makes the signed request of event number n. The same number gives the same event, signed anew.
func (s *sender) request(n int) (*providers.Request, error) {
	r, err := s.unsigned(fmt.Sprintf("%s%08d", s.run, n))
	if err != nil {
		return nil, err
	}
	if err := setHeaders(r, s.headers); err != nil {
		return nil, err
	}
	target := *s.target
	if target.Path == "" || target.Path == "/" {
		target.Path = r.Path
	}
	called := target.Scheme + "://" + target.Host
	signed := called
	if s.public != "" {
		signed = s.public
	}
	r.Path, r.Query, r.URL = target.EscapedPath(), target.Query(), signed+target.RequestURI()
	if err := s.provider.SignWithSecrets(r, time.Now()); err != nil {
		return nil, fmt.Errorf("sign event: %w: %s is to be set, or give a secret with --secret", err,
			strings.Join(s.provider.SecretNames(), " or "))
	}
	r.URL = called + strings.TrimPrefix(r.URL, signed)
	return r, nil
}

// unsigned is the sample, or the given body with the headers of the sample of its type.
func (s *sender) unsigned(id string) (*providers.Request, error) {
	r, err := s.provider.Sample(s.eventType, id, s.started)
	if s.body == nil {
		return r, err
	}
	if err != nil {
		r = &providers.Request{Method: http.MethodPost, Path: s.provider.Paths()[0], Header: map[string][]string{
			"content-type": {"application/json"},
		}}
	}
	r.Body = s.body
	return r, nil
}

// send delivers event number n.
func (s *sender) send(ctx context.Context, n int) (sentAnswer, error) {
	r, err := s.request(n)
	if err != nil {
		return sentAnswer{}, err
	}
	return deliver(ctx, s.client, r)
}
