package destination

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/internal/cli"
	"holdfast/operator/api/deliveryapi"
	"holdfast/operator/httpapi"
)

// DeliveryCommand returns `holdfast delivery`.
func DeliveryCommand() *cobra.Command {
	return cli.Group("delivery", "List failed deliveries and their causes; resend, cancel",
		"  holdfast delivery list --subscription customers-to-crm\n"+
			"  holdfast delivery resend stripe:evt_123 customers-to-crm",
		listDeliveriesCommand(), showDeliveryCommand(),
		resendDeliveryCommand(),
		cancelCommand())
}

func listDeliveriesCommand() *cobra.Command {
	var query delivery.Query
	var about, subscription, destination string
	var all bool
	command := cli.Listing[delivery.Delivery, delivery.Key]{
		Short: "List undelivered deliveries, the newest event first",
		Example: "  holdfast delivery list            # never delivered: to whom, why, when next\n" +
			"  holdfast delivery list --destination crm --status failed\n" +
			"  holdfast delivery list --all --event stripe:evt_123",
		Limit: 50, View: func(d delivery.Delivery) any { return deliveryapi.WholeDelivery(d) },
		Place: func(d delivery.Delivery) delivery.Key {
			return delivery.Key{EventID: d.EventID, SubscriptionID: d.SubscriptionID}
		},
		Read: func(c *cobra.Command, t *cli.Tools, limit int, after *delivery.Key) (page []delivery.Delivery, err error) {
			query.Limit, query.Before = limit, after
			if query.EventID, err = t.FindFiltered(c.Context(), about); err != nil {
				return nil, err
			}
			query.Undelivered = !all && query.Status == ""
			if query.SubscriptionID, err = subscriptionID(c.Context(), t, subscription); err != nil {
				return nil, err
			}
			query.DestinationID, err = destinationID(c.Context(), t, destination)
			if err != nil {
				return nil, err
			}
			return t.Store.Outbox.Deliveries(c.Context(), query)
		},
		Heading: []string{"EVENT!", "SUBSCRIPTION", "DESTINATION+", "TYPE+", "STATUS", "CODE", "ATTEMPTS+", "BLOCKED BY+", "NEXT~"},
		Cells: func(d delivery.Delivery) []string {
			return []string{
				d.EventID, d.Subscription, d.Destination, strings.TrimSpace(d.Provider + " " + d.Type), string(d.Status), d.Code,
				strconv.Itoa(d.Attempts), d.Waits, cli.OptionalTimeText(d.DueAt),
			}
		},
	}.Command()
	cli.AddEventFlag(command, &about, "only its own")
	command.Flags().StringVar(&subscription, "subscription", "", "only those for this subscription")
	command.Flags().StringVar(&destination, "destination", "", "only those to this destination")
	cli.AddChoiceFlag(command, &query.Status, "status", "only those of this status", delivery.Statuses())
	command.Flags().BoolVar(&all, "all", false, "all (also delivered and canceled ones)")
	cli.AddPeriodFlags(command, &query.Since, &query.Until)
	return command
}

func subscriptionID(ctx context.Context, t *cli.Tools, name string) (int64, error) {
	of := func(s delivery.Subscription) int64 { return s.ID }
	return resolve(ctx, kindSubscription, name, t.Store.Subscriptions.Subscription, of)
}

func destinationID(ctx context.Context, t *cli.Tools, name string) (int64, error) {
	of := func(d delivery.Destination) int64 { return d.ID }
	return resolve(ctx, kindDestination, name, t.Store.Subscriptions.Destination, of)
}

func resendDeliveryCommand() *cobra.Command {
	var isMissing bool
	command := cli.WithAPI(&cobra.Command{
		Use:     "resend EVENT SUBSCRIPTION",
		Short:   "Send a processed event to a subscription, with a new ID",
		Example: "  holdfast delivery resend stripe:evt_123 customers-to-crm --reason INC-42",
	}, func(c *cobra.Command, a *cli.API, args []string) error {
		id, err := a.FindEvent(c.Context(), args[0])
		if err != nil {
			return err
		}
		body := struct {
			httpapi.Reasoned

			Missing bool `json:"missing,omitempty"`
		}{cli.Reasoned(c), isMissing}
		var resent deliveryapi.Resent
		err = a.Change(c.Context(), http.MethodPost, cli.Path("deliveries", id, args[1], "resend"), body, &resent)
		if err != nil {
			return err
		}
		what := "is resent"
		if !resent.Sent {
			what = "isn't sent: it has one, doesn't match, or isn't processed"
		}
		return done(c, resent, "the delivery of %s to %s %s", id, args[1], what)
	})
	command.Flags().BoolVar(&isMissing, "missing", false, "only if the event matches and has no delivery")
	cli.AddReasonFlag(command)
	cli.AddJSONFlag(command)
	return command
}

// keyOf returns the delivery that two arguments identify.
func keyOf(ctx context.Context, t *tools, args []string) (k delivery.Key, err error) {
	if k.EventID, err = t.FindEvent(ctx, args[0]); err != nil {
		return k, err
	}
	k.SubscriptionID, err = subscriptionID(ctx, t.Tools, args[1])
	return k, err
}

func showDeliveryCommand() *cobra.Command {
	return cli.WithJSON(&cobra.Command{
		Use:     "show EVENT SUBSCRIPTION",
		Short:   "Show one delivery: its status, attempts and last response",
		Example: "  holdfast delivery show stripe:evt_123 customers-to-crm",
		RunE: withTools(func(c *cobra.Command, t *tools, args []string) error {
			k, err := keyOf(c.Context(), t, args)
			if err != nil {
				return err
			}
			shown, err := (&deliveryapi.API{Deliveries: t.Store.Outbox}).Detail(c.Context(), k, false)
			if errors.Is(err, event.ErrNotFound) {
				err = cli.NotFound("event %s has no delivery for this subscription: it did not match, or is not processed yet", k.EventID)
			}
			if err != nil {
				return err
			}
			return cli.Print(c, shown, func(w io.Writer) error { return writeDelivery(w, shown) })
		}),
	})
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

type changeDelivery func(ctx context.Context, k delivery.Key, by oversight.Actor) (delivery.Delivery, error)

func changeDeliveryCommand(verb, short, what string, of func(*tools) changeDelivery) *cobra.Command {
	command := &cobra.Command{
		Use:     verb + " EVENT SUBSCRIPTION",
		Short:   short,
		Example: "  holdfast delivery " + verb + " stripe:evt_123 customers-to-crm --reason INC-42",
		RunE: withTools(func(c *cobra.Command, t *tools, args []string) error {
			k, err := keyOf(c.Context(), t, args)
			if err != nil {
				return err
			}
			d, err := of(t)(c.Context(), k, cli.ActorOf(c))
			if errors.Is(err, event.ErrNotFound) {
				return fmt.Errorf("event %s has no such delivery for %s", k.EventID, args[1])
			}
			if err != nil {
				return err
			}
			return done(c, deliveryapi.WholeDelivery(d),
				"the delivery of %s to %s %s: it is %s", d.EventID, d.Subscription, what, d.Status)
		}),
	}
	cli.AddReasonFlag(command)
	cli.AddJSONFlag(command)
	return command
}
