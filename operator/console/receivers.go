package console

import (
	"context"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"holdfast/delivery"
	"holdfast/operator/api/deliveryapi"
	"holdfast/operator/console/frame"
	"holdfast/operator/httpapi"
)

// Receivers reports the health of destinations.
type Receivers interface {
	// RecentDeliveries summarizes the last deliveries of each destination, by its ID.
	RecentDeliveries(ctx context.Context, destinations []int64) (map[int64]delivery.Recent, error)
}

func (c *Console) receiverRoutes() []route {
	if c.API.Outbound == nil || c.Receivers == nil {
		return nil
	}
	const one = "/console/receivers/:name"
	return []route{
		{"GET", receiversPath, c.listReceivers},
		{"GET", one, c.showReceiver},
		{"GET", one + "/check", c.checkReceiver},
		{"POST", one + "/check", c.checkReceiver},
		{"POST", one + "/test", c.testReceiver},
		{"POST", one + "/rate", c.setRate},
		{"GET", one + "/rotate", c.confirmRotation},
		{"POST", one + "/rotate", c.rotateSecret},
		{"GET", newDestinationPath, c.newDestination},
		{"POST", newDestinationPath, c.createDestination},
		{"GET", one + "/edit", c.editDestination},
		{"POST", one + "/edit", c.saveDestination},
		{"GET", one + "/delete", c.confirmDeleteDestination},
		{"POST", one + "/delete", c.deleteDestination},
		{"GET", one + "/subscribe", c.editSubscription},
		{"POST", one + "/subscribe", c.saveSubscription},
		{"POST", one + "/active", c.setActive},
		{"GET", one + "/unsubscribe", c.confirmUnsubscribe},
		{"POST", one + "/unsubscribe", c.unsubscribe},
		// The verb is part of the path, as in the API.
		{"GET", one + "/:verb", c.confirmState},
		{"POST", one + "/:verb", c.setState},
	}
}

// receiverRow is a destination in the list.
type receiverRow struct {
	deliveryapi.DestinationView

	Recent delivery.Recent
}

// Target describes the endpoint in a few words.
func (r receiverRow) Target() string { return targetOf(r.Destination) }

func targetOf(d delivery.Destination) string {
	switch {
	case d.HTTP != nil:
		return d.HTTP.URL
	case d.Temporal == nil:
		return ""
	case d.Temporal.Profile == "":
		return "workflows on " + d.Temporal.TaskQueue
	}
	return "workflows on " + d.Temporal.TaskQueue + " of " + d.Temporal.Profile
}

const (
	receiversPath = "/console/receivers"
	destinations  = "Destinations"
)

// receiverList is the data of the page of destinations.
type receiverList struct {
	Name, Only string
	Rows       []receiverRow
	Pager      frame.Pager
	// Troubled, Paused and All count all destinations.
	Troubled, Paused, All int
}

// receiversOnPage is how many rows a page has.
const receiversOnPage = 50

// The list's filters other than "all".
const (
	onlyTroubled = "trouble"
	onlyPaused   = "paused"
	onlyWaiting  = "waiting"
)

// listReceivers redirects to the destination of a subscription if the query names one.
func (c *Console) listReceivers(ctx *fiber.Ctx) error {
	if name := ctx.Query("subscription"); name != "" {
		s, err := c.API.Outbound.Subscriptions.Subscription(ctx.UserContext(), name)
		if err != nil {
			return err
		}
		return ctx.Redirect(c.URL("/console/receivers/%s", s.To), fiber.StatusSeeOther)
	}
	all, err := c.API.Outbound.ListDestinations(ctx)
	if err != nil {
		return err
	}
	data := receiverList{Name: ctx.Query("name"), Only: ctx.Query("only"), All: len(all)}
	if !slices.Contains([]string{"", onlyTroubled, onlyPaused, onlyWaiting}, data.Only) {
		return httpapi.BadParameter("only")
	}
	after := ctx.Query("cursor")
	for _, d := range all {
		if isTroubled(d) {
			data.Troubled++
		}
		if d.Condition.State != delivery.DestinationReady {
			data.Paused++
		}
		if d.Name > after && data.wants(d) {
			data.Rows = append(data.Rows, receiverRow{DestinationView: d})
		}
	}
	next := ""
	if len(data.Rows) > receiversOnPage {
		data.Rows = data.Rows[:receiversOnPage]
		next = data.Rows[receiversOnPage-1].Name
	}
	data.Pager = c.Pager(ctx, next)
	if err := c.addRecent(ctx, data.Rows); err != nil {
		return err
	}
	return c.Show(ctx, "receivers", frame.Page{Title: destinations, Section: destinations, Data: data})
}

func isTroubled(d deliveryapi.DestinationView) bool {
	return d.Condition.FailingSince != nil || d.Condition.Breaker == delivery.BreakerOpen
}

func (l receiverList) wants(d deliveryapi.DestinationView) bool {
	if !strings.Contains(d.Name, l.Name) {
		return false
	}
	switch l.Only {
	case onlyTroubled:
		return isTroubled(d)
	case onlyPaused:
		return d.Condition.State != delivery.DestinationReady
	case onlyWaiting:
		return d.Condition.Open() > 0
	}
	return true
}

func (c *Console) addRecent(ctx *fiber.Ctx, rows []receiverRow) error {
	ids := make([]int64, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	recent, err := c.Receivers.RecentDeliveries(ctx.UserContext(), ids)
	for i := range rows {
		rows[i].Recent = recent[rows[i].ID]
	}
	return err
}
