package suite

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"holdfast/bench/lab"
	"holdfast/internal/devstack/fakeapi"
)

// announcedAPI is where the part serves, and with which certificate.
type announcedAPI struct{ Port, Certificate string }

// WantedList replaces the API's list by so many events of the last hour, whose IDs begin with a name.
type WantedList struct {
	Name  string
	Count int64
}

// ServeAPI serves a list of events and the state of any customer, over HTTPS on loopback, until the end of the input. Each line
// of the input replaces the list.
func ServeAPI(in io.Reader, out io.Writer) error {
	var list atomic.Pointer[fakeapi.Server]
	list.Store(fakeapi.New(fakeapi.Styles()[Stripe]))
	routes := http.NewServeMux()
	routes.HandleFunc("GET /v1/customers/{id}", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"id": r.PathValue("id"), "object": "customer", "name": "Ada Lovelace"})
	})
	routes.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { list.Load().ServeHTTP(w, r) })
	served, err := fakeapi.Serve("localhost", routes)
	if err != nil {
		return err
	}
	defer func() { _ = served.Close() }()
	answer := json.NewEncoder(out)
	if err := answer.Encode(announcedAPI{served.Port, string(served.Certificate)}); err != nil {
		return err
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var want WantedList
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			return err
		}
		list.Store(listOf(want))
		if err := answer.Encode(want); err != nil {
			return err
		}
	}
	return nil
}

func listOf(want WantedList) *fakeapi.Server {
	fake, begin := fakeapi.New(fakeapi.Styles()[Stripe]), time.Now().Add(-time.Hour-time.Minute) // all are older than recover.settle
	for n := range want.Count {
		fake.Add(fakeapi.Event{
			ID: fmt.Sprintf("evt_%s_%d", want.Name, n), Type: EventType, Object: fmt.Sprint("cus_", n%entities),
			Time: begin.Add(time.Hour / time.Duration(want.Count+1) * time.Duration(n)),
		})
	}
	return fake
}

// Api is the part that serves a provider's API.
type Api struct {
	part    *Part
	Environ []string // of the product
	// Used is the API's own CPU while it has listed so many events.
	Used   time.Duration
	Listed int64
}

// WithAPI runs f with an API, and stops it.
func (s *Suite) WithAPI(ctx context.Context, f func(*Api) error) error {
	return s.WithPart(ctx, PartAPI, func(p *Part) error {
		line, err := p.Line()
		if err != nil {
			return err
		}
		var announced announcedAPI
		if err := json.Unmarshal([]byte(line), &announced); err != nil {
			return err
		}
		certificate := filepath.Join(s.Dir, "api.pem")
		if err := os.WriteFile(certificate, []byte(announced.Certificate), 0o600); err != nil {
			return err
		}
		return f(&Api{part: p, Environ: []string{
			"SSL_CERT_FILE=" + certificate, "BENCH_API_HOST=localhost:" + announced.Port, "BENCH_API_KEY=" + fakeapi.Credential,
			"HOLDFAST_RECOVERY_INTERVAL=8760h", Loopback + ",::1/128",
		}})
	})
}

// List replaces the API's list.
func (a *Api) List(want WantedList) error {
	if err := json.NewEncoder(a.part.in).Encode(want); err != nil {
		return fmt.Errorf("ask for a list: %w", err)
	}
	_, err := a.part.Line()
	return err
}

// Apart takes the API's CPU out of what was used.
func (a *Api) Apart(used lab.Usage, listed int64) {
	a.Used, a.Listed = a.Used+used[lab.LabelBaseline], a.Listed+listed
	delete(used, lab.LabelBaseline)
}

// RecoveryOf starts a recovery of the list of a provider, and returns its ID.
func RecoveryOf(ctx context.Context, node *lab.Node, provider string, dryRun bool) (id string, err error) {
	body := fmt.Sprintf(`{"provider":%q,"since":"2h","accept_duplicates":true,"dry_run":%t,"rate":1000}`, provider, dryRun)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, node.Operator+"/recoveries", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := (&http.Client{Timeout: time.Minute}).Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var started struct{ ID string }
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusAccepted {
		err = fmt.Errorf("start a recovery: %s %s", response.Status, text)
	}
	if err == nil {
		err = json.Unmarshal(text, &started)
	}
	return started.ID, err
}
