package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// deadLetter is a dead letter as the operator API lists it.
type deadLetter struct {
	ID         int64  `json:"id"`
	Key        string `json:"key"`
	State      string `json:"state"`
	ReplacedBy string `json:"replaced_by"`
}

// operate replays, discards, reopens, edits and resets dead letters at random until the load ends.
func (r *round) operate(ctx context.Context, rng *rand.Rand) {
	for r.pause(ctx, rng, 300*time.Millisecond) {
		n := r.nodes[rng.IntN(len(r.nodes))]
		var page struct{ Items []deadLetter }
		if n.api(ctx, http.MethodGet, "/dead-letters?provider=soak&limit=30", nil, &page) != acknowledged || len(page.Items) == 0 {
			continue
		}
		d := page.Items[rng.IntN(len(page.Items))]
		key, generation := parseRevision(d.Key)
		if !strings.HasPrefix(key, r.prefix) {
			continue
		}
		if rng.IntN(2) == 0 {
			r.unblock(ctx, d.Key)
		}
		switch dice := rng.IntN(10); {
		case d.State == "discarded" && dice < 5:
			r.reset(ctx, d.Key)
		case d.State == "discarded" && d.ReplacedBy == "":
			r.decide(ctx, n, d, call{key, reopen, generation}, nil)
		case dice < 5:
			r.decide(ctx, n, d, call{key, replay, generation}, nil)
		case dice < 8:
			r.decide(ctx, n, d, call{key, discard, generation}, nil)
		case generation < generations-1:
			r.decide(ctx, n, d, call{key, edit, generation}, map[string]string{"body": bodyOf(key, generation+1)})
		}
	}
}

// decide asks for an action about a dead letter, whatever its state is, and records the answer.
func (r *round) decide(ctx context.Context, n *node, d deadLetter, c call, body map[string]string) {
	request := map[string]string{"reason": "soak"}
	for name, value := range body {
		request[name] = value
	}
	end := r.history.begin(c)
	var made struct {
		EventID string `json:"event_id"`
	}
	o := outcome{Answer: n.api(ctx, http.MethodPost, fmt.Sprintf("/dead-letters/%d/%s", d.ID, c.Kind), request, &made)}
	if c.Kind == edit && o.Answer == acknowledged {
		o.EventID = made.EventID
	}
	end(o)
}

// resetRecent resets runs of recent events, whatever their state, until the load ends.
func (r *round) resetRecent(ctx context.Context, rng *rand.Rand) {
	for r.pause(ctx, rng, 2*time.Second) {
		if key := r.recentKey(rng); key != "" {
			r.reset(ctx, key)
		}
	}
}

// reset makes an event run again, as `temporal workflow reset` does. The history doesn't record it: an open event may be
// processed at any time, and nothing else may change.
func (r *round) reset(ctx context.Context, key string) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	run := &common.WorkflowExecution{WorkflowId: "soak:" + key}
	history := r.client.GetWorkflowHistory(ctx, run.GetWorkflowId(), "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		e, err := history.Next()
		if err != nil {
			return // Temporal is down, or doesn't have the event
		}
		if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			_, err := r.client.ResetWorkflowExecution(ctx, &workflowservice.ResetWorkflowExecutionRequest{
				Namespace: r.temporal.Namespace(), WorkflowExecution: run, WorkflowTaskFinishEventId: e.GetEventId(),
				RequestId: fmt.Sprintf("%s-%d", key, time.Now().UnixNano()), Reason: "soak",
			})
			if err == nil {
				r.count("run reset")
			}
			return
		}
	}
}

// api calls the operator API and decodes its answer. A call that has begun ends even if the load does.
func (n *node) api(ctx context.Context, method, path string, body, into any) answer {
	raw, err := json.Marshal(body)
	if err != nil {
		panic(err) // we built it
	}
	request, err := http.NewRequestWithContext(context.WithoutCancel(ctx), method, n.operator+path, strings.NewReader(string(raw)))
	if err != nil {
		panic(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return unknown
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode/100 == 4:
		return refused
	case response.StatusCode/100 != 2 || json.NewDecoder(response.Body).Decode(into) != nil:
		return unknown
	default:
		return acknowledged
	}
}

// expunge expunges recent events, whatever their state, until the load ends.
func (r *round) expunge(ctx context.Context, rng *rand.Rand) {
	for r.pause(ctx, rng, 6*time.Second) {
		key := r.recentKey(rng)
		if key == "" {
			continue
		}
		seen, err := r.observe(ctx, key)
		if err != nil {
			continue
		}
		for g := generations - 1; g >= 0; g-- {
			if o := seen[0][g]; o.EventID != "" && (o.Waits || o.Status == string(processed)) {
				r.expungeEvent(key, g, o.EventID)
				break
			}
		}
	}
}

func (r *round) expungeEvent(key string, generation int, id string) {
	forgotten, expunged := r.history.begin(call{key, forget, generation}), r.history.begin(call{key, expunge, generation})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	o := outcome{Answer: acknowledged}
	if r.command(ctx, "purge", "--expunge", id, "--reason", "soak").Run() != nil {
		o.Answer = unknown
	}
	forgotten(o)
	expunged(o)
}

// reportedSince counts how often the change feed says that each event was processed, and returns the next position.
func (n *node) reportedSince(ctx context.Context, after string) (reported map[string]int, next string, err error) {
	reported = map[string]int{}
	for {
		var page struct {
			Items []struct{ Action, ID string }
			Next  string
			More  bool
		}
		query := url.Values{"after": {after}, "subject": {"event"}, "provider": {"soak"}, "limit": {"200"}}
		if a := n.api(ctx, http.MethodGet, "/changes?"+query.Encode(), nil, &page); a != acknowledged {
			return nil, "", fmt.Errorf("read changes: %s", a)
		}
		for _, c := range page.Items {
			if c.Action == string(processed) {
				reported[c.ID]++
			}
		}
		if after = page.Next; !page.More {
			return reported, after, nil
		}
	}
}
