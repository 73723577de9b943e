package doctor

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"holdfast/delivery"
	"holdfast/event/feed"
	"holdfast/event/oversight"
	"holdfast/internal/config"
	"holdfast/internal/stores"
	"holdfast/internal/word"
)

// How long a due delivery may wait before workers seem to be missing: the first is a warning, the second a failure.
const (
	undueWarn = 30 * time.Second
	undueFail = 5 * time.Minute
)

// examineDeliveries reports destinations that need attention and deliveries that no worker makes.
func (d *doctor) examineDeliveries(ctx context.Context) {
	stats, err := d.store.Outbox.DeliveryStats(ctx)
	if err != nil {
		d.failed("deliveries", err, "run `holdfast migrate`")
		return
	}
	d.examineDispatch(ctx, stats)
	v := resultOK
	switch {
	case stats.States[delivery.DestinationDisabled] > 0:
		v = resultFail
	case stats.States[delivery.DestinationPaused] > 0:
		v = resultWarn
	}
	detail := fmt.Sprintf("%d ready, %d paused, %d disabled", stats.States[delivery.DestinationReady],
		stats.States[delivery.DestinationPaused], stats.States[delivery.DestinationDisabled])
	const advice = "`holdfast destination show NAME` says why, `holdfast destination resume NAME` resumes it"
	d.add("destinations", v, detail, advice)
	why := cmp.Or(strings.Join(reasons(stats), ", "), "none")
	d.add("failing destinations", either(len(stats.Failing) == 0, resultWarn), why, advice)
	d.examineSubscriptions(ctx)
	d.examineFilters(ctx)
	d.examineOrder(ctx)
	d.examineVariables(ctx)
	d.examineClientCertificates(ctx)
}

// maxReason bounds the reason of one failing destination, in characters.
const maxReason = 160

// reasons names the failing destinations with their last failure.
func reasons(stats delivery.Stats) []string {
	all := make([]string, len(stats.Failing))
	for i, name := range stats.Failing {
		why := []rune(stats.FailingReasons[i])
		all[i] = name + " (" + string(why[:min(len(why), maxReason)]) + ")"
	}
	return all
}

// examineVariables reports destinations stored before names of Holdfast's own variables and pasted secrets were refused, and
// unlisted variables, which sign nothing. It never repeats a pasted secret.
func (d *doctor) examineVariables(ctx context.Context) {
	named, err := d.store.Subscriptions.NamedVariables(ctx)
	if err != nil {
		d.failed("destination secrets", err, "run `holdfast migrate`")
		return
	}
	var wrong []string
	for _, v := range named {
		switch {
		case config.IsReserved(v.Name):
			wrong = append(wrong, v.Destination+" signs with "+v.Name+", which configures Holdfast itself")
		case !v.IsListed && !delivery.IsVariable(v.Name):
			wrong = append(wrong, v.Destination+" has no name of a variable in its `secrets`, perhaps a pasted secret")
		case !v.IsListed:
			wrong = append(wrong, v.Destination+" names "+v.Name+", which no admin has allowed")
		}
	}
	if len(wrong) > 0 {
		d.add("destination secrets", resultFail, strings.Join(wrong, "; "),
			"apply the destination as an admin, with a variable of its own; change a secret that may have been seen")
	}
}

// examineSubscriptions reports subscriptions that this release can't parse, which get no events.
func (d *doctor) examineSubscriptions(ctx context.Context) {
	names, err := d.store.Subscriptions.Unreadable(ctx)
	if err != nil {
		d.failed("subscriptions", err, "run `holdfast migrate`")
		return
	}
	if len(names) > 0 {
		d.add("subscriptions", resultFail, "can't be read, so nothing is delivered for them: "+strings.Join(names, ", "),
			"`holdfast subscription apply` them again, then `holdfast resend plan NAME --since …` for the time between")
	}
}

// filtersWarn is how long the filters of an event may take: half of what they have in the step that processes it.
const filtersWarn = 10 * time.Millisecond

// examineFilters reports filters that take long together.
func (d *doctor) examineFilters(ctx context.Context) {
	m, took, found, err := d.store.Subscriptions.SlowestFilters(ctx)
	if err != nil {
		d.failed("filters", err, "run `holdfast migrate`")
		return
	}
	if found && took > filtersWarn {
		d.add("filters", resultWarn, fmt.Sprintf("those of subscriptions take %s for an event of %s %s; what takes longer than 20ms "+
			"is matched a second later", took.Round(time.Millisecond), m.Receipt.Provider, m.Type),
			"`holdfast subscription check NAME` shows what a filter costs, and how it can be indexed")
	}
}

