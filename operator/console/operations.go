package console

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/operator/access"
	"holdfast/operator/console/frame"
	"holdfast/operator/exchange"
)

const (
	operationsPath = "/console/operations"
	operations     = "Operations"
)

func operationPath(kind, id string) string { return operationsPath + "/" + kind + "/" + pathEscape(id) }

// operation is a redrive, a rebuild, a resend or an import, as far as it has come.
type operationView struct {
	// Kind is "redrives", "rebuilds", "resends" or "imports".
	Kind, ID, About string
	State           operation.State
	// Percent is how far it has come, 0 to 100.
	Percent   int
	Rate      float64
	StartedAt time.Time
	EndedAt   *time.Time
	StartedBy string
	Filter    []frame.Fact
	Counts    []frame.Fact
	Problems  []operation.RebuildProblem
	// Lines are those of an import that could not be applied.
	Lines []operation.ImportProblem
	// BlockedBy names destinations that its deliveries wait for.
	BlockedBy []string
	// Links lead to what it works on.
	Links []lead
}

// lead is a link for those who may open the route.
type lead struct{ Name, To, Route string }

// IsOpen says that it can be paused, resumed or canceled.
func (o operationView) IsOpen() bool {
	return o.State == operation.Running || o.State == operation.Paused
}

// CanResume says that it is paused.
func (o operationView) CanResume() bool { return o.State == operation.Paused }

// Lasts says that it still changes: one that was canceled ends once its runs have.
func (o operationView) Lasts() bool {
	inFlight := func(f frame.Fact) bool { return f.Name() == "In flight" && f.Value() != "0" }
	return o.IsOpen() || slices.ContainsFunc(o.Counts, inFlight)
}

func (c *Console) operationRoutes() []route {
	if len(c.operationKinds()) == 0 {
		return nil
	}
	all := []route{{"GET", operationsPath, access.RoleViewer, c.listOperations}}
	if c.API.Rebuilds != nil {
		all = append(all,
			route{"GET", rebuildPath, access.RoleOperator, c.newRebuild},
			route{"POST", rebuildPath, access.RoleOperator, c.startRebuild},
			route{"GET", diffRoute, access.RoleOperator, c.showDiff})
	}
	if c.API.Outbound != nil && c.API.Outbound.Resends != nil {
		all = append(all,
			route{"GET", resendPath, access.RoleViewer, c.newResend},
			route{"POST", resendPath, access.RoleOperator, c.startResend})
	}
	return append(all, []route{
		{"GET", operationsPath + "/:kind/:id", access.RoleViewer, c.showOperation},
		{"GET", operationsPath + "/:kind/:id/cancel", access.RoleOperator, c.confirmCancelOperation},
		{"POST", operationsPath + "/:kind/:id/pause", access.RoleOperator, c.changeOperation(operation.Paused)},
		{"POST", operationsPath + "/:kind/:id/resume", access.RoleOperator, c.changeOperation(operation.Running)},
		{"POST", operationsPath + "/:kind/:id/cancel", access.RoleOperator, c.changeOperation(operation.Canceled)},
	}...)
}

// operationKind is where the operations of one kind are seen and changed.
type operationKind struct {
	latest func(ctx context.Context, limit int) ([]operationView, error)
	one    func(ctx context.Context, id string) (operationView, error)
	change func(ctx context.Context, id string, to operation.State, by oversight.Actor) error
}

// operationKinds are those that the API has, by kind.
func (c *Console) operationKinds() map[string]operationKind {
	all := map[string]operationKind{}
	if r := c.API.Redrives; r != nil {
		all["redrives"] = kindOf(r.Redrives, r.Redrive, r.ChangeRedrive, ofRedrive)
	}
	if r := c.API.Rebuilds; r != nil {
		all["rebuilds"] = kindOf(r.Rebuilds, r.Rebuild, r.ChangeRebuild, ofRebuild)
	}
	if i := c.API.Imports; i != nil {
		all["imports"] = kindOf(i.Imports, i.Import, i.ChangeImport, ofImport)
	}
	if o := c.API.Outbound; o != nil && o.Resends != nil {
		all["resends"] = kindOf(o.Resends.Resends, o.Resends.Resend, o.Resends.ChangeResend, ofResend)
	}
	return all
}

