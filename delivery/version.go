package delivery

import "holdfast/event"

// MustBeNew as the Version of a destination or subscription creates it, and never changes one. Another Version changes only what
// still has that version, and 0 changes whatever is stored.
const MustBeNew = -1

// CheckVersion refuses a change whose Version isn't the stored one; stored is 0 if nothing of that name is stored. The error has
// the code event.CodeChangedMeanwhile.
func CheckVersion(wanted, stored int64) error {
	switch {
	case wanted == 0, wanted == stored, wanted == MustBeNew && stored == 0:
		return nil
	case wanted == MustBeNew:
		return event.Rejectf(event.CodeChangedMeanwhile, "it was created by another request at the same time; nothing was changed")
	}
	return event.Rejectf(event.CodeChangedMeanwhile,
		"it was changed by another request at the same time; read it again and repeat the change")
}
