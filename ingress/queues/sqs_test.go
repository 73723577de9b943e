package queues_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/require"

	"holdfast/ingress/queues"
	"holdfast/internal/devstack/brokertest"
	"holdfast/providers/receiving"
)

func sqsQueue(b *brokertest.Broker, name string) receiving.Queue {
	q := queueOf("sqs", "http://"+b.Address+"/"+brokertest.SQSAccount, name)
	q.User, q.Secrets = "AKIAME", "SQS_SECRET"
	return q
}

func sqsCommits() *commits {
	return &commits{secrets: map[string]string{"SQS_SECRET": "sesame-sesame"}}
}

// hiddenInSQS returns how many messages of a queue are kept from other readers.
func hiddenInSQS(t *testing.T, b *brokertest.Broker, name string) string {
	t.Helper()
	const hidden = types.QueueAttributeNameApproximateNumberOfMessagesNotVisible
	client, url := b.SQSQueue(t, name)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &url, AttributeNames: []types.QueueAttributeName{hidden},
	})
	require.NoError(t, err)
	return out.Attributes[string(hidden)]
}

// Messages of a queue are committed, and deleted only then. While commits fail, only the prefetch and ten more are read, and they
// stay invisible to other readers for longer than the visibility timeout. Attributes are headers.
func TestAMessageOfSQSIsDeletedAfterItsCommit(t *testing.T) {
	t.Parallel()
	b, c := brokertest.SQS(t), sqsCommits()
	c.fail(errDown)
	b.PublishSQS(t, "orders", numbered(0, 100))
	q := sqsQueue(b, "orders")
	c.read(t, q)
	awaitWaiting(t, q, c, int64(100-2*q.Prefetch))
	require.Contains(t, c.codes(), queues.CodeHeld)
	other := sqsCommits() // would get what becomes visible
	<-time.After(35 * time.Second)
	require.Equal(t, "16", hiddenInSQS(t, b, "orders"))
	stop := other.read(t, q)
	require.Eventually(t, func() bool { return len(other.distinct()) == 84 }, patience, 20*time.Millisecond)
	stop()

	c.fail(nil)
	require.Eventually(t, func() bool { return len(c.distinct()) == 16 }, patience, 20*time.Millisecond)
	require.Eventually(t, func() bool { return hiddenInSQS(t, b, "orders") == "0" }, patience, 20*time.Millisecond)
	awaitWaiting(t, q, c, 0)
	_, committed := c.count()
	require.Equal(t, 16, committed, "none was delivered again")
	m := c.last()
	require.Equal(t, []string{"t1"}, m.Header["x-tenant"])
	require.Equal(t, []string{"1"}, m.Header["sqs-receive-count"])
	require.Equal(t, []string{m.Position}, m.Header["sqs-message-id"])
	require.NotEmpty(t, m.Position)
}

// A message that the ingress can't handle at all is passed on as a whole, and those behind it are read. While messages are
// published, all connections break twice, and one of two readers stops: no message is lost.
func TestNoMessageOfSQSIsLostByKills(t *testing.T) {
	t.Parallel()
	b, c := brokertest.SQS(t), sqsCommits()
	c.poison = numbered(7, 8)[0]
	b.PublishSQS(t, "orders", numbered(0, 10))
	q := sqsQueue(b, "orders")
	stop := c.read(t, q)
	c.read(t, q)
	for n := 1; n <= 2; n++ {
		b.PublishSQS(t, "orders", numbered(n*200, n*200+200))
		b.Kill(t)
		require.Eventually(t, func() bool { return slices.Contains(c.codes(), queues.CodeUnreachable) }, patience, 20*time.Millisecond)
		b.Start(t)
		stop()
	}
	awaitAll(t, c, append(numbered(0, 10), numbered(200, 600)...))
	require.Eventually(t, func() bool { return hiddenInSQS(t, b, "orders") == "0" }, patience, 20*time.Millisecond)
}

// What keeps a queue from being read is reported with a code: no server, no queue, a URL, an access key.
func TestProblemsOfSQS(t *testing.T) {
	t.Parallel()
	b, c := brokertest.SQS(t), sqsCommits()
	q := sqsQueue(b, "orders")
	require.Equal(t, queues.CodeMissing, c.problem(t, q))
	b.SQSQueue(t, "orders")
	require.Empty(t, c.problem(t, q))
	q.URL = "http://127.0.0.1:1/" + brokertest.SQSAccount
	require.Equal(t, queues.CodeUnreachable, c.problem(t, q))
	q.URL = "http://" + b.Address
	require.Equal(t, queues.CodeSettings, c.problem(t, q))

	// The emulator checks no signature.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"__type":"com.amazon.coral.service#InvalidClientTokenId","message":"m"}`)
	}))
	t.Cleanup(server.Close)
	q.URL = server.URL + "/" + brokertest.SQSAccount
	require.Equal(t, queues.CodeRefused, c.problem(t, q))
}

// A message says how often it was delivered before, by any process.
func TestSQSCountsRedeliveries(t *testing.T) {
	t.Parallel()
	b, c := brokertest.SQS(t), sqsCommits()
	b.PublishSQS(t, "orders", numbered(0, 1))
	client, url := b.SQSQueue(t, "orders")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for range 2 {
		received, err := client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: 5})
		require.NoError(t, err)
		require.Len(t, received.Messages, 1)
		_, err = client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
			QueueUrl: &url, ReceiptHandle: received.Messages[0].ReceiptHandle, VisibilityTimeout: 0,
		})
		require.NoError(t, err)
	}
	c.read(t, sqsQueue(b, "orders"))
	awaitAll(t, c, numbered(0, 1))
	require.Equal(t, 2, c.last().Redeliveries)
}
