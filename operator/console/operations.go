package console

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/operator/console/frame"
	"holdfast/operator/httpapi"
)

const (
	operationsPath = "/console/operations"
	operations     = "Operations"
)

func operationPath(kind, id string) string { return operationsPath + "/" + kind + "/" + pathEscape(id) }

// operationView is an operation of any kind, for pages.
type operationView struct {
	operation.Base

	// Kind is "replays", "rebuilds", "resends", "imports" or "recoveries", and Noun its singular.
	Kind, Noun, About string
	// Percent is the progress, 0 to 100.
	Percent  int
	Filter   []frame.Fact
	Counts   []frame.Fact
	Problems []operation.RebuildProblem
	// KeyConflicts are a rebuild's events whose key another event has.
	KeyConflicts []operation.SharedKey
	// Lines are an import's lines that couldn't be applied.
	Lines []operation.ImportProblem
	// BlockedBy names destinations that its deliveries wait for.
	BlockedBy []string
	// Links lead to what the operation works on.
	Links []routeLink
}

// routeLink is a link for users who may open the route.
type routeLink struct{ Name, To, Route string }

// IsOpen reports whether the operation can be paused, resumed or canceled.
func (o operationView) IsOpen() bool {
	return o.State == operation.Running || o.State == operation.Paused
}

// CanResume reports whether the operation is paused.
func (o operationView) CanResume() bool { return o.State == operation.Paused }

// CanChange reports whether the operation can still change: a canceled one ends once its runs have ended.
func (o operationView) CanChange() bool {
	inFlight := func(f frame.Fact) bool { return f.Name() == "In flight" && f.Value() != "0" }
	return o.IsOpen() || slices.ContainsFunc(o.Counts, inFlight)
}

func (c *Console) operationRoutes() []route {
	if len(c.operationKinds()) == 0 {
		return nil
	}
	all := []route{{"GET", operationsPath, c.listOperations}}
	if c.API.Rebuilds != nil {
		all = append(all,
			route{"GET", rebuildPath, c.newRebuild},
			route{"POST", rebuildPath, c.startRebuild},
			route{"GET", diffRoute, c.showDiff})
	}
	if c.API.Outbound != nil && c.API.Outbound.Resends != nil {
		all = append(all,
			route{"GET", resendPath, c.newResend},
			route{"POST", resendPath, c.startResend})
	}
	return append(all, []route{
		{"GET", operationsPath + "/:kind/:id", c.showOperation},
		{"GET", operationsPath + "/:kind/:id/cancel", c.confirmCancelOperation},
		{"POST", operationsPath + "/:kind/:id/pause", c.changeOperation(operation.Paused)},
		{"POST", operationsPath + "/:kind/:id/resume", c.changeOperation(operation.Running)},
		{"POST", operationsPath + "/:kind/:id/cancel", c.changeOperation(operation.Canceled)},
	}...)
}

// operationKind is the API of one kind of operations.
type operationKind struct {
	kind   operation.Kind
	latest func(ctx context.Context, limit int) ([]operationView, error)
	one    func(ctx context.Context, id string) (operationView, error)
	change func(ctx *fiber.Ctx, to operation.State) error
}

// operationKinds returns the kinds that the API has.
func (c *Console) operationKinds() (all []operationKind) {
	if c.API.Replays != nil {
		all = append(all, kindOf(operation.KindReplay, c.API.Replays, ofReplay))
	}
	if c.API.Rebuilds != nil {
		all = append(all, kindOf(operation.KindRebuild, c.API.Rebuilds, ofRebuild))
	}
	if o := c.API.Outbound; o != nil && o.Resends != nil {
		all = append(all, kindOf(operation.KindResend, o.Resends, ofResend))
	}
	if c.API.Imports != nil {
		all = append(all, kindOf(operation.KindImport, c.API.Imports, ofImport))
	}
	if c.API.Recoveries != nil {
		all = append(all, kindOf(operation.KindRecovery, c.API.Recoveries, ofRecovery))
	}
	return all
}

func kindOf[T operation.Any](
	kind operation.Kind, operations httpapi.Operations[T], view func(T) operationView,
) operationKind {
	return operationKind{
		kind: kind,
		latest: func(ctx context.Context, limit int) (all []operationView, err error) {
			rows, err := operations.Latest(ctx, limit)
			for _, row := range rows {
				all = append(all, view(row))
			}
			return all, err
		},
		one: func(ctx context.Context, id string) (operationView, error) {
			row, err := operations.Read(ctx, id)
			return view(row), err
		},
		change: func(ctx *fiber.Ctx, to operation.State) error {
			_, err := httpapi.ChangeOperation(ctx, operations, to)
			return err
		},
	}
}

