package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/semaphore"

	"holdfast/delivery"
	"holdfast/internal/broker"
)

const (
	// maxBuffered and maxBufferedBytes bound the records of a destination that aren't confirmed.
	maxBuffered      = 1000
	maxBufferedBytes = 64 << 20
	// maxBatch is just below the default of a topic's max.message.bytes.
	maxBatch = 1_000_000
	// maxAnswer bounds a response in bytes, whatever the broker says. Those to a producer have a few bytes for each partition.
	maxAnswer = 8 << 20
)

// kafkaClient produces to a topic with acks=all, idempotently: a retry inside the client repeats nothing. A record is forgotten
// when its attempt ends, whatever became of it: kept ones would pile up while the broker is down.
type kafkaClient struct {
	client *kgo.Client
	topic  string
	// shares has maxBuffered permits. A record that must not share a batch, which has one fate, acquires all of them.
	shares *semaphore.Weighted
}

func connectKafka(ctx context.Context, c broker.Connection, to delivery.Destination) (client, error) {
	options, err := broker.KafkaOptions(c, to.Kafka.Mechanism)
	if err != nil {
		return nil, blocked(codeCredentials, err.Error())
	}
	conn, err := kgo.NewClient(append(options,
		kgo.DefaultProduceTopic(to.Kafka.Topic), kgo.RequiredAcks(kgo.AllISRAcks()), kgo.ProducerLinger(0),
		kgo.MaxBufferedRecords(maxBuffered), kgo.MaxBufferedBytes(maxBufferedBytes), kgo.ProducerBatchMaxBytes(maxBatch),
		kgo.BrokerMaxReadBytes(maxAnswer), kgo.FetchMaxBytes(maxAnswer), // the client refuses less than it could fetch
		kgo.UnknownTopicRetries(1), kgo.AllowIdempotentProduceCancellation(),
		// After it, the outcome is unknown: the next attempt has the same ID.
		kgo.RecordDeliveryTimeout(max(time.Duration(cmp.Or(to.Timeout, delivery.DefaultTimeout)), time.Second)),
	)...)
	if err != nil {
		return nil, blocked("address", "the client can't be configured for this destination")
	}
	if err := conn.Ping(ctx); err != nil {
		conn.Close()
		return nil, kafkaFailure(ctx, err)
	}
	return &kafkaClient{client: conn, topic: to.Kafka.Topic, shares: semaphore.NewWeighted(maxBuffered)}, nil
}

func (c *kafkaClient) publish(ctx context.Context, m message) (string, error) {
	err := c.produce(ctx, 1, record(m))
	if errors.Is(err, kerr.MessageTooLarge) && len(m.body) < maxBatch { // the batch was: perhaps because of another record
		err = c.produce(ctx, maxBuffered, record(m))
	}
	return codeStored, kafkaFailure(ctx, err)
}

// produce returns when the broker has confirmed a record, or the context ends. The broker may still store it then.
func (c *kafkaClient) produce(ctx context.Context, shares int64, r *kgo.Record) error {
	if err := c.shares.Acquire(ctx, shares); err != nil {
		return err
	}
	defer c.shares.Release(shares)
	done := make(chan error, 1)
	c.client.Produce(ctx, r, func(_ *kgo.Record, err error) { done <- err })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// record returns a message as Kafka has it. Its value is never nil, which would be a tombstone, and an empty key is none. Its
// time is that of the attempt: retention would delete a record of the event's time early.
func record(m message) *kgo.Record {
	r := &kgo.Record{Value: m.body, Headers: []kgo.RecordHeader{{Key: headerContent, Value: []byte(m.contentType)}}}
	if r.Value == nil {
		r.Value = []byte{}
	}
	if m.key != "" {
		r.Key = []byte(m.key)
	}
	for _, one := range m.attributes {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: "ce_" + one.Name, Value: []byte(one.Value)})
	}
	for _, one := range m.headers {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: one.name, Value: []byte(one.value)})
	}
	return r
}

func kafkaFailure(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, kerr.MessageTooLarge), errors.Is(err, kerr.RecordListTooLarge):
		return final(codeTooLarge, "the record is larger than the topic's max.message.bytes, or than 1 MB")
	case errors.Is(err, kerr.UnknownTopicOrPartition), errors.Is(err, kerr.InvalidTopicException):
		return blocked(codeNoQueue, "kafka.topic doesn't exist, or the credentials don't allow it")
	case errors.Is(err, kerr.SaslAuthenticationFailed), errors.Is(err, kerr.TopicAuthorizationFailed),
		errors.Is(err, kerr.ClusterAuthorizationFailed), errors.Is(err, kerr.UnsupportedSaslMechanism),
		errors.Is(err, kerr.IllegalSaslState), errors.Is(err, kerr.TransactionalIDAuthorizationFailed):
		return blocked(codeCredentials, "the broker refuses the credentials, or they don't allow this topic: check kafka.user, "+
			"kafka.mechanism and the secret")
	case errors.Is(err, kerr.NotEnoughReplicas), errors.Is(err, kerr.NotEnoughReplicasAfterAppend):
		return busy(codeBlocked, "fewer replicas are in sync than the topic's min.insync.replicas")
	case errors.Is(err, kerr.PolicyViolation), errors.Is(err, kerr.InvalidRecord):
		return final(codeRefused, "the broker's rules refuse the record")
	case errors.Is(err, kgo.ErrRecordTimeout), errors.Is(err, kgo.ErrRecordRetries):
		return bad(codeTimeout, "the broker didn't confirm the record in time; it may be stored, and the next attempt repeats it")
	case ctx.Err() != nil:
		return unconfirmed(ctx)
	}
	if errors.Is(err, io.EOF) {
		return bad(codeConnection, "the broker closed the connection without an answer: it may require TLS (kafkas://), or refuse "+
			"kafka.user, kafka.mechanism or the secret")
	}
	if refused, ok := errors.AsType[*kerr.Error](err); ok {
		return bad(codeRefused, "the broker refuses the record: "+refused.Message)
	}
	return err
}

func (c *kafkaClient) check(ctx context.Context) ([]delivery.Finding, error) {
	request := kmsg.NewMetadataRequest()
	one := kmsg.NewMetadataRequestTopic()
	one.Topic = kmsg.StringPtr(c.topic)
	request.Topics = append(request.Topics, one)
	response, err := request.RequestWith(ctx, c.client)
	if err == nil && len(response.Topics) != 1 {
		err = kerr.UnknownTopicOrPartition
	}
	if err == nil {
		err = kerr.ErrorForCode(response.Topics[0].ErrorCode)
	}
	if err != nil {
		return nil, kafkaFailure(ctx, err)
	}
	partitions := response.Topics[0].Partitions
	replicas := 0
	for _, p := range partitions {
		replicas = max(replicas, len(p.Replicas))
	}
	return []delivery.Finding{{
		About: "topic", OK: true, Text: fmt.Sprintf("%s has %d partitions on %d replicas; all replicas in sync confirm a record, at "+
			"least min.insync.replicas", c.topic, len(partitions), replicas),
	}}, nil
}

// isUsable is always true: the client connects again automatically.
func (c *kafkaClient) isUsable() bool { return true }

func (c *kafkaClient) close() { c.client.Close() }