func kindOf[T any](
	latest func(context.Context, int) ([]T, error), one func(context.Context, string) (T, error),
	change func(context.Context, string, operation.State, oversight.Actor) (T, error), view func(T) operationView) operationKind {
	return operationKind{
		latest: func(ctx context.Context, limit int) (all []operationView, err error) {
			rows, err := latest(ctx, limit)
			for _, row := range rows {
				all = append(all, view(row))
			}
			return all, err
		},
		one: func(ctx context.Context, id string) (operationView, error) {
			row, err := one(ctx, id)
			if err != nil {
				return operationView{}, err
			}
			return view(row), nil
		},
		change: func(ctx context.Context, id string, to operation.State, by oversight.Actor) error {
			_, err := change(ctx, id, to, by)
			return err
		},
	}
}

func percent(done, total int64) int {
	if total <= 0 {
		return 100
	}
	return int(min(float64(done)*100/float64(total), 100)) // times are so many that a hundred times as many are no int64
}

func count(name string, n int64) frame.Fact { return frame.Fact{name, frame.Number(n)} }

func ofRedrive(r operation.Redrive) operationView {
	values := filterValues(r.Filter)
	return operationView{
		Kind: "redrives", ID: r.ID, About: "dead letters, run again", State: r.State, Rate: r.Rate,
		Percent:   percent(r.Ended(), r.Total),
		StartedAt: r.StartedAt, EndedAt: r.EndedAt, StartedBy: r.StartedBy, Filter: factsOf(r.Filter),
		Counts: []frame.Fact{
			count("Total", r.Total), count("Processed", r.Done), count("Failed again", r.Failed), count("In flight", r.InFlight),
			count("Skipped", r.Skipped), count("Still wait", max(r.Total-r.Ended()-r.InFlight, 0)),
		},
		BlockedBy: r.BlockedBy,
		Links:     []lead{{"Dead letters of this filter", letterList + "?" + values.Encode(), letterList}},
	}
}

func ofRebuild(r operation.Rebuild) operationView {
	about := "stored events, read again"
	if r.DryRun {
		about += " (a dry run changes nothing)"
	}
	again := url.Values{"provider": {r.Filter.Provider}, "kind": {r.Filter.Kind}}
	o := operationView{
		Kind: "rebuilds", ID: r.ID, About: about, State: r.State, Percent: int(r.Share() * 100), Rate: r.Rate,
		StartedAt: r.StartedAt, EndedAt: r.EndedAt, StartedBy: r.StartedBy, Problems: r.Problems,
		Counts: []frame.Fact{
			count("Read", r.Read), count("Changed", r.Changed), count("Unreadable", r.Unreadable), count("Skipped", r.Skipped),
			count("Entities", r.Entities),
		},
	}
	if r.DryRun && !o.IsOpen() {
		o.Links = append(o.Links, lead{"What it would change", operationPath("rebuilds", r.ID) + "/diff", diffRoute})
	}
	o.Links = append(o.Links, lead{"Rebuild the same", rebuildPath + "?" + again.Encode(), rebuildPath})
	for _, fact := range []frame.Fact{{"provider", r.Filter.Provider}, {"kind", r.Filter.Kind}} {
		if fact.Value() != "" {
			o.Filter = append(o.Filter, fact)
		}
	}
	return o
}

func ofResend(r delivery.Resend) operationView {
	o := operationView{
		Kind: "resends", ID: r.ID, About: "events, sent to " + r.Subscription, State: r.State, Rate: r.Rate,
		StartedAt: r.StartedAt, EndedAt: r.EndedAt, StartedBy: r.StartedBy,
		Filter: []frame.Fact{
			{"subscription", r.Subscription}, {"since", frame.InstantText(r.Since)}, {"until", frame.InstantText(r.Until)},
			{"delivered ones as well", strconv.FormatBool(r.Everything)},
		},
		Counts: []frame.Fact{count("Read", r.Read), count("Queued", r.Queued)},
		Links:  []lead{{"The destination", receiversPath + "?" + url.Values{"subscription": {r.Subscription}}.Encode(), receiversPath}},
	}
	switch {
	case r.State == operation.Completed:
		o.Percent = 100
	case r.Reached.After(r.Since):
		o.Percent = percent(int64(r.Reached.Sub(r.Since)), int64(r.Until.Sub(r.Since)))
	}
	return o
}

