package queues

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"holdfast/internal/broker"
	"holdfast/providers/receiving"
)

// natsAckWait is how long the server waits for the acknowledgement of a message before it delivers it again. It is longer than
// maxRetry, after which a message that is still handled is reported to it.
const natsAckWait = time.Minute

type natsSession struct {
	conn     *nats.Conn
	consumer jetstream.Consumer
	prefetch int
}

func openNATS(ctx context.Context, q receiving.Queue, c broker.Connection, create bool) (session, error) {
	conn, err := broker.ConnectNATS(ctx, c)
	if err != nil {
		return nil, natsProblem(err, q)
	}
	consumer, err := natsConsumer(ctx, q, conn, create)
	if err != nil {
		conn.Close()
		return nil, natsProblem(err, q)
	}
	return &natsSession{conn, consumer, q.Prefetch}, nil
}

// natsConsumer returns the durable consumer, which all replicas share. If the stream has none, it is created; without create, the
// result is nil.
func natsConsumer(ctx context.Context, q receiving.Queue, conn *nats.Conn, create bool) (jetstream.Consumer, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	stream, err := js.Stream(ctx, q.Name)
	if err != nil {
		return nil, err
	}
	consumer, err := stream.Consumer(ctx, q.Group)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		wanted := jetstream.ConsumerConfig{
			Durable: q.Group, AckPolicy: jetstream.AckExplicitPolicy, DeliverPolicy: jetstream.DeliverAllPolicy, MaxDeliver: -1,
			AckWait: natsAckWait, FilterSubjects: q.Subjects,
		}
		if !create {
			return nil, nil //nolint:nilnil // for waiting, which returns -1 then
		}
		return stream.CreateConsumer(ctx, wanted)
	}
	if err != nil {
		return nil, err
	}
	return consumer, checkConsumer(q, consumer.CachedInfo().Config)
}

// checkConsumer refuses a consumer that would lose messages, or that reads other subjects than the definition names.
func checkConsumer(q receiving.Queue, c jetstream.ConsumerConfig) error {
	subjects := c.FilterSubjects
	if c.FilterSubject != "" {
		subjects = []string{c.FilterSubject}
	}
	switch {
	case c.AckPolicy != jetstream.AckExplicitPolicy:
		return problem(CodeSettings, "the consumer %s doesn't have the acknowledgement policy explicit", q.Group)
	case c.MaxDeliver > 0:
		return problem(CodeSettings, "the consumer %s gives up a message after %d deliveries, which would lose it during an outage: "+
			"set its max deliver to -1", q.Group, c.MaxDeliver)
	case !slices.Equal(subjects, q.Subjects) && len(subjects)+len(q.Subjects) > 0:
		return problem(CodeSettings, "the consumer %s reads the subjects %q, and the definition names %q", q.Group, subjects,
			q.Subjects)
	}
	return nil
}

func (s *natsSession) read(ctx context.Context, deliver func(message)) error {
	messages, err := s.consumer.Messages(jetstream.PullMaxMessages(s.prefetch))
	if err != nil {
		return natsProblem(err, receiving.Queue{})
	}
	defer messages.Stop()
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return natsProblem(err, receiving.Queue{})
		}
		deliver(natsMessage(m))
	}
}

func natsMessage(m jetstream.Msg) message {
	out := message{ack: m.Ack, hold: func() { _ = m.InProgress() }} // without it, the message is delivered again
	out.Header, out.Body = lowered(m.Headers()), m.Data()
	set(out.Header, "nats-subject", m.Subject())
	if meta, err := m.Metadata(); err == nil {
		sequence := strconv.FormatUint(meta.Sequence.Stream, 10)
		out.Position, out.Redeliveries = meta.Stream+":"+sequence, int(meta.NumDelivered)-1
		set(out.Header, "nats-stream", meta.Stream)
		set(out.Header, "nats-sequence", sequence)
		set(out.Header, "nats-time", meta.Timestamp.UTC().Format(time.RFC3339Nano))
	}
	return out
}

func (s *natsSession) waiting(ctx context.Context) (int64, error) {
	if s.consumer == nil {
		return -1, nil
	}
	info, err := s.consumer.Info(ctx)
	if err != nil {
		return -1, natsProblem(err, receiving.Queue{})
	}
	return int64(info.NumPending), nil
}

func (s *natsSession) close() {
	_ = s.conn.FlushTimeout(time.Second) // acknowledgements; without them the messages come again
	s.conn.Close()
}

func natsProblem(err error, q receiving.Queue) error {
	var p *ProblemError
	text := strings.ToLower(err.Error())
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrPermissionViolation),
		strings.Contains(text, "authorization violation"), strings.Contains(text, "permissions violation"):
		return problem(CodeRefused, "the server refuses the user, or what it may do: %s", err.Error())
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return problem(CodeMissing, "there is no stream %s", q.Name)
	case errors.Is(err, jetstream.ErrConsumerNotFound), errors.Is(err, jetstream.ErrConsumerDeleted):
		return problem(CodeMissing, "the consumer was deleted")
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return problem(CodeSettings, "JetStream is off for this server or account")
	}
	return fmt.Errorf("read NATS: %w", err)
}

// lowered returns headers by their names in lower case.
func lowered(headers map[string][]string) map[string][]string {
	out := make(map[string][]string, len(headers)+1)
	for name, values := range headers {
		name = strings.ToLower(name)
		out[name] = append(out[name], values...)
	}
	return out
}

// set replaces a header with what the broker says.
func set(headers map[string][]string, name, value string) {
	delete(headers, name)
	if value != "" {
		headers[name] = []string{value}
	}
}
