package brokertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"cloud.google.com/go/pubsub/v2/pstest"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
)

// pubSubVariable makes a test's program a stand-in for Google Pub/Sub: it has the port, the name and the file.
const pubSubVariable = "BROKERTEST_PUBSUB"

// pubSubMessage bounds a request in bytes: more than the 10 MB that Pub/Sub takes.
const pubSubMessage = 16 << 20

func init() {
	if settings := os.Getenv(pubSubVariable); settings != "" {
		fmt.Fprintln(os.Stderr, servePubSub(strings.SplitN(settings, ":", 3)))
		os.Exit(1)
	}
}

// PubSub starts a stand-in for Google Pub/Sub in a separate process, with the topic projects/test/topics/NAME and the
// subscription projects/test/subscriptions/NAME. Once it is killed and started again, the subscription delivers all messages
// again.
func PubSub(t *testing.T, name string) *Broker {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	port, file := freePort(t), filepath.Join(folder(t), "messages")
	return start(t, local(port), func() *exec.Cmd {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d:%s:%s", pubSubVariable, port, name, file))
		return cmd
	})
}

// servePubSub returns when it fails.
func servePubSub(settings []string) error {
	port, err := strconv.Atoi(settings[0])
	if err != nil {
		return err
	}
	service := &pstest.NewServerWithAddress(local(0)).GServer                       // its own listener takes no more than 4 MB
	file, err := os.OpenFile(settings[2], os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600) //nolint:gosec // the test names it
	if err == nil {
		err = restore(service, settings[1], file)
	}
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", local(port))
	if err != nil {
		return err
	}
	saved := json.NewEncoder(file) // one write for each message, so that a killed process leaves no half of one
	s := grpc.NewServer(grpc.MaxRecvMsgSize(pubSubMessage), grpc.UnaryInterceptor(
		func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
			if publish, ok := request.(*pubsubpb.PublishRequest); ok {
				if err := saved.Encode(publish.GetMessages()); err != nil {
					return nil, err
				}
			}
			return handle(ctx, request)
		}))
	pubsubpb.RegisterPublisherServer(s, service)
	pubsubpb.RegisterSubscriberServer(s, service)
	return s.Serve(listener)
}

// restore creates the topic and the subscription, and publishes the messages of a file.
func restore(service *pstest.GServer, name string, file *os.File) error {
	ctx, topic := context.Background(), "projects/test/topics/"+name
	if _, err := service.CreateTopic(ctx, &pubsubpb.Topic{Name: topic}); err != nil {
		return err
	}
	_, err := service.CreateSubscription(ctx, &pubsubpb.Subscription{
		Name: "projects/test/subscriptions/" + name, Topic: topic,
	})
	for saved := json.NewDecoder(file); err == nil && saved.More(); {
		var messages []*pubsubpb.PubsubMessage
		if err = saved.Decode(&messages); err == nil {
			_, err = service.Publish(ctx, &pubsubpb.PublishRequest{Topic: topic, Messages: messages})
		}
	}
	return err
}
