package queues

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"holdfast/internal/broker"
	"holdfast/providers/receiving"
)

// The client fetches up to these bytes ahead, or one batch of records if that is larger.
const (
	kafkaFetch          = 8 << 20
	kafkaFetchPartition = 1 << 20
	// kafkaAnswer bounds a response, and so a batch; kafkaBatch bounds a batch that was compressed. A larger message would block its
	// partition, so these are far above event.MaxBody.
	kafkaAnswer = 100 << 20
	kafkaBatch  = 128 << 20
)

// kafkaCommit bounds the commit of a batch's offsets.
const kafkaCommit = 10 * time.Second

type kafkaSession struct {
	client *kgo.Client
	queue  receiving.Queue
}

// openKafka joins the consumer group, which all replicas share. Without join it only connects.
func openKafka(ctx context.Context, q receiving.Queue, c broker.Connection, join bool) (session, error) {
	options, err := broker.KafkaOptions(c, q.Mechanism)
	if err != nil {
		return nil, problem(CodeSettings, "%s", err.Error())
	}
	options = append(options, kgo.FetchMaxBytes(kafkaFetch), kgo.FetchMaxPartitionBytes(kafkaFetchPartition),
		kgo.MaxConcurrentFetches(1), kgo.BrokerMaxReadBytes(kafkaAnswer), kgo.MaxDecompressBatchBytes(kafkaBatch))
	if join {
		options = append(options, kgo.ConsumerGroup(q.Group), kgo.ConsumeTopics(q.Name), kgo.DisableAutoCommit(),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
			kgo.FetchIsolationLevel(kgo.ReadCommitted())) // a record of an aborted transaction is no event
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, problem(CodeSettings, "%s", err.Error())
	}
	s := &kafkaSession{client, q}
	if err := s.checkTopic(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *kafkaSession) checkTopic(ctx context.Context) error {
	topics, err := kadm.NewClient(s.client).ListTopics(ctx, s.queue.Name)
	if err == nil {
		err = topics[s.queue.Name].Err
	}
	if err != nil {
		return kafkaProblem(err, s.queue)
	}
	return nil
}

// read handles one batch of records at a time: a partition has one offset, so a record is acknowledged with all before it.
func (s *kafkaSession) read(ctx context.Context, deliver func(message)) error {
	for {
		fetches := s.client.PollRecords(ctx, s.queue.Prefetch)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var err error
		fetches.EachError(func(_ string, _ int32, one error) { err = errors.Join(err, one) })
		if err != nil {
			return kafkaProblem(err, s.queue)
		}
		if err := s.handle(ctx, fetches.Records(), deliver); err != nil {
			return err
		}
	}
}

func (s *kafkaSession) handle(ctx context.Context, records []*kgo.Record, deliver func(message)) error {
	var ended sync.WaitGroup
	var acknowledged atomic.Int64
	for _, record := range records {
		ended.Add(1)
		m := kafkaMessage(record)
		m.ack = func() error { acknowledged.Add(1); return nil }
		m.ended = ended.Done
		deliver(m)
	}
	ended.Wait()
	if int(acknowledged.Load()) < len(records) {
		return ctx.Err()
	}
	// If another reader has the partition by now, it reads these messages again: they are duplicates.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), kafkaCommit)
	defer cancel()
	if err := s.client.CommitRecords(ctx, records...); err != nil {
		return kafkaProblem(err, s.queue)
	}
	return nil
}

func kafkaMessage(r *kgo.Record) (m message) {
	m.Header, m.Body = make(map[string][]string, len(r.Headers)+4), r.Value
	for _, h := range r.Headers {
		name := strings.ToLower(h.Key)
		m.Header[name] = append(m.Header[name], string(h.Value))
	}
	partition, offset := strconv.Itoa(int(r.Partition)), strconv.FormatInt(r.Offset, 10)
	m.Position = r.Topic + ":" + partition + ":" + offset
	key := ""
	if utf8.Valid(r.Key) {
		key = string(r.Key)
	}
	set(m.Header, "kafka-key", key)
	set(m.Header, "kafka-topic", r.Topic)
	set(m.Header, "kafka-partition", partition)
	set(m.Header, "kafka-offset", offset)
	set(m.Header, "kafka-timestamp", r.Timestamp.UTC().Format(time.RFC3339Nano))
	return m
}

func (s *kafkaSession) waiting(ctx context.Context) (int64, error) {
	if err := s.checkTopic(ctx); err != nil {
		return -1, err
	}
	lags, err := kadm.NewClient(s.client).Lag(ctx, s.queue.Group)
	of, ok := lags[s.queue.Group]
	if err != nil || !ok || of.Error() != nil || of.Lag.IsEmpty() {
		return -1, nil //nolint:nilerr // the group is new, or its user may not describe it
	}
	return of.Lag.Total(), nil
}

func (s *kafkaSession) close() { s.client.Close() }

func kafkaProblem(err error, q receiving.Queue) error {
	var code *kerr.Error
	switch {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		return problem(CodeMissing, "there is no topic %s", q.Name)
	case errors.As(err, &code) && strings.HasSuffix(code.Message, "AUTHORIZATION_FAILED"),
		errors.Is(err, kerr.SaslAuthenticationFailed), errors.Is(err, kerr.UnsupportedSaslMechanism),
		errors.Is(err, kerr.IllegalSaslState):
		return problem(CodeRefused, "Kafka refuses the user, or what it may do: %s", err.Error())
	}
	return fmt.Errorf("read Kafka: %w", err)
}
