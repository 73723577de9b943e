package e2e

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/fakeapi"
)

// An event never arrives, and a recovery finds it: the doctor, the console and the metric behind the alert say so, although the
// provider may still deliver it. Before, they say that everything is here.
func TestAnEventThatNeverArrivedRaisesTheAlarm(t *testing.T) {
	t.Parallel()
	fake := fakeapi.New(fakeapi.Styles()["stripe"])
	i := newShop(t, fake, unscheduled)
	n := i.start(t, "serve")
	time.Sleep(time.Second) // the provider's times are whole seconds, and recovery was switched on when it started
	events := []fakeapi.Event{
		{ID: uniqueID("evt"), Type: "customer.updated", Time: time.Now(), Object: "cus_1"},
		{ID: uniqueID("evt"), Type: "customer.updated", Time: time.Now(), Object: "cus_2"},
	}
	fake.Add(events...)
	body := customerUpdated(events[0].ID, events[0].Object, "Ada", events[0].Time)
	for _, signature := range []string{sign(body, "whsec_of_somebody", time.Now()), sign(body, secret, time.Now())} {
		_, err := n.post("/webhooks/shop", body, "Stripe-Signature", signature)
		require.NoError(t, err)
	}
	i.awaitCount(t, time.Minute, 1, processedEvents)
	i.awaitCount(t, time.Minute, 1, "SELECT coalesce(sum(requests), 0) FROM refused_minutes WHERE provider = 'shop'")
	require.NoError(t, i.examine(t, "recovery", "ok", "no event has been missed"))
	time.Sleep(2 * time.Second) // until the events have settled

	r := i.recovers(t)
	require.Equal(t, []int64{2, 1, 1, 1, 1}, []int64{r.Listed, r.Known, r.Missed, r.Retrying, r.Recovered}, "%+v", r)
	at := events[1].Time.UTC().Format("2006-01-02 15:04")
	says := "1 event at " + at + " UTC never arrived; 1 request of the provider was refused here from then on; 1 recovered"
	require.NoError(t, i.examine(t, "recovery of shop", "warn", "shop: "+says))
	eventually(t, 2*time.Minute, "the metric and the console say so", func() error { // both are cached
		var errs []error
		for path, text := range map[string]string{
			"/metrics": `holdfast_recovery_missed{provider="shop"} 1`, "/console": "shop: " + says, "/console/providers/shop": says,
		} {
			response, err := client.Get(n.operator + path)
			if err != nil {
				return err
			}
			page, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err == nil && !strings.Contains(string(page), text) {
				err = fmt.Errorf("%s lacks %q: %s", path, text, page)
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
}
