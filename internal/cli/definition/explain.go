package definition

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/cli"
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

func explainCommand() *cobra.Command {
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
	cli.AddJSONFlag(command)
	return command
}

func explain(c *cobra.Command, catalogue *providers.Catalogue, name string, o explainOptions) error {
	if o.sign && len(o.secrets) == 0 {
		o.secrets = []string{anySecret()}
	}
	if len(o.secrets) > 0 {
		catalogue = catalogue.WithSecrets(func(string) []string { return o.secrets })
	}
	p, err := cli.FindProvider(catalogue, name)
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
	if err := cli.Print(c, e, func(w io.Writer) error { return writeExplanation(w, p, e) }); err != nil {
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
	if err := cli.SetHeaders(r, o.headers); err != nil {
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
	r.Body, err = cli.ReadBody(stdin, o.body)
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
