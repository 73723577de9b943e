package queues

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"holdfast/internal/broker"
	"holdfast/providers/receiving"
)

// rabbitSession reads a queue on one channel, and probes on others: a failed probe closes its channel.
type rabbitSession struct {
	conn    *amqp091.Connection
	channel *amqp091.Channel
	queue   receiving.Queue
}

func openRabbitMQ(ctx context.Context, q receiving.Queue, c broker.Connection) (session, error) {
	conn, err := broker.DialRabbitMQ(ctx, c)
	if err != nil {
		return nil, rabbitProblem(err, q)
	}
	s := &rabbitSession{conn: conn, queue: q}
	if _, err = s.waiting(ctx); err == nil {
		s.channel, err = conn.Channel()
	}
	if err == nil {
		err = s.channel.Qos(q.Prefetch, 0, false)
	}
	if err != nil {
		s.close()
		return nil, rabbitProblem(err, q)
	}
	return s, nil
}

func (s *rabbitSession) read(ctx context.Context, deliver func(message)) error {
	broken := s.channel.NotifyClose(make(chan *amqp091.Error, 1))
	deliveries, err := s.channel.ConsumeWithContext(ctx, s.queue.Name, "", false, false, false, false, nil)
	if err != nil {
		return rabbitProblem(err, s.queue)
	}
	for {
		select {
		case d, ok := <-deliveries:
			if !ok {
				return s.ended(broken)
			}
			deliver(rabbitMessage(d))
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ended returns why there are no more deliveries: the channel was closed, or the queue was deleted, which leaves it open.
func (s *rabbitSession) ended(broken <-chan *amqp091.Error) error {
	select {
	case err := <-broken:
		if err != nil {
			return rabbitProblem(err, s.queue)
		}
		return errors.New("the connection was closed")
	case <-time.After(time.Second):
		return problem(CodeMissing, "RabbitMQ has stopped delivering: the queue %s was deleted, or its node is down", s.queue.Name)
	}
}

func rabbitMessage(d amqp091.Delivery) message {
	m := message{ack: func() error { return d.Ack(false) }}
	m.Header, m.Body = tableHeaders(d.Headers), d.Body
	if n, ok := d.Headers["x-delivery-count"].(int64); ok { // quorum queues only
		m.Redeliveries = int(n)
	}
	for name, value := range map[string]string{
		"content-type": d.ContentType, "amqp-content-encoding": d.ContentEncoding, "amqp-exchange": d.Exchange,
		"amqp-routing-key": d.RoutingKey, "amqp-message-id": d.MessageId, "amqp-correlation-id": d.CorrelationId,
		"amqp-type": d.Type, "amqp-app-id": d.AppId, "amqp-redelivered": strconv.FormatBool(d.Redelivered),
	} {
		if name != "content-type" || value != "" {
			set(m.Header, name, value)
		}
	}
	if !d.Timestamp.IsZero() {
		set(m.Header, "amqp-timestamp", d.Timestamp.UTC().Format(time.RFC3339))
	}
	return m
}

// tableHeaders returns the headers whose values are text, numbers, booleans or times.
func tableHeaders(table amqp091.Table) map[string][]string {
	out := make(map[string][]string, len(table)+1)
	for name, value := range table {
		var text string
		switch v := value.(type) {
		case string:
			text = v
		case []byte:
			text = string(v)
		case time.Time:
			text = v.UTC().Format(time.RFC3339)
		case bool, int8, uint8, int16, uint16, int32, uint32, int64, int, float32, float64:
			text = fmt.Sprint(v)
		default:
			continue // x-death and other tables and lists
		}
		name = strings.ToLower(name)
		out[name] = append(out[name], text)
	}
	return out
}

// waiting asks on a new channel.
func (s *rabbitSession) waiting(ctx context.Context) (int64, error) {
	type answer struct {
		n   int64
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		channel, err := s.conn.Channel()
		if err != nil {
			answers <- answer{-1, err}
			return
		}
		defer func() { _ = channel.Close() }()
		q, err := channel.QueueDeclarePassive(s.queue.Name, true, false, false, false, nil)
		answers <- answer{int64(q.Messages), err}
	}()
	select {
	case a := <-answers:
		if a.err != nil {
			return -1, rabbitProblem(a.err, s.queue)
		}
		return a.n, nil
	case <-ctx.Done(): // the library's calls have no deadline
		return -1, errors.New("RabbitMQ doesn't answer")
	}
}

// close needn't wait: what isn't acknowledged is delivered again.
func (s *rabbitSession) close() { _ = s.conn.CloseDeadline(time.Now().Add(2 * time.Second)) }

func rabbitProblem(err error, q receiving.Queue) error {
	var p *ProblemError
	var refused *amqp091.Error
	switch {
	case errors.As(err, &p):
		return p
	case !errors.As(err, &refused):
	case refused.Code == amqp091.NotFound:
		return problem(CodeMissing, "there is no queue %s in this virtual host", q.Name)
	case refused.Code == amqp091.AccessRefused:
		return problem(CodeRefused, "RabbitMQ refuses the user, or what it may do: %s", refused.Reason)
	case refused.Code == amqp091.NotAllowed:
		return problem(CodeRefused, "RabbitMQ refuses the virtual host: %s", refused.Reason)
	case refused.Code == amqp091.PreconditionFailed, refused.Code == amqp091.ResourceLocked, refused.Code == amqp091.NotImplemented:
		return problem(CodeSettings, "RabbitMQ refuses the consumer: %s", refused.Reason)
	}
	return fmt.Errorf("read RabbitMQ: %w", err)
}
