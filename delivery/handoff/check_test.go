package handoff

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"holdfast/delivery"
	"holdfast/internal/devstack/stacktest"
)

// about are the findings by what they are about.
func about(t *testing.T, s *Sender, target delivery.Target) map[string][]delivery.Finding {
	t.Helper()
	findings, err := s.Check(t.Context(), target, nil)
	require.NoError(t, err)
	all := map[string][]delivery.Finding{}
	for _, f := range findings {
		require.NotEmpty(t, f.Text)
		all[f.About] = append(all[f.About], f)
	}
	return all
}

// A check sees what Temporal would accept in silence, and what it would refuse.
func TestCheck(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	queue, _ := newOrder()
	sub := starting()
	sub.Start.SearchAttributes = map[string]delivery.JQ{"Customer": ".body.order", "Nobody": ".body.order"}
	target := targetOf(sub)
	target.Destination.Temporal = &delivery.Temporal{TaskQueue: queue}

	found := about(t, b.Sender, target)
	require.True(t, found["namespace"][0].OK)
	require.False(t, found["task_queue"][0].OK)
	require.Contains(t, found["task_queue"][0].Text, queue)
	require.Len(t, found["search_attribute"], 2)
	require.True(t, found["search_attribute"][0].OK)
	require.False(t, found["search_attribute"][1].OK)
	require.Contains(t, found["search_attribute"][1].Command, "search-attribute create --type Keyword --name Nobody")

	w := worker.New(b.client, queue, worker.Options{})
	w.RegisterWorkflowWithOptions(func(workflow.Context) error { return nil }, workflow.RegisterOptions{Name: "Settle"})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	require.Eventually(t, func() bool { return about(t, b.Sender, target)["task_queue"][0].OK }, time.Minute, 100*time.Millisecond)

	require.Empty(t, about(t, b.Sender, targetOf(signaling()))["task_queue"], "a signal goes to whatever queue its workflow has")
}

// Temporal Cloud lists search attributes to no client: a query shows whether they are there, and their types stay unknown.
func TestCheckOfATemporalThatListsNoSearchAttributes(t *testing.T) {
	t.Parallel()
	refuse := func(
		ctx context.Context, method string, in, out any, c *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
	) error {
		if strings.HasPrefix(method, "/temporal.api.operatorservice.") {
			return status.Error(codes.PermissionDenied, "Request unauthorized.")
		}
		return invoke(ctx, method, in, out, c, options...)
	}
	c, err := client.NewLazyClient(client.Options{HostPort: server.Address(), Logger: discard, ConnectionOptions: client.ConnectionOptions{
		DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(refuse)},
	}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	sub := starting()
	sub.Start.SearchAttributes = map[string]delivery.JQ{"Customer": ".body.order", "Nobody": ".body.order"}
	found := about(t, NewSender(Options{Client: c, Namespace: "default"}), targetOf(sub))["search_attribute"]
	require.Len(t, found, 2)
	require.True(t, found[0].OK, found[0].Text)
	require.Equal(t, "the namespace has Customer; this client can't read its type", found[0].Text)
	require.False(t, found[1].OK)
	require.Contains(t, found[1].Text, "the namespace has no search attribute Nobody")
	require.Contains(t, found[1].Command, "tcld namespace search-attributes add --namespace default --search-attribute Nobody=Keyword")
}

func TestCheckOfATemporalThatIsNotThere(t *testing.T) {
	t.Parallel()
	for namespace, address := range map[string]string{"nobody": server.Address(), "default": "127.0.0.1:1"} {
		c, err := client.NewLazyClient(client.Options{HostPort: address, Logger: discard})
		require.NoError(t, err)
		t.Cleanup(c.Close)
		found := about(t, NewSender(Options{Client: c, Namespace: namespace}), targetOf(starting()))
		require.False(t, found["namespace"][0].OK)
		require.NotEmpty(t, found["namespace"][0].Command)
		require.Empty(t, found["task_queue"])
	}
	_, err := NewSender(Options{ConfigFile: "/nowhere"}).Check(t.Context(), withProfile("nobody", starting()), nil)
	require.ErrorContains(t, err, "nobody")
}

// The command that a check shows is one that a shell and the temporal program understand, and it does the same as the sender.
func TestTheCommandDoesTheSame(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	file := writeProfiles(t, "[profile.mine]\naddress = \""+server.Address()+"\"\n")
	binary, err := stacktest.TemporalBinary()
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	programs := t.TempDir()
	require.NoError(t, os.Symlink(self, filepath.Join(programs, "jq")))
	binary, err = filepath.Abs(binary)
	require.NoError(t, err)
	require.NoError(t, os.Symlink(binary, filepath.Join(programs, "temporal")))
	run := func(sub delivery.Subscription, body string) error {
		folder := t.TempDir()
		j := newJob(t)
		m := messageOf(j, body)
		input, err := json.Marshal(m.Input().Value)
		require.NoError(t, err)
		envelope, err := m.Envelope()
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, "input.json"), input, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "envelope.json"), envelope, 0o600))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		shell := exec.CommandContext(ctx, "sh", "-euc", command(withProfile("mine", sub)))
		shell.Dir = folder
		shell.Env = append(os.Environ(), "TEMPORAL_CONFIG_FILE="+file, "PATH="+programs+":"+os.Getenv("PATH"))
		if text, err := shell.CombinedOutput(); err != nil {
			t.Logf("%s\n%s", shell.String(), text)
			return err
		}
		return nil
	}

	id, body := newOrder()
	sub := starting()
	sub.Start.WorkflowID = `(.body.order) + "" # it's mine`
	sub.Start.SearchAttributes = map[string]delivery.JQ{"Customer": ".body.order", "Tags": ".body.tags"}
	sub.Start.Summary, sub.Start.PriorityKey, sub.Start.FairnessKey = `"in short"`, 2, `"acme"`
	require.NoError(t, run(sub, body))
	byHand := b.started(id)
	otherID, other := newOrder()
	requireResult(t, b.send(sub, newJob(t), other), delivery.OK, codeStarted)
	ours := b.started(otherID)
	require.Equal(t, ours.GetWorkflowType().GetName(), byHand.GetWorkflowType().GetName())
	require.Equal(t, ours.GetTaskQueue().GetName(), byHand.GetTaskQueue().GetName())
	require.Len(t, byHand.GetInput().GetPayloads(), len(ours.GetInput().GetPayloads()))
	require.Len(t, byHand.GetSearchAttributes().GetIndexedFields(), 2)
	require.Equal(t, ours.GetPriority().GetPriorityKey(), byHand.GetPriority().GetPriorityKey())
	require.NoError(t, run(sub, body), "it was started already")
	sub.Start.IfExists = "dead_letter"
	require.Error(t, run(sub, body), "it was started already")

	require.NoError(t, run(signaling(), body))
	require.Len(t, b.signals(id, ""), 1)
	require.NoError(t, run(both(""), body))
	require.Len(t, b.signals(id, ""), 2)
}
