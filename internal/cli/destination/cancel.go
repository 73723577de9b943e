package destination

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"holdfast/delivery"
	"holdfast/internal/cli"
	"holdfast/operator/api/deliveryapi"
)

// cancelCommand cancels one delivery, which two arguments identify, or those that flags select.
func cancelCommand() *cobra.Command {
	many := canceling{}
	command := cli.WithAPI(&cobra.Command{
		Short:   "Cancel pending and retrying deliveries",
		Example: "  holdfast delivery cancel stripe:evt_123 customers-to-crm --reason INC-42",
	}, func(c *cobra.Command, a *cli.API, args []string) error {
		if len(args) > 0 {
			return cancelOne(c, a, args)
		}
		return many.run(c, a)
	})
	cli.AddReasonFlag(command)
	cli.AddJSONFlag(command)
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
	many.addFlags(command)
	return command
}

func cancelOne(c *cobra.Command, a *cli.API, args []string) error {
	path, err := deliveryPath(c, a, args, "cancel")
	if err != nil {
		return err
	}
	var d deliveryapi.DeliveryView
	if err := a.Change(c.Context(), http.MethodPost, path, cli.Reasoned(c), &d); err != nil {
		return noDelivery(err, args)
	}
	return done(c, d, "the delivery of %s to %s is canceled: it is %s", d.EventID, d.Subscription, d.Status)
}

// canceling selects waiting deliveries.
type canceling struct {
	body   deliveryapi.CancelRequest
	about  string
	dryRun bool
}

func (o *canceling) addFlags(command *cobra.Command) {
	cli.AddEventFlag(command, &o.about, "only its own")
	command.Flags().StringVar(&o.body.Subscription, "subscription", "", "only those for this subscription")
	command.Flags().StringVar(&o.body.Destination, "destination", "", "only those to this destination")
	cli.AddChoiceFlag(command, &o.body.Status, "status", "only those of this status", deliveryapi.WaitingStatuses())
	cli.AddPeriodFlags(command, &o.body.Since, &o.body.Until)
	command.Flags().BoolVar(&o.dryRun, "dry-run", false, "change nothing")
	cli.AddYesFlag(command, "do not ask")
}

func (o *canceling) isSet() bool {
	return o.about != "" || o.body.Subscription != "" || o.body.Destination != ""
}

func (o *canceling) run(c *cobra.Command, a *cli.API) (err error) {
	if o.body.EventID, err = namedEvent(c, a, o.about); err != nil {
		return err
	}
	o.body.Reasoned = cli.Reasoned(c)
	found, err := o.cancel(c, a, true)
	if err != nil {
		return err
	}
	agreed, err := cli.ConfirmPlan(c, found, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "waiting: %s\n", countText(found))
		return err
	}, o.dryRun || found.Waiting == 0, fmt.Sprintf("Cancel %d deliveries?", found.Waiting))
	if err != nil || !agreed {
		return err
	}
	o.body.Until, o.body.Count = found.Until, &found.Waiting
	if found, err = o.cancel(c, a, false); err != nil {
		return err
	}
	return done(c, found, "canceled %d of %d deliveries", found.Canceled, *o.body.Count)
}

func (o *canceling) cancel(c *cobra.Command, a *cli.API, isDryRun bool) (found deliveryapi.Canceled, err error) {
	o.body.DryRun = isDryRun
	err = a.Change(c.Context(), http.MethodPost, "/deliveries/cancel", o.body, &found)
	return found, err
}

func countText(found deliveryapi.Canceled) string {
	if found.AtLeast {
		return fmt.Sprintf("more than %d deliveries; the oldest %d can be canceled at once", found.Waiting, found.Waiting)
	}
	return fmt.Sprintf("%d deliveries", found.Waiting)
}
