package definition

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
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
	return awaitEvent(c, api, p.Name())
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

// awaitEvent prints each refusal until an event of the provider arrives, or until the context ends.
func awaitEvent(c *cobra.Command, a *cli.API, provider string) error {
	out := c.OutOrStdout()
	since := time.Now()
	waits := false
	ticker := time.NewTicker(cli.ProgressInterval)
	defer ticker.Stop()
	for lastAt := since; ; {
		var events httpapi.List[arrived]
		query := url.Values{"provider": {provider}, "since": {since.UTC().Format(time.RFC3339Nano)}, "limit": {"1"}}
		if err := a.Read(c.Context(), "/events", query, &events); err != nil {
			return unlessStopped(c, err)
		}
		if !waits {
			waits = true
			fmt.Fprintln(out, "\nwaiting for an event … (Ctrl-C ends)")
		}
		var refused httpapi.List[oversight.ProviderRefusals]
		err := a.Read(c.Context(), "/refusals", url.Values{"provider": {provider}}, &refused)
		if err != nil && !isMissing(err) {
			return unlessStopped(c, err)
		}
		for _, of := range refused.Items {
			lastAt = writeNewRefusals(out, of, lastAt)
		}
		if len(events.Items) > 0 {
			e := events.Items[0]
			_, err := fmt.Fprintf(out, "received %s, %s: holdfast event show %s\n", cli.Printable(e.Type), e.Status, e.ID)
			return err
		}
		select {
		case <-ticker.C:
		case <-c.Context().Done():
			return nil
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

// writeNewRefusals writes the newest refusal after a time with what to do, and returns its time.
func writeNewRefusals(w io.Writer, of oversight.ProviderRefusals, after time.Time) time.Time {
	if len(of.Last) == 0 || !of.Last[0].At.After(after) {
		return after
	}
	last := of.Last[0]
	fmt.Fprintf(w, "refused with %s: %s", strconv.Itoa(last.Status), last.Cause)
	for _, cause := range of.Causes {
		if cause.Cause == last.Cause {
			fmt.Fprintf(w, ": %s\n  %s", cause.Means, cause.Next)
		}
	}
	fmt.Fprintln(w)
	return last.At
}
