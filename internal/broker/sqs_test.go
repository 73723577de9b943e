package broker_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"holdfast/internal/broker"
)

// The host's name says which region signs the requests, and a queue's URL has no default port.
func TestTheRegionAndTheURLOfAQueue(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]struct{ region, queue string }{
		"https://sqs.eu-central-1.amazonaws.com/1": {"eu-central-1", "https://sqs.eu-central-1.amazonaws.com/1/orders"},
		"https://sqs-fips.us-west-2.api.aws/1":     {"us-west-2", "https://sqs-fips.us-west-2.api.aws/1/orders"},
		"https://vpce-1.sqs.eu-west-1.vpce.amazonaws.com/1": {
			"eu-west-1", "https://vpce-1.sqs.eu-west-1.vpce.amazonaws.com/1/orders",
		},
		"http://127.0.0.1:9324/1": {"us-east-1", "http://127.0.0.1:9324/1/orders"},
		"http://sqs/1":            {"us-east-1", "http://sqs/1/orders"},
	} {
		address, err := broker.ParseAddress("sqs", url)
		require.NoError(t, err)
		client, err := broker.NewSQS(broker.Connection{Address: address}, "orders", 1)
		require.NoError(t, err)
		require.Equal(t, want.region, client.Options().Region, url)
		require.Equal(t, want.queue, client.URL)
	}
	for _, url := range []string{"https://a", "https://a/", "https://a/1/orders", "https://a,b/1"} {
		address, err := broker.ParseAddress("sqs", url)
		require.NoError(t, err)
		_, err = broker.NewSQS(broker.Connection{Address: address}, "orders", 1)
		require.ErrorContains(t, err, "without its name", url)
	}
}

// A server can't fill the memory, and can't send a message with its signature to another server.
func TestAHostileServerOfSQS(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the request was sent again") }))
	t.Cleanup(other.Close)
	var sent int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Amz-Target") == "AmazonSQS.SendMessage" {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
			return
		}
		sent, _ = io.Copy(w, io.LimitReader(zeros{}, 1<<30))
	}))
	t.Cleanup(server.Close)
	address, err := broker.ParseAddress("sqs", server.URL+"/1")
	require.NoError(t, err)
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	client, err := broker.NewSQS(broker.Connection{Address: address, User: "me", Secret: "sesame", Dial: dial}, "orders", 1<<10)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = client.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &client.URL, MessageBody: aws.String("a")})
	require.ErrorContains(t, err, "307")
	_, err = client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &client.URL})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "sesame")
	client.Close()
	server.Close() // waits for the handler
	require.Less(t, sent, int64(1<<28), "only what is read is sent")
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
