package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
)

func redriveCommand() *cobra.Command {
	command := &cobra.Command{
		Use:     "redrive",
		Short:   "List, show, watch, pause, resume and cancel bulk redrives (start one: dlq redrive)",
		GroupID: groupOperate,
	}
	command.AddCommand(
		redriveListCommand(), redriveShowCommand(), redriveWatchCommand(),
		redriveChangeCommand("pause", "Start nothing more of a redrive until it is resumed", event.RedrivePaused),
		redriveChangeCommand("resume", "Let a redrive go on", event.RedriveRunning),
		redriveChangeCommand("cancel", "End a redrive; what it has started goes on", event.RedriveCanceled),
	)
	return command
}

func redriveListCommand() *cobra.Command {
	var limit int
	command := &cobra.Command{
		Use:   "list",
		Short: "List redrives, newest first",
		Args:  cobra.NoArgs,
		RunE: withTools(func(c *cobra.Command, t *tools, _ []string) error {
			all, err := t.redrives().Redrives(c.Context(), limit)
			if err != nil {
				return err
			}
			return t.print(c, all, func(w io.Writer) error { return writeRedrives(w, all) })
		}),
	}
	addLimitFlag(command, &limit, 20)
	addJSONFlag(command)
	return command
}

func writeRedrives(w io.Writer, all []event.Redrive) error {
	table := newTable(w, "ID", "STATE", "TOTAL", "DONE", "FAILED", "IN FLIGHT", "SKIPPED", "RATE", "BY", "STARTED")
	for _, r := range all {
		table.row(r.ID, string(r.State), number(r.Total), number(r.Done), number(r.Failed), number(r.InFlight),
			number(r.Skipped), rate(r.Rate), r.StartedBy, r.StartedAt.Format(time.RFC3339))
	}
	return table.flush()
}

func redriveShowCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "show ID",
		Short: "Show one redrive: its filter, and how far it has come",
		Args:  cobra.ExactArgs(1),
		RunE: withTools(func(c *cobra.Command, t *tools, args []string) error {
			r, err := t.redrives().Redrive(c.Context(), args[0])
			if err != nil {
				return err
			}
			return t.print(c, r, func(w io.Writer) error { return writeRedrive(w, r) })
		}),
	}
	addJSONFlag(command)
	return command
}

func writeRedrive(w io.Writer, r event.Redrive) error {
	var ended string
	if r.EndedAt != nil {
		ended = r.EndedAt.Format(time.RFC3339)
	}
	return writeFields(w,
		"redrive", r.ID,
		"state", string(r.State),
		"filter", filterText(r.Filter),
		"rate", rate(r.Rate),
		"total", number(r.Total),
		"processed", number(r.Done),
		"failed again", number(r.Failed),
		"in flight", number(r.InFlight),
		"skipped", number(r.Skipped),
		"started", r.StartedAt.Format(time.RFC3339)+" by "+r.StartedBy,
		"ended", ended,
	)
}

func redriveWatchCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "watch ID",
		Short: "Show the progress of a redrive until it has ended",
		Args:  cobra.ExactArgs(1),
		RunE: withTools(func(c *cobra.Command, t *tools, args []string) error {
			r, err := watchRedrive(c, t, args[0])
			if asksJSON(c) && r.ID != "" {
				return errors.Join(t.print(c, r, nil), err)
			}
			return err
		}),
	}
	addJSONFlag(command)
	return command
}

func redriveChangeCommand(verb, short string, to event.RedriveState) *cobra.Command {
	var reason string
	command := &cobra.Command{
		Use:   verb + " ID",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: withTools(func(c *cobra.Command, t *tools, args []string) error {
			r, err := t.redrives().ChangeRedrive(c.Context(), args[0], to, commandLineActor(reason))
			if err != nil {
				return err
			}
			return t.print(c, r, func(w io.Writer) error { return writeRedrive(w, r) })
		}),
	}
	command.Flags().StringVar(&reason, "reason", "", "why, for the audit log")
	addJSONFlag(command)
	return command
}

func deadLetterRedriveCommand() *cobra.Command {
	o := redriveOptions{rate: event.DefaultRedriveRate}
	command := &cobra.Command{
		Use:   "redrive",
		Short: "Run all dead letters again that a filter finds, at a rate",
		Args:  cobra.NoArgs,
		RunE: withTools(func(c *cobra.Command, t *tools, _ []string) error {
			return o.run(c, t)
		}),
	}
	flags := command.Flags()
	flags.StringVar(&o.filter.Provider, "provider", "", "only those of this provider")
	addSourceFlag(command, &o.filter.Source)
	flags.StringVar(&o.filter.Type, "type", "", "only those of this event type")
	addChoiceFlag(command, &o.filter.Class, "error-class", "only those of this class", event.Classes())
	flags.StringVar(&o.filter.Code, "code", "", "only those with this error code")
	addChoiceFlag(command, &o.filter.Step, "step", "only those that failed at this step", event.Steps())
	addPeriodFlags(command, &o.filter.Since, &o.filter.Until)
	flags.BoolVar(&o.all, "all", false, "all that wait: without a filter, nothing else starts them")
	flags.Var(perSecond{&o.rate}, "rate", "how many runs to start, at most: 50/s, 600/m")
	flags.StringVar(&o.reason, "reason", "", "why, for the audit log")
	flags.BoolVar(&o.dryRun, "dry-run", false, "show the plan and start nothing")
	flags.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	flags.BoolVar(&o.detach, "detach", false, "do not watch the progress")
	addJSONFlag(command)
	return command
}

