package dev

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"holdfast/delivery"
)

// The bounds of the sink.
const (
	sinkKeeps = 50
	sinkBody  = 1 << 20
)

// maxAge is how old a delivery may be, and how far a clock may be ahead: what somebody has recorded is not taken again later.
const maxAge = 5 * time.Minute

// sink is the sample endpoint: it verifies deliveries as a receiver by the book does, and shows the last ones.
type sink struct {
	secret []byte
	now    func() time.Time

	mu   sync.Mutex
	last []received
}

// received is a delivery as the sink shows it.
type received struct {
	ID       string    `json:"id"`
	At       time.Time `json:"at"`
	Verified bool      `json:"verified"`
	Body     string    `json:"body"`
}

// shown is what the sink answers who looks, the newest first.
type shown struct {
	Received []received `json:"received"`
}

// newSink reads a secret of the form whsec_BASE64.
func newSink(secret string) (*sink, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, delivery.SecretPrefix))
	if err != nil {
		return nil, err
	}
	return &sink{secret: key, now: time.Now}, nil
}

// ServeHTTP takes what is posted if its signature is right, and shows what came.
func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		s.show(w)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, sinkBody))
	if err != nil {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	got := received{ID: r.Header.Get("Webhook-Id"), At: s.now().UTC(), Verified: s.verifies(r.Header, body), Body: string(body)}
	s.keep(got)
	if !got.Verified {
		w.WriteHeader(http.StatusUnauthorized)
	}
}

// verifies is Standard Webhooks: the time is of now, and any of the signatures fits.
func (s *sink) verifies(h http.Header, body []byte) bool {
	at, err := strconv.ParseInt(h.Get("Webhook-Timestamp"), 10, 64)
	if err != nil || s.now().Sub(time.Unix(at, 0)).Abs() > maxAge {
		return false
	}
	mac := hmac.New(sha256.New, s.secret)
	mac.Write([]byte(h.Get("Webhook-Id") + "." + h.Get("Webhook-Timestamp") + "."))
	mac.Write(body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for signature := range strings.FieldsSeq(h.Get("Webhook-Signature")) {
		if hmac.Equal([]byte(signature), []byte(want)) {
			return true
		}
	}
	return false
}

func (s *sink) keep(r received) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last = append([]received{r}, s.last...); len(s.last) > sinkKeeps {
		s.last = s.last[:sinkKeeps]
	}
}

func (s *sink) show(w http.ResponseWriter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	_ = out.Encode(shown{s.last}) //nolint:errchkjson // the connection may be gone
}