// viewOf converts the fields that all kinds of operations have.
func viewOf(kind operation.Kind, o operation.Any) operationView {
	return operationView{Base: o.Common(), Kind: kind.Plural(), Noun: string(kind), Percent: percent(o.Share())}
}

// percent rounds down, without the rounding error of 0.29*100.
func percent(share float64) int { return int(share*100 + 1e-9) }

func count(name string, n int64) frame.Fact { return frame.Fact{name, frame.Number(n)} }

func ofReplay(r operation.Replay) operationView {
	o := viewOf(operation.KindReplay, r)
	o.About, o.Filter, o.BlockedBy = "Replays dead letters.", factsOf(r.Filter), r.BlockedBy
	o.Counts = []frame.Fact{
		count("Total", r.Total), count("Processed", r.Done), count("Failed again", r.Failed), count("In flight", r.InFlight),
		count("Skipped", r.Skipped), count("Pending", max(r.Total-r.Ended()-r.InFlight, 0)),
	}
	of := r.Filter
	if !o.IsOpen() {
		of.State = "" // those that were processed aren't open any more
	}
	list := deadLetterListPath + "?" + filterValues(of).Encode()
	o.Links = []routeLink{{"Dead letters of this filter", list, deadLetterListPath}}
	return o
}

func ofRebuild(r operation.Rebuild) operationView {
	o := viewOf(operation.KindRebuild, r)
	o.About, o.Problems, o.KeyConflicts = "Corrects entities from stored events.", r.Problems, r.KeyConflicts
	if r.DryRun {
		o.About = "Dry run: counts what a rebuild of entities from stored events would change. Nothing changes."
	}
	o.Counts = []frame.Fact{
		count("Read", r.Read), count("Changed", r.Changed), count("Unreadable", r.Unreadable), count("Split into several", r.Splits),
		count("Skipped", r.Skipped),
		count("Entities", r.Entities), count("New keys", r.CorrectedKeys), count("Keys of another event", r.SharedKeys),
	}
	if r.DryRun && !o.IsOpen() {
		o.Links = append(o.Links, routeLink{"What it would change", operationPath(o.Kind, r.ID) + "/diff", diffRoute})
	}
	of := url.Values{"provider": {r.Filter.Provider}, "kind": {r.Filter.Kind}}
	o.Links = append(o.Links, routeLink{"Entities of this filter", entitiesPath + "?" + of.Encode(), entitiesPath})
	if !o.IsOpen() { // one rebuild runs at a time
		of.Set("rate", strconv.FormatFloat(r.Rate, 'f', -1, 64))
		of.Set("fetch", strconv.FormatBool(r.Fetch))
		of.Set("dry_run", "false")
		o.Links = append(o.Links, routeLink{"Rebuild the same …", rebuildPath + "?" + of.Encode(), rebuildPath})
	}
	for _, fact := range []frame.Fact{{"provider", r.Filter.Provider}, {"kind", r.Filter.Kind}} {
		if fact.Value() != "" {
			o.Filter = append(o.Filter, fact)
		}
	}
	return o
}

func ofResend(r operation.Resend) operationView {
	o := viewOf(operation.KindResend, r)
	o.About = "Sends stored events to " + r.Subscription + "."
	o.Filter = []frame.Fact{
		{"subscription", r.Subscription}, {"since", frame.InstantText(r.Since)}, {"until", frame.InstantText(r.Until)},
	}
	if r.Everything {
		o.Filter = append(o.Filter, frame.Fact{"including", "delivered events"})
	}
	if r.Imported {
		o.Filter = append(o.Filter, frame.Fact{"including", "imported events"})
	}
	o.Counts = []frame.Fact{count("Read", r.Read), count("Queued", r.Queued)}
	to := url.Values{"subscription": {r.Subscription}}
	o.Links = []routeLink{{"The destination", destinationsPath + "?" + to.Encode(), destinationsPath}}
	return o
}

func ofImport(i operation.Import) operationView {
	o := viewOf(operation.KindImport, i)
	o.About, o.Lines = "Imports data of another system.", i.Problems
	o.Filter = []frame.Fact{{"file", i.Name}}
	o.Counts = []frame.Fact{count("Total", i.Total), count("Applied", i.Read)}
	for _, record := range operation.ImportRecords() {
		if n, ok := i.Counts[record]; ok {
			o.Counts = append(o.Counts, frame.Fact{string(record), fmt.Sprintf("%d new, %d existing, %d unreadable, %d failed",
				n.New, n.There, n.Unreadable, n.Failed)})
		}
	}
	return o
}

