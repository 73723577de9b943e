package soak

import (
	"math"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// operation is one line of a written history. Operations follow each other, unless one is during the next ones.
type operation struct {
	kind       kind
	generation int
	outcome    outcome
	during     int // how many later operations begin before this one ends
}

func written(lines ...operation) (operations []porcupine.Operation) {
	for i, l := range lines {
		o := porcupine.Operation{
			ClientId: i, Input: call{"k", l.kind, l.generation}, Output: l.outcome, Call: int64(10 * i),
			Return: int64(10*(i+l.during) + 5),
		}
		if l.outcome.Answer == unknown {
			o.Return = math.MaxInt64
		}
		operations = append(operations, o)
	}
	return operations
}

// answered is a response to a sender.
func answered(status, id string) outcome {
	return outcome{Answer: acknowledged, Status: status, EventID: id}
}

// sees is a read with these observations, by generation.
func sees(seen ...observation) outcome {
	o := outcome{Answer: acknowledged}
	copy(o.Seen[:], seen)
	return o
}

func delivered(event, webhookID string, confirmed bool) outcome {
	return outcome{Answer: acknowledged, EventID: event, WebhookID: webhookID, Confirmed: confirmed}
}

var (
	ok     = outcome{Answer: acknowledged}
	no     = outcome{Answer: refused}
	silent = outcome{Answer: unknown}

	nothing     = observation{}
	deadA       = observation{EventID: "A", Waits: true}
	doneA       = observation{EventID: "A", Rows: 1, Status: "processed", Effect: true, Reported: 1}
	doneB       = observation{EventID: "B", Rows: 1, Status: "processed", Effect: true, Reported: 1}
	discardedA  = observation{EventID: "A", Decision: "discarded"}
	replacedA   = observation{EventID: "A", Decision: "replaced"}
	expungedA   = observation{EventID: "A", Decision: "expunged"}
	processedA  = operation{kind: finish, outcome: sees(doneA)}
	acceptA     = operation{kind: send, outcome: answered("accepted", "A")}
	deliverA    = operation{kind: deliver, outcome: delivered("A", "w1", true)}
	seenDeadA   = operation{kind: read, outcome: sees(deadA)}
	editA       = operation{kind: edit, outcome: answered("", "B")}
	replacedByB = operation{kind: finish, outcome: sees(replacedA, doneB)}
)

func with(o observation, change func(*observation)) observation {
	change(&o)
	return o
}

func TestRightHistoriesAreAllowed(t *testing.T) {
	t.Parallel()
	for name, history := range map[string][]operation{
		"an event":                {acceptA, deliverA, processedA},
		"nothing sent":            {{kind: finish, outcome: sees(nothing)}},
		"a duplicate":             {acceptA, {kind: send, outcome: answered("processing", "A")}, deliverA, processedA},
		"a redelivery of a death": {acceptA, seenDeadA, acceptA, deliverA, processedA},
		"spooled twice, one ID":   {{kind: send, outcome: answered("spooled", "S")}, acceptA, deliverA, processedA},
		"no answer, and accepted": {{kind: send, outcome: silent}, deliverA, processedA},
		"no answer, not accepted": {{kind: send, outcome: silent}, {kind: finish, outcome: sees(nothing)}},
		"delivered again":         {acceptA, {kind: deliver, outcome: delivered("A", "w1", false)}, deliverA, deliverA, processedA},
		"a dead letter":           {acceptA, seenDeadA, {kind: finish, outcome: sees(deadA)}},
		"discarded":               {acceptA, seenDeadA, {kind: discard, outcome: ok}, acceptA, {kind: finish, outcome: sees(discardedA)}},
		"a discard without an answer": {acceptA, seenDeadA, {kind: discard, outcome: silent}, {kind: read, outcome: sees(deadA)},
			{kind: finish, outcome: sees(discardedA)}},
		"discarded, reopened and replayed": {acceptA, seenDeadA, {kind: discard, outcome: ok}, {kind: reopen, outcome: ok},
			{kind: replay, outcome: ok}, deliverA, processedA},
		"a refused discard": {acceptA, deliverA, {kind: discard, outcome: no}, processedA},
		"edited":            {acceptA, seenDeadA, editA, {kind: deliver, generation: 1, outcome: delivered("B", "w2", true)}, acceptA, replacedByB},
		"a replay during a discard": {acceptA, seenDeadA, {kind: replay, outcome: ok, during: 1}, {kind: discard, outcome: ok},
			{kind: finish, outcome: sees(discardedA)}},
		"expunged": {acceptA, deliverA, {kind: forget, outcome: ok, during: 2}, {kind: send, outcome: answered("accepted", "C")},
			{kind: expunge, outcome: ok}, {kind: finish, outcome: sees(expungedA)}},
	} {
		found, err := check(written(history...))
		require.NoError(t, err, name)
		require.Empty(t, found, name)
	}
}

func TestWrongHistoriesAreFound(t *testing.T) {
	t.Parallel()
	for name, history := range map[string][]operation{
		"accepted twice":                        {acceptA, deliverA, {kind: send, outcome: answered("accepted", "B")}},
		"a duplicate of nothing":                {{kind: send, outcome: answered("processing", "A")}},
		"a duplicate of another event":          {acceptA, {kind: send, outcome: answered("processed", "B")}},
		"lost":                                  {acceptA, {kind: finish, outcome: sees(nothing)}},
		"lost from the inbox":                   {{kind: send, outcome: answered("spooled", "A")}, {kind: finish, outcome: sees(nothing)}},
		"lost after it was stored":              {acceptA, seenDeadA, {kind: read, outcome: sees(nothing)}},
		"stored, but never accepted":            {{kind: finish, outcome: sees(doneA)}},
		"another event has the key":             {acceptA, {kind: read, outcome: sees(doneB)}},
		"two rows":                              {acceptA, deliverA, {kind: finish, outcome: sees(with(doneA, func(o *observation) { o.Rows = 2 }))}},
		"no effect":                             {acceptA, deliverA, {kind: finish, outcome: sees(with(doneA, func(o *observation) { o.Effect = false }))}},
		"reported twice":                        {acceptA, deliverA, {kind: finish, outcome: sees(with(doneA, func(o *observation) { o.Reported = 2 }))}},
		"an effect before it is done":           {acceptA, {kind: read, outcome: sees(with(deadA, func(o *observation) { o.Effect = true }))}},
		"processed, then dead":                  {acceptA, {kind: read, outcome: sees(doneA)}, seenDeadA},
		"reported as processed, and it is dead": {acceptA, {kind: send, outcome: outcome{Answer: acknowledged, Status: "processed", Result: "processed"}}, seenDeadA},
		"a discard forgotten":                   {acceptA, seenDeadA, {kind: discard, outcome: ok}, {kind: read, outcome: sees(doneA)}},
		"a discarded event is delivered":        {acceptA, seenDeadA, {kind: discard, outcome: ok}, deliverA},
		"a discarded event is replayed":         {acceptA, seenDeadA, {kind: discard, outcome: ok}, {kind: replay, outcome: ok}},
		"discarded twice":                       {acceptA, seenDeadA, {kind: discard, outcome: ok}, {kind: discard, outcome: ok}},
		"a processed event is discarded":        {acceptA, deliverA, {kind: discard, outcome: ok}},
		"an edit forgotten":                     {acceptA, seenDeadA, editA, {kind: read, outcome: sees(doneA, doneB)}},
		"edited twice":                          {acceptA, seenDeadA, editA, editA},
		"the original is delivered":             {acceptA, seenDeadA, editA, deliverA},
		"an expunge forgotten":                  {acceptA, {kind: forget, outcome: ok}, {kind: expunge, outcome: ok}, {kind: read, outcome: sees(doneA)}},
		"not delivered":                         {acceptA, processedA},
		"never confirmed":                       {acceptA, {kind: deliver, outcome: delivered("A", "w1", false)}, processedA},
		"two webhook-ids": {acceptA, {kind: deliver, outcome: delivered("A", "w1", false)},
			{kind: deliver, outcome: delivered("A", "w2", true)}, processedA},
	} {
		found, err := check(written(history...))
		require.NoError(t, err, name)
		require.Len(t, found, 1, name)
	}
}

// A violation names the operation that nothing explains.
func TestAViolationIsExplained(t *testing.T) {
	t.Parallel()
	found, err := check(written(acceptA, seenDeadA, operation{kind: discard, outcome: ok}, deliverA))
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, "k", found[0].key)
	require.Equal(t, deliver, found[0].unexplained.Input.(call).Kind)
	require.Contains(t, found[0].String(), "discard r0: acknowledged")
}

// An operation that got no answer ends with the history; others keep their times.
func TestOperationsWithoutAnAnswerAreClosed(t *testing.T) {
	t.Parallel()
	h := newHistory()
	h.begin(call{"k", send, 0})
	h.begin(call{"k", send, 0})(answered("accepted", "A"))
	h.begin(call{"l", send, 0})(silent)
	all := h.close()
	require.Len(t, all, 3)
	for i, o := range all {
		require.Less(t, o.Return, int64(math.MaxInt64))
		require.Equal(t, i == 1, o.Return <= all[2].Call, "%+v", o)
	}
	require.Equal(t, []string{"k", "l"}, h.keys())
}