// examineOrder reports keys whose head blocks others, and the transactions that delay ordered deliveries.
func (d *doctor) examineOrder(ctx context.Context) {
	l, err := d.store.Outbox.OrderBacklog(ctx)
	if err != nil {
		d.failed("ordered deliveries", err, "run `holdfast migrate`")
		return
	}
	lag, err := d.store.Changes.FeedLag(ctx)
	if err != nil {
		d.failed("ordered deliveries", err, "run `holdfast migrate`")
		return
	}
	d.reportOrder(l, lag.Blockers)
}

func (d *doctor) reportOrder(l delivery.OrderBacklog, blockers []feed.Blocker) {
	if l.OldestUnsorted > behindWarn {
		d.add("ordered deliveries", above(l.OldestUnsorted, behindWarn, behindFail), fmt.Sprintf(
			"have waited for %s for the end of transactions that began earlier: %s", word.Age(l.OldestUnsorted), blockersOf(blockers)),
			"if no transaction is that old, no worker is running; otherwise find out what that process does, and end it "+
				"(`SELECT pg_terminate_backend(pid)`, `ROLLBACK PREPARED`)")
	}
	if l.Blocked > 0 {
		d.add("ordered keys", resultWarn, fmt.Sprintf("%d blocked for more than %s, the oldest for %s, of %s", l.Blocked,
			word.Duration(delivery.OrderBlockedAfter), word.Age(l.OldestHead), strings.Join(l.Examples, ", ")),
			"`holdfast subscription order NAME` shows which delivery fails; skip or cancel it if the others should go first")
	}
}

// examineDispatch reports long overdue deliveries to active destinations, which no worker attempts.
func (d *doctor) examineDispatch(ctx context.Context, stats delivery.Stats) {
	var open int64
	for _, c := range stats.Open {
		open += c.Count
	}
	overdue, fanouts, err := d.store.Outbox.Overdue(ctx)
	if err != nil {
		d.failed("deliveries", err, "run `holdfast migrate`")
		return
	}
	detail := fmt.Sprintf("%d open, %d failed", open, stats.DeadLetters)
	if overdue > 0 {
		detail += fmt.Sprintf("; one has been due for %s", word.Age(overdue))
	}
	if fanouts > 0 {
		detail += "; " + word.Count(fanouts, "event is", "events are") + " still being matched with many subscriptions"
	}
	d.add("deliveries", above(overdue, undueWarn, undueFail), detail,
		"no worker seems to deliver: start one (`holdfast worker`) with HOLDFAST_DELIVERIES_SLOTS=128, the default, instead of 0")
}

// examineClientCertificates reports client certificates of destinations that have expired or soon will, as far as this machine
// can read them.
func (d *doctor) examineClientCertificates(ctx context.Context) {
	all, err := d.store.Subscriptions.Destinations(ctx)
	if err != nil {
		d.failed("client certificates", err, "run `holdfast migrate`")
		return
	}
	d.reportClientCertificates(all, time.Now())
}

func (d *doctor) reportClientCertificates(all []delivery.Destination, now time.Time) {
	endOf := stores.CertificateEnd(d.cfg)
	var texts []string
	found, worst := 0, resultOK
	for _, to := range all {
		if to.HTTP == nil {
			continue
		}
		end, ok := endOf(*to.HTTP)
		if !ok {
			continue
		}
		found++
		if left := end.Sub(now); left < delivery.CertificateWarning {
			worst = worse(worst, either(left > 0, resultFail))
			texts = append(texts, "that of "+to.Name+" "+delivery.CertificateState(end, now))
		}
	}
	if found == 0 {
		return
	}
	if len(texts) == 0 {
		texts = []string{fmt.Sprintf("%d, none expires within %d days", found, int(delivery.CertificateWarning.Hours()/24))}
	}
	d.add("client certificates", worst, strings.Join(texts, "; "),
		"get a new one, and apply the destination with it and its key, or replace the files on every worker")
}

// worse returns a failure if either is one, and else a warning: what is found isn't fine.
func worse(a, b oversight.CheckResult) oversight.CheckResult {
	if a == resultFail || b == resultFail {
		return resultFail
	}
	return resultWarn
}

// examineProxies connects to each proxy, without a target: a wrong password of an HTTP proxy shows only in deliveries.
func (d *doctor) examineProxies(ctx context.Context) {
	list, standard := d.cfg.Proxies()
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	failed := make([]error, len(list))
	var checks sync.WaitGroup
	for i, p := range list {
		checks.Go(func() { failed[i] = p.Check(ctx) })
	}
	checks.Wait()
	for i, p := range list {
		detail := "accepts connections from this host"
		if p == standard {
			detail += "; used by default"
		}
		if failed[i] != nil {
			detail = failed[i].Error()
		}
		d.add("proxy "+p.Name(), either(failed[i] == nil, resultFail), detail,
			"deliveries through it wait, and continue automatically once it works: start it, or correct its URL in HOLDFAST_PROXIES")
	}
}