func ofRecovery(r operation.Recovery) operationView {
	o := viewOf(operation.KindRecovery, r)
	o.About = "Recovers events of " + r.Provider + " that never arrived."
	if r.DryRun {
		o.About = "Dry run: counts events of " + r.Provider + " that never arrived. Nothing changes."
	}
	o.Filter = []frame.Fact{{"since", frame.InstantText(r.Since)}, {"until", frame.InstantText(r.Until)}}
	for _, fact := range []frame.Fact{{"target", r.Target}, {"begins late because of", string(r.Cut)}, {"problem", r.Problem}} {
		if fact.Value() != "" {
			o.Filter = append(o.Filter, fact)
		}
	}
	o.Counts = []frame.Fact{
		count("Listed", r.Listed), count("Known", r.Known), count("Unwanted", r.Unwanted), count("Unsafe", r.Unsafe),
		count("Missed", r.Missed), count("Provider may still deliver", r.Retrying), count("Recovered", r.Recovered),
		count("Asked to send again", r.Asked),
		count("Arrived meanwhile", r.Arrived), count("Failed", r.Failed),
	}
	return o
}

// maxOperations is how many operations of each kind a page shows.
const maxOperations = 20

// operationGroup are the latest operations of a kind.
type operationGroup struct {
	Title string
	Rows  []operationView
}

func (c *Console) listOperations(ctx *fiber.Ctx) error {
	var groups []operationGroup
	for _, k := range c.operationKinds() {
		rows, err := k.latest(ctx.UserContext(), maxOperations)
		if err != nil {
			return err
		}
		groups = append(groups, operationGroup{titleOf(k.kind.Plural()), rows})
	}
	return c.Show(ctx, "operations", frame.Page{Title: operations, Section: operations, Data: groups})
}

// operationKindIn returns the kind and the ID in the path.
func (c *Console) operationKindIn(ctx *fiber.Ctx) (k operationKind, id string, err error) {
	kinds := c.operationKinds()
	i := slices.IndexFunc(kinds, func(k operationKind) bool { return k.kind.Plural() == ctx.Params("kind") })
	if i < 0 {
		return k, "", event.ErrNotFound
	}
	id, err = url.PathUnescape(ctx.Params("id"))
	if err != nil {
		return k, "", httpapi.BadField("id")
	}
	return kinds[i], id, nil
}

func (c *Console) operationIn(ctx *fiber.Ctx) (o operationView, err error) {
	k, id, err := c.operationKindIn(ctx)
	if err != nil {
		return o, err
	}
	return k.one(ctx.UserContext(), id)
}

func (c *Console) showOperation(ctx *fiber.Ctx) error {
	o, err := c.operationIn(ctx)
	if err != nil {
		return err
	}
	return c.Show(ctx, "operation", frame.Page{Title: nameOf(o), Section: operations, Data: o})
}

// nameOf returns an operation's title: "Replay 20261122-…".
func nameOf(o operationView) string { return titleOf(o.Noun) + " " + o.ID }

func titleOf(noun string) string { return strings.ToUpper(noun[:1]) + noun[1:] }

func (c *Console) confirmCancelOperation(ctx *fiber.Ctx) error {
	o, err := c.operationIn(ctx)
	if err != nil {
		return err
	}
	path := operationPath(o.Kind, o.ID)
	return c.Ask(ctx, frame.Confirm{
		Section: operations, Title: "Cancel " + nameOf(o),
		Question: "No new work starts. Work in progress finishes. This can't be undone.",
		Facts:    append([]frame.Fact{{"State", string(o.State)}}, o.Counts...), Action: path + "/cancel", Button: "Cancel it",
		Reason: "optional", Destroys: true, Back: path,
	})
}

func (c *Console) changeOperation(to operation.State) fiber.Handler {
	did := map[operation.State]string{
		operation.Paused: "Paused.", operation.Running: "Resumed.", operation.Canceled: "Canceled.",
	}[to]
	return func(ctx *fiber.Ctx) error {
		k, id, err := c.operationKindIn(ctx)
		if err != nil {
			return err
		}
		if err := k.change(ctx, to); err != nil {
			return fmt.Errorf("change %s: %w", ctx.Params("kind"), err)
		}
		return c.Done(ctx, operationPath(ctx.Params("kind"), id), did)
	}
}
