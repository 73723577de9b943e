package destination

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"holdfast/delivery"
	"holdfast/internal/cli"
	"holdfast/operator/api/deliveryapi"
)

// cancelCommand cancels one delivery, which two arguments identify, or those that flags select.
func cancelCommand() *cobra.Command {
	command := changeDeliveryCommand("cancel", "Cancel pending and retrying deliveries", "is canceled",
		func(t *tools) changeDelivery { return t.Store.Outbox.CancelDelivery })
	one, many := command.RunE, canceling{}
	command.Use = "cancel [EVENT SUBSCRIPTION]"
	command.Long = fmt.Sprintf(`Cancel pending and retrying deliveries: a single one, or those that flags select.
With flags it counts them first and asks. Later deliveries and those in flight are not
canceled. One command cancels up to %d: repeat it for more.`, delivery.MaxCanceled)
	command.Example += "\n  holdfast delivery cancel --destination crm --since 2h --dry-run\n" +
		"  holdfast delivery cancel --destination crm --reason INC-42 --yes"
	command.Args = func(c *cobra.Command, args []string) error {
		switch {
		case many.isSet() && len(args) > 0:
			return errors.New("name one delivery by arguments, or several by flags, not both")
		case many.isSet():
			return nil
		case len(args) == 0:
			return errors.New("name EVENT and SUBSCRIPTION, or select deliveries with --destination, --subscription or --event")
		}
		return cobra.ExactArgs(2)(c, args)
	}
	command.RunE = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return one(c, args)
		}
		return withTools(func(c *cobra.Command, t *tools, _ []string) error { return many.run(c, t) })(c, args)
	}
	many.addFlags(command)
	return command
}

// canceling selects waiting deliveries.
type canceling struct {
	query                            delivery.Query
	about, subscription, destination string
	dryRun                           bool
}

func (o *canceling) addFlags(command *cobra.Command) {
	cli.AddEventFlag(command, &o.about, "only its own")
	command.Flags().StringVar(&o.subscription, "subscription", "", "only those for this subscription")
	command.Flags().StringVar(&o.destination, "destination", "", "only those to this destination")
	cli.AddChoiceFlag(command, &o.query.Status, "status", "only those of this status", deliveryapi.WaitingStatuses())
	cli.AddPeriodFlags(command, &o.query.Since, &o.query.Until)
	command.Flags().BoolVar(&o.dryRun, "dry-run", false, "change nothing")
	cli.AddYesFlag(command, "do not ask")
}

func (o *canceling) isSet() bool { return o.about != "" || o.subscription != "" || o.destination != "" }

func (o *canceling) run(c *cobra.Command, t *tools) (err error) {
	if err := o.resolve(c, t); err != nil {
		return err
	}
	n, err := t.Store.Outbox.CountCancelable(c.Context(), o.query)
	if err != nil {
		return err
	}
	found := deliveryapi.NewCanceled(n, o.query.Until)
	agreed, err := cli.ConfirmPlan(c, found, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "waiting: %s\n", countText(found))
		return err
	}, o.dryRun || n == 0, fmt.Sprintf("Cancel %d deliveries?", found.Waiting))
	if err != nil || !agreed {
		return err
	}
	found.Canceled, err = t.Store.Outbox.CancelWaiting(c.Context(), o.query, found.Waiting, cli.ActorOf(c))
	if err != nil && found.Canceled == 0 {
		return err
	}
	return errors.Join(done(c, found, "canceled %d of %d deliveries", found.Canceled, found.Waiting), err)
}

func countText(found deliveryapi.Canceled) string {
	if found.AtLeast {
		return fmt.Sprintf("more than %d deliveries; the oldest %d can be canceled at once", found.Waiting, found.Waiting)
	}
	return fmt.Sprintf("%d deliveries", found.Waiting)
}

// resolve resolves the names in the flags.
func (o *canceling) resolve(c *cobra.Command, t *tools) (err error) {
	if o.query.EventID, err = t.FindFiltered(c.Context(), o.about); err != nil {
		return err
	}
	if o.query.SubscriptionID, err = subscriptionID(c.Context(), t.Tools, o.subscription); err != nil {
		return err
	}
	o.query.DestinationID, err = destinationID(c.Context(), t.Tools, o.destination)
	if o.query.Until.IsZero() {
		o.query.Until = time.Now()
	}
	return err
}
