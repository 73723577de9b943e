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

func replayCommand() *cobra.Command {
	o := replayOptions{rate: operation.KindReplay.Rates().Default}
	command := &cobra.Command{
		Use:   "replay [ID]",
		Short: "Replay a dead letter, or all that match a filter",
		Long: "Replay a dead letter: the same workflow, event and bytes. A failed delivery is sent\n" +
			"again. With a filter instead of an ID, replay all that match, at a rate.",
		Example: "  holdfast dlq replay 7\n" +
			"  holdfast dlq replay stripe:evt_123 --wait --reason INC-42\n" +
			"  holdfast dlq replay --provider stripe --since 2h --dry-run\n" +
			"  holdfast dlq replay --all --yes --detach",
		Args: cobra.MaximumNArgs(1),
		RunE: cli.WithTools(func(c *cobra.Command, t *cli.Tools, args []string) error {
			if err := o.checkScope(len(args) == 1); err != nil {
				return cli.UsageError(c, err)
			}
			if len(args) == 1 {
				return o.one.run(c, t, args[0])
			}
			return o.run(c, t)
		}),
	}
	addWaitFlag(command, &o.one.wait)
	cli.AddRefetchFlag(command, &o.one.refetch)
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

type replayOptions struct {
	one         oneReplay
	filter      operation.ReplayFilter
	rate        float64
	all, dryRun bool
}

func (o *replayOptions) run(c *cobra.Command, t *cli.Tools) error {
	plan, err := t.Replays().Plan(c.Context(), o.filter)
	if err != nil {
		return err
	}
	cli.WarnUnknownProvider(c, t.Cfg, o.filter.Provider, int(plan.Count))
	shown := func(w io.Writer) error { return writePlan(w, o.filter, plan, o.rate) }
	question := fmt.Sprintf("Replay %d dead letters?", plan.Count)
	if ok, err := cli.ConfirmPlan(c, plan, shown, o.dryRun || plan.Count == 0, question); !ok {
		return err
	}
	r, err := replays().Start(c, t, operation.Replay{Base: operation.New(o.rate), Filter: o.filter})
	if r.ID == "" {
		return err
	}
	return cli.Report(c, r, nil, err)
}

// checkScope refuses an ID with a filter, and an empty filter without --all: a forgotten filter must not replay everything.
func (o *replayOptions) checkScope(hasID bool) error {
	switch {
	case hasID && (o.all || o.dryRun || !o.filter.IsAll()):
		return errors.New("use either an ID or a filter, not both")
	case hasID:
		return nil
	case o.one.wait || o.one.refetch:
		return errors.New("--wait and --refetch are for one dead letter: give its ID")
	case o.all && !o.filter.IsAll():
		return errors.New("use either --all or a filter, not both")
	case !o.all && !o.dryRun && o.filter.IsAll():
		return errors.New("give the ID of a dead letter, or select some with --provider, --class, --since …, or --all")
	}
	return nil
}

func writePlan(w io.Writer, f operation.ReplayFilter, plan operation.ReplayPlan, perSecond float64) error {
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
