package importer

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"holdfast/delivery"
	"holdfast/internal/cli"
	"holdfast/internal/movein"
)

// moved is how a system differs from what is here.
type moved struct {
	Endpoints int      `json:"endpoints"`
	Missing   int      `json:"missing"`
	Differ    []string `json:"differ,omitempty"`
	// Here counts selected deliveries that exist, and Undelivered those that don't.
	Here        int64 `json:"deliveries_here"`
	Undelivered int64 `json:"deliveries_missing"`
	left
}

func (r moved) write(w io.Writer) error {
	for _, name := range r.Differ {
		fmt.Fprintln(w, "differs:", cli.Printable(name))
	}
	r.left.write(w)
	return cli.WriteFields(w,
		"endpoints", cli.Number(int64(r.Endpoints)),
		"destinations and subscriptions missing here", cli.Number(int64(r.Missing)),
		"differing", cli.Number(int64(len(r.Differ))),
		"undelivered there, with a delivery here", cli.Number(r.Here),
		"undelivered there, without a delivery here", cli.Number(r.Undelivered),
	)
}

// compare reports how the system differs from what is here.
func (m *move) compare() (r moved, err error) {
	all, err := m.endpoints()
	if err != nil {
		return r, err
	}
	plan, err := m.plan(all)
	r.Endpoints, r.Missing, r.Differ = len(all), plan.Create, plan.Differ
	if err != nil || !m.sends() {
		return r, err
	}
	var here, missing atomic.Int64
	selected, _ := m.selection()
	err = m.eachBatch(selected, func(e movein.Event, eventID string) error {
		if eventID == "" {
			missing.Add(1)
			return nil
		}
		var found struct {
			Status delivery.Status `json:"status"`
		}
		err := m.api.Read(m.c.Context(), cli.Path("deliveries", eventID, e.To), nil, &found)
		var refused *cli.RefusalError
		switch {
		case err == nil && found.Status != delivery.Canceled:
			here.Add(1)
		case err == nil:
			missing.Add(1)
		case errors.As(err, &refused) && refused.Status == http.StatusNotFound:
			missing.Add(1)
		default:
			return err
		}
		return nil
	})
	r.Here, r.Undelivered, r.left = here.Load(), missing.Load()+m.left.NoDestination+m.left.NoPayload, m.left
	return r, err
}
