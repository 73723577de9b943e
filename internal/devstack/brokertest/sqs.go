package brokertest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/child"
)

// forwardVariable makes a test's program forward connections: it has the address to listen on, and that of the server.
const forwardVariable = "BROKERTEST_FORWARD"

func init() {
	if from, to, ok := strings.Cut(os.Getenv(forwardVariable), "="); ok {
		fmt.Fprintln(os.Stderr, forward(from, to))
		os.Exit(1)
	}
}

func forward(from, to string) error {
	listener, err := net.Listen("tcp", from)
	if err != nil {
		return err
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer func() { _ = conn.Close() }()
			server, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(context.Background(), "tcp", to)
			if err != nil {
				return
			}
			defer func() { _ = server.Close() }()
			go func() { _, _ = io.Copy(server, conn) }()
			_, _ = io.Copy(conn, server)
		}()
	}
}

// SQSAccount is the account of the emulator's queues.
const SQSAccount = "000000000000"

// SQS starts an emulator of SQS, tools/sqs, or skips the test. The emulator keeps messages in memory, so what Kill ends is the
// process in front of it: all connections break, with requests and answers on their way, and what is stored stays, as in the
// service.
func SQS(t *testing.T) *Broker {
	t.Helper()
	emulator := exec.Command(sqsProgram(t))
	child.Prepare(emulator, syscall.SIGKILL, nil)
	out, err := emulator.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, emulator.Start())
	t.Cleanup(func() {
		_ = emulator.Process.Kill()
		_ = emulator.Wait() // it was killed
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	program, err := os.Executable()
	require.NoError(t, err)
	address := local(freePort(t))
	return start(t, address, func() *exec.Cmd {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), forwardVariable+"="+address+"="+strings.TrimPrefix(strings.TrimSpace(url), "http://"))
		return cmd
	})
}

func sqsProgram(t *testing.T) string {
	t.Helper()
	for _, up := range []string{"..", filepath.Join("..", "..")} {
		program, err := filepath.Abs(filepath.Join(up, "bin", "sqs"))
		require.NoError(t, err)
		if _, err := os.Stat(program); err == nil {
			return program
		}
	}
	if os.Getenv("NO_SKIP") != "" {
		t.Fatal("there is no emulator of SQS in bin: make bin/sqs")
	}
	t.Skip("SQS is not tested: there is no emulator in bin: make bin/sqs")
	return ""
}

// SQSQueue returns a client of the emulator, and the URL of a queue there, which it creates if it is missing.
func (b *Broker) SQSQueue(t *testing.T, name string) (*sqs.Client, string) {
	t.Helper()
	client := sqs.New(sqs.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://" + b.Address),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test"}, nil
		}),
	})
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	_, err := client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name})
	require.NoError(t, err)
	return client, "http://" + b.Address + "/" + SQSAccount + "/" + name
}

// ReadSQS returns the messages of a queue of the emulator, and deletes them, until the queue has none, not even one whose
// answer was lost.
func (b *Broker) ReadSQS(t *testing.T, name string) (all []types.Message) {
	t.Helper()
	client, url := b.SQSQueue(t, name)
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	for {
		out, err := client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: &url, MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"}, VisibilityTimeout: 2,
		})
		require.NoError(t, err)
		if len(out.Messages) == 0 && sqsIsEmpty(ctx, t, client, url) {
			return all
		}
		for _, m := range out.Messages {
			_, err := client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: m.ReceiptHandle})
			require.NoError(t, err)
		}
		all = append(all, out.Messages...)
	}
}

// PublishSQS sends messages to a queue of the emulator, with an attribute X-Tenant.
func (b *Broker) PublishSQS(t *testing.T, name string, bodies []string) {
	t.Helper()
	client, url := b.SQSQueue(t, name)
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	for _, body := range bodies {
		_, err := client.SendMessage(ctx, &sqs.SendMessageInput{
			QueueUrl: &url, MessageBody: &body, MessageAttributes: map[string]types.MessageAttributeValue{
				"X-Tenant": {DataType: aws.String("String"), StringValue: aws.String("t1")},
			},
		})
		require.NoError(t, err)
	}
}

func sqsIsEmpty(ctx context.Context, t *testing.T, client *sqs.Client, url string) bool {
	t.Helper()
	out, err := client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	require.NoError(t, err)
	return out.Attributes["ApproximateNumberOfMessages"] == "0" && out.Attributes["ApproximateNumberOfMessagesNotVisible"] == "0"
}
