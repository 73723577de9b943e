package telemetry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

func (t *Telemetry) meter() metric.Meter { return t.Meters.Meter("holdfast/telemetry") }

func by(label, value string) metric.MeasurementOption {
	return metric.WithAttributes(attribute.String(label, value))
}

// register calls observe whenever metrics are collected. An error leaves out the instruments, but no other metric. err is that of
// the instruments' creation.
func (t *Telemetry) register(what string, err error, observe metric.Callback, instruments ...metric.Observable) error {
	if err == nil {
		_, err = t.meter().RegisterCallback(observe, instruments...)
	}
	if err != nil {
		return fmt.Errorf("observe %s: %w", what, err)
	}
	return nil
}

// registerStore is register for values from a store, which is closed before the last export.
func (t *Telemetry) registerStore(what string, err error, observe metric.Callback, instruments ...metric.Observable) error {
	return t.register(what, err, func(ctx context.Context, o metric.Observer) error {
		if t.ending.Load() {
			return nil
		}
		return observe(ctx, o)
	}, instruments...)
}

// ObserveCertificate exports how long a certificate of this process is still valid, labeled by the server that it is for.
func (t *Telemetry) ObserveCertificate(shownTo string, end time.Time) error {
	remaining, err := t.meter().Float64ObservableGauge("holdfast_certificate_remaining_seconds", metric.WithUnit("s"),
		metric.WithDescription("How long the client certificate of this process is still valid, by what it is shown to."))
	return t.register("the certificate for "+shownTo, err, func(_ context.Context, o metric.Observer) error {
		o.ObserveFloat64(remaining, time.Until(end).Seconds(), by("certificate", shownTo))
		return nil
	}, remaining)
}

// ObserveSecrets exports which files with secrets can't be read.
func (t *Telemetry) ObserveSecrets(unreadable func() map[string]bool) error {
	gauge, err := t.meter().Int64ObservableGauge("holdfast_secret_unreadable",
		metric.WithDescription("1 for the file of a secret that is empty, missing or unreadable; else 0."))
	return t.register("secrets", err, func(_ context.Context, o metric.Observer) error {
		for file, is := range unreadable() {
			o.ObserveInt64(gauge, oneIf(is), by("file", file))
		}
		return nil
	}, gauge)
}

// ObserveErrorLog exports the number of entries that the error log has dropped.
func (t *Telemetry) ObserveErrorLog(dropped func() int64) error {
	total, err := t.meter().Int64ObservableCounter("holdfast_error_log_dropped_total",
		metric.WithDescription("Entries of the error log that were lost because it could not be written in time."))
	return t.register("error log", err, func(_ context.Context, o metric.Observer) error {
		o.ObserveInt64(total, dropped())
		return nil
	}, total)
}

// ObserveLines exports the number of lines that the log has dropped.
func (t *Telemetry) ObserveLines(l *Lines) error {
	total, err := t.meter().Int64ObservableCounter("holdfast_log_lines_dropped_total",
		metric.WithDescription("Lines of the log that were dropped because the reader was too slow."))
	return t.register("log", err, func(_ context.Context, o metric.Observer) error {
		o.ObserveInt64(total, l.dropped.Load())
		return nil
	}, total)
}

// ObserveDeadLetters exports the number of open dead letters by provider. The callbacks here and below should cache.
func (t *Telemetry) ObserveDeadLetters(count func(context.Context) (map[string]int64, error)) error {
	open, err := t.meter().Int64ObservableGauge("holdfast_dead_letters_open",
		metric.WithDescription("Dead letters that need an operator, by provider."))
	return t.registerStore("dead letters", err, func(ctx context.Context, o metric.Observer) error {
		counts, err := count(ctx)
		for provider, n := range counts {
			o.ObserveInt64(open, n, by("provider", provider))
		}
		return err
	}, open)
}

// ObserveFields exports how many fields that definitions need have gone or changed their type, by provider.
func (t *Telemetry) ObserveFields(count func(context.Context) (map[string]int64, error)) error {
	changed, err := t.meter().Int64ObservableGauge("holdfast_mapped_fields_changed",
		metric.WithDescription("Fields that a definition needs and that have gone or changed their type in the last 7 days, "+
			"by provider."))
	return t.registerStore("fields of events", err, func(ctx context.Context, o metric.Observer) error {
		counts, err := count(ctx)
		for provider, n := range counts {
			o.ObserveInt64(changed, n, by("provider", provider))
		}
		return err
	}, changed)
}

// ObserveFeed exports the lag of the change feed.
func (t *Telemetry) ObserveFeed(behind func(context.Context) (time.Duration, error)) error {
	lag, err := t.meter().Float64ObservableGauge("holdfast_feed_lag_seconds", metric.WithUnit("s"),
		metric.WithDescription("Age of the first change that the feed can't show yet because an older transaction is open."))
	return t.registerStore("the change feed", err, func(ctx context.Context, o metric.Observer) error {
		d, err := behind(ctx)
		if err == nil {
			o.ObserveFloat64(lag, d.Seconds())
		}
		return err
	}, lag)
}

