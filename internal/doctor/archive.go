package doctor

import (
	"context"
	"fmt"
	"time"

	"holdfast/internal/stores"
	"holdfast/internal/word"
)

// longDue is how long expunged data may normally stay in the archive until a purge removes it.
const longDue = time.Hour

// examineArchive checks that a purge can archive events, and that expunged events are removed from the archive.
func (d *doctor) examineArchive(ctx context.Context) {
	const check = "archive"
	ctx, cancel := context.WithTimeout(ctx, 2*doctorTimeout)
	defer cancel()
	stats, err := d.store.Upkeep.ArchiveStats(ctx)
	if err != nil {
		d.failed(check, err, "run `holdfast migrate`")
		return
	}
	keeper, err := stores.NewArchiveKeeper(d.cfg, d.store)
	if err == nil && keeper == nil {
		if stats.Files > 0 {
			d.add(check, resultWarn, "has "+word.Count(stats.Files, "file", "files")+", and HOLDFAST_ARCHIVE is not set here",
				"a purge without it removes events permanently: give every worker and the command line the place of these files, "+
					"such as HOLDFAST_ARCHIVE=file:///var/lib/holdfast/archive")
		}
		return
	}
	detail := "can be written; " + word.Count(stats.Files, "file", "files")
	if stats.Files > 0 {
		detail += ", the newest of " + stats.Newest.Format(time.RFC3339)
	}
	if err == nil {
		err = keeper.Check(ctx)
	}
	switch {
	case err != nil:
		d.add(check, resultFail, err.Error(),
			"let Holdfast write to HOLDFAST_ARCHIVE="+d.cfg.Retention.Archive+", or correct it: until then "+
				"no event and no dead letter is purged")
	case stats.Due > 0 && time.Since(stats.OldestDue) > longDue:
		d.add(check, resultWarn, fmt.Sprintf("%s; %d may hold what was expunged, since %s", detail, stats.Due,
			stats.OldestDue.Format(time.RFC3339)),
			"make sure that purges complete: `holdfast purge` runs one now, and names files that it can't clean")
	default:
		d.add(check, resultOK, detail, "")
	}
}
