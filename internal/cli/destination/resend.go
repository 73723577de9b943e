package destination

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event/operation"
	"holdfast/internal/cli"
	"holdfast/operator/api/deliveryapi"
)

// ResendCommand returns `holdfast resend`.
func ResendCommand() *cobra.Command {
	return cli.Group("resend", "Send the events of a period to a subscription again",
		"  holdfast resend plan customers-to-crm --since 6h\n"+
			"  holdfast resend start customers-to-crm --since 6h --rate 50/s",
		append(resends().Commands(), planResendCommand(), startResendCommand())...)
}

func resends() cli.Runs[operation.Resend] {
	return cli.Runs[operation.Resend]{
		Kind:    operation.KindResend,
		Heading: []string{"SUBSCRIPTION", "SINCE+", "UNTIL+", "READ", "QUEUED"},
		Cells: func(r operation.Resend) []string {
			return []string{
				r.Subscription, r.Since.Format(time.RFC3339), r.Until.Format(time.RFC3339), cli.Number(r.Read), cli.Number(r.Queued),
			}
		},
		Write: writeResend,
		Line: func(r operation.Resend) string {
			return fmt.Sprintf("%d events read: %d deliveries queued (%s)", r.Read, r.Queued, r.State)
		},
	}
}

func writeResend(w io.Writer, r operation.Resend) error {
	what := "what has no delivery"
	if r.Everything {
		what = "everything, also what was delivered"
	}
	if r.Imported {
		what += ", also what another system had processed"
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
		"ended", cli.OptionalTimeText(r.EndedAt),
	)
}

// resendOptions select the events to resend.
type resendOptions struct {
	since, until time.Time
	everything   bool
	imported     bool
	rate         float64
	dryRun       bool
}

func (o *resendOptions) addFlags(c *cobra.Command) {
	cli.AddPeriodFlags(c, &o.since, &o.until)
	_ = c.MarkFlagRequired("since")
	c.Flags().BoolVar(&o.everything, "everything", false, "also what was delivered, with a new ID")
	c.Flags().BoolVar(&o.imported, "imported", false, "also imported events that the previous system had processed")
	cli.AddRateFlag(c, &o.rate, "rate", "deliveries to queue")
}

func planResendCommand() *cobra.Command {
	o := resendOptions{rate: operation.KindResend.Rates().Default, dryRun: true}
	command := named(kindSubscription, "plan", "Count what a resend would send, and send nothing",
		"  holdfast resend plan customers-to-crm --since 6h",
		o.run)
	o.addFlags(command)
	return command
}

func startResendCommand() *cobra.Command {
	o := resendOptions{rate: operation.KindResend.Rates().Default}
	command := named(kindSubscription, "start", "Send what matches now and has no delivery",
		"  holdfast resend start customers-to-crm --since 6h --rate 50/s --reason INC-42\n"+
			"  holdfast resend start crm --since 2026-11-20 --until 2026-11-21 --everything",
		o.run)
	o.addFlags(command)
	cli.AddStartFlags(command, nil)
	cli.AddReasonFlag(command)
	return command
}

func (o *resendOptions) run(c *cobra.Command, a *cli.API, name string) error {
	if o.until.IsZero() {
		o.until = time.Now()
	}
	body := deliveryapi.ResendRequest{
		Reasoned: cli.Reasoned(c), Subscription: name, Since: o.since, Until: o.until, Everything: o.everything, Imported: o.imported,
		Rate: o.rate,
	}
	var plan operation.ResendPlan
	if err := a.Change(c.Context(), http.MethodPost, "/resends/plan", body, &plan); err != nil {
		return notFound(err, kindSubscription, name)
	}
	shown := func(w io.Writer) error { return o.writePlan(w, plan) }
	question := fmt.Sprintf("Send %d events to %s?", o.queues(plan), name)
	if ok, err := cli.ConfirmPlan(c, plan, shown, o.dryRun || o.queues(plan) == 0, question); !ok {
		return err
	}
	r, err := resends().Start(c, a, body)
	if r.ID == "" {
		return err
	}
	return cli.Report(c, r, nil, err)
}

// queues returns how many deliveries a plan makes.
func (o *resendOptions) queues(p operation.ResendPlan) int64 {
	n := p.Missing
	if o.everything {
		n += p.Delivered + p.Failed
	}
	if o.imported {
		n += p.Imported
	}
	return n
}

func (o *resendOptions) writePlan(w io.Writer, p operation.ResendPlan) error {
	matching := cli.Number(p.Matching)
	if p.Sampled {
		matching = "about " + matching
	}
	return cli.WriteFields(w,
		"events in that period", cli.Number(p.Events),
		"matching", matching,
		"already delivered", cli.Number(p.Delivered),
		"in progress", cli.Number(p.Open),
		"failed", cli.Number(p.Failed),
		"never queued", cli.Number(p.Missing),
		"imported, processed by the previous system", cli.Number(p.Imported),
		"to be sent", cli.Number(o.queues(p)),
		"takes", cli.PlanDuration(o.queues(p), o.rate),
	)
}