// DatabaseFigures measure the risks of losing committed data.
type DatabaseFigures struct {
	// Risks has a value for each known risk, by name.
	Risks map[string]bool
	// Behind is how many bytes of WAL a failover would lose, if no standby is synchronous.
	Behind int64
}

// ObserveDatabase exports the durability of the database.
func (t *Telemetry) ObserveDatabase(read func(context.Context) (DatabaseFigures, error)) error {
	risks, first := t.meter().Int64ObservableGauge("holdfast_database_at_risk",
		metric.WithDescription("1 if committed data could be lost for this reason; else 0."))
	behind, second := t.meter().Int64ObservableGauge("holdfast_database_standby_behind_bytes", metric.WithUnit("By"),
		metric.WithDescription("WAL that no asynchronous standby has on its disk: a failover would lose it."))
	return t.registerStore("the database", errors.Join(first, second), func(ctx context.Context, o metric.Observer) error {
		f, err := read(ctx)
		for risk, exists := range f.Risks {
			o.ObserveInt64(risks, oneIf(exists), by("risk", risk))
		}
		if len(f.Risks) > 0 {
			o.ObserveInt64(behind, f.Behind)
		}
		return err
	}, risks, behind)
}

func oneIf(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// ObserveSchedules exports which Temporal schedules are failing, by schedule ID.
func (t *Telemetry) ObserveSchedules(read func(context.Context) (failing map[string]bool, err error)) error {
	gauge, err := t.meter().Int64ObservableGauge("holdfast_schedule_failing",
		metric.WithDescription("1 for a schedule that is paused, missing or overdue, or whose run has failed or hangs; else 0."))
	return t.registerStore("schedules", err, func(ctx context.Context, o metric.Observer) error {
		failing, err := read(ctx)
		for id, is := range failing {
			o.ObserveInt64(gauge, oneIf(is), by("schedule", id))
		}
		return err
	}, gauge)
}

// ListFigures describes a provider's list of events.
type ListFigures struct {
	// Missed counts events that never arrived, and Unknown is the length of the time of which nothing can be known.
	Missed  int64
	Unknown time.Duration
	// Behind is the age of the time until which everything in the list is here.
	Behind time.Duration
}

// ObserveLists exports the gaps that recoveries have found, by provider.
func (t *Telemetry) ObserveLists(read func(context.Context) (map[string]ListFigures, error)) error {
	missed, first := t.meter().Int64ObservableGauge("holdfast_recovery_missed",
		metric.WithDescription("Events that never arrived, found by the recoveries of the last 24 hours, by provider."))
	unknown, second := t.meter().Float64ObservableGauge("holdfast_recovery_unknown_seconds", metric.WithUnit("s"),
		metric.WithDescription("Length of the time of which nothing can be known, found in the last 7 days, by provider."))
	behind, third := t.meter().Float64ObservableGauge("holdfast_recovery_behind_seconds", metric.WithUnit("s"),
		metric.WithDescription("Age of the time until which everything that the provider lists is here, by provider."))
	return t.registerStore("lists of events", errors.Join(first, second, third), func(ctx context.Context, o metric.Observer) error {
		lists, err := read(ctx)
		for provider, f := range lists {
			o.ObserveInt64(missed, f.Missed, by("provider", provider))
			o.ObserveFloat64(unknown, f.Unknown.Seconds(), by("provider", provider))
			o.ObserveFloat64(behind, f.Behind.Seconds(), by("provider", provider))
		}
		return err
	}, missed, unknown, behind)
}

// CountWaiting returns, by the name of a queue, the number of waiting items and the age of the oldest.
type CountWaiting func(context.Context) (waiting map[string]int64, age map[string]time.Duration, err error)

// ObserveInbox exports the number and age of events in the inbox, by lane.
func (t *Telemetry) ObserveInbox(count CountWaiting) error {
	depth, first := t.meter().Int64ObservableGauge("holdfast_inbox_depth",
		metric.WithDescription("Acknowledged events that wait in the inbox, by lane."))
	oldest, second := t.meter().Float64ObservableGauge("holdfast_inbox_oldest_seconds", metric.WithUnit("s"),
		metric.WithDescription("How long the oldest event in the inbox has waited, by lane."))
	return t.observeWaiting("lane", count, depth, oldest, errors.Join(first, second))
}

// ObserveQueues exports the sizes of Temporal's task queues, by queue.
func (t *Telemetry) ObserveQueues(count CountWaiting) error {
	backlog, first := t.meter().Int64ObservableGauge("holdfast_queue_backlog",
		metric.WithDescription("Tasks that wait in a task queue of Temporal, about."))
	oldest, second := t.meter().Float64ObservableGauge("holdfast_queue_oldest_seconds", metric.WithUnit("s"),
		metric.WithDescription("How long the oldest task of a queue has waited."))
	return t.observeWaiting("queue", count, backlog, oldest, errors.Join(first, second))
}

func (t *Telemetry) observeWaiting(
	label string, count CountWaiting, depth metric.Int64Observable, oldest metric.Float64Observable, err error,
) error {
	return t.registerStore("backlog by "+label, err, func(ctx context.Context, o metric.Observer) error {
		waiting, age, err := count(ctx)
		for place, n := range waiting {
			o.ObserveInt64(depth, n, by(label, place))
			o.ObserveFloat64(oldest, age[place].Seconds(), by(label, place))
		}
		return err
	}, depth, oldest)
}

// DeliveryFigures are the waiting deliveries and the destinations' health.
type DeliveryFigures struct {
	// Waiting and Age are the number of open deliveries and the age of the oldest, by status.
	Waiting map[string]int64
	Age     map[string]time.Duration
	// Breakers and States count destinations.
	Breakers, States map[string]int64
	// Failing maps some failing destinations to the state of their breaker. The caller bounds their number.
	Failing map[string]string
	// OldestSecret is the age of the secret that was changed least recently; nil without secrets.
	OldestSecret *time.Duration
	// OldestHead is how long the oldest head of an ordered key with others behind it has been there, OldestUnsorted how long the
	// first ordered delivery has waited for earlier transactions.
	OldestHead, OldestUnsorted time.Duration
}

// ObserveDeliveries exports the waiting deliveries. Only failing destinations have their own series: there may be ten thousand
// of the others.
func (t *Telemetry) ObserveDeliveries(read func(context.Context) (DeliveryFigures, error)) error {
	var errs [8]error
	var waiting, breakers, states, failing metric.Int64ObservableGauge
	var oldest, secret, head, unsorted metric.Float64ObservableGauge
	waiting, errs[0] = t.meter().Int64ObservableGauge("holdfast_deliveries_open",
		metric.WithDescription("Deliveries that have not ended, by status."))
	oldest, errs[1] = t.meter().Float64ObservableGauge("holdfast_deliveries_oldest_seconds", metric.WithUnit("s"),
		metric.WithDescription("How long the oldest open delivery has waited, by status."))
	breakers, errs[2] = t.meter().Int64ObservableGauge("holdfast_destination_breakers",
		metric.WithDescription("Destinations, by the state of their breaker."))
	states, errs[3] = t.meter().Int64ObservableGauge("holdfast_destination_states",
		metric.WithDescription("Destinations, by the state that operators have set."))
	failing, errs[4] = t.meter().Int64ObservableGauge("holdfast_destination_failing",
		metric.WithDescription("1 for each of the 20 destinations that have been failing longest, by name and breaker."))
	secret, errs[5] = t.meter().Float64ObservableGauge("holdfast_destination_secret_oldest_seconds", metric.WithUnit("s"),
		metric.WithDescription("How long ago the secret of a destination was changed that was changed least recently."))
	head, errs[6] = t.meter().Float64ObservableGauge("holdfast_deliveries_order_head_oldest_seconds", metric.WithUnit("s"),
		metric.WithDescription("How long the oldest head of an ordered key has blocked other deliveries of its key."))
	unsorted, errs[7] = t.meter().Float64ObservableGauge("holdfast_deliveries_order_unsorted_oldest_seconds", metric.WithUnit("s"),
		metric.WithDescription("How long the first ordered delivery has waited for the end of transactions that began earlier."))
	return t.registerStore("deliveries", errors.Join(errs[:]...), func(ctx context.Context, o metric.Observer) error {
		f, err := read(ctx)
		for status, n := range f.Waiting {
			o.ObserveInt64(waiting, n, by("status", status))
			o.ObserveFloat64(oldest, f.Age[status].Seconds(), by("status", status))
		}
		for state, n := range f.Breakers {
			o.ObserveInt64(breakers, n, by("breaker", state))
		}
		for state, n := range f.States {
			o.ObserveInt64(states, n, by("state", state))
		}
		for name, breaker := range f.Failing {
			o.ObserveInt64(failing, 1, by("destination", name), by("breaker", breaker))
		}
		if f.OldestSecret != nil {
			o.ObserveFloat64(secret, f.OldestSecret.Seconds())
		}
		o.ObserveFloat64(head, f.OldestHead.Seconds())
		o.ObserveFloat64(unsorted, f.OldestUnsorted.Seconds())
		return err
	}, waiting, oldest, breakers, states, failing, secret, head, unsorted)
}
