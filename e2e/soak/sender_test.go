package soak

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// client has the timeout of an impatient sender.
var client = &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// recent is how many of the newest keys are sent again, read and expunged.
const recent = 40

// send sends new events, and recent ones again, until the load ends.
func (r *round) send(ctx context.Context, rng *rand.Rand) {
	for r.pause(ctx, rng, 350*time.Millisecond) {
		key := r.recentKey(rng)
		if key == "" || rng.IntN(100) < 45 {
			key = r.newKey()
			if what := []string{"row", "entity", "", "", "", "", ""}[rng.IntN(7)]; what != "" {
				r.block(ctx, key, what)
			}
		}
		if rng.IntN(10) == 0 { // through both ingresses at once
			r.senders.Go(func() { r.post(key, r.nodes[0]) })
			r.post(key, r.nodes[1])
			continue
		}
		r.post(key, r.nodes[rng.IntN(len(r.nodes))])
	}
}

// post sends an event once and records the answer.
func (r *round) post(key string, to *node) {
	end := r.history.begin(call{key, send, 0})
	request, err := http.NewRequest(http.MethodPost, to.ingress+"/webhooks/soak", strings.NewReader(bodyOf(key, 0)))
	if err != nil {
		panic(err) // we built it
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Soak-Token", token)
	response, err := client.Do(request)
	if err != nil {
		end(outcome{Answer: unknown})
		return
	}
	defer response.Body.Close()
	end(readResponse(response))
}

// readResponse reads an answer. One that isn't a 2xx promises nothing: the event may be accepted nevertheless, even later.
func readResponse(response *http.Response) outcome {
	var body struct {
		Events []struct {
			EventID string `json:"event_id"`
			Status  string `json:"status"`
			Outcome string `json:"outcome"`
		} `json:"events"`
	}
	if response.StatusCode/100 != 2 || json.NewDecoder(response.Body).Decode(&body) != nil || len(body.Events) != 1 {
		return outcome{Answer: unknown}
	}
	e := body.Events[0]
	return outcome{Answer: acknowledged, EventID: e.EventID, Status: e.Status, Result: e.Outcome}
}
