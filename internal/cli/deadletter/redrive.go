package deadletter

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/internal/cli"
)

func startCommand() *cobra.Command {
	o := redriveOptions{rate: operation.KindRedrive.Rates().Default}
	command := &cobra.Command{
		Use:   "redrive",
		Short: "Replay all dead letters that match a filter, at a rate",
		Example: "  holdfast dlq redrive --provider stripe --since 2h --dry-run\n" +
			"  holdfast dlq redrive --provider stripe --class failed --reason INC-42\n" +
			"  holdfast dlq redrive --all --yes --detach",
		RunE: cli.WithTools(func(c *cobra.Command, t *cli.Tools, _ []string) error {
			return o.run(c, t)
		}),
	}
	cli.AddProviderFlags(command, &o.filter.Provider, &o.filter.Source)
	cli.AddTypeFlag(command, &o.filter.Type)
	addFailureFlags(command, &o.filter.Class, &o.filter.Code, &o.filter.Step, &o.filter.Rule, &o.filter.Subscription)
	cli.AddChoiceFlag(command, &o.filter.State, "state", "only those in this state",
		[]event.DeadLetterState{event.DeadLetterOpen, event.DeadLetterExhausted})
	cli.AddPeriodFlags(command, &o.filter.Since, &o.filter.Until)
	command.Flags().BoolVar(&o.all, "all", false, "all (waiting dead letters, instead of a filter)")
	cli.AddRateFlag(command, &o.rate, "rate", "runs to start")
	cli.AddReasonFlag(command)
	cli.AddStartFlags(command, &o.dryRun)
	cli.AddJSONFlag(command)
	return command
}

type redriveOptions struct {
	filter      operation.RedriveFilter
	rate        float64
	all, dryRun bool
}

func (o *redriveOptions) run(c *cobra.Command, t *cli.Tools) error {
	if err := o.checkScope(); err != nil {
		return cli.UsageError(c, err)
	}
	plan, err := t.Redrives().Plan(c.Context(), o.filter)
	if err != nil {
		return err
	}
	cli.WarnUnknownProvider(c, t.Cfg, o.filter.Provider, int(plan.Count))
	shown := func(w io.Writer) error { return writePlan(w, o.filter, plan, o.rate) }
	question := fmt.Sprintf("Replay %d dead letters?", plan.Count)
	if ok, err := cli.ConfirmPlan(c, plan, shown, o.dryRun || plan.Count == 0, question); !ok {
		return err
	}
	r, err := redrives().Start(c, t, operation.Redrive{Base: operation.New(o.rate), Filter: o.filter})
	if r.ID == "" {
		return err
	}
	return cli.Report(c, r, nil, err)
}

// checkScope refuses an empty filter unless --all is given: a forgotten filter must not replay everything.
func (o *redriveOptions) checkScope() error {
	switch {
	case o.all && !o.filter.IsAll():
		return errors.New("use either --all or a filter, not both")
	case !o.all && !o.dryRun && o.filter.IsAll():
		return errors.New("select dead letters with --provider, --class, --since …, or --all")
	}
	return nil
}

func writePlan(w io.Writer, f operation.RedriveFilter, plan operation.RedrivePlan, perSecond float64) error {
	if plan.Count == 0 {
		_, err := fmt.Fprintf(w, "no waiting dead letter matches: %s\n", filterText(f))
		return err
	}
	takes := time.Duration(float64(plan.Count) / perSecond * float64(time.Second)).Round(time.Second)
	return cli.WriteFields(w,
		"filter", filterText(f),
		"dead letters", cli.Number(plan.Count),
		"oldest", plan.Oldest.Format(time.RFC3339),
		"by class", counts(plan.ByClass),
		"by provider", counts(plan.ByProvider),
		"takes", takes.String()+" or more, at "+cli.RateText(perSecond),
	)
}

func counts[K ~string](m map[K]int64) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, m[name]))
	}
	return strings.Join(parts, ", ")
}
