package destination

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

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/internal/cli"
	"holdfast/operator/api/deliveryapi"
	"holdfast/operator/httpapi"
)

// DeliveryCommand returns `holdfast delivery`.
func DeliveryCommand() *cobra.Command {
	return cli.Group("delivery", "List failed deliveries and their causes; resend, cancel",
		"  holdfast delivery list --subscription customers-to-crm\n"+
			"  holdfast delivery resend stripe:evt_123 customers-to-crm",
		append([]*cobra.Command{listDeliveriesCommand(), showDeliveryCommand(), resendDeliveryCommand(), cancelCommand()},
			headCommands()...)...)
}

func listDeliveriesCommand() *cobra.Command {
	var all bool
	command := cli.Page[deliveryapi.DeliveryView]{
		Short: "List undelivered deliveries, the newest event first", Route: "/deliveries", Limit: 50,
		Example: "  holdfast delivery list            # never delivered: to whom, why, when next\n" +
			"  holdfast delivery list --destination crm --status failed\n" +
			"  holdfast delivery list --all --event stripe:evt_123",
		Query: func(_ *cobra.Command, query url.Values) error {
			if !all && !query.Has("status") {
				query.Set("only", "undelivered")
			}
			return nil
		},
		Heading: []string{"EVENT!", "SUBSCRIPTION", "DESTINATION+", "TYPE+", "STATUS", "CODE", "ATTEMPTS+", "BLOCKED BY+", "NEXT~"},
		Cells: func(d deliveryapi.DeliveryView) []string {
			return []string{
				d.EventID, d.Subscription, d.Destination, strings.TrimSpace(d.Provider + " " + d.Type), string(d.Status), d.Code,
				strconv.Itoa(d.Attempts), d.Waits, cli.OptionalTimeText(d.DueAt),
			}
		},
	}.Command()
	cli.AddEventFilter(command)
	cli.AddFilter(command, "subscription", "subscription", "only those for this subscription")
	cli.AddFilter(command, "destination", "destination", "only those to this destination")
	cli.AddChoiceFilter(command, "status", "status", "only those of this status", delivery.Statuses())
	command.Flags().BoolVar(&all, "all", false, "all (also delivered and canceled ones)")
	cli.AddPeriodFilters(command)
	return command
}

// deliveryPath returns the route of the delivery that two arguments identify.
func deliveryPath(c *cobra.Command, a *cli.API, args []string, action ...string) (string, error) {
	id, err := a.FindEvent(c.Context(), args[0])
	return cli.Path(append([]string{"deliveries", id, args[1]}, action...)...), err
}

// noDelivery says that an event has no delivery for a subscription, if that is the error.
func noDelivery(err error, args []string) error {
	if errors.Is(err, event.ErrNotFound) {
		return cli.NotFound("event %s has no delivery for the subscription %s: it did not match, or is not processed yet",
			args[0], args[1])
	}
	return err
}

func resendDeliveryCommand() *cobra.Command {
	var isMissing bool
	command := cli.WithAPI(&cobra.Command{
		Use:     "resend EVENT SUBSCRIPTION",
		Short:   "Send a processed event to a subscription, with a new ID",
		Example: "  holdfast delivery resend stripe:evt_123 customers-to-crm --reason INC-42",
	}, func(c *cobra.Command, a *cli.API, args []string) error {
		path, err := deliveryPath(c, a, args, "resend")
		if err != nil {
			return err
		}
		body := struct {
			httpapi.Reasoned

			Missing bool `json:"missing,omitempty"`
		}{cli.Reasoned(c), isMissing}
		var resent deliveryapi.Resent
		if err := a.Change(c.Context(), http.MethodPost, path, body, &resent); err != nil {
			return notFound(err, kindSubscription, args[1])
		}
		what := "is resent"
		if !resent.Sent {
			what = "isn't sent: it has one, doesn't match, or isn't processed"
		}
		return done(c, resent, "the delivery of %s to %s %s", args[0], args[1], what)
	})
	command.Flags().BoolVar(&isMissing, "missing", false, "only if the event matches and has no delivery")
	cli.AddReasonFlag(command)
	cli.AddJSONFlag(command)
	return command
}

func showDeliveryCommand() *cobra.Command {
	return cli.WithJSON(cli.WithAPI(&cobra.Command{
		Use:     "show EVENT SUBSCRIPTION",
		Short:   "Show one delivery: its status, attempts and last response",
		Example: "  holdfast delivery show stripe:evt_123 customers-to-crm",
	}, func(c *cobra.Command, a *cli.API, args []string) error {
		path, err := deliveryPath(c, a, args)
		if err != nil {
			return err
		}
		return noDelivery(cli.Show(c, a, path, nil, writeDelivery), args)
	}))
}

func writeDelivery(w io.Writer, d deliveryapi.DeliveryDetail) error {
	status := string(d.Status)
	if d.Waits != "" {
		status += " (" + d.Waits + ")"
	}
	var generation string
	if d.Generation > 0 {
		generation = strconv.Itoa(d.Generation)
	}
	err := cli.WriteFields(w,
		"event", d.EventID,
		"type", strings.TrimSpace(d.Provider+" "+d.Type),
		"subscription", d.Subscription,
		"destination", d.Destination,
		"status", status,
		"order key", d.OrderKey,
		"code", d.Code,
		"attempts", strconv.Itoa(d.Attempts),
		"resent", generation,
		"queued", d.QueuedAt.Format(time.RFC3339Nano),
		"next attempt", cli.OptionalTimeText(d.DueAt),
		"ended", cli.OptionalTimeText(d.DoneAt),
	)
	if err != nil {
		return err
	}
	if err := WriteAttempts(w, d.Log); err != nil {
		return err
	}
	if d.Answer != "" {
		fmt.Fprintf(w, "\nresponse:\n%s\n", cli.Printable(d.Answer))
	}
	if d.Status == delivery.Failed {
		_, err = fmt.Fprintf(w, "\nOnce the cause is fixed: holdfast delivery resend %s %s\n", d.EventID, d.Subscription)
	}
	return err
}

// WriteAttempts lists attempts, if there are any.
func WriteAttempts(w io.Writer, all []deliveryapi.AttemptView) error {
	if len(all) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	table := cli.NewTable(w, "#", "ATTEMPT~", "SUBSCRIPTION", "OK", "CODE", "MS", "ERROR")
	for _, a := range all {
		table.Row(strconv.Itoa(a.Number), a.At.Format(time.RFC3339Nano), a.Subscription, strconv.FormatBool(a.OK), a.Code,
			strconv.Itoa(a.MS), cli.Shorten(a.Error))
	}
	return table.Flush()
}

// WriteDeliveries lists the deliveries of an event, if there are any.
func WriteDeliveries(w io.Writer, all []deliveryapi.DeliveryView) error {
	if len(all) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	table := cli.NewTable(w, "DELIVERY TO", "SUBSCRIPTION", "STATUS", "CODE", "ATTEMPTS+", "BLOCKED BY+", "NEXT~", "ENDED~")
	for _, d := range all {
		table.Row(d.Destination, d.Subscription, string(d.Status), d.Code, strconv.Itoa(d.Attempts), d.Waits,
			cli.OptionalTimeText(d.DueAt), cli.OptionalTimeText(d.DoneAt))
	}
	return table.Flush()
}
