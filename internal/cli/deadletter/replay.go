package deadletter

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/internal/cli"
	"holdfast/operator/api"
)

func replayCommand() *cobra.Command {
	o := replayOptions{ReplayRequest: api.ReplayRequest{Rate: operation.KindReplay.Rates().Default}}
	command := cli.WithAPI(&cobra.Command{
		Use:   "replay [ID]",
		Short: "Replay a dead letter, or all that match a filter",
		Long: "Replay a dead letter: the same workflow, event and bytes. A failed delivery is sent\n" +
			"again. With a filter instead of an ID, replay all that match, at a rate.",
		Example: "  holdfast dlq replay 7\n" +
			"  holdfast dlq replay stripe:evt_123 --wait --reason INC-42\n" +
			"  holdfast dlq replay --provider stripe --since 2h --dry-run\n" +
			"  holdfast dlq replay --all --yes --detach",
		Args: cobra.MaximumNArgs(1),
	}, func(c *cobra.Command, a *cli.API, args []string) error {
		o.Reasoned = cli.Reasoned(c)
		if err := o.checkScope(len(args) == 1); err != nil {
			return cli.UsageError(c, err)
		}
		if len(args) == 1 {
			return o.runOne(c, a, args[0])
		}
		return o.run(c, a)
	})
	addWaitFlag(command, &o.wait)
	cli.AddFetchFlag(command, &o.fetch)
	cli.AddProviderFlags(command, &o.Provider, &o.Source)
	cli.AddTypeFlag(command, &o.Type)
	addFailureFlags(command, &o.Class, &o.Code, &o.Step, &o.Rule, &o.Subscription)
	cli.AddChoiceFlag(command, &o.State, "state", "only those in this state",
		[]event.DeadLetterState{event.DeadLetterOpen, event.DeadLetterExhausted})
	cli.AddPeriodFlags(command, &o.Since, &o.Until)
	command.Flags().BoolVar(&o.All, "all", false, "all (waiting dead letters, instead of a filter)")
	cli.AddRateFlag(command, &o.Rate, "rate", "runs to start")
	cli.AddReasonFlag(command)
	cli.AddStartFlags(command, &o.dryRun)
	cli.AddJSONFlag(command)
	return command
}

type replayOptions struct {
	api.ReplayRequest

	wait, fetch, dryRun bool
}

// maxUnasked is how many dead letters are replayed without asking.
const maxUnasked = 3

func (o *replayOptions) run(c *cobra.Command, a *cli.API) error {
	var plan operation.ReplayPlan
	if err := a.Change(c.Context(), http.MethodPost, "/replays/plan", o.ReplayRequest, &plan); err != nil {
		return err
	}
	cli.WarnUnknownProvider(c, a.Cfg, o.Provider, int(plan.Count))
	shown := func(w io.Writer) error { return writePlan(w, o.ReplayFilter, plan, o.Rate) }
	question := fmt.Sprintf("Replay %d dead letters?", plan.Count)
	if o.dryRun || plan.Count == 0 || plan.Count > maxUnasked {
		if ok, err := cli.ConfirmPlan(c, plan, shown, o.dryRun || plan.Count == 0, question); !ok {
			return err
		}
	}
	r, err := replays().Start(c, a, o.ReplayRequest)
	if r.ID == "" {
		return err
	}
	return cli.Report(c, r, nil, err)
}

// checkScope refuses an ID with a filter, and an empty filter without --all: a forgotten filter must not replay everything.
func (o *replayOptions) checkScope(hasID bool) error {
	switch {
	case hasID && (o.All || o.dryRun || !o.IsAll()):
		return errors.New("use either an ID or a filter, not both")
	case hasID:
		return nil
	case o.wait || o.fetch:
		return errors.New("--wait and --fetch are for one dead letter: give its ID")
	case o.All && !o.IsAll():
		return errors.New("use either --all or a filter, not both")
	case !o.All && !o.dryRun && o.IsAll():
		return errors.New("give the ID of a dead letter, or select some with --provider, --class, --since …, or --all")
	}
	return nil
}

func writePlan(w io.Writer, f operation.ReplayFilter, plan operation.ReplayPlan, perSecond float64) error {
	if plan.Count == 0 {
		_, err := fmt.Fprintf(w, "no waiting dead letter matches: %s\n", filterText(f))
		return err
	}
	return cli.WriteFields(w,
		"filter", filterText(f),
		"dead letters", cli.Number(plan.Count),
		"oldest", plan.Oldest.Format(time.RFC3339),
		"by class", counts(plan.ByClass),
		"by provider", counts(plan.ByProvider),
		"other keys", keysText(plan, plan.CorrectedKeys, "by the current definition"),
		"shared keys", keysText(plan, plan.SharedKeys, "of these: another event has the key, and the replay compares the two"),
		"split", keysText(plan, plan.Splits, "which have several events by the current definition"),
		"takes", cli.PlanDuration(plan.Count, perSecond),
	)
}

// keysText returns "" if there are none.
func keysText(plan operation.ReplayPlan, n int64, what string) string {
	switch {
	case n == 0:
		return ""
	case plan.AtLeast:
		return "at least " + cli.Number(n) + " " + what
	}
	return cli.Number(n) + " " + what
}

func counts[K ~string](m map[K]int64) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, m[name]))
	}
	return strings.Join(parts, ", ")
}
