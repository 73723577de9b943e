package queues

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"holdfast/event/tally"
	"holdfast/providers/receiving"
)

// metrics has labels of definitions only, never of a message.
type metrics struct{ messages metric.Int64Counter }

func newMetrics(statuses func() []Status) (*metrics, error) {
	meter := otel.Meter("holdfast/queues")
	m := &metrics{}
	var errs [5]error
	m.messages, errs[0] = meter.Int64Counter("holdfast_source_queue_messages_total", metric.WithDescription(
		"Messages of queues, by provider, broker, queue and outcome (accepted, duplicate, conflict, ignored, retried)."))
	var up, waiting, held metric.Int64ObservableGauge
	up, errs[1] = meter.Int64ObservableGauge("holdfast_source_queue_up", metric.WithDescription(
		"1 if messages of the queue are read and committed, otherwise 0, by provider, broker and queue."))
	waiting, errs[2] = meter.Int64ObservableGauge("holdfast_source_queue_waiting", metric.WithDescription(
		"Messages in the queue that no one has read, by provider, broker and queue."))
	held, errs[3] = meter.Int64ObservableGauge("holdfast_source_queue_held", metric.WithDescription(
		"Messages that were read and couldn't be committed yet, by provider, broker and queue."))
	_, errs[4] = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for _, s := range statuses() {
			labels := tally.Labels("provider", s.Provider, "broker", s.Broker, "queue", s.Name)
			isUp := int64(0)
			if s.Problem == nil {
				isUp = 1
			}
			o.ObserveInt64(up, isUp, labels)
			o.ObserveInt64(held, int64(s.Held), labels)
			if s.Waiting >= 0 {
				o.ObserveInt64(waiting, s.Waiting, labels)
			}
		}
		return nil
	}, up, waiting, held)
	return m, errors.Join(errs[:]...)
}

func (m *metrics) count(q receiving.Queue, outcome string) {
	m.messages.Add(context.Background(), 1,
		tally.Labels("provider", q.Provider, "broker", q.Broker, "queue", q.Name, "outcome", outcome))
}
