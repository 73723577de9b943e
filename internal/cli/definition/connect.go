package definition

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event/oversight"
	"holdfast/internal/cli"
	"holdfast/internal/config"
	"holdfast/internal/lint"
	"holdfast/operator/httpapi"
	"holdfast/providers"
)

func connectCommand() *cobra.Command {
	var port cli.APIFlags
	command := &cobra.Command{
		Use:   "connect PROVIDER",
		Short: "Show how to connect a provider, and wait for its first event",
		Long: "Show the address to give to a provider, the variables for its secret and the steps.\n" +
			"Then show each refused request with its cause, until an event arrives. With --json it\n" +
			"doesn't wait.",
		Example: "  holdfast provider connect stripe\n  holdfast provider connect github --json | jq -r .address",
		Args:    cobra.ExactArgs(1),
	}
	command.RunE = func(c *cobra.Command, args []string) error {
		return withCatalogue(func(c *cobra.Command, catalogue *providers.Catalogue, args []string) error {
			p, err := cli.FindProvider(c, catalogue, args[0])
			if err != nil {
				return err
			}
			return connect(c, &port, p)
		})(c, args)
	}
	port.Add(command)
	cli.AddJSONFlag(command)
	return command
}

func connect(c *cobra.Command, port *cli.APIFlags, p *providers.Provider) error {
	cfg, _, err := config.LoadBesideDev()
	if err != nil {
		return err
	}
	how := lint.Connect(p, cfg.Ingress.PublicURL)
	listed := newListedProvider(p)
	err = cli.Print(c, struct {
		listedProvider
		lint.Connection
	}{listed, how}, func(w io.Writer) error { return writeConnection(w, listed, how) })
	if err != nil || cli.WantsJSON(c) {
		return err
	}
	api, err := port.API(c, cfg)
	if err != nil {
		return err
	}
	return awaitEvent(c, arrivals{api, p.Name()})
}

func writeConnection(w io.Writer, p listedProvider, how lint.Connection) error {
	state := string(p.Secret)
	if p.Because != "" {
		state += " (" + string(p.Because) + ")"
	}
	err := cli.WriteFields(w, "address", how.Address, "or", strings.Join(how.Others, " "),
		"secret in", strings.Join(how.Secrets, " or "), "secret", state, "docs", how.Docs)
	fmt.Fprintln(w)
	for i, step := range how.Steps {
		fmt.Fprintf(w, "%d. %s\n", i+1, step)
	}
	return err
}

// arrived is what the command shows of an event of the operator API.
type arrived struct {
	ID     string `json:"id"`
	Type   string `json:"type"`
	Status string `json:"status"`
}

// arrivals reads what a provider has sent. It compares what the server has with what it had
// before: the server's clock may differ.
type arrivals struct {
	api      *cli.API
	provider string
}

// newest returns the newest event, or nil, and the kept refusals.
func (a arrivals) newest(ctx context.Context) (*arrived, oversight.ProviderRefusals, error) {
	var events httpapi.List[arrived]
	query := url.Values{"provider": {a.provider}, "limit": {"1"}}
	if err := a.api.Read(ctx, "/events", query, &events); err != nil {
		return nil, oversight.ProviderRefusals{}, err
	}
	var refused httpapi.List[oversight.ProviderRefusals]
	err := a.api.Read(ctx, "/refusals", url.Values{"provider": {a.provider}}, &refused)
	if err != nil && !isMissing(err) {
		return nil, oversight.ProviderRefusals{}, err
	}
	var event *arrived
	if len(events.Items) > 0 {
		event = &events.Items[0]
	}
	var refusals oversight.ProviderRefusals
	if len(refused.Items) > 0 {
		refusals = refused.Items[0]
	}
	return event, refusals, nil
}

// awaitEvent prints each refusal until an event of the provider arrives, or until the context ends.
func awaitEvent(c *cobra.Command, a arrivals) error {
	out := c.OutOrStdout()
	before, refusals, err := a.newest(c.Context())
	if err != nil {
		return unlessStopped(c, err)
	}
	fmt.Fprintln(out, "\nwaiting for an event … (Ctrl-C ends)")
	shownAt := lastOf(refusals)
	ticker := time.NewTicker(cli.ProgressInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-c.Context().Done():
			return nil
		}
		event, refusals, err := a.newest(c.Context())
		if err != nil {
			return unlessStopped(c, err)
		}
		writeNewRefusals(out, refusals, shownAt)
		if last := lastOf(refusals); last.After(shownAt) {
			shownAt = last
		}
		if event != nil && (before == nil || event.ID != before.ID) {
			_, err := fmt.Fprintf(out, "received %s, %s: holdfast event show %s\n", cli.Printable(event.Type), event.Status, event.ID)
			return err
		}
	}
}

// isMissing reports whether a process has no such route: one that receives no webhooks has no refusals.
func isMissing(err error) bool {
	var refused *cli.RefusalError
	return errors.As(err, &refused) && refused.Status == http.StatusNotFound
}

// unlessStopped returns an error, or nil after Ctrl-C.
func unlessStopped(c *cobra.Command, err error) error {
	if c.Context().Err() != nil {
		return nil //nolint:nilerr // the user has stopped the command
	}
	return err
}

// lastOf returns the time of the newest refusal; zero without any.
func lastOf(refusals oversight.ProviderRefusals) time.Time {
	if len(refusals.Last) == 0 {
		return time.Time{}
	}
	return refusals.Last[0].At
}

// writeNewRefusals writes the refusals after a time, the oldest first, each with what to do.
func writeNewRefusals(w io.Writer, of oversight.ProviderRefusals, after time.Time) {
	for _, one := range slices.Backward(of.Last) {
		if !one.At.After(after) {
			continue
		}
		fmt.Fprintf(w, "refused with %d: %s", one.Status, one.Cause)
		for _, cause := range of.Causes {
			if cause.Cause == one.Cause {
				fmt.Fprintf(w, ": %s\n  %s", cause.Means, cause.Next)
			}
		}
		fmt.Fprintln(w)
	}
}
