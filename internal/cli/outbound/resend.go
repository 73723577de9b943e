package outbound

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"holdfast/delivery"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/internal/cli"
)

// ResendCommand is `holdfast resend`.
func ResendCommand() *cobra.Command {
	commands := []*cobra.Command{planResendCommand(), startResendCommand(), listResendsCommand()}
	return cli.Group("resend", "Send the events of a time to a subscription, once more",
		"  holdfast resend plan customers-to-crm --since 6h\n"+
			"  holdfast resend start customers-to-crm --since 6h --rate 50/s",
		append(commands, resending().Commands()...)...)
}

func resending() cli.Operation[delivery.Resend] {
	return cli.Operation[delivery.Resend]{
		Noun: "resend",
		Read: func(ctx context.Context, t *cli.Tools, id string) (delivery.Resend, error) {
			return t.Store.Resend(ctx, id)
		},
		Change: func(
			ctx context.Context, t *cli.Tools, id string, to operation.State, by oversight.Actor,
		) (delivery.Resend, error) {
			all, err := deskOf(t)
			if err != nil {
				return delivery.Resend{}, err
			}
			defer all.Close()
			return all.Resends.ChangeResend(ctx, id, to, by)
		},
		Write: writeResend,
		Line: func(r delivery.Resend) string {
			return fmt.Sprintf("%s  %d events read: %d deliveries queued (%s)", cli.Bar(share(r)), r.Read, r.Queued, r.State)
		},
		End: func(r delivery.Resend) (bool, error) { return r.State.Ended(), nil },
	}
}

// share is how much of the time has been read.
func share(r delivery.Resend) float64 {
	whole := r.Until.Sub(r.Since)
	switch {
	case r.State == operation.Completed || whole <= 0:
		return 1
	case r.Reached.IsZero():
		return 0
	}
	return max(0, float64(r.Reached.Sub(r.Since))/float64(whole))
}

func writeResend(w io.Writer, r delivery.Resend) error {
	what := "what has no delivery"
	if r.Everything {
		what = "everything, also what was delivered"
	}
	return cli.WriteFields(w,
		"resend", r.ID,
		"state", string(r.State),
		"subscription", r.Subscription,
		"events", r.Since.Format(time.RFC3339)+" to "+r.Until.Format(time.RFC3339),
		"sends", what,
		"rate", cli.RateText(r.Rate),
		"events read", cli.Number(r.Read),
		"deliveries queued", cli.Number(r.Queued),
		"started", r.StartedAt.Format(time.RFC3339)+" by "+r.StartedBy,
		"ended", cli.MomentTextOf(r.EndedAt),
	)
}

func listResendsCommand() *cobra.Command {
	return cli.Listing[delivery.Resend, string]{
		Short: "List resends, newest first", Example: "  holdfast resend list", Limit: 20,
		Read: func(c *cobra.Command, t *cli.Tools, limit int, _ *string) ([]delivery.Resend, error) {
			return t.Store.Resends(c.Context(), limit)
		},
		Heading: []string{"ID!", "STATE", "SUBSCRIPTION", "SINCE+", "UNTIL+", "READ", "QUEUED", "RATE+", "BY+", "STARTED/AGE~"},
		Cells: func(r delivery.Resend) []string {
			return []string{
				r.ID, string(r.State), r.Subscription, r.Since.Format(time.RFC3339), r.Until.Format(time.RFC3339), cli.Number(r.Read),
				cli.Number(r.Queued), cli.RateText(r.Rate), r.StartedBy, r.StartedAt.Format(time.RFC3339),
			}
		},
	}.Command()
}

// resendOptions say which events go again.
type resendOptions struct {
	since, until time.Time
	everything   bool
	rate         float64
	dryRun       bool
}

func (o *resendOptions) addFlags(c *cobra.Command) {
	cli.AddPeriodFlags(c, &o.since, &o.until)
	_ = c.MarkFlagRequired("since")
	c.Flags().BoolVar(&o.everything, "everything", false, "also what was delivered, with a new ID")
	cli.AddRateFlag(c, &o.rate, "rate", "deliveries to queue")
}

func planResendCommand() *cobra.Command {
	o := resendOptions{rate: delivery.DefaultResendRate, dryRun: true}
	command := named(kindSubscription, "plan", "Count what a resend would do, and do nothing",
		"  holdfast resend plan customers-to-crm --since 6h",
		o.run)
	o.addFlags(command)
	return command
}

func startResendCommand() *cobra.Command {
	o := resendOptions{rate: delivery.DefaultResendRate}
	command := named(kindSubscription, "start", "Send what matches now and has no delivery",
		"  holdfast resend start customers-to-crm --since 6h --rate 50/s --reason INC-42\n"+
			"  holdfast resend start crm --since 2026-11-20 --until 2026-11-21 --everything",
		o.run)
	o.addFlags(command)
	cli.AddStartFlags(command, nil)
	cli.AddReasonFlag(command)
	return command
}

func (o *resendOptions) run(c *cobra.Command, t *tools, name string) error {
	s, err := t.Store.Subscription(c.Context(), name)
	if err != nil {
		return notFound(err, kindSubscription, name)
	}
	if o.until.IsZero() {
		o.until = time.Now()
	}
	plan, err := t.Resends.PlanResend(c.Context(), s.Name, o.since, o.until)
	if err != nil {
		return err
	}
	shown := func(w io.Writer) error { return o.writePlan(w, plan) }
	question := fmt.Sprintf("Send %d events to %s?", o.queues(plan), s.Name)
	if ok, err := cli.Agree(c, plan, shown, o.dryRun || o.queues(plan) == 0, question); !ok {
		return err
	}
	return o.start(c, t, s)
}

// queues is how many deliveries a plan makes.
func (o *resendOptions) queues(p delivery.ResendPlan) int64 {
	if o.everything {
		return p.Missing + p.Delivered + p.Failed
	}
	return p.Missing
}

func (o *resendOptions) writePlan(w io.Writer, p delivery.ResendPlan) error {
	matching := cli.Number(p.Matching)
	if p.Sampled {
		matching = "about " + matching
	}
	takes := time.Duration(float64(o.queues(p)) / o.rate * float64(time.Second)).Round(time.Second)
	return cli.WriteFields(w,
		"events of that time", cli.Number(p.Events),
		"of them matching", matching,
		"delivered already", cli.Number(p.Delivered),
		"on their way", cli.Number(p.Open),
		"failed", cli.Number(p.Failed),
		"never queued", cli.Number(p.Missing),
		"to be sent", cli.Number(o.queues(p)),
		"takes", takes.String()+" or more, at "+cli.RateText(o.rate),
	)
}

func (o *resendOptions) start(c *cobra.Command, t *tools, s delivery.Subscription) error {
	r, err := t.Resends.StartResend(c.Context(), delivery.Resend{
		SubscriptionID: s.ID, Subscription: s.Name, Everything: o.everything, Rate: o.rate, Since: o.since, Until: o.until,
	}, cli.ActorOf(c))
	if r.ID == "" {
		return err
	}
	r, err = resending().Follow(c, t.Tools, r.ID, r, err)
	return cli.Report(c, r, nil, err)
}
