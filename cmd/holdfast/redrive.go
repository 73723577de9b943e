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
	command.Flags().IntVar(&limit, "limit", 20, "how many at most, 1 to 500")
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
	return &cobra.Command{
		Use:   "watch ID",
		Short: "Show the progress of a redrive until it has ended",
		Args:  cobra.ExactArgs(1),
		RunE: withTools(func(c *cobra.Command, t *tools, args []string) error {
			return watchRedrive(c, t, args[0])
		}),
	}
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
			return writeRedrive(c.OutOrStdout(), r)
		}),
	}
	command.Flags().StringVar(&reason, "reason", "", "why, for the audit log")
	return command
}

func deadLetterRedriveCommand() *cobra.Command {
	var o redriveOptions
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
	flags.StringVar(&o.filter.Type, "type", "", "only those of this event type")
	flags.StringVar(&o.class, "error-class", "", "only those that are transient, failed or rejected")
	flags.StringVar(&o.filter.Code, "code", "", "only those with this error code")
	flags.StringVar(&o.step, "step", "", "only those that failed at parse, persist, upsert or run")
	flags.StringVar(&o.since, "since", "", "only those that last failed since then: 2h, 7d or 2026-01-02T15:04:05Z")
	flags.StringVar(&o.until, "until", "", "only those that last failed before then")
	flags.StringVar(&o.rate, "rate", strconv.Itoa(event.DefaultRedriveRate)+"/s", "how many runs to start, at most: 50/s, 600/m")
	flags.StringVar(&o.reason, "reason", "", "why, for the audit log")
	flags.BoolVar(&o.dryRun, "dry-run", false, "show the plan and start nothing")
	flags.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	flags.BoolVar(&o.detach, "detach", false, "do not watch the progress")
	addJSONFlag(command)
	return command
}

type redriveOptions struct {
	filter                                  event.RedriveFilter
	class, step, since, until, rate, reason string
	dryRun, yes, detach                     bool
}

func (o *redriveOptions) run(c *cobra.Command, t *tools) error {
	perSecond, err := o.parse(time.Now())
	if err != nil {
		return err
	}
	plan, err := t.redrives().PlanRedrive(c.Context(), o.filter)
	if err != nil {
		return err
	}
	if err := t.print(c, plan, func(w io.Writer) error { return writePlan(w, o.filter, plan, perSecond) }); err != nil {
		return err
	}
	if o.dryRun || plan.Count == 0 {
		return nil
	}
	if !o.yes && !confirm(c, fmt.Sprintf("Run %d dead letters again?", plan.Count)) {
		return errors.New("nothing was started (--yes starts it without asking)")
	}
	r, err := t.redrives().StartRedrive(c.Context(), o.filter, perSecond, commandLineActor(o.reason))
	if r.ID != "" {
		fmt.Fprintf(c.OutOrStdout(), "redrive %s\n", r.ID)
	}
	if err != nil || o.detach {
		return err
	}
	return watchRedrive(c, t, r.ID)
}

func (o *redriveOptions) parse(now time.Time) (perSecond float64, err error) {
	var errs [3]error
	o.filter.Class, o.filter.Step = event.Class(o.class), event.Step(o.step)
	o.filter.Since, errs[0] = parseMoment(o.since, now)
	o.filter.Until, errs[1] = parseMoment(o.until, now)
	perSecond, errs[2] = event.ParseRate(o.rate)
	if !slices.Contains([]event.Class{"", event.ClassTransient, event.ClassFailed, event.ClassRejected}, o.filter.Class) {
		err = fmt.Errorf("%q is no class of errors: want transient, failed or rejected", o.class)
	}
	return perSecond, errors.Join(append(errs[:], err)...)
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
		{"provider", f.Provider}, {"type", f.Type}, {"class", string(f.Class)}, {"code", f.Code}, {"step", string(f.Step)},
		{"since", moment(f.Since)}, {"until", moment(f.Until)},
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
	fmt.Fprintf(c.OutOrStdout(), "%s [y/N] ", question)
	var answer string
	_, _ = fmt.Fscanln(c.InOrStdin(), &answer) // no answer is no
	return strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes")
}
