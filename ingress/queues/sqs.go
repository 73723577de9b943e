package queues

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"holdfast/internal/broker"
	"holdfast/providers/receiving"
)

const (
	// sqsVisibility is how long the service keeps a message from other readers. It is extended every sqsExtend, until the message
	// is committed. After a crash, messages come again only when it has passed.
	sqsVisibility = 30 * time.Second
	sqsExtend     = 10 * time.Second
	// sqsWait is how long a call waits for messages, and sqsCall how long any call may take besides.
	sqsWait = 20 * time.Second
	sqsCall = 10 * time.Second
	// sqsBatch bounds the messages of a call.
	sqsBatch = 10
	// sqsAnswer bounds a response: messages of 1 MiB whose characters may be escaped.
	sqsAnswer = sqsBatch * 8 << 20
)

type sqsSession struct {
	client *broker.SQS
	queue  receiving.Queue

	mu sync.Mutex
	// unended has the receipt handles of the messages that are being handled.
	unended map[string]struct{}
}

func openSQS(ctx context.Context, q receiving.Queue, c broker.Connection) (session, error) {
	client, err := broker.NewSQS(c, q.Name, sqsAnswer)
	if err != nil {
		return nil, problem(CodeSettings, "url %s", err.Error())
	}
	s := &sqsSession{client: client, queue: q, unended: map[string]struct{}{}}
	if _, err := s.waiting(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *sqsSession) read(ctx context.Context, deliver func(message)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go s.extend(ctx)
	for {
		received, err := s.receive(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return sqsProblem(err, s.queue)
		}
		for _, m := range received {
			s.begin(*m.ReceiptHandle)
		}
		for _, m := range received {
			deliver(s.message(ctx, m))
		}
	}
}

func (s *sqsSession) receive(ctx context.Context) (all []types.Message, err error) {
	ctx, cancel := context.WithTimeout(ctx, sqsWait+sqsCall)
	defer cancel()
	out, err := s.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &s.client.URL, MaxNumberOfMessages: int32(min(s.queue.Prefetch, sqsBatch)),
		WaitTimeSeconds: int32(sqsWait.Seconds()), VisibilityTimeout: int32(sqsVisibility.Seconds()),
		MessageAttributeNames:       []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	if err != nil {
		return nil, err
	}
	for _, m := range out.Messages {
		if m.ReceiptHandle != nil { // without it, the message can't be deleted
			all = append(all, m)
		}
	}
	return all, nil
}

func (s *sqsSession) message(ctx context.Context, m types.Message) (out message) {
	out.Header = make(map[string][]string, len(m.MessageAttributes)+len(sqsHeaders)+1)
	for name, value := range m.MessageAttributes {
		text := string(value.BinaryValue)
		if value.StringValue != nil {
			text = *value.StringValue
		}
		name = strings.ToLower(name)
		out.Header[name] = append(out.Header[name], text)
	}
	for name, attribute := range sqsHeaders {
		set(out.Header, name, m.Attributes[string(attribute)])
	}
	if m.MessageId != nil {
		out.Position = *m.MessageId
	}
	set(out.Header, "sqs-message-id", out.Position)
	if n, err := strconv.Atoi(m.Attributes[string(types.MessageSystemAttributeNameApproximateReceiveCount)]); err == nil {
		out.Redeliveries = n - 1
	}
	if m.Body != nil {
		out.Body = []byte(*m.Body)
	}
	handle := *m.ReceiptHandle
	out.ended = func() { s.end(handle) }
	out.ack = func() error { return s.delete(ctx, handle) }
	return out
}

// sqsHeaders has the attributes of the service that are headers.
var sqsHeaders = map[string]types.MessageSystemAttributeName{
	"sqs-deduplication-id": types.MessageSystemAttributeNameMessageDeduplicationId,
	"sqs-group":            types.MessageSystemAttributeNameMessageGroupId,
	"sqs-receive-count":    types.MessageSystemAttributeNameApproximateReceiveCount,
	"sqs-sequence":         types.MessageSystemAttributeNameSequenceNumber,
	"sqs-timestamp":        types.MessageSystemAttributeNameSentTimestamp,
}

// delete works after ctx has ended, too: the message is committed.
func (s *sqsSession) delete(ctx context.Context, handle string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sqsCall)
	defer cancel()
	_, err := s.client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &s.client.URL, ReceiptHandle: &handle})
	return err
}

func (s *sqsSession) begin(handle string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unended[handle] = struct{}{}
}

func (s *sqsSession) end(handle string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.unended, handle)
}

// extend keeps the messages that are being handled, or wait for it, from other readers. One whose extension fails is delivered
// again, and is a duplicate then.
func (s *sqsSession) extend(ctx context.Context) {
	ticker := time.NewTicker(sqsExtend)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		for some := range slices.Chunk(s.handles(), sqsBatch) {
			s.extendSome(ctx, some)
		}
	}
}

func (s *sqsSession) extendSome(ctx context.Context, handles []string) {
	in := &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &s.client.URL}
	for i, handle := range handles {
		in.Entries = append(in.Entries, types.ChangeMessageVisibilityBatchRequestEntry{
			Id: aws.String(strconv.Itoa(i)), ReceiptHandle: &handle, VisibilityTimeout: int32(sqsVisibility.Seconds()),
		})
	}
	ctx, cancel := context.WithTimeout(ctx, sqsCall)
	defer cancel()
	_, _ = s.client.ChangeMessageVisibilityBatch(ctx, in) // see extend
}

func (s *sqsSession) handles() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for handle := range s.unended {
		all = append(all, handle)
	}
	return all
}

func (s *sqsSession) waiting(ctx context.Context) (int64, error) {
	const waiting = types.QueueAttributeNameApproximateNumberOfMessages
	out, err := s.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &s.client.URL, AttributeNames: []types.QueueAttributeName{waiting},
	})
	if err != nil {
		return -1, sqsProblem(err, s.queue)
	}
	n, err := strconv.ParseInt(out.Attributes[string(waiting)], 10, 64)
	if err != nil {
		return -1, errors.New("the service doesn't say how many messages wait")
	}
	return n, nil
}

func (s *sqsSession) close() { s.client.Close() }

func sqsProblem(err error, q receiving.Queue) error {
	switch {
	case broker.IsMissingInSQS(err):
		return problem(CodeMissing, "there is no queue %s in this account and region", q.Name)
	case broker.IsRefusedBySQS(err):
		_, code := broker.SQSAnswer(err)
		return problem(CodeRefused, "SQS refuses the access key, or what it may do: %.100s", code)
	}
	return fmt.Errorf("read SQS: %w", err)
}
