package console

import (
	"bytes"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/operator/access"
)

func TestOneEventIsShownWhole(t *testing.T) {
	t.Parallel()
	key, entity := uniqueID("msg"), uniqueID("n")
	body := `{"id":"` + entity + `","type":"note.made","secret":"hunter2","amount":12345678901234567890.123}`
	id := holdfast.sent(t, key, body, "processed")
	holdfast.awaitEvent(t, id, "deliveries", func(e eventOf) bool {
		return len(e.Deliveries) == 2 && e.Deliveries[0].Status == "delivered" && e.Deliveries[1].Status == "delivered"
	})
	b := newBrowser(t).as(access.RoleOperator)
	require.Equal(t, 200, b.open("/console/events/"+id))
	require.Equal(t, "homemade note.made · Holdfast", b.title())
	page := b.page()
	for _, shown := range []string{
		id, key, "homemade:" + key, entity, "sample-http", "sample-workflow", "webhook-id", "holdfast event show " + id,
		`"amount": 12345678901234567890.123`, "hunter2",
	} {
		require.Contains(t, page, shown)
	}
	b.requireAccessible()
	require.Equal(t, 1, b.count(`a[href*="/namespaces/default/workflows/homemade:`+key+`/"]`))
	require.Equal(t, 200, b.open("/console/events/"+id+"?body=raw"))
	require.Contains(t, b.page(), body, "byte for byte")

	require.Equal(t, 200, b.submit(`button[aria-label="Resend to sample-http"]`))
	require.Contains(t, b.page(), "This can't be undone")
	b.requireAccessible()
	require.Equal(t, 200, b.submit("main form.confirm button"))
	require.Equal(t, "/console/events/"+id, b.path())
	require.Contains(t, b.text(".flash"), "Resending to sample-http")
	eventually(t, "it was resent", func() error {
		var attempts struct {
			Items []struct{ Generation int }
		}
		holdfast.api(t, "GET", "/events/"+id+"/attempts", &attempts)
		for _, a := range attempts.Items {
			if a.Generation == 1 {
				return nil
			}
		}
		return fmt.Errorf("there are %+v", attempts.Items)
	})
	b.open("/console/events/" + id)
	require.Contains(t, b.page(), "delivery.resend", "what operators did")
	require.Zero(t, b.count(".flash"), "it is told once")
}

func TestAViewerSeesWhatTheAPIShowsThem(t *testing.T) {
	t.Parallel()
	id := holdfast.sent(t, uniqueID("msg"), `{"id":"n","type":"note","secret":"hunter2"}`, "processed")
	dead := holdfast.sent(t, uniqueID("msg"), poison, "dead")
	b := newBrowser(t).as(access.RoleViewer)
	b.open("/console/events/" + id)
	require.NotContains(t, b.page(), "hunter2")
	require.Contains(t, b.page(), `"type": "note"`)
	require.Contains(t, b.page(), "not for viewers")
	require.Zero(t, b.count(`form[action*="/resend"]`))
	require.Equal(t, 1, b.count(`a[href$="/raw"][download]`))
	b.open("/console/events/" + dead)
	require.Zero(t, b.count(`a[href$="/raw"][download]`), "a body that isn't JSON can't be redacted")
	require.Equal(t, 403, b.open("/console/events/"+dead+"/raw"))
	b.open("/console/events/" + dead)
	require.Zero(t, b.count(`form[action*="/replay"]`))
	require.NotContains(t, b.page(), "signed, but")
	b.requireAccessible()
}

func TestABigBodyIsCutAndDownloaded(t *testing.T) {
	t.Parallel()
	body := `{"type":"note","items":["` + strings.Repeat("0123456789", 100_000) + `"]}`
	id := holdfast.sent(t, uniqueID("msg"), body, "processed")
	b := newBrowser(t).as(access.RoleOperator)
	b.open("/console/events/" + id)
	require.Less(t, len(b.text("pre.body")), 80<<10)
	require.Contains(t, b.page(), "Shortened")
	require.Equal(t, 1, b.count(`a[href$="/raw"][download]`))

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, holdfast.operator+"/console/events/"+id+"/raw", nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+holdfast.tokens[access.RoleOperator])
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	var got bytes.Buffer
	_, err = got.ReadFrom(response.Body)
	require.NoError(t, err)
	require.Equal(t, body, got.String())
	require.Contains(t, response.Header.Get("Content-Disposition"), "attachment")
}

