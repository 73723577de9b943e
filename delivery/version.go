package delivery

import "holdfast/event"

// MustBeNew as a Version only creates, and never changes a stored object. A positive Version changes only that version, and 0
// changes any.
const MustBeNew = -1

// CheckVersion rejects a change of an outdated version; stored is 0 if the object doesn't exist. The error has the code
// event.CodeChangedMeanwhile.
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
