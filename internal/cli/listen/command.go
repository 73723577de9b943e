package listen

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event/feed"
	"holdfast/internal/cli"
	"holdfast/internal/config"
	"holdfast/providers"
)

const example = `  # all Stripe events, to a server on this machine
  holdfast listen --provider stripe --forward http://localhost:3000/hooks

  # signed again, since the original signature is too old
  holdfast listen --forward http://localhost:3000/hooks --secret "$MY_SECRET"

  # start with the last hour; only print
  holdfast listen --provider github --type push --since 1h --print`

type options struct {
	api                        cli.APIFlags
	provider, kind             string
	forward, secret, providers string
	since                      time.Time
	prints                     bool
}

// Command returns `holdfast listen`.
func Command() *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:   "listen",
		Short: "Forward real events to a server on this machine",
		Long: `Follows a running Holdfast and forwards each event to a URL, byte for byte, with the
headers that were kept: once it is processed or ignored, or is a dead letter. After a
lost connection it continues where it was. It changes nothing in the Holdfast that it
follows.

It reads bodies, so it needs a token with the role operator: in
` + cli.TokenVariable + `, or in the file of --token-file.

A provider's signature expires, and its secret isn't yours. With --secret, each event
is signed again with the provider's scheme when it is forwarded.

In a terminal, r and Enter send the last event again.`,
		Example: example,
		GroupID: cli.GroupRun,
		RunE: func(c *cobra.Command, _ []string) error {
			one, err := o.listener(c)
			if err != nil {
				return err
			}
			if in, ok := c.InOrStdin().(*os.File); ok && cli.IsTerminal(in) {
				go one.readCommands(c.Context(), in)
			}
			return one.run(c.Context())
		},
	}
	f := command.Flags()
	o.api.Add(command)
	cli.AddProviderFlag(command, &o.provider)
	cli.AddTypeFlag(command, &o.kind)
	f.StringVar(&o.forward, "forward", "", "the URL that events are sent to")
	cli.AddSecretFlag(command, &o.secret, "sign each event again with it")
	f.StringVar(&o.providers, "providers-dir", "", "the folder of your own definitions, for --secret")
	cli.AddTimeFlag(command, &o.since, nil, "since", "not before then")
	f.BoolVar(&o.prints, "print", false, "print the bodies")
	return command
}

func (o *options) listener(c *cobra.Command) (*listener, error) {
	if o.forward == "" && !o.prints {
		return nil, cli.UsageError(c, errors.New("use --forward URL, or --print to only print"))
	}
	if o.forward != "" && !cli.IsURL(o.forward) {
		return nil, cli.UsageError(c, fmt.Errorf("invalid --forward %q: use http://… or https://…", o.forward))
	}
	cfg, _, err := config.LoadBesideDev()
	if err != nil {
		return nil, err
	}
	api, err := o.api.API(c, cfg)
	if err != nil {
		return nil, err
	}
	one := &listener{
		out: c.OutOrStdout(), prints: o.prints, api: api,
		filter: feed.Filter{Provider: o.provider, Kind: o.kind}, after: "now",
	}
	if !o.since.IsZero() {
		one.after = time.Since(o.since).Round(time.Second).String()
	}
	if o.forward == "" {
		return one, nil
	}
	one.forwarder = &forwarder{to: o.forward, secret: o.secret, client: cli.NewHTTPClient()}
	if o.secret != "" {
		catalogue, err := providers.Load(o.providers)
		if err != nil {
			return nil, err
		}
		one.forwarder.lookup = catalogue.Lookup
	}
	return one, nil
}

// readCommands resends the last event for each input line that asks for it.
func (l *listener) readCommands(ctx context.Context, in io.Reader) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if strings.TrimSpace(lines.Text()) == "r" {
			l.resend(ctx)
		}
	}
}
