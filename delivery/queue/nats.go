package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"holdfast/delivery"
	"holdfast/internal/broker"
)

// natsClient publishes to a stream of JetStream. A confirmation names the stream, and says that its servers have the message.
type natsClient struct {
	conn     *nats.Conn
	js       jetstream.JetStream
	to       delivery.NATS
	isClosed atomic.Bool
}

func connectNATS(ctx context.Context, c broker.Connection, to delivery.NATS) (client, error) {
	made := &natsClient{to: to}
	conn, err := broker.ConnectNATS(ctx, c, nats.ClosedHandler(func(*nats.Conn) { made.isClosed.Store(true) }))
	if err != nil {
		return nil, natsFailure(ctx, err)
	}
	made.conn = conn
	if made.js, err = jetstream.New(conn); err != nil {
		conn.Close()
		return nil, err
	}
	return made, nil
}

func (c *natsClient) publish(ctx context.Context, m message) (string, error) {
	out := &nats.Msg{Subject: m.key, Data: m.body, Header: nats.Header{}}
	out.Header[headerContent] = []string{m.contentType}
	if m.attributes != nil { // CloudEvents' SDK for Go reads only this one
		out.Header["ce-datacontenttype"] = []string{m.contentType}
	}
	for _, one := range m.attributes {
		out.Header["ce-"+one.Name] = []string{one.Value}
	}
	for _, one := range m.headers {
		out.Header[one.name] = []string{one.value}
	}
	ack, err := c.js.PublishMsg(ctx, out, jetstream.WithMsgID(m.id), jetstream.WithExpectStream(c.to.Stream))
	switch {
	case err != nil && c.isForbidden(m.key):
		return "", natsFailure(ctx, nats.ErrPermissionViolation)
	case err != nil:
		return "", natsFailure(ctx, err)
	case ack.Stream != c.to.Stream:
		return "", blocked(codeWrongStream, "another stream than nats.stream takes the subject, or a service answers on it")
	case ack.Duplicate:
		return codeDuplicate, nil
	}
	return codeStored, nil
}

// isForbidden reports whether the broker has refused a subject. It says so next to the attempt, which gets no answer.
func (c *natsClient) isForbidden(subject string) bool {
	last := c.conn.LastError()
	return errors.Is(last, nats.ErrPermissionViolation) && strings.HasSuffix(last.Error(), strconv.Quote(subject))
}

// Error codes of JetStream.
const (
	natsStoreFailed  = 10077 // full, among others
	natsTooLarge     = 10054
	natsOtherStream  = 10060
	natsNoResources  = 10023
	natsStreamAbsent = 10059
)

func natsFailure(ctx context.Context, err error) error {
	refused, ok := errors.AsType[*jetstream.APIError](err)
	switch {
	case ok:
		return natsRefusal(refused)
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked),
		errors.Is(err, nats.ErrPermissionViolation):
		return blocked(codeCredentials,
			"the broker refuses the credentials, or they don't allow this subject: check nats.user and the secret")
	case errors.Is(err, nats.ErrSecureConnRequired):
		return blocked("tls", "the broker requires TLS: use tls:// in nats.url")
	case errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, nats.ErrNoResponders):
		return missing(codeUnroutable, "no stream takes the subject, or JetStream isn't enabled")
	case errors.Is(err, nats.ErrMaxPayload):
		return final(codeTooLarge, "the message is larger than the broker's max_payload")
	case ctx.Err() != nil:
		return unconfirmed(ctx)
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrDisconnected), errors.Is(err, nats.ErrStaleConnection):
		return lost()
	case errors.Is(err, nats.ErrTimeout):
		return bad(codeTimeout, "the broker didn't answer in time")
	}
	return err
}

func natsRefusal(refused *jetstream.APIError) error {
	switch int(refused.ErrorCode) {
	case natsStoreFailed:
		switch text := refused.Description; {
		case strings.Contains(text, "per subject"):
			return missing(codeFull, "the stream takes no more messages of this subject")
		case strings.Contains(text, "maximum"):
			return busy(codeFull, "the stream is full")
		}
	case natsTooLarge:
		return final(codeTooLarge, "the message is larger than the stream's max_msg_size")
	case natsOtherStream:
		return blocked(codeWrongStream, "another stream than nats.stream takes the subject")
	case natsNoResources:
		return busy(codeFull, "the broker has no space left for streams")
	case natsStreamAbsent:
		return blocked(codeNoQueue, "nats.stream doesn't exist")
	}
	return bad(codeRefused, fmt.Sprintf("the broker refuses the message (error %d)", refused.ErrorCode))
}

func (c *natsClient) check(ctx context.Context) ([]delivery.Finding, error) {
	stream, err := c.js.Stream(ctx, c.to.Stream)
	if err != nil {
		return nil, natsFailure(ctx, err)
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return nil, natsFailure(ctx, err)
	}
	of := info.Config
	found := []delivery.Finding{{
		About: "stream", OK: true,
		Text: fmt.Sprintf("%s takes %s; %d of %d servers must have written a message, and its IDs are compared for %s", of.Name,
			strings.Join(of.Subjects, ", "), of.Replicas/2+1, max(of.Replicas, 1), of.Duplicates.Round(time.Second)),
	}}
	add := func(text string) { found = append(found, delivery.Finding{About: "stream", Text: text}) }
	if of.NoAck {
		add("it confirms nothing (no_ack), so that no delivery can succeed: set no_ack to false")
	}
	if of.Storage == jetstream.MemoryStorage {
		add("it keeps messages in memory: a restart of its servers loses them")
	}
	if of.PersistMode == jetstream.AsyncPersistMode {
		add("it confirms messages before they are written (persist_mode async)")
	}
	if of.Retention == jetstream.InterestPolicy && info.State.Consumers == 0 {
		add("it has no consumer, and keeps messages only for consumers (retention interest): it confirms them, and drops them")
	}
	if of.MaxMsgsPerSubject > 0 && (of.Discard != jetstream.DiscardNew || !of.DiscardNewPerSubject) {
		add("it drops the oldest message of a subject that has more than max_msgs_per_subject; with discard new and " +
			"discard_new_per_subject, deliveries wait instead")
	}
	if of.Discard == jetstream.DiscardOld && (of.MaxMsgs > 0 || of.MaxBytes > 0) {
		add("when it is full it drops the oldest messages (discard old); with discard new, deliveries wait instead")
	}
	return found, nil
}

// isUsable doesn't ask the connection, which is locked while it writes.
func (c *natsClient) isUsable() bool { return !c.isClosed.Load() }

func (c *natsClient) close() { c.conn.Close() }
