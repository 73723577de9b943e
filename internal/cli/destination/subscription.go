package destination

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/delivery"
	"holdfast/delivery/declared"
	"holdfast/internal/cli"
	"holdfast/operator/api/deliveryapi"
	"holdfast/operator/httpapi"
)

// SubscriptionCommand returns `holdfast subscription`.
func SubscriptionCommand() *cobra.Command {
	return cli.Group("subscription", "Which events go where: create, show, test, pause, delete",
		"  holdfast subscription apply -f subscriptions.yaml --dry-run\n  holdfast subscription test customers-to-crm",
		listSubscriptionsCommand(), showSubscriptionCommand(), createCommand(), applyCommand(),
		stateCommand(kindSubscription, "pause", delivery.DestinationPaused),
		stateCommand(kindSubscription, "resume", delivery.DestinationReady),
		stateCommand(kindSubscription, "disable", delivery.DestinationDisabled),
		rotateCommand(kindSubscription), testCommand(), checkCommand(), orderCommand(), deleteSubscriptionCommand())
}

func listSubscriptionsCommand() *cobra.Command {
	return cli.Page[deliveryapi.SubscriptionView]{
		Short: "List subscriptions, with the health of their destinations", Route: "/subscriptions",
		Example: "  holdfast subscription list",
		Heading: []string{
			"NAME!", "TO!", "URL+", "RATE/S", "FORM+", "ACTIVE", "STATE", "BREAKER", "PROVIDERS", "TYPES", "FILTER+",
		},
		Cells: func(s deliveryapi.SubscriptionView) []string {
			return []string{
				s.Name, s.To, s.URL, rateText(s.RateLimit), formOf(s.Subscription), strconv.FormatBool(s.Active),
				string(s.Condition.State), string(s.Condition.Breaker),
				cmp.Or(strings.Join(s.Events.Providers, " "), "all"), cmp.Or(strings.Join(s.Events.Types, " "), "all"),
				cli.Shorten(s.Events.Filter),
			}
		},
	}.Command()
}

func rateText(perSecond float64) string {
	if perSecond == 0 {
		return ""
	}
	return strconv.FormatFloat(perSecond, 'g', 4, 64)
}

// formOf names the format in which events are delivered.
func formOf(s delivery.Subscription) string {
	switch {
	case s.Start != nil:
		return "start"
	case s.Signal != nil:
		return "signal"
	case s.SignalWithStart != nil:
		return "signal_with_start"
	case delivery.IsNamedBody(s.Body):
		return cmp.Or(s.Body, delivery.BodyRaw)
	}
	return "jq"
}

func showSubscriptionCommand() *cobra.Command {
	return named(kindSubscription, "show", "Show one subscription, with its destination's health",
		"  holdfast subscription show customers-to-crm",
		func(c *cobra.Command, a *cli.API, name string) error {
			return notFound(cli.Show(c, a, pathOf(kindSubscription, name), nil, writeSubscription), kindSubscription, name)
		})
}

func writeSubscription(w io.Writer, s deliveryapi.SubscriptionView) error {
	fields, err := declared.SubscriptionSettings(s.Subscription)
	if err != nil {
		return err
	}
	lines := []string{"subscription", s.Name + " (" + strconv.FormatInt(s.ID, 10) + ")"}
	for _, f := range sorted(fields) {
		lines = append(lines, f, string(fields[f]))
	}
	return cli.WriteFields(w, append(lines, conditionFields(s.Condition)...)...)
}

func deleteSubscriptionCommand() *cobra.Command {
	command := named(kindSubscription, "delete", "Delete a subscription, and a destination with its name",
		"  holdfast subscription delete customers-to-crm --reason 'gone'",
		func(c *cobra.Command, a *cli.API, name string) error {
			var gone delivery.Removed
			if err := change(c, a, http.MethodDelete, kindSubscription, name, "", cli.Reasoned(c), &gone); err != nil {
				return err
			}
			its := ""
			if gone.Destination != "" {
				its = " and its destination"
			}
			return done(c, struct {
				Deleted string `json:"deleted"`
				delivery.Removed
			}{name, gone}, "deleted subscription %s%s: %d deliveries were canceled", name, its, gone.Canceled)
		})
	command.Long = "Delete a subscription. Its waiting deliveries are canceled, and a destination with the\n" +
		"same name is deleted too."
	cli.AddReasonFlag(command)
	return command
}

