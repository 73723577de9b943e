package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"holdfast/event/feed"
	"holdfast/internal/word"
)

// The lag of the change feed that is a warning, and the lag that is a failure.
const (
	behindWarn = time.Minute
	behindFail = 15 * time.Minute
)

// examineFeed names the transactions that block the change feed.
func (d *doctor) examineFeed(ctx context.Context) {
	lag, err := d.store.Changes.FeedLag(ctx)
	if err != nil {
		d.failed("change feed", err, "run `holdfast migrate`")
		return
	}
	d.reportFeed(lag)
}

func (d *doctor) reportFeed(lag feed.Lag) {
	detail := fmt.Sprintf("is %s behind", word.Age(lag.Behind))
	if lag.Behind > behindWarn {
		detail += "; it waits for " + blockersOf(lag.Blockers)
	}
	d.add("change feed", above(lag.Behind, behindWarn, behindFail), detail,
		"a transaction that writes, in any database of the cluster, holds it back until it ends: find out what that process does, "+
			"and end it (`SELECT pg_terminate_backend(pid)`, `ROLLBACK PREPARED`)")
}

func blockersOf(all []feed.Blocker) string {
	if len(all) == 0 {
		return "a transaction that this role may not see (pg_read_all_stats lets it)"
	}
	var names []string
	for _, h := range all {
		name := fmt.Sprintf("process %d (%s of %s in %s", h.PID, h.Application, h.Role, h.Database)
		if h.Prepared != "" {
			name = fmt.Sprintf("prepared transaction %q (of %s in %s", h.Prepared, h.Role, h.Database)
		}
		names = append(names, name+" since "+h.Since.UTC().Format(time.RFC3339)+")")
	}
	return strings.Join(names, ", ")
}
