package lab

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/twmb/franz-go/pkg/kfake"
)

// QueueName is the name of the stream, its subject, and the topic.
const QueueName = "bench"

// StartNATS starts a server of NATS in this process, on loopback, with one stream in a file. stop also removes the file.
func StartNATS(ctx context.Context) (url string, stop func(), err error) {
	dir, err := os.MkdirTemp("", "holdfast-bench-nats-")
	if err != nil {
		return "", nil, err
	}
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: dir})
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	s.Start()
	stop = func() {
		s.Shutdown()
		s.WaitForShutdown()
		_ = os.RemoveAll(dir) // the system removes temporary files anyway
	}
	if !s.ReadyForConnections(10 * time.Second) {
		stop()
		return "", nil, errors.New("start NATS: it isn't ready after 10s")
	}
	if err := createStream(ctx, s.ClientURL()); err != nil {
		stop()
		return "", nil, err
	}
	return s.ClientURL(), stop, nil
}

func createStream(ctx context.Context, url string) error {
	conn, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	_, err = js.CreateStream(ctx, jetstream.StreamConfig{Name: QueueName, Subjects: []string{QueueName}})
	return err
}

// StartKafka starts a stand-in of Kafka in this process, kfake of franz-go, with one topic in memory.
func StartKafka() (url string, stop func(), err error) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(4, QueueName))
	if err != nil {
		return "", nil, err
	}
	return "kafka://" + strings.Join(cluster.ListenAddrs(), ","), cluster.Close, nil
}