func TestADeadEventIsReplayedAndEdited(t *testing.T) {
	t.Parallel()
	id := holdfast.sent(t, uniqueID("msg"), poison, "dead")
	b := newBrowser(t).as(access.RoleOperator).withoutScripts()
	b.open("/console/events/" + id)
	require.Contains(t, b.page(), "rejected")
	require.Equal(t, 200, b.submit(`form[action$="/replay"] button`))
	require.Equal(t, "/console/events/"+id, b.path())
	require.Contains(t, b.text(".flash"), "A run of the event was started")
	holdfast.awaitEvent(t, id, "dead again", func(e eventOf) bool {
		return e.DeadLetters[0].Failures == 2 && e.DeadLetters[0].State == "open"
	})

	b.open("/console/events/" + id)
	require.Equal(t, 200, b.submit(`a[href$="/edit"]`))
	require.Contains(t, b.page(), "Processes a new event with this body instead of")
	b.fill("#new-body", "{\n  \"id\": \"edited\",\n  \"n\": 12345678901234567890\n}")
	b.fill("#reason", "it was cut off")
	require.Equal(t, 200, b.submit("form.edit button"))
	edited := strings.TrimPrefix(b.path(), "/console/events/")
	require.NotEqual(t, id, edited, "one lands on the result")
	holdfast.awaitEvent(t, edited, "processed", func(e eventOf) bool { return e.Status == "processed" })
	b.open("/console/events/" + edited + "?body=raw")
	require.Equal(t, "{\n  \"id\": \"edited\",\n  \"n\": 12345678901234567890\n}", b.text("pre.body"))
	b.open("/console/events/" + id)
	require.Contains(t, b.page(), "replaced by the-operator")
	require.Contains(t, b.page(), "it was cut off")
	require.Zero(t, b.count(`form[action$="/replay"]`))
	require.Equal(t, 200, b.open("/console/events/"+id+"/edit"))
	require.Contains(t, b.text(".flash"), "nothing to edit")
}

func TestAnOpenDeliveryIsCanceledAfterAQuestion(t *testing.T) {
	t.Parallel()
	name, kind := strings.ReplaceAll(uniqueID("away"), "_", "-"), uniqueID("note")
	holdfast.run(t, "subscription", "create", name, "--url", "http://127.0.0.1:9/", "--types", kind)
	holdfast.run(t, "destination", "pause", name, "--reason", "a test")
	var id string
	eventually(t, "the subscription is known", func() error {
		id = holdfast.sent(t, uniqueID("msg"), `{"type":"`+kind+`"}`, "processed")
		var e eventOf
		holdfast.api(t, "GET", "/events/"+id, &e)
		for _, d := range e.Deliveries {
			if d.Subscription == name {
				return nil
			}
		}
		return fmt.Errorf("it has %+v", e.Deliveries)
	})
	b := newBrowser(t).as(access.RoleOperator)
	b.open("/console/events/" + id)
	require.Equal(t, 200, b.submit(`a[href*="/cancel?"]`))
	require.Contains(t, b.page(), "won't get this event")
	b.requireAccessible()
	b.fill("#reason", "not needed")
	require.Equal(t, 200, b.submit(".confirm button"))
	require.Equal(t, "/console/events/"+id, b.path())
	require.Contains(t, b.text(".flash"), "Canceled the delivery to "+name)
	require.Contains(t, b.page(), "canceled")
	require.Contains(t, b.page(), "not needed")
}

// Redeliveries are counted, and shown with their event.
func TestAnEventSaysHowOftenItCameAgain(t *testing.T) {
	t.Parallel()
	key, body := uniqueID("msg"), `{"type":"note"}`
	id := holdfast.sent(t, key, body, "processed")
	for range 3 {
		require.Equal(t, id, holdfast.send(t, key, body))
	}
	eventually(t, "the duplicates are counted", func() error {
		var e struct{ Duplicates struct{ Times int } }
		if holdfast.api(t, "GET", "/events/"+id, &e); e.Duplicates.Times != 3 {
			return fmt.Errorf("there are %d", e.Duplicates.Times)
		}
		return nil
	})
	b := newBrowser(t).as(access.RoleViewer)
	b.open("/console/events/" + id)
	require.Contains(t, b.text("section[aria-labelledby=facts]"), "3 times, last ")
	require.Contains(t, holdfast.run(t, "event", "show", id), "3 × (first ")
}

// The suggested commands work.
func TestTheCommandsOfAnEventWork(t *testing.T) {
	t.Parallel()
	id := holdfast.sent(t, uniqueID("msg"), `{"type":"note"}`, "processed")
	holdfast.awaitEvent(t, id, "deliveries", func(e eventOf) bool { return len(e.Deliveries) > 0 })
	b := newBrowser(t).as(access.RoleOperator)
	b.open("/console/events/" + id)
	commands := strings.Split(b.text(".commands"), "\n")
	tried := 0
	for _, line := range commands {
		line = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), "Copy"))
		if line == "" {
			continue
		}
		line = strings.Replace(line, "holdfast ", filepath.Join(holdfast.dir, "holdfast")+" ", 1)
		command := exec.Command("sh", "-c", line)
		command.Env = append(holdfast.env, "TOKEN="+holdfast.tokens[access.RoleOperator])
		out, err := command.CombinedOutput()
		require.NoError(t, err, "%s: %s", line, out)
		require.Contains(t, string(out), id, line)
		tried++
	}
	require.GreaterOrEqual(t, tried, 3)
}