func testCommand() *cobra.Command {
	var about, sample string
	command := named(kindSubscription, "test", "Send one event now, and show the response",
		"  holdfast subscription test customers-to-crm\n"+
			"  holdfast subscription test customers-to-crm --event stripe:evt_123\n"+
			"  holdfast subscription test customers-to-crm --sample stripe:customer.updated",
		func(c *cobra.Command, a *cli.API, name string) (err error) {
			body := deliveryapi.TrialRequest{Reasoned: cli.Reasoned(c)}
			if body.EventID, err = namedEvent(c, a, about); err != nil {
				return err
			}
			body.Provider, body.Type, _ = strings.Cut(sample, ":")
			var tried deliveryapi.TrialView
			if err := change(c, a, http.MethodPost, kindSubscription, name, "test", body, &tried); err != nil {
				return err
			}
			if err := cli.Print(c, tried, func(w io.Writer) error { return writeTrial(w, tried) }); err != nil {
				return err
			}
			if !tried.OK {
				return fmt.Errorf("the endpoint did not accept it: %s", tried.Code)
			}
			return nil
		})
	command.Long = "Send one event to a subscription now, once, whatever state its destination is in.\n" +
		"The endpoint treats it like any event: it may start a workflow or notify a customer.\n" +
		"It has its own ID. Without a flag, the first sample that matches the subscription is\n" +
		"sent; matching samples that can't be sent are listed."
	cli.AddEventFlag(command, &about, "send it")
	command.Flags().StringVar(&sample, "sample", "", "send a sample: PROVIDER or PROVIDER:TYPE")
	cli.AddReasonFlag(command)
	return command
}

func writeTrial(w io.Writer, t deliveryapi.TrialView) error {
	result := "not accepted"
	if t.OK {
		result = "accepted"
	}
	matches := "yes"
	if !t.Matches {
		matches = "no: the subscription doesn't select such events"
	}
	err := cli.WriteFields(w,
		"result", fmt.Sprintf("%s: %s in %d ms", result, t.Code, t.MS),
		"because", t.Error,
		"sent", t.Of+": "+t.Provider+" "+t.Type,
		"as event", t.EventID,
		"matches", matches,
	)
	if err != nil {
		return err
	}
	if len(t.Answer) > 0 {
		fmt.Fprintf(w, "response:\n%s\n", cli.Printable(t.Answer))
	}
	return writeFindings(w, t.Findings)
}

func checkCommand() *cobra.Command {
	var about, file, sender string
	command := named(kindSubscription, "check", "Check a subscription for errors, and send nothing",
		"  holdfast subscription check settle-order\n"+
			"  holdfast subscription check settle-order --file order.json --sender events\n"+
			"  holdfast subscription check settle-order --event stripe:evt_123",
		func(c *cobra.Command, a *cli.API, name string) (err error) {
			body := deliveryapi.CheckRequest{Provider: sender}
			if body.EventID, err = namedEvent(c, a, about); err != nil {
				return err
			}
			if file != "" {
				if body.BodyBase64, err = cli.ReadBody(c.InOrStdin(), file); err != nil {
					return err
				}
			}
			var found httpapi.List[delivery.Finding]
			if err := change(c, a, http.MethodPost, kindSubscription, name, "check", body, &found); err != nil {
				return err
			}
			if err := cli.Print(c, found, func(w io.Writer) error { return writeFindings(w, found.Items) }); err != nil {
				return err
			}
			for _, f := range found.Items {
				if !f.OK {
					return fmt.Errorf("subscription %s has errors: see the lines marked BAD", name)
				}
			}
			return nil
		})
	command.Long = "Check a subscription for errors, and send nothing: which samples match\n" +
		"it, whether they can be converted to its format, and what its destination lacks.\n" +
		"Your own types have no samples: give an event with --file or --event instead."
	cli.AddEventFlag(command, &about, "check with it, in place of the samples")
	cli.AddFileFlag(command, &file, "check with this body of an event, in place of the samples")
	command.Flags().StringVar(&sender, "sender", "", "the provider of --file; the subscription's, if it names one")
	command.MarkFlagsMutuallyExclusive("event", "file")
	return command
}

func writeFindings(w io.Writer, found []delivery.Finding) error {
	for _, f := range found {
		mark := "ok  "
		if !f.OK {
			mark = "BAD "
		}
		fmt.Fprintf(w, "%s %s: %s\n", mark, f.About, cli.Printable(f.Text))
		if f.Command != "" {
			fmt.Fprintf(w, "       %s\n", cli.Printable(f.Command))
		}
	}
	return nil
}
