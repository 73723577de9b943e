package queues

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"holdfast/internal/broker"
	"holdfast/providers/receiving"
)

const (
	// pubsubLease is how long the service waits for the acknowledgement of a message before it delivers it again. It is longer than
	// maxRetry, after which a message that is still handled gets a new lease.
	pubsubLease = time.Minute
	// pubsubBytes bounds the messages that are read and not acknowledged, next to their number.
	pubsubBytes = 64 << 20
	// pubsubCall bounds an acknowledgement.
	pubsubCall = 10 * time.Second
	// The service ends each stream after a while. One that lasted for this time is opened again without a report.
	pubsubStream = time.Second
)

type pubsubSession struct {
	conn   *broker.PubSub
	client pubsubpb.SubscriberClient
	queue  receiving.Queue
}

// openPubSub checks a subscription, which all replicas share.
func openPubSub(ctx context.Context, q receiving.Queue, c broker.Connection) (session, error) {
	conn, err := broker.DialPubSub(c)
	if err != nil {
		return nil, problem(CodeSecret, "%s", err.Error())
	}
	s := &pubsubSession{conn, pubsubpb.NewSubscriberClient(conn), q}
	if _, err := s.waiting(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *pubsubSession) read(ctx context.Context, deliver func(message)) error {
	for {
		began := time.Now()
		err := s.stream(ctx, deliver)
		hasEnded := errors.Is(err, io.EOF) || status.Code(err) == codes.Unavailable
		if ctx.Err() != nil || !hasEnded || time.Since(began) < pubsubStream {
			return s.problem(err)
		}
	}
}

// stream delivers messages until the stream ends. The service sends no more than are in flight at a time.
func (s *pubsubSession) stream(ctx context.Context, deliver func(message)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.client.StreamingPull(ctx)
	if err != nil {
		return err
	}
	_ = stream.Send(&pubsubpb.StreamingPullRequest{ // Recv returns why it fails
		Subscription: s.queue.Name, StreamAckDeadlineSeconds: int32(pubsubLease.Seconds()),
		MaxOutstandingMessages: int64(s.queue.Prefetch), MaxOutstandingBytes: pubsubBytes,
	})
	for {
		response, err := stream.Recv()
		if err != nil {
			return err
		}
		for _, received := range response.GetReceivedMessages() {
			deliver(s.message(received))
		}
	}
}

func (s *pubsubSession) message(received *pubsubpb.ReceivedMessage) message {
	ids, m := []string{received.GetAckId()}, received.GetMessage()
	out := message{
		ack: func() error {
			ctx, cancel := context.WithTimeout(context.Background(), pubsubCall)
			defer cancel()
			_, err := s.client.Acknowledge(ctx, &pubsubpb.AcknowledgeRequest{Subscription: s.queue.Name, AckIds: ids})
			return err
		},
		hold: func() {
			ctx, cancel := context.WithTimeout(context.Background(), pubsubCall)
			defer cancel()
			_, _ = s.client.ModifyAckDeadline(ctx, &pubsubpb.ModifyAckDeadlineRequest{ // without it, the message is delivered again
				Subscription: s.queue.Name, AckIds: ids, AckDeadlineSeconds: int32(pubsubLease.Seconds()),
			})
		},
	}
	out.Header, out.Body = make(map[string][]string, len(m.GetAttributes())+4), m.GetData()
	for name, value := range m.GetAttributes() {
		name = strings.ToLower(name)
		out.Header[name] = append(out.Header[name], value)
	}
	out.Position = s.queue.Name + ":" + m.GetMessageId()
	set(out.Header, "pubsub-message-id", m.GetMessageId())
	set(out.Header, "pubsub-ordering-key", m.GetOrderingKey())
	set(out.Header, "pubsub-publish-time", m.GetPublishTime().AsTime().Format(time.RFC3339Nano))
	attempt := ""
	if n := received.GetDeliveryAttempt(); n > 0 { // it is only counted for a dead letter policy
		attempt, out.Redeliveries = strconv.Itoa(int(n)), int(n)-1
	}
	set(out.Header, "pubsub-delivery-attempt", attempt)
	return out
}

// waiting checks the subscription. Its interface doesn't say how many messages wait. A user who may only read messages may not
// read the subscription.
func (s *pubsubSession) waiting(ctx context.Context) (int64, error) {
	of, err := s.client.GetSubscription(ctx, &pubsubpb.GetSubscriptionRequest{Subscription: s.queue.Name})
	switch {
	case status.Code(err) == codes.PermissionDenied:
		return -1, nil
	case err != nil:
		return -1, s.problem(err)
	case of.GetDetached():
		return -1, problem(CodeSettings, "the subscription %s is detached from its topic", s.queue.Name)
	case of.GetPushConfig().GetPushEndpoint() != "", of.GetBigqueryConfig() != nil, of.GetCloudStorageConfig() != nil:
		return -1, problem(CodeSettings, "the subscription %s delivers elsewhere: set its delivery type to pull", s.queue.Name)
	}
	return -1, nil
}

// close needn't wait: what isn't acknowledged is delivered again.
func (s *pubsubSession) close() { _ = s.conn.Close() }

func (s *pubsubSession) problem(err error) error {
	text := status.Convert(err).Message()
	switch status.Code(err) {
	case codes.NotFound:
		return problem(CodeMissing, "there is no subscription %s", s.queue.Name)
	case codes.Unauthenticated, codes.PermissionDenied:
		return problem(CodeRefused, "Pub/Sub refuses the credentials, or what they may do: %s", text)
	case codes.InvalidArgument, codes.FailedPrecondition:
		return problem(CodeSettings, "Pub/Sub refuses to deliver messages: %s", text)
	case codes.Unavailable:
		if cause := s.conn.Failure(); cause != nil {
			err = cause
		}
		fallthrough
	default:
		return fmt.Errorf("read Pub/Sub: %w", err)
	}
}
