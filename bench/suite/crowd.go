package suite

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"holdfast/bench/lab"
)

const (
	// LargeBody is the largest push of GitHub.
	LargeBody = 25 << 20
	// crowdSize is the number of senders, each with its own address. Every second one has no valid secret.
	crowdSize = 500
	// strangerPause and senderPause are the pauses before the next request. Providers wait for minutes.
	strangerPause, senderPause = 5 * time.Second, 30 * time.Second
	// lineRate is the rate of the network that the crowd shares, in bytes a second: 1 Gbit/s.
	lineRate = 1e9 / 8
)

// line is a network of lineRate.
type line struct {
	mu   sync.Mutex
	free time.Time // when what was sent so far has passed
}

// pass waits until n more bytes have passed.
func (l *line) pass(n int) {
	l.mu.Lock()
	if now := time.Now(); l.free.Before(now) {
		l.free = now
	}
	l.free = l.free.Add(time.Duration(float64(n) / lineRate * float64(time.Second)))
	wait := time.Until(l.free)
	l.mu.Unlock()
	<-time.After(wait)
}

// passing is a body on a line.
type passing struct {
	io.Reader

	on *line
}

func (p passing) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	p.on.pass(n)
	return n, err
}

// Crowd sends large bodies from many clients at once.
type Crowd struct {
	end  context.CancelFunc
	done sync.WaitGroup

	mu       sync.Mutex
	statuses map[int]int // 0 without an answer
}

// StartCrowd starts its senders, which send until stopped.
func StartCrowd(ctx context.Context, ingress string) *Crowd {
	ctx, end := context.WithCancel(ctx)
	c := &Crowd{end: end, statuses: map[int]int{}}
	body, shared := largePush(), &line{}
	code := hmac.New(sha256.New, []byte(lab.Secret))
	_, _ = code.Write(body) // never fails
	signature := "sha256=" + hex.EncodeToString(code.Sum(nil))
	for n := range crowdSize {
		sender := &http.Client{Transport: &http.Transport{
			DisableKeepAlives: true,
			DialContext: (&net.Dialer{
				LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 1, byte(n/250), byte(1+n%250))},
			}).DialContext,
		}}
		signed, pause := signature, senderPause
		if n%2 == 1 {
			pause, signed = strangerPause, "sha256="+strings.Repeat("0", 2*sha256.Size)
		}
		c.done.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				status := sendPush(ctx, sender, ingress, passing{bytes.NewReader(body), shared}, signed, fmt.Sprintf("push-%d-%d", n, i))
				if ctx.Err() == nil || status != 0 {
					c.count(status)
				}
				select {
				case <-ctx.Done():
				case <-time.After(pause):
				}
			}
		})
	}
	return c
}

// Stop ends the crowd, and returns how often each status was the answer.
func (c *Crowd) Stop() map[int]int {
	c.end()
	c.done.Wait()
	return c.statuses
}

func (c *Crowd) count(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.statuses[status]++
}

func sendPush(ctx context.Context, sender *http.Client, ingress string, body io.Reader, signature, delivery string) (status int) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, ingress+"/webhooks/github", body)
	if err != nil {
		return 0
	}
	request.ContentLength = LargeBody
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Github-Event", "push")
	request.Header.Set("X-Github-Delivery", delivery)
	request.Header.Set("X-Hub-Signature-256", signature)
	response, err := sender.Do(request)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	return response.StatusCode
}

// largePush is a push with as many commits as fit, since decoded JSON takes more memory the more values it has.
func largePush() []byte {
	var b bytes.Buffer
	b.WriteString(`{"ref":"refs/heads/main","repository":{"id":1,"full_name":"a/b"},"sender":{"id":1,"login":"a"},"commits":[`)
	for n := 0; b.Len() < LargeBody-1024; n++ {
		if n > 0 {
			b.WriteByte(',')
		}
		sum := sha256.Sum256(fmt.Append(nil, n))
		fmt.Fprintf(&b, `{"id":"%x","message":"change %d","timestamp":"2026-11-28T12:00:00Z","distinct":true,`+
			`"author":{"name":"Ada","email":"ada@example.com","username":"ada"},"added":[],"removed":[],"modified":["src/%x.go"]}`,
			sum[:20], n, sum[20:])
	}
	b.WriteString(`],"note":"`)
	b.WriteString(strings.Repeat("x", LargeBody-b.Len()-len(`"}`)))
	b.WriteString(`"}`)
	return b.Bytes()
}
