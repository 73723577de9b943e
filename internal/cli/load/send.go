package load

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/cli"
	"holdfast/internal/config"
	"holdfast/internal/word"
	"holdfast/providers"
	"holdfast/providers/auth"
	"holdfast/providers/reading"
)

type sendOptions struct {
	provider, eventType string
	url                 string // "" is the configuration's ingress
	file                string // "" is the definition's sample
	headers             []string
	secret              string // "" uses the configured ones
}

// SendCommand returns `holdfast send`.
func SendCommand() *cobra.Command {
	var o sendOptions
	command := &cobra.Command{
		Use:   "send PROVIDER [TYPE]",
		Short: "Send a signed event, as the provider would (exit 1 if refused)",
		Long:  "Send a correctly signed event, as the provider would, to any address. Exit 1 if it is\nnot accepted.",
		Example: "  holdfast send stripe\n  holdfast send stripe customer.updated --url https://hooks.example.com\n" +
			"  holdfast send github push --file body.json --header 'X-GitHub-Delivery: mine'",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			o.provider = args[0]
			if len(args) > 1 {
				o.eventType = args[1]
			}
			cfg, _, err := config.LoadBesideDev()
			if err != nil {
				return err
			}
			return send(c, cfg, o)
		},
	}
	command.Flags().StringVar(&o.url, "url", "", "the URL to send to (default: the ingress of the configuration)")
	cli.AddFileFlag(command, &o.file, "the body to send, in place of the definition's sample")
	cli.AddHeaderFlag(command, &o.headers)
	cli.AddSecretFlag(command, &o.secret, "sign with it")
	cli.AddJSONFlag(command)
	return command
}

func send(c *cobra.Command, cfg config.Config, o sendOptions) error {
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
	provider, err := cli.FindProvider(c, catalogue, o.provider)
	if err != nil {
		return err
	}
	s, err := newSender(c.InOrStdin(), cfg, provider, o)
	if err != nil {
		return cli.UsageError(c, err)
	}
	answer, err := s.send(c.Context())
	if err != nil {
		return cli.Unreachable(err, s.target.Scheme+"://"+s.target.Host, cli.NamedBy(c, "url", "HOLDFAST_INGRESS_ADDR"))
	}
	return answer.report(c, cfg)
}

// sender makes, signs and sends an event.
type sender struct {
	provider  *providers.Provider
	eventType string
	body      []byte // nil is the sample
	headers   []string
	target    *url.URL
	// public is the server's public URL, for schemes that sign the URL; "" if it equals the target.
	public string
	client *http.Client
}

func newSender(stdin io.Reader, cfg config.Config, p *providers.Provider, o sendOptions) (*sender, error) {
	s := &sender{provider: p, eventType: o.eventType, headers: o.headers, client: newClient()}
	if s.eventType == "" && o.file == "" {
		s.eventType = p.DefaultSample()
	}
	if o.file == "" {
		if _, err := word.Choose(s.eventType, p.SampleTypes()); err != nil {
			return nil, fmt.Errorf("sample of %s: %w", p.Name(), err)
		}
	}
	var err error
	if o.file != "" {
		if s.body, err = cli.ReadBody(stdin, o.file); err != nil {
			return nil, err
		}
	}
	if o.url == "" {
		o.url = cfg.Ingress.LocalURL()
		s.public = strings.TrimSuffix(cfg.Ingress.PublicURL, "/")
	}
	s.target, err = url.Parse(o.url)
	if err != nil || s.target.Host == "" || (s.target.Scheme != "http" && s.target.Scheme != "https") {
		return nil, fmt.Errorf("invalid URL %q: use http://host or http://host/path", o.url)
	}
	return s, nil
}

func newClient() *http.Client {
	return &http.Client{
		Timeout:       30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// request makes the signed request of a new event.
func (s *sender) request() (*auth.Request, error) {
	r, err := s.unsigned(strings.ReplaceAll(uuid.NewString(), "-", "")[:24])
	if err != nil {
		return nil, err
	}
	if err := cli.SetHeaders(r, s.headers); err != nil {
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
		return nil, fmt.Errorf("sign event: %w: set %s or pass --secret (`make run` sets it at its start, for commands in the same "+
			"folder)", err, strings.Join(s.provider.SecretNames(), " or "))
	}
	r.URL = called + strings.TrimPrefix(r.URL, signed)
	return r, cli.SetHeaders(r, s.headers) // a given signature header takes precedence
}

// unsigned returns the sample, or the given body with the headers of its type's sample. If the type is in headers and isn't
// given, it returns an error, since the event would become a dead letter.
func (s *sender) unsigned(id string) (*auth.Request, error) {
	if s.body == nil {
		return s.provider.Sample(s.eventType, id, time.Now())
	}
	r, open, partial := s.provider.Envelope(s.eventType, id)
	r.Body = s.body
	if err := cli.SetHeaders(r, s.headers); err != nil {
		return nil, err
	}
	if s.lacksType(r) { // else its body has the type
		open = append(open, partial...)
	}
	open = slices.DeleteFunc(open, func(name string) bool {
		return slices.ContainsFunc(s.headers, func(line string) bool {
			before, _, _ := strings.Cut(line, ":")
			return strings.EqualFold(strings.TrimSpace(before), name)
		})
	})
	if len(open) > 0 {
		return nil, fmt.Errorf("the type of %s events is in %s: name the type (%s), or set the header with --header",
			s.provider.Name(), strings.Join(open, " or "), strings.Join(s.provider.SampleTypes(), ", "))
	}
	return r, nil
}

// lacksType reports whether a request has an event whose type the definition doesn't find.
func (s *sender) lacksType(r *auth.Request) bool {
	items, err := s.provider.Split(r)
	return err == nil && slices.ContainsFunc(items, func(item reading.Item) bool { return item.Type == reading.UnknownType })
}

func (s *sender) send(ctx context.Context) (sentAnswer, error) {
	r, err := s.request()
	if err != nil {
		return sentAnswer{}, err
	}
	answer, err := deliver(ctx, s.client, r)
	answer.workflows = s.workflowsOf(r)
	return answer, err
}

// workflowsOf returns the workflow IDs of a request's events. A handshake has none.
func (s *sender) workflowsOf(r *auth.Request) (ids []string) {
	if _, isHandshake := s.provider.Challenge(r, time.Now()); isHandshake {
		return nil
	}
	items, err := s.provider.Split(r)
	if err != nil {
		return nil
	}
	for _, item := range items {
		if item.Key != "" {
			ids = append(ids, event.WorkflowID(s.provider.Name(), item.Key))
		}
	}
	return ids
}
