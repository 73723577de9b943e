package queue_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/delivery/webhook"
	"holdfast/internal/devstack/brokertest"
)

// startS3 starts versitygw with a bucket "webhooks".
func startS3(t *testing.T) (host string) {
	t.Helper()
	program, err := exec.LookPath("versitygw")
	if err != nil {
		program, err = exec.LookPath("../../bin/versitygw")
	}
	if err != nil {
		t.Skip("S3 is not tested: there is no versitygw on the path or in bin: make bin/versitygw")
	}
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "webhooks"), 0o700))
	host = brokertest.FreeAddress(t)
	server := exec.Command(program, "--access", "me", "--secret", "sesame-sesame", "--port", host, "posix", root)
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", host)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, time.Minute, 20*time.Millisecond)
	return host
}

func TestABucketConfirmsADelivery(t *testing.T) {
	t.Parallel()
	host := startS3(t)
	to := delivery.Target{Secrets: []string{"sesame-sesame"}, Destination: delivery.Destination{ID: 4, Name: "lake", S3: &delivery.S3{
		Connection: delivery.Connection{URL: "http://" + host, User: "me"}, Bucket: "webhooks", Region: "us-east-1",
	}}}
	to.Subscription.Body = delivery.BodyCloudEventsBinary
	s := newSender(t, webhook.SenderOptions{})
	j, m := order(1)
	for range 2 { // the same object again
		r := send(t, s, to, j, m)
		require.Equal(t, delivery.OK, r.Kind, r)
	}
	reader, err := minio.New(host, &minio.Options{Creds: credentials.NewStaticV4("me", "sesame-sesame", ""), Region: "us-east-1"})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var names []string
	for one := range reader.ListObjects(ctx, "webhooks", minio.ListObjectsOptions{Recursive: true}) {
		require.NoError(t, one.Err)
		names = append(names, one.Key)
	}
	name := "events/" + m.Receipt.ReceivedAt.UTC().Format(time.DateOnly) + "/" + j.ID()
	require.Equal(t, []string{name}, names)
	info, err := reader.StatObject(ctx, "webhooks", name, minio.StatObjectOptions{})
	require.NoError(t, err)
	require.Equal(t, "application/json", info.ContentType)
	require.EqualValues(t, len(m.Body), info.Size)
	require.Equal(t, j.ID(), info.UserMetadata["Webhook-Id"])
	require.Equal(t, "order.paid", info.UserMetadata["Ce-Type"])
	found := check(t, s, to)
	require.True(t, found[0].OK && found[1].OK, found)

	wrong := to
	wrong.Secrets = []string{"hunter2-hunter2"}
	r := send(t, s, wrong, j, m)
	require.Equal(t, delivery.Blocked, r.Kind, r)
	require.Equal(t, "credentials", r.Code)
	gone := *to.Destination.S3
	gone.Bucket = "gone"
	wrong = to
	wrong.Destination.S3 = &gone
	require.Equal(t, "no_queue", send(t, s, wrong, j, m).Code)
	for _, name := range []string{"/x", "../other/x", "a/../../other/x", "./x", "a/..", " "} {
		named := *to.Destination.S3
		named.Object = delivery.JQ(strconv.Quote(name))
		wrong.Destination.S3 = &named
		r := send(t, s, wrong, j, m)
		require.Equal(t, "invalid_name", r.Code, "%q: %+v", name, r)
		require.Equal(t, delivery.Final, r.Kind)
	}
	empty := m
	empty.Body = nil
	j.Generation++
	require.Equal(t, "stored", send(t, s, to, j, empty).Code)
}