func ofImport(i operation.Import) operationView {
	o := operationView{
		Kind: "imports", ID: i.ID, About: "what another system had, from " + i.Name, State: i.State, Percent: int(i.Share() * 100),
		Rate: i.Rate, StartedAt: i.StartedAt, EndedAt: i.EndedAt, StartedBy: i.StartedBy,
		Counts: []frame.Fact{count("Total", i.Total), count("Applied", i.Read)}, Lines: i.Problems,
	}
	for _, record := range operation.ImportRecords() {
		if n, ok := i.Counts[record]; ok {
			o.Counts = append(o.Counts, frame.Fact{string(record), fmt.Sprintf("%d new, %d there, %d unreadable, %d failed",
				n.New, n.There, n.Unreadable, n.Failed)})
		}
	}
	return o
}

// maxOperations is how many of each kind a page shows.
const maxOperations = 20

// operationGroup are the latest of a kind.
type operationGroup struct {
	Title string
	Rows  []operationView
}

func (c *Console) listOperations(ctx *fiber.Ctx) error {
	operationKinds := c.operationKinds()
	var groups []operationGroup
	for _, kind := range []frame.Fact{
		{"redrives", "Redrives"}, {"rebuilds", "Rebuilds"}, {"resends", "Resends"}, {"imports", "Imports"},
	} {
		d, ok := operationKinds[kind.Name()]
		if !ok {
			continue
		}
		rows, err := d.latest(ctx.UserContext(), maxOperations)
		if err != nil {
			return err
		}
		groups = append(groups, operationGroup{kind.Value(), rows})
	}
	return c.Show(ctx, "operations", frame.Page{Title: operations, Section: operations, Data: groups})
}

// operationKindIn is the operationKind of the kind in the path, and the ID there.
func (c *Console) operationKindIn(ctx *fiber.Ctx) (d operationKind, id string, err error) {
	d, ok := c.operationKinds()[ctx.Params("kind")]
	if !ok {
		return d, "", event.ErrNotFound
	}
	id, err = url.PathUnescape(ctx.Params("id"))
	if err != nil {
		return d, "", exchange.BadField("id")
	}
	return d, id, nil
}

func (c *Console) operationIn(ctx *fiber.Ctx) (o operationView, err error) {
	d, id, err := c.operationKindIn(ctx)
	if err != nil {
		return o, err
	}
	return d.one(ctx.UserContext(), id)
}

func (c *Console) showOperation(ctx *fiber.Ctx) error {
	o, err := c.operationIn(ctx)
	if err != nil {
		return err
	}
	return c.Show(ctx, "operation", frame.Page{Title: nameOf(o), Section: operations, Data: o})
}

// nameOf is an operation in words: "Redrive 20261122-…".
func nameOf(o operationView) string {
	return map[string]string{
		"redrives": "Redrive ", "rebuilds": "Rebuild ", "resends": "Resend ", "imports": "Import ",
	}[o.Kind] + o.ID
}

func (c *Console) confirmCancelOperation(ctx *fiber.Ctx) error {
	o, err := c.operationIn(ctx)
	if err != nil {
		return err
	}
	path := operationPath(o.Kind, o.ID)
	return c.Ask(ctx, frame.Confirm{
		Section: operations, Title: "Cancel " + nameOf(o),
		Question: "It takes on nothing more, for good. What it has begun comes to its end.",
		Facts:    append([]frame.Fact{{"State", string(o.State)}}, o.Counts...), Action: path + "/cancel", Button: "Cancel it",
		Reason: "optional", Destroys: true, Back: path,
	})
}

func (c *Console) changeOperation(to operation.State) fiber.Handler {
	did := map[operation.State]string{
		operation.Paused: "It is paused.", operation.Running: "It goes on.", operation.Canceled: "It is canceled.",
	}[to]
	return func(ctx *fiber.Ctx) error {
		d, id, err := c.operationKindIn(ctx)
		if err != nil {
			return err
		}
		reason, err := reasonOf(ctx)
		if err != nil {
			return err
		}
		if err := d.change(ctx.UserContext(), id, to, exchange.Actor(ctx, reason)); err != nil {
			return fmt.Errorf("change %s: %w", ctx.Params("kind"), err)
		}
		return c.Done(ctx, operationPath(ctx.Params("kind"), id), did)
	}
}
