package definition

import (
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/cli"
	"holdfast/internal/lint"
	"holdfast/providers"
	"holdfast/providers/auth"
)

type explainOptions struct {
	body     string // a file; "-" is standard input
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
		Use:   "explain PROVIDER --file FILE",
		Short: "Show how a request would be handled (exit 1 if refused)",
		Long: "Show how a request would be handled, and why. Nothing is stored. Exit 1 if it would be\n" +
			"refused.",
		Example: "  holdfast provider explain stripe --file body.json \\\n" +
			"    --header 'Stripe-Signature: t=1760000000,v1=…' --now 1760000000\n" +
			"  holdfast provider explain stripe --file body.json --sign   # the mapping alone",
		RunE: withCatalogue(func(c *cobra.Command, catalogue *providers.Catalogue, args []string) error {
			return explain(c, catalogue, args[0], o)
		}),
	}
	flags := command.Flags()
	cli.AddFileFlag(command, &o.body, "the body, byte for byte as it was sent")
	cli.AddHeaderFlag(command, &o.headers)
	flags.StringVar(&o.url, "url", "", "the URL to send to (if its path, its query or a signature over it matters)")
	flags.StringArrayVar(&o.secrets, "secret", nil, "a secret instead of the configured ones: check with it (repeatable)")
	flags.Int64Var(&o.now, "now", 0, "the time of arrival, in unix seconds (default: now)")
	flags.StringVar(&o.remoteIP, "remote-ip", "", "the address of the sender")
	flags.BoolVar(&o.sign, "sign", false, "sign the request first, as the provider would")
	_ = command.MarkFlagRequired("file")
	cli.AddJSONFlag(command)
	return command
}

func explain(c *cobra.Command, catalogue *providers.Catalogue, name string, o explainOptions) error {
	if o.sign && len(o.secrets) == 0 {
		o.secrets, catalogue = auth.TrialSecrets(), catalogue.WithCertificates(auth.TrialCertificates).WithKeySets(auth.TrialKeySets)
	}
	if len(o.secrets) > 0 {
		catalogue = catalogue.WithSecrets(func(string) []string { return o.secrets })
	}
	p, err := cli.FindProvider(c, catalogue, name)
	if err != nil {
		return err
	}
	now := time.Now()
	if o.now != 0 {
		now = time.Unix(o.now, 0)
	}
	request, err := o.request(c.InOrStdin(), catalogue, p)
	if err != nil {
		return cli.UsageError(c, err)
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

func (o explainOptions) request(
	stdin io.Reader, catalogue *providers.Catalogue, p *providers.Provider,
) (*auth.Request, error) {
	given := &auth.Request{Header: map[string][]string{}}
	if err := cli.SetHeaders(given, o.headers); err != nil {
		return nil, err
	}
	body, err := cli.ReadBody(stdin, o.body)
	if err != nil {
		return nil, err
	}
	r, err := lint.Pasted{URL: o.url, Header: given.Header, Body: body}.Request(catalogue, p, "")
	if err != nil || o.remoteIP == "" {
		return r, err
	}
	if r.RemoteIP, err = netip.ParseAddr(o.remoteIP); err != nil {
		return nil, fmt.Errorf("invalid --remote-ip %q", o.remoteIP)
	}
	return r, nil
}

func writeExplanation(w io.Writer, p *providers.Provider, e lint.Explanation) error {
	otherwise, err := replaying()
	if err != nil {
		return err
	}
	if err := cli.WriteFields(w, e.Facts(p, otherwise)...); err != nil {
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
	if err := cli.WriteFields(w, e.Facts()...); err != nil {
		return err
	}
	for _, change := range e.Changes {
		fmt.Fprintf(w, "%s %s %s  %s\n", change.Op, cli.Printable(change.Kind), cli.Printable(change.ExternalID),
			cli.Printable(cli.Shorten(string(change.State))))
	}
	return nil
}
