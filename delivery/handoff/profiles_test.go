package handoff

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"

	"holdfast/delivery"
)

// writeProfiles writes a file of Temporal's client configuration.
func writeProfiles(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "temporal.toml")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

func withProfile(name string, sub delivery.Subscription) delivery.Target {
	t := targetOf(sub)
	t.Destination.Temporal.Profile = name
	return t
}

// rot is a custom codec: it reverses bytes.
type rot struct{}

func (rot) Encode(all []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(all))
	for i, p := range all {
		out[i] = &commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte("binary/turned")}, Data: turned(p.GetData())}
	}
	return out, nil
}

func (rot) Decode(all []*commonpb.Payload) ([]*commonpb.Payload, error) { return all, nil }

func turned(data []byte) []byte {
	out := make([]byte, len(data))
	for i, b := range data {
		out[len(data)-1-i] = b
	}
	return out
}

// A profile says where its Temporal is, and which codec its workflows decode with. The TEMPORAL_* variables are Holdfast's own.
func TestProfiles(t *testing.T) {
	t.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
	t.Setenv("TEMPORAL_NAMESPACE", "nobody")
	asked := make(chan *http.Request, 10)
	handler := converter.NewPayloadCodecHTTPHandler(rot{})
	codec := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(codec.Close)
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "secret", http.StatusInternalServerError)
	}))
	t.Cleanup(broken.Close)
	file := writeProfiles(t, fmt.Sprintf(`
		[profile.plain]
		address = %[1]q
		[profile.turned]
		address = %[1]q
		namespace = "default"
		[profile.turned.codec]
		endpoint = "%[2]s/{namespace}/"
		auth = "Bearer of the codec"
		[profile.broken]
		address = %[1]q
		codec = {endpoint = %[3]q}
		[profile.certified]
		address = %[1]q
		tls = {client_cert_path = "/nowhere/secret.pem", client_key_path = "/nowhere/secret.key"}
	`, server.Address(), codec.URL, broken.URL))
	b := newBench(t)
	s := NewSender(Options{ConfigFile: file})
	t.Cleanup(s.Close)
	send := func(profile string, sub delivery.Subscription, body string) delivery.Result {
		j := newJob(t)
		return s.Send(t.Context(), withProfile(profile, sub), j, messageOf(j, body))
	}

	id, body := newOrder()
	requireResult(t, send("plain", starting(), body), delivery.OK, codeStarted)
	require.Equal(t, "json/plain", string(b.started(id).GetInput().GetPayloads()[0].GetMetadata()["encoding"]))
	require.Empty(t, asked)

	id, body = newOrder()
	sub := both("")
	sub.SignalWithStart.Summary = `"in short"`
	sub.SignalWithStart.SearchAttributes = map[string]delivery.JQ{"Customer": ".body.order"}
	requireResult(t, send("turned", sub, body), delivery.OK, codeStarted)
	request := <-asked
	require.Empty(t, asked, "one request is enough")
	require.Equal(t, "/default/encode", request.URL.Path)
	require.Equal(t, "default", request.Header.Get("X-Namespace"))
	require.Equal(t, "Bearer of the codec", request.Header.Get("Authorization"))
	history := b.history(id, "")
	for _, p := range []*commonpb.Payload{
		history[0].GetWorkflowExecutionStartedEventAttributes().GetInput().GetPayloads()[0],
		history[1].GetWorkflowExecutionSignaledEventAttributes().GetInput().GetPayloads()[0],
	} {
		require.Equal(t, "binary/turned", string(p.GetMetadata()["encoding"]))
		require.Contains(t, string(turned(p.GetData())), id)
	}
	require.Equal(t, `"in short"`, string(turned(history[0].GetUserMetadata().GetSummary().GetData())))

	_, body = newOrder()
	for profile, code := range map[string]string{"nobody": "profile", "certified": "profile"} {
		r := send(profile, starting(), body)
		requireResult(t, r, delivery.Blocked, code)
		require.NotContains(t, r.Error, "secret")
	}
	r := send("broken", starting(), body)
	requireResult(t, r, delivery.Bad, "codec")
	require.NotContains(t, r.Error, "secret")

	// A profile that is written later is found without a new start.
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	more := strings.Replace(string(text), "[profile.plain]", fmt.Sprintf("[profile.nobody]\naddress = %q\n[profile.plain]", server.Address()), 1)
	require.NoError(t, os.WriteFile(file, []byte(more), 0o600))
	requireResult(t, send("nobody", starting(), body), delivery.OK, codeStarted)
}
