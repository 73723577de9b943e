package doctor

import (
	"fmt"
	"slices"
	"time"

	"holdfast/persistence"
)

// damageDays is for how many days a damaged page is a failure. PostgreSQL counts it until its statistics are reset.
const damageDays = 7

// examineDurability checks what a 2xx relies on: that PostgreSQL's commits are on disk, on the standby if it has one, and intact.
func (d *doctor) examineDurability(f persistence.Facts) {
	for _, name := range []string{"fsync", "full_page_writes"} {
		d.found(name, either(f.Settings[name] != "off", resultFail), f.Settings[name],
			fmt.Sprintf("set %s = on: what is acknowledged could be lost when the machine dies", name))
	}
	d.examineCommit(f)
	d.examineChecksums(f)
	d.examineStandbys(f)
}

func (d *doctor) examineCommit(f persistence.Facts) {
	const check = "synchronous_commit"
	value := f.Settings[check]
	switch {
	case value == "off":
		d.found(check, resultFail, value, "set synchronous_commit = on: what is acknowledged could be lost when the machine dies")
	case value == "local" && f.StandbyNames != "":
		d.found(check, resultFail, value+", although synchronous_standby_names is set",
			"set synchronous_commit = on: what is acknowledged could be lost in a failover")
	default:
		d.found(check, resultOK, value, "")
	}
}

func (d *doctor) examineChecksums(f persistence.Facts) {
	const check = "data checksums"
	switch {
	case f.Settings["data_checksums"] == "off":
		d.found(check, resultWarn, "off: PostgreSQL doesn't notice what its disk damages",
			"stop the server and run `pg_checksums --enable`")
	case f.DamagedAt == nil:
		d.found(check, resultOK, "on, no damaged page", "")
	default:
		recent := f.Now.Sub(*f.DamagedAt) < damageDays*24*time.Hour
		result := resultWarn
		if recent {
			result = resultFail
		}
		d.found(check, result, fmt.Sprintf("%d reads of damaged pages, the last on %s", f.DamagedPages,
			f.DamagedAt.UTC().Format(time.DateTime)), "see docs/playbook.md, \"The database is damaged\"")
	}
}

// examineStandbys reports nothing for a server without standbys.
func (d *doctor) examineStandbys(f persistence.Facts) {
	const check = "standbys"
	isSynchronous := slices.ContainsFunc(f.Standbys, func(s persistence.Standby) bool { return s.IsSynchronous })
	switch {
	case f.StandbyNames == "" && len(f.Standbys) == 0:
	case f.StandbyNames != "" && !f.SeesStandbys:
		d.found(check, resultWarn, "synchronous_standby_names is set; whether a standby is connected can't be seen",
			"GRANT pg_monitor to the role of DATABASE_URL")
	case f.StandbyNames != "" && !isSynchronous:
		d.found(check, resultFail, "none is connected, and synchronous_standby_names is set: no commit ends",
			"start the standby, or remove it from synchronous_standby_names: then a failover could lose what is acknowledged")
	case !isSynchronous:
		behind := slices.MaxFunc(f.Standbys, func(a, b persistence.Standby) int { return int(a.Behind - b.Behind) }).Behind
		d.found(check, resultWarn, fmt.Sprintf("%d, asynchronous, up to %d KiB behind: a failover loses what they don't have",
			len(f.Standbys), (behind+1023)>>10), "set synchronous_standby_names, or see docs/reliability.md")
	default:
		d.found(check, resultOK, fmt.Sprintf("%d, commits wait for %s", len(f.Standbys), f.StandbyNames), "")
	}
}
