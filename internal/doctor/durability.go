package doctor

import (
	"fmt"
	"time"

	"holdfast/persistence"
	"holdfast/persistence/read"
)

// damageDays is for how many days a damaged page is a failure. PostgreSQL counts it until its statistics are reset.
const damageDays = 7

// examineDurability checks what a 2xx relies on: that PostgreSQL's commits are on disk, on the standby if it has one, and intact.
func (d *doctor) examineDurability(f persistence.Facts) {
	risks := f.Risks()
	for _, risk := range []read.Risk{read.RiskFsync, read.RiskPageWrites} {
		name := string(risk)
		d.add(name, either(!risks[risk], resultFail), f.Settings[name],
			fmt.Sprintf("set %s = on: what is acknowledged could be lost when the machine dies", name))
	}
	d.examineCommit(f.Durability)
	d.examineChecksums(f)
	d.examineStandbys(f.Durability)
}

func (d *doctor) examineCommit(f persistence.Durability) {
	const check = read.RiskCommit
	value := f.Settings[string(check)]
	switch {
	case !f.Risks()[check]:
		d.add(string(check), resultOK, value, "")
	case value == "off":
		d.add(string(check), resultFail, value,
			"set synchronous_commit = on: what is acknowledged could be lost when the machine dies")
	default:
		d.add(string(check), resultFail, value+", although synchronous_standby_names is set",
			"set synchronous_commit = on: what is acknowledged could be lost in a failover")
	}
}

func (d *doctor) examineChecksums(f persistence.Facts) {
	const check = "data checksums"
	switch {
	case f.Risks()[read.RiskChecksums]:
		d.add(check, resultWarn, "off: PostgreSQL doesn't notice what its disk damages",
			"stop the server and run `pg_checksums --enable`")
	case f.DamagedAt == nil:
		d.add(check, resultOK, "on, no damaged page", "")
	default:
		recent := f.Now.Sub(*f.DamagedAt) < damageDays*24*time.Hour
		result := resultWarn
		if recent {
			result = resultFail
		}
		d.add(check, result, fmt.Sprintf("%d reads of damaged pages, the last on %s", f.DamagedPages,
			f.DamagedAt.UTC().Format(time.DateTime)), "see docs/playbook.md, \"The database is damaged\"")
	}
}

// examineStandbys reports nothing for a server without standbys.
func (d *doctor) examineStandbys(f persistence.Durability) {
	const check = "standbys"
	away, known := f.Risks()[read.RiskNoSynchronous]
	switch {
	case !known:
		d.add(check, resultWarn, "synchronous_standby_names is set; whether a standby is connected can't be seen",
			"GRANT pg_monitor to the role of DATABASE_URL")
	case away:
		d.add(check, resultFail, "none is connected, and synchronous_standby_names is set: no commit ends",
			"start the standby, or remove it from synchronous_standby_names: then a failover could lose what is acknowledged")
	case len(f.Standbys) == 0:
	case !f.HasSynchronous():
		d.add(check, resultWarn, fmt.Sprintf("%d, asynchronous, at least %d KiB behind: a failover loses what they don't have",
			len(f.Standbys), (f.Behind()+1023)>>10), "set synchronous_standby_names = 'ANY 1 (*)': see docs/high-availability.md")
	default:
		d.add(check, resultOK, fmt.Sprintf("%d, commits wait for %s", len(f.Standbys), f.StandbyNames), "")
	}
}
