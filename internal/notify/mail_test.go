package notify_test

import (
	"bufio"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/notify"
)

// receiveMail accepts one e-mail, and returns the server's address and the lines of the e-mail.
func receiveMail(t *testing.T) (address string, lines <-chan []string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	mail := make(chan []string, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		say := func(line string) { _, _ = conn.Write([]byte(line + "\r\n")) }
		say("220 ready")
		var data []string
		isData := false
		for in := bufio.NewScanner(conn); in.Scan(); {
			line := in.Text()
			switch {
			case isData && line == ".":
				isData = false
				mail <- data
				say("250 ok")
			case isData:
				data = append(data, line)
			case strings.HasPrefix(line, "DATA"):
				isData = true
				say("354 go on")
			case strings.HasPrefix(line, "QUIT"):
				say("221 bye")
			default:
				say("250 ok")
			}
		}
	}()
	return listener.Addr().String(), mail
}

// The subject of an e-mail is the first line of its text, unless the URL sets one.
func TestAnEmailHasASubject(t *testing.T) {
	t.Parallel()
	for parameter, subject := range map[string]string{
		"":                  "Subject: =?utf-8?q?3_events_failed_=E2=80=93_acme?=",
		"&subject=Webhooks": "Subject: Webhooks",
		"&Title=Webhooks":   "Subject: Webhooks",
	} {
		address, mail := receiveMail(t)
		n, err := notify.New("smtp://" + address + "/?fromaddress=holdfast@example.com&toaddresses=ada@example.com&auth=None&encryption=None" +
			"&usestarttls=No" + parameter)
		require.NoError(t, err)
		accepted, err := n.Send(t.Context(), "3 events failed – acme\nSee holdfast dlq list")
		require.NoError(t, err)
		require.Equal(t, 1, accepted)
		require.Contains(t, <-mail, subject)
	}
}
