package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"holdfast/internal/config"
	"holdfast/providers"
)

// sendOptions say what to send and where.
type sendOptions struct {
	provider, eventType string
	url                 string // "" means the ingress of the configuration
	file                string // "" means the definition's sample
	secret              string // "" means the configured one
}

func sendCommand() *cobra.Command {
	var o sendOptions
	command := &cobra.Command{
		Use:     "send PROVIDER [TYPE]",
		Short:   "Send a correctly signed event, as the provider would",
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
	command.Flags().StringVar(&o.url, "url", "", "where to send it (default: the ingress of the configuration)")
	command.Flags().StringVar(&o.file, "file", "", "file with the body to sign and send (default: the definition's sample)")
	command.Flags().StringVar(&o.secret, "secret", "", "what to sign with (default: the configured secret)")
	return command
}

func send(c *cobra.Command, cfg config.Config, isDev bool, o sendOptions) error {
	catalogue, err := providers.Load(cfg.Providers.Dir)
	if err != nil {
		return err
	}
	provider, ok := catalogue.Lookup(o.provider)
	if !ok {
		return fmt.Errorf("no provider %q; there are: %s", o.provider, strings.Join(catalogue.Names(), ", "))
	}
	request, err := requestToSend(provider, o)
	if err != nil {
		return err
	}
	if o.url == "" {
		o.url = "http://" + cfg.Ingress.Addr + request.Path
	}
	request.URL = o.url
	if err := signWithAny(provider, request, secretsToSign(cfg, provider, o)); err != nil {
		return err
	}
	answer, err := deliver(c.Context(), request)
	if err != nil {
		return err
	}
	return answer.report(c.OutOrStdout(), cfg, isDev)
}

// requestToSend is the sample of the type (the first one, if none is named), or the content of the file.
func requestToSend(provider *providers.Provider, o sendOptions) (*providers.Request, error) {
	types := provider.SampleTypes()
	if o.eventType == "" && len(types) > 0 {
		o.eventType = types[0]
	}
	id := strings.ReplaceAll(uuid.NewString(), "-", "")[:24]
	request, err := provider.Sample(o.eventType, id, time.Now())
	if o.file == "" {
		return request, err
	}
	if request == nil {
		request = &providers.Request{Method: http.MethodPost, Path: provider.Paths()[0], Header: map[string][]string{
			"content-type": {"application/json"},
		}}
	}
	request.Body, err = os.ReadFile(o.file)
	return request, err
}

func secretsToSign(cfg config.Config, provider *providers.Provider, o sendOptions) (secrets []string) {
	if o.secret != "" {
		return []string{o.secret}
	}
	for _, name := range provider.SecretNames() {
		secrets = append(secrets, cfg.Secrets(name)...)
	}
	return secrets
}

func signWithAny(provider *providers.Provider, request *providers.Request, secrets []string) error {
	err := fmt.Errorf("no secret of %s is configured: set %s, or give one with --secret",
		provider.Name(), strings.Join(provider.SecretNames(), " or "))
	for _, secret := range secrets {
		if err = provider.Sign(request, secret, time.Now()); err == nil {
			return nil
		}
	}
	return err
}

// sentAnswer is what the ingress has answered.
type sentAnswer struct {
	status int
	took   time.Duration
	body   []byte
}

func deliver(ctx context.Context, r *providers.Request) (sentAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return sentAnswer{}, err
	}
	for name, values := range r.Header {
		for _, value := range values {
			request.Header.Add(name, value)
		}
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	start := time.Now()
	response, err := client.Do(request)
	if err != nil {
		return sentAnswer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	return sentAnswer{response.StatusCode, time.Since(start), body}, err
}

// report prints the answer and where to look next.
func (a sentAnswer) report(w io.Writer, cfg config.Config, isDev bool) error {
	fmt.Fprintf(w, "%d %s in %s\n%s\n", a.status, http.StatusText(a.status), a.took.Round(time.Millisecond),
		printable(string(a.body)))
	if a.status >= http.StatusMultipleChoices {
		return errors.New("the event was not accepted")
	}
	var answer struct {
		Events []struct {
			WorkflowID string `json:"workflow_id"`
			EventID    string `json:"event_id"`
		} `json:"events"`
	}
	if json.Unmarshal(a.body, &answer) != nil {
		return nil //nolint:nilerr // it is another server's answer, which was printed as it is
	}
	for _, e := range answer.Events {
		fmt.Fprintf(w, "\nevent         %s event show %s\n", os.Args[0], e.EventID)
		if isDev {
			fmt.Fprintf(w, "Temporal Web  http://127.0.0.1:%d/namespaces/%s/workflows/%s\n",
				cfg.Dev.TemporalUIPort, cfg.Temporal.Namespace, e.WorkflowID)
		}
	}
	return nil
}
