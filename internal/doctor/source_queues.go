package doctor

import (
	"context"
	"fmt"

	"holdfast/ingress/queues"
	"holdfast/providers"
)

const sourceQueues = "source queues"

// examineSourceQueues reports the queues that ingresses can't read, from the error log.
func (d *doctor) examineSourceQueues(ctx context.Context) {
	problems, err := d.store.Errors.QueueProblems(ctx)
	if err != nil {
		d.failed(sourceQueues, err, "run `holdfast migrate`")
		return
	}
	for _, p := range problems {
		d.add("source queue "+p.Provider, resultFail, p.Message, queues.Advice(p.Code))
	}
}

// waitingMessages is how many messages in a queue are too many. An alert has the same bound.
const waitingMessages = 10_000

// trySourceQueues connects to each queue from this machine. A missing credential is only a warning: an ingress may have it.
func (d *doctor) trySourceQueues(ctx context.Context, catalogue *providers.Catalogue) {
	for _, q := range catalogue.Queues() {
		bounded, cancel := context.WithTimeout(ctx, doctorTimeout)
		s := queues.Check(bounded, q, d.cfg)
		cancel()
		check, place := "source queue "+q.Provider+", from here", q.Broker+" "+q.Name
		switch {
		case s.Problem != nil && s.Problem.Code == queues.CodeSecret:
			d.add(check, resultWarn, place+": "+s.Problem.Text, "run doctor with the environment of an ingress")
		case s.Problem != nil:
			d.add(check, resultFail, place+": "+s.Problem.Text, queues.Advice(s.Problem.Code))
		case s.Waiting > waitingMessages:
			d.add(check, resultWarn, fmt.Sprintf("%s: %d messages wait", place, s.Waiting),
				"check that an ingress runs, or start more of them; `holdfast_source_queue_waiting` shows whether it falls")
		case s.Waiting < 0:
			d.add(check, resultOK, place+" can be read", "")
		default:
			d.add(check, resultOK, fmt.Sprintf("%s can be read; %d messages wait", place, s.Waiting), "")
		}
	}
}
