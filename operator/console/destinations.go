package console

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/delivery"
	"holdfast/event/oversight"
	"holdfast/operator/api/deliveryapi"
	"holdfast/operator/console/frame"
	"holdfast/operator/console/plot"
	"holdfast/operator/httpapi"
)

func (c *Console) destinationRoutes() []route {
	if c.API.Outbound == nil {
		return nil
	}
	const one = "/console/destinations/:name"
	return []route{
		{"GET", destinationsPath, c.listDestinations},
		{"GET", one, c.showDestination},
		{"GET", one + "/check", c.checkSubscription},
		{"POST", one + "/check", c.checkSubscription},
		{"POST", one + "/test", c.testSubscription},
		{"POST", one + "/rate", c.setRate},
		{"POST", one + "/retry", c.tryAgain},
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

type destinationRow struct {
	deliveryapi.DestinationView

	// Counted are the attempts of the time that the page names; nil if they aren't counted or can't be read.
	Counted *oversight.DeliveryBucket
	// Recent are the last finished deliveries.
	Recent delivery.Recent
}

// Target describes the endpoint in a few words.
func (r destinationRow) Target() string { return targetOf(r.Destination) }

func targetOf(d delivery.Destination) string {
	switch {
	case d.HTTP != nil:
		return d.HTTP.URL
	case d.NATS != nil:
		return "stream " + d.NATS.Stream + " of " + d.NATS.URL
	case d.RabbitMQ != nil:
		return "exchange " + cmp.Or(d.RabbitMQ.Exchange, "(default)") + " of " + d.RabbitMQ.URL
	case d.Kafka != nil:
		return "topic " + d.Kafka.Topic + " of " + d.Kafka.URL
	case d.S3 != nil:
		return "bucket " + d.S3.Bucket + " of " + d.S3.URL
	case d.Temporal == nil:
		return ""
	case d.Temporal.Profile == "":
		return "workflows on " + d.Temporal.TaskQueue
	}
	return "workflows on " + d.Temporal.TaskQueue + " of " + d.Temporal.Profile
}

const (
	destinationsPath = "/console/destinations"
	destinations     = "Destinations"
)

// destinationList is the data of the page of destinations.
type destinationList struct {
	Name, Only string
	Rows       []destinationRow
	Pager      frame.Pager
	// Failing, Paused and All count all destinations.
	Failing, Paused, All int
}

// CanRetry reports whether an attempt of any destination on the page waits for a retry.
func (l destinationList) CanRetry() bool {
	return slices.ContainsFunc(l.Rows, func(r destinationRow) bool { return r.Condition.CanRetry() })
}

// destinationsOnPage is how many rows a page has.
const destinationsOnPage = 50

// The list's filters other than "all".
const (
	onlyFailing = "failing"
	onlyPaused  = "paused"
	onlyWaiting = "waiting"
)

// listDestinations redirects to the destination of a subscription if the query names one.
func (c *Console) listDestinations(ctx *fiber.Ctx) error {
	if name := ctx.Query("subscription"); name != "" {
		s, err := c.API.Outbound.Subscriptions.Subscription(ctx.UserContext(), name)
		if err != nil {
			return err
		}
		return ctx.Redirect(c.URL("/console/destinations/%s", s.To), fiber.StatusSeeOther)
	}
	all, err := c.API.Outbound.ListDestinations(ctx)
	if err != nil {
		return err
	}
	data := destinationList{Name: ctx.Query("name"), Only: ctx.Query("only"), All: len(all)}
	if !slices.Contains([]string{"", onlyFailing, onlyPaused, onlyWaiting}, data.Only) {
		return httpapi.BadParameter("only")
	}
	after := ctx.Query("cursor")
	for _, d := range all {
		if isFailing(d) {
			data.Failing++
		}
		if d.Condition.State != delivery.DestinationReady {
			data.Paused++
		}
		if d.Name > after && data.wants(d) {
			data.Rows = append(data.Rows, destinationRow{DestinationView: d})
		}
	}
	next := ""
	if len(data.Rows) > destinationsOnPage {
		data.Rows = data.Rows[:destinationsOnPage]
		next = data.Rows[destinationsOnPage-1].Name
	}
	data.Pager = c.Pager(ctx, next)
	if err := c.addRecent(ctx, data.Rows); err != nil {
		return err
	}
	c.addCounted(ctx.UserContext(), data.Rows)
	return c.Show(ctx, "destinations", frame.Page{Title: destinations, Section: destinations, Data: data})
}

func isFailing(d deliveryapi.DestinationView) bool {
	return d.Condition.FailingSince != nil || d.Condition.Breaker == delivery.BreakerOpen
}

func (l destinationList) wants(d deliveryapi.DestinationView) bool {
	if !strings.Contains(d.Name, l.Name) {
		return false
	}
	switch l.Only {
	case onlyFailing:
		return isFailing(d)
	case onlyPaused:
		return d.Condition.State != delivery.DestinationReady
	case onlyWaiting:
		return d.Condition.Open() > 0
	}
	return true
}

func (c *Console) addRecent(ctx *fiber.Ctx, rows []destinationRow) error {
	ids := make([]int64, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	recent, err := c.API.Outbound.Deliveries.RecentDeliveries(ctx.UserContext(), ids)
	for i := range rows {
		rows[i].Recent = recent[rows[i].ID]
	}
	return err
}

// addCounted adds the attempts of the last 24 hours, as the chart of each destination shows them. If they can't be read, the list
// is shown without them.
func (c *Console) addCounted(ctx context.Context, rows []destinationRow) {
	span, _ := oversight.SpanOf(time.Time{}, time.Time{}, time.Now())
	if c.API.Stats == nil || len(rows) == 0 {
		return
	}
	ids := make([]int64, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	ctx, cancel := context.WithTimeout(ctx, chartTimeout)
	defer cancel()
	counted, err := c.API.Stats.DeliveryTotals(ctx, ids, span)
	c.chartFailures.note(c.Log, &plot.Bars{}, "attempts", err)
	for i := range rows {
		if one := counted[rows[i].ID]; err == nil {
			rows[i].Counted = &one
		}
	}
}
