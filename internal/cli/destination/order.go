package destination

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"holdfast/delivery"
	"holdfast/internal/cli"
	"holdfast/operator/api/deliveryapi"
)

// orderCommand returns `holdfast subscription order`.
func orderCommand() *cobra.Command {
	var key string
	command := named(kindSubscription, "order", "List ordered keys, and what blocks them",
		"  holdfast subscription order customers-to-crm\n"+
			"  holdfast subscription order customers-to-crm --key cus_42",
		func(c *cobra.Command, a *cli.API, name string) error {
			query := url.Values{}
			if key != "" {
				query.Set("key", key)
			}
			return notFound(cli.Show(c, a, pathOf(kindSubscription, name, "order"), query, func(w io.Writer, o delivery.Ordered) error {
				return writeOrder(w, name, o)
			}), kindSubscription, name)
		})
	command.Flags().StringVar(&key, "key", "", "only those of this key")
	return command
}

func writeOrder(w io.Writer, subscription string, o delivery.Ordered) error {
	table := cli.NewTable(w, "KEY!", "EVENT!", "STATUS", "CODE", "ATTEMPTS", "BEHIND IT", "HEAD SINCE~", "NEXT~")
	var blocked *delivery.OrderHead
	for i, h := range o.Heads {
		status := string(h.Status)
		if h.Paused {
			status = "paused"
		}
		if h.Waiting > 0 && (h.Attempts > 0 || h.Paused) && blocked == nil {
			blocked = &o.Heads[i]
		}
		table.Row(h.OrderKey, h.EventID, status, h.Code, strconv.Itoa(h.Attempts), strconv.Itoa(h.Waiting),
			h.Since.Format(time.RFC3339Nano), cli.OptionalTimeText(h.DueAt))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nKeys with a head: %s; deliveries behind heads: %s\n", counted(o.Keys), counted(o.Waiting))
	if o.Unsorted > 0 {
		fmt.Fprintf(w, "Deliveries delayed by an earlier transaction: %s, since %s. Find it with holdfast doctor\n",
			counted(o.Unsorted), cli.OptionalTimeText(o.UnsortedSince))
	}
	if blocked == nil {
		return nil
	}
	first := "See why it fails: holdfast delivery show"
	if blocked.Paused {
		first = "Resume the key: holdfast delivery resume"
	}
	for _, step := range []string{first, "Let the others go first: holdfast delivery skip", "Give it up: holdfast delivery cancel"} {
		fmt.Fprintf(w, "%s %s %s\n", step, blocked.EventID, subscription)
	}
	return nil
}

// counted formats a count that stops at delivery.MaxOrderCounted.
func counted(n int) string {
	if n >= delivery.MaxOrderCounted {
		return "at least " + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}

// headCommand returns a command that changes the head of a key.
func headCommand(verb, short, long, past string) *cobra.Command {
	command := cli.WithAPI(&cobra.Command{
		Use: verb + " EVENT SUBSCRIPTION", Short: short, Long: long,
		Example: "  holdfast delivery " + verb + " stripe:evt_123 customers-to-crm --reason INC-42",
	}, func(c *cobra.Command, a *cli.API, args []string) error {
		path, err := deliveryPath(c, a, args, verb)
		if err != nil {
			return err
		}
		var changed deliveryapi.DeliveryView
		if err := a.Change(c.Context(), http.MethodPost, path, cli.Reasoned(c), &changed); err != nil {
			return noDelivery(err, args)
		}
		return done(c, changed, "the delivery of %s to %s %s", args[0], args[1], past)
	})
	cli.AddReasonFlag(command)
	cli.AddJSONFlag(command)
	return command
}

func headCommands() []*cobra.Command {
	return []*cobra.Command{
		headCommand("skip", "Move the head of an ordered key to the end of the key",
			"Let the deliveries behind this one go first. It is attempted again after those that\nare queued now.",
			"goes to the end of its key"),
		headCommand("pause", "Pause an ordered key at its head",
			"Attempt neither this delivery nor those behind it until you resume it.", "is paused, and so is its key"),
		headCommand("resume", "Attempt the head of an ordered key now, even if it is paused",
			"Attempt this delivery now; the others of its key follow.", "is due now"),
	}
}
