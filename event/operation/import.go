package operation

import "holdfast/event"

// Import brings what another system has: its lines are kept when it is made, and applied one page after the other.
type Import struct {
	Base

	// Name is that of the file.
	Name string `json:"name"`

	// Total counts what there is to apply, and Read what was.
	Total int64 `json:"total"`
	Read  int64 `json:"read"`
	// Counts say what became of what was applied, by record.
	Counts ImportCounts `json:"counts"`
	// Problems are the first of those that could not be applied, at most MaxProblems.
	Problems []ImportProblem `json:"problems,omitempty"`
}

// Share is how far it has come, from 0 to 1.
func (i Import) Share() float64 {
	if i.Total == 0 || i.State == Completed {
		return 1
	}
	return float64(i.Read) / float64(i.Total)
}

// ImportCounts are counts by record.
type ImportCounts map[ImportRecord]ImportCount

// Add adds what became of one thing.
func (c ImportCounts) Add(r ImportRecord, became ImportOutcome) {
	n := c[r]
	switch became {
	case ImportNew:
		n.New++
	case ImportThere:
		n.There++
	case ImportUnreadable:
		n.New++
		n.Unreadable++
	case ImportFailed:
		n.Failed++
	}
	c[r] = n
}

// AddAll adds other counts.
func (c ImportCounts) AddAll(more ImportCounts) {
	for r, m := range more {
		n := c[r]
		c[r] = ImportCount{
			New: n.New + m.New, There: n.There + m.There, Unreadable: n.Unreadable + m.Unreadable, Failed: n.Failed + m.Failed,
		}
	}
}

// Sum is that of all records.
func (c ImportCounts) Sum() (n ImportCount) {
	for _, m := range c {
		n.New, n.There, n.Unreadable, n.Failed = n.New+m.New, n.There+m.There, n.Unreadable+m.Unreadable, n.Failed+m.Failed
	}
	return n
}

// ImportCount says what became of the things of one record:
//   - New: they were not there, and are now
//   - There: they were there already, or an operator has decided about them. Nothing was changed
//   - Unreadable: of those that are new, events that today's definition cannot read. They are dead letters
//   - Failed: the store could not take them. They are named as problems
type ImportCount struct {
	New        int64 `json:"new"`
	There      int64 `json:"there"`
	Unreadable int64 `json:"unreadable,omitempty"`
	Failed     int64 `json:"failed,omitempty"`
}

// ImportOutcome is what became of one thing.
type ImportOutcome string

// What ImportCount counts.
const (
	ImportNew        ImportOutcome = "new"
	ImportThere      ImportOutcome = "there"
	ImportUnreadable ImportOutcome = "unreadable"
	ImportFailed     ImportOutcome = "failed"
)

// ImportProblem is a line that could not be applied, and why. The message holds no payload.
type ImportProblem struct {
	Line    int64        `json:"line"`
	Record  ImportRecord `json:"record"`
	Class   event.Class  `json:"class"`
	Code    string       `json:"code"`
	Message string       `json:"message"`
}
