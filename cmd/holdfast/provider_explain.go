package main

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/providers"
	"holdfast/providers/auth"
	"holdfast/providers/lint"
)

// explainOptions describe a request.
type explainOptions struct {
	body     string // a file, "-" is standard input
	headers  []string
	url      string
	secrets  []string
	now      int64
	remoteIP string
	sign     bool
}

func providerExplainCommand() *cobra.Command {
	var o explainOptions
	command := &cobra.Command{
		Use:   "explain PROVIDER --body FILE",
		Short: "Say what would happen to a request, and why; nothing happens (exit 1 if it would be refused)",
		Args:  cobra.ExactArgs(1),
		RunE: withCatalogue(func(c *cobra.Command, catalogue *providers.Catalogue, args []string) error {
			return explain(c, catalogue, args[0], o)
		}),
	}
	flags := command.Flags()
	flags.StringVar(&o.body, "body", "", "file with the body, to the byte as it was sent; - is standard input")
	flags.StringArrayVar(&o.headers, "header", nil, "a header as 'Name: value'; may be given many times")
	flags.StringVar(&o.url, "url", "", "the URL that was called, where path, query or a signature over it matter")
	flags.StringArrayVar(&o.secrets, "secret", nil, "a secret in place of the configured ones; may be given many times")
	flags.Int64Var(&o.now, "now", 0, "the time of arrival in unix seconds (default: now)")
	flags.StringVar(&o.remoteIP, "remote-ip", "", "the address of the sender")
	flags.BoolVar(&o.sign, "sign", false, "sign the request first, as the provider would: to look at the mapping alone")
	_ = command.MarkFlagRequired("body")
	addJSONFlag(command)
	return command
}

func explain(c *cobra.Command, catalogue *providers.Catalogue, name string, o explainOptions) error {
	if o.sign && len(o.secrets) == 0 {
		o.secrets = []string{anySecret()}
	}
	if len(o.secrets) > 0 {
		catalogue = catalogue.WithSecrets(func(string) []string { return o.secrets })
	}
	p, err := findProvider(catalogue, name)
	if err != nil {
		return err
	}
	now := time.Now()
	if o.now != 0 {
		now = time.Unix(o.now, 0)
	}
	request, err := o.request(c.InOrStdin(), catalogue, p)
	if err != nil {
		return err
	}
	if o.sign {
		if err := p.SignWithSecrets(request, now); err != nil {
			return fmt.Errorf("sign request: %w", err)
		}
	}
	e := lint.Explain(p, request, now)
	if err := printValue(c, e, func(w io.Writer) error { return writeExplanation(w, p, e) }); err != nil {
		return err
	}
	if e.Refused != "" {
		return fmt.Errorf("the request would be refused: %s", e.Refused)
	}
	return nil
}

// anySecret fits most schemes: it is text, and base64 after its prefix.
func anySecret() string {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return "whsec_" + base64.StdEncoding.EncodeToString(key)
}

func (o explainOptions) request(
	stdin io.Reader, catalogue *providers.Catalogue, p *providers.Provider,
) (*auth.Request, error) {
	r := &auth.Request{Method: http.MethodPost, Path: p.Paths()[0], URL: o.url, Header: map[string][]string{}}
	if err := setHeaders(r, o.headers); err != nil {
		return nil, err
	}
	if len(r.Header["content-type"]) == 0 {
		r.Header["content-type"] = []string{"application/json"}
	}
	if err := o.setURL(r, catalogue, p); err != nil {
		return nil, err
	}
	if o.remoteIP != "" {
		address, err := netip.ParseAddr(o.remoteIP)
		if err != nil {
			return nil, fmt.Errorf("%q is not an address", o.remoteIP)
		}
		r.RemoteIP = address
	}
	var err error
	r.Body, err = readBody(stdin, o.body)
	return r, err
}

// setURL takes path, path variables and query from the URL.
func (o explainOptions) setURL(r *auth.Request, catalogue *providers.Catalogue, p *providers.Provider) error {
	u, err := url.Parse(o.url)
	if err != nil {
		return fmt.Errorf("read --url: %w", err)
	}
	r.Query = u.Query()
	if u.Path == "" || u.Path == "/" {
		return nil
	}
	r.Path = u.EscapedPath()
	found, params, ok := catalogue.ByPath(r.Path)
	if !ok || found.Name() != p.Name() {
		return fmt.Errorf("the path %s is none of %s; it has: %s", r.Path, p.Name(), strings.Join(p.Paths(), " "))
	}
	r.PathParams = params
	return nil
}

// setHeaders reads "Name: value" lines.
func setHeaders(r *auth.Request, lines []string) error {
	given := map[string][]string{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return fmt.Errorf("a header is given as 'Name: value'")
		}
		name = strings.ToLower(strings.TrimSpace(name))
		given[name] = append(given[name], strings.TrimSpace(value))
	}
	for name, values := range given {
		r.Header[name] = values
	}
	return nil
}

// maxBody is in bytes: more than any definition may allow.
const maxBody = 64 << 20

func readBody(stdin io.Reader, file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(io.LimitReader(stdin, maxBody))
	}
	return os.ReadFile(file)
}

func writeExplanation(w io.Writer, p *providers.Provider, e lint.Explanation) error {
	verdict := "yes, by " + e.Scheme
	if e.Refused != "" {
		verdict = "refused: " + string(e.Refused)
	}
	reply := strconv.Itoa(e.Status) + " " + http.StatusText(e.Status)
	if e.Challenge {
		reply += " (a handshake, not an event): " + e.Reply
	}
	err := writeFields(w, "authentic", verdict, "reply", reply, "limits", limits(p), "redrive", redriveOf(p.Redrive()))
	if err != nil {
		return err
	}
	if e.Refused == "" && !e.Challenge && len(e.Events) == 0 {
		fmt.Fprintln(w, "\nno events: an empty batch")
	}
	for i := range e.Events {
		fmt.Fprintf(w, "\nevent %d of %d\n", i+1, len(e.Events))
		if err := writeExplainedEvent(w, &e.Events[i]); err != nil {
			return err
		}
	}
	return nil
}

func writeExplainedEvent(w io.Writer, e *lint.ExplainedEvent) error {
	fields := []string{"workflow", e.WorkflowID, "key", e.Key + " (" + keyOrigin(e) + ")"}
	for _, part := range e.KeyParts {
		fields = append(fields, "  "+part.Field, explainPart(part))
	}
	rules := e.Rules
	if rules == "" {
		rules = "the definition's own"
	}
	fields = append(fields, "type", e.Type, "source", e.Source, "rules", rules, "occurred", occurred(e),
		"priority", string(e.Priority), "lane", lane(e.Lane), "duplicate", window(e.DedupeWindow), "retries", retries(e.Policy))
	if q := e.Question; q != nil {
		fields = append(fields, "question", question(q))
	}
	if d := e.DeadLetter; d != nil {
		fields = append(fields, "dead letter", fmt.Sprintf("%s (%s, %s)", d.Message, d.Class, d.Code))
	}
	if e.Outcome == event.OutcomeIgnored {
		fields = append(fields, "outcome", "ignored: stored, and no entity is touched")
	}
	if err := writeFields(w, fields...); err != nil {
		return err
	}
	for _, change := range e.Changes {
		fmt.Fprintf(w, "%s %s %s  %s\n", change.Op, printable(change.Kind), printable(change.ExternalID),
			printable(shorten(string(change.State))))
	}
	return nil
}
