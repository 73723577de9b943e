package console

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/internal/word"
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
	case d.PubSub != nil:
		return d.PubSub.Topic + " of " + d.PubSub.URL
	case d.SQS != nil:
		return "queue " + d.SQS.Queue + " of " + d.SQS.URL
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
	c.chartFailures.note(c.Log, "attempts", err)
	for i := range rows {
		if one := counted[rows[i].ID]; err == nil {
			rows[i].Counted = &one
		}
	}
}

type destinationPage struct {
	destinationRow

	Subscriptions []delivery.Subscription
	// Waiting are some open deliveries and Ended some ended ones, newest events first.
	Waiting, Ended []deliveryapi.DeliveryView
	// Orders are the ordered subscriptions.
	Orders []subscriptionOrder
	// Attempts counts the attempts by result, and Duration shows how long they took; nil if they aren't counted.
	Attempts, Duration *plot.Bars
}

// Cancel returns the confirmation page for canceling all waiting deliveries.
func (p destinationPage) Cancel() string {
	return cancelPath + "?" + frame.Query("destination", p.Name)
}

// subscriptionOrder is how far the ordered deliveries of a subscription are. Heads are those that block others, have failed, or
// are paused.
type subscriptionOrder struct {
	delivery.Subscription
	delivery.Ordered

	// Read is how many heads were read: the oldest ones.
	Read int
}

// ordersOnPage is how many ordered subscriptions the page shows.
const ordersOnPage = 10

func (c *Console) addOrders(ctx context.Context, page *destinationPage) error {
	for _, s := range page.Subscriptions {
		if s.OrderBy == "" || len(page.Orders) == ordersOnPage {
			continue
		}
		o, err := c.API.Outbound.Deliveries.Ordered(ctx, s.ID, "", deliveriesOnPage)
		if err != nil {
			return err
		}
		read := len(o.Heads)
		o.Heads = slices.DeleteFunc(o.Heads, func(h delivery.OrderHead) bool {
			return h.Waiting == 0 && h.Attempts == 0 && !h.Paused
		})
		page.Orders = append(page.Orders, subscriptionOrder{s, o, read})
	}
	return nil
}

// deliveriesOnPage is how many deliveries of each kind the page shows.
const deliveriesOnPage = 20

// Limits lists the destination's limits, with the defaults of unset ones.
func (p destinationPage) Limits() []frame.Fact {
	rate := "no limit"
	if r := p.Rate; r != nil {
		rate = frame.Number(r.Requests) + " in " + word.Duration(time.Duration(r.Per))
	}
	policy, standard := p.Policy(), delivery.DefaultBreaker()
	failures, pause := cmp.Or(p.Breaker.Failures, standard.Failures), cmp.Or(p.Breaker.Open, standard.Open)
	return []frame.Fact{
		{"Rate", rate},
		{"Max in flight", frame.Number(cmp.Or(p.InFlight, delivery.DefaultInFlight))},
		{"Timeout of one attempt", word.Duration(time.Duration(cmp.Or(p.Timeout, delivery.DefaultTimeout)))},
		{"Attempts", frame.Number(policy.Attempts) + ", the first pause " + word.Duration(time.Duration(policy.Pause(1)))},
		{"Breaker", "opens after " + frame.Number(failures) + " failures in a row, for " + word.Duration(time.Duration(pause))},
		{"Kept for", frame.ShortDuration(time.Duration(cmp.Or(p.Keep, delivery.DefaultKeep)))},
		{"Disabled after", frame.ShortDuration(time.Duration(cmp.Or(p.DisableAfter, delivery.DefaultDisableAfter))) + " of failures"},
	}
}

// ClientCertificate says when the client certificate expires; "" if there is none that this process can read.
func (p destinationPage) ClientCertificate() string {
	if p.CertificateUntil == nil {
		return ""
	}
	return delivery.CertificateState(*p.CertificateUntil, time.Now())
}

// NextStep names the buttons of the page to users who have them.
func (p destinationPage) NextStep(mayResume, mayDelete bool) string {
	how := delivery.Remedies{
		Resume: "ask an operator to resume it", Retry: "ask an operator to try again", Delete: "ask an integrator to delete it",
	}
	if mayResume {
		how.Resume, how.Retry = "choose Resume", "choose Try again now"
	}
	if mayDelete {
		how.Delete = "choose Delete"
	}
	return p.Condition.NextStep(how)
}

// selected describes the events that a subscription selects.
func selected(e delivery.Events) string {
	var parts []string
	if len(e.Providers) > 0 {
		parts = append(parts, "of "+strings.Join(e.Providers, ", "))
	}
	if len(e.Types) > 0 {
		parts = append(parts, "of the types "+strings.Join(e.Types, ", "))
	}
	if e.Filter != "" {
		parts = append(parts, "where "+e.Filter)
	}
	if len(parts) == 0 {
		return "all events"
	}
	return strings.Join(parts, ", ")
}

