package ledger

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// maxLine is in bytes. A line holds no body.
const maxLine = 64 << 10

type line struct {
	Run      string    `json:"run"`
	Started  time.Time `json:"started"`
	Seed     uint64    `json:"seed"`
	Seq      int64     `json:"seq"`
	At       time.Time `json:"at"`
	Kind     Kind      `json:"kind"`
	Provider string    `json:"provider"`
	Key      string    `json:"key"`
	SHA256   string    `json:"sha256"`
	Status   *int      `json:"status"`
	Nanos    int64     `json:"ns"`
}

// ReadFile reads a ledger.
func ReadFile(path string) (Ledger, error) {
	file, err := os.Open(path)
	if err != nil {
		return Ledger{}, fmt.Errorf("open ledger: %w", err)
	}
	defer file.Close()
	l, err := Read(file)
	if err != nil {
		return Ledger{}, fmt.Errorf("read ledger %s: %w", path, err)
	}
	return l, nil
}

// Read reads a ledger. The last line of each run may be incomplete: its writer was killed.
func Read(r io.Reader) (Ledger, error) {
	var (
		in     = bufio.NewScanner(r)
		reader = reader{open: map[int64][]int{}}
		cut    error
	)
	in.Buffer(nil, maxLine)
	for number := 1; in.Scan(); number++ {
		var l line
		err := json.Unmarshal(in.Bytes(), &l)
		if cut != nil && (err != nil || l.Run == "") {
			return Ledger{}, cut
		}
		if cut = err; err == nil {
			cut = reader.add(l)
		}
		if cut != nil {
			cut = fmt.Errorf("line %d isn't a ledger line: %w", number, cut)
		}
	}
	if err := in.Err(); err != nil {
		return Ledger{}, err
	}
	if len(reader.Runs) == 0 {
		return Ledger{}, errors.New("this isn't a ledger: it doesn't begin with a run")
	}
	return reader.Ledger, nil
}

// reader matches answers with requests.
type reader struct {
	Ledger
	open map[int64][]int // the unanswered entries of this run
}

func (r *reader) add(l line) error {
	switch {
	case l.Run != "":
		r.Runs = append(r.Runs, Run{ID: l.Run, Started: l.Started, Seed: l.Seed})
		clear(r.open)
		return nil
	case len(r.Runs) == 0:
		return errors.New("it stands before any run")
	case l.Status != nil:
		return r.answer(l)
	default:
		return r.send(l)
	}
}

func (r *reader) answer(l line) error {
	sent, ok := r.open[l.Seq]
	if !ok {
		return fmt.Errorf("request %d was not sent, or is answered twice", l.Seq)
	}
	for _, i := range sent {
		r.Entries[i].Status, r.Entries[i].Took = *l.Status, time.Duration(l.Nanos)
	}
	delete(r.open, l.Seq)
	return nil
}

func (r *reader) send(l line) error {
	e := Entry{Event: Event{Provider: l.Provider, Key: l.Key}, Seq: l.Seq, Kind: l.Kind, At: l.At}
	if e.Provider == "" || e.Key == "" || e.At.IsZero() {
		return errors.New("it names no event")
	}
	sum, err := hex.DecodeString(l.SHA256)
	if err != nil || copy(e.SHA256[:], sum) != len(sum) || len(sum) != len(e.SHA256) {
		return errors.New("it has no SHA-256")
	}
	r.open[l.Seq] = append(r.open[l.Seq], len(r.Entries))
	r.Entries = append(r.Entries, e)
	return nil
}