type redriveOptions struct {
	filter                   event.RedriveFilter
	rate                     float64
	reason                   string
	all, dryRun, yes, detach bool
}

func (o *redriveOptions) run(c *cobra.Command, t *tools) error {
	if err := checkSource(o.filter.Provider, o.filter.Source); err != nil {
		return misuse(c, err)
	}
	if err := o.checkScope(); err != nil {
		return err
	}
	plan, err := t.redrives().PlanRedrive(c.Context(), o.filter)
	if err != nil {
		return err
	}
	doubtProvider(c, t.cfg, o.filter.Provider, int(plan.Count))
	only := o.dryRun || plan.Count == 0
	if !asksJSON(c) || only {
		if err := t.print(c, plan, func(w io.Writer) error { return writePlan(w, o.filter, plan, o.rate) }); err != nil {
			return err
		}
	}
	if only {
		return nil
	}
	if !o.yes && !confirm(c, fmt.Sprintf("Run %d dead letters again?", plan.Count)) {
		return errors.New("nothing was started (--yes starts it without asking)")
	}
	r, err := t.redrives().StartRedrive(c.Context(), o.filter, o.rate, commandLineActor(o.reason))
	if r.ID == "" {
		return err
	}
	fmt.Fprintf(aside(c), "redrive %s\n", r.ID)
	if err == nil && !o.detach {
		var seen event.Redrive
		if seen, err = watchRedrive(c, t, r.ID); seen.ID != "" {
			r = seen
		}
	}
	if asksJSON(c) {
		return errors.Join(t.print(c, r, nil), err)
	}
	return err
}

// checkScope wants everything to be asked for by name: a filter that was forgotten must not run it.
func (o *redriveOptions) checkScope() error {
	switch {
	case o.all && !o.filter.IsAll():
		return errors.New("--all and a filter contradict each other")
	case !o.all && !o.dryRun && o.filter.IsAll():
		return errors.New("say which dead letters: --provider, --error-class, --since …, or --all")
	}
	return nil
}

// perSecond is a rate, in runs a second.
type perSecond struct{ to *float64 }

func (f perSecond) String() string { return rate(*f.to) }
func (f perSecond) Type() string   { return "string" }
func (f perSecond) Set(text string) (err error) {
	*f.to, err = event.ParseRate(text)
	return err
}

func writePlan(w io.Writer, f event.RedriveFilter, plan event.RedrivePlan, perSecond float64) error {
	if plan.Count == 0 {
		_, err := fmt.Fprintf(w, "no dead letter that waits matches: %s\n", filterText(f))
		return err
	}
	takes := time.Duration(float64(plan.Count) / perSecond * float64(time.Second)).Round(time.Second)
	return writeFields(w,
		"filter", filterText(f),
		"dead letters", number(plan.Count),
		"oldest", plan.Oldest.Format(time.RFC3339),
		"by class", counts(plan.ByClass),
		"by provider", counts(plan.ByProvider),
		"takes", takes.String()+" or more, at "+rate(perSecond),
	)
}

func counts[K ~string](m map[K]int64) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, m[name]))
	}
	return strings.Join(parts, ", ")
}

func filterText(f event.RedriveFilter) string {
	var parts []string
	for _, part := range [][2]string{
		{"provider", f.Provider}, {"source", f.Source}, {"type", f.Type}, {"class", string(f.Class)}, {"code", f.Code},
		{"step", string(f.Step)}, {"since", momentText(f.Since)}, {"until", momentText(f.Until)},
	} {
		if part[1] != "" {
			parts = append(parts, part[0]+" "+part[1])
		}
	}
	if len(parts) == 0 {
		return "all that wait"
	}
	return strings.Join(parts, ", ")
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func rate(perSecond float64) string { return strconv.FormatFloat(perSecond, 'g', 4, 64) + "/s" }

// confirm asks, where there is somebody who could answer.
func confirm(c *cobra.Command, question string) bool {
	if !isTerminal(c.InOrStdin()) {
		return false
	}
	fmt.Fprintf(aside(c), "%s [y/N] ", question)
	var answer string
	_, _ = fmt.Fscanln(c.InOrStdin(), &answer) // no answer is no
	return strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes")
}