func (c *Console) showDestination(ctx *fiber.Ctx) error {
	since, window, err := chartSince(ctx)
	if err != nil {
		return err
	}
	page, err := c.destination(ctx)
	if err != nil {
		return err
	}
	c.addCharts(ctx.UserContext(), &page, since)
	if page.Attempts != nil {
		page.Attempts.Ranges = windowsOf(window, destinationPath(page.Name))
	}
	return c.Show(ctx, "destination", frame.Page{Title: page.Name, Section: destinations, Data: page})
}

// addCharts draws the attempts at a destination and their duration, and counts the attempts, unless they aren't counted.
func (c *Console) addCharts(ctx context.Context, page *destinationPage, since time.Time) {
	span, ok := oversight.SpanOf(since, time.Time{}, time.Now())
	if c.API.Stats == nil || !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, chartTimeout)
	defer cancel()
	buckets, err := c.API.Stats.DeliveryHistory(ctx, page.ID, span)
	chart := plot.Bars{Since: span.Since, Until: span.Until, Step: time.Duration(span.Step)}
	counted, mean := chart, chart
	counted.Title, counted.Empty = "Attempts by result", "No attempts were counted in this time."
	counted.Parts = []plot.Part{{Name: "succeeded", Class: "delivered"}, {Name: "failed", Class: "failed"}}
	if c.chartFailures.note(c.Log, "attempts", err); err != nil {
		counted.Empty = unreadChart
	}
	mean.Title, mean.Parts = "Mean duration of an attempt", []plot.Part{{Name: "ms, mean duration", Class: "mean"}}
	counted.Also, mean.IsInTable = mean.Parts[0].Name, true
	var all oversight.DeliveryBucket
	for _, b := range buckets {
		took := max(b.Mean(), 1)
		counted.Bars = append(counted.Bars, plot.Bar{At: b.At, Counts: []int64{b.Succeeded, b.Failed}, Also: frame.Number(took)})
		mean.Bars = append(mean.Bars, plot.Bar{At: b.At, Counts: []int64{took}})
		all.Succeeded, all.Failed = all.Succeeded+b.Succeeded, all.Failed+b.Failed
	}
	if page.Attempts, page.Duration = &counted, &mean; err == nil {
		page.Counted = &all
	}
}

func (c *Console) destination(ctx *fiber.Ctx) (page destinationPage, err error) {
	out := c.API.Outbound
	if page.DestinationView, err = out.ShowDestination(ctx); err != nil {
		return page, err
	}
	rows := []destinationRow{page.destinationRow}
	if err := c.addRecent(ctx, rows); err != nil {
		return page, err
	}
	page.destinationRow = rows[0]
	all, err := out.Subscriptions.SubscriptionsAfter(ctx.UserContext(), "", math.MaxInt32)
	if err != nil {
		return page, err
	}
	for _, s := range all {
		if s.DestinationID == page.ID {
			page.Subscriptions = append(page.Subscriptions, s)
		}
	}
	if err := c.addOrders(ctx.UserContext(), &page); err != nil {
		return page, err
	}
	if page.Waiting, err = c.someDeliveries(ctx, delivery.Query{DestinationID: page.ID, Open: true}); err != nil {
		return page, err
	}
	page.Ended, err = c.someDeliveries(ctx, delivery.Query{DestinationID: page.ID, Ended: true})
	return page, err
}

func (c *Console) someDeliveries(ctx *fiber.Ctx, q delivery.Query) (shown []deliveryapi.DeliveryView, err error) {
	q.Limit = deliveriesOnPage
	rows, err := c.API.Outbound.Deliveries.Deliveries(ctx.UserContext(), q)
	for _, d := range rows {
		shown = append(shown, deliveryapi.ViewDelivery(ctx, d))
	}
	return shown, err
}

// subscriptionOf returns the destination in the path and the subscription in the form.
func (c *Console) subscriptionOf(ctx *fiber.Ctx) (destination, subscription string, err error) {
	if destination, err = httpapi.PathText(ctx, "name"); err != nil {
		return "", "", err
	}
	s, err := c.API.Outbound.Subscriptions.Subscription(ctx.UserContext(), ctx.FormValue("subscription"))
	if err != nil {
		return "", "", err
	}
	if s.To != destination {
		return "", "", event.ErrNotFound
	}
	return destination, s.Name, nil
}

func destinationPath(name string) string { return "/console/destinations/" + pathEscape(name) }
